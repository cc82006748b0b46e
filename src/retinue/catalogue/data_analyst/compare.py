"""Two things side by side: two files, two groups of a column, or two stretches of time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from retinue.catalogue._prose import code, first_of
from retinue.catalogue._report import plural
from retinue.catalogue.data_analyst.columns import Columns
from retinue.catalogue.data_analyst.findings import (
    Findings,
    describe_measure,
    describe_query,
    format_value,
    where_clause,
)
from retinue.catalogue.data_analyst.query import select_sql
from retinue.contract.table import Cell
from retinue.contract.table_query import Condition, Measure, TableQuery
from retinue.errors import InvalidInput
from retinue.tools.data import identifier

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
            findings.add("rows", "No row has {}.", code(side.name))
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
        piece
        for figure, side in zip((first, second), pair, strict=True)
        for piece in (format_value(figure, unit), code(side.name))
    ]
    template = f"The {{}}{{}} is {{}} for {{}} and {{}} for {{}}{tail}."
    findings.add(
        "comparison",
        template,
        describe_measure(measure),
        where_clause(common),
        *sides,
        source=pair[1].columns.source.path,
    )


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
            findings.add("columns", "Only {} has {}.", code(path), first_of(alone[:8]), source=path)
    if columns_of_key := _key_columns(first, second, shared, key):
        _compare_by_key(first, second, findings, columns_of_key)
    else:
        findings.note(
            "No column tells the rows of both files apart, so rows were not matched; {} names such columns.",
            code("key"),
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


def _key_columns(first: Columns, second: Columns, shared: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """The columns that tell rows apart in both files: those named, else one whose name says so; maybe none."""
    both = (first, second)
    for columns in both:
        for column in names:
            columns.resolve(column, path="/parameters/key")
    likely_names = [name for name in shared if name.casefold().rpartition("_")[2] in _KEY_NAMES]
    # Numbers that happen to differ from row to row identify nothing.
    likely_names += [name for name in shared[:1] if first[name].kind == "text"]
    candidates = ((name,) for name in likely_names if all(one.distinct(name) == one.source.rows > 0 for one in both))
    return tuple(names) or next(candidates, ())


def _compare_by_key(first: Columns, second: Columns, findings: Findings, key: Sequence[str]) -> None:
    others = [name for name in first if name in second and name not in key]
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
    template = f"By {{}}, {{}} has {more} more, {fewer} fewer and {changed} changed against {{}}."
    findings.add("rows", template, first_of(map(code, key)), code(path), code(first.source.path), source=path)
    rows = first.query(f"SELECT * FROM ({changes}) ORDER BY ALL LIMIT {_MAX_ROWS}")
    findings.show("Rows that differ", rows.columns, rows.rows, total=sum(totals.values()))
    findings.add_subjects([row[1] for row in rows.rows])
    if differs:
        each = ", ".join(f"count(*) FILTER (WHERE {one})" for one in differs[:_MAX_COLUMNS])
        row = first.query(f"SELECT {each} FROM {old} AS a JOIN {new} AS b ON {same}").rows[0]
        for name, value in zip(others, row, strict=False):
            if isinstance(value, int) and value:
                findings.add("changed columns", f"{{}} differs in {plural(value, 'row')}.", code(name), source=path)
