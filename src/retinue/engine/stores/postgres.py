"""A journal in a PostgreSQL database, with one connection to write and one to read.

The owner of runs holds an advisory lock on its writing connection; the server releases it when the process dies. A
lost connection is made again, and what was under way is done again, unless the server says that it was committed.
"""

import os
import platform
import secrets
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from time import monotonic, sleep
from typing import Any, Final, TypeVar
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from retinue.engine.journal_reader import storable
from retinue.engine.store import FORMAT, NEWEST_TABLE, TABLES, Connection, Cursor, StoreLost
from retinue.errors import AccessDenied, InternalError, InvalidInput, RetinueError, Unavailable

T = TypeVar("T")

_PATIENCE_S: Final = 10.0
"""How long one transaction or question waits for a database that is away."""

_GRACE_S: Final = 5.0
"""How long after its start, or after a connection was lost, no owner is taken for dead: all have to connect again."""

_AWAY_S: Final = 0.9
"""How long an owner may be without a connection until others go on with its runs; it connects again much sooner."""

_SCHEMA: Final = "retinue"
"""Where the tables are, unless the URL sets a `search_path`; also the name of the channel that tells of changes."""

_MAKING: Final = int.from_bytes(b"retinue")
"""The lock of whoever makes the tables."""

_WHICH_SERVER: Final = "SELECT concat(pg_postmaster_start_time(), ' ', stats_reset) FROM pg_stat_bgwriter"
"""Another text after each start and each crash of the server, which resets its statistics."""

_LEAVE: Final = (
    "UPDATE runs SET attempts = attempts - 1"
    " WHERE place <> '' AND status <> 'ended' AND status = 'working' AND owner = %s"
)
"""Who ends so has not died at its runs."""

_DENIALS: Final = ("authentication failed", "no password", "pg_hba.conf", 'role "', "not permitted")
"""What the server, or libpq, says when it is not the address that is wrong."""

_DEFAULTS: Final = {
    "application_name": "retinue",
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 3,
    "keepalives_count": 3,
}


