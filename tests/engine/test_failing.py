"""The shared suite: whatever goes wrong in a step or workflow ends only that. Over every engine that has what a case needs."""

import asyncio
from typing import cast

import pytest

from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.engine.base import WorkflowScope
from retinue.errors import InternalError, InvalidInput, MissingFile, UnknownName
from tests.engine.flows import collect, fan_out, gives, raises, result, run
from tests.engine.subjects import Subject, over


@over()
def test_a_failing_step_is_a_result_and_not_an_exception(subject: Subject) -> None:
    async def main() -> None:
        seen: dict[str, Result] = {}

        async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
            scope.reserve(("bug", "ours", "fine"))
            scope.step("bug", raises(ValueError("seven")))
            scope.step("ours", raises(MissingFile("No `x`.", hint="Make it.", path="/x")))
            scope.step("fine", gives(1))
            seen.update(await collect(scope, 3))
            return result()

        async with subject.open({"flow": flow}) as engine:
            assert (await run(engine)).outcome == "success"
        assert seen["fine"].outcome == "success"
        assert seen["bug"].outcome == seen["ours"].outcome == "failed"
        assert seen["bug"].fault
        assert seen["ours"].fault
        assert (seen["bug"].fault.code, seen["bug"].fault.detail["class"]) == ("internal_error", "ValueError")
        assert "seven" in seen["bug"].fault.message
        assert (seen["ours"].fault.code, seen["ours"].fault.hint) == ("missing_file", "Make it.")

    asyncio.run(main())


WRONG = MissingFile(cast("str", 5))
"""An error that is wrong itself."""


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@over()
@pytest.mark.parametrize(
    "error",
    [
        SystemExit(3),
        GeneratorExit(),
        StopIteration(1),
        Mute(),
        ValueError("\ud800"),
        WRONG,
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_a_body_raises_ends_only_its_step(subject: Subject, error: BaseException) -> None:
    async def main() -> None:
        steps = {"bad": raises(error), "good": gives(1)}
        async with subject.open({"flow": fan_out(lambda: steps)}) as engine:
            assert sorted((await run(engine)).data) == [["bad", "failed", None], ["good", "success", 1]]

    asyncio.run(main())


@over()
def test_a_body_that_gives_no_result_has_failed(subject: Subject) -> None:
    async def nonsense() -> Result:
        return 7  # type: ignore[return-value]  # pyright: ignore[reportReturnType] - the point of the test

    async def main() -> None:
        async with subject.open({"flow": fan_out(lambda: {"a": nonsense})}) as engine:
            assert (await run(engine)).data == [["a", "failed", None]]

    asyncio.run(main())


@over()
@pytest.mark.parametrize("error", [ValueError("seven"), SystemExit(1), GeneratorExit()], ids=repr)
def test_a_failing_workflow_is_a_failed_run(subject: Subject, error: BaseException) -> None:
    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        raise error

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            name = await engine.start("flow", {})
            done = await engine.result(name)
            assert done.outcome == "failed"
            assert done.fault
            assert done.fault.code == "internal_error"
            assert (await engine.get(name)).outcome == "failed"

    asyncio.run(main())


@over()
def test_waiting_for_nothing_is_an_error_and_not_for_ever(subject: Subject) -> None:
    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        with pytest.raises(InternalError, match="nothing runs"):
            await scope.completed()
        return result("told")

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            assert (await run(engine)).data == "told"

    asyncio.run(main())


@over()
def test_names_are_reserved_once_started_once_and_by_the_workflow_only(subject: Subject) -> None:
    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        async def meddles() -> Result:
            with pytest.raises(InvalidInput, match="the workflow itself"):
                scope.step("c", gives())
            return result()

        scope.reserve(("a", "b", "c"))
        with pytest.raises(InvalidInput, match="reserved before"):
            scope.reserve(("a",))
        with pytest.raises(InvalidInput, match="not reserved"):
            scope.step("x", gives())
        scope.step("a", gives())
        with pytest.raises(InvalidInput, match="started before"):
            scope.step("a", gives())
        with pytest.raises(UnknownName):
            scope.stop("y")
        scope.step("b", meddles)
        scope.stop("c")
        return result([name for name, _ in await collect(scope, 2)])

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            done = await run(engine)
            assert sorted(done.data) == ["a", "b"]

    asyncio.run(main())
