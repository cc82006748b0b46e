"""The shared suite: runs are started for somebody, and found again. Over every engine that has what a case needs."""

import asyncio
import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from retinue.contract.event import NodeStarted
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.contract.task import Answer, Question
from retinue.engine.base import Engine, RunFilter, WorkflowScope
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.engine.journal_reader import JournalReader
from retinue.engine.run_history import RunHistory
from retinue.engine.statistics import read_facts
from retinue.engine.stores.sqlite import SqliteStore
from retinue.errors import InvalidInput, UnknownName
from tests.engine.flows import collect, fan_out, gives, hangs, happened, result, told
from tests.engine.subjects import Subject, flushed, over

ASK = Question(id="name", text="Which?")


async def asks(scope: WorkflowScope, payload: JsonMapping) -> Result:
    scope.ask("ask", ASK)
    ((_, answer),) = await collect(scope, 1)
    return result(answer.data)


async def asks_below(scope: WorkflowScope, payload: JsonMapping) -> Result:
    scope.child("below", "asks", {})
    scope.ask("ask", Question(id="here", text="And here?"))
    return result([done.data for _, done in await collect(scope, 2)])


async def calls_clerk(scope: WorkflowScope, payload: JsonMapping) -> Result:
    scope.emit(NodeStarted("clerk", "file", ""), node="a")
    return result()


FLOWS = {
    "flow": fan_out(lambda: {"a": gives()}),
    "fails": fan_out(lambda: {"a": gives(outcome="failed")}),
    "hangs": fan_out(lambda: {"a": hangs}),
    "clerk": calls_clerk,
    "asks": asks,
    "asks_below": asks_below,
}


async def found(engine: Engine, limit: int = 50, **where: object) -> list[str]:
    return [record.label for record in await engine.list(limit=limit, where=RunFilter(**where))]  # type: ignore[arg-type]


@over()
def test_runs_are_found_by_owner_label_state_agent_and_text(subject: Subject) -> None:
    async def main() -> None:
        async with subject.open(FLOWS, waits_for_answers=True) as engine:
            await engine.result(await engine.start("flow", {}, label="Count lines", owner="ada"))
            tagged = {"context": "c1", "door": "a2a"}
            await engine.result(await engine.start("clerk", {}, label="file it", owner="ada", labels=tagged))
            open_run = await engine.start("asks", {}, label="ask first", owner="bob", labels={"door": "a2a"})
            await happened(engine, open_run, "asked")
            assert await found(engine, owner="ada") == ["file it", "Count lines"]
            assert await found(engine, owner="") == []
            assert await found(engine, labels={"door": "a2a"}) == ["ask first", "file it"]
            assert await found(engine, labels=tagged) == ["file it"]
            assert await found(engine, lifecycle="input_required") == ["ask first"]
            assert await found(engine, outcome="success") == ["file it", "Count lines"]
            assert await found(engine, agent="clerk") == ["file it"]
            assert await found(engine, text="LINES") == ["Count lines"]
            record = await engine.get(open_run)
            assert (record.owner, record.labels) == ("bob", {"door": "a2a"})

    asyncio.run(main())


@over("durable")
def test_owner_and_labels_are_still_known_to_another_process_and_kept_by_a_copy(subject: Subject) -> None:
    async def main() -> None:
        async with subject.open(FLOWS) as engine:
            name = await engine.start("clerk", {}, label="file it", owner="ada", labels={"door": "a2a"})
            await engine.result(name)
        async with subject.open(FLOWS) as engine:
            assert await found(engine, owner="ada", labels={"door": "a2a"}, agent="clerk", outcome="success") == [
                "file it"
            ]
            assert await found(engine, owner="ada", agent="cook") == []
            copy = await engine.get(await engine.fork(name))
            assert (copy.owner, copy.labels) == ("ada", {"door": "a2a"})

    asyncio.run(main())


