"""What is true of the in-process engine beyond the shared suite: its edges, its memory, Ctrl-C, a journal that fails."""

import asyncio
import resource
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from retinue.contract.event import Checkpoint, Decision, Event, Message, Progress
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.contract.task import Answer, Question
from retinue.engine import inprocess, run as run_module
from retinue.engine.base import Step, WorkflowScope
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.engine.store import RunTakenOver
from retinue.errors import AccessDenied, InternalError, InvalidInput, ParseError, Unavailable, UnknownName
from tests.engine.flows import collect, fan_out, gives, hangs, happened, raises, result, run, told


def journal_at(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "runs.sqlite3")


# Life


def test_it_works_only_while_it_is_open() -> None:
    engine = InProcessEngine({"flow": fan_out(dict)})

    async def main() -> None:
        with pytest.raises(Unavailable):
            await engine.start("flow", {})
        async with engine:
            with pytest.raises(InternalError):
                await engine.__aenter__()
            name = await engine.start("flow", {})
            await engine.result(name)
        assert (await engine.result(name)).outcome == "success"
        with pytest.raises(Unavailable):
            await engine.start("flow", {})

    asyncio.run(main())
    asyncio.run(main())


def test_ended_runs_beyond_the_kept_ones_are_forgotten() -> None:
    async def main() -> None:
        async with InProcessEngine({"flow": fan_out(lambda: {"a": gives()})}, keep=2) as engine:
            names = [await engine.start("flow", {}) for _ in range(5)]
            await engine.result(names[-1])
            assert {record.run for record in await engine.list()} == set(names[-2:])
            with pytest.raises(UnknownName):
                await engine.result(names[0])

    asyncio.run(main())


def test_forgotten_runs_are_still_in_the_journal(tmp_path: Path) -> None:
    async def main() -> None:
        with journal_at(tmp_path) as journal:
            async with InProcessEngine({"flow": fan_out(lambda: {"a": gives(7)})}, keep=0, journal=journal) as engine:
                name = await engine.start("flow", {})
                await engine.result(name)
                assert (await engine.result(name)).data == [["a", "success", 7]]
                assert await told(engine, name) == ["started", "finished a", "finished"]
                assert [event.sequence async for event in engine.events(name)] == [1, 2, 3]
                assert [record.run for record in await engine.list()] == [name]
                await engine.cancel(name)
                with pytest.raises(UnknownName):
                    await engine.answer(name, Answer(question_id="q"))
                assert await engine.start("flow", {}, run="mine") == "mine"
                await engine.result("mine")
                assert await engine.start("flow", {}, run="mine") == "mine"
                assert (await engine.get("mine")).finished_steps == ("a",)

    asyncio.run(main())


@pytest.mark.parametrize("name", ["", "a:b", "a b", "x" * 201, "a\n", "a\x1b[0m"])
def test_an_impossible_id_is_refused(name: str) -> None:
    async def main() -> None:
        async with InProcessEngine({"flow": fan_out(dict)}) as engine:
            with pytest.raises(InvalidInput) as caught:
                await engine.start("flow", {}, run=name)
            assert caught.value.hint

    asyncio.run(main())


def test_a_workflow_that_gives_no_result_has_failed() -> None:
    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        return None  # type: ignore[return-value]  # pyright: ignore[reportReturnType] - the point of the test

    async def main() -> None:
        async with InProcessEngine({"flow": flow}) as engine:
            done = await run(engine)
            assert done.fault
            assert "NoneType" in done.fault.message

    asyncio.run(main())


def test_a_waiter_that_gives_up_leaves_the_run_alone() -> None:
    async def main() -> None:
        gate = asyncio.Event()

        async def waits() -> Result:
            await gate.wait()
            return result()

        async with InProcessEngine({"flow": fan_out(lambda: {"a": waits})}) as engine:
            name = await engine.start("flow", {})
            waiter = asyncio.create_task(engine.result(name))
            await happened(engine, name, "started")
            waiter.cancel()
            await asyncio.gather(waiter, return_exceptions=True)
            gate.set()
            assert (await engine.result(name)).outcome == "success"

    asyncio.run(main())


def test_resuming_an_unknown_workflow_says_so(tmp_path: Path) -> None:
    async def main() -> None:
        with journal_at(tmp_path) as journal:
            async with InProcessEngine(
                {"flow": fan_out(lambda: {"a": raises(ValueError())})}, journal=journal
            ) as first:
                name = await first.start("flow", {})
                await first.cancel(name)
                await first.result(name)
            async with InProcessEngine({"other": fan_out(dict)}, journal=journal) as second:
                for verb in (second.resume, second.fork):
                    with pytest.raises(UnknownName, match="No workflow"):
                        await verb(name)

    asyncio.run(main())


