"""What is known of a run while it goes on, and what an event says in a line."""

from typing import Any

import pytest

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
    ToolCallEvent,
    TurnsAdded,
    UsageReported,
)
from retinue.contract.fault import Fault
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Result, Usage
from retinue.contract.task import Answer, Question
from retinue.orchestration.run_nodes import RunNodes, event_text, progress_text

PLAN = Plan(
    goal="sing and paint",
    nodes=(
        Delegation(id="n1", agent="singer", skill="sing", instruction="sing a song"),
        Delegation(id="n2", agent="painter", skill="paint", instruction="paint it", needs=("n1",)),
    ),
)
WHICH = Question(id="q", text="Which colour?")


def done(outcome: Any = "success", **facts: Any) -> NodeFinished:
    return NodeFinished(Result(task_id="t", agent="singer", outcome=outcome, **facts))


@pytest.fixture
def nodes() -> RunNodes:
    return RunNodes("run", PLAN)


def tell(nodes: RunNodes, body: Body, node: str = "n1", *, run: str = "run", at_s: float = 0) -> Event:
    event = Event(run, node, 1, 1, int(at_s * 1e9), body)
    nodes.apply(event)
    return event


def states(nodes: RunNodes) -> dict[str, str]:
    return {node.id: node.state for _, node in nodes}


def test_a_node_waits_works_and_ends(nodes: RunNodes) -> None:
    assert states(nodes) == {"n1": "waiting", "n2": "waiting"}
    tell(nodes, NodeStarted("singer", "sing", "sing"), at_s=1)
    assert states(nodes)["n1"] == "working"
    tell(nodes, Progress("singing", "verse", 2, 1_000))
    assert nodes.top[0].note == "singing verse 2/1,000"
    tell(nodes, Progress("humming"))
    assert nodes.top[0].note == "humming"
    tell(nodes, AttemptRetried("timeout", "too slow"))
    assert nodes.top[0].note == "retrying after timeout"
    tell(nodes, done("partial"), at_s=3)
    first = nodes.top[0]
    assert (first.state, first.note, first.started_ns, first.ended_ns) == ("partial", "", 1_000_000_000, 3_000_000_000)


@pytest.mark.parametrize(
    ("outcome", "state"),
    [("error", "error"), ("failed", "error"), ("rejected", "error"), ("canceled", "canceled"), ("success", "success")],
)
def test_how_a_node_ended(nodes: RunNodes, outcome: str, state: str) -> None:
    fault = None if outcome == "success" else Fault(code="timeout", message="Too slow.")
    tell(nodes, done(outcome, fault=fault))
    assert nodes.top[0].state == state
    assert nodes.top[0].note == ("" if fault is None else "Too slow.")


def test_a_further_step_of_a_node_is_the_same_node(nodes: RunNodes) -> None:
    tell(nodes, done("error"))
    tell(nodes, NodeStarted("choir", "hum", "sing"))
    tell(nodes, done(), "n1~2")
    assert (nodes.top[0].agent, nodes.top[0].state) == ("choir", "success")


def test_a_question_is_open_until_it_is_answered(nodes: RunNodes) -> None:
    tell(nodes, QuestionAsked(WHICH), "n1~2")
    assert (nodes.top[0].state, nodes.top[0].note) == ("asking", "Which colour?")
    tell(nodes, QuestionAnswered(Answer(question_id="q", value="red")), "n1~2")
    tell(nodes, done(), "n1~2")  # only delivers the answer
    assert nodes.top[0].state == "working"
    tell(nodes, NodeFinished(Result(task_id="t", agent="a", lifecycle="input_required", questions=(WHICH,))))
    assert nodes.top[0].state == "asking"
    nodes.close()
    assert states(nodes) == {"n1": "asking", "n2": "canceled"}


def test_a_step_that_runs_again_to_ask_what_was_answered_before_stays_done(nodes: RunNodes) -> None:
    waits = NodeFinished(Result(task_id="t", agent="a", lifecycle="input_required", questions=(WHICH,)))
    tell(nodes, waits, at_s=1)
    tell(nodes, QuestionAsked(WHICH), "n1~2")
    tell(nodes, QuestionAnswered(Answer(question_id="q", value="red")), "n1~2")
    tell(nodes, done(), "n1~3", at_s=2)
    tell(nodes, NodeStarted("singer", "sing", "sing"), at_s=7)
    assert nodes.top[0].state == "working"
    tell(nodes, waits, at_s=8)  # the answer and what came of it are not recorded a second time
    assert (nodes.top[0].state, nodes.top[0].ended_ns) == ("success", 2_000_000_000)
    tell(nodes, QuestionAsked(WHICH), "n1~4")
    assert nodes.top[0].state == "asking"


def test_what_is_not_needed_is_not_done(nodes: RunNodes) -> None:
    tell(nodes, Decision("skip", "Its need failed."), "n2")
    assert (nodes.top[1].state, nodes.top[1].note) == ("canceled", "Its need failed.")
    assert nodes.apply(Event("run", "n1", 0, 1, 0, Decision("give_up", "No."))) is None
    assert nodes.apply(Event("run", "n1", 0, 1, 0, ToolCallEvent("grep"))) is None


