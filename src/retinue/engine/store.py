"""The port between the journal and the database that keeps it.

A store runs SQL that SQLite and PostgreSQL both understand, with `?` for values. What only one of them says is inside
its own module in `stores`. One thread writes at a time; another may read meanwhile.

Who may write to a run is told by its epoch: whoever takes a run over raises it, and rows of an older one are refused.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from retinue.errors import Unavailable

T = TypeVar("T")

Row: TypeAlias = tuple[str, int, str, int, str, int, str]
"""Run, sequence, node, attempt, kind, nanoseconds since 1970, body as JSON text.

Events of a run count from 1. From -1 down stand the values that were given to its workflow.
"""

FORMAT: Final = 2
"""Of the tables. A file of an older format is brought to this one when it is opened to write."""

RUN_FORMAT: Final = 1
"""Of what is in a run's rows: only who knows it can go on with the run."""

TABLES: Final = (
    # What a run was started with stands last, so that a list need not read it.
    """CREATE TABLE IF NOT EXISTS runs (
        run TEXT PRIMARY KEY, reversed TEXT NOT NULL, parent TEXT, started_ns INTEGER NOT NULL,
        started_for TEXT NOT NULL, status TEXT NOT NULL, place TEXT NOT NULL, sent_ns INTEGER NOT NULL,
        owner TEXT NOT NULL, epoch INTEGER NOT NULL, attempts INTEGER NOT NULL, format INTEGER NOT NULL,
        resumed_after INTEGER NOT NULL, body TEXT NOT NULL, payload TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS events (
        run TEXT NOT NULL, sequence INTEGER NOT NULL, node TEXT NOT NULL, attempt INTEGER NOT NULL,
        kind TEXT NOT NULL, at_ns INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (run, sequence))""",
    """CREATE TABLE IF NOT EXISTS tags (
        run TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (run, name, value))""",
    """CREATE TABLE IF NOT EXISTS inbox (
        run TEXT NOT NULL, kind TEXT NOT NULL, question TEXT NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (run, kind, question))""",
    """CREATE TABLE IF NOT EXISTS texts (
        run TEXT NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (run, name))""",
    """CREATE TABLE IF NOT EXISTS ratings (
        run TEXT PRIMARY KEY, verdict TEXT NOT NULL, comment TEXT NOT NULL, at_ns INTEGER NOT NULL)""",
    # What statistics need of each result, so that they need not read the results themselves. `child` is what follows
    # the top-level run in the id of a child run.
    """CREATE TABLE IF NOT EXISTS facts (
        run TEXT NOT NULL, child TEXT NOT NULL, sequence INTEGER NOT NULL, node TEXT NOT NULL, kind TEXT NOT NULL,
        body TEXT NOT NULL, PRIMARY KEY (run, child, sequence))""",
    "CREATE TABLE IF NOT EXISTS rates (name TEXT PRIMARY KEY, used_until_ns INTEGER NOT NULL)",
    "CREATE INDEX IF NOT EXISTS runs_by_start ON runs (started_ns, run) WHERE parent IS NULL",
    "CREATE INDEX IF NOT EXISTS runs_by_person ON runs (started_for, started_ns, run) WHERE parent IS NULL",
    "CREATE INDEX IF NOT EXISTS runs_by_end ON runs (reversed)",
    "CREATE INDEX IF NOT EXISTS runs_by_parent ON runs (parent) WHERE parent IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS runs_to_do ON runs (status, started_ns) WHERE place <> '' AND status <> 'ended'",
    "CREATE INDEX IF NOT EXISTS tags_by_value ON tags (name, value)",
)
"""A run's `status` is `queued`, `working`, `input_required` (nobody works on it until it is answered) or `ended`.
`sent_ns` is when a broker was last told of it since it is in the queue.
`tags` are what runs are found by: their labels (`label:NAME`), the agents that they have called (`agent`), and the
machine that has the folder of a run from the queue (`host`)."""

NEWEST_TABLE: Final = "rates"
"""Of the present format. Where it is missing, some version made the tables that did not know it yet."""

_MOST_VALUES: Final = 49
"""In one statement; psycopg caches none with more than 50."""


