"""Producers are strict (C3): whatever is rendered passes the strictest reader, in every dialect.

But for what is the agent's own: data that break K10, such as a score that is a text, are written as they are, and what
came along in the extras goes back as it came.
"""

from typing import cast

import pytest
from hypothesis import given, settings, strategies as st

from retinue.contract import json, spec_exact
from retinue.contract.json import JsonValue
from retinue.contract.model import DialectName
from retinue.contract.result import Result
from retinue.contract.task import Correction, Task
from retinue.dialects import DIALECTS, dialect
from retinue.dialects.port import DEFAULT_CONTEXT, Dialect, ParseContext
from retinue.errors import InvalidInput, OutputInvalid
from tests.contract.nouns import values_of
from tests.examples import examples

tasks = cast("st.SearchStrategy[Task]", values_of(Task))
_TYPES = {f"markdown_json/{rule}" for rule in ("boolean", "count", "many", "null_list", "number", "path")}

results = cast("st.SearchStrategy[Result]", values_of(Result))
corrections = cast("st.SearchStrategy[Correction]", values_of(Correction))


def written(speaks: Dialect, noun: Task | Result, form: str) -> str | None:
    """The text; None where no text of that form can hold the noun, which a renderer says before it writes."""
    try:
        if isinstance(noun, Task):
            return speaks.render_task(noun, form=form).text
        return speaks.render_result(noun, form=form).text
    except InvalidInput:
        return None


def are_the_agents_own(findings: list[dict[str, str]]) -> bool:
    """Whether a strict reader objects to nothing but the types of the data."""
    wrong = [finding for finding in findings if finding["severity"] == "error"]
    return all(each["rule"] in _TYPES and each["path"].startswith(("/result", "/partial_results")) for each in wrong)


@pytest.mark.slow
@pytest.mark.requirement("C3")
@pytest.mark.parametrize(("name", "form"), [(name, form) for name in DIALECTS for form in dialect(name).RESULT_FORMS])
@settings(max_examples=examples(60))
@given(result=results)
def test_an_answer_is_written_so_that_a_strict_reader_takes_it(name: DialectName, form: str, result: Result) -> None:
    speaks = dialect(name)
    text = written(speaks, result, form)
    if text is None:
        return
    try:
        strict = speaks.parse_result(text, level="strict")
    except OutputInvalid as error:
        assert are_the_agents_own(error.detail["findings"])  # noqa: PT017 - taking it is fine too
    else:
        assert strict.value == speaks.parse_result(text).value


@pytest.mark.requirement("C3", "K10")
@pytest.mark.parametrize("data", [["TRUE"], {"score": "7"}, {"count": -1}, {"file": "../x"}])
def test_data_that_break_a_type_are_written_as_they_are(data: JsonValue) -> None:
    speaks = dialect("markdown_json")
    text = speaks.render_result(Result(task_id="", agent="a", outcome="success", data=data)).text
    assert speaks.parse_result(text, level="lenient").value.outcome == "success"
    with pytest.raises(OutputInvalid) as caught:
        speaks.parse_result(text, level="strict")
    assert are_the_agents_own(caught.value.detail["findings"])


@pytest.mark.slow
@pytest.mark.requirement("C3")
@pytest.mark.parametrize(("name", "form"), [(name, form) for name in DIALECTS for form in dialect(name).TASK_FORMS])
@settings(max_examples=examples(60))
@given(task=tasks)
def test_a_request_is_written_so_that_a_strict_reader_takes_it(name: DialectName, form: str, task: Task) -> None:
    """Whoever reads bare parameters knows the skill: their route names it."""
    speaks = dialect(name)
    known = ParseContext(agent=task.agent, skill=task.skill or "any") if form == "skill" else DEFAULT_CONTEXT
    text = written(speaks, task, form)
    if text is not None:
        strict, standard = (speaks.parse_task(text, context=known, level=level) for level in ("strict", "standard"))
        assert strict.value == standard.value


@pytest.mark.slow
@pytest.mark.requirement("C3", "C6")
@pytest.mark.parametrize("name", DIALECTS)
@settings(max_examples=examples(60))
@given(task=tasks, correction=corrections)
def test_a_request_made_again_is_written_so_too(name: DialectName, task: Task, correction: Correction) -> None:
    speaks = dialect(name)
    read = speaks.parse_task(speaks.render_retry(task, correction).text, level="strict")
    assert read.correction is not None


@pytest.mark.slow
@pytest.mark.requirement("C3", "K25")
@settings(max_examples=examples(100))
@given(results)
def test_an_envelope_passes_the_validator_that_spec_003_prints(result: Result) -> None:
    envelope = json.loads(dialect("markdown_json").render_result(result).text)
    assert isinstance(envelope, dict)
    spec_exact.validate_agent_contract(envelope, str(envelope["agent"]))
