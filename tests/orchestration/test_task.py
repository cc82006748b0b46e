"""One task as it came, to one agent: nothing of it is lost, and the answer is the agent's own."""

import asyncio
from collections.abc import Collection
from typing import Any

import pytest

from retinue.agents.port import Reply, RunContext
from retinue.agents.python import agent, skill
from retinue.agents.registry import Registry
from retinue.contract.definition import Effect
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Warned
from retinue.contract.task import Answer, Context, Limits, OutputWish, Question, Task
from retinue.engine.base import RunFilter
from retinue.engine.inprocess import InProcessEngine
from retinue.errors import UnknownName
from retinue.orchestration.orchestrator import Orchestrator, workflows
from tests.engine.flows import happened
from tests.orchestration.parts import decisions, down, orchestrated, square

SEEN: list[Task] = []


@agent(effects=[])
async def echo(text: str, task: Task) -> Reply:
    """Echoes a text. Use to hear it again. Returns it."""
    SEEN.append(task)
    return Reply(
        data={"text": text},
        content=f"You said {text}.",
        confidence=0.5,
        warnings=(Warned(type="missing_data", message="no tone", impact="flat", recovery="sing"),),
        outcome="partial",
        extras={"tone": "flat"},
    )


@agent(effects=["read", "write"])
async def scribe(text: str) -> str:
    """Writes a text down. Use to keep it. Returns it."""
    return text


@agent
class Desk:
    """Answers at a desk."""

    @skill(effects=[], examples=["open the window", "let some air in"])
    async def window(self) -> str:
        """Opens the window. Use when it is stuffy. Returns what was done."""
        return "opened"

    @skill(effects=[], examples=["count to 7"])
    async def count(self, number: int) -> int:
        """Counts. Use to count. Returns the last number."""
        return number


@agent(effects=[])
async def asker(run: RunContext) -> str:
    """Asks before it answers. Use to be asked. Returns the answer."""
    answer = await run.ask(Question(id="name", text="Which name?"))
    return "nobody" if answer is None else str(answer.value)


def asked(task: Task, *agents: Any, effects: Collection[Effect] | None = None, answerer: Any = None) -> Any:
    """The result of one task, and the orchestrator's decisions about it."""

    async def work(orchestrator: Orchestrator) -> Any:
        run = await orchestrator.start_task(task, effects=effects)
        return await orchestrator.engine.result(run), await decisions(orchestrator, run), run

    return orchestrated(*(agents or (echo,)), work=work, answerer=answerer)


def test_the_agent_gets_all_of_the_task_and_its_result_comes_back_whole():
    task = Task(
        id="t1",
        agent="echo",
        parameters={"text": "hey"},
        instruction="Say it.",
        context=Context(what="w", why="y", constraints=("c",), history=("user: Hi",), memory="m", inputs={"x": [1]}),
        output=OutputWish(style="brief", schema={"type": "object"}),
        limits=Limits(timeout_s=5, retries=0),
        source_agent="peer",
        produced_by="model",
        extras={"run_agent": {"trace": 7}},
    )
    result, _, run = asked(task)
    got = SEEN.pop()
    assert got.context == task.context
    assert (got.output, got.limits, got.extras, got.source_agent) == (
        task.output,
        task.limits,
        task.extras,
        task.source_agent,
    )
    assert got.id == f"{run}:n1"
    assert got.idempotency_key
    assert (result.task_id, result.agent, result.skill, result.outcome) == ("t1", "echo", "echo", "partial")
    assert (result.data, result.content, result.confidence) == ({"text": "hey"}, "You said hey.", 0.5)
    assert result.warnings[0].message == "no tone"
    assert result.extras["tone"] == "flat"


def test_missing_and_wrong_parameters_are_refused_and_not_asked_for():
    for parameters in ({}, {"number": "seven"}):
        result, moves, _ = asked(Task(id="t", agent="square", skill="square", parameters=parameters), square)
        assert (result.outcome, result.fault.code, result.lifecycle) == ("error", "invalid_input", "ended")
        assert not {move for _, move in moves} & {"ask", "elsewhere", "rephrase"}


def test_nobody_else_is_asked_when_it_fails():
    result, moves, _ = asked(Task(id="t", agent="down", limits=Limits(retries=0)), down, square)
    assert (result.agent, result.fault.code) == ("down", "network_error")
    assert not {move for _, move in moves} & {"elsewhere", "rephrase"}


@pytest.mark.requirement("C47")
def test_words_alone_are_routed_among_the_agents_own_skills_or_rejected_with_their_names():
    result, _, _ = asked(Task(id="t", agent="desk", instruction="let some air in"), Desk, square)
    assert (result.skill, result.data) == ("window", "opened")
    for words in ("square 12", "", "  "):  # no words name no skill, also where one needs nothing else
        result, _, _ = asked(Task(id="t", agent="desk", instruction=words), Desk, square)
        assert result.outcome == "rejected"
        assert {"window", "count"} <= set(result.fault.suggestions)
    with pytest.raises(UnknownName):
        asked(Task(id="t", agent="nobody"), Desk)


