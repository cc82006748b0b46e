"""Producers are strict (C3): whatever is rendered passes the strictest reader, in every dialect."""

from typing import cast

import pytest
from hypothesis import given, settings, strategies as st

from retinue.contract import json, spec_exact
from retinue.contract.correction import Correction
from retinue.contract.model import DialectName
from retinue.contract.result import Result
from retinue.contract.task import Task
from retinue.dialects import DIALECTS, dialect
from tests.contract.nouns import values_of

tasks = cast("st.SearchStrategy[Task]", values_of(Task))
results = cast("st.SearchStrategy[Result]", values_of(Result))
corrections = cast("st.SearchStrategy[Correction]", values_of(Correction))


@pytest.mark.slow
@pytest.mark.row("C3")
@pytest.mark.parametrize("name", DIALECTS)
@settings(max_examples=100)
@given(data=st.data())
def test_an_answer_is_written_so_that_a_strict_reader_takes_it(name: DialectName, data: st.DataObject) -> None:
    speaks, result = dialect(name), data.draw(results)
    for form in speaks.RESULT_FORMS:
        text = speaks.render_result(result, form=form).text
        assert speaks.parse_result(text, level="strict").value == speaks.parse_result(text).value


@pytest.mark.slow
@pytest.mark.row("C3")
@pytest.mark.parametrize("name", DIALECTS)
@settings(max_examples=100)
@given(data=st.data())
def test_a_request_is_written_so_that_a_strict_reader_takes_it(name: DialectName, data: st.DataObject) -> None:
    speaks, task = dialect(name), data.draw(tasks)
    for form in speaks.TASK_FORMS:
        text = speaks.render_task(task, form=form).text
        assert speaks.parse_task(text, level="strict").value == speaks.parse_task(text).value


@pytest.mark.slow
@pytest.mark.row("C3")
@pytest.mark.parametrize("name", DIALECTS)
@settings(max_examples=60)
@given(data=st.data())
def test_a_request_made_again_is_written_so_too(name: DialectName, data: st.DataObject) -> None:
    speaks, task = dialect(name), data.draw(tasks)
    text = speaks.render_retry(task, data.draw(corrections)).text
    assert speaks.parse_task(text, level="strict").correction is not None


@pytest.mark.slow
@pytest.mark.row("K25", "C3")
@settings(max_examples=100)
@given(results)
def test_an_envelope_passes_the_validator_of_spec_003_itself(result: Result) -> None:
    envelope = json.loads(dialect("markdown_json").render_result(result).text)
    assert isinstance(envelope, dict)
    spec_exact.agent_contract(envelope, str(envelope["agent"]))
