"""Messages of A2A 1.0: accepted, borne, refused."""

from functools import partial
from pathlib import Path

import pytest

from retinue.contract.definition import Definition
from retinue.dialects import a2a
from tests.dialects.json_cases import Case, cases, said_of, see_case, see_same

HERE = Path(__file__).parent / "cases"


@pytest.mark.requirement("C7", "C16", "C17")
@pytest.mark.parametrize("case", cases(HERE / "requests.json"))
def test_a_request(case: Case) -> None:
    see_case(case, a2a.parse_task, said_of)
    if "refused" not in case.said:
        assert a2a.parse_task(case.text).form == case.said["form"]
    if case.said.get("same"):
        form = case.said["form"]
        see_same(case, a2a.parse_task, partial(a2a.render_task, form=form))
        assert a2a.render_task(a2a.parse_task(case.text).value, form=form).losses == ()


@pytest.mark.requirement("C1", "C2", "C7", "C8", "C16", "C17", "C28")
@pytest.mark.parametrize("case", cases(HERE / "answers.json"))
def test_an_answer(case: Case) -> None:
    see_case(case, a2a.parse_result, said_of)
    if case.said.get("same"):
        form = case.said["form"]
        see_same(case, a2a.parse_result, partial(a2a.render_result, form=form))
        assert a2a.render_result(a2a.parse_result(case.text).value, form=form).losses == ()


def without_defaults(definitions: tuple[Definition, ...]) -> list[dict[str, object]]:
    return [said_of(definition) for definition in definitions]


@pytest.mark.requirement("C28")
@pytest.mark.parametrize("case", cases(HERE / "cards.json"))
def test_a_card(case: Case) -> None:
    see_case(case, a2a.parse_definitions, without_defaults)
    if case.said.get("same"):
        see_same(case, a2a.parse_definitions, a2a.render_definitions)
        assert a2a.render_definitions(a2a.parse_definitions(case.text).value).losses == ()