def test_the_journal_of_an_engine_without_one_is_unavailable() -> None:
    async def main() -> None:
        async with InProcessEngine({}) as engine:
            with pytest.raises(Unavailable):
                await engine._ask_journal(lambda journal: journal.list())  # pyright: ignore[reportPrivateUsage] - no verb leads there

    asyncio.run(main())


# What will not stop


@pytest.fixture
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "GRACE_S", 0.01)
    monkeypatch.setattr(inprocess, "GRACE_S", 0.01)


async def swallows() -> Result:
    """A body that will not be cancelled."""
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue


@pytest.mark.usefixtures("short_grace")
def test_a_step_that_will_not_stop_is_thrown_out() -> None:
    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.reserve("a")
        scope.step("a", swallows)
        await scope.sleep(0)
        scope.stop("a")
        ((_, done),) = await collect(scope, 1)
        return result(done.outcome)

    async def main() -> None:
        async with InProcessEngine({"flow": flow}) as engine:
            name = await engine.start("flow", {})
            assert (await engine.result(name)).data == "canceled"
            assert "message a" in await told(engine, name)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())


@pytest.mark.usefixtures("short_grace")
def test_a_workflow_that_will_not_stop_is_thrown_out() -> None:
    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.reserve("a")
        scope.step("a", hangs)
        return await swallows()

    async def main() -> None:
        async with InProcessEngine({"flow": flow}) as engine:
            name = await engine.start("flow", {})
            await happened(engine, name, "started")
            await asyncio.sleep(0)
            await engine.cancel(name, reason="Enough.")
            done = await engine.result(name)
            assert done.outcome == "canceled"
            assert done.fault
            assert done.fault.message == "Enough."
            assert await told(engine, name) == ["started", "message", "finished a", "finished"]

    asyncio.run(main())


@pytest.mark.usefixtures("short_grace")
def test_an_answerer_that_will_not_stop_does_not_hold_up_the_end() -> None:
    async def answerer(question: Question) -> Answer | None:
        await swallows()
        return None

    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.ask("q", Question(id="q", text="?"))
        await scope.sleep(0)
        return result()

    async def main() -> None:
        async with InProcessEngine({"flow": flow}, answerer=answerer) as engine:
            assert (await run(engine)).outcome == "success"

    asyncio.run(main())


def test_nothing_is_left_behind_but_the_main_thread() -> None:
    async def main() -> None:
        async with InProcessEngine({"flow": fan_out(lambda: {"a": hangs})}) as engine:
            await engine.start("flow", {})

    before = threading.active_count()
    asyncio.run(main())
    assert threading.active_count() == before


SCRIPT = """
import asyncio, signal, sys, os
from retinue.contract.result import Result
from retinue.engine.inprocess import InProcessEngine

async def step():
    {body}

async def flow(scope, payload):
    scope.reserve("a")
    scope.step("a", step)
    await scope.completed()
    return Result(task_id="t", agent="a", outcome="success")

async def main():
    async with InProcessEngine({{"flow": flow}}) as engine:
        run = await engine.start("flow", {{}})
        try:
            await engine.result(run)
        finally:
            print("left", flush=True)
    print((await engine.result(run)).outcome)

{start}
"""


def interrupted(body: str, start: str) -> subprocess.CompletedProcess[str]:
    script = SCRIPT.format(body=body, start=textwrap.dedent(start))
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)


def test_one_interrupt_stops_everything_in_good_order() -> None:
    done = interrupted("os.kill(os.getpid(), signal.SIGINT); await asyncio.Event().wait()", "asyncio.run(main())")
    assert done.stdout == "left\n"
    assert done.stderr.splitlines()[-1].startswith("KeyboardInterrupt")
    assert done.returncode in {130, -signal.SIGINT}


def test_a_second_interrupt_breaks_out_of_a_step_that_blocks_the_loop() -> None:
    # The first interrupt cancels; this step swallows that, blocks, and gets the second one.
    body = (
        "try:\n        os.kill(os.getpid(), signal.SIGINT); await asyncio.Event().wait()\n"
        "    except asyncio.CancelledError:\n        os.kill(os.getpid(), signal.SIGINT)\n"
        "        while True: pass"
    )
    done = interrupted(body, "asyncio.run(main())")
    assert done.stderr.splitlines()[-1].startswith("KeyboardInterrupt")
    assert done.returncode in {130, -signal.SIGINT}


