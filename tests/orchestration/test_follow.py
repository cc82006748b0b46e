"""A run is followed with all its child runs, from any place on, and nothing comes twice or never."""

import asyncio
import contextlib
import sqlite3
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, strategies as st

from retinue.contract.event import Event, NodeFinished, Progress
from retinue.contract.model import JsonMapping
from retinue.contract.result import Outcome, Result
from retinue.engine import inprocess
from retinue.engine.base import Workflow, WorkflowScope
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.errors import InvalidInput, ParseError, UnknownName
from retinue.orchestration import follow
from retinue.orchestration.follow import MAX_CURSOR_LENGTH, FollowedEvent, RunCursor, follow_run
from tests.engine.flows import collect, happened, result

Tree = dict[str, Any]
"""What a run does: how many events it emits, its `children`, whether it `fails`, and the `outcome` when one does."""
DEEP: Tree = {
    "events": 2,
    "children": [{"events": 1, "children": [{"events": 3}, {"fails": True}]}, {"fails": True, "events": 1}, {}],
}


def tree_workflow(*, mended: bool = False) -> dict[str, Workflow]:
    """Runs trees; those that fail do so until they are mended."""

    async def tree(scope: WorkflowScope, payload: JsonMapping) -> Result:
        children = cast("list[Tree]", payload.get("children", []))
        for number, child in enumerate(children):
            scope.child(f"n{number}~1", "tree", child)
        for number in range(cast("int", payload.get("events", 0))):
            scope.emit(Progress("work", str(number)))
            await asyncio.sleep(0)
        results = await collect(scope, len(children))
        fails = (payload.get("fails") and not mended) or not all(one.useful for _, one in results)
        return result(outcome=cast("Outcome", payload.get("outcome", "failed")) if fails else "success")

    return {"tree": tree}


def key(event: Event) -> tuple[str, int]:
    return event.run, event.sequence


async def follow_all(
    engine: InProcessEngine, run: str, after: RunCursor | None = None, *, slowly: bool = False
) -> list[FollowedEvent]:
    events: list[FollowedEvent] = []
    async for each in follow_run(engine, run, after=after or RunCursor()):
        events.append(each)
        if slowly:
            await asyncio.sleep(0)
    return events


async def recorded(engine: InProcessEngine, run: str) -> set[tuple[str, int]]:
    """Every event there is of a run and of its child runs."""
    assert engine.journal is not None
    engine.journal.flush()
    names = (run, *engine.journal.find(f"{run}:", limit=-1))
    return {key(event) for name in names for event in engine.journal.events(name, limit=-1)}


def check_order(events: Sequence[FollowedEvent]) -> None:
    """Each run in its own order, child runs after their starts, the end of the whole at last."""
    positions: Counter[str] = Counter()
    started: set[str] = set()
    root = events[0].event.run
    for each in events:
        event = each.event
        assert event.sequence == positions[event.run] + 1
        positions[event.run] += 1
        assert event.run == root or event.run in started
        if event.kind == "started" and event.node:
            started.add(f"{event.run}:{event.node}")
    last = events[-1].event
    assert (last.run, last.node, last.kind) == (root, "", "finished")


async def check_every_cursor(engine: InProcessEngine, run: str, events: Sequence[FollowedEvent]) -> None:
    everything = await recorded(engine, run)
    past: set[tuple[str, int]] = set()
    for each in events:
        past.add(key(each.event))
        others = await follow_all(engine, run, RunCursor.parse(str(each.cursor)))
        rest = [key(one.event) for one in others]
        assert len(rest) == len(set(rest))
        assert set(rest) == everything - past, str(each.cursor)
        assert not others or others[-1].cursor == events[-1].cursor


