"""Every sample of spec 003, and what is near it: accepted, borne, refused."""

from pathlib import Path

import pytest

from retinue.dialects import markdown_json
from tests.dialects.json_cases import Case, cases, said_of, see_case, see_same

HERE = Path(__file__).parent / "cases"


@pytest.mark.requirement("K2", "K23", "C7", "C11", "C44", "C46")
@pytest.mark.parametrize("case", cases(HERE / "requests.json"))
def test_a_request(case: Case) -> None:
    see_case(case, markdown_json.parse_task, said_of)
    if "refused" in case.said:
        return
    read = markdown_json.parse_task(case.text)
    assert read.form == case.said.get("form", "block")
    assert read.correction is None
    assert all(finding.line for finding in read.findings)
    if case.said.get("same"):
        written = markdown_json.render_task(read.value)
        assert (written.text, written.losses) == (case.text, ())


@pytest.mark.requirement("K3", "K4", "K5", "K6", "K7", "K8", "K9", "K10", "K11", "K12", "K15", "K25")
@pytest.mark.requirement("C3", "C4", "C5", "C7", "C16", "C17", "C35", "C44")
@pytest.mark.parametrize("case", cases(HERE / "answers.json"))
def test_an_answer(case: Case) -> None:
    see_case(case, markdown_json.parse_result, said_of)
    if case.said.get("same"):
        see_same(case, markdown_json.parse_result, markdown_json.render_result)
        assert markdown_json.render_result(markdown_json.parse_result(case.text).value).losses == ()
