"""Events: one flat object for each kind."""

from dataclasses import fields
from typing import Any, get_args

import pytest
from hypothesis import given, strategies as st

from retinue.contract import schema
from retinue.contract.event import (
    KINDS,
    AttemptRetried,
    Body,
    Checkpoint,
    Decision,
    DelegationFinished,
    Event,
    Message,
    NodeFinished,
    NodeStarted,
    Progress,
    QuestionAnswered,
    QuestionAsked,
    TextDelta,
    ToolCallEvent,
    TurnsAdded,
    UsageReported,
)
from retinue.contract.json import dumps
from retinue.contract.result import Result, Usage
from retinue.contract.schemas import load
from retinue.contract.task import Answer, Question
from tests.contract.nouns import BODIES, values_of

HEAD: dict[str, Any] = {"run": "r1", "node": "n1", "attempt": 1, "sequence": 7, "at_ns": 1_700_000_000_000_000_000}
EVENT = schema.compile(load("event"))

SNAPSHOT: list[tuple[Body, dict[str, Any]]] = [
    (NodeStarted(agent="finder", skill="find"), {"agent": "finder", "skill": "find", "instruction": ""}),
    (Progress(phase="Scan", done=15, total=30), {"phase": "Scan", "status": "", "done": 15, "total": 30}),
    (Progress(phase="Scan", status="begun"), {"phase": "Scan", "status": "begun"}),
    (Checkpoint(phase="Scan", artifacts=2), {"phase": "Scan", "status": "", "artifacts": 2}),
    (Decision("retry", "it was slow", {"wait": 1}), {"move": "retry", "reason": "it was slow", "facts": {"wait": 1}}),
    (Message("Hello"), {"text": "Hello", "level": "info"}),
    (TextDelta("Hel"), {"text": "Hel"}),
    (ToolCallEvent("grep", duration_ns=5), {"tool": "grep", "duration_ns": 5, "failed": False, "about": ""}),
    (TurnsAdded("c", 1, [{"said": "Hi"}]), {"conversation": "c", "start": 1, "turns": [{"said": "Hi"}], "notes": {}}),
    (UsageReported(Usage(tokens_in=3)), {"usage": {"tokens_in": 3}}),
    (AttemptRetried("timeout", "too slow", 0.5), {"code": "timeout", "message": "too slow", "wait_s": 0.5}),
    (QuestionAsked(Question(id="q", text="Go on?")), {"question": {"id": "q", "text": "Go on?", "kind": "question", "options": []}}),
    (QuestionAnswered(Answer(question_id="q", value=True)), {"answer": {"question_id": "q", "value": True, "by": "person"}}),
    (DelegationFinished(Result(task_id="t", agent="a")), {"result": Result(task_id="t", agent="a").to_json()}),
    (NodeFinished(Result(task_id="t", agent="a")), {"result": Result(task_id="t", agent="a").to_json()}),
]  # fmt: skip


def test_every_kind_has_a_word_of_its_own() -> None:
    assert set(KINDS) == set(get_args(Body))
    assert len(set(KINDS.values())) == len(KINDS)


@pytest.mark.parametrize(("body", "facts"), SNAPSHOT, ids=lambda value: type(value).__name__)
def test_an_event_is_one_flat_object(body: Body, facts: dict[str, Any]) -> None:
    event = Event(**HEAD, body=body)
    assert event.to_json() == {"kind": KINDS[type(body)], **HEAD, **facts}
    assert EVENT.findings(event.to_json()) == []


def test_every_kind_is_in_the_snapshot() -> None:
    assert {type(body) for body, _ in SNAPSHOT} == set(BODIES)


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_no_fact_hides_behind_the_head(body: type[Body]) -> None:
    assert {item.name for item in fields(body)}.isdisjoint({"kind", *HEAD})


@given(result=values_of(Result))
def test_an_event_can_always_be_written(result: Result) -> None:
    event = Event(**HEAD, body=NodeFinished(result))
    assert dumps(event.to_json())
    assert EVENT.is_valid(event.to_json())


@given(st.sampled_from(["kind", "run", "sequence", "phase"]))
def test_an_event_without_a_needed_fact_is_refused(missing: str) -> None:
    whole = Event(**HEAD, body=Progress(phase="Scan")).to_json()
    assert not EVENT.is_valid({name: value for name, value in whole.items() if name != missing})
