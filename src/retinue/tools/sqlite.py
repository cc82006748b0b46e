"""What every SQLite file here needs: WAL, though other processes open the new file at the same moment."""

import sqlite3
from time import monotonic, sleep
from typing import Final

_BUSY_S: Final = 10.0
_RETRY_S: Final = 0.01


def use_wal(connection: sqlite3.Connection) -> None:
    """Change to WAL, waiting for others who open a new file at the same moment."""
    # SQLite does not wait by itself here: a change of the journal's mode fails at once when somebody else is at it.
    deadline = monotonic() + _BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() >= deadline:
                raise
            sleep(_RETRY_S)
        else:
            return