class PostgresStore:
    """See `Store`.

    Args:
        url: `postgresql://user:password@host:port/database`, with any of libpq's parameters. A pool of connections
            between must be one of sessions: who is alive is told by a lock of the session.

    Raises:
        InvalidInput: It cannot be read. No message shows what stands in it but user, host, port and database.
    """

    locks_row = " FOR NO KEY UPDATE"
    in_list = "= ANY(ARRAY(SELECT json_array_elements_text(?::json)))"
    clock = "CAST(extract(epoch FROM clock_timestamp()) * 1000000000 AS bigint)"
    host = platform.node()
    watch_s = 0.02  # nothing is sent for that: a notice has come, or it has not

    def __init__(self, url: str) -> None:
        facts: dict[str, Any] = {}
        with suppress(psycopg.Error):
            facts = conninfo_to_dict(url)
        user, host, port, name = (str(facts.get(key) or "") for key in ("user", "host", "port", "dbname"))
        # An unescaped sign in a password makes its rest a host, a port or a database.
        if not facts or "@" in f"{host}{port}{name}" or not (port.replace(",", "") or "0").isdigit():
            raise InvalidInput("The URL of the PostgreSQL database cannot be read.", hint=_URL_HINT)
        server = f"{quote(user)}{'@' * bool(user)}{quote(host, safe=',[]:')}{':' * bool(port)}{port}"
        self.place = f"postgresql://{server}/{quote(name)}"
        self._options: dict[str, Any] = {**_DEFAULTS, **facts, "client_encoding": "utf8"}
        # A process that is stopped in the middle of a transaction keeps nobody waiting for ever.
        self._setup = f"SET idle_in_transaction_session_timeout = '{_PATIENCE_S:g}s'"
        if "search_path" not in str(facts.get("options")):
            self._setup += f"; SET search_path = {_SCHEMA}"
        self._writing: psycopg.Connection | None = None
        self._reading: psycopg.Connection | None = None
        self._owner, self._server = _new_owner(), ""
        self._has_tables = self._was_there = False
        self._lost_s = self._looked_s = float("-inf")
        self._missed_s: dict[str, float] = {}

    def exists(self) -> bool:
        """See `Store`."""
        if not self._has_tables:
            self._has_tables = self._persist(lambda: self._format_of(self._open_to_read()) > 0)
        return self._has_tables

    def transact(self, work: Callable[[Connection], T]) -> T:
        """See `Store`. `work` is done again after a lost connection, and when transactions were in each other's way."""
        in_doubt: list[tuple[str, str, T]] = []

        def act() -> T:
            connection = self._open_to_write()
            if in_doubt:
                server, transaction, value = doubt = in_doubt.pop()
                query = "SELECT pg_xact_status(%s::text::xid8)"
                if server != self._server:  # after a crash, ids of transactions are given a second time
                    (status,) = ("unknown",)
                else:
                    (status,) = connection.execute(query, (transaction,)).fetchone() or ("unknown",)
                if status == "committed":
                    return value
                if status == "in progress":
                    in_doubt.append(doubt)
                    raise self._lost_error()
            cursor = connection.execute("BEGIN; SELECT pg_current_xact_id()::text")
            try:
                cursor.nextset()
                (transaction,) = cursor.fetchone() or ("",)
                value = work(PostgresConnection(connection))
                in_doubt.append((self._server, transaction, value))
                # Told after it: who has told something holds a lock of all to the end of its transaction, so that two
                # could never be synced to the disk together.
                connection.execute(f"COMMIT; NOTIFY {_SCHEMA}")
            except BaseException:
                with suppress(psycopg.Error):
                    connection.execute("ROLLBACK")
                raise
            return value

        return self._persist(act)

    def read(self, work: Callable[[Connection], T]) -> T:
        """See `Store`."""
        return self._persist(lambda: work(PostgresConnection(self._open_to_read())))

    def format(self) -> int:
        """See `Store`."""
        return self._persist(lambda: self._format_of(self._open_to_read()))

    def damage(self, connection: Connection) -> Sequence[str]:  # noqa: ARG002 - the port gives it
        """See `Store`. The server checks what it reads."""
        return []

    def shrink(self, connection: Connection) -> None:
        """See `Store`. The server's autovacuum does so."""

    def has_changed(self) -> bool:
        """See `Store`. Once a second it says so anyway."""
        connection = self._writing
        is_connected = connection is not None and not connection.closed
        is_due = monotonic() - self._looked_s > (1 if is_connected else 0.2)
        try:
            if connection is None or not is_connected:
                if not is_due:
                    return False
                connection = self._open_to_write()
            notices = list(connection.notifies(timeout=0))
        except psycopg.Error as error:
            raise self._failure(error) from None
        finally:
            self._looked_s = monotonic() if is_due else self._looked_s
        return is_due or any(notice.pid != connection.info.backend_pid for notice in notices)

    def owner(self) -> str:
        """See `Store`. Its lock is taken with the connection that writes: before any row can name it."""
        return self._owner

    def is_alive(self, owner: str, connection: Connection, /) -> bool:
        """See `Store`."""
        if not owner or owner == self._owner:
            return bool(owner)
        high, low = divmod(_lock_of(owner) % 2**64, 2**32)
        query = """
            SELECT greatest(pg_postmaster_start_time(), (SELECT stats_reset FROM pg_stat_bgwriter))
                > clock_timestamp() - make_interval(secs => ?) OR EXISTS (
                SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted
                AND classid::bigint = ? AND objid::bigint = ?
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))"""
        (is_alive,) = connection.execute(query, (_GRACE_S, high, low)).fetchone()
        return is_alive or monotonic() - self._lost_s < _GRACE_S

    def is_gone(self, owner: str, connection: Connection, /) -> bool:
        """See `Store`."""
        if self.is_alive(owner, connection):
            self._missed_s.pop(owner, None)
            return False
        return monotonic() - self._missed_s.setdefault(owner, monotonic()) > _AWAY_S

    def has_left(self, _owner: str, /) -> bool:
        """See `Store`. The rows of its runs say so instead."""
        return False

    def stopped_pid(self, _owner: str, /) -> int | None:
        """See `Store`. It may be on another machine."""
        return None

    def close(self) -> None:
        """See `Store`."""
        if self._writing is not None:
            with suppress(psycopg.Error):
                self._writing.execute(_LEAVE, (self._owner,))
        for connection in (self._writing, self._reading):
            if connection is not None:
                connection.close()
        self._writing = self._reading = None
        self._owner = _new_owner()

    # Connections

    def _open_to_read(self) -> psycopg.Connection:
        if self._reading is None or self._reading.closed:
            self._reading = self._connect()
        return self._reading

    def _open_to_write(self) -> psycopg.Connection:
        if self._writing is None or self._writing.closed:
            self._writing = self._connect(writes=True)
            self._has_tables = True
        return self._writing

    def _connect(self, *, writes: bool = False) -> psycopg.Connection:
        place = f"The PostgreSQL server of `{self.place}`"
        failure: RetinueError  # raised outside of `except`: the words of psycopg may hold what somebody mistyped
        try:
            connection = psycopg.connect(autocommit=True, **self._options)
        except psycopg.OperationalError as error:
            words = str(error)
            if any(each in words for each in _DENIALS):
                hint = "Check user and password in its URL, or in ~/.pgpass, and what pg_hba.conf says of them."
                failure = AccessDenied(f"{place} does not let us in.", hint=hint, path=self.place)
            elif 'database "' in words and "does not exist" in words:
                hint = "Create it (`createdb`), or name another one."
                failure = Unavailable(f"{place} has no such database.", hint=hint, path=self.place)
            elif self._was_there:
                self._lost_s = monotonic()  # others may not be back either when it is
                failure = self._lost_error()
            else:
                hint = "Check host and port in its URL, and that it runs and takes connections."
                failure = Unavailable(f"{place} cannot be reached.", hint=hint, path=self.place)
        except psycopg.Error:
            failure = InvalidInput(f"`{self.place}` has a parameter that PostgreSQL does not know.", hint=_URL_HINT)
        else:
            self._was_there = True
            try:
                connection.execute(self._setup.encode())
                has_all = connection.execute("SELECT to_regclass(%s)", (NEWEST_TABLE,)).fetchone() != (None,)
                if (self._format_of(connection) < FORMAT or not has_all) and writes:
                    _make_tables(connection)
                if writes:
                    # Shared: the server may not have noticed yet that an earlier connection of this process is gone.
                    connection.execute("SELECT pg_advisory_lock_shared(%s)", (_lock_of(self._owner),))
                    connection.execute(f"LISTEN {_SCHEMA}")
                    (self._server,) = connection.execute(_WHICH_SERVER).fetchone() or ("",)
            except BaseException:
                connection.close()
                raise
            return connection
        raise failure

    def _format_of(self, connection: psycopg.Connection) -> int:
        """The format of the tables; 0 when there are none."""
        if connection.execute("SELECT to_regclass('format')").fetchone() == (None,):
            return 0
        (version,) = connection.execute("SELECT max(format) FROM format").fetchone() or (0,)
        if version > FORMAT:
            raise Unavailable(
                f"The history in `{self.place}` was written by a newer version (format {version},"
                f" known up to {FORMAT}).",
                hint="Update this program.",
                path=self.place,
            )
        return version

    # Failures

    def _persist(self, act: Callable[[], T]) -> T:
        """Do `act` again, with growing pauses, while a database that has been there is away."""
        deadline_s, pause_s = monotonic() + _PATIENCE_S, 0.02
        while True:
            try:
                return act()
            except StoreLost as error:
                failure = error
            except psycopg.Error as error:
                failure = self._failure(error)
            if not isinstance(failure, StoreLost) or monotonic() > deadline_s:
                raise failure
            sleep(pause_s)
            pause_s = min(2 * pause_s, 0.5)

    def _failure(self, error: psycopg.Error) -> RetinueError:
        """What `error`, met on one of the connections, means for a person."""
        state, reason = error.sqlstate or "", error.diag.message_primary or type(error).__name__
        subject = f"The history in `{self.place}`"
        if state[:3] in {"57P", "25P", "080"} or (isinstance(error, psycopg.OperationalError) and not state):
            self._lost_s = monotonic()
            return self._lost_error()
        if state.startswith("40"):  # transactions were in each other's way
            return self._lost_error()
        if state == "42501":
            hint = "Let the user of its URL create and change tables there."
            return AccessDenied(f"{subject} may not be read or written: {reason}.", hint=hint, path=self.place)
        if state == "25006":
            hint = "Name the server that takes changes: `target_session_attrs=read-write` finds it among several."
            return Unavailable(f"{subject} can only be read.", hint=hint, path=self.place)
        if state.startswith("53"):
            return Unavailable(f"{subject} has no room: {reason}.", hint="Free space on its server.", path=self.place)
        return InternalError(f"{subject} failed: {reason}.", path=self.place)

    def _lost_error(self) -> StoreLost:
        return StoreLost(
            f"The PostgreSQL server of `{self.place}` is away.",
            hint="Wait until it is back, then try again; runs wait for it and go on.",
            path=self.place,
        )


