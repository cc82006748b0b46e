"""The memories of one scope: added once each, found by their words, forgotten for good."""

import sqlite3
import time
import unicodedata
from collections.abc import Callable, Generator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Self

from retinue.contract.sanitize import clean_content
from retinue.errors import InvalidInput, LimitReached, Unavailable, UnknownName
from retinue.tools.memory.entry import MAX_ENTRIES, MAX_TEXT, MemoryEntry, Provenance, Scope, ScoredEntry
from retinue.tools.memory.file import damaged_file_error, memory_error, memory_file, open_file, set_aside
from retinue.tools.memory.full_text import full_text_query

_FIND: Final = "SELECT number, text, at_ns, said_by, run, origin FROM memories WHERE digest = ?"
_NEWEST: Final = "SELECT number, text, at_ns, said_by, run, origin FROM memories ORDER BY number DESC LIMIT ? OFFSET ?"
_ADD: Final = """
INSERT INTO memories (digest, text, at_ns, said_by, run, origin) VALUES (?, ?, ?, ?, ?, ?)
RETURNING number, text, at_ns, said_by, run, origin
"""
_FORGET: Final = "DELETE FROM memories WHERE number = ? RETURNING number, text, at_ns, said_by, run, origin"
_INDEX: Final = "INSERT INTO words (rowid, text) VALUES (?, ?)"
_UNINDEX: Final = "INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)"
_SEARCH: Final = """
SELECT number, text, at_ns, said_by, run, origin, score
FROM (SELECT rowid AS found, rank AS score FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?)
JOIN memories ON number = found ORDER BY score, number
"""
_LONGEST_FACT: Final = 500


class Memory:
    """The memories of one scope. Opens its file when it is first used; close it, or use it as a context manager.

    A thread of its own for each: it is not shared between threads. Any number of processes may use the same file.

    Args:
        state: The user's state directory.
        scope: Which memories.
        project: The folder they belong to, for the scope `project`.
        clock: Nanoseconds since 1970 UTC.

    Raises:
        InvalidInput: The scope `project` without a project.
    """

    def __init__(
        self, state: Path, scope: Scope, *, project: Path | None = None, clock: Callable[[], int] = time.time_ns
    ) -> None:
        if scope == "project" and project is None:
            raise InvalidInput("There is no project to remember things of.", hint="Use the scope `global`.")
        self.scope: Scope = scope
        self.path = memory_file(state, scope, project=project)
        self._clock = clock
        self._connection: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def add(self, text: str, source: Provenance) -> tuple[MemoryEntry, bool]:
        """Remember `text`; gives the memory, and whether it is new. What is known already stays as it was.

        Two texts that differ only in capitals and white space are the same memory.

        Raises:
            InvalidInput: It is empty, or longer than `MAX_TEXT`.
            LimitReached: There are `MAX_ENTRIES` already.
            RetinueError: The file cannot be used, as `memory_error`.
        """
        clean_text = _drop_surrogates(clean_content(text, max_length=MAX_TEXT)).strip()
        if not clean_text:
            raise InvalidInput("There is nothing to remember: the text is empty.", hint="Say what to remember.")
        normal_form = " ".join(unicodedata.normalize("NFC", clean_text).casefold().split())
        digest = blake2b(normal_form.encode(), digest_size=16).digest()
        facts = (_fact(source.by), _fact(source.run), _fact(source.origin))
        with self._transaction() as connection:
            existing = connection.execute(_FIND, (digest,)).fetchone()
            if existing is not None:
                return self._entry(existing), False
            if int(connection.execute("SELECT count(*) FROM memories").fetchone()[0]) >= MAX_ENTRIES:
                raise LimitReached(
                    f"There are {MAX_ENTRIES} memories in the scope `{self.scope}`, which is all there may be.",
                    hint="Forget some first: `retinue memory list`, `retinue memory forget ID`.",
                )
            row = connection.execute(_ADD, (digest, clean_text, self._clock(), *facts)).fetchall()[0]
            connection.execute(_INDEX, row[:2])
            return self._entry(row), True

    def search(self, words: str, *, limit: int = 10) -> tuple[ScoredEntry, ...]:
        """The memories that fit `words` best, best first, by BM25. The words are plain: there is no query language."""
        query = full_text_query(words)
        if not query:
            return ()
        with self._open_connection() as connection:
            rows = connection.execute(_SEARCH, (query, max(0, limit))).fetchall()
        return tuple(ScoredEntry(self._entry(row), -float(row[6])) for row in rows)

    def list(self, *, limit: int = 50, skip: int = 0) -> tuple[MemoryEntry, ...]:
        """Memories, the newest first."""
        with self._open_connection() as connection:
            rows = connection.execute(_NEWEST, (max(0, limit), max(0, skip))).fetchall()
        return tuple(map(self._entry, rows))

    def count(self) -> int:
        """How many there are."""
        with self._open_connection() as connection:
            return int(connection.execute("SELECT count(*) FROM memories").fetchone()[0])

    def forget(self, name: str) -> MemoryEntry:
        """Forget the memory with the id `name`, for good: its words are overwritten in the file.

        Raises:
            UnknownName: There is none.
            Unavailable: It is forgotten, but its words stay in the file while another program reads.
            RetinueError: The file cannot be used, as `memory_error`.
        """
        number = _number(name)
        with self._transaction() as connection:
            row = connection.execute(_FORGET, (number,)).fetchall()
            if not row:
                raise UnknownName(
                    f"There is no memory {name[:40]!r} in the scope `{self.scope}`.",
                    hint="Ids are what `recall` and `retinue memory list` show.",
                )
            connection.execute(_UNINDEX, row[0][:2])
            # The index keeps deleted words until it is written anew.
            connection.execute("INSERT INTO words(words) VALUES ('optimize')")
        with self._open_connection() as connection:
            is_busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if is_busy:
            raise Unavailable(
                f"The memory {name[:40]!r} is forgotten, but another program is reading `{self.path}`, so its words are"
                " still in the file beside it.",
                hint="They go when nobody has the file open any more.",
                path=str(self.path),
            )
        return self._entry(row[0])

    def set_aside(self) -> Path | None:
        """Move the file out of the way, so that a new one begins; gives where it is now. Only when a person asks.

        Raises:
            RetinueError: The system refuses.
        """
        self.close()
        try:
            return set_aside(self.path)
        except OSError as error:
            raise memory_error(self.path, error) from error

    def _entry(self, row: tuple[Any, ...]) -> MemoryEntry:
        number, text, at_ns, said_by, run, origin = row[:6]
        if not isinstance(at_ns, int) or not all(isinstance(each, str) for each in (text, said_by, run, origin)):
            raise damaged_file_error(self.path, f"the memory m{number} is not text with a time")
        return MemoryEntry(f"m{number}", self.scope, text, at_ns, Provenance(said_by, run, origin))

    @contextmanager
    def _open_connection(self) -> Generator[sqlite3.Connection]:
        try:
            if self._connection is None:
                self._connection = open_file(self.path)
            yield self._connection
        except (sqlite3.Error, OSError) as error:
            raise memory_error(self.path, error) from error

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        """A transaction that nobody else writes beside."""
        with self._open_connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")


def _number(name: str) -> int:
    """The row that an id names; -1, which none has, when it is no id."""
    digits = name.removeprefix("m")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 16 else -1


def _drop_surrogates(text: str) -> str:
    """`text` without halves of surrogate pairs, which no file can hold."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def _fact(text: str) -> str:
    """A fact of provenance on one line, clipped."""
    return " ".join(_drop_surrogates(text.replace("\0", "")).split())[:_LONGEST_FACT]
