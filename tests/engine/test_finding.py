"""The shared suite: runs are started for somebody, and found again. Over every engine that has what a case needs."""

import asyncio
import sqlite3
from collections.abc import Sequence
from typing import cast

import pytest

from retinue.contract.event import NodeStarted
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.contract.task import Answer, Question
from retinue.engine.base import Engine, RunFilter, WorkflowScope
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
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


def test_a_page_of_one_owner_among_many_runs_is_read_by_index(tmp_path: object) -> None:
    with Journal(f"{tmp_path}/runs.sqlite3") as journal:
        asyncio.run(_one_run(journal))
        journal.flush()
        with sqlite3.connect(journal.place) as connection:
            plan = connection.execute(
                "EXPLAIN QUERY PLAN SELECT run FROM runs WHERE parent IS NULL AND started_for = 'ada'"
                " ORDER BY started_ns DESC, run DESC"
            ).fetchall()
    assert "runs_by_person" in plan[0][3]
    assert not any("TEMP B-TREE" in row[3] for row in plan)


async def _one_run(journal: Journal) -> None:
    async with InProcessEngine(FLOWS, journal=journal) as engine:
        await engine.result(await engine.start("flow", {}, owner="ada"))
