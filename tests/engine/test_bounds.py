"""What a server bounds: events of a run, memory of ended runs, how long a question waits, and what closing records."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from retinue.contract.event import Message, Progress, QuestionAnswered
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.contract.task import Answer, Question
from retinue.engine.base import WorkflowScope
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.errors import UnknownName
from tests.engine.flows import collect, fan_out, gives, hangs, happened, result, told


async def chatters(scope: WorkflowScope, payload: JsonMapping) -> Result:
    for number in range(50):
        scope.emit(Progress("talk", str(number)))
    scope.reserve(["a"])
    scope.step("a", gives("x" * 1_000))
    await collect(scope, 1)
    return result()


async def asks(scope: WorkflowScope, payload: JsonMapping) -> Result:
    scope.ask("ask", Question(id="name", text="Which?"))
    ((_, answer),) = await collect(scope, 1)
    return result([answer.outcome, None if answer.fault is None else answer.fault.code])


def test_beyond_its_limit_a_run_records_only_what_resuming_depends_on() -> None:
    async def main() -> None:
        async with InProcessEngine({"flow": chatters}, max_events=10) as engine:
            name = await engine.start("flow", {})
            await engine.result(name)
            events = [event async for event in engine.events(name)]
            assert [event.kind for event in events[:10]] == ["started"] + ["progress"] * 9
            assert [event.kind for event in events[10:]] == ["message", "finished", "finished"]
            message = events[10].body
            assert isinstance(message, Message)
            assert "More than 10 events" in message.text
            assert [event.sequence for event in events] == list(range(1, 14))

    asyncio.run(main())


def test_that_events_are_left_out_is_said_also_when_something_that_counts_came_first() -> None:
    async def late(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.emit(Progress("talk", "first"))
        scope.reserve(["a"])
        scope.step("a", gives())
        await collect(scope, 1)
        for _ in range(3):
            scope.emit(Progress("talk", "late"))
        return result()

    async def main() -> None:
        async with InProcessEngine({"flow": late}, max_events=2) as engine:
            name = await engine.start("flow", {})
            await engine.result(name)
            assert await told(engine, name) == ["started", "progress", "finished a", "message", "finished"]

    asyncio.run(main())


def test_ended_runs_beyond_so_many_bytes_are_forgotten_but_never_the_newest() -> None:
    async def main() -> None:
        async with InProcessEngine({"flow": chatters}, keep_bytes=2_000) as engine:
            names = [await engine.start("flow", {}) for _ in range(3)]
            await engine.result(names[-1])
            assert [record.run for record in await engine.list()] == [names[-1]]
            with pytest.raises(UnknownName):
                await engine.result(names[0])

    asyncio.run(main())


def test_a_question_that_nobody_answers_in_time_has_failed() -> None:
    async def main() -> None:
        async with InProcessEngine({"flow": asks}, waits_for_answers=True, answer_timeout_s=0.02) as engine:
            name = await engine.start("flow", {})
            assert (await engine.result(name)).data == ["failed", "timeout"]
            assert list(await engine.questions(name)) == []
            with pytest.raises(UnknownName):
                await engine.answer(name, Answer(question_id="name", value="late"))

    asyncio.run(main())


def test_an_answer_in_time_is_an_answer_also_of_a_person_who_is_asked() -> None:
    async def hesitates(question: Question) -> Answer | None:
        await asyncio.Event().wait()
        return None

    async def main() -> None:
        async with InProcessEngine({"flow": asks}, waits_for_answers=True, answer_timeout_s=60) as engine:
            name = await engine.start("flow", {})
            await happened(engine, name, "asked")
            await engine.answer(name, Answer(question_id="name", value="x"))
            assert (await engine.result(name)).data == ["success", None]
        async with InProcessEngine({"flow": asks}, answerer=hesitates, answer_timeout_s=0.02) as engine:
            assert (await engine.result(await engine.start("flow", {}))).data == ["failed", "timeout"]

    asyncio.run(main())


def test_an_engine_that_leaves_its_runs_records_nothing_of_their_end_and_they_can_be_resumed(tmp_path: Path) -> None:
    made: list[str] = []

    async def make() -> Result:
        made.append("a")
        return result()

    ready = asyncio.Event()

    async def waits() -> Result:
        await ready.wait()
        return result("b")

    flows = {"flow": fan_out(lambda: {"a": make, "b": waits})}

    async def leave() -> str:
        with Journal(tmp_path / "runs.sqlite3") as journal:
            async with InProcessEngine(flows, journal=journal, on_close="leave") as engine:
                name = await engine.start("flow", {})
                await happened(engine, name, "finished", "a")
            return name

    async def go_on(name: str) -> None:
        with Journal(tmp_path / "runs.sqlite3") as journal:
            async with InProcessEngine(flows, journal=journal) as engine:
                record = await engine.get(name)
                assert (record.stalled, record.outcome, record.finished_steps) == (True, None, ("a",))
                assert await told(engine, name) == ["started", "finished a"]
                ready.set()
                await engine.resume(name)
                assert (await engine.result(name)).data == [["a", "success", None], ["b", "success", "b"]]

    asyncio.run(go_on(asyncio.run(leave())))
    assert made == ["a"]


def test_leaving_ends_also_what_does_not_want_to_end(tmp_path: Path) -> None:
    async def main() -> None:
        with Journal(tmp_path / "runs.sqlite3") as journal:
            async with InProcessEngine({"flow": fan_out(lambda: {"a": hangs})}, journal=journal, on_close="leave") as e:
                name = await e.start("flow", {})
                await happened(e, name, "started")
            assert journal.get(name).ended_ns is None

    asyncio.run(main())


async def seeks_approval(scope: WorkflowScope, payload: JsonMapping) -> Result:
    scope.ask("ask", Question(id="delete", text="May I delete everything?", kind="approval"))
    ((_, answer),) = await collect(scope, 1)
    return result([answer.outcome, answer.data])


def test_an_approval_that_nobody_gives_is_denied() -> None:
    async def main() -> None:
        bounds: dict[str, Any] = {"waits_for_answers": True, "answer_timeout_s": 60.0, "approval_timeout_s": 0.01}
        async with InProcessEngine({"flow": seeks_approval}, **bounds) as engine:
            name = await engine.start("flow", {})
            assert (await engine.result(name)).data == ["rejected", False]
            answers = [event.body async for event in engine.events(name) if isinstance(event.body, QuestionAnswered)]
            assert [(each.answer.value, each.answer.by) for each in answers] == [(False, "policy")]

    asyncio.run(main())


@pytest.mark.parametrize("recorded", [False, True])
def test_a_run_of_another_owner_is_no_run(tmp_path: Path, *, recorded: bool) -> None:
    async def main() -> None:
        journal = Journal(tmp_path / "journal.sqlite3") if recorded else None
        async with InProcessEngine({"flow": chatters}, journal=journal) as engine:
            name = await engine.start("flow", {}, owner="ada")
            await engine.result(name)
            assert (await engine.get(name, owner="ada")).run == name
            with pytest.raises(UnknownName) as foreign:
                await engine.get(name, owner="eve")
            near = name[:-1] + ("0" if name[-1] != "0" else "1")
            with pytest.raises(UnknownName) as absent:
                await engine.get(near, owner="eve")
            assert foreign.value.message.replace(name, near) == absent.value.message
            assert foreign.value.hint == absent.value.hint
            assert not foreign.value.suggestions
            assert not absent.value.suggestions
        if journal is not None:
            journal.close()

    asyncio.run(main())
