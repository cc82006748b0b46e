"""Memories: added once each, found by plain words, forgotten for good, shared by many processes, never believed."""

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from retinue.errors import AccessDenied, InvalidInput, LimitReached, ParseError, Unavailable, UnknownName
from retinue.tools import memory as store
from retinue.tools.memory import (
    MAX_TEXT,
    MOST_WORDS,
    Memory,
    MemoryEntry,
    Provenance,
    full_text_query,
    memory_error,
    memory_file,
)

WHO = Provenance("researcher", "run-1", "page https://example.org/")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    ticks = iter(range(1, 10**9))
    with Memory(tmp_path, "global", clock=lambda: next(ticks)) as opened:
        yield opened


def texts(found: tuple[MemoryEntry, ...]) -> list[str]:
    return [entry.text for entry in found]


def found(memory: Memory, words: str) -> list[str]:
    return [entry.text for entry in memory.search(words)]


def test_what_is_added_comes_back_with_where_it_came_from(memory: Memory) -> None:
    entry, new = memory.add("The lake is deep.", WHO)
    assert (entry, new) == (MemoryEntry("m1", "global", "The lake is deep.", 1, WHO), True)
    assert memory.list() == (entry,)
    assert entry.to_json() == {
        "id": "m1", "scope": "global", "text": "The lake is deep.", "at_ns": 1, "by": "researcher", "run": "run-1",
        "origin": "page https://example.org/",
    }  # fmt: skip
    assert "run" not in memory.add("Another.", Provenance("person"))[0].to_json()


def test_the_same_text_is_remembered_once(memory: Memory) -> None:
    first, _ = memory.add("The  lake\nis deep.", WHO)
    again, new = memory.add(" the lake is DEEP. ", Provenance("somebody else"))
    assert (again, new) == (first, False)
    assert memory.count() == 1


def test_the_best_fit_is_found_first(memory: Memory) -> None:
    for text in (
        "Tests run with make test.",
        "The lake is deep and the lake is cold.",
        "A lake in the wood, beside a house.",
    ):
        memory.add(text, WHO)
    assert found(memory, "Is the lake cold?")[0] == "The lake is deep and the lake is cold."
    assert found(memory, "testing") == ["Tests run with make test."]
    assert found(memory, "mountain") == []
    assert len(memory.search("lake", limit=1)) == 1


@pytest.mark.parametrize("words", ["", "  ", "!?", '"', "*"])
def test_without_words_nothing_is_found(memory: Memory, words: str) -> None:
    memory.add("The lake is deep.", WHO)
    assert memory.search(words) == ()


