"""`Index`: the passages of the text files of a workspace, in SQLite's full-text index, which knows English stems.

It holds no text, only which words a passage has and where it stands. A file is read again when its size or age differs;
what the workspace hides is not there. It ranks by BM25; it does not answer, and it trusts nothing that it reads.
"""

import json
import os
import re
import sqlite3
import stat
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from time import time_ns
from typing import Any, Final, Self, TypeAlias, TypeVar

from retinue.errors import RetinueError
from retinue.tools.encoding import decode, is_binary
from retinue.tools.search.passages import NO_PROSE, NO_TEXT, Kind, TextPassage, kind_of, skip_reason, split_passages
from retinue.tools.tree import FileEntry, SkippedFile, list_files
from retinue.tools.workspace import Workspace

T = TypeVar("T")

_Row: TypeAlias = tuple[object, ...]

ProgressCallback: TypeAlias = Callable[[int, int], None]
"""Called with how many files were looked at and how many there are. What it raises stops the work."""

_SCHEMA_VERSION: Final = 1
"""Of the index on disk; raised when passages are cut in another way."""

_LARGEST: Final = 1_000_000
_UNSETTLED_NS: Final = 2_000_000_000
_REPORT_EVERY: Final = 50
_BUSY_S: Final = 2.0
_TABLES: Final = """
PRAGMA synchronous = OFF;
PRAGMA cache_size = -64000;
CREATE TABLE IF NOT EXISTS files (
    id INTEGER PRIMARY KEY, path TEXT UNIQUE, state TEXT, kind TEXT, reason TEXT, first INTEGER, last INTEGER
);
CREATE TABLE IF NOT EXISTS passages (
    id INTEGER PRIMARY KEY, file INTEGER, start INTEGER, stop INTEGER, name TEXT, title TEXT
);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
    title, body, name, content = '', tokenize = 'porter unicode61 remove_diacritics 2'
);
INSERT INTO words (words, rank) VALUES ('hashsize', 16777216);
"""
_VOCABULARY: Final = """
CREATE VIRTUAL TABLE IF NOT EXISTS temp.stems USING fts5vocab(main, words, row);
CREATE VIRTUAL TABLE IF NOT EXISTS temp.looked_up USING fts5(word, tokenize = 'porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE IF NOT EXISTS temp.looked_up_stems USING fts5vocab(temp, looked_up, row);
DELETE FROM temp.looked_up;
"""
_EMPTY: Final = "DROP TABLE IF EXISTS files; DROP TABLE IF EXISTS passages; DROP TABLE IF EXISTS words;"
_SEARCH: Final = """
SELECT files.path, files.kind, start, stop, passages.name, passages.title, -bm25(words, 4.0, 1.0, 2.0)
FROM words JOIN passages ON passages.id = words.rowid JOIN files ON files.id = passages.file
WHERE words MATCH ? AND files.kind IN (SELECT value FROM json_each(?))
    AND (? OR files.path IN (SELECT value FROM json_each(?)))
ORDER BY bm25(words, 4.0, 1.0, 2.0), files.path, start LIMIT ?
"""
_CALLED: Final = """
SELECT path, kind, start, stop, passages.name, passages.title, 0.0
FROM words JOIN passages ON passages.id = words.rowid JOIN files ON files.id = passages.file
WHERE words MATCH ? AND passages.name = ? AND kind = 'code' ORDER BY path, start LIMIT 100
"""
_INSERTS: Final = ("INSERT INTO files", "INSERT INTO passages", "INSERT INTO words (rowid, title, body, name)")
_VALUES: Final = 990
"""At most so many values in one statement; the least that SQLite allows is 999."""

