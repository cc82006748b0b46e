"""A text as a table of its numbered lines, from which JSON lines and logs are read; and what any reader hands back."""

# ruff: noqa: S608
# SQL is put together here from our own words, from names that `identifier` quotes and values that `literal` quotes

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from retinue.tools.data.connection import Connection
from retinue.tools.data.names import identifier
from retinue.tools.data.records import SkippedLine
from retinue.tools.data.text import Text

__all__ = ["BLANK", "SKIPPED_SHOWN", "Loaded", "clipped", "skipped_lines", "table_of_lines"]

SKIPPED_SHOWN: Final = 20
_CLIPPED: Final = 200

BLANK: Final = r"(text < '!' AND regexp_full_match(text, '\s*'))"
"""The SQL of whether a line is empty or white space; nearly all lines are told by their first character."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the reader of one kind of file knows of it beside the table; see `Source`."""

    encoding: str
    notes: tuple[str, ...] = ()
    skipped: tuple[SkippedLine, ...] = ()
    skipped_total: int = 0


@contextmanager
def table_of_lines(connection: Connection, text: Text) -> Generator[str]:
    """A table, for now, of the `line` (from 1) and `text` (without its end) of each line; gives its SQL name."""
    name = identifier("lines of the file")
    connection.run(f"CREATE TABLE {name} (line BIGINT, text VARCHAR)")
    count = 0
    for piece in text.pieces():
        whole = piece.removesuffix("\n")
        connection.run(
            f"INSERT INTO {name} SELECT ? + row_number() OVER (), text"
            " FROM (SELECT unnest(string_split(?, chr(10))) AS text)",
            (count, whole),
        )
        count += whole.count("\n") + 1
    try:
        yield name
    finally:
        connection.run(f"DROP TABLE IF EXISTS {name}")


def skipped_lines(
    connection: Connection, table: str, *, where: str, reason: str
) -> tuple[tuple[SkippedLine, ...], int]:
    """The first lines of a table of lines that meet a condition in SQL, and how many do."""
    (total,) = connection.one(f"SELECT count(*) FROM {table} WHERE {where}")
    found = (
        connection.run(
            f"SELECT line, left(text, {_CLIPPED + 1}) FROM {table} WHERE {where} ORDER BY line LIMIT {SKIPPED_SHOWN}"
        )
        if total
        else []
    )
    return tuple(SkippedLine(line, reason, clipped(text)) for line, text in found), total


def clipped(text: str) -> str:
    """`text`, or its first 200 characters."""
    return text if len(text) <= _CLIPPED else text[: _CLIPPED - 1] + "…"