@given(st.text(max_size=80) | st.lists(st.sampled_from(['"', "NEAR(", ")", "lake", "AND", "OR", "NOT", "*", "text:", "^", "-", "{", "'"]), max_size=12).map(" ".join))  # fmt: skip
def test_no_words_are_a_query_language(words: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(text)")
    connection.execute("INSERT INTO t VALUES ('the lake is deep')")
    query = full_text_query(words)
    if query:
        rows = connection.execute("SELECT * FROM t WHERE t MATCH ?", (query,)).fetchall()
        assert any(f'"{word}"' in query for word in ("the", "lake", "is", "deep")) <= bool(rows)
    connection.close()


def test_empty_words_count_only_when_there_are_no_others() -> None:
    assert full_text_query("what is the lake") == '"lake"'
    assert full_text_query("what is the") == '"what" OR "is" OR "the"'
    assert full_text_query(" ".join(f"w{number}" for number in range(100))).count(" OR ") == MOST_WORDS - 1


@given(st.text(max_size=200))
def test_any_text_is_remembered_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    with Memory(tmp_path_factory.mktemp("state"), "global") as memory:
        try:
            entry, _ = memory.add(text, Provenance(text, text, text))
        except InvalidInput:
            return
        assert memory.list() == (entry,)
        memory.search(text)
        assert memory.forget(entry.id) == entry
        assert memory.list() == ()


@pytest.mark.parametrize("text", ["", " \n\t", "\0", "x" * (MAX_TEXT + 1)])
def test_nothing_and_too_much_are_refused(memory: Memory, text: str) -> None:
    with pytest.raises(InvalidInput):
        memory.add(text, WHO)
    assert memory.count() == 0


def test_half_a_surrogate_pair_is_replaced(memory: Memory) -> None:
    assert memory.add("a\ud800b", WHO)[0].text == "a?b"


def test_provenance_is_one_line_and_bounded(memory: Memory) -> None:
    entry, _ = memory.add("text", Provenance("a\nb", "\0r", "x" * 1_000))
    assert entry.source == Provenance("a b", "r", "x" * 500)


def test_there_is_a_most(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_ENTRIES", 2)
    memory.add("one", WHO)
    memory.add("two", WHO)
    with pytest.raises(LimitReached, match="2 memories"):
        memory.add("three", WHO)
    assert memory.add("two", WHO)[1] is False
    assert texts(memory.list()) == ["two", "one"]


def test_lists_are_newest_first_in_parts(memory: Memory) -> None:
    for number in range(5):
        memory.add(f"number {number}", WHO)
    assert texts(memory.list(limit=2)) == ["number 4", "number 3"]
    assert texts(memory.list(limit=2, skip=2)) == ["number 2", "number 1"]


def test_what_is_forgotten_is_gone_from_the_file(memory: Memory) -> None:
    memory.add("The other thing stays.", WHO)
    entry, _ = memory.add("The password is Xylophonist42.", WHO)
    memory.forget(entry.id)
    assert memory.search("Xylophonist42") == ()
    memory.close()
    for file in memory.path.parent.iterdir():
        assert b"xylophonist" not in file.read_bytes().lower()
    assert found(memory, "other thing") == ["The other thing stays."]


def test_an_id_is_never_given_twice(memory: Memory) -> None:
    first, _ = memory.add("one", WHO)
    memory.forget(first.id)
    assert memory.add("two", WHO)[0].id == "m2"


@pytest.mark.parametrize("name", ["m2", "", "m", "m-1", "1; DROP TABLE memories", "m" + "9" * 30, "m\u0661"])
def test_an_id_that_nothing_has_is_told(memory: Memory, name: str) -> None:
    memory.add("one", WHO)
    with pytest.raises(UnknownName) as refused:
        memory.forget(name)
    assert "retinue memory list" in refused.value.hint
    assert memory.count() == 1


# The file


def test_a_project_is_known_by_its_real_path(tmp_path: Path) -> None:
    project, link, other = tmp_path / "project", tmp_path / "link", tmp_path / "other"
    for folder in (project, other):
        folder.mkdir()
    link.symlink_to(project)
    state = tmp_path / "state"
    with Memory(state, "project", project=project) as memory:
        memory.add("The lake is deep.", WHO)
    with Memory(state, "project", project=link) as memory:
        assert memory.list()[0].scope == "project"
    for elsewhere in (Memory(state, "project", project=other), Memory(state, "global")):
        with elsewhere:
            assert elsewhere.list() == ()
    assert memory_file(state, "global") == state / "memory" / "global.sqlite3"


def test_a_project_must_be_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no project"):
        Memory(tmp_path, "project")


def test_the_file_is_its_owners_alone(memory: Memory) -> None:
    memory.add("one", WHO)
    for file in memory.path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(memory.path.parent.stat().st_mode) == 0o700
    memory.close()
    memory.path.chmod(0o644)
    memory.count()
    assert stat.S_IMODE(memory.path.stat().st_mode) == 0o600


def test_a_damaged_file_is_told_and_moved_only_when_asked(memory: Memory) -> None:
    memory.add("one", WHO)
    memory.close()
    memory.path.write_bytes(b"no database" * 1_000)
    with pytest.raises(ParseError, match="not a memory") as refused:
        memory.list()
    assert "set-aside" in refused.value.hint
    assert memory.path.read_bytes().startswith(b"no database")
    moved = memory.set_aside()
    assert moved is not None
    assert moved.read_bytes().startswith(b"no database")
    assert memory.list() == ()


@pytest.mark.parametrize(
    "harm",
    [
        "DROP TABLE words",
        "DROP TABLE memories",
        "ALTER TABLE memories DROP COLUMN run",
        "UPDATE memories SET text = x'ff00'",
        "UPDATE memories SET at_ns = 'now'",
    ],
)
def test_tables_that_are_not_ours_are_told(memory: Memory, harm: str) -> None:
    memory.add("one", WHO)
    memory.close()
    with closing(sqlite3.connect(memory.path)) as connection, connection:
        connection.execute(harm)
    with pytest.raises(ParseError, match="not a memory") as refused:
        memory.search("one")
    assert "set-aside" in refused.value.hint


def test_words_that_stay_because_somebody_reads_are_told(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "BUSY_S", 0.01)
    memory.add("a secret word", WHO)
    with closing(sqlite3.connect(memory.path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM memories").fetchall()
        with pytest.raises(Unavailable, match="another program is reading"):
            memory.forget("m1")
        assert memory.count() == 0
    memory.close()
    assert not [path for path in memory.path.parent.iterdir() if b"secret" in path.read_bytes()]


def test_there_may_be_nothing_to_set_aside(memory: Memory) -> None:
    assert memory.set_aside() is None


def test_what_belongs_to_a_file_goes_with_it(memory: Memory) -> None:
    memory.add("one", WHO)
    beside = memory.path.with_name(memory.path.name + "-wal")
    memory.close()
    beside.write_bytes(b"left over")
    moved = memory.set_aside()
    assert moved is not None
    assert moved.with_name(moved.name + "-wal").read_bytes() == b"left over"
    assert not beside.exists()


def test_a_file_of_a_later_version_is_left_alone(memory: Memory) -> None:
    memory.add("one", WHO)
    memory.close()
    with sqlite3.connect(memory.path) as connection:
        connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(Unavailable, match="format 9"):
        memory.list()


def test_a_link_in_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "global.sqlite3").symlink_to(tmp_path / "elsewhere")
    with Memory(tmp_path, "global") as memory, pytest.raises(AccessDenied):
        memory.list()
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with Memory(tmp_path / "state", "global") as memory, pytest.raises(AccessDenied, match="cannot be opened"):
        memory.list()


@pytest.mark.parametrize(
    ("code", "word"),
    [
        (sqlite3.SQLITE_CORRUPT, "parse_error"), (sqlite3.SQLITE_NOTADB, "parse_error"), (sqlite3.SQLITE_FULL, "unavailable"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, "unavailable"), (sqlite3.SQLITE_READONLY, "access_denied"),
        (sqlite3.SQLITE_ERROR, "parse_error"), (sqlite3.SQLITE_MISUSE, "internal_error"),
    ],
)  # fmt: skip
def test_every_failure_of_the_file_has_an_error(code: int, word: str) -> None:
    error = sqlite3.OperationalError("it failed")
    error.sqlite_errorcode = code
    assert memory_error(Path("file"), error).code == word


WORKER = """
import sys
from pathlib import Path
from retinue.tools.memory import Provenance
from retinue.tools.memory import Memory
state, name = Path(sys.argv[1]), sys.argv[2]
for number in range(25):
    with Memory(state, "global") as memory:
        memory.add(f"process {name} says {number}", Provenance(name))
        memory.add(f"all say {number}", Provenance(name))
        memory.search("process says")
"""


@pytest.mark.slow
def test_many_processes_remember_at_once(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path), str(number)], env=environment)
        for number in range(4)
    ]
    assert [worker.wait(60) for worker in workers] == [0] * 4
    with Memory(tmp_path, "global") as memory:
        kept = texts(memory.list(limit=1_000))
    assert len(kept) == len(set(kept)) == 4 * 25 + 25