_BATCH: Final = 1_000_000
"""So many characters are put in at once: SQLite then works beside Python, on another core."""
_ORPHANS: Final = 5_000
"""So many passages of changed files may stay behind before all is rebuilt: SQLite cannot take them out."""
_WORD: Final = re.compile(r"\w+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class RefreshResult:
    """What one look at the tree found.

    Attributes:
        files: How many files can be searched.
        read: How many of them had to be read, because they were new or had changed.
        removed: How many known ones are gone.
        skipped: What is not searched, and why.
        warnings: What did not work and cost only time, such as an unusable cache.
    """

    files: int
    read: int
    removed: int
    skipped: tuple[SkippedFile, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PassageHit:
    """A passage that has a word that was searched for.

    Attributes:
        start: Its first line, from 1.
        end: Its last line, included.
        name: What it defines, if anything.
        title: The headings it stands under, joined by ` > `, or the classes it is part of.
        score: BM25, the higher the better.
    """

    path: str
    kind: Kind
    start: int
    end: int
    name: str
    title: str
    score: float


class Index:
    """The searchable files of a workspace. Close it, or use it as a context manager.

    Args:
        workspace: What is searched.
        cache_dir: Where it is kept between runs; None keeps it in memory.
    """

    def __init__(self, workspace: Workspace, *, cache_dir: str | os.PathLike[str] | None = None) -> None:
        self._workspace = workspace
        tree = blake2b(repr(workspace).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        self.path = None if cache_dir is None else Path(cache_dir) / f"passages-{_SCHEMA_VERSION}-{tree}.sqlite3"
        self._warnings: list[str] = []
        try:
            if self.path is not None:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                status = os.lstat(self.path) if os.path.lexists(self.path) else None
                if status is not None and (not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid()):
                    self.path.unlink()  # a link or a pipe that another program put there
                with suppress(FileExistsError):
                    os.close(os.open(self.path, os.O_CREAT | os.O_EXCL, 0o600))
            self._database = _create_database(self.path or ":memory:")
        except (OSError, sqlite3.Error) as error:
            self._database = self._replace_database(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def refresh(self, *, progress: ProgressCallback | None = None) -> RefreshResult:
        """Take in what was added, changed and removed since the last time.

        When it is stopped half-way, what was read so far can be searched and is not read again.

        Raises:
            InvalidInput: The workspace holds far too many files.
        """
        return self._with_recovery(lambda: self._refresh(progress))

    def search(
        self,
        words: Iterable[str],
        *,
        kinds: Sequence[Kind] = ("docs", "code"),
        files: Collection[str] | None = None,
        limit: int = 20,
    ) -> list[PassageHit]:
        """The passages that fit any of `words` best, best first.

        Args:
            words: What to look for; one that consists of several (`run_step`) is found where they stand in a row.
            kinds: Which kinds of files to search.
            files: Only these; all when None.
            limit: At most this many.
        """
        query = " OR ".join(dict.fromkeys(phrase for word in words if (phrase := _phrase(word))))
        if not query:
            return []
        paths_json = json.dumps(sorted(files or ()))
        return self._hits(_SEARCH, (query, json.dumps(list(kinds)), files is None, paths_json, limit))

    def paths(self) -> list[str]:
        """The files that are searched, sorted."""
        return self._with_recovery(
            lambda: [row[0] for row in self._rows("SELECT path FROM files WHERE reason = '' ORDER BY path")]
        )

    def definitions_of(self, name: str) -> list[PassageHit]:
        """The passages of code that define `name`, spelled as it is."""
        return self._hits(_CALLED, (f"name : {_phrase(name)}", name)) if _phrase(name) else []

    def document_frequencies(self, words: Iterable[str]) -> tuple[list[int], int]:
        """In how many passages each of `words` stands, and how many there are."""
        # What is left of changed files is no passage any more.
        count = "SELECT count(*) FROM words JOIN passages ON passages.id = words.rowid WHERE words MATCH ?"
        phrases = [_phrase(word) for word in words]

        def count_holders() -> tuple[list[int], int]:
            counts = [self._database.execute(count, (one,)).fetchone()[0] if one else 0 for one in phrases]
            return counts, self._database.execute("SELECT count(*) FROM passages").fetchone()[0]

        return self._with_recovery(count_holders)

    def stems_like(self, word: str) -> tuple[str, list[str]]:
        """The stem of `word`, and all stems in the index that begin with the same letter."""

        def look_up() -> tuple[str, list[str]]:
            self._database.executescript(_VOCABULARY)
            self._database.execute("INSERT INTO temp.looked_up VALUES (?)", (word,))
            stem = next((row[0] for row in self._rows("SELECT term FROM temp.looked_up_stems")), "")
            first = (stem[:1], f"{stem[:1]}\U0010ffff")
            rows = self._database.execute("SELECT term FROM temp.stems WHERE term BETWEEN ? AND ?", first)
            return stem, [row[0] for row in rows]

        return self._with_recovery(look_up)

    def _hits(self, statement: str, values: tuple[object, ...]) -> list[PassageHit]:
        return self._with_recovery(lambda: [PassageHit(*row) for row in self._database.execute(statement, values)])

    # --- the file ---------------------------------------------------------------------------------------------------

    def _replace_database(self, error: Exception) -> sqlite3.Connection:
        """Another database in place of one that is damaged or cannot be used: a new file, or none."""
        self._warnings.append(f"the search index {str(self.path)!r} was not usable and is rebuilt: {error}")
        # Locked or full is no damage: another process may be using the file.
        is_busy = isinstance(error, sqlite3.OperationalError)
        if self.path is not None and not is_busy:
            with suppress(OSError, sqlite3.Error):
                self.path.unlink(missing_ok=True)
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL, 0o600))
                return _create_database(self.path)
        return _create_database(":memory:")

    def _with_recovery(self, work: Callable[[], T]) -> T:
        """`work`, once more over a new database when this one turns out to be unusable."""
        try:
            return work()
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                self._database.close()
            self._database = self._replace_database(error)
            self._refresh(None)
            return work()

    # --- looking at the tree ----------------------------------------------------------------------------------------

    def _refresh(self, progress: ProgressCallback | None) -> RefreshResult:
        listing = list_files(self._workspace)
        file_states = {
            path: (state, reason) for path, state, reason in self._rows("SELECT path, state, reason FROM files")
        }
        skipped = list(listing.skipped)
        entries: list[FileEntry] = []
        for entry in listing.files:
            if entry.is_link:  # what it leads to is in the listing itself
                continue
            kind = kind_of(entry.path)
            if kind is None or kind == "data":
                skipped.append(SkippedFile(entry.path, NO_TEXT if kind is None else NO_PROSE))
            elif entry.size > _LARGEST:
                reason = f"it holds {entry.size} bytes, more than {_LARGEST}"
                skipped.append(SkippedFile(entry.path, reason))
            else:
                entries.append(entry)
        present = {entry.path for entry in entries}
        stale = [entry for entry in entries if file_states.get(entry.path, ("", ""))[0] != _state(entry)]
        missing = [path for path in file_states if path not in present]
        if stale or missing:
            file_states = self._update(file_states, stale, missing, len(entries), progress)
        if progress is not None:
            progress(len(entries), len(entries))
        skipped += [
            SkippedFile(path, reason) for path, (_, reason) in file_states.items() if reason and path in present
        ]
        warnings, self._warnings = (*self._warnings, *filter(None, [listing.note])), []
        searchable = sum(not file_states.get(path, ("", "unread"))[1] for path in present)
        return RefreshResult(
            searchable, len(stale), len(missing), tuple(sorted(skipped, key=lambda one: one.path)), tuple(warnings)
        )

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        return self._database.execute(statement).fetchall()

    def _update(
        self,
        file_states: dict[str, tuple[str, str]],
        stale: Sequence[FileEntry],
        missing: Sequence[str],
        total: int,
        progress: ProgressCallback | None,
    ) -> dict[str, tuple[str, str]]:
        """Take out what is gone or has changed and put in what is new; what is known then."""
        changed = [(path,) for path in (*missing, *(entry.path for entry in stale if entry.path in file_states))]
        file_states = (
            {path: row for path, row in file_states.items() if (path,) not in set(changed)} if changed else file_states
        )
        database = self._database
        database.execute("BEGIN IMMEDIATE")
        try:
            of_file = "(SELECT first FROM files WHERE path = ?1) AND (SELECT last FROM files WHERE path = ?1)"
            database.executemany(f"DELETE FROM passages WHERE id BETWEEN {of_file}", changed)  # noqa: S608 - constant
            database.executemany("DELETE FROM files WHERE path = ?", changed)
            numbers = self._rows("SELECT (SELECT max(id) FROM files), (SELECT max(rowid) FROM words)")[0]
            # One thread, which has the connection for itself until the last row is in.
            with ThreadPoolExecutor(1) as executor, _Writer(database, executor, *numbers) as writer:
                for number, entry in enumerate(stale):
                    if progress is not None and number % _REPORT_EVERY == 0:
                        progress(total - len(stale) + number, total)
                    try:
                        data = self._workspace.read_bytes(entry.path, max_bytes=_LARGEST)
                    except RetinueError as error:  # it vanished, grew, or may not be read; the next look tries again
                        file_states[entry.path] = "", error.message
                        continue
                    text = "" if is_binary(data) else decode(data).text.replace("\r\n", "\n")
                    reason = skip_reason(entry.path, text) if text or not data else "it is binary"
                    # A file that changed a moment ago may do so again without looking older: its age proves nothing.
                    state = _state(entry) if entry.mtime_ns < time_ns() - _UNSETTLED_NS else ""
                    kind = kind_of(entry.path) or "data"
                    passages = () if reason else split_passages(entry.path, kind, text)
                    writer.add_file(entry.path, state, kind, reason, passages)
                    file_states[entry.path] = state, reason
        finally:
            # Also when it was stopped half-way: what was read is not read again, and can be searched.
            database.execute("COMMIT")
        # Rebuild when most of what the full-text index holds is of files as they were.
        last, live = self._rows("SELECT (SELECT max(rowid) FROM words), (SELECT count(*) FROM passages)")[0]
        if (last or 0) - live > max(_ORPHANS, live):
            self._database.executescript(f"{_EMPTY}{_TABLES}")
            self._refresh(None)
        return file_states


class _Writer:
    """Collects rows and has them put in by another thread, where SQLite does not hold up Python."""

    def __init__(
        self, database: sqlite3.Connection, executor: ThreadPoolExecutor, last_file: int | None, last: int | None
    ) -> None:
        self._database = database
        self._executor = executor
        self._file, self._last = last_file or 0, last or 0
        self._rows: tuple[list[_Row], list[_Row], list[_Row]] = ([], [], [])
        self._size = 0
        self._pending: Future[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        self._wait()

    def add_file(self, path: str, state: str, kind: Kind, reason: str, passages: Iterable[TextPassage]) -> None:
        files, of_files, words = self._rows
        self._file += 1
        first = self._last + 1
        for one in passages:
            self._last += 1
            of_files.append((self._last, self._file, one.start, one.end, one.name, one.title))
            parts = _HUMP.sub(" ", one.name)
            words.append((self._last, one.title, one.text, f"{path} {one.name} {parts if parts != one.name else ''}"))
            self._size += len(one.text)
        files.append((self._file, path, state, kind, reason, first, self._last))
        if self._size > _BATCH:
            self._flush()

    def _flush(self) -> None:
        rows = self._rows
        self._rows, self._size = ([], [], []), 0
        # At most one batch waits, so memory stays bounded when SQLite is the slower one.
        self._wait()
        self._pending = self._executor.submit(self._insert, rows)

    def _wait(self) -> None:
        if self._pending is not None:
            self._pending.result()

    def _insert(self, tables: Sequence[Sequence[_Row]]) -> None:
        for statement, rows in zip(_INSERTS, tables, strict=True):
            step = _VALUES // len(rows[0]) if rows else 1
            for first in range(0, len(rows), step):
                some = rows[first : first + step]
                row = f"({', '.join('?' * len(rows[0]))})"
                values = [value for one in some for value in one]
                self._database.execute(f"{statement} VALUES {', '.join([row] * len(some))}", values)


def _create_database(path: Path | str) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        database.executescript(_TABLES)
    except sqlite3.Error:
        database.close()
        raise
    return database


def _phrase(word: str) -> str:
    tokens = _WORD.findall(word)
    return f'"{" ".join(tokens)}"' if tokens else ""


def _state(entry: FileEntry) -> str:
    return f"{entry.size} {entry.mtime_ns}"
