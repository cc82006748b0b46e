"""The shared suite: what happens is told, in order, to as many as want to know. Over every engine that has what a case needs."""

import asyncio

import pytest

from retinue.contract.event import Checkpoint, Decision, Message, NodeFinished, NodeStarted, Progress
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.engine.base import WorkflowScope
from retinue.errors import InvalidInput, UnknownName
from tests.engine.flows import fan_out, gives, hangs, happened, result, told
from tests.engine.subjects import Subject, over


@over()
def test_events_are_numbered_without_gaps_and_tell_of_everything_delivered(subject: Subject) -> None:
    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        async def speaks() -> Result:
            scope.emit(NodeStarted(agent="x"), node="a", attempt=1)
            scope.emit(Progress("reading", done=1, total=2), node="a", attempt=1)
            return result(1)

        scope.reserve("a")
        scope.emit(Decision("go", "because", {"n": 1}))
        scope.step("a", speaks)
        await scope.completed()
        scope.emit(Checkpoint("all"))
        return result(2)

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            name = await engine.start("flow", {}, label="the goal")
            events = [event async for event in engine.events(name)]
        assert [event.sequence for event in events] == list(range(1, 8))
        assert {event.run for event in events} == {name}
        assert [(event.kind, event.node, event.attempt) for event in events] == [
            ("started", "", 0),
            ("decision", "", 0),
            ("started", "a", 1),
            ("progress", "a", 1),
            ("finished", "a", 0),
            ("checkpoint", "", 0),
            ("finished", "", 0),
        ]
        assert events[0].body == NodeStarted(instruction="the goal")
        assert isinstance(events[-1].body, NodeFinished)
        assert events[-1].body.result.data == 2

    asyncio.run(main())


@over()
def test_events_can_be_taken_from_the_middle_followed_by_many_and_not_followed(subject: Subject) -> None:
    async def main() -> None:
        gate = asyncio.Event()

        async def waits() -> Result:
            await gate.wait()
            return result()

        async with subject.open({"flow": fan_out(lambda: {"a": waits, "b": gives()})}) as engine:
            name = await engine.start("flow", {})
            await happened(engine, name, "finished", "b")
            assert await told(engine, name) == ["started", "finished b"]
            assert await told(engine, name, after=1) == ["finished b"]
            assert await told(engine, name, after=99) == []

            async def follows(after: int) -> list[int]:
                return [event.sequence async for event in engine.events(name, after=after)]

            readers = [asyncio.create_task(follows(after)) for after in (0, 1, 2, 3, -5)]
            await anext(aiter(engine.events(name)))
            gate.set()
            read = await asyncio.gather(*readers)
            assert read == [[1, 2, 3, 4], [2, 3, 4], [3, 4], [4], [1, 2, 3, 4]]
            assert await told(engine, name, after=3) == ["finished"]

    asyncio.run(main())


@over()
def test_a_slow_follower_holds_nobody_up_and_misses_nothing(subject: Subject) -> None:
    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        for n in range(2000):
            scope.emit(Message(str(n)))
        return result()

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            name = await engine.start("flow", {})
            slow = aiter(engine.events(name))
            assert (await anext(slow)).kind == "started"
            await engine.result(name)
            rest = [event async for event in slow]
            assert [event.sequence for event in rest] == list(range(2, 2003))

    asyncio.run(main())


@over()
def test_a_follower_may_leave_early(subject: Subject) -> None:
    async def main() -> None:
        async with subject.open({"flow": fan_out(lambda: {"a": hangs})}) as engine:
            name = await engine.start("flow", {})
            reader = asyncio.create_task(happened(engine, name, "checkpoint"))
            await happened(engine, name, "started")
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)
            await engine.cancel(name)
            assert (await engine.result(name)).outcome == "canceled"

    asyncio.run(main())


@over()
def test_threads_may_emit(subject: Subject) -> None:
    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        async def body() -> Result:
            await asyncio.to_thread(lambda: [scope.emit(Message(str(n)), node="a") for n in range(50)])
            return result()

        scope.reserve("a")
        scope.step("a", body)
        await scope.completed()
        return result()

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            name = await engine.start("flow", {})
            events = [event async for event in engine.events(name)]
            assert [event.sequence for event in events] == list(range(1, 54))
            assert [event.body.text for event in events if isinstance(event.body, Message)] == [
                str(n) for n in range(50)
            ]

    asyncio.run(main())


@over()
def test_only_the_engine_says_that_something_finished(subject: Subject) -> None:
    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        with pytest.raises(InvalidInput, match="engine itself"):
            scope.emit(NodeFinished(result()))
        return result()

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            name = await engine.start("flow", {})
            await engine.result(name)
            assert await told(engine, name) == ["started", "finished"]

    asyncio.run(main())


@over()
def test_what_happens_around_a_run_is_told_also_after_its_end_and_hinders_no_resuming(subject: Subject) -> None:
    late = Decision("drop_push", "late")

    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        return result(outcome="failed")

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            name = await engine.start("flow", {})
            await engine.result(name)
            await engine.add_event(name, late)
            await engine.resume(name)
            assert (await engine.result(name)).outcome == "failed"
            events = [event async for event in engine.events(name)]
            assert [event.sequence for event in events] == list(range(1, len(events) + 1))
            assert sum(event.body == late for event in events) == 1
            with pytest.raises(UnknownName):
                await engine.add_event("none", late)
        if not engine.capabilities.durable:
            return
        async with subject.open({"flow": flow}) as engine:  # which has it in the journal only
            await engine.add_event(name, late)
            await engine.resume(name)
            await engine.result(name)
            events = [event async for event in engine.events(name)]
            assert sum(event.body == late for event in events) == 2

    asyncio.run(main())
