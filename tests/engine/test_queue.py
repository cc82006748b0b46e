"""Runs that any process may take: from the queue, from one that hands them over, after an answer, after a death."""

import asyncio
import resource
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar, cast

import pytest

from retinue.contract.event import QuestionAsked
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.contract.task import Answer, Question
from retinue.engine.base import RunRecord, Step, WorkflowScope
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import ANSWER_S, Journal
from retinue.engine.store import Connection, RunTakenOver
from retinue.engine.stores.sqlite import SqliteStore
from retinue.errors import InvalidInput, RetinueError, Unavailable, UnknownName
from tests.engine.flows import collect, fan_out, gives, hangs, happened, result

T = TypeVar("T")


def at(folder: Path) -> Journal:
    return Journal(folder / "runs.sqlite3")


ASK = Question(id="q", text="?")


async def asks(scope: WorkflowScope, payload: JsonMapping) -> Result:
    scope.ask("who", ASK)
    ((_, done),) = await collect(scope, 1)
    return result(done.data)


async def asks_below(scope: WorkflowScope, payload: JsonMapping) -> Result:
    scope.child("below", "asks", {})
    ((_, done),) = await collect(scope, 1)
    return result(done.data)


FLOWS = {"flow": fan_out(lambda: {"a": gives(1)}), "asks": asks, "asks_below": asks_below}


def test_a_run_in_the_queue_waits_for_a_worker_of_its_place_and_begins_there(tmp_path: Path) -> None:
    async def main() -> None:
        with at(tmp_path) as here, at(tmp_path) as there:
            async with InProcessEngine(FLOWS, journal=here, place="shop", queues=True) as engine:
                run = await engine.start("flow", {"n": 1}, label="the goal")
                assert await engine.start("flow", {"n": 1}, run="mine", label="the goal") == "mine"
                assert await engine.start("flow", {"n": 1}, run="mine", label="the goal") == "mine"
                with pytest.raises(InvalidInput, match="another goal"):
                    await engine.start("flow", {"n": 1}, run="mine", label="something else")
                record = await engine.get(run)
                assert (record.lifecycle, record.stalled) == ("submitted", False)
                waiting = asyncio.create_task(engine.result(run))
                assert there.to_do(["elsewhere"], 10) == []
                assert there.to_do(["shop"], 10) == [run, "mine"]
                assert len(there.to_do(["shop"], 1)) == 1
                async with InProcessEngine(FLOWS, journal=there, place="shop") as worker:
                    await worker.resume(run)
                    assert (await worker.result(run)).data == [["a", "success", 1]]
                    assert [event.kind async for event in worker.events(run)] == ["started", "finished", "finished"]
                assert (await waiting).data == [["a", "success", 1]]
                assert there.to_do(["shop"], 10) == ["mine"]
                await engine.cancel("mine")
                assert (await engine.result("mine")).outcome == "canceled"
                assert there.to_do(["shop"], 10) == []

    asyncio.run(main())


def test_runs_that_are_taken_at_once_share_a_transaction_and_what_cannot_be_taken_hinders_none(tmp_path: Path) -> None:
    transactions = list[str]()

    class CountingStore(SqliteStore):
        def transact(self, work: Callable[[Connection], T]) -> T:
            transactions.append("")
            return super().transact(work)

    async def main() -> None:
        with at(tmp_path) as mine, Journal(CountingStore(tmp_path / "runs.sqlite3")) as theirs:
            flows = {**FLOWS, "strange": FLOWS["flow"]}
            async with InProcessEngine(flows, journal=mine, place="shop", queues=True) as engine:
                runs = [await engine.start("flow", {}) for _ in range(20)]
                strange = await engine.start("strange", {})
            async with InProcessEngine(FLOWS, journal=theirs, place="shop") as worker:
                may_write = threading.Event()
                pending = cast("Sequence[object]", vars(vars(theirs)["_writer"])["_pending"])

                def hold_up(_: RetinueError | None) -> None:
                    may_write.wait()

                theirs.commit(runs[0], 1, hold_up)
                taking = [asyncio.create_task(worker.resume(run)) for run in (*runs, strange, "none")]
                while len(pending) < len(taking):  # noqa: ASYNC110 - nothing tells
                    await asyncio.sleep(0)
                transactions.clear()
                may_write.set()
                outcomes = await asyncio.gather(*taking, return_exceptions=True)
                assert (outcomes[:20], [type(each) for each in outcomes[20:]]) == (runs, [UnknownName, UnknownName])
                results = [await worker.result(run) for run in runs]
                assert [result.outcome for result in results] == ["success"] * 20
                assert len(transactions) < 20
            assert mine.get(strange).lifecycle == "submitted"

    asyncio.run(main())


