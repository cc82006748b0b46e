"""The tables of words of spec 004, complete and both ways, and what HTTP says beside them."""

import json
from typing import Any, get_args

import pytest

from retinue.contract.definition import Definition, Skill
from retinue.contract.fault import Fault
from retinue.contract.result import Lifecycle, Outcome, Result
from retinue.contract.task import Correction, Question, Task
from retinue.dialects import agent_http, dialect
from retinue.dialects.agent_http.wire import OUTCOMES as STATES_OF, STATES
from retinue.dialects.port import ParseContext
from retinue.errors import FaultCode, InvalidInput

OUTCOMES: list[tuple[Outcome, str, str | None]] = [
    ("success", "completed", None),
    ("partial", "completed", "partial"),
    ("error", "failed", None),
    ("failed", "failed", "failed"),
    ("canceled", "canceled", None),
    ("rejected", "failed", "rejected"),
]
STATUS: list[tuple[FaultCode, int]] = [
    ("missing_file", 404),
    ("invalid_input", 422),
    ("output_invalid", 502),
    ("parse_error", 422),
    ("access_denied", 403),
    ("unauthenticated", 401),
    ("network_error", 502),
    ("unavailable", 503),
    ("timeout", 504),
    ("budget_exceeded", 429),
    ("canceled", 200),
    ("internal_error", 500),
]


def answer(**said: Any) -> Result:
    return Result(task_id="t", agent="metrics", **said)


def lost(written: Any) -> set[str]:
    return {loss.field for loss in written.losses}


def test_it_is_the_dialect_of_its_name() -> None:
    assert dialect("agent_http") is agent_http  # type: ignore[comparison-overlap]
    assert agent_http.NAME == "agent_http"


@pytest.mark.requirement("C1", "P17")
@pytest.mark.parametrize(("outcome", "state", "beside"), OUTCOMES)
def test_each_outcome_has_its_state(outcome: Outcome, state: str, beside: str | None) -> None:
    fault = None if state == "completed" else Fault(code="timeout", message="It took too long.")
    result = answer(outcome=outcome, fault=fault)
    written = agent_http.render_result(result)
    said = json.loads(written.text)
    assert (said["status"]["state"], said["metadata"].get("outcome")) == (state, beside)
    assert agent_http.parse_result(written.text, level="strict").value == result
    assert written.losses == ()


@pytest.mark.requirement("C1", "P17")
@pytest.mark.parametrize(("lifecycle", "state"), [("submitted", "pending"), ("working", "working")])
def test_work_that_is_not_done_has_its_state(lifecycle: Lifecycle, state: str) -> None:
    result = answer(lifecycle=lifecycle)
    for form in agent_http.RESULT_FORMS:
        written = agent_http.render_result(result, form=form)
        assert (json.loads(written.text)["status"]["state"], written.form) == (state, "task")
        assert agent_http.parse_result(written.text, level="strict").value == result
    assert agent_http.status_of(result) == 202


@pytest.mark.requirement("C1", "P17")
def test_a_question_is_the_message_of_work_that_waits() -> None:
    asked = answer(lifecycle="input_required", questions=(Question(id="y", text="Which year?"),))
    written = agent_http.render_result(asked)
    assert json.loads(written.text)["status"] == {"state": "working", "message": "Which year?"}
    assert agent_http.parse_result(written.text, level="strict").value == asked
    assert agent_http.status_of(asked) == 202


def test_the_tables_know_every_word() -> None:
    assert set(STATES_OF) == set(get_args(Outcome)) == {outcome for outcome, _, _ in OUTCOMES}
    assert set(STATES) == set(STATES_OF.values()) | {"pending", "working"}
    assert set(agent_http.STATUSES) == set(get_args(FaultCode)) == {code for code, _ in STATUS}