def test_without_the_handler_of_asyncio_an_interrupt_still_ends_the_program() -> None:
    start = """
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(main())
    except KeyboardInterrupt:
        print("interrupted")
        os._exit(0)
    """
    assert interrupted("raise KeyboardInterrupt", start).stdout == "interrupted\n"


# Two processes, one journal: two engines over two journals of one file


def test_a_run_of_another_process_can_be_watched_and_answered_but_not_taken(tmp_path: Path) -> None:
    question = Question(id="q", text="?")

    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.ask("who", question)
        ((_, done),) = await collect(scope, 1)
        return result(done.data)

    async def main() -> None:
        with journal_at(tmp_path) as mine, journal_at(tmp_path) as theirs:
            async with (
                InProcessEngine({"flow": flow}, journal=mine, waits_for_answers=True) as here,
                InProcessEngine({"flow": flow}, journal=theirs) as there,
            ):
                name = await here.start("flow", {}, run="shared")
                await happened(here, name, "asked")
                mine.flush()
                assert await there.start("flow", {}, run="shared") == "shared"
                record = await there.get(name)
                assert (record.lifecycle, record.stalled) == ("input_required", False)
                with pytest.raises(UnknownName, match="waits for an answer"):
                    await there.answer(name, Answer(question_id="other"))
                with pytest.raises(InvalidInput, match="still running"):
                    await there.resume(name)
                waiting = asyncio.gather(there.result(name), told_live(there, name))
                await asyncio.sleep(0)
                await there.answer(name, Answer(question_id="q", value=5))
                await there.answer(name, Answer(question_id="q", value=5))
                for late in (here, there):
                    with pytest.raises(InvalidInput, match=r"waits for an answer|answered already"):
                        await late.answer(name, Answer(question_id="q", value=6))
                done, events = await waiting
                assert done.data == 5
                assert (await here.result(name)).data == 5
                assert [event.kind for event in events] == ["started", "asked", "answered", "finished"]

    asyncio.run(main())


def test_a_run_of_another_process_can_be_cancelled(tmp_path: Path) -> None:
    async def main() -> None:
        with journal_at(tmp_path) as mine, journal_at(tmp_path) as theirs:
            flows = {"flow": fan_out(lambda: {"a": gives(1), "b": hangs})}
            async with (
                InProcessEngine(flows, journal=mine) as here,
                InProcessEngine(flows, journal=theirs) as there,
            ):
                name = await here.start("flow", {})
                await happened(here, name, "finished", "a")
                await there.cancel(name, reason="Not needed.")
                done = await there.result(name)
                assert (done.outcome, done.fault and done.fault.message) == ("canceled", "Not needed.")
                assert (await here.result(name)).outcome == "canceled"

    asyncio.run(main())


def test_of_two_who_work_on_one_run_the_one_that_slept_is_stopped_and_says_who_has_it(tmp_path: Path) -> None:
    steps: dict[str, Step] = {"a": gives(1), "b": hangs}
    starts: list[str] = []

    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        starts.append(scope.run)
        return await fan_out(lambda: steps)(scope, payload)

    async def main() -> None:
        with journal_at(tmp_path) as mine, journal_at(tmp_path) as theirs:
            async with (
                InProcessEngine({"flow": flow}, journal=mine) as here,
                InProcessEngine({"flow": flow}, journal=theirs) as there,
            ):
                name = await here.start("flow", {})
                await happened(here, name, "finished", "a")
                mine.close()  # as if its process were dead: its lock is free
                await there.resume(name)
                with pytest.raises(RunTakenOver, match="taken over"):
                    await asyncio.gather(here.result(name), here.add_event(name, Message("I am still here.")))
                steps["b"] = gives(2)
                await there.cancel(name)
                done = await there.result(name)
                assert done.outcome == "canceled"
                assert (await here.get(name)).outcome == "canceled"
                recorded = theirs.events(name)
                assert [event.sequence for event in recorded] == list(range(1, len(recorded) + 1))
                assert not any(event.body == Message("I am still here.") for event in recorded)
        assert len(starts) == 2

    asyncio.run(main())


async def told_live(engine: InProcessEngine, name: str) -> list[Event]:
    return [event async for event in engine.events(name)]


