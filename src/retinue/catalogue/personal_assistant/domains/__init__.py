"""The domains that come with the assistant, as extensions, and the file in which they keep what a person told them.

Each is one file, found like any other extension. What they keep is in SQLite, readable by its owner only. Which file
that is, is settled by the call that is being made: a tool is a plain function, and takes no file.
"""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final

from retinue.errors import Unavailable
from retinue.sqlite_file import create_private_file, use_wal

_FILE: ContextVar[Path | None] = ContextVar("assistant_store", default=None)
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS tasks (
    id INTEGER PRIMARY KEY, title TEXT NOT NULL, due TEXT, done INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL, day TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS workouts (
    id INTEGER PRIMARY KEY, exercise TEXT NOT NULL, sets INTEGER, repetitions INTEGER, minutes INTEGER,
    day TEXT NOT NULL
);
CREATE VIRTUAL TABLE IF NOT EXISTS notes_words USING fts5(text, content='notes', content_rowid='id');
CREATE TRIGGER IF NOT EXISTS notes_written AFTER INSERT ON notes BEGIN
    INSERT INTO notes_words (rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER IF NOT EXISTS notes_deleted AFTER DELETE ON notes BEGIN
    INSERT INTO notes_words (notes_words, rowid, text) VALUES ('delete', old.id, old.text);
END;
"""


@contextmanager
def use_store(file: Path) -> Generator[None]:
    """Within this, `query` asks `file`."""
    token = _FILE.set(file)
    try:
        yield
    finally:
        _FILE.reset(token)


def query(sql: str, *values: object) -> list[Any]:
    """The rows that one statement gives in the store of this call; what it changes is kept unless it fails.

    Raises:
        Unavailable: There is no store, or it cannot be used.
    """
    file = _FILE.get()
    if file is None:
        raise Unavailable("The assistant has no file to keep things in.", hint="Ask it through `personal_assistant`.")
    try:
        create_private_file(file)
        with closing(sqlite3.connect(file, timeout=10.0)) as connection, connection:
            use_wal(connection)
            connection.executescript(_SCHEMA)
            return connection.execute(sql, values).fetchall()
    except (OSError, sqlite3.Error) as error:
        hint = "Check its folder and its mode, or move it away: a new one is made."
        raise Unavailable(f"{str(file)!r} cannot be used: {error}.", hint=hint) from error
