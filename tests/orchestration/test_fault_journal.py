"""What failed in a run, and whether it was mended, as its events tell it."""

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from retinue.contract.event import (
    AttemptRetried,
    Body,
    Decision,
    DelegationFinished,
    Event,
    NodeFinished,
    NodeStarted,
    QuestionAnswered,
    QuestionAsked,
)
from retinue.contract.fault import Fault
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Attempt, Result, Usage
from retinue.contract.task import Answer, Question
from retinue.engine.base import WorkflowScope
from retinue.engine.inprocess import InProcessEngine
from retinue.errors import NetworkError
from retinue.orchestration.fault_journal import FAULT_LOGGER, FaultJournal, log_faults
from retinue.orchestration.run_nodes import RunNodes

pytestmark = pytest.mark.requirement("H30", "A14")

TIMEOUT = Fault(code="timeout", message="Too slow.", hint="Wait longer.")
PLAN = {"goal": "sing", "nodes": [{"id": "n1", "agent": "singer", "skill": "sing", "parameters": {"song": "a"}}]}
INNER = {"nodes": [{"id": "a", "agent": "bass", "instruction": "low"}]}


class Told:
    """A journal that is told one event after the other."""

    def __init__(self) -> None:
        self.journal = FaultJournal("r", PLAN, command="run")
        self._count = 0

    def __call__(self, body: Body, node: str = "n1", *, run: str = "r", attempt: int = 0) -> list[str]:
        """The statuses that change."""
        self._count += 1
        event = Event(run, node, attempt, self._count, self._count * 10**9, body)
        return [entry.status for entry in self.journal.apply(event)]

    @property
    def statuses(self) -> list[tuple[str, str]]:
        return [(entry.path, entry.status) for entry in self.journal.entries]


@pytest.fixture
def tell() -> Told:
    return Told()


def ended(outcome: Any = "failed", fault: Fault | None = TIMEOUT, **facts: Any) -> NodeFinished:
    facts = {"task_id": "t", "agent": "singer", "fault": fault, **facts}
    return NodeFinished(Result(outcome=outcome, **facts))


GOOD = ended("success", None)


def test_a_failed_step_is_an_error_with_what_was_asked_and_who_asked_whom(tell: Told) -> None:
    tell(NodeStarted("singer", "sing", ""))
    tell(Decision("stop", "No more attempts."))
    assert tell(ended()) == ["ERROR"]
    (entry,) = tell.journal.entries
    document = entry.to_json()
    assert document["args"] == {"goal": "sing", "parameters": {"song": "a"}}
    assert document["stack"] == ["r", "n1 singer sing"]
    assert document["context"]["tried"] == ["stop: No more attempts."]
    assert document["timestamp"] == "1970-01-01T00:00:03.000+00:00"
    assert "environment" not in document


def test_another_attempt_is_a_fix_and_its_success_mends_what_failed(tell: Told) -> None:
    assert tell(AttemptRetried("timeout", "Too slow.", 2.0), attempt=1) == ["FIX_PLANNED"]
    attempts = (
        Attempt(number=1, duration_ns=7, fault=TIMEOUT, usage=Usage(tokens_in=3)),
        Attempt(number=2, duration_ns=1),
    )
    assert tell(ended("success", None, attempts=attempts)) == ["RESOLVED"]
    (entry,) = tell.journal.entries
    assert (entry.fault, entry.duration_ns, entry.usage) == (TIMEOUT, 7, Usage(tokens_in=3))
    assert entry.steps == ["tried again after 2 s"]
    assert entry.resolution == "`singer` answered"


def test_when_all_attempts_fail_each_is_a_fault_of_its_own(tell: Told) -> None:
    tell(AttemptRetried("timeout", "Too slow.", 2.0), attempt=1)
    attempts = tuple(Attempt(number=number, duration_ns=number, fault=TIMEOUT) for number in (1, 2))
    tell(ended(attempts=attempts))
    assert tell.statuses == [("n1", "ERROR"), ("n1", "ERROR")]
    assert [entry.attempt for entry in tell.journal.entries] == [1, 2]


@pytest.mark.parametrize("move", ["elsewhere", "rephrase", "ask"])
def test_another_agent_other_words_or_a_person_may_mend_it(tell: Told, move: str) -> None:
    tell(ended())
    assert tell(Decision(move, "Perhaps.")) == ["FIX_PLANNED"]
    assert tell(Decision("give_up", "Nobody is left.")) == ["ERROR"]
    assert tell(ended("partial", None), "n1~2") == ["RESOLVED"]  # a further step of the node


def test_an_answer_is_no_success_of_the_step_that_asked(tell: Told) -> None:
    tell(ended())
    question = Question(id="q", text="Retry?", kind="choice", options=("retry", "skip"))
    tell(Decision("ask", "A person decides."))
    tell(QuestionAsked(question), "n1~1")
    assert tell(QuestionAnswered(Answer(question_id="q", value="skip")), "n1~1") == []
    assert tell(GOOD, "n1~1") == []
    assert tell.statuses == [("n1", "FIX_PLANNED")]


