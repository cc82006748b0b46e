"""The journal file by itself: what is in it, who may read it, and what happens when somebody else has changed it."""

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from retinue.contract.event import Event, Message, NodeFinished, NodeStarted, QuestionAnswered, QuestionAsked
from retinue.contract.result import Outcome, Result
from retinue.contract.task import Answer, Question
from retinue.engine.base import RunFilter
from retinue.engine.journal import Journal
from retinue.engine.run_history import RunHistory, canceled_result
from retinue.engine.store import RunTakenOver
from retinue.engine.stores.sqlite import Owner, SqliteStore, is_alive, store_error
from retinue.errors import AccessDenied, InternalError, InvalidInput, ParseError, RetinueError, Unavailable, UnknownName


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "runs.sqlite3"


def begin(journal: Journal, run: str, at_ns: int = 1_000, **facts: str) -> RunHistory:
    history = RunHistory(
        run, "flow", {"goal": [1, None]}, facts.get("label", ""), at_ns, run.rpartition(":")[0] or None
    )
    journal.begin(history)
    return history


def finish(
    journal: Journal, run: str, sequence: int = 1, node: str = "", *, outcome: Outcome = "success", epoch: int = 1
) -> None:
    body = NodeFinished(Result(task_id=run, agent="a", outcome=outcome, data={"none": None}))
    journal.record(Event(run, node, 0, sequence, 2_000, body), epoch)


def change(path: Path | str, statement: str, *values: object) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement, values)
    connection.close()


# What is there


def test_what_is_read_first_and_written_then_is_there_for_other_processes(path: Path) -> None:
    code = (
        "import sys\nfrom retinue.engine.journal import Journal\nwith Journal(sys.argv[1]) as journal: journal.list()"
    )
    with Journal(path) as before:
        begin(before, "before")
    with Journal(path) as journal:
        assert journal.list()  # a connection to read, and then one to write
        begin(journal, "first")
        journal.flush()
        subprocess.run([sys.executable, "-c", code, str(path)], check=True)  # which tidies up if it is the last
        begin(journal, "second")
        journal.flush()
        with Journal(path) as other:
            assert len(other.list()) == 3
        assert path.with_name(f"{path.name}-wal").exists()


def test_nothing_is_made_before_there_is_something_to_record(path: Path) -> None:
    with Journal(path) as journal:
        assert journal.list() == ()
        assert journal.find("x", limit=9) == ()
        assert journal.events("x") == ()
        assert journal.prune(keep=0) == 0
        for ask in (journal.get, journal.history, journal.result):
            with pytest.raises(UnknownName):
                ask("x")
        journal.flush()
        assert not path.parent.exists()


def test_only_its_user_may_read_it(path: Path) -> None:
    with Journal(path) as journal:
        begin(journal, "a")
        journal.flush()
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        for each in path.parent.rglob("*"):
            assert stat.S_IMODE(each.stat().st_mode) == (0o700 if each.is_dir() else 0o600), each
    path.chmod(0o644)
    with Journal(path) as journal:
        begin(journal, "b")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_run_is_read_back_as_it_was_recorded(path: Path) -> None:
    question = Question(id="q", text="?")
    with Journal(path) as journal:
        history = begin(journal, "a", label="the goal")
        bodies = [
            NodeStarted(instruction="the goal"),
            NodeFinished(Result(task_id="t", agent="x", outcome="partial", data=[None, {"ä": 1.5}], reasoning="why")),
            Message("half\nway", "warning"),
        ]
        for sequence, body in enumerate(bodies, 1):
            history.events.append(Event("a", "n" if sequence == 2 else "", sequence, sequence, 5_000 + sequence, body))
            journal.record(history.events[-1])
        for number, note in enumerate(
            (("now", 12**17), ("random", 0.25), ("renewed", {"now": 1, "random": 0, "sleep": 0})), 1
        ):
            history.notes.append(note)  # pyright: ignore[reportArgumentType] - a tuple of three kinds
            journal.note("a", number, note, 1)  # pyright: ignore[reportArgumentType] - the same
        assert journal.history("a") == history
        assert journal.events("a", after=1, limit=1) == history.events[1:2]
        assert journal.get("a").finished_steps == ("n",)
        journal.record(Event("a", "w", 0, 4, 1, QuestionAsked(question)))
        assert journal.get("a").lifecycle == "input_required"
        finish(journal, "a", 5)
        record = journal.get("a")
        assert (record.lifecycle, record.outcome, record.started_ns, record.ended_ns) == (
            "ended",
            "success",
            1_000,
            2_000,
        )
        kept = journal.result("a")
        assert kept
        assert kept.data == {"none": None}


