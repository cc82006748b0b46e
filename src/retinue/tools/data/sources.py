"""What a data file turned out to hold, the rows of an answer, and names. Nothing here reads anything.

Names say which files are data, by their suffix; in SQL each stands so that it is a name and nothing else.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from retinue.contract.table import Cell
from retinue.errors import InvalidInput

Kind: TypeAlias = Literal["csv", "json", "jsonl", "parquet", "log"]
"""How a file is read. Tab- and semicolon-separated files are `csv` too."""

FieldType: TypeAlias = Literal["text", "integer", "number", "boolean", "date", "time", "timestamp", "list", "other"]
"""What can be done with the values of a field: `integer` and `number` can be summed, the three times put in order."""


@dataclass(frozen=True, slots=True)
class DataField:
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
class DataSource:
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
    fields: tuple[DataField, ...]
    rows: int
    bytes: int
    encoding: str
    skipped: tuple[SkippedLine, ...] = ()
    skipped_total: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryRows:
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


_KINDS: Final[dict[str, Kind]] = {
    ".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet",
    ".log": "log",
}  # fmt: skip
_PACKED: Final = ".gz"

DATA_SUFFIXES: Final = (*_KINDS, *(suffix + _PACKED for suffix in _KINDS if suffix != ".parquet"))
"""The endings of the files that `Data.open` takes, in small letters."""

_LONGEST_NAME = 63
_ROTATED = re.compile(r"\.log[.-][0-9][0-9-]*(\.gz)?$")


def kind_of(path: str) -> Kind | None:
    """How the file would be read, by its name alone; None for other files. A rotated log (`x.log.1`) is one."""
    name = path.rpartition("/")[2].lower()
    if _ROTATED.search(name):
        return "log"
    suffix = next((suffix for suffix in DATA_SUFFIXES if name.endswith(suffix)), None)
    return None if suffix is None else _KINDS[suffix.removesuffix(_PACKED)]


def is_packed(path: str) -> bool:
    """Whether the file is compressed with gzip, by its name alone."""
    return path.lower().endswith(_PACKED)


def identifier(name: str) -> str:
    """`name` as one quoted SQL name, whatever it holds.

    Raises:
        InvalidInput: It is empty or holds a NUL, which no SQL name can.
    """
    if not name or "\0" in name:
        raise InvalidInput(f"{name!r} cannot be a name in SQL", hint="name a column or table that the file has")
    return '"' + name.replace('"', '""') + '"'


def table_name(path: str, *, used_names: Collection[str]) -> str:
    """A name for the table of `path`, from the file's name in small letters, that is not in `used_names`."""
    stem = path.rpartition("/")[2].lstrip(".").partition(".")[0].lower()
    base = re.sub(r"\W+", "_", stem).strip("_")[:_LONGEST_NAME] or "data"
    if base[0].isdigit():
        base = f"t_{base}"
    name, count = base, 1
    while name in used_names:
        count += 1
        name = f"{base}_{count}"
    return name