def test_all_events_come_and_the_end_of_the_whole_is_the_last(tmp_path: Path) -> None:
    async def main() -> None:
        with Journal(tmp_path / "journal.sqlite3") as journal:
            async with InProcessEngine(tree_workflow(), journal=journal) as engine:
                run = await engine.start("tree", DEEP)
                events = await follow_all(engine, run)
                check_order(events)
                assert {key(each.event) for each in events} == await recorded(engine, run)
                assert {each.event.run for each in events} == {
                    run, f"{run}:n0~1", f"{run}:n0~1:n0~1", f"{run}:n0~1:n1~1", f"{run}:n1~1", f"{run}:n2~1",
                }  # fmt: skip

    asyncio.run(main())


@pytest.mark.parametrize("where", ["in memory", "in memory, slowly", "in the journal"])
def test_behind_every_cursor_comes_exactly_the_rest(tmp_path: Path, where: str) -> None:
    async def main() -> None:
        with Journal(tmp_path / "journal.sqlite3") as journal:
            async with InProcessEngine(tree_workflow(), journal=journal, keep=1000) as engine:
                run = await engine.start("tree", DEEP)
                events = await follow_all(engine, run)
                if where == "in memory, slowly":
                    events = await follow_all(engine, run, slowly=True)
                if where != "in the journal":
                    await check_every_cursor(engine, run, events)
            async with InProcessEngine({}, journal=journal) as later:
                if where == "in the journal":
                    await check_every_cursor(later, run, events)
                    check_order(await follow_all(later, run))

    asyncio.run(main())


OUTCOMES = st.sampled_from(["failed", "partial"])
TREES = st.recursive(
    st.fixed_dictionaries({"events": st.integers(0, 3), "fails": st.booleans(), "outcome": OUTCOMES}),
    lambda trees: st.fixed_dictionaries(
        {"events": st.integers(0, 3), "outcome": OUTCOMES, "children": st.lists(trees, max_size=3)}
    ),
    max_leaves=8,
)


@given(tree=TREES, mark=st.integers(0, 1000))
def test_a_run_that_is_resumed_goes_on_behind_a_cursor_from_before(
    tmp_path_factory: pytest.TempPathFactory, tree: Tree, mark: int
) -> None:
    async def main() -> None:
        with Journal(tmp_path_factory.mktemp("law") / "journal.sqlite3") as journal:
            async with InProcessEngine(tree_workflow(), journal=journal) as engine:
                run = await engine.start("tree", tree)
                past = await follow_all(engine, run)
            for mended in (False, True):
                del past[mark % len(past) + 1 :]
                async with InProcessEngine(tree_workflow(mended=mended), journal=journal) as engine:
                    await engine.resume(run)
                    past += await follow_all(engine, run, past[-1].cursor)
                    assert Counter(key(each.event) for each in past) == Counter(await recorded(engine, run))
            async with InProcessEngine({}, journal=journal) as engine:
                again = await follow_all(engine, run)
                check_order(again)
                await check_every_cursor(engine, run, again)

    asyncio.run(main())


def test_an_end_that_was_not_the_last_changes_nothing_for_child_runs_that_failed(tmp_path: Path) -> None:
    tree = {"outcome": "partial", "children": [{"fails": True, "events": 1}, {"events": 2}]}

    async def main() -> None:
        with Journal(tmp_path / "journal.sqlite3") as journal:
            async with InProcessEngine(tree_workflow(), journal=journal) as engine:
                run = await engine.start("tree", tree)
                await engine.result(run)
                await engine.resume(run)
                await engine.result(run)
                events = await follow_all(engine, run)
                assert [each.event.kind for each in events if not each.event.node and each.event.run == run] == [
                    "started", "finished", "message", "finished",
                ]  # fmt: skip
            async with InProcessEngine(tree_workflow(mended=True), journal=journal) as engine:
                await engine.resume(run)
                await engine.result(run)
                everything = Counter(await recorded(engine, run))
                for place, each in enumerate(events):
                    rest = await follow_all(engine, run, each.cursor)
                    assert Counter(key(one.event) for one in (*events[: place + 1], *rest)) == everything

    asyncio.run(main())


