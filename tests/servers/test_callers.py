"""What `retinue serve` offers, called by `retinue.connect`: the same call, question and cancel by every protocol."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import retinue
from retinue.agents.boundary import Boundary
from retinue.agents.local import LocalContext
from retinue.agents.registry import Registry
from retinue.contract.event import Body, Progress
from retinue.contract.result import Result
from retinue.contract.task import Answer, Limits, Question, Task
from tests.servers.parts import Server, running

PLACES = ("/agents/general/{agent}", "/agents/general/{agent}/.well-known/agent.json", "/mcp")
"""The card of A2A, that of spec 004, and the MCP server."""


class Person(LocalContext):
    """Answers every question, and remembers what it was told."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Question] = []
        self.told: list[Body] = []

    async def ask(self, question: Question) -> Answer | None:
        self.asked.append(question)
        return Answer(question_id=question.id, value="that they purr")

    def emit(self, body: Body) -> None:
        self.told.append(body)


class Nobody(Person):
    """Answers no question."""

    async def ask(self, question: Question) -> Answer | None:
        self.asked.append(question)
        return None


async def called(
    server: Server,
    place: str,
    agent: str,
    *,
    skill: str | None = None,
    timeout_s: float = 30,
    answering: Person | None = None,
    **parameters: Any,
) -> tuple[Result, Person]:
    place = f"{server.address}{place.format(agent=agent)}"
    async with retinue.connect(there=place) as remote, answering or Person() as person:
        (there,) = remote.agents
        names = [each.name for each in there.definition.skills]
        task = Task(
            id=f"{agent}-{place.count('/')}",
            agent="there",
            skill=skill or (agent if agent in names else None),
            parameters=parameters,
            limits=Limits(timeout_s=timeout_s, retries=0),
        )
        return await Boundary(Registry()).call_agent(there, task, person), person


@pytest.mark.requirement("P7", "P8", "C28")
@pytest.mark.parametrize("place", PLACES)
def test_a_skill_is_called_with_its_own_parameters(tmp_path: Path, place: str) -> None:
    async def ask() -> Result:
        async with running(tmp_path) as server:
            return (await called(server, place, "greet", name="Ada"))[0]

    result = asyncio.run(ask())
    assert result.outcome == "success", result.fault
    assert result.data in ("Hello, Ada", {"value": "Hello, Ada"})


@pytest.mark.requirement("P8")
@pytest.mark.parametrize("place", PLACES)
def test_wrong_parameters_are_refused_before_anything_is_sent(tmp_path: Path, place: str) -> None:
    async def ask() -> tuple[Result, int]:
        async with running(tmp_path) as server:
            result, _ = await called(server, place, "greet", nam="Ada")
            return result, len(await server.engine.list())

    result, runs = asyncio.run(ask())
    assert result.fault is not None
    assert (result.fault.code, runs) == ("invalid_input", 0)


@pytest.mark.requirement("C1")
@pytest.mark.parametrize("place", PLACES)
def test_its_question_reaches_a_person_and_the_answer_goes_back(tmp_path: Path, place: str) -> None:
    async def ask() -> tuple[Result, Person]:
        async with running(tmp_path) as server:
            return await called(server, place, "asker", topic="cats")

    result, person = asyncio.run(ask())
    assert [each.text for each in person.asked] == ["What of cats?"]
    assert result.outcome == "success", result.fault
    assert "You said that they purr" in str(result.data), result.fault


@pytest.mark.requirement("C1")
@pytest.mark.parametrize("place", PLACES)
def test_a_question_that_nobody_answers_waits_and_is_gone_on_with_later(tmp_path: Path, place: str) -> None:
    async def ask() -> tuple[Result, Result, Person]:
        async with running(tmp_path) as server:
            unanswered, person = await called(server, place, "asker", answering=Nobody(), topic="cats")
            later = Person()
            later.checkpoint = person.checkpoint
            return unanswered, *await called(server, place, "asker", answering=later, topic="cats")

    waiting, result, person = asyncio.run(ask())
    assert (waiting.lifecycle, [each.text for each in waiting.questions]) == ("input_required", ["What of cats?"])
    assert [each.id for each in person.asked] == [each.id for each in waiting.questions]
    assert "You said that they purr" in str(result.data), result.fault


