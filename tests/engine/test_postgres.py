"""Runs in a real PostgreSQL: what a lost connection costs, who is alive, what is told, and what never is."""

import asyncio
import os
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import psycopg
import pytest

from retinue.contract.event import Event, Message, QuestionAsked
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.contract.task import Answer, Question
from retinue.engine import writer
from retinue.engine.base import RunFilter, WorkflowScope
from retinue.engine.blocking import in_thread
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.engine.journal_reader import JournalReader, Mail
from retinue.engine.run_history import RunHistory
from retinue.engine.statistics import Rating
from retinue.engine.store import Cursor, RunTakenOver, StoreLost
from retinue.engine.stores import postgres as store
from retinue.errors import AccessDenied, InvalidInput, NotInstalled, RetinueError, Unavailable
from tests.engine.flows import result
from tests.postgres import Postgres, Wire

pytestmark = pytest.mark.slow

T = TypeVar("T")

NAME = Question(id="name", text="Which?")


@pytest.fixture
def wire(postgres: Postgres) -> Iterator[Wire]:
    wire = Wire(postgres)
    yield wire
    wire.close()


@pytest.fixture
def url(postgres: Postgres) -> str:
    return postgres.fresh()


def history(run: str) -> RunHistory:
    return RunHistory(run, "flow", {}, "", time.time_ns())


def sql(url: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(query.encode()).fetchall()


class Steps:
    """A workflow of five steps, one after the other, that counts what ran; the third waits to be let go."""

    def __init__(self) -> None:
        self.ran: Counter[str] = Counter()
        self.waits, self.may_go_on = asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: WorkflowScope, payload: JsonMapping) -> Result:
        names = ("s1", "s2", "s3", "s4", "s5")
        scope.reserve(names)
        for name in names:
            scope.step(name, lambda name=name: self._body(name))
            await scope.completed()
        return result("done")

    async def _body(self, name: str) -> Result:
        self.ran[name] += 1
        if name == "s3":
            self.waits.set()
            await self.may_go_on.wait()
        return result(name)

    def all_ran_once(self) -> bool:
        return self.ran == dict.fromkeys(("s1", "s2", "s3", "s4", "s5"), 1)


# Lost connections


def test_a_run_goes_on_after_its_database_was_stopped_hard_and_nobody_takes_it_for_dead(
    postgres: Postgres, url: str
) -> None:
    async def main() -> None:
        steps = Steps()
        with Journal(url) as journal, Journal(url) as other:
            async with InProcessEngine({"flow": steps}, journal=journal) as engine:
                run = await engine.start("flow", {})
                await steps.waits.wait()
                assert not other.get(run).stalled
                postgres.stop_hard()
                steps.may_go_on.set()
                with Journal(url) as late, pytest.raises(Unavailable, match="cannot be reached"):
                    late.get(run)
                await asyncio.to_thread(postgres.start)
                for observer in (other, Journal(url)):
                    with observer:
                        assert not observer.get(run).stalled
                        assert observer.get(run).lifecycle in {"working", "ended"}
                assert (await engine.result(run)).data == "done"
                assert steps.all_ran_once()
            assert journal.failure is None
            events = other.events(run)
            assert [event.sequence for event in events] == list(range(1, len(events) + 1))
            assert [event.kind for event in events].count("finished") == 6

    asyncio.run(main())
    postgres.settle()


def test_what_was_committed_when_the_connection_was_cut_is_there_once(wire: Wire, url: str) -> None:
    async def main() -> None:
        steps = Steps()
        steps.may_go_on.set()
        with Journal(wire.through(url)) as journal:
            async with InProcessEngine({"flow": steps}, journal=journal) as engine:
                journal.keep_text("run", "a", "text")
                wire.cuts = 4
                run = await engine.start("flow", {})
                assert (await engine.result(run)).data == "done"
                assert (steps.all_ran_once(), wire.cuts) == (True, 0)
            events = journal.events(run)
            assert [event.sequence for event in events] == list(range(1, len(events) + 1))
            assert journal.get(run).outcome == "success"

    asyncio.run(main())