def test_a_run_that_has_not_ended_has_no_result(path: Path) -> None:
    with Journal(path) as journal:
        begin(journal, "a")
        assert journal.result("a") is None
        assert journal.get("a").lifecycle == "working"


def test_a_text_is_kept_beside_a_run_as_long_as_there_is_the_run(path: Path) -> None:
    with Journal(path) as journal:
        assert journal.texts() == []
        begin(journal, "a")
        finish(journal, "a")
        for text in ("old", "secret", None, "secret"):
            journal.keep_text("a", "n", text)
        journal.keep_text("a", "m", "x")
        journal.keep_text("a", "m", None)
    with Journal(path) as journal:
        assert journal.texts() == [("a", "n", "secret")]
        assert journal.prune(keep=0) == 1
        assert journal.texts() == []


def test_runs_are_found_by_either_end_of_their_id(path: Path) -> None:
    with Journal(path) as journal:
        for at_ns, run in enumerate(("01abc1", "01abd2", "01xyz1", "01xyz1:child")):
            begin(journal, run, at_ns)
        assert journal.find("01ab", limit=9) == ("01abd2", "01abc1")
        assert journal.find("yz1", limit=9) == ("01xyz1",)
        assert journal.find("01xyz1:", limit=9) == ("01xyz1:child",)
        assert journal.find("%", limit=9) == ()
        assert journal.find("01abc1", limit=9) == ("01abc1",)
        with pytest.raises(UnknownName) as caught:
            journal.get("01abc2")
        assert "01abc1" in caught.value.suggestions


def test_the_list_is_newest_first_and_without_children(path: Path) -> None:
    with Journal(path) as journal:
        begin(journal, "old", 1)
        begin(journal, "new", 3)
        begin(journal, "new:child", 4)
        begin(journal, "middle", 2)
        assert [record.run for record in journal.list()] == ["new", "middle", "old"]
        assert [record.run for record in journal.list(1)] == ["new"]
        assert journal.get("new:child").parent == "new"