@over()
def test_a_list_goes_on_page_by_page_where_it_ended_although_new_runs_came(subject: Subject) -> None:
    async def main() -> None:
        async with subject.open(FLOWS) as engine:
            for number in range(5):
                await engine.result(await engine.start("flow", {}, label=str(number)))
            pages: list[Sequence[str]] = []
            cursor = ""
            while page := await engine.list(limit=2, where=RunFilter(after=cursor)):
                pages.append([record.label for record in page])
                cursor = page[-1].cursor
                await engine.result(await engine.start("flow", {}, label="new"))
            assert pages == [["4", "3"], ["2", "1"], ["0"]]
            with pytest.raises(InvalidInput):
                await engine.list(limit=0, where=RunFilter(after="x"))
            for wrong in ("x", "12", ".run", "-1.run", "1" * 30 + ".run"):
                with pytest.raises(InvalidInput):
                    await engine.list(where=RunFilter(after=wrong))

    asyncio.run(main())


@over()
def test_questions_of_a_run_and_of_its_child_runs_are_listed_until_they_are_answered(subject: Subject) -> None:
    async def main() -> None:
        async with subject.open(FLOWS, waits_for_answers=True) as engine:
            name = await engine.start("asks_below", {})
            await happened(engine, name, "started", "below")
            await happened(engine, f"{name}:below", "asked")
            pending = {(each.run, each.question.id) for each in await engine.questions(name)}
            assert pending == {(name, "here"), (f"{name}:below", "name")}
            assert [each.question for each in await engine.questions(f"{name}:below")] == [ASK]
            await engine.answer(f"{name}:below", Answer(question_id="name", value="x", by="key:phone"))
            await happened(engine, name, "finished", "below")
            assert [each.question.id for each in await engine.questions(name)] == ["here"]
            await engine.answer(name, Answer(question_id="here", value="y"))
            await engine.result(name)
            assert list(await engine.questions(name)) == []
            with pytest.raises(UnknownName):
                await engine.questions("nothing")

    asyncio.run(main())


def test_a_question_that_a_process_left_open_is_still_listed_and_an_answer_by_key_is_kept(tmp_path: object) -> None:
    path = f"{tmp_path}/runs.sqlite3"

    async def leave() -> str:
        with Journal(path) as journal:
            async with InProcessEngine(FLOWS, journal=journal, waits_for_answers=True, on_close="leave") as engine:
                name = await engine.start("asks_below", {})
                await happened(engine, name, "started", "below")
                await happened(engine, f"{name}:below", "asked")
                await engine.answer(name, Answer(question_id="here", value="y", by="key:phone"))
                return name

    async def go_on(name: str) -> None:
        with Journal(path) as journal:
            async with InProcessEngine(FLOWS, journal=journal, waits_for_answers=True) as engine:
                record = await engine.get(name)
                assert (record.lifecycle, record.outcome, record.stalled) == ("working", None, True)
                assert [each.question.id for each in await engine.questions(name)] == ["name"]
                below = f"{name}:below"
                await engine.resume(name)
                await engine.answer(f"{name}:below", Answer(question_id="name", value="x"))
                assert sorted((await engine.result(name)).data) == ["x", "y"]
                assert [each for each in await told(engine, below) if each.startswith("asked")] == ["asked ask"]

    asyncio.run(go_on(asyncio.run(leave())))


@over()
def test_a_wrong_cursor_is_refused_where_there_are_no_runs_too(subject: Subject) -> None:
    async def main() -> None:
        async with subject.open(FLOWS) as engine:
            with pytest.raises(InvalidInput):
                await engine.list(where=RunFilter(after="x"))

    asyncio.run(main())


def test_a_row_that_somebody_spoilt_hides_no_other_run(tmp_path: object) -> None:
    path = f"{tmp_path}/runs.sqlite3"

    async def main() -> None:
        with Journal(path) as journal:
            async with InProcessEngine(FLOWS, journal=journal, keep=0) as engine:
                bad = await engine.start("flow", {}, label="bad", owner="ada")
                odd = await engine.start("flow", {}, label="odd", owner="ada", labels={"a": "b"})
                good = await engine.start("flow", {}, label="good", owner="ada")
                for run in (bad, odd, good):
                    await engine.result(run)
                await flushed(cast("Engine", engine))
                with sqlite3.connect(path) as connection:
                    connection.execute("UPDATE runs SET body = '{' WHERE run = ?", (bad,))
                    connection.execute("UPDATE runs SET body = json_set(body, '$.labels', 7) WHERE run = ?", (odd,))
                assert await found(engine, owner="ada") == ["good"]
                everything = await engine.list()
                assert [record.label for record in everything if not record.damage] == ["good"]
                assert len(everything) == 3
                with pytest.raises(UnknownName):  # whose it is cannot be told any more
                    await engine.get(bad, owner="eve")

    asyncio.run(main())


