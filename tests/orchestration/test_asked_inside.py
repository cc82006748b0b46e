"""Agents that others ask inside their own step: whose tokens are whose, in a real journal held against SQL by hand."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from retinue.agents.port import RunContext
from retinue.agents.prompted import PromptedAgent
from retinue.agents.python import agent
from retinue.agents.registry import Registry
from retinue.cli.recorded_run import recorded_events
from retinue.contract.definition import Tier
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Result, Usage
from retinue.contract.task import Answer, Question, Task
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.engine.statistics import JournalFacts
from retinue.llm.models import Models
from retinue.llm.scripted import ScriptedModel
from retinue.orchestration.orchestrator import Orchestrator, workflows
from retinue.orchestration.planning import Planning, with_planning
from retinue.orchestration.run_nodes import RunNodes
from retinue.orchestration.statistics import Statistics, statistics_of, with_lost_usage
from tests.agents.prompted.cast import delegated
from tests.agents.prompted.given import FILES, definition
from tests.orchestration.parts import node

TIERS: dict[Tier, str] = {"small": "t:small", "medium": "t:medium", "large": "t:large"}
PRICES = {"t:small": 1.0, "t:medium": 3.0, "t:large": None}


def prompted(name: str, model: str, *script: Any) -> PromptedAgent:
    made = ScriptedModel(script, name=model, usd_per_million=PRICES[model])
    return PromptedAgent(definition(name), models=Models.only(made), toolbox=FILES)


@agent(description="Lets others work, and says nothing of what they took.")
async def silent(run: RunContext) -> dict[str, Any]:
    """Ask two others."""
    first = await run.delegate(Task(id="x", agent="worker", instruction="Work."))
    second = await run.delegate(Task(id="y", agent="chief", instruction="Lead."))
    return {"said": [first.content, second.content]}


def recorded(path: Path, *nodes: Delegation, agents: tuple[Any, ...], answer: str | None = None) -> Result:
    async def answerer(question: Question) -> Answer:
        return Answer(question_id=question.id, value=answer)

    async def main() -> Result:
        registry = Registry(agents)
        with Journal(path) as journal:
            async with InProcessEngine(workflows(registry), journal=journal, answerer=answerer) as engine:
                return await Orchestrator(registry, engine).gather(nodes)

    return asyncio.run(main())


def read(path: Path) -> tuple[JournalFacts, Statistics]:
    with Journal(path) as journal:
        facts = journal.facts()
    return facts, statistics_of(facts, tiers=TIERS)


def asked(path: Path, statement: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


def spend(run: RunContext, tokens: int) -> None:
    usage = Usage(tokens_in=tokens, tokens_out=0, requests=1, model="t:small")
    run.budget_tracker.reserve(tokens=tokens, usd=None).commit(usage)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """A chief that asks a worker, and an agent in Python that asks both."""
    path = tmp_path_factory.mktemp("journal") / "runs.sqlite3"
    agents = (
        prompted("chief", "t:medium", delegated("worker"), "He says 42.", delegated("worker"), "He says 43."),
        prompted("worker", "t:small", "It is 42, after all.", "A single word.", "Or 43."),
        silent,
    )
    result = recorded(path, node("a", "chief", instruction="Lead."), node("b", "silent", needs=("a",)), agents=agents)
    assert result.outcome == "success", result.fault
    return path, result


@pytest.mark.requirement("P21")
def test_who_was_asked_inside_a_step_counts_as_himself_and_nothing_twice(told: tuple[Path, Result]) -> None:
    path, result = told
    _, found = read(path)
    calls = asked(
        path,
        "SELECT json_extract(body, '$.result.agent'), count(*) FROM events"
        " WHERE kind IN ('finished', 'delegated') AND node != '' GROUP BY 1",
    )
    assert {each.name: each.calls for each in found.agents} == dict(calls) == {"chief": 2, "worker": 3, "silent": 1}
    inside = asked(
        path,
        "SELECT json_extract(body, '$.result.agent'), count(*) FROM events WHERE kind = 'delegated' GROUP BY 1",
    )
    assert dict(inside) == {"chief": 1, "worker": 3}
    by_model = asked(
        path,
        "SELECT json_extract(part.value, '$.model'), sum((json_extract(part.value, '$.tokens_in')) + (json_extract(part.value, '$.tokens_out'))),"
        " sum(json_extract(part.value, '$.requests'))"
        " FROM events, json_each(body, '$.result.usage.parts') part"
        " WHERE kind = 'finished' AND node != '' GROUP BY 1",
    )
    chief, worker, quiet = (
        next(each for each in found.agents if each.name == name) for name in ("chief", "worker", "silent")
    )
    assert {model: tokens for model, tokens, _ in by_model} == {"t:medium": chief.tokens, "t:small": worker.tokens}
    assert (quiet.tokens, quiet.usd) == (None, None)
    assert result.usage is not None
    assert (chief.tokens or 0) + (worker.tokens or 0) == result.usage.tokens == found.runs.tokens
    assert (chief.usd or 0) + (worker.usd or 0) == pytest.approx(found.runs.usd)
    assert result.usage.cost is not None
    assert result.usage.cost.usd == pytest.approx(found.runs.usd)


@pytest.mark.requirement("A15", "A16")
def test_the_mix_has_each_model_in_its_own_tier(told: tuple[Path, Result]) -> None:
    path, _ = told
    _, found = read(path)
    requests = dict(
        asked(
            path,
            "SELECT json_extract(part.value, '$.model'), sum(json_extract(part.value, '$.requests'))"
            " FROM events, json_each(body, '$.result.usage.parts') part WHERE kind = 'finished' AND node = '' GROUP BY 1",
        )
    )
    assert requests == {"t:medium": 4, "t:small": 3}
    by_calls = found.mix[0]
    assert (by_calls.total, by_calls.unknown) == (7, 0)
    assert by_calls.shares == {"small": pytest.approx(3 / 7), "medium": pytest.approx(4 / 7), "large": 0.0}
    assert {each.name: each.calls for each in found.models} == {"t:medium": 2, "t:small": 3}


def test_facts_say_who_was_asked_inside(told: tuple[Path, Result]) -> None:
    facts, _ = read(told[0])
    assert [(call.agent, call.inside) for call in facts.calls] == [
        ("worker", True), ("chief", False), ("worker", True), ("worker", True), ("chief", True), ("silent", False),
    ]  # fmt: skip
    assert [(part.agent, part.model) for part in facts.calls[1].used[0].split()] == [
        (None, "t:medium"),
        ("worker", "t:small"),
    ]


@pytest.mark.requirement("C18")
def test_a_run_of_which_some_has_no_price_says_what_is_known(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    agents = (prompted("chief", "t:medium", delegated("worker"), "Done."), prompted("worker", "t:large", "Done."))
    result = recorded(path, node("a", "chief", instruction="Lead."), agents=agents)
    assert result.usage is not None
    assert result.usage.cost is None
    _, found = read(path)
    ((known,),) = asked(
        path,
        "SELECT sum(json_extract(part.value, '$.cost.usd')) FROM events, json_each(body, '$.result.usage.parts') part"
        " WHERE kind = 'finished' AND node = ''",
    )
    assert found.runs.usd == pytest.approx(known) == pytest.approx(result.usage.known_usd)
    assert (found.runs.priced, found.runs.unpriced) == (0, 1)
    chief, worker = found.agents
    assert (chief.usd, chief.unpriced, worker.usd, worker.unpriced) == (pytest.approx(known), 0, None, 1)


@pytest.mark.requirement("A14")
def test_a_child_run_that_fails_in_every_life_of_its_run_is_paid_once_in_each(tmp_path: Path) -> None:
    @agent(description="Lets another work.")
    async def lead(run: RunContext) -> Plan:
        """Lead."""
        spend(run, 1_000)
        return Plan(goal="work", nodes=(node("w", "worker"),))

    @agent(description="Works in vain.")
    async def worker(run: RunContext) -> dict[str, Any]:
        """Work."""
        spend(run, 20)
        raise RuntimeError("in vain")

    plan, registry = Plan(goal="g", nodes=(node("a", "lead"),)), Registry([lead, worker])

    async def main() -> None:
        with Journal(tmp_path / "runs.sqlite3") as journal:
            async with InProcessEngine(workflows(registry), journal=journal) as engine:
                run = await Orchestrator(registry, engine).start(plan)
                for life in range(1, 5):
                    result, nodes = await engine.result(run), RunNodes(run, plan)
                    for event in recorded_events(journal, run):
                        nodes.apply(event)
                    took = [each.usage and each.usage.tokens for _, each in nodes]
                    assert (result.outcome, took) == ("error", [1_000 + 20 * life, 20 * life])
                    assert result.usage is not None
                    assert result.usage.tokens == 1_000 + 20 * life
                    await engine.resume(run)

    asyncio.run(main())


@pytest.mark.requirement("A14", "P21")
@pytest.mark.parametrize("way_on", ["resume", "cancel"])
def test_what_was_spent_when_the_process_died_is_counted_with_who_spent_it(tmp_path: Path, way_on: str) -> None:
    is_dying, spent = asyncio.Event(), asyncio.Event()

    @agent(description="Lets another work.")
    async def lead(run: RunContext) -> dict[str, Any]:
        """Lead."""
        spend(run, 1_000)
        return {"inner": (await run.delegate(Task(id="x", agent="worker"))).data}

    @agent(description="Works.")
    async def worker(run: RunContext) -> dict[str, Any]:
        """Work."""
        spend(run, 200)
        if is_dying.is_set():
            spent.set()
            await asyncio.Event().wait()
        return {}

    @agent(description="Works until somebody is better.")
    async def rival(run: RunContext) -> dict[str, Any]:
        """Work."""
        spend(run, 30)
        await asyncio.Event().wait()
        return {}

    path, registry = tmp_path / "runs.sqlite3", Registry([lead, worker, rival])
    plan = Plan(goal="g", nodes=(node("a", "lead"), node("b", "rival")), join="any")
    plan = with_planning(plan, Planning(usage=Usage(tokens_in=4, tokens_out=0, requests=1)))

    async def main() -> Result:
        is_dying.set()
        with Journal(path) as journal:
            async with InProcessEngine(workflows(registry), journal=journal, on_close="leave") as engine:
                run = await Orchestrator(registry, engine).start(plan)
                await spent.wait()
        is_dying.clear()
        with Journal(path) as journal:
            async with InProcessEngine(workflows(registry), journal=journal) as engine:
                await (engine.resume(run) if way_on == "resume" else engine.cancel(run))
                return await engine.result(run)

    result = asyncio.run(main())
    facts, _ = read(path)
    found = statistics_of(with_lost_usage(facts), tiers=TIERS)
    lives = 2 if way_on == "resume" else 1
    tallies = {each.name: (each.calls, each.canceled, each.tokens) for each in found.agents}
    canceled = 0 if way_on == "resume" else 1
    assert tallies == {
        "lead": (1, canceled, lives * 1_000), "worker": (1, canceled, lives * 200), "rival": (1, 1, lives * 30)
    }  # fmt: skip
    assert [(each.name, each.tokens) for each in found.models] == [("t:small", lives * 1_230)]
    assert result.usage is not None
    assert found.runs.tokens == result.usage.tokens == lives * 1_230 + 4


def test_who_only_waits_for_an_answer_has_not_been_called_yet(tmp_path: Path) -> None:
    @agent(description="Asks a person.")
    async def asks(run: RunContext) -> dict[str, Any]:
        """Ask."""
        said = await run.ask(Question(id="name", text="Who are you?"))
        return {"name": said.value if said else None}

    @agent(description="Lets another ask.")
    async def lets(run: RunContext) -> dict[str, Any]:
        """Delegate."""
        return {"inner": (await run.delegate(Task(id="x", agent="asks"))).data}

    path = tmp_path / "runs.sqlite3"
    assert recorded(path, node("a", "lets"), agents=(asks, lets), answer="Jane").outcome == "success"
    facts, _ = read(path)
    assert [(call.agent, call.outcome) for call in facts.calls if call.inside] == [("asks", "success")]