def test_what_is_recorded_is_there_without_closing(path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.engine.test_journal import *\n"
        "journal = Journal(Path(sys.argv[1])); begin(journal, 'a'); finish(journal, 'a')"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    with Journal(path) as journal:
        assert journal.get("a").outcome == "success"


def test_many_threads_and_objects_write_at_once_and_nothing_is_lost(path: Path) -> None:
    def write(name: str) -> None:
        with Journal(path) as journal:
            for number in range(20):
                begin(journal, f"{name}{number}", number)
                finish(journal, f"{name}{number}")
            assert journal.failure is None

    threads = [threading.Thread(target=write, args=(f"t{number}x",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Journal(path) as journal:
        records = journal.list(1000)
        assert len(records) == 120
        assert {record.outcome for record in records} == {"success"}


def test_a_closed_journal_opens_again_when_used(path: Path) -> None:
    journal = Journal(path)
    for name in "ab":
        begin(journal, name)
        journal.close()
        journal.close()
    assert len(journal.list()) == 2
    journal.close()


def test_the_same_event_twice_is_once_in_the_history(path: Path) -> None:
    with Journal(path) as journal:
        begin(journal, "a")
        finish(journal, "a")
        finish(journal, "a")
        journal.flush()
        assert journal.failure is None
        assert len(journal.events("a")) == 1


def test_what_an_earlier_epoch_still_writes_is_refused_and_told(path: Path) -> None:
    told: list[RetinueError] = []
    committed: list[RetinueError | None] = []
    with Journal(path) as sleeper, Journal(path) as other:
        sleeper.listeners.append(told.append)
        begin(sleeper, "a")
        begin(sleeper, "b")
        finish(sleeper, "a", 1, "step")
        sleeper.flush()
        change(path, "UPDATE runs SET owner = 'gone'")
        assert other.take_over("a")[0].epoch == 2
        event = Event("a", "", 0, 2, 1, Message("I slept."))
        sleeper.record(event, 1, committed.append)
        sleeper.record(replace(event, run="b", sequence=1), 1, committed.append)
        sleeper.flush()
        assert [type(error) for error in told] == [RunTakenOver]
        assert told[0].detail["run"] == "a"
        assert committed == [told[0], None]
        assert sleeper.failure is None
        assert len(other.events("a")) == 1
        other.record(event, 2)
        assert len(other.events("a")) == 2
        assert len(other.events("b")) == 1


def test_what_the_database_cannot_hold_is_told_and_ends_the_recording(path: Path) -> None:
    with Journal(path) as journal:
        begin(journal, "a")
        journal.flush()
        journal.record(Event("a", "\ud800", 0, 1, 1, Message("x")))
        journal.flush()
        assert isinstance(journal.failure, InternalError)
        finish(journal, "a")
        with pytest.raises(InternalError):
            journal.prune(keep=0)
        assert journal.events("a") == []


# Claims


def test_a_chosen_id_is_begun_once(path: Path) -> None:
    with Journal(path) as one, Journal(path) as two:
        history = RunHistory("mine", "flow", {}, "", 1)
        assert one.begin_once(history)
        assert not two.begin_once(history)
        assert len(two.list()) == 1


def test_a_run_is_taken_over_only_when_nobody_works_on_it(path: Path) -> None:
    first, second = Journal(path), Journal(path)
    begin(first, "a")
    finish(first, "a", 1, "step")
    first.flush()
    with pytest.raises(InvalidInput, match="still running"):
        second.take_over("a")
    first.close()
    assert second.get("a").stalled
    second.take_over("a")
    assert not second.get("a").stalled
    with pytest.raises(InvalidInput):
        first.take_over("a")
    finish(second, "a", 2, outcome="partial", epoch=2)
    second.flush()
    first.take_over("a")
    record = second.get("a")
    assert (record.lifecycle, record.outcome, record.finished_steps) == ("working", None, ("step",))
    finish(first, "a", 3, epoch=3)
    with pytest.raises(InvalidInput, match="has ended"):
        first.take_over("a")
    with pytest.raises(UnknownName):
        first.take_over("b")
    first.close()
    second.close()


def test_an_owner_is_alive_until_it_is_released_and_its_file_goes(tmp_path: Path) -> None:
    owner = Owner(tmp_path / "owners")
    assert is_alive(tmp_path / "owners", owner.name)
    owner.release()
    assert not is_alive(tmp_path / "owners", owner.name)
    assert list((tmp_path / "owners").iterdir()) == []
    for name in ("1-dead", "2-dead"):  # who dies leaves it, for a week
        (tmp_path / "owners" / name).touch()
        assert not is_alive(tmp_path / "owners", name)
    os.utime(tmp_path / "owners" / "2-dead", (0, 0))
    another = Owner(tmp_path / "owners")
    assert {path.name for path in (tmp_path / "owners").iterdir()} == {another.name, "1-dead"}
    another.release()
    for name in ("", "../x", ".hidden"):
        assert not is_alive(tmp_path / "owners", name)


@pytest.mark.skipif(sys.platform != "linux", reason="nothing tells there whether a process is stopped")
def test_a_stopped_process_that_only_has_the_id_of_an_owner_is_not_that_owner(path: Path) -> None:
    (folder := path.with_name("runs.sqlite3.owners")).mkdir(parents=True)
    with subprocess.Popen(["sleep", "60"]) as other:
        other.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, other.pid, os.WSTOPPED)
        (folder / f"{other.pid}-0").touch()
        names = (f"{other.pid}-0", "1-none", "x-0", "", "9" * 5000)
        pids = [SqliteStore(path).stopped_pid(name) for name in names]
        other.kill()
    assert pids == [None] * 5


def test_without_a_lock_file_a_run_counts_as_stalled(path: Path) -> None:
    path.parent.mkdir()
    path.with_name("runs.sqlite3.owners").write_text("in the way")
    with Journal(path) as journal:
        begin(journal, "a")
        assert journal.get("a").stalled


# Forgetting


def test_pruning_by_age_and_number_spares_what_is_worked_on(path: Path) -> None:
    with Journal(path) as journal:
        for at_ns in range(6):
            begin(journal, f"r{at_ns}", at_ns)
            begin(journal, f"r{at_ns}:c", at_ns)
            finish(journal, f"r{at_ns}:c")
            if at_ns != 1:
                finish(journal, f"r{at_ns}")
        with pytest.raises(InvalidInput):
            journal.prune()
        assert journal.prune(older_than_ns=2) == 1
        assert [record.run for record in journal.list()] == ["r5", "r4", "r3", "r2", "r1"]
        assert journal.prune(keep=2) == 2
        assert [record.run for record in journal.list()] == ["r5", "r4", "r1"]
        assert journal.find("r3:", limit=9) == ()
        assert journal.find("r5:", limit=9) == ("r5:c",)
        assert journal.prune(keep=0, older_than_ns=5) == 1
        assert journal.prune(keep=100) == 0


# Rows and files that somebody changed


@pytest.mark.parametrize(
    ("where", "column", "value"),
    [
        ("runs", "body", "{"),
        ("runs", "body", "[]"),
        ("runs", "body", "[" * 100_000),
        ("runs", "body", '{"workflow": 7}'),
        ("runs", "body", b"\xff\xfe"),
        ("runs", "started_ns", "soon"),
        ("runs", "resumed_after", "later"),
        ("sequence = 1", "body", "nonsense"),
        ("sequence = 1", "body", '{"outcome":"splendid","lifecycle":"ended","result":{}}'),
        ("sequence = 2", "at_ns", "late"),
    ],
)
def test_a_row_of_nonsense_names_its_run_and_hides_no_other(path: Path, where: str, column: str, value: object) -> None:
    with Journal(path) as journal:
        for run in ("good", "bad"):
            begin(journal, run)
            finish(journal, run, 1, "step")
            finish(journal, run, 2)
        journal.flush()
        table, rows = ("runs", "") if where == "runs" else ("events", f" AND {where}")
        change(path, f"UPDATE {table} SET {column} = ? WHERE run = 'bad'{rows}", value)
        records = {record.run: record for record in journal.list()}
        assert records["good"].outcome == "success"
        assert records["good"].damage == ""
        assert records["bad"].damage
        assert records["bad"].outcome is None
        with pytest.raises(ParseError) as caught:
            journal.get("bad")
        assert caught.value.detail == {"run": "bad"}
        assert "`bad`" in caught.value.message
        assert caught.value.path == str(path)
        assert journal.get("good").outcome == "success"
        assert journal.prune(keep=0) == 2


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM events WHERE run = 'bad' AND sequence = 1",
        "UPDATE runs SET payload = '' WHERE run = 'bad'",
        "UPDATE runs SET payload = '[1]' WHERE run = 'bad'",
        "UPDATE runs SET epoch = 'x' WHERE run = 'bad'",
        "UPDATE events SET body = '\"x\"' WHERE run = 'bad' AND kind = 'now'",
        "UPDATE events SET body = 'true' WHERE run = 'bad' AND kind = 'now'",
        "UPDATE events SET kind = 'later' WHERE run = 'bad' AND kind = 'now'",
        "UPDATE events SET kind = 'renewed', body = '{}' WHERE run = 'bad' AND kind = 'now'",
        "UPDATE events SET kind = 'exploded' WHERE run = 'bad' AND sequence = 2",
        "UPDATE events SET attempt = 1.5 WHERE run = 'bad' AND sequence = 2",
        """UPDATE events SET body = '{"text": 1}' WHERE run = 'bad' AND sequence = 2""",
        """UPDATE events SET body = '{"level": "x"}' WHERE run = 'bad' AND sequence = 2""",
        """UPDATE events SET body = '{"lifecycle":"ended","result":{"agent":1}}' WHERE run = 'bad' AND sequence = 1""",
        """UPDATE events SET body = '{"result": 5}' WHERE run = 'bad' AND sequence = 1""",
    ],
)
def test_a_history_with_holes_or_nonsense_cannot_be_gone_on_with(path: Path, statement: str) -> None:
    with Journal(path) as journal:
        begin(journal, "bad")
        finish(journal, "bad", 1, "step")
        journal.record(Event("bad", "", 0, 2, 1, Message("x")))
        journal.note("bad", 1, ("now", 5), 1)
        assert len(journal.history("bad").events) == 2
        change(path, statement)
        with pytest.raises(ParseError) as caught:
            journal.history("bad")
        assert caught.value.detail == {"run": "bad"}


def test_a_result_written_otherwise_but_rightly_is_still_read(path: Path) -> None:
    with Journal(path) as journal:
        begin(journal, "a")
        finish(journal, "a")
        journal.flush()
        text = '{ "result" : {"task_id": "t", "agent": "b", "outcome": "partial"} }'
        change(path, "UPDATE events SET body = ? WHERE sequence = 1", text)
        assert journal.get("a").outcome == "partial"
        kept = journal.result("a")
        assert kept
        assert kept.agent == "b"
        change(path, "UPDATE events SET body = ? WHERE sequence = 1", text[:40])
        with pytest.raises(ParseError):
            journal.result("a")


def test_a_bad_event_stops_reading_where_it_stands(path: Path) -> None:
    with Journal(path) as journal:
        begin(journal, "a")
        finish(journal, "a")
        journal.flush()
        change(path, "UPDATE events SET kind = 'x' WHERE sequence = 1")
        with pytest.raises(ParseError):
            journal.events("a")


def test_a_file_that_is_no_database_is_said_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("no database at all " * 300)
    told: list[RetinueError] = []
    with Journal(path) as journal:
        journal.listeners.append(told.append)
        begin(journal, "a")
        journal.flush()
        assert isinstance(journal.failure, ParseError)
        assert told == [journal.failure]
        assert "Move the file away" in journal.failure.hint
        with pytest.raises(ParseError):
            journal.list()
        with pytest.raises(ParseError):
            journal.begin_once(RunHistory("b", "flow", {}, "", 1))
    assert path.read_text().startswith("no database")


def test_a_file_of_a_newer_version_is_refused(path: Path) -> None:
    path.parent.mkdir()
    change(path, "PRAGMA user_version = 99")
    with Journal(path) as journal:
        with pytest.raises(Unavailable, match="newer"):
            journal.list()
        begin(journal, "a")
        journal.flush()
        assert isinstance(journal.failure, Unavailable)


FORMAT_1 = """
CREATE TABLE events (
    run TEXT NOT NULL, sequence INTEGER NOT NULL, node TEXT NOT NULL, attempt INTEGER NOT NULL,
    kind TEXT NOT NULL, at_ns INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (run, sequence)
) WITHOUT ROWID;
CREATE INDEX starts ON events (at_ns) WHERE sequence = 0;
CREATE TABLE texts (run TEXT, name TEXT, text TEXT NOT NULL, PRIMARY KEY (run, name)) WITHOUT ROWID;
INSERT INTO events VALUES ('r1', 0, '', 0, 'run', 5,
    '{"workflow":"flow","label":"the goal","parent":null,"owner":"1-dead","for":"ada","labels":{"context":"c"}}');
INSERT INTO events VALUES ('r1', -1000000, '', 0, 'payload', 5, '{"goal":[1,null]}');
INSERT INTO events VALUES ('r1', -1000001, '', 0, 'now', 5, '7');
INSERT INTO events VALUES ('r1', 1, 'n', 0, 'started', 6, '{"agent":"writer","skill":"","instruction":""}');
INSERT INTO events VALUES ('r1', 2, 'n', 0, 'finished', 7,
    '{"outcome":"success","lifecycle":"ended","result":{"task_id":"t","agent":"writer","outcome":"success"}}');
INSERT INTO events VALUES ('r1', 3, '', 0, 'finished', 8,
    '{"outcome":"failed","lifecycle":"ended","result":{"task_id":"t","agent":"flow","outcome":"failed"}}');
INSERT INTO events VALUES ('r1', -1, '', 0, 'owner', 9, '{"owner":"2-dead","after":3}');
INSERT INTO events VALUES ('r1:c', 0, '', 0, 'run', 6, '{"workflow":"flow","label":"c","parent":"r1","owner":"1-dead"}');
INSERT INTO events VALUES ('r1:c', -1000000, '', 0, 'payload', 6, '{}');
INSERT INTO events VALUES ('bad', 0, '', 0, 'run', 4, '{');
PRAGMA user_version = 1;
"""


@pytest.mark.parametrize("is_written_first", [False, True])
def test_a_file_of_the_first_format_is_brought_to_this_one(path: Path, *, is_written_first: bool) -> None:
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.executescript(FORMAT_1)
    connection.close()
    with Journal(path) as journal:
        if is_written_first:
            begin(journal, "new")
            journal.flush()
        record = journal.get("r1", owner="ada")
        assert (record.lifecycle, record.stalled, record.finished_steps) == ("working", True, ("n",))
        assert (record.label, record.started_ns, record.labels) == ("the goal", 5, {"context": "c"})
        found = journal.list(where=RunFilter(labels={"context": "c"}, agent="writer"))
        assert [each.run for each in found] == ["r1"]
        assert [each.run for each in journal.list() if each.damage] == ["bad"]
        assert journal.get("r1:c").parent == "r1"
        assert journal.find("1", limit=9) == ("r1",)
        history = journal.history("r1")
        assert (history.payload, history.notes) == ({"goal": [1, None]}, [("now", 7)])
        assert [event.kind for event in history.events] == ["started", "finished", "finished"]
        assert journal.take_over("r1")[0].epoch == 2
        assert not journal.get("r1").stalled
        facts = journal.facts()
        assert [(run.run, run.outcome, run.label) for run in facts.runs] == [("r1", "failed", "the goal")]
        assert [(call.node, call.agent, call.outcome) for call in facts.calls] == [("n", "writer", "success")]
        assert facts.damaged == 0


def test_a_store_says_its_format_before_and_after_it_was_brought_to_this_one(path: Path) -> None:
    with Journal(path) as journal:
        assert journal.migrate() == (0, 0)
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.executescript(FORMAT_1)
    connection.close()
    with Journal(path) as journal:
        assert journal.migrate() == (1, 2)
        assert journal.migrate() == (2, 2)
        assert [run for run, _ in journal.check()] == ["bad"]
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)
    connection.close()


