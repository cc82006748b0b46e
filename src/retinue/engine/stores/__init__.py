"""Databases that a journal can be kept in."""

from pathlib import Path

from retinue.engine.store import Store
from retinue.engine.stores.sqlite import SqliteStore
from retinue.errors import InvalidInput, NotInstalled


def store_at(place: Path | str) -> Store:
    """The store at `place`: a file of SQLite, or the URL of a PostgreSQL database.

    Raises:
        InvalidInput: The URL cannot be read, or is that of another kind of database.
        NotInstalled: psycopg is not installed.
    """
    if isinstance(place, Path) or "://" not in place:
        return SqliteStore(Path(place))
    if (scheme := place.partition("://")[0]) not in {"postgresql", "postgres"}:
        raise InvalidInput(
            f"No history can be kept at `{scheme[:40]}://`.", hint="Give a file, or `postgresql://USER@HOST/DATABASE`."
        )
    try:
        from retinue.engine.stores.postgres import PostgresStore  # noqa: PLC0415 - optional
    except ImportError as error:
        raise NotInstalled(
            "The package `psycopg` is not installed, and PostgreSQL is used through it.",
            hint="install `retinue[postgres]`",
        ) from error
    return PostgresStore(place)