def test_a_fault_is_told_once_however_far_up_it_goes(tell: Told) -> None:
    tell(NodeFinished(Result(task_id="t", agent="singer", lifecycle="working", extras={"plan": INNER})))
    tell(NodeStarted(), "n1~2")
    tell(ended(agent="bass"), "a", run="r:n1~2")
    tell(ended(), "", run="r:n1~2")
    tell(ended(), "n1~2")
    assert tell(ended(), "") == []
    (entry,) = tell.journal.entries
    assert (entry.path, entry.agent, entry.persistence) == ("n1/a", "bass", "fatal")
    assert entry.stack == ("r", "n1 singer sing", "n1/a bass")
    assert entry.args == {"goal": "sing", "instruction": "low"}


def test_the_run_itself_can_fail_and_be_mended_when_it_is_resumed(tell: Told) -> None:
    assert tell(ended(), "") == ["ERROR"]
    assert tell(NodeStarted(), "") == ["FIX_PLANNED"]
    assert tell(GOOD, "") == ["RESOLVED"]
    assert tell.journal.entries[0].persistence == "fatal"


def test_what_is_planned_is_an_error_again_when_the_run_ends_without_it(tell: Told) -> None:
    tell(AttemptRetried("network_error", "Nobody."), attempt=1)
    assert tell(GOOD, "") == ["ERROR"]


def test_what_somebody_stopped_is_no_fault(tell: Told) -> None:
    assert tell(ended("canceled", Fault(code="canceled", message="Stopped."))) == []
    assert tell(NodeFinished(Result(task_id="t", agent="a", lifecycle="input_required"))) == []


def test_a_step_of_a_model_that_judges_does_not_mend_the_run(tell: Told) -> None:
    tell(ended(), "")
    assert tell(GOOD, "~synthesis.1") == []
    assert tell(ended(fault=Fault(code="unavailable", message="No model."), agent="judge"), "~think1.n1") == ["ERROR"]


def test_an_agent_that_another_asked_fails_and_the_other_gets_along(tell: Told) -> None:
    failure = Result(task_id="t", agent="alto", skill="sing", outcome="error", fault=TIMEOUT)
    assert tell(DelegationFinished(failure)) == ["ERROR"]
    assert tell.journal.entries[0].who == "n1 alto.sing"
    assert tell(GOOD) == ["RESOLVED"]


def test_a_fork_is_a_plan_and_mends_what_it_brings(tell: Told) -> None:
    tell(ended())
    assert tell(Decision("fork", "Again as `f`.", {"run": "f"}), "") == ["FIX_PLANNED"]
    nodes = RunNodes("f", Plan(nodes=(Delegation(id="n1", agent="singer"),)))
    tell.journal.apply_fork("f", nodes, None)
    assert tell.statuses == [("n1", "FIX_PLANNED")]
    nodes.apply(Event("f", "n1~1", 0, 1, 97, QuestionAsked(Question(id="q", text="Retry?"))))
    nodes.apply(Event("f", "n1~1", 0, 2, 98, GOOD))  # only an answer
    tell.journal.apply_fork("f", nodes, ended().result)
    assert tell.statuses == [("n1", "ERROR")]
    nodes.apply(Event("f", "n1", 0, 3, 99, GOOD))
    tell.journal.apply_fork("f", nodes, ended("partial").result)
    assert tell.statuses == [("n1", "RESOLVED")]


def test_a_post_mortem_has_no_advice_about_what_is_mended(tell: Told) -> None:
    tell(ended())
    texts = tell.journal.entries[0].post_mortem(0)
    assert list(texts) == ["failed", "when", "tried", "cost", "status", "next"]
    assert texts["cost"] == ["not measured"]
    assert texts["next"][0] == "Wait longer."
    tell(GOOD)
    assert "next" not in tell.journal.entries[0].post_mortem(0)


class Lines(logging.Handler):
    """Keeps the faults that are logged."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.faults.append(vars(record)["fault"])


@pytest.fixture
def lines() -> Iterator[Lines]:
    handler = Lines()
    FAULT_LOGGER.addHandler(handler)
    yield handler
    FAULT_LOGGER.removeHandler(handler)


def test_faults_of_a_run_are_logged_while_it_goes_on_without_credentials(lines: Lines) -> None:
    async def workflow(scope: WorkflowScope, payload: dict[str, Any]) -> Result:
        del payload

        async def body() -> Result:
            raise NetworkError("Nobody at https://me:hunter2secret@host answered.")

        scope.reserve(["n1"])
        scope.step("n1", body)
        await scope.completed()
        while not lines.faults:  # it is logged before the run ends
            await scope.sleep(0.01)
        return Result(task_id="t", agent="x", outcome="partial")

    async def main() -> None:
        async with InProcessEngine({"w": workflow}) as engine:
            run = await engine.start("w", {"plan": PLAN})
            await asyncio.gather(log_faults(engine, run, command="serve"), engine.result(run))

    asyncio.run(main())
    (fault,) = lines.faults
    assert (fault["command"], fault["error_type"], fault["status"]) == ("serve", "network_error", "ERROR")
    assert "hunter2secret" not in str(fault)


def test_what_is_in_the_log_already_is_not_logged_again(lines: Lines) -> None:
    journal = FaultJournal("r", PLAN)
    for at_ns in (10, 20):
        journal.log(Event("r", "n1", 0, at_ns, at_ns, ended(fault=TIMEOUT)), since_ns=15)
    assert len(journal.entries) == 2
    assert len(lines.faults) == 1