def test_a_stalled_run_is_said_to_be_stalled_and_can_be_cancelled(tmp_path: Path) -> None:
    async def main() -> None:
        died = journal_at(tmp_path)
        async with InProcessEngine({"flow": fan_out(lambda: {"a": gives(), "b": hangs})}, journal=died) as engine:
            name = await engine.start("flow", {})
            await happened(engine, name, "finished", "a")
            died.close()  # what the system does for a process that dies
            with journal_at(tmp_path) as journal:
                async with InProcessEngine({}, journal=journal) as later:
                    assert (await later.get(name)).stalled
                    with pytest.raises(Unavailable, match="has ended"):
                        await later.result(name)
                    assert await told(later, name) == ["started", "finished a"]
                    assert [event.sequence async for event in later.events(name)] == [1, 2]
                    await later.cancel(name, reason="Given up.")
                    done = await later.result(name)
                    assert done.outcome == "canceled"
                    assert done.fault
                    assert done.fault.message == "Given up."
                assert journal.get(name).outcome == "canceled"
        died.close()

    asyncio.run(main())


def test_a_resume_that_another_process_forbids_leaves_things_as_they_were(tmp_path: Path) -> None:
    async def main() -> None:
        with journal_at(tmp_path) as mine, journal_at(tmp_path) as theirs:
            gate: dict[str, Step] = {"a": raises(ValueError()), "b": hangs}
            async with (
                InProcessEngine({"flow": fan_out(lambda: gate)}, journal=mine) as here,
                InProcessEngine({"flow": fan_out(lambda: gate)}, journal=theirs) as there,
            ):
                name = await here.start("flow", {})
                await happened(here, name, "finished", "a")
                await here.cancel(name)
                await here.result(name)
                mine.flush()
                await there.resume(name)
                await happened(there, name, "finished", "a")
                theirs.flush()
                with pytest.raises(InvalidInput):
                    await here.resume(name)
                assert (await here.get(name)).outcome == "canceled"

    asyncio.run(main())


# A journal that fails


def warnings_of(events: list[Event]) -> list[str]:
    return [event.body.text for event in events if isinstance(event.body, Message) and event.body.level == "warning"]


def unwritable(tmp_path: Path) -> Path:
    (tmp_path / "runs.sqlite3").write_bytes(b"this is not a database, but long enough to be looked at" * 40)
    return tmp_path / "runs.sqlite3"


def test_a_run_goes_on_when_its_history_cannot_be_written_and_says_so(tmp_path: Path) -> None:
    async def main() -> None:
        gate = asyncio.Event()

        async def waits() -> Result:
            await gate.wait()
            return result()

        with Journal(unwritable(tmp_path)) as journal:
            async with InProcessEngine({"flow": fan_out(lambda: {"a": waits})}, journal=journal) as engine:
                for name in (await engine.start("flow", {}), await engine.start("flow", {}, run="mine")):
                    message = await happened(engine, name, "message")
                    assert isinstance(message.body, Message)
                    assert "not a history" in message.body.text
                gate.set()
                assert (await engine.result(name)).outcome == "success"
                later = await engine.start("flow", {})
                assert (await engine.result(later)).outcome == "success"
                assert len(warnings_of([event async for event in engine.events(later)])) == 1
                with pytest.raises(ParseError) as caught:
                    await engine.list()
                assert caught.value.path == str(journal.place)
            assert journal.failure is not None

    asyncio.run(main())


def test_a_folder_that_cannot_be_made_is_said() -> None:
    async def main() -> None:
        with Journal(Path("/proc/nowhere/runs.sqlite3")) as journal:
            async with InProcessEngine({"flow": fan_out(dict)}, journal=journal) as engine:
                assert (await run(engine)).outcome == "success"
                await asyncio.to_thread(journal.flush)
                assert isinstance(journal.failure, AccessDenied)

    asyncio.run(main())


def test_a_full_disk_stops_the_history_and_not_the_run(tmp_path: Path) -> None:
    limit = 200_000

    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        for number in range(20):
            scope.emit(Message("x" * 20_000 + str(number)))
        return result()

    async def main() -> None:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        try:
            with journal_at(tmp_path) as journal:
                async with InProcessEngine({"flow": flow}, journal=journal) as engine:
                    name = await engine.start("flow", {})
                    assert (await engine.result(name)).outcome == "success"
                    await asyncio.to_thread(journal.flush)
                    assert isinstance(journal.failure, Unavailable)
                    assert "room" in journal.failure.message
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    asyncio.run(main())


