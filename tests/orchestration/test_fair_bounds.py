"""Bounds that hold and are fair: calls left for others, time while a person is asked, and what the killed had spent."""

import asyncio
from typing import Any

import pytest

from retinue.agents.port import Reply, RunContext
from retinue.agents.python import agent
from retinue.agents.registry import Registry
from retinue.contract.plan import Candidate, Delegation, Plan
from retinue.contract.result import Result
from retinue.contract.task import Answer, Budget, Limits, Question, Task
from retinue.engine.base import Outside
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.llm.conversation import converse
from retinue.llm.port import Request, UserMessage
from retinue.llm.scripted import ScriptedModel
from retinue.orchestration.orchestrator import Orchestrator, workflows
from retinue.orchestration.planning import Planning, with_planning
from tests.orchestration.parts import Square, node, orchestrated, square

_HOUR_NS = 3_600 * 10**9


@pytest.mark.requirement("A25")
def test_a_composer_leaves_a_call_for_those_who_become_ready_later():
    composed = asyncio.Event()

    @agent(description="Waits for the chief.")
    async def patient() -> Square:
        """Wait."""
        await composed.wait()
        return Square(value=1)

    @agent(description="Says that it has begun.")
    async def worker() -> Square:
        """Begin."""
        composed.set()
        await asyncio.sleep(0)
        await later.wait()
        return Square(value=2)

    @agent(description="Is ready when the patient one has ended.")
    async def follower() -> Square:
        """Follow."""
        later.set()
        return Square(value=3)

    @agent(description="Composes.", composes=True)
    async def chief() -> Reply:
        """Compose."""
        return Reply(plan=Plan(nodes=(node("w", "worker"),)))

    later = asyncio.Event()
    nodes = (node("c", "chief"), node("p", "patient"), node("f", "follower", needs=("p",)))
    result: Result = orchestrated(
        chief, patient, worker, follower, work=lambda orchestrator: orchestrator.gather(nodes, budget=Budget(nodes=10))
    )
    assert (result.outcome, result.data["failures"]) == ("success", [])


class Clock:
    """A clock that only moves when told to."""

    def __init__(self) -> None:
        self.now_ns = 1_000 * _HOUR_NS

    def __call__(self) -> int:
        return self.now_ns


@pytest.mark.requirement("C21")
@pytest.mark.parametrize("below", [False, True], ids=["in the run", "in a child run"])
def test_the_time_of_a_run_stands_still_while_a_person_is_asked(*, below: bool):
    clock = Clock()
    left_s: list[float] = []

    @agent(description="Must know.")
    async def curious(run: RunContext) -> str:
        """Ask."""
        answer = await run.ask(Question(id="colour", text="Which colour?"))
        return str(answer and answer.value)

    @agent(description="Comes after.")
    async def after(run: RunContext) -> str:
        """Work."""
        assert run.deadline_ns is not None
        left_s.append((run.deadline_ns - clock()) / 1e9)
        return "done"

    @agent(description="Composes.", composes=True)
    async def chief() -> Reply:
        """Compose."""
        return Reply(plan=Plan(nodes=(node("q", "curious"),)))

    async def thinks_for_an_hour(question: Question) -> Answer:
        clock.now_ns += _HOUR_NS
        return Answer(question_id=question.id, value="red")

    nodes = (node("q", "chief" if below else "curious"), node("z", "after", needs=("q",)))
    result: Result = orchestrated(
        curious,
        after,
        chief,
        answerer=thinks_for_an_hour,
        outside=Outside(clock=clock),
        work=lambda orchestrator: orchestrator.gather(nodes, budget=Budget(timeout_s=60)),
    )
    assert (result.outcome, result.data["results"]["z"]) == ("success", "done")
    assert left_s == [60.0]


def test_what_planning_took_is_taken_off_the_time_of_the_run():
    left_s: list[float] = []

    @agent(description="Works.")
    async def worker(run: RunContext) -> str:
        """Work."""
        assert run.deadline_ns is not None
        left_s.append((run.deadline_ns - run.now()) / 1e9)
        return "done"

    plan = with_planning(Plan(nodes=(node("n", "worker"),)), Planning(by="model", duration_ns=9 * 10**9))
    orchestrated(worker, work=lambda orchestrator: orchestrator.run_plan(plan, budget=Budget(timeout_s=10)))
    assert 0 < left_s[0] <= 1


