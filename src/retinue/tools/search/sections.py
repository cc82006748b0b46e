"""`Sections`: searches documents by section, the text under one heading.

They are kept in SQLite's full-text index, which knows the stems of English words. A file is read anew when it has
changed. A section counts with the headings above it and the name of its file: what it is about stands there.
"""

import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import Final

from retinue.errors import RetinueError
from retinue.tools.search.kinds import kind_of
from retinue.tools.search.passages import cut
from retinue.tools.tree import FileEntry
from retinue.tools.workspace import Workspace

__all__ = ["Section", "Sections"]

_FORM: Final = 1
"""Of the index on disk; raised when sections are cut in another way."""

_LARGEST: Final = 1_000_000
_BUSY_S: Final = 2.0
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, state TEXT NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS sections USING fts5(
    heading, body, name, path UNINDEXED, start UNINDEXED, stop UNINDEXED, tokenize = 'porter unicode61'
);
"""
_SEARCH: Final = """
SELECT path, start, stop, heading, body, -bm25(sections, 4.0, 1.0, 2.0) FROM sections WHERE sections MATCH ?
ORDER BY bm25(sections, 4.0, 1.0, 2.0) LIMIT ?
"""
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Section:
    """The text under one heading.

    Attributes:
        heading: The headings it stands under, from the outermost, joined by ` > `; empty before the first.
        start: Its first line, from 1.
        stop: Its last line.
        score: BM25, the higher the better.
    """

    path: str
    start: int
    stop: int
    heading: str
    text: str
    score: float


class Sections:
    """The sections of the documents of one workspace.

    Args:
        workspace: Where they lie.
        cache_dir: Where the index is kept between runs; None keeps it in memory.
    """

    def __init__(self, workspace: Workspace, *, cache_dir: Path | None = None) -> None:
        self._workspace = workspace
        tree = blake2b(repr(workspace).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        self._path = None if cache_dir is None else cache_dir / f"sections-{_FORM}-{tree}.sqlite3"
        self._memory: sqlite3.Connection | None = None

    def search(self, words: Iterable[str], entries: Sequence[FileEntry], *, limit: int) -> list[Section]:
        """The best sections of the documents among `entries` for any of `words`, best first."""
        query = " OR ".join(f'"{word}"' for word in dict.fromkeys(one for text in words for one in _WORD.findall(text)))
        documents = {entry.path: entry for entry in entries if kind_of(entry.path) == "docs" and entry.size <= _LARGEST}
        if not query or not documents:
            return []
        try:
            with closing(self._open()) as database:
                return self._found(database, documents, query, limit)
        except (OSError, sqlite3.Error):  # damaged, not to be written, or another process holds on to it
            with closing(_made(":memory:")) as database:
                return self._found(database, documents, query, limit)

    def _found(
        self, database: sqlite3.Connection, documents: dict[str, FileEntry], query: str, limit: int
    ) -> list[Section]:
        with database:
            self._refresh(database, documents)
        rows = database.execute(_SEARCH, (query, limit))
        return [Section(path, start, stop, heading, body, score) for path, start, stop, heading, body, score in rows]

    def _open(self) -> sqlite3.Connection:
        if self._path is None:
            return _made(":memory:")
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL, 0o600))
        return _made(self._path)

    def _refresh(self, database: sqlite3.Connection, documents: dict[str, FileEntry]) -> None:
        """Take in what is new or has changed; forget what is gone."""
        known = dict(database.execute("SELECT path, state FROM files"))
        states = {path: f"{entry.size} {entry.mtime_ns}" for path, entry in documents.items()}
        gone = [(path,) for path, state in known.items() if states.get(path) != state]
        database.executemany("DELETE FROM sections WHERE path = ?", gone)
        database.executemany("DELETE FROM files WHERE path = ?", gone)
        for path, state in states.items():
            if known.get(path) != state:
                rows = [(one.heading, one.text, path, path, one.start, one.stop) for one in self._cut(path)]
                database.executemany("INSERT INTO sections VALUES (?, ?, ?, ?, ?, ?)", rows)
                database.execute("INSERT INTO files VALUES (?, ?)", (path, state))

    def _cut(self, path: str) -> Iterator[Section]:
        """The sections of one document, in order; none of one that cannot be read."""
        try:
            lines = self._workspace.read_text(path).replace("\r\n", "\n").split("\n")
        except RetinueError:
            return
        for heading, blocks in groupby(cut(path, "docs", lines), key=lambda block: block.title):
            first, *rest = blocks
            stop = rest[-1].end if rest else first.end
            yield Section(path, first.start, stop, heading, "\n".join(lines[first.start - 1 : stop]), 0.0)


def _made(path: Path | str) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=_BUSY_S)
    database.executescript(_TABLES)
    return database
