"""A journal in one SQLite file, and the locks that tell which of its owners are alive.

Each owner of runs holds a lock on a file of its own; the system releases it when the process dies, however it dies.
Process ids would not do: they are reused, and mean nothing in another container.
"""

import fcntl
import json
import os
import secrets
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from threading import Lock
from time import time
from typing import IO, Any, Final, TypeVar, cast

from retinue.contract.event import DelegationFinished, NodeFinished
from retinue.contract.result import Result
from retinue.engine.event_codec import decode
from retinue.engine.ids import CHILD
from retinue.engine.statistics import facts_row
from retinue.engine.store import FORMAT, NEWEST_TABLE, RUN_FORMAT, TABLES, Connection, insert_rows
from retinue.errors import ParseError, RetinueError, Unavailable
from retinue.sqlite_file import BUSY_S, create_private_file, database_error, format_of, use_wal

T = TypeVar("T")


class SqliteStore:
    """See `Store`.

    Args:
        path: The file; made, readable by its owner only, by the first transaction.
    """

    locks_row = ""  # a transaction that writes has the whole file
    in_list = "IN (SELECT value FROM json_each(?))"
    clock = "CAST((julianday('now') - 2440587.5) * 86400e9 AS INTEGER)"
    host = ""
    watch_s = 0.05

    def __init__(self, path: Path) -> None:
        self.place = str(path)
        self._path = path
        self._writing: sqlite3.Connection | None = None
        self._reading: sqlite3.Connection | None = None
        self._owner: Owner | None = None
        self._making = Lock()
        self._version = 0

    def exists(self) -> bool:
        """See `Store`."""
        return self._path.exists() and self._path.stat().st_size > 0

    def transact(self, work: Callable[[Connection], T]) -> T:
        """See `Store`."""
        try:
            if self._writing is None:
                self._writing = open_to_write(self._path)
            connection = self._writing
            connection.execute("BEGIN IMMEDIATE")
            try:
                value = work(connection)
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
        except (sqlite3.Error, OSError) as error:
            raise store_error(self._path, error) from error
        return value

    def read(self, work: Callable[[Connection], T]) -> T:
        """See `Store`."""
        try:
            try:
                if self._reading is None:
                    self._reading = open_to_read(self._path)
            except sqlite3.OperationalError as error:
                # On a disk that is full or read-only no files can be made by which readers and writers lock each other.
                code, log = getattr(error, "sqlite_errorcode", 0) & 0xFF, self._path.with_name(f"{self._path.name}-wal")
                is_whole = self._path.is_file() and not (log.exists() and log.stat().st_size)
                if code not in {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN} or not is_whole:
                    raise
                with closing(_connect(self._path, "ro&immutable=1")) as connection:  # this once: it would see no change
                    return work(connection)
            return work(self._reading)
        except (sqlite3.Error, OSError) as error:
            raise store_error(self._path, error) from error

    def format(self) -> int:
        """See `Store`."""
        if not self.exists():
            return 0
        try:
            with closing(_connect(self._path, "ro")) as connection:
                return format_of(connection, self._path, newest=FORMAT, content="history")
        except sqlite3.Error as error:
            raise store_error(self._path, error) from error

    def damage(self, connection: Connection) -> Sequence[str]:
        """See `Store`."""
        return [text for (text,) in connection.execute("PRAGMA integrity_check") if text != "ok"]

    def shrink(self, connection: Connection) -> None:
        """See `Store`."""
        (count,) = connection.execute("PRAGMA freelist_count").fetchone()
        for _ in range(count):  # the module of Python stops this pragma after its first page
            connection.execute("PRAGMA incremental_vacuum(1)")

    def has_changed(self) -> bool:
        """See `Store`."""
        try:
            if self._writing is None:
                if not self.exists():
                    return False
                self._writing = open_to_write(self._path)
            before, self._version = self._version, self._writing.execute("PRAGMA data_version").fetchone()[0]
        except (sqlite3.Error, OSError) as error:
            raise store_error(self._path, error) from error
        return before != self._version

    def owner(self) -> str:
        """See `Store`."""
        with self._making:  # several threads may ask at once
            if self._owner is None:
                # Without a lock file the run counts as stalled, which is the truth once the file system fails.
                with suppress(OSError):
                    self._owner = Owner(self._folder)
            return self._owner.name if self._owner else ""

    def is_alive(self, owner: str, _connection: Connection, /) -> bool:
        """See `Store`."""
        return is_alive(self._folder, owner)

    def is_gone(self, owner: str, _connection: Connection, /) -> bool:
        """See `Store`."""
        return not is_alive(self._folder, owner)

    def has_left(self, owner: str, /) -> bool:
        """See `Store`. Who dies leaves its lock file."""
        with suppress(OSError):  # a row may hold any name
            return not (self._folder / owner).exists()
        return False

    def stopped_pid(self, owner: str, /) -> int | None:
        """See `Store`. Linux tells it of processes that this one can see."""
        pid, lock = owner.partition("-")[0], self._folder / owner
        if not pid.isdecimal():
            return None
        with suppress(OSError):
            state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
            # The process of that id here may be another one, if the owner's is in another container.
            if state == b"T" and any(file.samefile(lock) for file in Path(f"/proc/{pid}/fd").iterdir()):
                return int(pid)
        return None

    def close(self) -> None:
        """See `Store`."""
        for connection in (self._writing, self._reading):
            if connection is not None:
                connection.close()
        self._writing = self._reading = None
        if self._owner is not None:
            self._owner.release()
            self._owner = None

    @property
    def _folder(self) -> Path:
        return self._path.with_name(self._path.name + ".owners")


