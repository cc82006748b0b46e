"""The tables of words of A2A, complete and both ways; what is written of them, and what it is recognised by."""

import json
from typing import Any, get_args

import pytest

from retinue.contract.definition import Definition, Skill
from retinue.contract.event import Checkpoint, Message, Progress
from retinue.contract.fault import Fault
from retinue.contract.result import Lifecycle, Outcome, Result
from retinue.contract.task import Correction, Question, Task
from retinue.dialects import a2a, dialect
from retinue.dialects.a2a.wire import ENUM_NUMBERS, ERRORS, FAULTS, OUTCOMES, STATES, State, whole_numbers
from retinue.dialects.port import ParseContext
from retinue.errors import FaultCode, InvalidInput

ENDINGS: list[tuple[Outcome, str, str | None]] = [
    ("success", "COMPLETED", None),
    ("partial", "COMPLETED", "partial"),
    ("error", "FAILED", None),
    ("failed", "FAILED", "failed"),
    ("canceled", "CANCELED", None),
    ("rejected", "REJECTED", None),
]


def answer(**facts: Any) -> Result:
    return Result(task_id="t1", agent="agent", **facts)


def task_of(result: Result) -> Any:
    return json.loads(a2a.render_result(result).text)["task"]


def test_it_is_the_dialect_of_its_name() -> None:
    assert dialect("a2a") is a2a  # type: ignore[comparison-overlap]


def test_the_tables_know_every_word() -> None:
    assert set(STATES) == set(ENUM_NUMBERS.values()) == set(get_args(State))
    assert set(OUTCOMES) == set(get_args(Outcome)) == {outcome for outcome, _, _ in ENDINGS}
    assert set(FAULTS) == set(get_args(FaultCode))
    assert all(code in ERRORS for code, _, _ in FAULTS.values())
    assert len({words.reason for words in ERRORS.values()}) == len(ERRORS) == 14


@pytest.mark.requirement("C1")
@pytest.mark.parametrize(("outcome", "state", "beside"), ENDINGS)
def test_each_outcome_has_its_state(outcome: Outcome, state: str, beside: str | None) -> None:
    fault = None if state == "COMPLETED" else Fault(code="timeout", message="It took too long.")
    result = answer(outcome=outcome, fault=fault)
    written = a2a.render_result(result)
    task = json.loads(written.text)["task"]
    assert task["status"]["state"] == f"TASK_STATE_{state}"
    assert task.get("metadata", {}).get(a2a.EXTENSION, {}).get("outcome") == beside
    assert a2a.parse_result(written.text, level="strict").value == result
    assert written.losses == ()


@pytest.mark.requirement("C1")
@pytest.mark.parametrize(
    ("lifecycle", "state"),
    [("submitted", "SUBMITTED"), ("working", "WORKING"), ("input_required", "INPUT_REQUIRED")],
)
def test_work_that_is_not_done_has_its_state_in_every_form(lifecycle: Lifecycle, state: str) -> None:
    result = answer(lifecycle=lifecycle)
    for form in a2a.RESULT_FORMS:
        written = a2a.render_result(result, form=form)
        assert f"TASK_STATE_{state}" in written.text
        assert a2a.parse_result(written.text, level="strict").value == result


@pytest.mark.requirement("C1")
def test_a_question_is_what_the_status_says() -> None:
    result = answer(lifecycle="input_required", questions=(Question(id="y", text="Which year?"),), content="So far 5.")
    parts = task_of(result)["status"]["message"]["parts"]
    assert parts == [{"text": "So far 5."}, {"text": "Which year?"}]
    assert a2a.parse_result(a2a.render_result(result).text).value == result


@pytest.mark.parametrize("outcome", ["error", "failed", "rejected"])
def test_a_failure_without_a_reason_is_given_none(outcome: Outcome) -> None:
    result = answer(outcome=outcome, content="Half of it.")
    written = a2a.render_result(result)
    assert written.losses == ()
    assert a2a.parse_result(written.text).value == result


@pytest.mark.requirement("C2")
@pytest.mark.parametrize("code", get_args(FaultCode))
@pytest.mark.parametrize("form", ["jsonrpc", "http"])
def test_each_fault_is_an_error_too(code: FaultCode, form: str) -> None:
    fault = Fault(code=code, message="It broke.", hint="Fix it.")
    error = json.loads(a2a.render_error(fault, form=form, request_id="r-7").text)
    assert (error.get("id"), error.get("jsonrpc")) == (("r-7", "2.0") if form == "jsonrpc" else (None, None))
    rpc_code, http, status = FAULTS[code]
    assert error["error"]["code"] == (rpc_code if form == "jsonrpc" else http)
    assert error["error"].get("status") == (None if form == "jsonrpc" else status)
    read = a2a.parse_result(json.dumps(error), level="strict").value
    assert read.fault == fault


