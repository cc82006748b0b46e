"""What a file holds, column by column: types, empty cells, distinct values, ranges, and what looks wrong."""

# ruff: noqa: S608
# names are quoted by `identifier` and values by `literal`, so the statements below hold nothing else of anybody's

from collections.abc import Callable, Sequence
from typing import Final

from retinue.catalogue._prose import code
from retinue.catalogue.data_analyst import sql
from retinue.catalogue.data_analyst.columns import Column, Columns
from retinue.catalogue.data_analyst.report import Report, table_of
from retinue.catalogue.data_analyst.shown import plural, shown, text_of
from retinue.contract.table import Cell
from retinue.tools.data import Data, Rows

__all__ = ["profile"]

_BATCH: Final = 50
_MOST: Final = 400
_TOP: Final = 3
_TOPPED: Final = 60
_HALF_EMPTY: Final = 0.5
_LISTED: Final = 6
_DUPLICATES: Final = 300
_FIELDS: Final = ("column", "type", "nulls", "distinct", "min", "max", "mean", "median", "top values")


def profile(
    data: Data, columns: Columns, report: Report, *, check: Callable[[], None], progress: Callable[[int, int], None]
) -> None:
    """Describe the file of `columns`, into `report`."""
    source, kept = columns.source, tuple(columns)[:_MOST]
    report.matched_rows = source.rows
    lines: list[tuple[Cell, ...]] = []
    for begin in range(0, len(kept), _BATCH):
        check()
        progress(begin, len(kept))
        batch = kept[begin : begin + _BATCH]
        statement = f"SELECT {', '.join(_facts(column) for column in batch)}\nFROM {columns.table}"
        report.sql.append(sql.stated(statement, columns))
        row = data.query(statement).rows[0]
        for place, column in enumerate(batch):
            facts = row[place * 6 : place * 6 + 6]
            top = _top(data, columns, column) if len(lines) < _TOPPED and source.rows else ""
            lines.append((column.name, _type(column), *facts, top))
    _say(columns, lines, report)
    report.show(
        table_of(Rows(_FIELDS, lines, truncated=False, sql=""), title=f"Columns of {source.path}", total=len(columns))
    )
    report.metrics |= {"rows": source.rows, "columns": len(columns), "bytes": source.bytes}
    report.name_subjects([column.name for column in columns])
    if len(columns) > len(kept):
        report.warn(
            "incomplete_context",
            f"Only the first {len(kept)} of {len(columns):,} columns are described.",
            impact="The others are only named.",
            recovery="Ask about a column by its name.",
        )
    _suspicions(columns, lines, report)
    _duplicates(data, columns, report)


def _facts(column: Column) -> str:
    """Empty cells, different values, then smallest, largest, mean and middle."""
    value = column.expression
    text = f"CAST({value} AS VARCHAR)"
    ordered = column.kind in ("number", "time")
    least, most = (
        (f"min({value})", f"max({value})") if ordered else (f"left(min({text}), 80)", f"left(max({text}), 80)")
    )
    figures = (f"avg({value})", f"median({value})") if column.kind == "number" else ("NULL", "NULL")
    different = text if column.kind == "other" else value
    return ", ".join([f"count(*) - count({value})", f"count(DISTINCT {different})", least, most, *figures])


def _top(data: Data, columns: Columns, column: Column) -> str:
    """The commonest values of a column of texts or of few different numbers."""
    if column.kind not in ("text", "boolean"):
        return ""
    rows = data.query(
        f"SELECT left(CAST({column.expression} AS VARCHAR), 60), count(*) FROM {columns.table} "
        f"WHERE {column.expression} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {_TOP}",
        limit=_TOP,
    )
    return ", ".join(f"{text_of(value)} ({shown(count)})" for value, count in rows.rows)


def _type(column: Column) -> str:
    return "integer" if column.kind == "number" and column.whole else column.kind


def _say(columns: Columns, lines: Sequence[tuple[Cell, ...]], report: Report) -> None:
    source = columns.source
    kinds = {
        kind: [column.name for column in columns if column.kind == kind]
        for kind in ("number", "text", "time", "boolean", "other")
    }
    counted = ", ".join(f"{len(names)} {kind}" for kind, names in kinds.items() if names)
    report.say(
        "size",
        f"{{}} has {plural(source.rows, 'row')} and {plural(len(columns), 'column')}: {counted or 'none'}.",
        code(source.path),
        source=source.path,
    )
    for kind, topic in (("number", "Numbers"), ("text", "Texts"), ("time", "Times")):
        names = kinds[kind][:12]
        if names:
            more = f" and {len(kinds[kind]) - len(names)} more" if len(kinds[kind]) > len(names) else ""
            report.say(
                topic.lower(),
                f"{topic}: {', '.join(['{}'] * len(names))}{more}.",
                *map(code, names),
                source=source.path,
            )
    for line in lines:
        if line[1] == "time" and line[4] is not None:
            report.say(
                "span",
                "{} goes from {} to {}.",
                code(str(line[0])),
                text_of(line[4]),
                text_of(line[5]),
                source=source.path,
            )


def _suspicions(columns: Columns, lines: Sequence[tuple[Cell, ...]], report: Report) -> None:
    """What often is a mistake: constants, empty columns, and what identifies each row."""
    source, rows = columns.source, columns.source.rows
    if not rows:
        report.note(f"`{source.path}` holds no rows.")
        return
    nulls = {str(line[0]): line[2] for line in lines if isinstance(line[2], int)}
    distinct = {str(line[0]): line[3] for line in lines if isinstance(line[3], int)}
    empty = [name for name, count in nulls.items() if count == rows]
    constant = [name for name, count in distinct.items() if count == 1 and nulls.get(name) == 0 and rows > 1]
    sparse = [name for name, count in nulls.items() if rows * _HALF_EMPTY <= count < rows]
    unique = [name for name, count in distinct.items() if count == rows and rows > 1 and name != "line"]
    for topic, names, words in (
        ("empty", empty, "No row has a value in {}."),
        ("constant", constant, "Every row has the same value in {}."),
        ("sparse", sparse, "At least half of the rows have no value in {}."),
        ("unique", unique, "Every row has a value of its own in {}."),
    ):
        if names:
            shown_names = names[:_LISTED]
            more = f" and {len(names) - len(shown_names)} more" if len(names) > len(shown_names) else ""
            report.say(
                topic,
                words.replace("{}", ", ".join(["{}"] * len(shown_names)) + more),
                *map(code, shown_names),
                source=source.path,
            )
    most = sorted(((count, name) for name, count in nulls.items() if 0 < count < rows), reverse=True)[:_LISTED]
    if most:
        report.say(
            "nulls",
            f"Empty cells: {', '.join(['{} {}'] * len(most))}.",
            *(piece for count, name in most for piece in (code(name), f"{count:,} ({100 * count / rows:.2g} %)")),
            source=source.path,
        )


def _duplicates(data: Data, columns: Columns, report: Report) -> None:
    """Rows that are the same in every column."""
    if columns.source.kind == "log" or not columns.source.rows or len(columns) > _DUPLICATES:
        return
    statement = f"SELECT count(*) FROM (SELECT DISTINCT * FROM {columns.table})"
    report.sql.append(sql.stated(statement, columns))
    different = data.query(statement).rows[0][0]
    if isinstance(different, int):
        again = columns.source.rows - different
        report.metrics["duplicate_rows"] = again
        if again:
            report.say(
                "duplicates",
                f"{plural(again, 'row')} {'repeats' if again == 1 else 'repeat'} another row in every column.",
                source=columns.source.path,
            )
