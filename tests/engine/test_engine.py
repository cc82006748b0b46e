"""The shared suite: runs start, give results and have a history. Over every engine that has what a case needs."""

import asyncio
import itertools

import pytest

from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.contract.task import Answer
from retinue.engine.base import Engine, Step, WorkflowScope
from retinue.errors import UnknownName
from tests.engine.flows import collect, fan_out, gives, result, run
from tests.engine.subjects import Subject, over


@over()
def test_a_run_gives_what_its_workflow_returns(subject: Subject) -> None:
    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        return result({"run": scope.run, "got": payload["n"]})

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            name = await engine.start("flow", {"n": 3}, label="three")
            assert (await engine.result(name)).data == {"run": name, "got": 3}
            record = await engine.get(name)
            assert (record.run, record.workflow, record.label) == (name, "flow", "three")
            assert (record.lifecycle, record.outcome, record.stalled) == ("ended", "success", False)
            assert record.ended_ns is not None
            assert record.ended_ns >= record.started_ns

    asyncio.run(main())


@over()
def test_results_arrive_in_the_order_in_which_steps_end(subject: Subject) -> None:
    gates = {name: asyncio.Event() for name in "abc"}

    def opens(name: str, following: str | None) -> Step:
        async def body() -> Result:
            await gates[name].wait()
            if following:
                gates[following].set()
            return result(name)

        return body

    async def main() -> None:
        steps = {"a": opens("a", None), "b": opens("b", "a"), "c": opens("c", "b")}
        async with subject.open({"flow": fan_out(lambda: steps)}) as engine:
            gates["c"].set()
            done = await run(engine)
            assert done.data == [["c", "success", "c"], ["b", "success", "b"], ["a", "success", "a"]]

    asyncio.run(main())


@over()
@pytest.mark.requirement("C32")
def test_branches_run_side_by_side(subject: Subject) -> None:
    async def main() -> None:
        together = asyncio.Barrier(20)

        async def meets() -> Result:
            await together.wait()
            return result()

        async with subject.open({"flow": fan_out(lambda: {f"s{n}": meets for n in range(20)})}) as engine:
            assert len((await run(engine)).data) == 20

    asyncio.run(main())


@over()
def test_the_same_run_started_twice_is_one_run(subject: Subject) -> None:
    started: list[str] = []

    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        started.append(scope.run)
        return result(payload["n"])

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            names = await asyncio.gather(*(engine.start("flow", {"n": n}, run="mine") for n in range(5)))
            assert names == ["mine"] * 5
            assert (await engine.result("mine")).data == 0
            assert await engine.start("flow", {"n": 9}, run="mine") == "mine"
            assert (await engine.result("mine")).data == 0
        assert started == ["mine"]

    asyncio.run(main())


@over()
def test_an_unknown_workflow_lists_what_there_is(subject: Subject) -> None:
    async def main() -> None:
        async with subject.open({"flow": fan_out(dict)}) as engine:
            with pytest.raises(UnknownName) as caught:
                await engine.start("flaw", {})
            assert caught.value.suggestions == ("flow",)

    asyncio.run(main())


@over()
def test_an_unknown_run_is_said_by_every_verb_with_near_names(subject: Subject) -> None:
    async def main() -> None:
        async with subject.open({"flow": fan_out(dict)}) as engine:
            await run(engine, run="tuesday")
            answer = Answer(question_id="q", value=1)
            for verb in (
                engine.result("tuesdey"),
                engine.get("tuesdey"),
                engine.cancel("tuesdey"),
                engine.answer("tuesdey", answer),
                engine.resume("tuesdey"),
                engine.fork("tuesdey"),
                anext(aiter(engine.events("tuesdey"))),
            ):
                with pytest.raises(UnknownName) as caught:
                    await verb
                assert caught.value.suggestions == ("tuesday",)

    asyncio.run(main())


@over()
def test_the_newest_runs_come_first(subject: Subject) -> None:
    ticks = itertools.count(1_700_000_000_000_000_000, 1_000_000)

    async def main() -> None:
        async with subject.open({"flow": fan_out(dict)}, clock=lambda: next(ticks)) as engine:
            names = [await engine.start("flow", {}, label=str(n)) for n in range(5)]
            for name in names:
                await engine.result(name)
            assert [record.run for record in await engine.list()] == names[::-1]
            assert [record.label for record in await engine.list(limit=2)] == ["4", "3"]
            assert sorted(names) == names

    asyncio.run(main())


@over()
def test_a_thousand_steps_all_arrive_once(subject: Subject) -> None:
    async def main() -> None:
        steps = {f"s{n}": gives(n) for n in range(1000)}
        async with subject.open({"flow": fan_out(lambda: steps)}) as engine:
            done = await run(engine)
            assert sorted(value for _, _, value in done.data) == list(range(1000))

    asyncio.run(main())


@over()
def test_many_runs_at_once_do_not_mix(subject: Subject) -> None:
    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.reserve("ab")
        scope.step("a", gives(payload["n"]))
        scope.step("b", gives(scope.run))
        done = dict(await collect(scope, 2))
        return result([done["a"].data, done["b"].data])

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            names = [await engine.start("flow", {"n": n}) for n in range(100)]
            assert [(await engine.result(name)).data for name in names] == [[n, name] for n, name in enumerate(names)]

    asyncio.run(main())


@over()
def test_every_subject_is_an_engine(subject: Subject) -> None:
    async def main() -> None:
        async with subject.open({}) as engine:
            port: Engine = engine
            assert port.capabilities == subject.capabilities

    asyncio.run(main())
