"""The shared suite: a run starts another as one of its steps. Over every engine that has what a case needs."""

import asyncio

import pytest

from retinue.contract.event import Checkpoint
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.engine.base import WorkflowScope
from retinue.errors import InvalidInput, UnknownName
from tests.engine.flows import collect, fan_out, gives, hangs, happened, result, run, told
from tests.engine.subjects import Subject, over


def has_child(name: str = "c", workflow: str = "child"):
    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.reserve([name])
        scope.child(name, workflow, {"from": scope.run})
        scope.emit(Checkpoint("begun"))
        ((_, done),) = await collect(scope, 1)
        return result([done.outcome, done.data])

    return flow


@over()
def test_a_child_run_is_delivered_like_a_step_and_found_by_its_id(subject: Subject) -> None:
    async def child(scope: WorkflowScope, payload: JsonMapping) -> Result:
        return result([scope.run, payload])

    async def main() -> None:
        async with subject.open({"flow": has_child(), "child": child}) as engine:
            name = await engine.start("flow", {})
            inner = f"{name}:c"
            assert (await engine.result(name)).data == ["success", [inner, {"from": name}]]
            record = await engine.get(inner)
            assert (record.parent, record.workflow, record.outcome) == (name, "child", "success")
            assert [record.run for record in await engine.list()] == [name]
            assert await told(engine, inner) == ["started", "finished"]
            with pytest.raises(InvalidInput, match="child run"):
                await engine.resume(inner)

    asyncio.run(main())


@over()
def test_a_child_is_cancelled_with_its_parent_and_by_stop(subject: Subject) -> None:
    async def stops(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.reserve(["c", "a"])
        scope.child("c", "child", {})
        scope.step("a", gives())
        await collect(scope, 1)
        scope.stop("c")
        return result([one.outcome for _, one in await collect(scope, 1)])

    async def main() -> None:
        flows = {"flow": has_child(), "stops": stops, "child": fan_out(lambda: {"x": hangs})}
        async with subject.open(flows) as engine:
            name = await engine.start("flow", {})
            await happened(engine, name, "checkpoint")
            await engine.cancel(name)
            assert (await engine.result(name)).outcome == "canceled"
            assert (await engine.result(f"{name}:c")).outcome == "canceled"
            assert (await run(engine, "stops")).data == ["canceled"]

    asyncio.run(main())


@over()
def test_an_unknown_child_workflow_is_said_to_the_parent(subject: Subject) -> None:
    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        with pytest.raises(UnknownName):
            scope.child("c", "nothing", {})
        return result("told")

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            assert (await run(engine)).data == "told"

    asyncio.run(main())
