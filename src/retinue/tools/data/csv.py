"""Reads comma-, semicolon-, tab- and bar-separated files.

The separator and the header are found in the first 128 KiB. A row with more or fewer cells than the header is left out
and reported with its line, unless most rows are shorter: then their last cells are empty. Columns without a name, or
with one that is taken, get one, and that is noted.
"""

# ruff: noqa: S608
# SQL is put together here from our own words, from names that `identifier` quotes and values that `literal` quotes

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from retinue.errors import InvalidInput
from retinue.tools.data.connection import DuckdbConnection, literal
from retinue.tools.data.guess import TypeGuess, guess_type, notes_of, settle_types
from retinue.tools.data.snapshot import CHUNK, SKIPPED_SHOWN, LoadResult, SnapshotText, clip
from retinue.tools.data.sources import SkippedLine, identifier

# As many characters as a field of Python's reader may have, so that no head can be refused.
_HEAD: Final = 131_072
_SEPARATORS: Final = (",", ";", "\t", "|")
_SAMPLE_ROWS: Final = 2000
_SAMPLE_CELLS: Final = 200_000
_WIDEST: Final = 1000
_LONGEST_NAME: Final = 200
_LONGEST_LINE: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class CsvLayout:
    """How a file is laid out.

    Attributes:
        separator: What stands between two cells.
        names: One a column, all different as SQL compares them.
        rows: Some rows, each as wide as `names`.
        skip_rows: How many rows stand before the first row of data, blank ones and the header counted.
        notes: What was supplied that the file does not say.
        skipped: Lines before the header that are not part of the table.
        short_rows: What is done with rows of fewer cells than there are names.
    """

    separator: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    skip_rows: int
    notes: tuple[str, ...]
    skipped: tuple[SkippedLine, ...]
    short_rows: Literal["skipped", "filled"]


def load(connection: DuckdbConnection, text: SnapshotText, table: str, *, spare: Path) -> LoadResult:
    """Make the table `table` (quoted) of a separated file; `spare` may be written to.

    Raises:
        InvalidInput: It holds no columns.
    """
    # DuckDB reads files by their names, so a text that is not clean UTF-8 is written anew for it.
    path = text.file(spare)
    with path.open(encoding="utf-8", newline="") as file:
        head = file.read(_HEAD)
        if file.read(1):  # a line that is cut in the middle says nothing; a single line longer than that stays
            head = head[: head.rfind("\n") + 1] or head
    layout = layout_of(head)
    names = layout.names[:_WIDEST]
    guesses = {name: guess_type([row[place] for row in layout.rows if row[place]]) for place, name in enumerate(names)}
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in layout.names)
    padding = ", null_padding=true, parallel=false" if layout.short_rows == "filled" else ""
    scan = (
        f"read_csv({literal(str(path))}, auto_detect=false, header=false, skip={layout.skip_rows},"
        f" columns={{{columns}}}, delim={literal(layout.separator)}, quote='\"', escape='\"', new_line='\\n',"
        f" store_rejects=true, max_line_size={_LONGEST_LINE}{padding})"
    )
    # Nearly always the sample was right, and one pass over the file does.
    if not connection.try_run(_typed_copy_sql(table, guesses, scan)):
        _drop_rejects(connection)
        whole = identifier("whole file")
        connection.run(f"CREATE TABLE {whole} AS SELECT {', '.join(map(identifier, names))} FROM {scan}")
        guesses = settle_types(connection, whole, guesses)
        connection.run(_typed_copy_sql(table, guesses, whole))
        connection.run(f"DROP TABLE {whole}")
    skipped, total = _rejects(connection, layout, path)
    notes = (*text.notes, *layout.notes, *notes_of(guesses))
    if len(layout.names) > _WIDEST:
        notes = (*notes, f"The file has {len(layout.names):,} columns; the first {_WIDEST:,} were read.")
    return LoadResult(text.encoding, notes, skipped, total)


def layout_of(head: str) -> CsvLayout:
    """The layout of a file that begins with `head`."""
    readings = {separator: _read(head, separator) for separator in _SEPARATORS}

    def regularity(separator: str) -> tuple[float, int]:
        """How well a separator explains the rows: the share of equally wide ones, then their width."""
        rows = readings[separator]
        width = _width(rows)
        return (sum(len(line.cells) == width for line in rows) / len(rows), width) if width > 1 else (0.0, 0)

    separator = max(_SEPARATORS, key=regularity)
    lines = readings[separator]
    if not lines:
        raise InvalidInput("The file holds nothing but empty lines.", hint="name a file with data in it")
    width = _width(lines)
    head_is_wider = len(lines[0].cells) > width > 1 and _has_header([lines[0].cells]) and all(lines[0].cells)
    if head_is_wider:
        width = len(lines[0].cells)
        lines = [replace(line, cells=line.cells + ("",) * (width - len(line.cells))) for line in lines]
    first = next(place for place, line in enumerate(lines) if len(line.cells) == width)
    skipped = tuple(
        SkippedLine(line.number, "stands before the header", clip(separator.join(line.cells))) for line in lines[:first]
    )
    rows = [line.cells for line in lines[first:] if len(line.cells) == width]
    has_header = _has_header(rows)
    if has_header:
        names, notes = _column_names(rows[0])
    else:
        names = tuple(f"column_{place}" for place in range(1, width + 1))
        notes = ("The file has no header; its columns are numbered.",)
    if head_is_wider:
        notes += ("Most rows are shorter than the header; their last cells are taken for empty.",)
    skip_rows = lines[first].row + has_header
    return CsvLayout(
        separator, names, tuple(rows[has_header:]), skip_rows, notes, skipped, "filled" if head_is_wider else "skipped"
    )