@pytest.mark.parametrize("workflow", ["asks", "asks_below"])
def test_a_run_that_waits_for_people_is_let_go_of_and_goes_back_to_the_queue_when_answered(
    tmp_path: Path, workflow: str
) -> None:
    async def main() -> None:
        with at(tmp_path) as mine, at(tmp_path) as theirs:
            async with InProcessEngine(FLOWS, journal=mine, place="shop", waits_for_answers=True, parks=True) as worker:
                run = await worker.start(workflow, {})
                assert await worker.wait_here(run) is None
                asker = run if workflow == "asks" else f"{run}:below"
                async with InProcessEngine({}, journal=theirs) as other:
                    record = await other.get(run)
                    assert (record.lifecycle, record.stalled) == ("input_required", False)
                    assert theirs.to_do(["shop"], 10) == []
                    assert [each.run for each in await other.questions(run)] == [asker]
                    waiting = asyncio.create_task(other.result(run))
                    await other.answer(asker, Answer(question_id="q", value=7))
                    assert theirs.to_do(["shop"], 10) == [run]
                    assert theirs.history(run).attempts == 0
                    await worker.resume(run)
                    assert (await waiting).data == 7
                    events = theirs.events(asker)
                    assert sum(isinstance(event.body, QuestionAsked) for event in events) == 1
                    assert [event.sequence for event in events] == list(range(1, len(events) + 1))

    asyncio.run(main())


def test_who_follows_a_run_that_is_let_go_of_hears_of_its_end_too(tmp_path: Path) -> None:
    async def main() -> None:
        with at(tmp_path) as mine, at(tmp_path) as theirs:
            async with (
                InProcessEngine(FLOWS, journal=mine, place="shop", waits_for_answers=True, parks=True) as worker,
                InProcessEngine({}, journal=theirs) as other,
            ):
                run = await worker.start("asks", {})
                following = asyncio.create_task(happened(worker, run, "finished", ""))
                assert await worker.wait_here(run) is None
                await other.answer(run, Answer(question_id="q", value=1))
                await worker.resume(run)
                await asyncio.wait_for(following, 30)

    asyncio.run(main())


def test_an_answer_in_the_moment_of_parking_is_not_lost(tmp_path: Path) -> None:
    async def main() -> None:
        with at(tmp_path) as mine, at(tmp_path) as theirs:
            async with (
                InProcessEngine(FLOWS, journal=mine, place="shop", waits_for_answers=True, parks=True) as worker,
                InProcessEngine({}, journal=theirs) as other,
            ):
                for number in range(20):
                    run = await worker.start("asks", {})
                    await happened(worker, run, "asked")
                    await other.answer(run, Answer(question_id="q", value=number))
                    await worker.wait_here(run)
                    if theirs.to_do(["shop"], 10):
                        await worker.resume(run)
                    assert (await other.result(run)).data == number

    asyncio.run(main())


def test_what_runs_when_an_engine_closes_can_go_back_to_the_queue(tmp_path: Path) -> None:
    steps: dict[str, Step] = {"a": gives(1), "b": hangs}

    async def main() -> None:
        with at(tmp_path) as journal:
            flows = {"flow": fan_out(lambda: steps)}
            async with InProcessEngine(flows, journal=journal, place="shop", on_close="hand_over") as engine:
                run = await engine.start("flow", {})
                await happened(engine, run, "finished", "a")
        with at(tmp_path) as journal:
            assert journal.get(run).lifecycle == "submitted"
            assert journal.to_do(["shop"], 10) == [run]
            assert journal.history(run).attempts == 0
            steps["a"], steps["b"] = gives("again"), gives(2)
            async with InProcessEngine(flows, journal=journal, place="shop") as engine:
                await engine.resume(run)
                assert (await engine.result(run)).data == [["a", "success", 1], ["b", "success", 2]]

    asyncio.run(main())


