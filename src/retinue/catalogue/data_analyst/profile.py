"""What a file holds, column by column: types, empty cells, distinct values, ranges, and what looks wrong."""

from collections.abc import Callable, Sequence
from typing import Final

from retinue.catalogue._prose import Prose, code, first_of
from retinue.catalogue._report import plural
from retinue.catalogue.data_analyst.columns import Columns, DataColumn
from retinue.catalogue.data_analyst.findings import Findings, format_value, label_of
from retinue.contract.event import Progress
from retinue.contract.facts import ColumnKind
from retinue.contract.table import Cell

_BATCH: Final = 50
_MAX_COLUMNS: Final = 400
_MAX_TOP_VALUES: Final = 3
_MAX_TOP_COLUMNS: Final = 60
_MAX_LISTED: Final = 6
_MAX_NAMED: Final = 12
_MAX_DUPLICATE_COLUMNS: Final = 300
_FIELDS: Final = ("column", "type", "nulls", "distinct", "min", "max", "mean", "median", "top values")
_KINDS: Final[tuple[ColumnKind, ...]] = ("number", "text", "time", "boolean", "other")
_SUSPICIONS: Final[tuple[tuple[str, str, Callable[[int, int, int], bool]], ...]] = (
    ("empty", "No row has a value in {}.", lambda rows, nulls, _: nulls == rows),
    (
        "constant",
        "Every row has the same value in {}.",
        lambda rows, nulls, distinct: distinct == 1 < rows and not nulls,
    ),
    ("sparse", "At least half of the rows have no value in {}.", lambda rows, nulls, _: rows / 2 <= nulls < rows),
    ("unique", "Every row has a value of its own in {}.", lambda rows, _, distinct: distinct == rows > 1),
)
"""What often is a mistake, by the number of rows, of empty cells and of different values."""


def profile(columns: Columns, findings: Findings, *, emit: Callable[[Progress], None]) -> None:
    """Describe the file of `columns`, into `findings`."""
    source, columns_to_describe = columns.source, list(columns.values())[:_MAX_COLUMNS]
    findings.matched_rows = source.rows
    lines: list[tuple[Cell, ...]] = []
    for begin in range(0, len(columns_to_describe), _BATCH):
        columns.check()
        emit(Progress("describing columns", "", begin, len(columns_to_describe)))
        batch = columns_to_describe[begin : begin + _BATCH]
        row = findings.run(f"SELECT {', '.join(map(_column_sql, batch))}\nFROM {columns.table}", columns).rows[0]
        for place, column in enumerate(batch):
            top = _top_values(columns, column) if len(lines) < _MAX_TOP_COLUMNS and source.rows else ""
            kind = "integer" if column.kind == "number" and column.is_whole else column.kind
            lines.append((column.name, kind, *row[place * 6 : place * 6 + 6], top))
    _report_size(columns, lines, findings)
    findings.show(f"Columns of {source.path}", _FIELDS, lines, total=len(columns))
    findings.add_subjects(list(columns))
    findings.metrics |= {"rows": source.rows, "columns": len(columns), "bytes": source.bytes}
    if len(columns) > len(columns_to_describe):
        findings.warn(
            "incomplete_context",
            f"Only the first {len(columns_to_describe)} of {len(columns):,} columns are described.",
            impact="The others are only named.",
            recovery="Ask about a column by its name.",
        )
    if source.rows:
        _report_suspicions(source.rows, lines, findings)
        _report_duplicates(columns, findings)
    else:
        findings.note("{} holds no rows.", code(source.path))


def _column_sql(column: DataColumn) -> str:
    """Empty cells, different values, then smallest, largest, mean and middle."""
    value = column.expression
    text = f"CAST({value} AS VARCHAR)"
    is_ordered = column.kind in ("number", "time")
    ends = [f"{end}({value})" if is_ordered else f"left({end}({text}), 80)" for end in ("min", "max")]
    figures = [f"avg({value})", f"median({value})"] if column.kind == "number" else ["NULL", "NULL"]
    different = text if column.kind == "other" else value
    return ", ".join([f"count(*) - count({value})", f"count(DISTINCT {different})", *ends, *figures])


def _top_values(columns: Columns, column: DataColumn) -> str:
    """The commonest values of a column of texts."""
    if column.kind not in ("text", "boolean"):
        return ""
    rows = columns.query(
        f"SELECT left(CAST({column.expression} AS VARCHAR), 60), count(*) FROM {columns.table} "
        f"WHERE {column.expression} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {_MAX_TOP_VALUES}"
    )
    return ", ".join(f"{label_of(value)} ({format_value(count)})" for value, count in rows.rows)


def _report_size(columns: Columns, lines: Sequence[tuple[Cell, ...]], findings: Findings) -> None:
    names = {kind: [one.name for one in columns.of_kind(kind)] for kind in _KINDS}
    kind_counts = ", ".join(f"{len(several)} {kind}" for kind, several in names.items() if several)
    size = f"{plural(columns.source.rows, 'row')} and {plural(len(columns), 'column')}"
    findings.add("size", f"{{}} has {size}: {kind_counts or 'none'}.", code(columns.source.path))
    for kind in _KINDS[:3]:
        if names[kind]:
            findings.add(f"{kind}s", f"{kind.capitalize()}s: {{}}.", first_of(map(code, names[kind]), _MAX_NAMED))
    for name, kind, _, _, first, last, *_ in lines:
        if kind == "time" and first is not None:
            findings.add("span", "{} goes from {} to {}.", code(str(name)), label_of(first), label_of(last))


def _report_suspicions(rows: int, lines: Sequence[tuple[Cell, ...]], findings: Findings) -> None:
    """Constants, empty columns, and what identifies each row."""
    counts = [(str(name), int(nulls or 0), int(distinct or 0)) for name, _, nulls, distinct, *_ in lines]
    for topic, template, fits in _SUSPICIONS:
        names = [name for name, *figures in counts if fits(rows, *figures) and (topic, name) != ("unique", "line")]
        if names:
            findings.add(topic, template, first_of(map(code, names), _MAX_LISTED))
    if emptiest := sorted(((nulls, name) for name, nulls, _ in counts if 0 < nulls < rows), reverse=True)[:_MAX_LISTED]:
        each = (Prose(f"{{}} {nulls:,} ({100 * nulls / rows:.2g} %)", (code(name),)) for nulls, name in emptiest)
        findings.add("nulls", "Empty cells: {}.", first_of(each))


def _report_duplicates(columns: Columns, findings: Findings) -> None:
    """Rows that are the same in every column."""
    if columns.source.kind == "log" or len(columns) > _MAX_DUPLICATE_COLUMNS:
        return
    different = findings.run(f"SELECT count(*)\nFROM (SELECT DISTINCT * FROM {columns.table})", columns).rows[0][0]
    duplicates = columns.source.rows - int(different or 0)
    findings.metrics["duplicate_rows"] = duplicates
    if duplicates:
        verb = "repeats" if duplicates == 1 else "repeat"
        findings.add("duplicates", f"{plural(duplicates, 'row')} {verb} another row in every column.")