def open_to_write(path: Path) -> sqlite3.Connection:
    """Open the file at `path`, making it and its folder, readable by its owner only.

    Raises:
        OSError: The system refuses.
        sqlite3.Error: It is no database, or cannot be written.
        Unavailable: A newer version of this program wrote it.
    """
    create_private_file(path)
    connection = _connect(path, "rw")
    try:
        # Both hold for a new file only. Results are 1 to 4 kB: in pages of 4 kB half of the space would be lost.
        connection.execute("PRAGMA page_size = 8192")
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        use_wal(connection)
        # Synced at each commit: what a caller was told outlives a power cut.
        connection.execute("PRAGMA synchronous = FULL")
        has_all = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (NEWEST_TABLE,)).fetchone()
        if format_of(connection, path, newest=FORMAT, content="history") < FORMAT or not has_all:
            _make_tables(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open the file at `path` to read from it. One of an older format is brought to the present one first.

    Raises:
        sqlite3.Error: It is no database, or cannot be read.
        Unavailable: A newer version of this program wrote it, or an older one, and it cannot be written.
    """
    can_write = os.access(path, os.W_OK)
    connection = _connect(path, "rw" if can_write else "ro")
    try:
        if format_of(connection, path, newest=FORMAT, content="history") < FORMAT:
            if not can_write:
                raise Unavailable(
                    f"The history in `{path}` is of an older format, and the file cannot be written.",
                    hint="Make it writable once: it is then brought to the present format.",
                    path=str(path),
                )
            use_wal(connection)
            _make_tables(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def store_error(path: Path, error: sqlite3.Error | OSError) -> RetinueError:
    """What `error`, met with the file at `path`, means for a person."""
    return database_error(path, error, content="history", repair=_REPAIR)


_REPAIR: Final = "Move the file away (and those beside it with `-wal` and `-shm`); a new one is created."


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_S,
        isolation_level=None,
        check_same_thread=False,
    )
    # What another program wrote into a row may not be UTF-8: it must fail as a row, not as the whole query.
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
    return connection


def _make_tables(connection: sqlite3.Connection) -> None:
    """Make the tables that are missing, from those of format 1 if the file has them."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == 1:
            connection.execute("ALTER TABLE events RENAME TO events_1")
        for statement in TABLES:
            is_small = any(f" {name} (" in statement for name in _SMALL)
            connection.execute(f"{statement} WITHOUT ROWID" if is_small else statement)
        if version == 1:
            _convert(connection)
        if version < FORMAT:
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    if version == 1:
        with suppress(sqlite3.Error):  # no space for a second copy, or somebody reads: then the file stays large
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("VACUUM")


_KEPT_S: Final = 7 * 86_400.0
"""How old the lock file of a dead owner becomes."""

_SMALL: Final = ("EXISTS facts", "EXISTS tags", "EXISTS rates")
"""Tables whose rows stand in the index of their key: a table beside it would hold all of that twice."""

_STARTS_1: Final = """
    SELECT start.run, start.at_ns, start.body, payload.body,
        (SELECT body FROM events_1 AS owner WHERE owner.run = start.run AND owner.kind = 'owner' AND owner.sequence < 0
            ORDER BY owner.sequence LIMIT 1),
        (SELECT max(sequence) FROM events_1 AS ending WHERE ending.run = start.run AND ending.kind = 'finished'
            AND ending.node = '')
    FROM events_1 AS start LEFT JOIN events_1 AS payload ON payload.run = start.run AND payload.sequence = -1000000
    WHERE start.sequence = 0"""
_RESULTS_1: Final = """
    SELECT result.run, result.sequence, result.node, result.kind, result.body
    FROM events_1 AS result JOIN events_1 AS start ON start.run = result.run AND start.sequence = 0
    WHERE result.sequence > 0 AND result.kind IN ('finished', 'delegated') AND result.at_ns >= start.at_ns"""
"""Without those that a fork has from another run."""
_EVENTS_1: Final = (
    "INSERT INTO events SELECT * FROM events_1 WHERE sequence > 0",
    """INSERT INTO events SELECT run, sequence + 1000000, node, attempt, kind, at_ns, body FROM events_1
        WHERE sequence < -1000000""",
    """INSERT OR IGNORE INTO tags SELECT run, 'agent', json_extract(body, '$.agent') FROM events_1
        WHERE kind = 'started' AND json_valid(body) AND json_extract(body, '$.agent') <> ''""",
    "DROP TABLE events_1",
)


def _convert(connection: sqlite3.Connection) -> None:
    """Fill the tables from that of format 1.

    There the row with sequence 0 said how a run was started, and those from -1 down who took it over; at -1000000
    stood what it was started with, and from there down the values that its workflow was given.
    """
    rows: list[Sequence[object]] = []
    labels: list[tuple[str, str, str]] = []
    for run, at_ns, body, payload, takeover, last in connection.execute(_STARTS_1):
        start, owner = _object(body), _object(takeover)
        after = owner.get("after", 0)
        status = "ended" if last is not None and last > after else "working"
        person, parent = start.get("for", ""), start.get("parent") if CHILD in run else None
        worker = owner.get("owner", start.get("owner", ""))
        begin = (run, run[::-1], parent, at_ns, person, status, "", 0, worker, 1, 1, RUN_FORMAT, after)
        rows.append((*begin, body, payload or ""))
        facts = cast("dict[str, object]", start.get("labels") or {})
        labels += [(run, f"label:{name}", str(value)) for name, value in facts.items()]
    insert_rows(connection, "runs", rows)
    insert_rows(connection, "tags", labels)
    insert_rows(connection, "facts", [_facts_row(*row) for row in connection.execute(_RESULTS_1)])
    for statement in _EVENTS_1:
        connection.execute(statement)


def _facts_row(run: str, sequence: int, node: str, kind: str, text: str) -> Sequence[object]:
    result: Result | None = None
    with suppress(ParseError, TypeError):
        body = decode(kind, text)
        result = body.result if isinstance(body, NodeFinished | DelegationFinished) else None
    return facts_row(run, sequence, node, kind, result)


def _object(text: object) -> dict[str, Any]:
    """The JSON object in `text`; an empty one where somebody has spoilt it: the row itself is kept, and tells."""
    with suppress(ValueError, TypeError, RecursionError):
        value = json.loads(cast("str", text))
        if isinstance(value, dict):
            return cast("dict[str, Any]", value)
    return {}


class Owner:
    """A name that is alive as long as this object is, or until `release`.

    Args:
        folder: Where the lock files lie; made when missing.

    Raises:
        OSError: The file cannot be made or locked.
    """

    __slots__ = ("_file", "_path", "name")

    def __init__(self, folder: Path) -> None:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        self.name = f"{os.getpid()}-{secrets.token_hex(6)}"
        self._path = folder / self.name
        # Locked under another name first, so that no process ever sees it free.
        making = folder / f".{self.name}"
        self._file: IO[bytes] = os.fdopen(os.open(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        making.rename(self._path)
        for path in folder.iterdir():  # that its owner died, and did not leave, need not be known for ever
            with suppress(OSError):
                if time() - path.stat().st_mtime > _KEPT_S and not is_alive(folder, path.name):
                    path.unlink()

    def release(self) -> None:
        """Be gone from now on."""
        with suppress(OSError):  # it may be read-only by now
            self._path.unlink(missing_ok=True)
        self._file.close()


def is_alive(folder: Path, name: str) -> bool:
    """Whether the owner called `name` still lives."""
    if not name or "/" in name or name.startswith("."):
        return False
    try:
        file = (folder / name).open("rb")
    except OSError:
        return False
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False