@contextmanager
def full(file: Path) -> Generator[None]:
    """No file may grow any more."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file.with_name(f"{file.name}-wal").stat().st_size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def locked(file: Path) -> Generator[None]:
    """Another program writes for a long time."""
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield


@pytest.mark.parametrize(("trouble", "words"), [(full, "has no room"), (locked, "is locked by another program")])
@pytest.mark.parametrize("depth", [0, 1])
def test_a_run_to_be_handed_over_stops_when_it_cannot_be_recorded_and_another_process_goes_on(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    trouble: Callable[[Path], AbstractContextManager[None]],
    words: str,
    depth: int,
) -> None:
    monkeypatch.setattr("retinue.engine.stores.sqlite.BUSY_S", 0.2)
    bodies: list[str] = []

    def body(name: str, gate: asyncio.Event | None = None) -> Step:
        async def step() -> Result:
            bodies.append(name)
            if gate is not None:
                await gate.wait()
            return result(name)

        return step

    async def begin(run_id: str) -> None:
        gate = asyncio.Event()
        steps = {"a": body("a"), "b": body("b", gate)}
        with at(tmp_path) as journal:
            async with open_worker(journal, steps) as engine:
                run = await engine.start("above" if depth else "flow", {}, run=run_id)
                if depth:
                    await happened(engine, run, "started", "below")
                await happened(engine, f"{run}:below" if depth else run, "finished", "a")
                with trouble(tmp_path / "runs.sqlite3"):
                    gate.set()
                    with pytest.raises(Unavailable, match=words):
                        await engine.wait_here(run)
                    with suppress(Unavailable):  # it does not begin again here
                        await engine.resume(run)
                    with pytest.raises(Unavailable, match=words):
                        await engine.wait_here(run)

    async def go_on(run: str) -> None:
        steps = {"a": body("a again"), "b": body("b again")}
        with at(tmp_path) as journal:
            assert journal.to_do(["shop"], 10) == [run]
            async with open_worker(journal, steps) as engine:
                await engine.resume(run)
                assert (await engine.result(run)).outcome == "success"

    def open_worker(journal: Journal, steps: dict[str, Step]) -> InProcessEngine:
        flows = {"flow": fan_out(lambda: steps), "above": above}
        return InProcessEngine(flows, journal=journal, place="shop", on_close="hand_over")

    async def above(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.child("below", "flow", {})
        ((_, done),) = await collect(scope, 1)
        return result(done.data)

    asyncio.run(begin("mine"))
    asyncio.run(go_on("mine"))
    assert bodies == ["a", "b", "b again"]


def test_a_run_of_a_dead_worker_is_to_do_again_and_can_be_given_up(tmp_path: Path) -> None:
    async def main() -> None:
        died = at(tmp_path)
        async with InProcessEngine({"flow": fan_out(lambda: {"b": hangs})}, journal=died, place="shop") as engine:
            run = await engine.start("flow", {})
            await happened(engine, run, "started")
            with at(tmp_path) as journal:
                assert journal.to_do(["shop"], 10) == []
                lock = next((tmp_path / "runs.sqlite3.owners").iterdir())
                died.close()
                assert journal.to_do(["shop"], 10) == [run]
                assert journal.history(run).attempts == 0  # it has only left the run
                lock.touch()  # which a process that dies leaves behind
                assert journal.history(run).attempts == 1
                async with InProcessEngine({}, journal=journal) as other:
                    await other.fail(run, Unavailable("Five workers have died at it."))
                    failed = await other.result(run)
                    assert (failed.outcome, failed.fault and failed.fault.code) == ("failed", "unavailable")
                    assert journal.to_do(["shop"], 10) == []
        died.close()

    asyncio.run(main())


def test_a_broker_is_told_of_a_run_once_and_again_when_it_goes_back_to_the_queue(tmp_path: Path) -> None:
    async def main() -> None:
        with at(tmp_path) as here, at(tmp_path) as there:
            async with InProcessEngine(FLOWS, journal=here, place="shop", queues=True) as engine:
                run = await engine.start("asks", {})
            assert here.to_send("elsewhere") == []
            assert here.to_send("shop") == [run]
            assert there.to_send("shop") == []
            assert there.to_send("shop", again_after_ns=60 * 10**9) == []
            assert there.to_send("shop", again_after_ns=0) == [run]  # the message may have been lost
            async with InProcessEngine(FLOWS, journal=here, place="shop", waits_for_answers=True, parks=True) as worker:
                await worker.resume(run)
                assert await worker.wait_here(run) is None
                assert here.to_send("shop", again_after_ns=0) == []
                there.answer(run, Answer(question_id="q", value=1))
                assert here.to_send("shop") == [run]

    asyncio.run(main())


def test_who_does_not_say_that_it_works_on_a_run_loses_it_and_who_blocks_its_loop_says_so(tmp_path: Path) -> None:
    async def main() -> None:
        with at(tmp_path) as mine, at(tmp_path) as theirs:
            async with InProcessEngine({"flow": fan_out(lambda: {"b": hangs})}, journal=mine, place="shop") as engine:
                run = await engine.start("flow", {})
                await happened(engine, run, "started")
                working = asyncio.create_task(engine.wait_here(run))
                theirs.call_owner(run)
                time.sleep(ANSWER_S + 0.5)  # noqa: ASYNC251 - the loop stands still, the process does not
                with pytest.raises(InvalidInput, match="still running"):
                    theirs.take_over(run)
                mine.unwatch(engine.look_for_mail)  # nobody looks: the process is asleep
                theirs.call_owner(run)
                with pytest.raises(InvalidInput, match="still running"):
                    theirs.take_over(run)
                await asyncio.sleep(ANSWER_S + 0.5)
                assert theirs.take_over(run)[0].epoch == 2
                mine.watch(engine.look_for_mail)
                with pytest.raises(RunTakenOver):
                    await asyncio.wait_for(working, 30)

    asyncio.run(main())


def test_a_run_that_has_ended_since_it_was_seen_in_the_queue_is_not_run_again(tmp_path: Path) -> None:
    calls: list[str] = []

    async def fails(scope: WorkflowScope, payload: JsonMapping) -> Result:
        calls.append("a")
        raise Unavailable("It is away.")

    flows = {"flow": fails}

    async def main() -> None:
        with at(tmp_path) as mine, at(tmp_path) as theirs:
            async with InProcessEngine(flows, journal=mine, place="shop", queues=True) as engine:
                run = await engine.start("flow", {})
            async with InProcessEngine(flows, journal=theirs, place="shop") as quicker:
                await quicker.resume(run, unless_ended=True)
                await quicker.result(run)
            async with InProcessEngine(flows, journal=mine, place="shop") as worker:
                with pytest.raises(InvalidInput, match="has ended"):
                    await worker.resume(run, unless_ended=True)
                assert calls == ["a"]
                await worker.resume(run)  # a person may
                await worker.result(run)
                assert calls == ["a", "a"]

    asyncio.run(main())


def test_a_run_that_ends_while_it_is_canceled_from_elsewhere_keeps_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        with at(tmp_path) as mine, at(tmp_path) as theirs:
            async with InProcessEngine(FLOWS, journal=mine, place="shop", queues=True) as engine:
                run = await engine.start("flow", {})
            async with (
                InProcessEngine(FLOWS, journal=theirs, place="shop") as worker,
                InProcessEngine({}, journal=mine) as other,
            ):
                get = other.get

                async def get_before(run: str) -> RunRecord:
                    record = await get(run)
                    monkeypatch.undo()
                    await worker.resume(run)
                    await worker.result(run)
                    return record

                monkeypatch.setattr(other, "get", get_before)
                await other.cancel(run)
                assert (await other.get(run)).outcome == "success"
                assert [event.kind for event in mine.events(run)].count("finished") == 2  # its step and itself

    asyncio.run(main())