def test_a_run_that_is_out_of_time_says_which_setting_to_raise():
    @agent(description="Works.")
    async def worker() -> str:
        """Work."""
        await asyncio.Event().wait()
        return ""

    result: Result = orchestrated(
        worker, work=lambda orchestrator: orchestrator.run_task("worker", budget=Budget(timeout_s=0.05))
    )
    assert result.fault is not None
    assert result.fault.code == "timeout"
    assert "`run.budget.timeout_s`" in result.fault.hint


def test_different_requests_have_different_idempotency_keys_and_a_repeat_has_the_same():
    keys: dict[str, list[str | None]] = {"first": [], "second": []}

    def failing(name: str, fails: int) -> Any:
        async def works(task: Task, words: str) -> str:
            """Work."""
            keys[name].append(task.idempotency_key)
            if len(keys[name]) <= fails:
                raise ConnectionRefusedError(words)
            return "done"

        return agent(name=name, description="Works.")(works)

    chosen, other = (Candidate(agent=name, skill=name, score=1, share=1) for name in ("first", "second"))
    asked = Delegation(
        id="n", agent="first", instruction="x", parameters={"words": "x"}, chosen=chosen, alternatives=(other,)
    )
    instant = Outside(pause=lambda _: asyncio.sleep(0))
    result: Result = orchestrated(
        failing("first", 9),
        failing("second", 0),
        outside=instant,
        work=lambda orchestrator: orchestrator.run_plan(Plan(nodes=(asked,))),
    )
    assert result.outcome == "success"
    assert len(keys["first"]) > 1
    assert len(set(keys["first"])) == 1  # tried again, it is the same request
    assert keys["second"][0] not in {None, keys["first"][0]}


def _spender(model: ScriptedModel, *, then: Any = None) -> Any:
    @agent(description="Asks a model, and then hangs or fails.", thinks="must")
    async def spender(run: RunContext) -> str:
        """Spend."""
        await converse(model, Request((UserMessage("Go."),)), budget_tracker=run.budget_tracker)
        await then()
        return "never"

    return spender


async def _hang() -> None:
    await asyncio.Event().wait()


async def _fail() -> None:
    raise PermissionError("no")


@pytest.mark.requirement("C6")
@pytest.mark.parametrize("then", [_hang, _fail])
def test_what_an_attempt_spent_that_never_answered_is_in_the_account_of_the_run(then: Any):
    model = ScriptedModel(["A long answer."], usd_per_million=10)
    spender = _spender(model, then=then)
    nodes = (node("n", "spender", limits=Limits(timeout_s=0.2, retries=0)), node("s"))
    result: Result = orchestrated(spender, square, work=lambda orchestrator: orchestrator.gather(nodes))
    assert result.usage is not None
    assert (result.usage.requests, result.usage.model) == (1, model.name)
    assert (result.usage.tokens or 0) > 0
    assert result.usage.cost is not None


def test_a_resumed_run_counts_what_was_spent_before_and_gets_its_time_again(tmp_path: Any):
    spender = _spender(ScriptedModel(["A long answer."] * 2, usd_per_million=10), then=_fail)
    registry = Registry([spender, square])

    async def main() -> list[Result]:
        with Journal(tmp_path / "journal") as journal:
            known = workflows(registry)
            async with InProcessEngine(known, journal=journal) as engine:
                plan = Plan(nodes=(node("n", "spender"), node("s")))
                run = await Orchestrator(registry, engine).start(plan, budget=Budget(timeout_s=60))
                first = await engine.result(run)
            async with InProcessEngine(known, journal=journal) as engine:
                await engine.resume(run)
                return [first, await engine.result(run)]

    first, second = asyncio.run(main())
    assert first.usage is not None
    assert second.usage is not None
    assert (first.usage.requests, second.usage.requests) == (1, 2)
    assert second.usage.tokens == 2 * (first.usage.tokens or 0)
