"""From a goal to an answer, and a single task by the same way."""

import asyncio
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import pytest

from retinue.agents.port import RunContext
from retinue.agents.python import FromFacts, agent
from retinue.agents.registry import Registry
from retinue.contract.facts import Facts
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Result
from retinue.contract.task import Answer, Budget, Question, Task
from retinue.engine.base import Outside
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.engine.offload import Pool
from retinue.errors import InvalidInput, UnknownName
from retinue.orchestration.orchestrator import Orchestrator, workflows
from retinue.tools.workspace import Workspace
from tests.orchestration.parts import decisions, down, node, orchestrated, passages, square


@pytest.mark.requirement("A2", "A3", "G17")
def test_a_goal_is_taken_apart_delegated_and_merged():
    result = orchestrated(
        square, passages,
        work=lambda orchestrator: orchestrator.run_goal("Square 12. Find passages about 'retries' in the documents."),
    )  # fmt: skip
    assert result.outcome == "success"
    assert [section["agent"] for section in result.data["answer"]] == ["square", "passages"]
    assert "144" in result.content
    assert "`docs/guide.md:7`" in result.content
    assert result.data["tokens"]["counter"] == "words"
    assert result.data["plan"]["goal"].startswith("Square 12")


def test_a_goal_nobody_can_do_is_rejected_with_what_is_near():
    result = orchestrated(square, work=lambda orchestrator: orchestrator.run_goal("bake me a cheesecake"))
    assert result.outcome == "rejected"
    assert result.data["not_answered"][0]["clause"] == "bake me a cheesecake"
    assert result.completeness == 0


def test_facts_that_cannot_be_read_are_none_and_the_log_says_why(caplog: pytest.LogCaptureFixture, tmp_path: Path):
    def broken(_: Workspace) -> Facts:
        raise KeyError("no cellar")

    @agent(facts=broken, examples=["count the bottles"])
    async def cellar(wine: Annotated[str, FromFacts("wine")] = "") -> str:
        """Counts bottles. Use to count bottles. Returns how many."""
        return "twelve"

    orchestrator = Orchestrator(Registry([cellar]), InProcessEngine({}), Workspace(tmp_path))
    assert [one.agent for one in orchestrator.plan("count the bottles").nodes] == ["cellar"]
    (record,) = caplog.records
    assert record.getMessage() == "the facts of cellar.cellar cannot be read: KeyError: 'no cellar'"


def test_a_goal_that_cannot_be_one_never_starts():
    with pytest.raises(InvalidInput):
        orchestrated(square, work=lambda orchestrator: orchestrator.run_goal(""))


@pytest.mark.requirement("C45")
def test_a_single_task_is_bound_from_its_instruction():
    result = orchestrated(square, work=lambda o: o.run_task("square", instruction="the number 9 please"))
    assert result.data["answer"][0]["text"] == "- value: 81"


@pytest.mark.requirement("A28", "C11")
def test_of_two_live_majors_each_gets_its_own_requests():
    @agent(name="teller", version="1.0")
    async def old() -> str:
        """Tells which version it is. Use to see versions. Returns one word."""
        return "old"

    @agent(name="teller", version="2.0")
    async def new() -> str:
        """Tells which version it is. Use to see versions. Returns one word."""
        return "new"

    wanted = [Delegation(id="plain", agent="teller"), Delegation(id="second", agent="teller", major=2)]
    result = orchestrated(old, new, work=lambda o: o.gather(wanted))
    assert result.data["results"] == {"plain": "old", "second": "new"}


def test_given_parameters_stay_as_they_are():
    result = orchestrated(square, work=lambda o: o.run_task("square", "square", parameters={"number": 5}))
    assert "25" in result.content


def test_wrong_parameters_are_refused_by_the_boundary():
    result = orchestrated(square, work=lambda o: o.run_task("square", parameters={"number": "five"}))
    assert result.outcome == "error"
    assert result.fault is not None
    assert result.fault.code == "invalid_input"


def test_an_unknown_agent_is_said_at_once_and_an_unknown_skill_in_the_result():
    with pytest.raises(UnknownName):
        orchestrated(square, work=lambda o: o.run_task("sqare"))
    result = orchestrated(square, work=lambda o: o.run_task("square", "cube"))
    assert result.fault is not None
    assert "square" in result.fault.suggestions


def test_the_journal_holds_who_did_what():
    async def work(orchestrator: Orchestrator) -> Any:
        run = await orchestrator.start(orchestrator.plan("square 12"))
        await orchestrator.engine.result(run)
        return [event async for event in orchestrator.engine.events(run, follow=False)]

    events = orchestrated(square, work=work)
    assert [(event.kind, event.node) for event in events] == [
        ("started", ""), ("decision", "n1"), ("started", "n1"), ("finished", "n1"), ("finished", ""),
    ]  # fmt: skip


@pytest.mark.requirement("P15", "C29")
def test_every_decision_about_a_failure_is_an_event():
    async def work(orchestrator: Orchestrator) -> Any:
        plan = orchestrator.task_plan("down", instruction="square 3")
        run = await orchestrator.start(plan)
        await orchestrator.engine.result(run)
        return await decisions(orchestrator, run)

    async def quick(seconds: float) -> None:
        await asyncio.sleep(0)

    moves = orchestrated(down, work=work, outside=Outside(pause=quick))
    assert ("n1", "give_up") in moves


