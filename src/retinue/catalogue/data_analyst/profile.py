"""What a file holds, column by column: types, empty cells, distinct values, ranges, and what looks wrong."""

# ruff: noqa: S608
# names are quoted by `identifier` and values by `literal`, so the statements below hold nothing else of anybody's

from collections.abc import Callable, Sequence
from typing import Final

from retinue.catalogue._prose import Prose, code
from retinue.catalogue._report import plural
from retinue.catalogue.data_analyst.columns import Column, Columns
from retinue.catalogue.data_analyst.findings import Findings, table_of
from retinue.catalogue.data_analyst.words import listed, shown, text_of
from retinue.contract.table import Cell
from retinue.tools.data import Rows

__all__ = ["profile"]

_BATCH: Final = 50
_MOST: Final = 400
_TOP: Final = 3
_TOPPED: Final = 60
_HALF_EMPTY: Final = 0.5
_LISTED: Final = 6
_NAMED: Final = 12
_DUPLICATES: Final = 300
_FIELDS: Final = ("column", "type", "nulls", "distinct", "min", "max", "mean", "median", "top values")


def profile(
    columns: Columns, findings: Findings, *, check: Callable[[], None], progress: Callable[[int, int], None]
) -> None:
    """Describe the file of `columns`, into `findings`."""
    source, kept = columns.source, tuple(columns)[:_MOST]
    findings.matched_rows = source.rows
    lines: list[tuple[Cell, ...]] = []
    for begin in range(0, len(kept), _BATCH):
        check()
        progress(begin, len(kept))
        batch = kept[begin : begin + _BATCH]
        statement = f"SELECT {', '.join(map(_facts, batch))}\nFROM {columns.table}"
        row = findings.run(statement, columns).rows[0]
        for place, column in enumerate(batch):
            top = _top(columns, column) if len(lines) < _TOPPED and source.rows else ""
            kind = "integer" if column.kind == "number" and column.whole else column.kind
            lines.append((column.name, kind, *row[place * 6 : place * 6 + 6], top))
    _say(columns, lines, findings)
    table = Rows(_FIELDS, lines, truncated=False, sql="")
    title = f"Columns of {source.path}"
    findings.show(table_of(table, title=title, total=len(columns)), subjects=columns.names)
    findings.metrics |= {"rows": source.rows, "columns": len(columns), "bytes": source.bytes}
    if len(columns) > len(kept):
        findings.report.warn(
            "incomplete_context",
            f"Only the first {len(kept)} of {len(columns):,} columns are described.",
            impact="The others are only named.",
            recovery="Ask about a column by its name.",
        )
    if source.rows:
        _say_suspicions(source.rows, lines, findings)
        _say_duplicates(columns, findings)
    else:
        findings.note(f"`{source.path}` holds no rows.")


def _facts(column: Column) -> str:
    """Empty cells, different values, then smallest, largest, mean and middle."""
    value = column.expression
    text = f"CAST({value} AS VARCHAR)"
    is_ordered = column.kind in ("number", "time")
    ends = [f"{end}({value})" if is_ordered else f"left({end}({text}), 80)" for end in ("min", "max")]
    figures = [f"avg({value})", f"median({value})"] if column.kind == "number" else ["NULL", "NULL"]
    different = text if column.kind == "other" else value
    return ", ".join([f"count(*) - count({value})", f"count(DISTINCT {different})", *ends, *figures])


def _top(columns: Columns, column: Column) -> str:
    """The commonest values of a column of texts."""
    if column.kind not in ("text", "boolean"):
        return ""
    rows = columns.query(
        f"SELECT left(CAST({column.expression} AS VARCHAR), 60), count(*) FROM {columns.table} "
        f"WHERE {column.expression} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {_TOP}",
        limit=_TOP,
    )
    return ", ".join(f"{text_of(value)} ({shown(count)})" for value, count in rows.rows)


def _say(columns: Columns, lines: Sequence[tuple[Cell, ...]], findings: Findings) -> None:
    source = columns.source
    names = {
        kind: [one.name for one in columns if one.kind == kind]
        for kind in ("number", "text", "time", "boolean", "other")
    }
    counted = ", ".join(f"{len(several)} {kind}" for kind, several in names.items() if several)
    size = f"{plural(source.rows, 'row')} and {plural(len(columns), 'column')}"
    findings.say("size", f"{{}} has {size}: {counted or 'none'}.", code(source.path))
    for kind in ("number", "text", "time"):
        if names[kind]:
            findings.say(f"{kind}s", f"{kind.capitalize()}s: {{}}.", _named(names[kind], most=_NAMED))
    for name, kind, _, _, first, last, *_ in lines:
        if kind == "time" and first is not None:
            findings.say("span", "{} goes from {} to {}.", code(str(name)), text_of(first), text_of(last))


def _named(names: Sequence[str], *, most: int) -> Prose:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return listed(map(code, names[:most]), more=more)


def _say_suspicions(rows: int, lines: Sequence[tuple[Cell, ...]], findings: Findings) -> None:
    """What often is a mistake: constants, empty columns, and what identifies each row."""
    nulls = {str(line[0]): line[2] for line in lines if isinstance(line[2], int)}
    distinct = {str(line[0]): line[3] for line in lines if isinstance(line[3], int)}
    suspicions = {
        ("empty", "No row has a value in {}."): [name for name, count in nulls.items() if count == rows],
        ("constant", "Every row has the same value in {}."): [
            name for name, count in distinct.items() if count == 1 and nulls.get(name) == 0 and rows > 1
        ],
        ("sparse", "At least half of the rows have no value in {}."): [
            name for name, count in nulls.items() if rows * _HALF_EMPTY <= count < rows
        ],
        ("unique", "Every row has a value of its own in {}."): [
            name for name, count in distinct.items() if count == rows and rows > 1 and name != "line"
        ],
    }
    for (topic, words), names in suspicions.items():
        if names:
            findings.say(topic, words, _named(names, most=_LISTED))
    most = sorted(((count, name) for name, count in nulls.items() if 0 < count < rows), reverse=True)[:_LISTED]
    if most:
        each = (Prose(f"{{}} {count:,} ({100 * count / rows:.2g} %)", (code(name),)) for count, name in most)
        findings.say("nulls", "Empty cells: {}.", listed(each))


def _say_duplicates(columns: Columns, findings: Findings) -> None:
    """Rows that are the same in every column."""
    if columns.source.kind == "log" or len(columns) > _DUPLICATES:
        return
    statement = f"SELECT count(*)\nFROM (SELECT DISTINCT * FROM {columns.table})"
    different = findings.run(statement, columns).rows[0][0]
    again = columns.source.rows - different if isinstance(different, int) else 0
    findings.metrics["duplicate_rows"] = again
    if again:
        verb = "repeats" if again == 1 else "repeat"
        findings.say("duplicates", f"{plural(again, 'row')} {verb} another row in every column.")
