"""What a data file turned out to hold, and the rows of an answer. Values only; nothing here reads anything."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from retinue.contract.table import Cell

__all__ = ["Field", "FieldType", "Kind", "Rows", "SkippedLine", "Source"]

Kind: TypeAlias = Literal["csv", "json", "jsonl", "parquet", "log"]
"""How a file is read. Tab- and semicolon-separated files are `csv` too."""

FieldType: TypeAlias = Literal["text", "integer", "number", "boolean", "date", "time", "timestamp", "list", "other"]
"""What can be done with the values of a field: `integer` and `number` can be summed, the three times put in order."""


@dataclass(frozen=True, slots=True)
class Field:
    """One column of a table: its name as the file has it, what it holds, and DuckDB's own word for that."""

    name: str
    type: FieldType
    sql_type: str


@dataclass(frozen=True, slots=True)
class SkippedLine:
    """A line that is not in the table: its number from 1, why, and its first 200 characters."""

    line: int
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Source:
    """A file, or a table of a database, that can be asked by `Data.query`.

    Attributes:
        path: The file or table, as it was named.
        table: Its SQL name, unquoted: write `identifier(source.table)` into a query.
        kind: How it was read; `table` for one of a database.
        fields: Its columns, in order.
        rows: How many rows there are.
        bytes: The size of the file, as it lies there (compressed, when it is); of a table, as text.
        encoding: How its text was read; empty for Parquet and tables.
        skipped: The first twenty lines that are not in the table.
        skipped_total: How many lines are not.
        notes: What a reader must know to trust an answer: one sentence each.
    """

    path: str
    table: str
    kind: Kind | Literal["table"]
    fields: tuple[Field, ...]
    rows: int
    bytes: int
    encoding: str
    skipped: tuple[SkippedLine, ...] = ()
    skipped_total: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rows:
    """An answer: values that JSON can say, in the order of the query.

    Attributes:
        columns: Their names, as the query gives them; they may repeat.
        rows: Dates and times as ISO 8601 texts, decimals as numbers, lists and structures as JSON texts.
        truncated: Whether there are more rows than the limit let through.
        sql: The statement, as it was run.
        notes: What the values do not show, such as that a NaN was left out.
    """

    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    truncated: bool
    sql: str
    notes: tuple[str, ...] = ()