def test_a_child_run_that_cannot_go_on_leaves_the_cursor() -> None:
    async def main() -> None:
        async with InProcessEngine(tree_workflow()) as engine:
            run = await engine.start("tree", {"children": [{"children": [{}, {}]}, {"events": 1}]})
            events = await follow_all(engine, run)
            assert max(len(each.cursor.children) for each in events) > 1
            assert events[-1].cursor == RunCursor(events[-1].event.sequence)
            run = await engine.start("tree", {"children": [{"children": [{"fails": True}, {}]}, {"events": 1}]})
            events = await follow_all(engine, run)
            assert set(events[-1].cursor.children) == {"2", "2.2"}
            run = await engine.start("tree", {"children": [{"outcome": "partial", "children": [{"fails": True}]}, {}]})
            events = await follow_all(engine, run)
            assert events[-1].cursor == RunCursor(events[-1].event.sequence)

    asyncio.run(main())


def test_a_child_run_whose_end_its_parent_could_not_record_is_not_lost(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "journal.sqlite3"
        with Journal(path) as journal:
            async with InProcessEngine(tree_workflow(), journal=journal) as engine:
                run = await engine.start("tree", {"children": [{"events": 2}]})
                events = await follow_all(engine, run)
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("DELETE FROM events WHERE run = ? AND sequence > 2", (run,))
        past = [each for each in events if each.event.run != run or each.event.sequence <= 2]
        with Journal(path) as journal:
            async with InProcessEngine(tree_workflow(), journal=journal) as engine:
                assert (await engine.get(run)).stalled
                await engine.resume(run)
                rest = {key(each.event) for each in await follow_all(engine, run, RunCursor(2))}
                assert rest | {key(each.event) for each in past} == await recorded(engine, run)

    asyncio.run(main())


def test_a_run_of_another_process_is_followed_while_it_works(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "journal.sqlite3"
        with Journal(path) as mine, Journal(path) as theirs:
            async with (
                InProcessEngine(tree_workflow(), journal=mine) as here,
                InProcessEngine({}, journal=theirs) as there,
            ):
                run = await here.start("tree", DEEP, run="shared")
                mine.flush()
                events = await follow_all(there, run)
                check_order(events)
                assert {key(each.event) for each in events} == await recorded(here, run)

    asyncio.run(main())


def test_who_follows_a_run_of_another_process_is_told_of_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inprocess, "_POLL_S", 3600)  # what is only found by looking comes too late
    go_on = asyncio.Event()

    async def waits(scope: WorkflowScope, _: JsonMapping) -> Result:
        scope.emit(Progress("wait"))
        await go_on.wait()
        return result("success")

    async def main() -> None:
        path = tmp_path / "journal.sqlite3"
        with Journal(path) as mine, Journal(path) as theirs:
            async with (
                InProcessEngine({"waits": waits}, journal=mine) as here,
                InProcessEngine({}, journal=theirs) as there,
            ):
                run = await here.start("waits", {})
                awaiting = asyncio.create_task(there.result(run))
                async for event in there.events(run):
                    if isinstance(event.body, Progress):
                        go_on.set()
                assert (await awaiting).outcome == "success"

    asyncio.run(asyncio.wait_for(main(), 50))


class LateRecords(InProcessEngine):
    """Child runs seem unknown or ended when they begin, as when another process is slow to record them."""

    def __init__(self, *arguments: Any, late: str) -> None:
        super().__init__(*arguments)
        self.late, self.seen = late, set[str]()

    async def events(self, run: str, *, after: int = 0, follow: bool = True) -> AsyncGenerator[Event, None]:
        if run.endswith(":n0~1") and after == 0:
            parent, _, name = run.rpartition(":")
            if self.late == "unknown" and (await self.get(run)).ended_ns is None:
                raise UnknownName("Not yet.")
            if self.late == "ended" and run not in self.seen:
                self.seen.add(run)
                await happened(self, parent, "finished", name)
                for _ in range(10):
                    await asyncio.sleep(0)  # the parent's follower has seen it too
                return
        async for event in super().events(run, after=after, follow=follow):
            yield event


@pytest.mark.parametrize("late", ["unknown", "ended"])
def test_a_child_run_that_is_recorded_late_is_not_lost(late: str) -> None:
    async def main() -> None:
        async with LateRecords(tree_workflow(), late=late) as engine:
            run = await engine.start("tree", {"children": [{"events": 5, "children": [{"events": 2}]}]})
            events = await follow_all(engine, run)
            check_order(events)
            assert Counter(each.event.run for each in events) == {run: 4, f"{run}:n0~1": 9, f"{run}:n0~1:n0~1": 4}

    asyncio.run(main())


def test_child_runs_that_are_forgotten_are_left_out() -> None:
    async def main() -> None:
        async with InProcessEngine(tree_workflow(), keep=1) as engine:
            run = await engine.start("tree", {"children": [{}, {}]})
            await engine.result(run)
            events = await follow_all(engine, run)
            assert {each.event.run for each in events} == {run}
            assert events[-1].cursor == RunCursor(6)

    asyncio.run(main())


def test_more_child_runs_than_are_followed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "_CHILDREN_AT_ONCE", 3)
    monkeypatch.setattr(follow, "_READ_AHEAD", 4)

    async def main() -> None:
        async with InProcessEngine(tree_workflow()) as engine:
            run = await engine.start("tree", {"children": [{"events": 5, "children": [{"events": 1}] * 5}] * 20})
            events = await follow_all(engine, run)
            check_order(events)
            assert len(events) == 2 + 20 * (2 + 2 + 5 + 5 * (2 + 2 + 1))
            assert max(sum("." not in path for path in each.cursor.children) for each in events) <= 3 + 1 + 4

    asyncio.run(main())


