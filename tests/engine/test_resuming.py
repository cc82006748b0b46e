"""The shared suite: a run goes on, or is copied, without repeating what is finished. Over every engine that has what a case needs."""

import asyncio
import itertools
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from retinue.contract.event import Decision, Message
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.contract.task import Answer, Question
from retinue.engine.base import Step, WorkflowScope
from retinue.errors import UnknownName
from tests.engine.flows import collect, fan_out, gives, hangs, happened, result, told
from tests.engine.subjects import Subject, over

NAME = Question(id="name", text="Which?")


class Counted:
    """Steps that count how often they ran; those named in `broken` fail."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.ran: Counter[str] = Counter()
        self.broken: set[str] = set()
        self.partial: set[str] = set()

    def steps(self) -> dict[str, Step]:
        return {name: self._body(name) for name in self.names}

    def _body(self, name: str) -> Step:
        async def body() -> Result:
            self.ran[name] += 1
            if name in self.broken:
                raise ValueError(name)
            return result(f"{name}{self.ran[name]}", "partial" if name in self.partial else "success")

        return body


def worth(done: Result) -> Result:
    """The result of a fan-out, `partial` when a branch failed: so that it can be resumed."""
    return done if all(outcome == "success" for _, outcome, _ in done.data) else result(done.data, "partial")


def resumable(counted: Counted):
    inner = fan_out(counted.steps)

    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        return worth(await inner(scope, payload))

    return flow


@over()
def test_a_resumed_run_repeats_only_what_did_not_end_well(subject: Subject) -> None:
    counted = Counted("a", "b", "c")
    counted.broken = {"b"}
    counted.partial = {"c"}

    async def main() -> None:
        async with subject.open({"flow": resumable(counted)}) as engine:
            name = await engine.start("flow", {})
            assert (await engine.result(name)).outcome == "partial"
            counted.broken.clear()
            assert await engine.resume(name) == name
            done = await engine.result(name)
            assert done.data == [["a", "success", "a1"], ["c", "partial", "c1"], ["b", "success", "b2"]]
            assert counted.ran == {"a": 1, "b": 2, "c": 1}
            events = [event async for event in engine.events(name)]
            assert [event.sequence for event in events] == list(range(1, len(events) + 1))
            assert (await told(engine, name))[4:] == ["finished", "message", "finished b", "finished"]

    asyncio.run(main())


@over("durable")
def test_a_run_is_resumed_by_a_later_process(subject: Subject) -> None:
    counted = Counted("a", "b")
    counted.broken = {"b"}

    async def main() -> None:
        async with subject.open({"flow": resumable(counted)}) as engine:
            name = await engine.start("flow", {"x": [1, {"y": None}]}, label="goal")
            await engine.result(name)
        counted.broken.clear()
        async with subject.open({"flow": resumable(counted)}) as engine:
            assert [record.label for record in await engine.list()] == ["goal"]
            assert (await engine.result(name)).outcome == "partial"
            await engine.resume(name)
            assert (await engine.result(name)).outcome == "success"
            assert counted.ran == {"a": 1, "b": 2}
        async with subject.open({}) as engine:
            record = await engine.get(name)
            assert (record.outcome, record.finished_steps) == ("success", ("a", "b"))
            assert (await told(engine, name))[-1] == "finished"

    asyncio.run(main())


@over()
def test_resuming_what_runs_or_has_succeeded_changes_nothing(subject: Subject) -> None:
    async def main() -> None:
        async with subject.open(
            {"flow": fan_out(lambda: {"a": gives(1)}), "hang": fan_out(lambda: {"a": hangs})}
        ) as engine:
            name = await engine.start("flow", {})
            done = await engine.result(name)
            assert await engine.resume(name) == name
            assert await engine.result(name) == done
            going = await engine.start("hang", {})
            assert await engine.resume(going) == going
            assert Counter(await told(engine, going))["started"] == 1

    asyncio.run(main())


@over()
def test_a_cancelled_run_can_be_resumed(subject: Subject) -> None:
    async def main() -> None:
        waits: dict[str, Step] = {"a": gives(1), "b": hangs}
        async with subject.open({"flow": fan_out(lambda: waits)}) as engine:
            name = await engine.start("flow", {})
            await happened(engine, name, "finished", "a")
            await engine.cancel(name)
            await engine.result(name)
            waits["b"] = gives(2)
            await engine.resume(name)
            assert (await engine.result(name)).data == [["a", "success", 1], ["b", "success", 2]]

    asyncio.run(main())


@over()
def test_time_and_chance_repeat_until_something_new_has_happened(subject: Subject) -> None:
    ticks = itertools.count(1_700_000_000_000_000_000, 1_000_000)
    chances = itertools.count(0.0, 0.001)
    saw: list[list[float]] = []
    broken = {"b"}

    async def fails() -> Result:
        if broken:
            raise ValueError("b")
        return result()

    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.reserve("ab")
        seen: list[float] = [await scope.now(), await scope.random()]
        scope.step("a", gives())
        await collect(scope, 1)
        seen += [await scope.now(), await scope.random()]
        scope.step("b", fails)
        ((_, done),) = await collect(scope, 1)
        seen += [await scope.now(), await scope.random()]
        saw.append(seen)
        return result(outcome="success" if done.useful and len(saw) > 2 else "partial")

    async def main() -> None:
        opened = {"clock": lambda: next(ticks), "random": lambda: next(chances)}
        async with subject.open({"flow": flow}, **opened) as engine:  # pyright: ignore[reportArgumentType] - two of Options
            name = await engine.start("flow", {})
            await engine.result(name)
            await engine.resume(name)
            await engine.result(name)
            broken.clear()
            await engine.resume(name)
            await engine.result(name)
        first, second, third = saw
        assert first[:4] == second[:4] == third[:4]
        assert first[4] < second[4] < third[4]
        assert first[5] < second[5] < third[5]

    asyncio.run(main())


@over()
def test_a_replay_does_not_wait_again_for_what_has_passed(subject: Subject) -> None:
    time_ns = [1_700_000_000_000_000_000]
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        time_ns[0] += round(seconds * 1e9)

    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        await scope.sleep(30)
        await scope.sleep(-1)
        return result(outcome="partial")

    async def main() -> None:
        async with subject.open({"flow": flow}, clock=lambda: time_ns[0], sleep=sleep) as engine:
            name = await engine.start("flow", {})
            await engine.result(name)
            time_ns[0] -= 10_000_000_000
            await engine.resume(name)
            await engine.result(name)
        assert waits == [30, 0, 10, 0]

    asyncio.run(main())


@over()
def test_what_the_workflow_says_again_is_not_recorded_again(subject: Subject) -> None:
    counted = Counted("a", "b")
    counted.broken = {"b"}

    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.emit(Decision("both", "they are there"))
        done = worth(await fan_out(counted.steps)(scope, payload))
        scope.emit(Message(f"ended {done.outcome}"))
        return done

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            name = await engine.start("flow", {})
            await engine.result(name)
            counted.broken.clear()
            await engine.resume(name)
            await engine.result(name)
            events = [event async for event in engine.events(name)]
            assert Counter(event.kind for event in events)["decision"] == 1
            texts = [event.body.text for event in events if isinstance(event.body, Message)]
            assert texts == ["ended partial", "Going on: 1 result is kept.", "ended success"]

    asyncio.run(main())


@over()
def test_an_answered_question_is_not_asked_again(subject: Subject) -> None:
    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.ask("who", NAME)
        ((_, done),) = await collect(scope, 1)
        return result(done.data, "partial")

    async def main() -> None:
        async with subject.open({"flow": flow}, waits_for_answers=True) as engine:
            name = await engine.start("flow", {})
            await happened(engine, name, "asked")
            await engine.answer(name, Answer(question_id="name", value="Ada"))
            await engine.result(name)
            await engine.resume(name)
            assert (await engine.result(name)).data == "Ada"
            assert Counter(await told(engine, name))["asked who"] == 1

    asyncio.run(main())


@over()
def test_a_question_that_nobody_answered_is_asked_again(subject: Subject) -> None:
    there: list[bool] = []

    async def answerer(question: Question) -> Answer | None:
        return Answer(question_id=question.id, value="Ada") if there else None

    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.ask("who", NAME)
        ((_, done),) = await collect(scope, 1)
        return result(done.data, done.outcome or "failed")

    async def main() -> None:
        async with subject.open({"flow": flow}, answerer=answerer) as engine:
            name = await engine.start("flow", {})
            assert (await engine.result(name)).outcome == "rejected"
            there.append(True)
            await engine.resume(name)
            assert (await engine.result(name)).data == "Ada"

    asyncio.run(main())


@over()
def test_a_child_goes_on_with_its_parent(subject: Subject) -> None:
    counted = Counted("x", "y")
    counted.broken = {"y"}

    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.child("c", "child", {})
        ((_, done),) = await collect(scope, 1)
        return result(done.data, "success" if done.useful else "partial")

    async def child(scope: WorkflowScope, payload: JsonMapping) -> Result:
        done = worth(await fan_out(counted.steps)(scope, payload))
        return done if done.outcome == "success" else result(done.data, "failed")

    async def main() -> None:
        async with subject.open({"flow": flow, "child": child}) as engine:
            name = await engine.start("flow", {})
            assert (await engine.result(name)).outcome == "partial"
            counted.broken.clear()
            await engine.resume(name)
            assert (await engine.result(name)).outcome == "success"
            assert counted.ran == {"x": 1, "y": 2}
            assert (await engine.get(f"{name}:c")).outcome == "success"

    asyncio.run(main())


@over()
def test_a_fork_keeps_finished_steps_except_those_named(subject: Subject) -> None:
    counted = Counted("a", "b", "c")

    async def main() -> None:
        async with subject.open({"flow": fan_out(counted.steps)}) as engine:
            name = await engine.start("flow", {"k": 1}, label="goal")
            before = await engine.result(name)
            with pytest.raises(UnknownName) as caught:
                await engine.fork(name, without=["d"])
            assert caught.value.suggestions == ("a", "b", "c")
            copy = await engine.fork(name, without=["b"])
            assert copy != name
            done = await engine.result(copy)
            assert done.data == [["a", "success", "a1"], ["c", "success", "c1"], ["b", "success", "b2"]]
            assert counted.ran == {"a": 1, "b": 2, "c": 1}
            assert await engine.result(name) == before
            assert (await engine.get(copy)).label == "goal"
            assert await told(engine, copy) == [
                "started", "finished a", "finished c", "message", "finished b", "finished",
            ]  # fmt: skip
            again = await engine.fork(copy)
            assert (await engine.result(again)).outcome == "success"
            assert counted.ran["b"] == 2

    asyncio.run(main())


@over()
def test_a_fork_takes_the_unfinished_child_along_unless_it_is_named(subject: Subject) -> None:
    counted = Counted("x", "y")
    counted.broken = {"y"}

    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.child("c", "child", {})
        ((_, done),) = await collect(scope, 1)
        return result(done.outcome)

    async def child(scope: WorkflowScope, payload: JsonMapping) -> Result:
        done = worth(await fan_out(counted.steps)(scope, payload))
        return done if done.outcome == "success" else result(done.data, "failed")

    async def main() -> None:
        async with subject.open({"flow": flow, "child": child}) as engine:
            name = await engine.start("flow", {})
            assert (await engine.result(name)).data == "failed"
            counted.broken.clear()
            copy = await engine.fork(name)
            assert (await engine.result(copy)).data == "success"
            assert counted.ran == {"x": 1, "y": 2}
            anew = await engine.fork(copy, without=["c"])
            assert (await engine.result(anew)).data == "success"
            assert counted.ran == {"x": 2, "y": 3}
            assert (await engine.get(f"{anew}:c")).parent == anew

    asyncio.run(main())


@over("durable")
def test_after_a_kill_a_later_process_goes_on_without_repeating_finished_steps(
    subject: Subject, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    command = [sys.executable, "-m", "tests.engine.victim", subject.name, subject.place, str(ran)]
    with subprocess.Popen([*command, "hang"], stdout=subprocess.PIPE, text=True) as victim:
        assert victim.stdout
        name = victim.stdout.readline().strip()
        os.kill(victim.pid, signal.SIGKILL)
    assert victim.returncode == -signal.SIGKILL

    async def look() -> None:
        async with subject.open({}) as engine:
            record = await engine.get(name)
            assert record.lifecycle == "working"
            assert record.stalled
            assert sorted(record.finished_steps) == ["s0", "s1", "s2", "s3", "s4", "s5", "s6"]
            assert sorted((await engine.get(f"{name}:inner")).finished_steps) == ["i0"]

    asyncio.run(look())
    done = subprocess.run([*command, name], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "success"
    assert Counter(ran.read_text().split()) == {
        **{f"s{n}": 1 for n in range(7)}, **{f"s{n}": 2 for n in range(7, 10)}, "i0": 1, "i1": 2,
    }  # fmt: skip
