"""One task as it came, to one agent: nothing of it is lost, and the answer is the agent's own."""

from collections.abc import Collection
from typing import Any

import pytest

from retinue.agents.port import Reply, RunContext
from retinue.agents.python import agent, skill
from retinue.contract.definition import Effect
from retinue.contract.result import Warned
from retinue.contract.task import Answer, Context, Limits, OutputWish, Question, Task
from retinue.engine.base import RunFilter
from retinue.errors import UnknownName
from retinue.orchestration.orchestrator import Orchestrator
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
    result, _, _ = asked(Task(id="t", agent="desk", instruction="square 12"), Desk, square)
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