@pytest.mark.requirement("C2", "P9")
@pytest.mark.parametrize(("code", "status"), STATUS)
@pytest.mark.parametrize("form", agent_http.RESULT_FORMS)
def test_each_fault_has_its_status_and_is_read_back(code: FaultCode, status: int, form: str) -> None:
    result = answer(outcome="canceled" if code == "canceled" else "error", fault=Fault(code=code, message="It broke."))
    assert agent_http.status_of(result) == status
    read = agent_http.parse_result(agent_http.render_result(result, form=form).text, level="strict").value
    assert (read.outcome, read.fault) == (result.outcome, result.fault)


@pytest.mark.requirement("P9")
def test_a_body_that_is_no_json_is_400_and_one_that_does_not_fit_422() -> None:
    unread = Fault(code="invalid_input", message="m", detail={"reason": "syntax", "line": 1})
    assert agent_http.status_of(answer(outcome="error", fault=unread)) == 400
    assert agent_http.status_of(answer(outcome="rejected", fault=Fault(code="invalid_input", message="m"))) == 422
    assert agent_http.status_of(answer(outcome="error")) == 500
    assert agent_http.status_of(answer(fault=Fault(code="timeout", message="m"))) == 504
    assert agent_http.status_of(answer()) == agent_http.status_of(answer(outcome="partial")) == 200


@pytest.mark.requirement("P3")
def test_a_route_answers_the_bare_output_and_names_the_rest() -> None:
    written = agent_http.render_result(answer(outcome="success", data={"sales": 5}, content="Five."), form="skill")
    assert json.loads(written.text) == {"sales": 5}
    assert lost(written) == {"/agent", "/task_id", "/content"}
    partial = agent_http.render_result(answer(outcome="partial", data=[1]), form="skill")
    assert (json.loads(partial.text), lost(partial)) == ({"value": [1]}, {"/agent", "/task_id", "/data", "/outcome"})
    words = agent_http.render_result(answer(outcome="success", content="Five."), form="skill")
    assert json.loads(words.text) == {"content": "Five."}


@pytest.mark.requirement("P3")
@pytest.mark.parametrize("data", [{"error": {"message": "x"}}, {"status": {"state": "done"}}, {"detail": "x"}])
def test_an_output_that_would_be_read_as_something_else_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(InvalidInput) as caught:
        agent_http.render_result(answer(outcome="success", data=data), form="skill")
    assert caught.value.path == "/data"
    assert agent_http.render_result(answer(outcome="success", data=data)).losses == ()


@pytest.mark.requirement("P3")
def test_a_failure_without_a_reason_gets_one() -> None:
    written = agent_http.render_result(answer(outcome="failed"), form="skill")
    assert json.loads(written.text)["error"]["code"] == "internal_error"
    assert {"/fault", "/outcome"} <= lost(written)


@pytest.mark.requirement("P3")
def test_a_route_takes_the_bare_parameters_and_names_the_rest() -> None:
    task = Task(id="t", agent="metrics", skill="sales", parameters={"year": 2025}, instruction="Go.", depth=1)
    written = agent_http.render_task(task, form="skill")
    assert (written.text, written.form) == ('{"year":2025}', "skill")
    assert lost(written) == {"/id", "/agent", "/skill", "/instruction", "/depth"}
    read = agent_http.parse_task(written.text, context=ParseContext(agent="metrics", skill="sales"), level="strict")
    assert (read.value.skill, read.value.parameters) == ("sales", {"year": 2025})


@pytest.mark.requirement("P1")
def test_a_parameter_called_task_is_no_task_where_the_skill_is_known() -> None:
    text = '{"task": "Go."}'
    assert agent_http.parse_task(text, context=ParseContext(skill="research")).value.parameters == {"task": "Go."}
    assert agent_http.parse_task(text).value.instruction == "Go."
    readable: list[dict[str, Any]] = [{"task": "Go."}, {"message": {"parts": []}}]
    for parameters in readable:
        with pytest.raises(InvalidInput):
            agent_http.render_task(Task(id="", agent="a", parameters=parameters), form="skill")