def test_a_check_names_each_run_with_a_hole_or_without_a_start(path: Path) -> None:
    with Journal(path) as journal:
        for run in ("a", "b", "c", "d"):
            begin(journal, run)
            for sequence in (1, 2, 3):
                journal.record(Event(run, "n", 0, sequence, 1, Message("x")))
        assert journal.check() == []
        change(path, "DELETE FROM events WHERE run = 'a' AND sequence = 2")
        change(path, "UPDATE events SET body = '{' WHERE run = 'b' AND sequence = 3")
        change(path, "DELETE FROM runs WHERE run = 'c'")
        found = dict(journal.check())
    assert sorted(found) == ["a", "b", "c"]
    assert "event 2 is missing" in found["a"]


def test_deleted_runs_leave_a_smaller_file(path: Path) -> None:
    with Journal(path) as journal:
        for number in range(40):
            begin(journal, f"r{number:02d}", number)
            journal.record(Event(f"r{number:02d}", "", 0, 1, 1, NodeFinished(canceled_result("t", "a", "x" * 20_000))))
    before = path.stat().st_size
    with Journal(path) as journal:
        assert journal.prune(keep=10) == 30
        assert [record.run for record in journal.list()] == [f"r{number}" for number in range(39, 29, -1)]
    assert path.stat().st_size < before / 2


