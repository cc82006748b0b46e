"""Every sample of spec 000, and what is near it: accepted, borne, refused."""

from pathlib import Path

import pytest

from retinue.contract.definition import Definition
from retinue.dialects import tool_use
from tests.dialects.json_cases import Case, cases, said_of, see_case, see_same

HERE = Path(__file__).parent / "cases"


@pytest.mark.requirement("A7", "A9", "A10", "C7", "C16", "C21", "C22", "C46")
@pytest.mark.parametrize("case", cases(HERE / "requests.json"))
def test_a_request(case: Case) -> None:
    see_case(case, tool_use.parse_task, said_of)
    if "refused" not in case.said:
        read = tool_use.parse_task(case.text)
        assert read.form == case.said["form"]
        assert (read.correction and said_of(read.correction)) == _correction(case)
    if case.said.get("same"):
        see_same(case, tool_use.parse_task, tool_use.render_task)
        assert tool_use.render_task(tool_use.parse_task(case.text).value).losses == ()


def _correction(case: Case) -> object:
    said = case.said.get("correction")
    defaults = {"code": "output_invalid", "retry_count": 1}
    return said and {key: value for key, value in said.items() if defaults.get(key) != value}


@pytest.mark.requirement("A11", "A12", "A14", "C1", "C2", "C5", "C7", "C8", "C9", "C16")
@pytest.mark.parametrize("case", cases(HERE / "answers.json"))
def test_an_answer(case: Case) -> None:
    see_case(case, tool_use.parse_result, lambda result: {k: v for k, v in said_of(result).items() if k not in KNOWN})
    if case.said.get("same"):
        see_same(case, tool_use.parse_result, tool_use.render_result)


KNOWN = {"task_id", "agent", "skill"}


@pytest.mark.requirement("A12", "C2", "C6")
@pytest.mark.parametrize("case", cases(HERE / "corrections.json"))
def test_a_correction(case: Case) -> None:
    see_case(
        case,
        tool_use.parse_correction,
        lambda noun: {"code": noun.code, "retry_count": noun.retry_count} | said_of(noun),
    )
    if case.said.get("same"):
        see_same(case, tool_use.parse_correction, tool_use.render_correction)


def names_of(definitions: tuple[Definition, ...]) -> list[list[object]]:
    return [[one.name, one.version, [skill.name for skill in one.skills]] for one in definitions]


@pytest.mark.requirement("A4", "A6", "C11", "C34", "C46")
@pytest.mark.parametrize("case", cases(HERE / "definitions.json"))
def test_a_definition(case: Case) -> None:
    case.said.update({"value": case.said["names"]} if "names" in case.said else {})
    see_case(case, tool_use.parse_definitions, names_of)
    if "deprecated" in case.said:
        deprecated = tool_use.parse_definitions(case.text).value[0].deprecated
        assert deprecated is not None
        assert deprecated.model_dump(exclude_none=True) == case.said["deprecated"]
    if case.said.get("same"):
        see_same(case, tool_use.parse_definitions, tool_use.render_definitions)