class Noted:
    """A connection that has SQLite say how it goes about each query."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.plans: list[str] = []

    def execute(self, query: str, values: Any = (), /) -> sqlite3.Cursor:
        self.plans += [row[3] for row in self._connection.execute(f"EXPLAIN QUERY PLAN {query}", values)]
        return self._connection.execute(query, values)


ASKED: list[tuple[Callable[[JournalReader, str], object], str]] = [
    (lambda reader, _: reader.newest(20), "runs_by_start"),
    (lambda reader, _: reader.newest(20, RunFilter(after="5.x")), "runs_by_start"),
    (lambda reader, _: reader.newest(20, RunFilter(owner="ada")), "runs_by_person"),
    (lambda reader, _: reader.newest(20, RunFilter(labels={"a": "b"}, agent="x")), "tags_by_value"),
    (lambda reader, _: reader.count(RunFilter(owner="ada")), "runs_by_person"),
    (lambda reader, run: reader.record(run), "sqlite_autoindex_runs_1"),
    (lambda reader, run: reader.record(run, "ada"), "sqlite_autoindex_runs_1"),
    (lambda reader, run: reader.history(run), "sqlite_autoindex_events_1"),
    (lambda reader, run: reader.find(run[:3], 9), "sqlite_autoindex_runs_1"),
    (lambda reader, run: reader.find(run[-3:], 9), "runs_by_end"),
    (lambda reader, _: reader.to_do(["shop"], 9), "runs_to_do (status=?)"),
    (lambda reader, run: reader.mail({run, "a"}), "sqlite_autoindex_inbox_1"),
    (lambda reader, run: read_facts(reader.connection, run=run), "PRIMARY KEY (run=?)"),
    (lambda reader, _: read_facts(reader.connection, since_ns=5, newest=9), "runs_by_start"),
]


@pytest.mark.parametrize(("ask", "index"), ASKED)
def test_among_many_runs_everything_is_found_by_index(
    tmp_path: Path, ask: Callable[[JournalReader, str], object], index: str
) -> None:
    async def one_run(journal: Journal) -> str:
        async with InProcessEngine(FLOWS, journal=journal) as engine:
            run = await engine.start("flow", {}, owner="ada")
            await engine.result(run)
            return run

    with Journal(tmp_path / "runs.sqlite3") as journal:
        run = asyncio.run(one_run(journal))
        journal.flush()
        with closing(sqlite3.connect(journal.place)) as connection:
            noted = Noted(connection)
            ask(JournalReader(noted, SqliteStore(tmp_path / "runs.sqlite3")), run)
    told = "\n".join(noted.plans)
    assert index in told
    for table in ("runs", "events", "tags", "facts", "inbox"):  # of the whole table only what an index has
        assert not re.search(rf"SCAN {table}(?! USING .*INDEX)", told), told
    # Nor is anything sorted but what has the label, the facts of each run by themselves, and at last what was spent in
    # families of runs that were interrupted.
    assert "TEMP B-TREE FOR ORDER BY" not in told.partition("families")[0] or "tags_by_value" in told


def test_no_more_runs_are_found_than_asked_for_and_that_of_the_whole_id_is_first(tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.sqlite3") as journal:
        for number in range(30):
            journal.begin(RunHistory(f"r{number:02d}", "flow", {}, "", number))
            journal.begin(RunHistory(f"r00:c{number:02d}", "flow", {}, "", number, "r00"))
        assert journal.find("r", limit=3) == ("r29", "r28", "r27")
        assert journal.find("r00", limit=2) == ("r00",)
        assert journal.find("r00:", limit=2) == ("r00:c29", "r00:c28")
        assert len(journal.find("r", limit=-1)) == 30
        assert len(journal.find("r00:", limit=-1)) == 30