@pytest.mark.requirement("A14")
def test_an_interrupted_run_goes_on_without_repeating_what_was_finished(tmp_path: Path):
    called: list[str] = []
    broken = [True]

    @agent(description="Works.")
    async def works(name: str) -> dict[str, str]:
        """Work."""
        called.append(name)
        if name == "b" and broken:
            raise ValueError("not yet")
        return {"name": name}

    nodes = [node("a", "works", parameters={"name": "a"}), node("b", "works", needs=("a",), parameters={"name": "b"})]

    async def main() -> tuple[Result, Result]:
        registry = Registry([works])
        with Journal(tmp_path / "journal.db") as journal:
            async with InProcessEngine(workflows(registry), journal=journal) as engine:
                orchestrator = Orchestrator(registry, engine)
                run = await orchestrator.start(Plan(nodes=tuple(nodes)), answer="collected")
                first = await engine.result(run)
                broken.clear()
                await engine.resume(run)
                return first, await engine.result(run)

    first, second = asyncio.run(main())
    assert first.outcome == "partial"
    assert second.outcome == "success"
    assert called.count("a") == 1


# What a node is given


def double(number: int) -> int:
    return number * 2


@agent(description="Uses everything it is given.")
async def curious(run: RunContext) -> dict[str, Any]:
    """Look around."""
    await run.sleep(0.5)
    return {
        "now": run.now(),
        "random": run.random(),
        "doubled": await run.offload(double, 21),
        "file": run.workspace.read_text("a.txt"),
        "node": run.node,
    }


def test_a_node_has_time_chance_a_workspace_and_processes(tmp_path: Path):
    (tmp_path / "a.txt").write_text("there")
    slept: list[float] = []

    async def pause(seconds: float) -> None:
        slept.append(seconds)

    async def main() -> Result:
        registry = Registry([curious])
        async with Pool(1) as pool:
            outside = Outside(clock=lambda: 1_700_000_000_000_000_000, chance=lambda: 0.25, pause=pause)
            flows = workflows(registry, workspace=Workspace(tmp_path), offload=pool, outside=outside)
            async with InProcessEngine(flows) as engine:
                return await Orchestrator(registry, engine).run_task("curious")

    result = asyncio.run(main())
    assert result.outcome == "success", result.fault
    assert slept == [0.5]
    for words in ("doubled: 42", "file: there", "node: n1", "random: 0"):
        assert words in result.content


@pytest.mark.parametrize("hours", [2, -2])
def test_a_clock_that_is_set_gives_and_takes_no_time(hours: int):
    wall_ns = [1_700_000_000_000_000_000]
    left_s: list[float] = []

    @agent(description="Looks at the clock.")
    async def patient(run: RunContext) -> dict[str, bool]:
        """Look twice."""
        assert run.deadline_ns is not None
        for _ in range(2):
            left_s.append((run.deadline_ns - run.now()) / 1e9)
            wall_ns[0] += hours * 3600 * 10**9
        return {"looked": True}

    outside = Outside(clock=lambda: wall_ns[0], steady=lambda: 5)
    plan = Plan(nodes=(node("n1", "patient"), node("n2", "patient", needs=("n1",))))
    budget = Budget(timeout_s=60)
    result = orchestrated(patient, work=lambda each: each.run_plan(plan, budget=budget), outside=outside)
    assert result.outcome == "success", result.fault
    assert left_s == [60] * 4


@pytest.mark.parametrize("wanted", ["workspace", "offload"])
def test_what_a_run_was_not_given_is_denied(wanted: str):
    @agent(description="Asks for what is not there.")
    async def greedy(run: RunContext) -> dict[str, Any]:
        """Ask."""
        return {"got": str(run.workspace) if wanted == "workspace" else await run.offload(double, 2)}

    result = orchestrated(greedy, work=lambda orchestrator: orchestrator.run_task("greedy"))
    assert result.fault is not None
    assert result.fault.code == "access_denied"


def test_a_question_from_inside_a_delegated_call_reaches_the_person():
    @agent(description="Asks a person.")
    async def asks(run: RunContext) -> dict[str, Any]:
        """Ask."""
        answer = await run.ask(Question(id="name", text="Who are you?"))
        return {"name": answer.value if answer else None}

    @agent(description="Lets another ask.")
    async def lets(run: RunContext) -> dict[str, Any]:
        """Delegate."""
        return {"inner": (await run.delegate(Task(id="x", agent="asks"))).data}

    async def answerer(question: Question) -> Any:
        return Answer(question_id=question.id, value="Jane")

    result = orchestrated(asks, lets, work=lambda o: o.run_task("lets"), answerer=answerer)
    assert result.outcome == "success", result.fault
    (section,) = result.data["answer"]
    assert "Jane" in section["text"]


def test_today_is_what_the_goal_is_relative_to(tmp_path: Path):
    @agent(description="Counts commits.", examples=["count the commits since yesterday"])
    async def commits(since: date) -> dict[str, str]:
        """Count commits since a day."""
        return {"since": since.isoformat()}

    async def main() -> Result:
        registry = Registry([commits])
        async with InProcessEngine(workflows(registry)) as engine:
            orchestrator = Orchestrator(registry, engine, today=date(2026, 3, 18), workspace=Workspace(tmp_path))
            return await orchestrator.run_goal("count the commits since yesterday")

    assert "2026-03-17" in asyncio.run(main()).content.replace("\\", "")
