"""Messages of spec 004 and of the practice around it: accepted, borne, refused."""

from pathlib import Path

import pytest

from retinue.contract.definition import Definition
from retinue.dialects import agent_http
from tests.dialects.json_cases import Case, cases, said_of, see_case, see_same

HERE = Path(__file__).parent / "cases"


@pytest.mark.requirement("P1", "P3", "P17", "C7", "C16", "C17")
@pytest.mark.parametrize("case", cases(HERE / "requests.json"))
def test_a_request(case: Case) -> None:
    see_case(case, agent_http.parse_task, said_of)
    if "refused" not in case.said:
        assert agent_http.parse_task(case.text).form == case.said["form"]
    if case.said.get("same"):
        see_same(case, agent_http.parse_task, agent_http.render_task)
        assert agent_http.render_task(agent_http.parse_task(case.text).value).losses == ()


@pytest.mark.requirement("P3", "P9", "P17", "C1", "C2", "C7", "C8", "C16", "C17")
@pytest.mark.parametrize("case", cases(HERE / "answers.json"))
def test_an_answer(case: Case) -> None:
    see_case(case, agent_http.parse_result, said_of)
    if case.said.get("same"):
        see_same(case, agent_http.parse_result, agent_http.render_result)
        assert agent_http.render_result(agent_http.parse_result(case.text).value).losses == ()


def saids(definitions: tuple[Definition, ...]) -> list[dict[str, object]]:
    return [said_of(definition) for definition in definitions]


@pytest.mark.requirement("P2", "P4", "P5", "P6", "P7", "C10", "C28")
@pytest.mark.parametrize("case", cases(HERE / "cards.json"))
def test_a_card(case: Case) -> None:
    see_case(case, agent_http.parse_definitions, saids)
    if case.said.get("same"):
        see_same(case, agent_http.parse_card, agent_http.render_card)
        assert agent_http.render_definitions(agent_http.parse_card(case.text).value).losses == ()