def test_a_payload_that_is_not_json_is_refused_before_anything_starts(tmp_path: Path) -> None:
    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.child("c", "flow", {"bad": object()})
        return result()

    async def main() -> None:
        with journal_at(tmp_path) as journal:
            async with InProcessEngine({"flow": flow}, journal=journal) as engine:
                for name in (None, "mine"):
                    with pytest.raises(InvalidInput, match="JSON"):
                        await engine.start("flow", {"bad": {1, 2}}, run=name)
                assert await engine.list() == []
                done = await run(engine)
                assert done.fault
                assert done.fault.code == "invalid_input"

    asyncio.run(main())


def test_a_result_that_cannot_be_written_is_delivered_and_its_loss_is_said(tmp_path: Path) -> None:
    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.reserve("a")
        scope.step("a", gives(object()))
        ((_, stand_in),) = await scope.completed()
        assert (stand_in.data, stand_in.warnings[0].type) == (None, "missing_data")
        scope.emit(Progress(phase="\ud800"))
        return Result(
            task_id="t", agent="a", outcome="partial", data=object(), fault=Fault(code="timeout", message="x")
        )

    async def main() -> None:
        with journal_at(tmp_path) as journal:
            async with InProcessEngine({"flow": flow}, journal=journal) as engine:
                name = await engine.start("flow", {})
                done = await engine.result(name)
                assert done.outcome == "partial"
                events = [event async for event in engine.events(name)]
                assert len(warnings_of(events)) == 1
            recorded = journal.events(name)
            assert [event.sequence for event in recorded] == [event.sequence for event in events]
            record = journal.get(name)
            assert (record.outcome, record.finished_steps) == ("partial", ("a",))
            kept = journal.result(name)
            assert kept
            assert kept.warnings[0].type == "missing_data"

    asyncio.run(main())


def test_a_run_can_be_resumed_although_nothing_can_be_recorded_any_more(tmp_path: Path) -> None:
    async def main() -> None:
        steps: dict[str, Step] = {"a": gives(1), "b": hangs}
        with journal_at(tmp_path) as journal:
            async with InProcessEngine({"flow": fan_out(lambda: steps)}, journal=journal) as engine:
                name = await engine.start("flow", {})
                await happened(engine, name, "finished", "a")
        with journal_at(tmp_path) as journal:
            async with InProcessEngine({"flow": fan_out(lambda: steps)}, journal=journal) as engine:
                journal.list()
                with sqlite3.connect(journal.place) as other:
                    other.execute("CREATE TRIGGER no BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'no more'); END")
                other.close()
                steps["b"] = gives(2)
                await engine.resume(name)
                assert (await engine.result(name)).outcome == "success"
                await asyncio.to_thread(journal.flush)
                assert journal.failure is not None

    asyncio.run(main())


def test_events_after_the_end_are_dropped() -> None:
    scopes: list[WorkflowScope] = []

    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scopes.append(scope)
        return result()

    async def main() -> None:
        async with InProcessEngine({"flow": flow}) as engine:
            name = await engine.start("flow", {})
            await engine.result(name)
            scopes[0].emit(Checkpoint("late"))
            assert await told(engine, name) == ["started", "finished"]

    asyncio.run(main())
    late = threading.Thread(target=lambda: scopes[0].emit(Checkpoint("later")))
    late.start()
    late.join()


def test_an_event_that_is_no_json_does_not_keep_a_run_from_being_resumed() -> None:
    fact = object()

    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.emit(Decision("go", "so", {"fact": fact}))
        return result(outcome="partial")

    async def main() -> None:
        async with InProcessEngine({"flow": flow}) as engine:
            name = await engine.start("flow", {})
            await engine.result(name)
            await engine.resume(name)
            await engine.result(name)
            assert await told(engine, name) == ["started", "decision", "finished", "message", "finished"]

    asyncio.run(main())


def test_two_resumes_at_once_are_one(tmp_path: Path) -> None:
    ran: list[str] = []

    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        ran.append(scope.run)
        return result(outcome="partial" if len(ran) == 1 else "success")

    async def main() -> None:
        with journal_at(tmp_path) as journal:
            async with InProcessEngine({"flow": flow}, journal=journal) as engine:
                name = await engine.start("flow", {})
                await engine.result(name)
                assert await asyncio.gather(*(engine.resume(name) for _ in range(4))) == [name] * 4
                assert (await engine.result(name)).outcome == "success"
        assert len(ran) == 2

    asyncio.run(main())