@pytest.mark.requirement("C2", "C28")
@pytest.mark.parametrize("code", ERRORS)
def test_each_error_of_the_protocol_is_read_and_written(code: int) -> None:
    words = ERRORS[code]
    body = {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "No."}}
    read = a2a.parse_result(json.dumps(body), level="strict").value
    assert read.fault is not None
    assert (read.fault.code, read.fault.detail) == (words.fault, {"reason": words.reason})
    assert json.loads(a2a.render_result(read, form="jsonrpc").text) == body
    http = json.loads(a2a.render_error(read.fault, form="http").text)["error"]
    assert (http["code"], http["status"], http["details"][0]["reason"]) == (words.http, words.status, words.reason)
    again = a2a.parse_result(json.dumps({"error": http})).value
    assert again.fault == read.fault
    assert json.loads(a2a.render_result(again, form="jsonrpc").text)["error"]["code"] == code


def test_a_number_that_data_would_lose_is_sent_as_text() -> None:
    result = answer(outcome="success", data={"n": 2**53 + 1})
    (artifact,) = task_of(result)["artifacts"]
    assert artifact["parts"] == [{"text": '{"n":9007199254740993}', "mediaType": "application/json"}]
    assert task_of(answer(outcome="success", data={"n": 2**53}))["artifacts"][0]["parts"] == [{"data": {"n": 2**53}}]


def test_a_fraction_of_0_is_lost_and_said_to_be() -> None:
    written = a2a.render_result(answer(outcome="success", data={"price": 7.0}))
    (loss,) = written.losses
    assert (loss.field, "7.0 from 7" in loss.why) == ("/data/price", True)
    assert '{"price":7.0}' in written.text


@pytest.mark.parametrize("name", ["", " ", "\r", "message"])
def test_a_blank_id_is_no_id_of_a_message(name: str) -> None:
    written = a2a.render_task(Task(id=name, agent="agent", instruction="Go."))
    assert json.loads(written.text)["message"]["messageId"] == "message"
    assert a2a.parse_task(written.text, level="strict").value.id == ""
    assert [loss.field for loss in written.losses] == (["/id"] if name else [])


SCHEMA = {
    "properties": {
        "price": {"type": "number"},
        "count": {"type": "integer"},
        "many": {"items": {"type": "number"}},
        "any": {},
    },
    "additionalProperties": {"type": "number"},
}


def test_a_schema_says_which_numbers_stay_as_they_are() -> None:
    data = {"price": 7.0, "count": 7.0, "many": [7.0], "any": 7.0, "other": 7.0}
    told = {"price": 7.0, "count": 7, "many": [7.0], "any": 7, "other": 7.0}
    assert json.dumps(whole_numbers(data, SCHEMA)) == json.dumps(told)
    text = json.dumps({"task": {"id": "t1", "status": {"state": "TASK_STATE_COMPLETED"},
                                "artifacts": [{"artifactId": "result", "parts": [{"data": data}]}]}})  # fmt: skip
    read = a2a.parse_result(text, context=ParseContext(data_schema=SCHEMA), level="strict")
    assert json.dumps(read.value.data) == json.dumps(told)
    assert [(each.rule, each.severity) for each in read.findings] == [("a2a/integers", "info")]


@pytest.mark.requirement("C6")
def test_a_retry_says_in_words_and_in_data_what_was_wrong() -> None:
    correction = Correction(message="There is no year 20255.", hint="Give four digits.")
    body = json.loads(a2a.render_retry(Task(id="", agent="agent", instruction="Sales?"), correction).text)
    assert [part["text"] for part in body["message"]["parts"]] == [
        "Sales?",
        "The last answer was refused. There is no year 20255. Give four digits.",
    ]
    assert body["metadata"][a2a.EXTENSION]["correction"]["retry_count"] == 1
    assert a2a.parse_task(json.dumps(body), level="strict").correction == correction


@pytest.mark.requirement("C28")
def test_a_card_is_that_of_one_agent() -> None:
    skill = Skill(name="x", description="y", input_schema={"type": "object"})
    definition = Definition(name="x", description="y", skills=(skill,), instructions="Secret.")
    (loss,) = a2a.render_definitions((definition,)).losses
    assert (loss.field, "for everybody" in loss.why) == ("/instructions", True)
    for definitions in ((), (definition, definition)):
        with pytest.raises(InvalidInput):
            a2a.render_definitions(definitions)


# Events.


def update(status: dict[str, Any], **facts: Any) -> str:
    return json.dumps({"statusUpdate": {"taskId": "t1", "contextId": "c1", "status": status, **facts}})


LAST_CHUNK = (
    '{"artifactUpdate": {"taskId": "t1", "contextId": "c1", "artifact":'
    ' {"artifactId": "a1", "name": "Plan", "parts": []}, "lastChunk": true}}'
)