@pytest.mark.requirement("P9")
@pytest.mark.parametrize("place", PLACES)
def test_its_failure_names_it_and_says_nothing_of_its_inside(tmp_path: Path, place: str) -> None:
    async def ask() -> Result:
        async with running(tmp_path) as server:
            return (await called(server, place, "greet", name="boom"))[0]

    result = asyncio.run(ask())
    assert result.fault is not None
    assert "peer" in result.fault.detail
    assert "hunter2" not in str(result)


@pytest.mark.parametrize("place", PLACES)
def test_when_nobody_waits_any_more_it_is_canceled_there(tmp_path: Path, place: str) -> None:
    async def ask() -> tuple[Result, str | None]:
        async with running(tmp_path) as server:
            result, _ = await called(server, place, "sleeper", seconds=60, timeout_s=1)
            (record,) = await server.engine.list()
            return result, (await asyncio.wait_for(server.engine.result(record.run), 20)).outcome

    result, there = asyncio.run(ask())
    assert (result.fault.code if result.fault else None, there) == ("timeout", "canceled")


@pytest.mark.requirement("P1", "C47")
@pytest.mark.parametrize("place", ["", "/.well-known/agent.json"])
def test_the_whole_takes_a_task_in_words(tmp_path: Path, place: str) -> None:
    async def ask() -> Result:
        async with running(tmp_path) as server:
            return (await called(server, place, "", skill="tasks", task="greet Ada"))[0]

    result = asyncio.run(ask())
    assert result.outcome == "success", result.fault
    assert "Hello, Ada" in str(result.data)


def test_a_key_is_sent_and_without_it_nobody_is_let_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask() -> tuple[str, Result]:
        async with running(tmp_path, anonymous=False) as server:
            url = f"{server.address}/agents/general/greet/.well-known/agent.json"
            with pytest.raises(retinue.RetinueError) as refused:
                await retinue.connect(url).__aenter__()
            own = server.client_for("ada").headers["authorization"].removeprefix("Bearer ")
            monkeypatch.setenv("GREET_KEY", own)
            async with retinue.connect(url, keys={url: "GREET_KEY"}) as remote:
                return refused.value.code, await retinue.call(remote.agents[0], name="Ada")

    code, result = asyncio.run(ask())
    assert code == "unauthenticated"
    assert result.outcome == "success", result.fault


def test_progress_of_a_stranger_is_told(tmp_path: Path) -> None:
    @retinue.agent(effects=[])
    async def steps(run: retinue.RunContext) -> str:
        """Goes step by step. Use for steps. Returns that it is done."""
        for at in (1, 2):
            run.emit(Progress(phase=f"step {at}"))
            await run.sleep(0.2)
        return "done"

    async def ask() -> Person:
        async with running(tmp_path, agents=(steps,)) as server:
            return (await called(server, PLACES[0], "steps"))[1]

    told = [each.phase for each in asyncio.run(ask()).told if isinstance(each, Progress)]
    assert told == ["step 1", "step 2"]


def test_skills_on_the_card_of_the_whole_have_their_parameters(tmp_path: Path) -> None:
    async def ask() -> tuple[Result, Result]:
        async with running(tmp_path) as server:
            right, _ = await called(server, "", "", skill="greet_greet", name="Ada")
            return right, (await called(server, "", "", skill="greet_greet", nam="Ada"))[0]

    right, wrong = asyncio.run(ask())
    assert (right.outcome, right.data) == ("success", "Hello, Ada"), right.fault
    assert wrong.fault is not None
    assert "peer" not in wrong.fault.detail


@pytest.mark.parametrize("place", PLACES)
def test_a_run_that_waited_for_an_answer_goes_on_with_the_same_task_there(tmp_path: Path, place: str) -> None:
    class Absent(Person):
        async def ask(self, question: Question) -> Answer | None:
            self.asked.append(question)
            return None

    async def ask() -> tuple[Result, int]:
        async with running(tmp_path) as server:
            async with retinue.connect(there=f"{server.address}{place.format(agent='asker')}") as remote:
                (there,) = remote.agents
                task = Task(id="t", agent="there", skill="asker", parameters={"topic": "cats"})
                async with Absent() as absent, Person() as person:
                    await Boundary(Registry()).call_agent(there, task, absent)
                    person.checkpoint = absent.checkpoint
                    result = await Boundary(Registry()).call_agent(there, task, person)
            return result, len(await server.engine.list())

    result, runs = asyncio.run(ask())
    assert (result.outcome, runs) == ("success", 1), result.fault
    assert "You said that they purr" in str(result.data)
