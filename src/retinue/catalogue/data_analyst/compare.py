"""One file column by column; and two things side by side: files, groups of a column, or stretches of time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from retinue.catalogue._prose import code, first_of
from retinue.catalogue._report import plural
from retinue.contract.event import Progress
from retinue.contract.facts import ColumnKind
from retinue.contract.table import Cell
from retinue.contract.table_query import Condition, Measure, TableQuery
from retinue.errors import InvalidInput
from retinue.tools.data.sources import identifier

from .columns import Columns, DataColumn
from .findings import Findings, describe_measure, describe_query, format_value, label_of, where_clause
from .query import select_sql

_MAX_ROWS: Final = 100
_MAX_MEANS: Final = 8
_MAX_COLUMNS: Final = 50
_KEY_NAMES: Final = ("id", "key", "uuid", "guid", "code", "name", "faa", "number")
_ROWS: Final = Measure(function="count")


@dataclass(frozen=True, slots=True)
class _Side:
    name: str
    columns: Columns
    where: tuple[Condition, ...] = ()


def compare_groups(columns: Columns, query: TableQuery, findings: Findings) -> bool:
    """The same measures of the two groups of rows that a condition on two values makes, with their difference.

    False when there is no such condition.
    """
    condition = next((one for one in query.where if one.op == "in" and len(one.values) == 2), None)
    if condition is None:
        return False
    common = tuple(one for one in query.where if one is not condition)
    query = query.model_copy(update={"where": common, "group_by": ()})
    sides = [condition.model_copy(update={"op": "=", "value": value}) for value in condition.values]
    findings.understood |= describe_query(query)
    findings.columns |= query.named_columns | {condition.column}
    measures = [one for one in query.measures if one.function not in ("count", "share") or one.column]
    part = "" if condition.part == "none" else f" {condition.part}"
    pair = [_Side(f"{side.column}{part} {side.value}", columns, (*common, side)) for side in sides]
    lines = _compare_measures(pair, [*measures, _ROWS], findings)
    counts = [int(count or 0) for count in lines[-1][1:3]]
    findings.matched_rows = sum(counts)
    for side, count in zip(pair, counts, strict=True):
        if not count:
            findings.add("rows", f"No row has {code(side.name)}.")
    if not all(counts):
        path = columns.source.path
        findings.reject(f"One side of the comparison has no rows in {path}.", hint="Name two values that exist.")
        return True
    for measure, line in zip([*measures, _ROWS], lines, strict=True):
        _report_measure(findings, pair, measure, line, common=common)
    names = _show_lines(pair, lines, findings)
    findings.add_chart(str(lines[0][0]), names, lines[0][1:3])
    findings.add_subjects(names)
    return True


def _compare_measures(pair: Sequence[_Side], measures: Sequence[Measure], findings: Findings) -> list[tuple[Cell, ...]]:
    """A line for each measure: both figures, their difference and the change in percent."""
    query = TableQuery(measures=tuple(measures))
    figures = [
        findings.run(select_sql(query.model_copy(update={"where": side.where}), side.columns), side.columns).rows[0]
        for side in pair
    ]
    lines: list[tuple[Cell, ...]] = []
    for measure, first, second in zip(measures, *figures, strict=False):
        difference = change = None
        if isinstance(first, int | float) and isinstance(second, int | float):
            difference, change = second - first, 100 * (second - first) / abs(first) if first else None
        lines.append((measure.label, first, second, difference, change))
    return lines


def _show_lines(pair: Sequence[_Side], lines: Sequence[Sequence[Cell]], findings: Findings) -> list[str]:
    """Show these lines as a table; gives the names of the sides."""
    names = [side.name for side in pair]
    findings.show(" and ".join(names), ("what", *names, "difference", "change %"), lines)
    return names


def _report_measure(
    findings: Findings,
    pair: Sequence[_Side],
    measure: Measure,
    line: Sequence[Cell],
    *,
    common: Sequence[Condition] = (),
) -> None:
    """A measure on both sides in a sentence."""
    _, first, second, difference, change = line
    unit, tail = pair[0].columns.unit_of(measure), ""
    if isinstance(difference, int | float):
        percent = f" ({change:+.3g} %)" if isinstance(change, int | float) and difference else ""
        direction = "more" if difference > 0 else "less"
        tail = (
            f"; the second is {format_value(abs(difference), unit)} {direction}{percent}"
            if difference
            else "; no difference"
        )
    sides = [
        f"{format_value(figure, unit)} for {code(side.name)}"
        for figure, side in zip((first, second), pair, strict=True)
    ]
    text = f"The {describe_measure(measure)}{where_clause(common)} is {' and '.join(sides)}{tail}."
    findings.add("comparison", text, source=pair[1].columns.source.path)


def compare_files(
    first: Columns, second: Columns, findings: Findings, *, key: Sequence[str], measures: Sequence[Measure]
) -> None:
    """Two files: rows added, removed and changed by their key; and their measures side by side. Into `findings`.

    Raises:
        InvalidInput: They have no column in common.
        UnknownName: A column of the key is not in both.
    """
    shared = [name for name in first if name in second]
    if not shared:
        raise InvalidInput(
            f"{first.source.path!r} and {second.source.path!r} have no column in common.",
            hint="Name two files with columns of the same names.",
            path="/parameters/files",
        )
    findings.matched_rows = first.source.rows + second.source.rows
    for one, other in ((first, second), (second, first)):
        if alone := [code(name) for name in one if name not in other]:
            path = one.source.path
            findings.add("columns", f"Only {code(path)} has {first_of(alone[:8])}.", source=path)
    for columns in (first, second):
        for column in key:
            columns.resolve(column, path="/parameters/key")
    # Without named columns one tells rows apart whose name says so. Numbers that happen to differ identify nothing.
    likely_names = [name for name in shared if name.casefold().rpartition("_")[2] in _KEY_NAMES]
    likely_names += [name for name in shared[:1] if first[name].kind == "text"]
    candidates = (
        (name,) for name in likely_names if all(one.distinct(name) == one.source.rows > 0 for one in (first, second))
    )
    if columns_of_key := tuple(key) or next(candidates, ()):
        _compare_by_key(first, second, findings, columns_of_key)
    else:
        findings.note(
            f"No column tells the rows of both files apart, so rows were not matched; {code('key')} names such columns."
        )
    shared_measures = [one for one in measures if one.column in shared]
    numbers = [one.name for one in first.of_kind("number") if one.name in second and second[one.name].kind == "number"]
    chosen = shared_measures or [Measure(function="mean", column=name) for name in numbers[:_MAX_MEANS]]
    pair = [_Side(one.source.path, one) for one in (first, second)]
    lines = _compare_measures(pair, [*chosen, _ROWS], findings)
    for measure, line in zip([*chosen, _ROWS], lines, strict=True):
        if shared_measures or measure is _ROWS:
            _report_measure(findings, pair, measure, line)
    _show_lines(pair, lines, findings)


def _compare_by_key(first: Columns, second: Columns, findings: Findings, key: Sequence[str]) -> None:
    others = [name for name in first if name in second and name not in key]
    # With `=`, a row whose key has no value would count as both removed and added.
    same = " AND ".join(f"a.{identifier(name)} IS NOT DISTINCT FROM b.{identifier(name)}" for name in key)
    differs = [f"a.{identifier(name)} IS DISTINCT FROM b.{identifier(name)}" for name in others]
    keys = ", ".join(map(identifier, key))
    old, new, path = first.table, second.table, second.source.path
    changes = (
        f"SELECT 'added' AS change, {keys} FROM {new} AS b\n"
        f"WHERE NOT EXISTS (SELECT 1 FROM {old} AS a WHERE {same})\nUNION ALL\n"
        f"SELECT 'removed', {keys} FROM {old} AS a\n"
        f"WHERE NOT EXISTS (SELECT 1 FROM {new} AS b WHERE {same})\nUNION ALL\n"
        f"SELECT 'changed', {', '.join(f'a.{identifier(name)}' for name in key)}\n"
        f"FROM {old} AS a JOIN {new} AS b ON {same} WHERE {' OR '.join(differs) or 'FALSE'}"
    )
    counts = f"SELECT change, count(*) FROM ({changes}) GROUP BY 1"
    findings.sql.append(second.standalone_sql(first.standalone_sql(counts)))
    totals = dict.fromkeys(("added", "removed", "changed"), 0)
    totals |= {str(change): int(count or 0) for change, count in first.query(counts).rows}
    findings.metrics |= {f"{change}_rows": count for change, count in totals.items()}
    more, fewer, changed = (plural(count, "row") for count in totals.values())
    text = f"{more} more, {fewer} fewer and {changed} changed against {code(first.source.path)}"
    findings.add("rows", f"By {first_of(map(code, key))}, {code(path)} has {text}.", source=path)
    rows = first.query(f"SELECT * FROM ({changes}) ORDER BY ALL LIMIT {_MAX_ROWS}")
    findings.show("Rows that differ", rows.columns, rows.rows, total=sum(totals.values()))
    findings.add_subjects([row[1] for row in rows.rows])
    if differs:
        each = ", ".join(f"count(*) FILTER (WHERE {one})" for one in differs[:_MAX_COLUMNS])
        row = first.query(f"SELECT {each} FROM {old} AS a JOIN {new} AS b ON {same}").rows[0]
        for name, value in zip(others, row, strict=False):
            if isinstance(value, int) and value:
                findings.add("changed columns", f"{code(name)} differs in {plural(value, 'row')}.", source=path)


_BATCH: Final = 50
_MAX_PROFILE_COLUMNS: Final = 400
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
    source, columns_to_describe = columns.source, list(columns.values())[:_MAX_PROFILE_COLUMNS]
    findings.matched_rows = source.rows
    lines: list[tuple[Cell, ...]] = []
    for begin in range(0, len(columns_to_describe), _BATCH):
        columns.check()
        emit(Progress("describing columns", "", begin, len(columns_to_describe)))
        batch = columns_to_describe[begin : begin + _BATCH]
        row = findings.run(f"SELECT {', '.join(map(_column_sql, batch))}\nFROM {columns.table}", columns).rows[0]
        for place, column in enumerate(batch):
            top = ""
            if len(lines) < _MAX_TOP_COLUMNS and source.rows and column.kind in ("text", "boolean"):
                commonest = columns.query(
                    f"SELECT left(CAST({column.expression} AS VARCHAR), 60), count(*) FROM {columns.table} "
                    f"WHERE {column.expression} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {_MAX_TOP_VALUES}"
                )
                top = ", ".join(f"{label_of(value)} ({format_value(count)})" for value, count in commonest.rows)
            kind = "integer" if column.kind == "number" and column.is_whole else column.kind
            lines.append((column.name, kind, *row[place * 6 : place * 6 + 6], top))
    names = {kind: [one.name for one in columns.of_kind(kind)] for kind in _KINDS}
    kind_counts = ", ".join(f"{len(several)} {kind}" for kind, several in names.items() if several)
    size = f"{plural(source.rows, 'row')} and {plural(len(columns), 'column')}"
    findings.add("size", f"{code(source.path)} has {size}: {kind_counts or 'none'}.")
    for kind in _KINDS[:3]:
        if names[kind]:
            findings.add(f"{kind}s", f"{kind.capitalize()}s: {first_of(map(code, names[kind]), _MAX_NAMED)}.")
    for name, kind, _, _, first, last, *_ in lines:
        if kind == "time" and first is not None:
            findings.add("span", f"{code(str(name))} goes from {label_of(first)} to {label_of(last)}.")
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
    if not source.rows:
        findings.note(f"{code(source.path)} holds no rows.")
        return
    _report_suspicions(source.rows, lines, findings)
    if source.kind != "log" and len(columns) <= _MAX_DUPLICATE_COLUMNS:
        distinct = findings.run(f"SELECT count(*)\nFROM (SELECT DISTINCT * FROM {columns.table})", columns).rows[0][0]
        duplicates = findings.metrics["duplicate_rows"] = source.rows - int(distinct or 0)
        if duplicates:
            verb = "repeats" if duplicates == 1 else "repeat"
            findings.add("duplicates", f"{plural(duplicates, 'row')} {verb} another row in every column.")


def _column_sql(column: DataColumn) -> str:
    """Empty cells, different values, then smallest, largest, mean and middle."""
    value = column.expression
    text = f"CAST({value} AS VARCHAR)"
    is_ordered = column.kind in ("number", "time")
    ends = [f"{end}({value})" if is_ordered else f"left({end}({text}), 80)" for end in ("min", "max")]
    figures = [f"avg({value})", f"median({value})"] if column.kind == "number" else ["NULL", "NULL"]
    different = text if column.kind == "other" else value
    return ", ".join([f"count(*) - count({value})", f"count(DISTINCT {different})", *ends, *figures])


def _report_suspicions(rows: int, lines: Sequence[tuple[Cell, ...]], findings: Findings) -> None:
    """Constants, empty columns, and what identifies each row."""
    counts = [(str(name), int(nulls or 0), int(distinct or 0)) for name, _, nulls, distinct, *_ in lines]
    for topic, template, fits in _SUSPICIONS:
        names = [name for name, *figures in counts if fits(rows, *figures) and (topic, name) != ("unique", "line")]
        if names:
            findings.add(topic, template.format(first_of(map(code, names), _MAX_LISTED)))
    if emptiest := sorted(((nulls, name) for name, nulls, _ in counts if 0 < nulls < rows), reverse=True)[:_MAX_LISTED]:
        each = (f"{code(name)} {nulls:,} ({100 * nulls / rows:.2g} %)" for nulls, name in emptiest)
        findings.add("nulls", f"Empty cells: {first_of(each)}.")