@pytest.mark.requirement("H18", "H19")
def test_progress_is_an_update_of_the_status_that_everybody_can_read() -> None:
    written = a2a.render_event(Progress("Reading", "half way", 3, 6), task_id="t1", context_id="c1", message_id="p-1")
    assert written is not None
    body = json.loads(written.text)["statusUpdate"]
    assert (body["taskId"], body["contextId"], body["status"]["state"]) == ("t1", "c1", "TASK_STATE_WORKING")
    assert body["status"]["message"]["parts"] == [{"text": "Reading - half way (3/6)"}]
    assert a2a.parse_events(written.text, level="strict").value == (Progress("Reading", "half way", 3, 6),)


@pytest.mark.parametrize(
    ("text", "events"),
    [
        (update({"state": "TASK_STATE_WORKING", "message": {"messageId": "m", "role": "ROLE_AGENT",
         "parts": [{"text": "Reading."}]}}), [Progress("Reading.")]),
        (update({"state": "working", "message": {"role": "agent", "parts": [{"kind": "text", "text": "x"}]}}),
         [Progress("x")]),
        (f'{{"jsonrpc": "2.0", "id": 1, "result": {LAST_CHUNK}}}', [Checkpoint("Plan", "", 1)]),
        ('data: {"artifactUpdate": {"taskId": "t1", "artifact": {"artifactId": "a1", "parts": []}}}\n\nid: 1\n',
         [Progress("a1")]),
    ],
)  # fmt: skip
def test_updates_of_others_are_read_as_far_as_they_say_something(text: str, events: list[Any]) -> None:
    assert a2a.parse_events(text).value == tuple(events)


def test_updates_that_say_nothing_are_refused_as_events() -> None:
    for text in (update({"state": "TASK_STATE_WORKING"}), '{"task": {}}', "{}"):
        with pytest.raises(InvalidInput) as caught:
            a2a.parse_events(text)
        assert caught.value.hint
    broken = update({"state": "TASK_STATE_WORKING"}, metadata={a2a.EXTENSION: {"progress": {"phase": 5}}})
    with pytest.raises(InvalidInput):
        a2a.parse_events(broken)
    assert a2a.render_event(Message("x")) is None
    (loss,) = a2a.render_events([Message("x"), Progress("y")]).losses
    assert loss.field == "/0"


# Recognition.

MESSAGE = '{"messageId": "m", "role": "ROLE_%s", "parts": []}'


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        (MESSAGE % "USER", [("task", "message", "certain")]),
        (MESSAGE % "AGENT", [("result", "message", "certain")]),
        (f'{{"message": {MESSAGE % "USER"}}}', [("task", "http", "certain")]),
        (f'{{"message": {MESSAGE % "AGENT"}}}', [("result", "http", "certain")]),
        ('{"message": {"kind": "message", "role": "user", "parts": []}}', [("task", "http", "likely")]),
        ('{"task": {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}}', [("result", "http", "certain")]),
        ('{"task": {"id": "t", "status": {"state": "working"}}}', [("result", "http", "likely")]),
        ('{"id": "t", "status": {"state": "TASK_STATE_WORKING"}}', [("result", "task", "certain")]),
        ('{"id": "t", "status": {"state": "working"}}', []),
        ('{"jsonrpc": "2.0", "method": "SendMessage"}', [("task", "jsonrpc", "certain")]),
        ('{"jsonrpc": "2.0", "method": "tools/call"}', []),
        ('{"jsonrpc": "2.0", "error": {}}', [("result", "jsonrpc", "likely")]),
        ('{"jsonrpc": "2.0", "result": {"task": {"status": {"state": "TASK_STATE_FAILED"}}}}',
         [("result", "jsonrpc", "certain")]),
        ('{"jsonrpc": "2.0", "result": 5}', []),
        ('{"error": {"code": 404, "status": "NOT_FOUND", "message": "m"}}', [("result", "http", "likely")]),
        ('{"error": {"message": "m"}}', []),
        (update({"state": "TASK_STATE_WORKING"}), [("event", "events", "certain")]),
        (update({"state": "TASK_STATE_FAILED"}), [("result", "http", "certain")]),
        (f"{update({'state': 'TASK_STATE_WORKING'})}\n{update({'state': []})}", [("event", "events", "certain")]),
        ('{"name": "x", "skills": [], "supportedInterfaces": []}', [("definition", "agent-card.json", "certain")]),
        ('{"name": "x", "skills": [], "url": "u", "protocolVersion": "0.3"}',
         [("definition", "agent-card.json", "certain")]),
        ("[1]", []),
        ("prose", []),
    ],
)  # fmt: skip
def test_a_text_is_recognised_by_its_marks(text: str, signs: list[tuple[str, str, str]]) -> None:
    found = a2a.recognise(text)
    assert [(sign.kind, sign.form, sign.certainty) for sign in found] == signs
    assert all(sign.why for sign in found)