def test_a_plan_that_is_answered_becomes_children(nodes: RunNodes) -> None:
    inner = Plan(nodes=(Delegation(id="a", agent="bass", instruction="low"), Delegation(id="b", agent="alto")))
    tell(nodes, NodeFinished(Result(task_id="t", agent="s", lifecycle="working", extras={"plan": inner.to_json()})))
    tell(nodes, NodeStarted("bass", "bass", "low"), "a", run="run:n1~2")
    tell(nodes, done(), "a", run="run:n1~2")
    assert [(depth, node.id, node.state) for depth, node in nodes] == [
        (0, "n1", "waiting"),
        (1, "a", "success"),
        (1, "b", "waiting"),
        (0, "n2", "waiting"),
    ]
    for plan in (None, 3, {"nodes": 3}, {"nodes": [3]}):
        tell(nodes, NodeFinished(Result(task_id="t", agent="s", lifecycle="working", extras={"plan": plan})))
        assert nodes.top[0].children == []


def test_what_belongs_to_nobody_changes_nothing(nodes: RunNodes) -> None:
    for node, run in (("n9", "run"), ("a", "run:n1~2"), ("a", "other"), ("a", "run:n9~2"), ("", "run")):
        tell(nodes, NodeStarted("x", "y", "z"), node, run=run)
    assert states(nodes) == {"n1": "waiting", "n2": "waiting"}
    tell(nodes, Message("History is lost.", "warning"), "")
    tell(nodes, Message("Fine."), "")
    assert nodes.warnings == ["History is lost."]


def test_what_a_resumed_run_keeps_is_done_already() -> None:
    nodes = RunNodes("run", PLAN, reused_ids=("n1~2",))
    assert (nodes.top[0].state, nodes.top[0].is_reused) == ("success", True)
    tell(nodes, NodeStarted("singer", "sing", "again"))
    assert not nodes.top[0].is_reused


def test_a_node_as_json_has_its_children_and_leaves_out_what_is_empty(nodes: RunNodes) -> None:
    tell(nodes, NodeStarted("singer", "sing", "sing"), at_s=1)
    inner = Plan(nodes=(Delegation(id="a", agent="bass", instruction="low"), Delegation(id="b", agent="alto")))
    tell(nodes, NodeFinished(Result(task_id="t", agent="s", lifecycle="working", extras={"plan": inner.to_json()})))
    tell(nodes, done("error", fault=Fault(code="timeout", message="Too slow.")), "a", run="run:n1~2", at_s=2)
    assert [node.to_json() for node in nodes.top] == [
        {
            "id": "n1",
            "agent": "singer",
            "skill": "sing",
            "title": "sing a song",
            "state": "working",
            "started_ns": 1_000_000_000,
            "children": [
                {
                    "id": "a",
                    "agent": "bass",
                    "title": "low",
                    "state": "error",
                    "note": "Too slow.",
                    "ended_ns": 2_000_000_000,
                },
                {"id": "b", "agent": "alto", "state": "waiting"},
            ],
        },
        {"id": "n2", "agent": "painter", "skill": "paint", "title": "paint it", "state": "waiting"},
    ]
    reused = RunNodes("run", PLAN, reused_ids=("n1",)).top[0].to_json()
    assert (reused["state"], reused["is_reused"]) == ("success", True)


# An event as a line.


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (NodeStarted(), ""),
        (NodeStarted("a", "s", "do it"), "a.s: do it"),
        (NodeStarted(instruction="goal"), "goal"),
        (Progress("read", "x.py", 1, 2), "read x.py 1/2"),
        (Progress("read", done=1), "read 1"),
        (Checkpoint("read", "done"), "read done"),
        (Decision("ask", "Because."), "ask: Because."),
        (Message("hello"), "hello"),
        (ToolCallEvent("grep", failed=True), "grep failed"),
        (ToolCallEvent("grep"), "grep"),
        (TurnsAdded("c", 1, [{"said": "Hi"}]), "2 turns"),
        (UsageReported(Usage(tokens_in=3)), '{"tokens_in":3}'),
        (AttemptRetried("timeout", "slow"), "timeout: slow"),
        (QuestionAsked(WHICH), "Which colour?"),
        (QuestionAnswered(Answer(question_id="q", value="red")), "red (by the person)"),
        (DelegationFinished(Result(task_id="t", agent="helper", outcome="success")), "helper: success"),
        (NodeFinished(Result(task_id="t", agent="a", outcome="success")), "success"),
        (NodeFinished(Result(task_id="t", agent="a", lifecycle="working")), "working"),
        (
            NodeFinished(Result(task_id="t", agent="a", outcome="error", fault=Fault(code="timeout", message="Slow."))),
            "error: Slow.",
        ),
    ],
)
def test_every_event_can_be_said_in_a_line(body: Any, text: str) -> None:
    assert event_text(body) == text
    assert type(body) in KINDS


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (Progress("reading", done=3, total=10), "reading 3/10"),
        (Progress("reading", status="slowly", done=1_000), "reading slowly 1,000"),
        (Progress("7/60", done=7, total=60), "7/60"),
        (Progress("reading"), "reading"),
    ],
)
def test_progress_says_each_thing_once(body: Progress, text: str) -> None:
    assert progress_text(body) == text