@pytest.mark.parametrize("effects", [(), ("read",), ("network",)])
def test_an_agent_that_may_touch_more_than_the_run_is_not_called(effects: tuple[Effect, ...]):
    result, _, _ = asked(Task(id="t", agent="scribe", parameters={"text": "x"}), scribe, effects=effects)
    assert result.fault.code == "access_denied"
    assert asked(Task(id="t", agent="scribe", parameters={"text": "x"}), scribe, effects=("read", "write"))[0].useful
    assert asked(Task(id="t", agent="echo", parameters={"text": "x"}), effects=())[0].useful


def test_an_agents_own_question_is_asked_and_it_goes_on_without_an_answer():
    async def answerer(question: Question) -> Any:
        return Answer(question_id=question.id, value="Ada")

    assert asked(Task(id="t", agent="asker"), asker, answerer=answerer)[0].data == "Ada"
    assert asked(Task(id="t", agent="asker"), asker)[0].data == "nobody"


@agent(name="clerk", version="1.0", effects=[])
async def first_clerk(text: str) -> str:
    """Files a text. Use to file it. Returns who did."""
    return f"v1 {text}"


@agent(name="clerk_v2", version="2.0", effects=[])
async def second_clerk(text: str) -> str:
    """Files a text. Use to file it. Returns who did."""
    return f"v2 {text}"


@pytest.mark.requirement("A28")
@pytest.mark.parametrize(
    ("target", "answer"),
    [({"agent": "clerk"}, "v1 x"), ({"agent": "clerk_v2"}, "v2 x"), ({"agent": "clerk", "major": 2}, "v2 x")],
)
def test_the_version_that_is_named_answers(target: dict[str, Any], answer: str):
    task = Task(id="t", parameters={"text": "x"}, **target)
    assert asked(task, first_clerk, second_clerk)[0].data == answer


@agent(effects=[], composes=True)
async def composer(text: str) -> Plan:
    """Has a text written down. Use to keep it. Returns a plan."""
    return Plan(nodes=(Delegation(id="w", agent="scribe", parameters={"text": text}),))


@agent(effects=[])
async def boss(text: str, run: RunContext) -> str:
    """Has a text written down at once. Use to keep it. Returns how it went."""
    result = await run.delegate(Task(id="", agent="scribe", parameters={"text": text}))
    return result.fault.code if result.fault else str(result.data)


def test_the_effects_of_a_run_bind_its_child_runs_and_the_agents_that_its_agents_call():
    def through(name: str, effects: tuple[Effect, ...] | None) -> Any:
        task = Task(id="t", agent=name, parameters={"text": "x"})
        return asked(task, composer, boss, scribe, effects=effects)[0]

    assert through("boss", ("read",)).data == "access_denied"
    assert through("boss", ("read", "write")).data == "x"
    assert "access_denied" in str(through("composer", ("read",)).data)
    assert not through("composer", ("read",)).useful
    assert through("composer", None).useful


def test_a_question_that_nobody_answers_in_time_fails_the_task_which_can_be_resumed_and_answered():
    async def main() -> None:
        registry = Registry([asker])
        flows = workflows(registry)
        async with InProcessEngine(flows, waits_for_answers=True, answer_timeout_s=0.05) as engine:
            run = await Orchestrator(registry, engine).start_task(Task(id="t", agent="asker"))
            result = await engine.result(run)
            assert result.fault is not None
            assert (result.lifecycle, result.outcome, result.fault.code) == ("ended", "failed", "timeout")
            assert result.fault.detail["bound"] == "question"
            assert list(await engine.questions(run)) == []
            known = len([event async for event in engine.events(run, follow=False)])
            engine.answer_timeout_s = None
            await engine.resume(run)
            await happened(engine, run, "asked", after=known)
            (pending,) = await engine.questions(run)
            await engine.answer(run, Answer(question_id=pending.question.id, value="Ada", by="key:phone"))
            assert (await engine.result(run)).data == "Ada"

    asyncio.run(main())


def test_runs_of_tasks_and_plans_are_found_by_their_owner():
    async def work(orchestrator: Orchestrator) -> list[tuple[str, str, dict[str, str]]]:
        task = Task(id="t", agent="square", parameters={"number": 3})
        await orchestrator.start_task(task, owner="ada", labels={"door": "mcp"})
        plan = orchestrator.plan("square 12")
        await orchestrator.start(plan, owner="ada")
        records = await orchestrator.engine.list(where=RunFilter(owner="ada"))
        return [(record.label, record.owner, dict(record.labels)) for record in records]

    assert sorted(orchestrated(square, work=work)) == [
        ("square 12", "ada", {}),
        ("square.square", "ada", {"door": "mcp"}),
    ]