@dataclass(frozen=True, slots=True)
class _Line:
    """A row that is not blank: how many rows, blank ones too, stand before it, and the number of its first line."""

    row: int
    number: int
    cells: tuple[str, ...]


def _read(head: str, separator: str) -> list[_Line]:
    reader = csv.reader(head.splitlines(keepends=True), delimiter=separator)
    lines: list[_Line] = []
    number, cells = 1, 0
    for place, row in enumerate(reader):
        if any(cell.strip() for cell in row):
            lines.append(_Line(place, number, tuple(row)))
        number = reader.line_num + 1
        cells += len(row)
        if len(lines) >= _SAMPLE_ROWS or cells >= _SAMPLE_CELLS:
            break
    return lines


def _width(lines: Sequence[_Line]) -> int:
    return Counter(len(line.cells) for line in lines).most_common(1)[0][0] if lines else 0


def _has_header(rows: Sequence[tuple[str, ...]]) -> bool:
    """Whether the first row names the columns: none of its cells is a value such as those below it.

    Years are let through beside other names, since tables have them as columns.
    """
    first = rows[0]
    typed = [cell for cell in first if cell and guess_type([cell]).type != "text"]
    if not typed:
        return True
    return (
        len(typed) < len(first)
        and len(rows) > 1
        and all((len(cell) == 4 and cell.isdecimal() and 1800 <= int(cell) <= 2200) for cell in typed)
        and len(set(typed)) > 1
    )


def _column_names(header: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names: list[str] = []
    names_in_use: set[str] = set()
    counts: dict[str, int] = {}  # so that a thousand equal names are not counted from one each time
    new_names: list[str] = []
    for place, cell in enumerate(header, start=1):
        base = cell.strip()[:_LONGEST_NAME].replace("\0", "") or f"column_{place}"
        name, key = base, base.lower()
        while name.lower() in names_in_use:
            counts[key] = counts.get(key, 1) + 1
            name = f"{base}_{counts[key]}"
        names_in_use.add(name.lower())
        names.append(name)
        if name != cell.strip():
            new_names.append(name)
    if new_names:
        examples = ", ".join(repr(name) for name in new_names[:5])
        more = " and so on" if len(new_names) > 5 else ""
        return tuple(names), (f"Columns without a name of their own ({len(new_names):,}) are called {examples}{more}.",)
    return tuple(names), ()


def _typed_copy_sql(table: str, guesses: dict[str, TypeGuess], source: str) -> str:
    columns = ", ".join(f"{one.value_sql(identifier(name))} AS {identifier(name)}" for name, one in guesses.items())
    return f"CREATE TABLE {table} AS SELECT {columns} FROM {source}"


def _rejects(connection: DuckdbConnection, layout: CsvLayout, path: Path) -> tuple[tuple[SkippedLine, ...], int]:
    # A quote that is not closed takes lines with it; they are counted too.
    (total,) = connection.fetch_one(
        "SELECT coalesce(sum(lines), 0)::BIGINT FROM (SELECT max(1 + length(rtrim(csv_line, chr(10)))"
        " - length(replace(rtrim(csv_line, chr(10)), chr(10), ''))) AS lines FROM reject_errors GROUP BY line)"
    )
    rows = connection.run(
        "SELECT min(line_byte_position) - 1, min(error_message), any_value(csv_line) FROM reject_errors"
        f" GROUP BY line ORDER BY 1 LIMIT {SKIPPED_SHOWN}"
    )
    _drop_rejects(connection)
    lines: list[int] = []
    line = 1
    with path.open("rb") as file:  # DuckDB gives the byte at which a row begins, not its line
        for place, _, _ in rows:
            while (remaining := place - file.tell()) > 0 and (chunk := file.read(min(remaining, CHUNK))):
                line += chunk.count(b"\n")
            lines.append(line)
    rejects = (
        SkippedLine(line, clip(reason), clip(text or "")) for line, (_, reason, text) in zip(lines, rows, strict=True)
    )
    return (*layout.skipped, *rejects)[:SKIPPED_SHOWN], total + len(layout.skipped)


def _drop_rejects(connection: DuckdbConnection) -> None:
    connection.run("DROP TABLE IF EXISTS reject_errors")
    connection.run("DROP TABLE IF EXISTS reject_scans")