@pytest.mark.requirement("C6")
def test_a_retry_says_in_words_and_in_data_what_was_wrong() -> None:
    correction = Correction(message="There is no year 20255.", hint="Give four digits.", previous={"year": None})
    written = agent_http.render_retry(Task(id="", agent="agent", instruction="Sales?"), correction)
    said = json.loads(written.text)
    assert [part["text"] for part in said["message"]["parts"]] == [
        "Sales?",
        "The last answer was refused. There is no year 20255. Give four digits.",
    ]
    read = agent_http.parse_task(written.text, level="strict")
    assert (read.value.instruction, read.correction) == ("Sales?", correction)


@pytest.mark.requirement("C9")
def test_what_is_for_the_journal_only_is_never_handed_on() -> None:
    written = agent_http.render_result(answer(outcome="success", reasoning="secret", native="raw"))
    assert "secret" not in written.text
    assert lost(written) == {"/native", "/reasoning"}


def definition(**said: Any) -> Definition:
    skill = Skill(name="get_year_to_end_sales", description="Gives the sales.", input_schema={"type": "object"})
    return Definition(name="metrics_agent", description="Knows figures.", skills=(skill,), **said)


@pytest.mark.requirement("P2", "P4", "P5", "P6", "C46")
def test_a_card_lists_the_endpoint_and_advertises_every_skill() -> None:
    written = agent_http.render_card([definition(category="business", version="2.1", instructions="secret")])
    said = json.loads(written.text)
    assert said["endpoints"] == {"tasks": "/agents/business/metrics-agent/tasks"}
    assert said["capabilities"] == [
        {
            "name": "get_year_to_end_sales",
            "description": "Gives the sales.",
            "endpoint": "/agents/business/metrics-agent/get-year-to-end-sales",
            "method": "POST",
            "input_schema": {"type": "object"},
        }
    ]
    assert "secret" not in written.text
    assert lost(written) == {"/instructions", "/skills/0/method", "/skills/0/path"}


@pytest.mark.requirement("P6")
def test_a_base_stands_before_every_path() -> None:
    written = agent_http.render_card([definition()], base="https://example.org/api")
    said = json.loads(written.text)
    assert said["endpoints"]["tasks"] == "https://example.org/api/agents/general/metrics-agent/tasks"
    assert said["capabilities"][0]["endpoint"].startswith("https://example.org/api/agents/general/metrics-agent/")
    assert {"/category", "/extras/agent_http"} <= lost(written)


def test_a_card_of_nobody_is_refused() -> None:
    with pytest.raises(InvalidInput):
        agent_http.render_card([])


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ('{"message": {"role": "user", "parts": []}}', [("task", "task", "certain")]),
        ('{"task": "Go."}', [("task", "task", "likely")]),
        ('{"id": "t", "status": {"state": "working"}}', [("result", "task", "certain")]),
        ('{"status": {"state": "odd"}}', [("result", "task", "likely")]),
        ('{"status": {"state": []}, "id": "t"}', [("result", "task", "likely")]),
        ('{"error": {"code": "timeout", "message": "m"}}', [("result", "skill", "likely")]),
        ('{"capabilities": [{"endpoint": "/x"}]}', [("definition", "agent.json", "certain")]),
        ('{"agents": [{"capabilities": [], "endpoints": {}}]}', [("definition", "agent.json", "certain")]),
        ('{"capabilities": [5]}', [("definition", "agent.json", "likely")]),
        ('{"agents": [5], "x": 1}', [("result", "skill", "possible"), ("task", "skill", "possible")]),
        ('```json\n{"task": "Go."}\n```', [("task", "task", "likely")]),
        ("[1]", []),
        ("prose", []),
    ],
)
def test_a_text_is_recognised_by_its_marks(text: str, signs: list[tuple[str, str, str]]) -> None:
    found = agent_http.recognise(text)
    assert [(sign.kind, sign.form, sign.certainty) for sign in found] == signs
    assert all(sign.why for sign in found)