class PostgresConnection:
    """A `Connection` over one of psycopg's."""

    __slots__ = ("_connection",)

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def execute(self, query: str, values: Any = (), /) -> Cursor:
        """See `Connection`."""
        return self._connection.execute(_translated(query), _storable(values))


@lru_cache(maxsize=512)
def _translated(query: str) -> bytes:
    return query.replace("%", "%%").replace("?", "%s").encode()


def _storable(values: Iterable[object]) -> list[object]:
    return [storable(value) if isinstance(value, str) else value for value in values]


def _make_tables(connection: psycopg.Connection) -> None:
    """Make the tables, or find that another process has just done so."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MAKING,))
        if connection.execute("SELECT current_schema()").fetchone() == (None,):
            path = "trim(split_part(current_setting('search_path'), ',', 1), ' \"')"
            (schema,) = connection.execute(f"SELECT quote_ident({path})".encode()).fetchone() or (_SCHEMA,)
            connection.execute(f"CREATE SCHEMA {schema}".encode())
        for statement in TABLES:
            connection.execute(statement.replace("INTEGER", "BIGINT").replace("TEXT", 'TEXT COLLATE "C"').encode())
        connection.execute("CREATE TABLE IF NOT EXISTS format (format BIGINT PRIMARY KEY)")
        connection.execute("INSERT INTO format VALUES (%s) ON CONFLICT DO NOTHING", (FORMAT,))


def _new_owner() -> str:
    return f"{os.getpid()}-{secrets.token_hex(6)}"


def _lock_of(owner: str) -> int:
    return int.from_bytes(blake2b(owner.encode(errors="replace"), digest_size=8).digest(), signed=True)


_URL_HINT: Final = (
    "Write `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`; in user and password, `%40` is @, `%2F` is / and"
    " `%3A` is :."
)
