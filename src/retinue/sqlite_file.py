"""SQLite files that several processes use: made for their owner alone, and what their errors mean."""

import os
import sqlite3
from contextlib import suppress
from errno import EDQUOT, ELOOP, ENOSPC
from pathlib import Path
from time import monotonic, sleep
from typing import Final

from retinue.errors import AccessDenied, InternalError, ParseError, RetinueError, Unavailable

BUSY_S: Final = 10.0
"""Seconds to wait for other processes that write."""


def create_private_file(path: Path, *, flags: int = 0) -> None:
    """Make the file at `path` and its folder if they are missing, readable by their owner only.

    Args:
        path: The file.
        flags: Further flags to open it with, such as `os.O_NOFOLLOW`.

    Raises:
        OSError: The system refuses.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | flags, 0o600))
        return
    # A file that is there is not opened: closing it would drop the locks that a connection of this process has on it.
    # Another process would then take it for unused, and delete the log in which this one goes on to write.
    if flags & os.O_NOFOLLOW and path.is_symlink():
        raise OSError(ELOOP, os.strerror(ELOOP), str(path))
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)


def use_wal(connection: sqlite3.Connection) -> None:
    """Change to WAL, waiting for other processes that open a new file at the same moment."""
    # SQLite does not wait by itself here: a change of the journal's mode fails at once when another process makes it.
    deadline = monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() >= deadline:
                raise
            sleep(0.01)
        else:
            return


def format_of(connection: sqlite3.Connection, path: Path, *, newest: int, content: str) -> int:
    """The format of a file, as its `user_version` says it; 0 for a new one.

    Raises:
        Unavailable: A newer version of this program wrote it.
    """
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > newest:
        raise Unavailable(
            f"The {content} in `{path}` was written by a newer version (format {version}, known up to {newest}).",
            hint="Update this program.",
            path=str(path),
        )
    return version


def damaged_error(path: Path, why: str, *, content: str, repair: str) -> ParseError:
    """The error for a file at `path` that is not a `content`, or no longer one; `repair` says what to do."""
    return ParseError(f"`{path}` is not a {content} that can be read: {why}.", hint=repair, path=str(path))


def database_error(path: Path, error: sqlite3.Error | OSError, *, content: str, repair: str) -> RetinueError:
    """What `error`, met with the file at `path`, means for a person.

    Args:
        path: The file.
        error: What SQLite or the system raised.
        content: What the file holds: `history`, `memory`.
        repair: What to do with a damaged one.
    """
    place, subject = str(path), f"The {content} in `{path}`"
    # The low byte is the primary code; SQLite puts the finer cause above it.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return damaged_error(path, str(error), content=content, repair=repair)
    is_refused = code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN}
    is_refused |= isinstance(error, OSError)
    disk = 0
    with suppress(OSError):
        disk = os.statvfs(next(each for each in (path.absolute(), *path.absolute().parents) if each.exists())).f_flag
    if (is_refused or code == sqlite3.SQLITE_IOERR) and disk & os.ST_RDONLY:
        hint = "Mount the disk so that it can be written, or keep it elsewhere."
        return AccessDenied(f"{subject} is on a disk that is read-only.", hint=hint, path=place)
    if code in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR} or getattr(error, "errno", 0) in {ENOSPC, EDQUOT}:
        hint = "Free space on the disk, or in your quota."
        return Unavailable(f"{subject} has no room: {error}.", hint=hint, path=place)
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        hint = "Wait for that program to end, then try again."
        return Unavailable(f"{subject} is locked by another program.", hint=hint, path=place)
    if is_refused:
        hint = "Check that you own the file and its folder, and can write to them."
        reason = getattr(error, "strerror", None) or error
        return AccessDenied(f"{subject} cannot be opened or written: {reason}.", hint=hint, path=place)
    return InternalError(f"{subject} failed: {error}.", path=place)