def test_a_cursor_that_would_be_too_long_stays_where_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(follow, "MAX_CURSOR_LENGTH", 40)

    async def main() -> None:
        with Journal(tmp_path / "journal.sqlite3") as journal:
            async with InProcessEngine(tree_workflow(), journal=journal) as engine:
                run = await engine.start("tree", {"children": [{"fails": True}] * 20})
                events = await follow_all(engine, run)
                assert len(events) == 2 + 20 * 4
                assert all(len(str(each.cursor)) <= 40 for each in events)
                everything = await recorded(engine, run)
                for place, each in enumerate(events):
                    rest = {key(one.event) for one in await follow_all(engine, run, each.cursor)}
                    assert rest | {key(one.event) for one in events[: place + 1]} == everything

    asyncio.run(main())


class CountingEngine(InProcessEngine):
    """Counts the events that are read of it, and the streams that are open."""

    read_count = 0
    open_count = 0

    async def events(self, run: str, *, after: int = 0, follow: bool = True) -> AsyncGenerator[Event, None]:
        self.open_count += 1
        try:
            async with contextlib.aclosing(super().events(run, after=after, follow=follow)) as events:
                async for event in events:
                    self.read_count += 1
                    yield event
        finally:
            self.open_count -= 1


def test_a_slow_reader_holds_few_events_and_gets_all() -> None:
    async def main() -> None:
        async with CountingEngine(tree_workflow()) as engine:
            run = await engine.start("tree", {"children": [{"events": 300}] * 3, "events": 300})
            await engine.result(run)
            given_count = 0
            async for _ in follow_run(engine, run):
                given_count += 1
                if given_count % 100 == 1:
                    for _ in range(20):
                        await asyncio.sleep(0)
                    assert engine.read_count <= given_count + 64 + 4 + 1
            assert given_count == 300 + 2 + 3 * (300 + 4)

    asyncio.run(main())


