"""What people thought of past answers: a word and a comment for each run, in a table beside its events (P21)."""

import sqlite3
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast, get_args

__all__ = ["Rating", "Verdict", "forget_rating", "ratings_in", "write_rating"]

Verdict: TypeAlias = Literal["good", "bad"]


@dataclass(frozen=True, slots=True)
class Rating:
    """What somebody thought of an answer, and when, in nanoseconds since 1970 UTC."""

    verdict: Verdict
    comment: str = ""
    at_ns: int = 0


# Made when first needed and not by a new format of the file: a version that knows nothing of it can go on reading.
_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS ratings"
    " (run TEXT PRIMARY KEY, verdict TEXT NOT NULL, comment TEXT NOT NULL, at_ns INTEGER NOT NULL) WITHOUT ROWID"
)
_WRITE: Final = "INSERT OR REPLACE INTO ratings VALUES (?, ?, ?, ?)"
_READ: Final = "SELECT run, verdict, comment, at_ns FROM ratings"
_FORGET: Final = "DELETE FROM ratings WHERE run = ?"


def write_rating(connection: sqlite3.Connection, run: str, rating: Rating) -> None:
    """Keep `rating` for `run`, in place of an earlier one."""
    connection.execute(_TABLE)
    connection.execute(_WRITE, (run, rating.verdict, rating.comment, rating.at_ns))


def ratings_in(connection: sqlite3.Connection) -> dict[str, Rating]:
    """All ratings by their run; what somebody edited into nonsense is not there."""
    if not _is_there(connection):
        return {}
    return {
        run: Rating(cast("Verdict", verdict), comment, at_ns)
        for run, verdict, comment, at_ns in connection.execute(_READ)
        if verdict in get_args(Verdict) and isinstance(comment, str) and isinstance(at_ns, int)
    }


def forget_rating(connection: sqlite3.Connection, run: str) -> None:
    """Delete the rating of a run that is deleted itself."""
    if _is_there(connection):
        connection.execute(_FORGET, (run,))


def _is_there(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'ratings'").fetchone() is not None