def test_a_run_that_was_begun_or_taken_over_when_the_connection_was_cut_is_ours(wire: Wire, url: str) -> None:
    with Journal(wire.through(url)) as mine:
        mine.keep_text("run", "a", "text")
        wire.cuts = 1
        assert mine.begin_once(history("run"))
        assert not mine.begin_once(history("run"))
    with Journal(wire.through(url)) as heir:
        assert heir.get("run").stalled
        heir.keep_text("run", "a", None)
        wire.cuts = 1
        assert heir.take_over("run")[0].epoch == 2
        wire.cuts = 1
        heir.add_event("run", Message("late"), 1)
        assert [event.body for event in heir.events("run")] == [Message("late")]
        assert wire.cuts == 0


def test_what_was_lost_with_its_commit_is_done_again_though_another_has_its_transaction_id_by_now(
    wire: Wire, postgres: Postgres, url: str
) -> None:
    with Journal(wire.through(url)) as journal:
        journal.begin_once(history("run"))
        wire.is_whole, wire.losses = False, 1
        journal.record(Event("run", "", 0, 1, 1, Message("written")), then=lambda _: written.set())
        written = threading.Event()
        while wire.losses:
            time.sleep(0.001)
        postgres.stop_hard()
        postgres.start()
        for _ in range(20):  # so many transactions of others
            sql(url, "SELECT pg_current_xact_id()")
        wire.is_whole = True
        assert written.wait(30)
        assert [event.body for event in journal.events("run")] == [Message("written")]
    postgres.settle()


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_run_that_was_begun_or_taken_over_as_the_database_went_away_for_long_is_ours(
    is_committed: bool, wire: Wire, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (writer, store):
        monkeypatch.setattr(module, "_PATIENCE_S", 0.1)
    monkeypatch.setattr(store, "_GRACE_S", 0)

    def lose_database() -> None:
        while wire.cuts or wire.losses:
            time.sleep(0.001)
        time.sleep(1.5)  # nobody is that patient
        wire.is_whole = True

    def lose_database_during(act: Callable[[], T]) -> T:
        wire.is_whole, wire.cuts, wire.losses = False, int(is_committed), int(not is_committed)
        losing = threading.Thread(target=lose_database)
        losing.start()
        try:
            return act()
        finally:
            losing.join()

    with Journal(wire.through(url)) as mine:
        mine.keep_text("run", "a", "text")
        begun = history("run")
        assert lose_database_during(lambda: mine.begin_once(begun))
        assert not mine.begin_once(history("run"))
    with Journal(wire.through(url)) as heir:
        heir.keep_text("run", "a", None)
        assert lose_database_during(lambda: heir.take_over("run"))[0].epoch == 2
        assert not heir.get("run").stalled
        with pytest.raises(StoreLost):
            lose_database_during(lambda: heir.add_event("run", Message("late"), 1))
        heir.add_event("run", Message("late"), 1)
        assert [event.body for event in heir.events("run")] == [Message("late")]


def test_who_goes_on_with_a_run_as_the_database_goes_away_is_told_or_waits(
    wire: Wire, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (writer, store):
        monkeypatch.setattr(module, "_PATIENCE_S", 0.1)
    monkeypatch.setattr(store, "_GRACE_S", 0)
    with Journal(url) as dead:
        dead.begin_once(history("run"))

    async def main() -> None:
        steps = Steps()
        steps.may_go_on.set()
        with Journal(wire.through(url)) as journal:
            async with InProcessEngine({"flow": steps}, journal=journal) as engine:
                while not (await engine.get("run")).stalled:  # the server has not noticed yet
                    pass
                wire.cut()
                for act in (engine.resume("run"), engine.start("flow", {}, run="new")):
                    with pytest.raises(StoreLost, match="is away"):
                        await act
                assert not steps.ran
                wire.is_whole = True
                read_mail = journal.mail

                def read_mail_later(runs: Sequence[str]) -> Sequence[Mail]:
                    monkeypatch.undo()
                    wire.cut()
                    threading.Timer(0.5, setattr, (wire, "is_whole", True)).start()
                    return read_mail(runs)

                monkeypatch.setattr(journal, "mail", read_mail_later)
                await engine.resume("run")
                assert (await engine.result("run")).data == "done"
                assert steps.all_ran_once()

    asyncio.run(main())


def test_nobody_is_taken_for_dead_when_a_process_of_the_server_crashed_and_all_have_to_connect_again(
    postgres: Postgres, url: str
) -> None:
    pid_file = postgres.folder / "postmaster.pid"
    with Journal(f"{url}&application_name=mine") as mine:
        mine.begin_once(history("run"))
        before = pid_file.read_text().split()[0]
        query = "SELECT pid FROM pg_stat_activity WHERE application_name = 'mine'"
        processes = [*sql(url, query)]
        os.kill(cast("int", processes[0][0]), signal.SIGKILL)
        while processes:
            with suppress(psycopg.OperationalError):
                processes = sql(url, query)
        with Journal(url) as late:
            assert not late.get("run").stalled
        assert pid_file.read_text().split()[0] == before
    postgres.settle()


def test_who_comes_back_first_after_a_long_recovery_takes_nobody_for_dead(
    wire: Wire, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_GRACE_S", 1)
    with Journal(f"{wire.through(url)}&application_name=mine") as mine, Journal(wire.through(url)) as other:
        mine.begin_once(history("run"))
        assert not other.get("run").stalled
        wire.cut()
        looking = ThreadPoolExecutor(1).submit(other.get, "run")
        time.sleep(2)
        wire.is_whole = True
        assert not looking.result().stalled
        time.sleep(1)
        assert other.get("run").stalled  # `mine` has nothing to say, and does not look


def test_who_asks_a_database_that_is_away_is_told_and_leaving_does_not_hang(
    wire: Wire, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (writer, store):
        monkeypatch.setattr(module, "_PATIENCE_S", 0.3)
    with Journal(wire.through(url)) as journal:
        journal.begin_once(history("run"))
        wire.close()
        journal.record(Event("run", "", 0, 1, 1, Message("waits")))
        with pytest.raises(StoreLost, match="is away") as caught:
            journal.rate("run", Rating("good"))
        assert "try again" in caught.value.hint
        with pytest.raises(StoreLost):
            journal.keep_text("run", "a", "text")
        assert journal.failure is None
    assert isinstance(journal.failure, StoreLost)


# Who may write


def test_whose_run_was_taken_over_is_told_and_records_nothing_more(url: str) -> None:
    told: list[RetinueError] = []
    with Journal(f"{url}&application_name=mine") as mine, Journal(url) as heir:
        mine.listeners.append(told.append)
        mine.begin_once(history("run"))
        with pytest.raises(InvalidInput, match="still running"):
            heir.take_over("run")
        # As if its process were gone.
        sql(url, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'mine'")
        assert heir.take_over("run")[0].epoch == 2
        mine.record(Event("run", "", 0, 1, 1, Message("from its grave")))
        mine.flush()
        assert [type(each) for each in told] == [RunTakenOver]
        heir.record(Event("run", "", 0, 1, 1, Message("from its heir")), epoch=2)
        assert [event.body for event in heir.events("run")] == [Message("from its heir")]


def test_who_only_loses_its_connection_keeps_its_runs_and_who_dies_loses_them(url: str) -> None:
    query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'mine'"

    async def main() -> None:
        with Journal(f"{url}&application_name=mine") as mine, Journal(url) as theirs:
            async with InProcessEngine({"flow": Steps()}, journal=mine, place="shop") as engine:
                run = await engine.start("flow", {})
                for _ in range(5):
                    await in_thread(sql, url, query)
                    for _ in range(10):
                        assert theirs.to_do(["shop"], 10) == []
                        await asyncio.sleep(0.05)
                mine.close()
                died_s = time.monotonic()

                def wait_until_gone() -> None:
                    while theirs.to_do(["shop"], 10) != [run]:
                        time.sleep(0.05)

                await asyncio.wait_for(in_thread(wait_until_gone), 30)
                assert time.monotonic() - died_s > 0.5
                await engine.cancel(run)

    asyncio.run(main())


class Explained(store.PostgresConnection):
    """A connection that has the server say how it goes about each query."""

    plans: list[str]

    def execute(self, query: str, values: Any = (), /) -> Cursor:
        self.plans += [row for (row,) in super().execute(f"EXPLAIN {query}", values)]
        return super().execute(query, values)


def test_the_queue_is_read_without_reading_what_other_runs_are_found_by(url: str) -> None:
    with Journal(url) as journal, psycopg.connect(url, autocommit=True) as connection:
        for number in range(300):
            queued = history(f"run{number:03}")
            queued.place = "shop"
            assert journal.begin_once(queued, queued=True)
        connection.execute("INSERT INTO tags SELECT 'x' || n, 'host', 'build-3' FROM generate_series(1, 50000) AS n")
        connection.execute("ANALYZE")
        explained = Explained(connection)
        explained.plans = []
        assert len(JournalReader(explained, store.PostgresStore(url)).to_do(["shop"], 32)) == 32
    plan = "\n".join(explained.plans)
    assert "tags_pkey on tags" in plan
    assert "Join" not in plan


def test_who_closes_its_journal_has_left_its_runs_and_did_not_die_at_them(url: str) -> None:
    leaver, begun = Journal(url), history("run")
    begun.place = "shop"
    with leaver, Journal(url) as journal:
        assert leaver.begin_once(begun)
        assert journal.history("run").attempts == 1
        leaver.close()
        assert journal.history("run").attempts == 0
        while not journal.get("run").stalled:  # the server has not noticed yet
            time.sleep(0.02)
        assert leaver.take_over("run")[0].epoch == 2
        assert journal.history("run").attempts == 1


def test_one_of_two_answers_wins_and_the_other_is_told(url: str) -> None:
    answers = [Answer(question_id="name", value=text) for text in ("a", "b")]
    outcomes: list[str] = []
    with ExitStack() as stack:
        journals = [stack.enter_context(Journal(url)) for _ in answers]
        journals[0].begin_once(history("run"))
        journals[0].record(Event("run", "n1", 0, 1, 1, QuestionAsked(NAME)))
        journals[0].flush()

        def give(journal: Journal, answer: Answer) -> None:
            try:
                journal.answer("run", answer)
                outcomes.append("taken")
            except InvalidInput as error:
                outcomes.append(error.message)

        threads = [threading.Thread(target=give, args=each) for each in zip(journals, answers, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["Question 'name' of run `run` has been answered already.", "taken"]
        assert len(journals[0].mail(["run"])) == 1


def test_several_first_writers_make_the_tables_together(url: str) -> None:
    with ExitStack() as stack:
        journals = [stack.enter_context(Journal(url)) for _ in range(4)]
        assert journals[0].list() == ()  # a question makes nothing
        begun: list[bool] = []

        def begin(journal: Journal) -> None:
            begun.append(journal.begin_once(history("run")))

        threads = [threading.Thread(target=begin, args=(each,)) for each in journals]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(begun) == [False, False, False, True]


def test_a_change_by_another_process_is_told_at_once_and_ones_own_is_not(url: str) -> None:
    mine, other = store.PostgresStore(url), store.PostgresStore(url)
    try:
        for each in (other, mine):
            each.transact(lambda connection: connection.execute("SELECT 1"))
        while mine.has_changed():
            pass
        mine.transact(lambda connection: connection.execute("SELECT 1"))
        assert not mine.has_changed()
        other.transact(lambda connection: connection.execute("SELECT 1"))
        end_s = time.monotonic() + 0.5
        while not (is_told := mine.has_changed()) and time.monotonic() < end_s:
            time.sleep(0.001)
        assert is_told
    finally:
        mine.close()
        other.close()


# What is in it, and what is said of it


def test_texts_that_postgresql_does_not_take_are_recorded_all_the_same(url: str) -> None:
    odd = "a\0b\ud800c"
    with Journal(url) as journal:
        facts = history("run")
        facts.label, facts.owner, facts.labels = "a\0b", "a\0b", {"a\0b": "a\0b"}
        assert journal.begin_once(facts)
        journal.record(Event("run", odd, 0, 1, 1, Message("a\0b")))
        journal.rate("run", Rating("good", odd))
        journal.keep_text("run", odd, odd)
        assert journal.failure is None
        assert [event.node for event in journal.events("run")] == ["a\ufffdb?c"]
        assert journal.list(where=RunFilter(owner="a\0b", labels=facts.labels))[0].label == "a\0b"
        assert journal.texts() == [("run", "a\ufffdb?c", "a\ufffdb?c")]


def test_ids_are_ordered_by_their_letters_whatever_the_database_thinks(url: str) -> None:
    with Journal(url) as journal:
        for run in ("Run-b", "run-a", "run-a_b", "run.a"):
            journal.begin_once(RunHistory(run, "flow", {}, "", 1))
        assert [record.run for record in journal.list()] == ["run.a", "run-a_b", "run-a", "Run-b"]
        assert journal.find("run-a", limit=9) == ("run-a", "run-a_b")
        assert journal.find("b", limit=9) == ("run-a_b", "Run-b")


def test_tables_of_a_newer_format_are_left_alone(url: str) -> None:
    with Journal(url) as journal:
        journal.begin_once(history("run"))
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE format SET format = 99")
    with Journal(url) as journal:
        for act in (journal.list, lambda: journal.begin_once(history("late"))):
            with pytest.raises(Unavailable, match="newer version") as caught:
                act()
            assert caught.value.hint == "Update this program."


def test_the_tables_have_a_schema_of_their_own(postgres: Postgres) -> None:
    with Journal(postgres.url) as journal:
        journal.begin_once(history(f"run-{time.time_ns()}"))
    assert sql(postgres.url, "SELECT schemaname FROM pg_tables WHERE tablename = 'inbox' AND schemaname = 'retinue'")


@pytest.mark.parametrize(
    ("user", "place", "kind", "told"),
    [
        ("postgres:s3cret", "nowhere.invalid/db", Unavailable, "cannot be reached"),
        ("postgres:s3cret", "127.0.0.1:1/db", Unavailable, "cannot be reached"),
        ("guest:s3cret", "{folder}/postgres", AccessDenied, "does not let us in"),
        ("nobody:s3cret", "{folder}/postgres", AccessDenied, "does not let us in"),
        ("postgres:s3cret", "{folder}/elsewhere", Unavailable, "no such database"),
        ("postgres:s3c/ret", "{folder}/postgres", InvalidInput, "cannot be read"),
        ("postgres:s3cret@s3cret", "{folder}/postgres", InvalidInput, "cannot be read"),
        ("postgres:s3cret%zz", "{folder}/postgres", InvalidInput, "cannot be read"),
        ("postgres:s3cret", "{folder}/postgres?s3cret=1", InvalidInput, "cannot be read"),
    ],
)
def test_what_cannot_be_reached_says_what_to_do_and_never_the_password(
    postgres: Postgres, user: str, place: str, kind: type[RetinueError], told: str
) -> None:
    with psycopg.connect(postgres.url, autocommit=True) as connection, suppress(psycopg.errors.DuplicateObject):
        connection.execute("CREATE ROLE guest LOGIN PASSWORD 'another'")
    url = f"postgresql://{user}@{place.format(folder=str(postgres.folder).replace('/', '%2F'))}"
    with pytest.raises(kind, match=told) as caught, Journal(url) as journal:
        journal.begin_once(history("run"))
    with pytest.raises(kind), Journal(url) as journal:
        journal.list()
    assert caught.value.hint
    text = "".join(traceback.format_exception(caught.value))
    assert "s3c" not in f"{caught.value.path} {caught.value.hint} {text.replace(url, '')}"


def test_without_psycopg_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delitem(sys.modules, store.__name__)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(NotInstalled, match="psycopg") as caught:
        Journal("postgresql:///runs")
    assert caught.value.hint == "install `retinue[postgres]`"