@pytest.mark.parametrize("place", [1, 2, 7])
def test_leaving_early_leaves_nothing_behind(place: int) -> None:
    async def main() -> None:
        async with CountingEngine({**tree_workflow(), "hang": hangs_with_child}) as engine:
            run = await engine.start("hang", {})
            await happened(engine, run, "started", "n0~1")
            await happened(engine, f"{run}:n0~1", "progress")
            before = asyncio.all_tasks()
            async with contextlib.aclosing(follow_run(engine, run)) as events:
                for _ in range(place):
                    await anext(events)
            assert asyncio.all_tasks() <= before
            assert engine.open_count == 0

            async def wait_for_end() -> None:
                async with contextlib.aclosing(follow_run(engine, run)) as events:
                    async for _ in events:
                        pass

            task = asyncio.create_task(wait_for_end())
            for _ in range(place):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert asyncio.all_tasks() <= before
            assert engine.open_count == 0

    asyncio.run(main())


async def hangs_with_child(scope: WorkflowScope, payload: JsonMapping) -> Result:
    """Never ends, as its child run does not."""
    if payload:
        for _ in range(5):
            scope.emit(Progress("work"))
        await asyncio.Event().wait()
    scope.child("n0~1", "hang", {"inner": True})
    await collect(scope, 1)
    return result()


def test_what_goes_wrong_in_a_child_run_is_raised() -> None:
    class Damaged(InProcessEngine):
        async def events(self, run: str, *, after: int = 0, follow: bool = True) -> AsyncGenerator[Event, None]:
            if ":" in run:
                raise ParseError("Damaged.")
            async for event in super().events(run, after=after, follow=follow):
                yield event

    async def main() -> None:
        async with Damaged(tree_workflow()) as engine:
            run = await engine.start("tree", DEEP)
            with pytest.raises(ParseError, match="Damaged"):
                await follow_all(engine, run)
            with pytest.raises(UnknownName):
                await follow_all(engine, "unknown")

    asyncio.run(main())


@pytest.mark.parametrize("cursor", ["3,1:0", "6,2:0,2.1:0", "9,2:4,4:1,8:1"])
def test_a_cursor_of_another_run_is_refused(cursor: str) -> None:
    async def main() -> None:
        async with InProcessEngine(tree_workflow()) as engine:
            run = await engine.start("tree", {"children": [{"children": [{}]}], "events": 10})
            await engine.result(run)
            with pytest.raises(InvalidInput, match="not a cursor") as caught:
                await follow_all(engine, run, RunCursor.parse(cursor))
            assert caught.value.hint

    asyncio.run(main())


NUMBERS = st.integers(1, 10**15 - 1)


@st.composite
def cursors(draw: st.DrawFn) -> RunCursor:
    positions = {"": draw(NUMBERS)}
    for _ in range(draw(st.integers(0, 30))):
        above = draw(st.sampled_from(sorted(positions)))
        if positions[above]:
            path = f"{above}.{draw(st.integers(1, positions[above]))}".lstrip(".")
            positions.setdefault(path, draw(st.one_of(st.just(0), NUMBERS)))
    return RunCursor(positions.pop(""), positions)


@given(cursors())
def test_every_cursor_is_read_back(cursor: RunCursor) -> None:
    text = str(cursor)
    if len(text) <= MAX_CURSOR_LENGTH:
        assert RunCursor.parse(text) == cursor
        assert str(RunCursor.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "-1", "01", "+1", " 1", "1 ", "1,", ",1", "1:1", "1,:1", "1,2:0", "5,2", "5,2:", "5,2:01", "5,0:1", "5,2:1,2:1",
        "5,2.1:0", "5,2:1,2.2:0", "5,2.:1", "5,.2:1", "5;2:1", "٣", "1\n", "9" * 16, "1" + ",1:1" * 5000, "5,n1~2:3",
    ],
)  # fmt: skip
def test_what_is_no_cursor_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(InvalidInput, match="not a cursor") as caught:
        RunCursor.parse(text)
    assert caught.value.hint
    assert len(caught.value.message) < 400


def test_nothing_comes_behind_the_end() -> None:
    async def main() -> None:
        async with InProcessEngine(tree_workflow()) as engine:
            run = await engine.start("tree", DEEP)
            events = await follow_all(engine, run)
            assert isinstance(events[-1].event.body, NodeFinished)
            assert await follow_all(engine, run, events[-1].cursor) == []

    asyncio.run(main())
