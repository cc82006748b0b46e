"""What a process tells and does whose run another one has taken over meanwhile: nothing of what was refused."""

import asyncio
import threading
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from retinue.contract.event import Event, QuestionAsked
from retinue.contract.model import JsonMapping
from retinue.contract.result import Outcome, Result
from retinue.contract.task import Answer, Question
from retinue.engine.base import RunRecord, Step, WorkflowScope
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.engine.run_history import RunHistory
from retinue.engine.store import Connection, RunTakenOver
from retinue.engine.stores.sqlite import SqliteStore
from retinue.engine.writer import Claim
from retinue.errors import InvalidInput
from tests.engine.flows import collect, happened, result


class Usurping(SqliteStore):
    """Takes everybody else for dead."""

    def is_alive(self, owner: str, connection: Connection, /) -> bool:
        return False


async def turns() -> None:
    """Let everything go on that can."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.parametrize("is_handing_on", [False, True])
def test_a_run_that_is_taken_over_as_it_ends_gives_no_result(is_handing_on: bool, tmp_path: Path):
    gate = asyncio.Event()

    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        await gate.wait()
        return result()

    async def main() -> None:
        writes: list[object] = []
        mine, theirs = Journal(tmp_path / "runs", later=writes.append), Journal(Usurping(tmp_path / "runs"))
        with mine, theirs:
            async with InProcessEngine({"flow": flow}, journal=mine) as engine:
                starting = asyncio.create_task(engine.start("flow", {}))
                await turns()
                mine.flush()
                run = await starting
                gate.set()
                await turns()
                if is_handing_on:  # something was committed just before, and is on its way to whoever waits for it
                    engine.in_loop(lambda: None)
                theirs.take_over(run)
                mine.flush()
                with pytest.raises(RunTakenOver):
                    await engine.result(run)
                assert (await engine.get(run)).outcome is None

    asyncio.run(main())


def test_a_run_that_ends_well_while_another_process_resumes_it_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = 0

    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        nonlocal runs
        runs += 1
        scope.ask("who", Question(id="q", text="?"))
        await collect(scope, 1)
        return result()

    async def main() -> None:
        with Journal(tmp_path / "runs") as mine, Journal(tmp_path / "runs") as theirs:
            async with (
                InProcessEngine({"flow": flow}, journal=mine, waits_for_answers=True) as engine,
                InProcessEngine({"flow": flow}, journal=theirs) as other,
            ):
                run = await engine.start("flow", {})
                await happened(engine, run, "asked")
                get = theirs.get

                def get_before_it_ends(run: str, **options: str | None) -> RunRecord:
                    found = get(run, **options)
                    asyncio.run_coroutine_threadsafe(answer_and_wait(run), loop).result(30)
                    return found

                async def answer_and_wait(run: str) -> None:
                    await engine.answer(run, Answer(question_id="q", value="you"))
                    await engine.result(run)

                loop = asyncio.get_running_loop()
                monkeypatch.setattr(theirs, "get", get_before_it_ends)
                with pytest.raises(InvalidInput, match="has ended"):
                    await other.resume(run)
                assert await other.resume(run) == run
                assert runs == 1

    asyncio.run(main())


def test_a_run_that_was_taken_over_while_it_only_waits_for_an_answer_says_so_too(tmp_path: Path) -> None:
    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.ask("who", Question(id="q", text="?"))
        await collect(scope, 1)
        return result()

    async def main() -> None:
        with Journal(tmp_path / "runs") as mine, Journal(Usurping(tmp_path / "runs")) as theirs:
            async with InProcessEngine({"flow": flow}, journal=mine, waits_for_answers=True) as engine:
                run = await engine.start("flow", {})
                await happened(engine, run, "asked")
                theirs.take_over(run)
                with pytest.raises(RunTakenOver):
                    await asyncio.wait_for(engine.result(run), 30)

    asyncio.run(main())


def test_what_is_refused_starts_nothing_in_a_child_run(tmp_path: Path):
    ran: list[str] = []
    gate = asyncio.Event()

    def step(name: str) -> Step:
        async def body() -> Result:
            ran.append(name)
            await gate.wait()
            return result()

        return body

    async def inner(scope: WorkflowScope, payload: JsonMapping) -> Result:
        for name in ("a", "b"):
            scope.reserve([name])
            scope.step(name, step(name))
            await collect(scope, 1)
        return result()

    async def outer(scope: WorkflowScope, payload: JsonMapping) -> Result:
        scope.child("inner", "inner", {})
        try:
            await collect(scope, 1)
        except asyncio.CancelledError:
            await turns()  # it takes its time to stop
        return result()

    async def main() -> None:
        mine, theirs = Journal(tmp_path / "runs", later=lambda write: write()), Journal(Usurping(tmp_path / "runs"))
        with mine, theirs:
            async with InProcessEngine({"outer": outer, "inner": inner}, journal=mine) as engine:
                run = await engine.start("outer", {})
                await turns()
                theirs.take_over(run)
                gate.set()
                with pytest.raises(RunTakenOver):
                    await engine.result(run)
                await turns()
                assert ran == ["a"]

    asyncio.run(main())


def test_an_answer_to_an_earlier_question_of_the_same_id_answers_no_other(tmp_path: Path):
    with Journal(tmp_path / "runs") as journal:
        journal.begin(RunHistory("r", "flow", {}, "", 1))
        journal.record(Event("r", "a", 0, 1, 1, QuestionAsked(Question(id="q", text="How many?"))))
        journal.answer("r", Answer(question_id="q", value=3))
        assert [mail.answer for mail in journal.mail(["r"])] == [Answer(question_id="q", value=3)]
        journal.record(Event("r", "a", 0, 2, 1, QuestionAsked(Question(id="q", text="How much?"))))
        assert journal.mail(["r"]) == []


def test_mail_is_that_of_the_runs_asked_for_and_of_their_child_runs(tmp_path: Path):
    with Journal(tmp_path / "runs") as journal:
        for run in ("a", "a1", "b", "c", "c:below", "c:below:deep", "c1"):
            journal.cancel(run, run)
        assert [mail.reason for mail in journal.mail(["c", "a"])] == ["a", "c", "c:below", "c:below:deep"]
        assert journal.mail([]) == []


def test_what_is_said_of_an_earlier_epoch_does_not_stop_a_run_that_goes_on_here(tmp_path: Path) -> None:
    asked, gate = asyncio.Event(), threading.Event()

    class Slow(Journal):
        """Says of losses what was so some time ago."""

        def losses(self, claims: Collection[Claim]) -> Collection[RunTakenOver]:
            loop.call_soon_threadsafe(asked.set)
            assert gate.wait(20)
            return super().losses(claims)

    outcomes: Iterator[Outcome] = iter(("failed", "success"))
    go_on = asyncio.Event()

    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        await go_on.wait()
        return result(outcome=next(outcomes))

    async def main() -> None:
        nonlocal loop
        loop = asyncio.get_running_loop()
        with Slow(tmp_path / "runs") as journal:
            async with InProcessEngine({"flow": flow}, journal=journal) as engine:
                run = await engine.start("flow", {})
                engine.look_for_mail()
                await asked.wait()
                go_on.set()
                assert (await engine.result(run)).outcome == "failed"
                go_on.clear()
                await engine.resume(run)
                gate.set()
                await asyncio.sleep(0.1)
                go_on.set()
                assert (await asyncio.wait_for(engine.result(run), 20)).outcome == "success"

    loop: asyncio.AbstractEventLoop
    asyncio.run(main())