def test_an_empty_file_is_an_empty_history(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    with Journal(path) as journal:
        assert journal.list() == ()


def test_a_folder_in_place_of_the_file_is_said(path: Path) -> None:
    path.mkdir(parents=True)
    with Journal(path) as journal:
        with pytest.raises(AccessDenied):
            journal.list()
        begin(journal, "a")
        journal.flush()
        assert isinstance(journal.failure, AccessDenied)


def test_a_file_that_may_only_be_read_can_be_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Journal(path) as journal:
        begin(journal, "a")
    path.chmod(0o400)
    may = os.access

    def access(place: Path, mode: int) -> bool:
        return mode != os.W_OK and may(place, mode)  # also for root, who may do everything

    monkeypatch.setattr(os, "access", access)
    with Journal(path) as journal:
        assert [record.run for record in journal.list()] == ["a"]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_FULL, Unavailable),
        (sqlite3.SQLITE_IOERR, Unavailable),
        (sqlite3.SQLITE_BUSY, Unavailable),
        (sqlite3.SQLITE_READONLY, AccessDenied),
        (sqlite3.SQLITE_CANTOPEN, AccessDenied),
        (sqlite3.SQLITE_CORRUPT | (3 << 8), ParseError),
        (sqlite3.SQLITE_NOTADB, ParseError),
        (sqlite3.SQLITE_ERROR, InternalError),
    ],
)
def test_each_failure_of_the_file_is_one_of_our_errors(code: int, kind: type[RetinueError]) -> None:
    error = sqlite3.OperationalError("it failed")
    error.sqlite_errorcode = code
    ours = store_error(Path("/x/runs"), error)
    assert type(ours) is kind
    assert ours.path == "/x/runs"


