"""The shared suite: steps and runs are stopped, and nothing stays behind. Over every engine that has what a case needs."""

import asyncio

from retinue.contract.event import Checkpoint
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.engine.base import WorkflowScope
from tests.engine.flows import collect, fan_out, gives, hangs, happened, result, run, told
from tests.engine.subjects import Subject, over


@over()
def test_a_hanging_step_is_stopped_and_still_delivered(subject: Subject) -> None:
    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.reserve(("hangs", "fine"))
        scope.step("hangs", hangs)
        scope.step("fine", gives(1))
        done = await collect(scope, 1)
        scope.stop("hangs")
        scope.stop("hangs")
        done += await collect(scope, 1)
        return result([[name, one.outcome, one.fault and one.fault.code] for name, one in done])

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            assert (await run(engine)).data == [["fine", "success", None], ["hangs", "canceled", "canceled"]]

    asyncio.run(main())


@over()
def test_a_step_stopped_before_it_began_never_begins(subject: Subject) -> None:
    began: list[str] = []

    async def begins() -> Result:
        began.append("x")
        return result()

    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.reserve("a")
        scope.step("a", begins)
        scope.stop("a")
        return result([one.outcome for _, one in await collect(scope, 1)])

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            assert (await run(engine)).data == ["canceled"]
        assert began == []

    asyncio.run(main())


@over()
def test_a_stopped_step_keeps_what_it_gives_on_its_way_out(subject: Subject) -> None:
    async def rescues() -> Result:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return result("half")
        return result()

    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.reserve("ab")
        scope.step("a", rescues)
        scope.step("b", gives())
        await collect(scope, 1)
        scope.stop("a")
        ((_, done),) = await collect(scope, 1)
        return result([done.outcome, done.data])

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            assert (await run(engine)).data == ["canceled", "half"]

    asyncio.run(main())


@over()
def test_cancelling_a_run_cancels_its_steps_and_says_why(subject: Subject) -> None:
    async def main() -> None:
        steps = {"a": gives(1), "b": hangs}
        async with subject.open({"flow": fan_out(lambda: steps)}) as engine:
            name = await engine.start("flow", {})
            await happened(engine, name, "finished", "a")
            await engine.cancel(name, reason="Enough.")
            await engine.cancel(name)
            done = await engine.result(name)
            assert done.outcome == "canceled"
            assert done.fault
            assert (done.fault.code, done.fault.message) == ("canceled", "Enough.")
            assert await told(engine, name) == ["started", "finished a", "finished b", "finished"]
            record = await engine.get(name)
            assert (record.outcome, record.finished_steps) == ("canceled", ("a",))
            await engine.cancel(name)
            assert (await engine.result(name)) == done

    asyncio.run(main())


@over()
def test_a_cancelled_workflow_may_collect_what_there_is(subject: Subject) -> None:
    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.reserve("ab")
        scope.step("a", gives(1))
        scope.step("b", hangs)
        done = await collect(scope, 1)
        scope.emit(Checkpoint("a"))
        try:
            await scope.completed()
        except asyncio.CancelledError:
            scope.stop("b")
            done += await collect(scope, 1)
        return result([[name, one.outcome] for name, one in done], "partial")

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            name = await engine.start("flow", {})
            await happened(engine, name, "checkpoint")
            await engine.cancel(name)
            done = await engine.result(name)
            assert (done.outcome, done.data) == ("canceled", [["a", "success"], ["b", "canceled"]])

    asyncio.run(main())


@over()
def test_a_run_cancelled_at_once_ends(subject: Subject) -> None:
    async def main() -> None:
        async with subject.open({"flow": fan_out(lambda: {"a": hangs})}) as engine:
            name = await engine.start("flow", {})
            await engine.cancel(name)
            assert (await engine.result(name)).outcome == "canceled"

    asyncio.run(main())


@over()
def test_what_a_workflow_leaves_running_is_stopped_and_recorded(subject: Subject) -> None:
    ends: list[str] = []

    async def tidies() -> Result:
        try:
            await asyncio.Event().wait()
        finally:
            ends.append("tidied")
        return result()

    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.reserve("ab")
        scope.step("a", tidies)
        scope.step("b", gives())
        await scope.completed()
        return result("early")

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            name = await engine.start("flow", {})
            assert (await engine.result(name)).data == "early"
            assert ends == ["tidied"]
            assert (await told(engine, name))[-2:] == ["finished a", "finished"]

    asyncio.run(main())


@over()
def test_leaving_the_engine_cancels_runs_and_leaves_nothing_behind(subject: Subject) -> None:
    async def parent(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.child("c", "flow", {})
        await scope.completed()
        return result()

    async def main() -> None:
        async with subject.open({"flow": fan_out(lambda: {"a": hangs}), "parent": parent}) as engine:
            names = [await engine.start("flow", {}) for _ in range(3)]
            names.append(await engine.start("parent", {}))
            await happened(engine, names[0], "started")
            await happened(engine, names[3], "started")
            late = await engine.start("flow", {})
        assert len(asyncio.all_tasks()) == 1
        for name in [*names, late]:
            assert (await engine.result(name)).outcome == "canceled"

    asyncio.run(main())