class Cursor(Protocol):
    """What a query gives."""

    @property
    def rowcount(self) -> int:
        """How many rows it has changed."""
        ...

    def fetchone(self) -> Any:
        """The next row; None after the last."""
        ...

    def fetchall(self) -> list[Any]:
        """All further rows."""
        ...

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """One connection to the database, within a transaction or to read."""

    def execute(self, query: str, values: Any = (), /) -> Cursor:
        """Run one statement."""
        ...


def insert_rows(connection: Connection, table: str, rows: Sequence[Sequence[object]]) -> int:
    """Insert whole rows, but for those whose keys are there already; says how many it has inserted."""
    count, columns = 0, len(rows[0]) if rows else 1
    size = _MOST_VALUES // columns
    for first in range(0, len(rows), size):
        part = rows[first : first + size]
        values = [value for row in part for value in row]
        count += connection.execute(_insertion(table, columns, len(part)), values).rowcount
    return count


@lru_cache
def _insertion(table: str, columns: int, rows: int) -> str:
    row = f"({', '.join('?' * columns)})"
    return f"INSERT INTO {table} VALUES {', '.join([row] * rows)} ON CONFLICT DO NOTHING"  # noqa: S608 - ours


class Store(Protocol):
    """A database that keeps the tables above.

    Attributes:
        place: Its path or its URL without a password, to name it in an error.
        locks_row: What follows a SELECT to hold its rows until the end of the transaction.
        in_list: What follows a column that has to be in a list, which is one value: its JSON.
        clock: What a SELECT gives as nanoseconds since 1970, by the one clock of all who use the database.
        host: The name of this machine, where several may use the database; otherwise "".
        watch_s: How often who watches it asks whether it has changed.
    """

    place: str
    locks_row: str
    in_list: str
    clock: str
    host: str
    watch_s: float

    def exists(self) -> bool:
        """Whether there is anything to read: a file that is not there yet is not made by a question."""
        ...

    def transact(self, work: Callable[[Connection], T]) -> T:
        """Do `work` in one transaction. The tables are made first if they are missing.

        Raises:
            StoreLost: The database has been away for some seconds. Rows may be given again: they are recorded once.
            RetinueError: The database cannot be written; or `work` raised it.
        """
        ...

    def read(self, work: Callable[[Connection], T]) -> T:
        """Do `work`, which only reads.

        Raises:
            RetinueError: The database cannot be read; or `work` raised it.
        """
        ...

    def format(self) -> int:
        """The format of its tables, as they are now; 0 when there are none.

        Raises:
            RetinueError: The database cannot be read, or is of a newer format.
        """
        ...

    def damage(self, connection: Connection) -> Sequence[str]:
        """What the database itself finds wrong with its tables and indexes."""
        ...

    def shrink(self, connection: Connection) -> None:
        """Give back the space of deleted rows, within the transaction that deletes them."""
        ...

    def has_changed(self) -> bool:
        """Whether another process may have written since this was last asked. Asked by the thread that writes."""
        ...

    def owner(self) -> str:
        """A name for this process that counts as alive until `close` or its end; "" when none can be had."""
        ...

    def is_alive(self, owner: str, connection: Connection, /) -> bool:
        """Whether the process of that name lives, as `connection`, the one in use, may tell."""
        ...

    def is_gone(self, owner: str, connection: Connection, /) -> bool:
        """Whether it is dead, and has not only lost its connection for a moment: it may have to be asked for twice."""
        ...

    def has_left(self, owner: str, /) -> bool:
        """Whether that process, which does not live, has not died but ended by `close`, as far as anything tells."""
        ...

    def stopped_pid(self, owner: str, /) -> int | None:
        """The id of that process, which lives, when it is stopped; None when it is not, or nothing tells."""
        ...

    def close(self) -> None:
        """Close everything, and be no longer alive. Using it again opens it again."""
        ...


class RunTakenOver(Unavailable):
    """Another process works on the run by now, so this one may record nothing more of it."""


class StoreLost(Unavailable):
    """A database that has been there is away, perhaps for a moment: what it did not take can be given to it again."""