def test_failures_of_the_system_are_told_apart() -> None:
    assert type(store_error(Path("x"), PermissionError(13, "no"))) is AccessDenied
    assert type(store_error(Path("x"), OSError(28, "full"))) is Unavailable
    assert type(store_error(Path("x"), NotADirectoryError(20, "no"))) is AccessDenied


def test_two_first_writers_do_not_trip_over_each_other(path: Path) -> None:
    barrier = threading.Barrier(8)
    failures: list[object] = []

    def first(name: str) -> None:
        with Journal(path) as journal:
            barrier.wait()
            begin(journal, name)
            journal.flush()
            failures.append(journal.failure)

    threads = [threading.Thread(target=first, args=(f"r{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [None] * 8


def test_answers_of_a_person_are_kept_and_those_of_the_policy_are_not() -> None:
    history = RunHistory("a", "flow", {}, "", 1)
    answers = {"p": Answer(question_id="p", value=1), "q": Answer(question_id="q", value=1, by="policy")}
    for node, answer in answers.items():
        for body in (QuestionAsked(Question(id=node, text="?")), QuestionAnswered(answer)):
            history.events.append(Event("a", node, 0, len(history.events) + 1, 1, body))
    assert list(history.kept_results()) == ["p"]


def test_a_child_run_that_goes_on_and_ends_in_one_transaction_has_ended(tmp_path: Path) -> None:
    end = NodeFinished(Result(task_id="r:c", agent="flow", outcome="success"))
    with Journal(tmp_path / "journal.sqlite3", later=lambda _: None) as journal:
        journal.begin(RunHistory("r", "flow", {}, "", 1))
        journal.begin(RunHistory("r:c", "flow", {}, "", 1, "r"))
        journal.record(Event("r:c", "", 0, 1, 1, NodeStarted()))
        journal.flush()
        journal.go_on("r:c", 1, 1)
        journal.record(Event("r:c", "", 0, 2, 2, end))
        journal.flush()
        assert journal.get("r:c").ended_ns == 2
