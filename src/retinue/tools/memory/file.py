"""The SQLite file of one scope: where it is, how it is opened, and its failures as our errors.

Readable by its owner only. WAL, so any number of processes read while one writes; what is deleted is overwritten.
"""

import os
import secrets
import sqlite3
from errno import EDQUOT, ENOSPC
from hashlib import blake2b
from pathlib import Path
from typing import Final

from retinue.errors import AccessDenied, InternalError, ParseError, RetinueError, Unavailable
from retinue.tools.memory.entry import Scope
from retinue.tools.sqlite import use_wal

_FORMAT: Final = 1
_BUSY_S: Final = 10.0
# An id is never given twice: whoever forgets `m7` later must not hit another memory.
_SCHEMA: Final = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS memories (
    number INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB NOT NULL UNIQUE, text TEXT NOT NULL,
    at_ns INTEGER NOT NULL, said_by TEXT NOT NULL, run TEXT NOT NULL, origin TEXT NOT NULL
);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
    text, content='memories', content_rowid='number', tokenize='porter unicode61 remove_diacritics 2'
);
PRAGMA user_version = 1;
COMMIT;
"""


def memory_file(state: Path, scope: Scope, *, project: Path | None = None) -> Path:
    """The file of a scope.

    Args:
        state: The user's state directory.
        scope: Which memories.
        project: The folder, for `project`; known by its real path, so a link to it means the same memories.
    """
    folder = state / "memory"
    if scope == "global" or project is None:
        return folder / "global.sqlite3"
    real = os.fsencode(project.resolve())
    return folder / f"project-{blake2b(real, digest_size=16).hexdigest()}.sqlite3"


def open_file(path: Path) -> sqlite3.Connection:
    """Open the file at `path`, making it and its folder, readable by nobody else.

    Raises:
        OSError: The system refuses.
        sqlite3.Error: It is no database, or cannot be written.
        Unavailable: A newer version of this program wrote it.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if os.fstat(handle).st_mode & 0o077:
            os.fchmod(handle, 0o600)
    finally:
        os.close(handle)
    connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")  # a file that somebody else made can run nothing
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA synchronous = NORMAL")
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version > _FORMAT:
            raise Unavailable(
                f"The memory in `{path}` is of format {version}, and this version knows {_FORMAT}.",
                hint="Use the newer version of Retinue.",
                path=str(path),
            )
        if version < _FORMAT:
            use_wal(connection)
            connection.executescript(_SCHEMA)
    except BaseException:
        connection.close()
        raise
    return connection


def set_aside(path: Path) -> Path | None:
    """Move a file that cannot be read out of the way, so that a new one can begin; gives where it is now.

    Raises:
        OSError: The system refuses.
    """
    if not path.exists():
        return None
    mark = f"damaged-{secrets.token_hex(4)}"
    for ending in ("-wal", "-shm"):
        sidecar = path.with_name(path.name + ending)
        if sidecar.exists():
            sidecar.replace(path.with_name(f"{path.stem}.{mark}{path.suffix}{ending}"))
    return path.replace(path.with_name(f"{path.stem}.{mark}{path.suffix}"))


def damaged_file_error(path: Path, why: str) -> ParseError:
    """The error for a file at `path` that is no memory, or no longer one."""
    return ParseError(
        f"`{path}` is not a memory that can be read: {why}.",
        hint="`retinue memory set-aside` moves it away and begins a new one; nothing is deleted.",
        path=str(path),
    )


def memory_error(path: Path, error: sqlite3.Error | OSError) -> RetinueError:
    """What `error`, met with the file at `path`, means for a person."""
    place = str(path)
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    # What we ask never changes, so an error in it means that the tables are not ours.
    if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH}:
        return damaged_file_error(path, str(error))
    if code in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR} or getattr(error, "errno", 0) in {ENOSPC, EDQUOT}:
        return Unavailable(f"The memory in `{place}` has no room: {error}.", hint="Free space on the disk.", path=place)
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        hint = "Wait for that program to end, then try again."
        return Unavailable(f"The memory in `{place}` is locked by another program.", hint=hint, path=place)
    if code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN} or isinstance(error, OSError):
        hint = "Check that you own the file and its folder, and can write to them."
        return AccessDenied(f"The memory in `{place}` cannot be opened or written: {error}.", hint=hint, path=place)
    return InternalError(f"The memory in `{place}` failed: {error}.", path=place)
