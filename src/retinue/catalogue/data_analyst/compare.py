"""Two things side by side: two files, two groups of a column, or two stretches of time."""

# ruff: noqa: S608
# names are quoted by `identifier` and values by `literal`, so the statements below hold nothing else of anybody's

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from retinue.catalogue._prose import Prose, code
from retinue.catalogue.data_analyst import sql
from retinue.catalogue.data_analyst.aggregate import describe, explain, unit_of, where
from retinue.catalogue.data_analyst.columns import Columns
from retinue.catalogue.data_analyst.report import Report, chart_of, table_of
from retinue.catalogue.data_analyst.shown import measure_words, plural, shown
from retinue.contract.table import Cell, Chart
from retinue.contract.table_query import Condition, Measure, TableQuery
from retinue.errors import InvalidInput
from retinue.tools.data import Data, Rows, identifier

__all__ = ["Sides", "compare_files", "compare_groups", "key_of", "sides_of"]

_SHOWN: Final = 100
_KEYS: Final = ("id", "key", "uuid", "guid", "code", "name", "faa", "number")

Sides = tuple[Condition, Condition]
"""The two groups of rows that are compared."""


def sides_of(query: TableQuery) -> tuple[TableQuery, Sides] | None:
    """The two sides that a condition on two values makes, and the query for both; None when there are not two."""
    for condition in query.where:
        if condition.op == "in" and len(condition.values) == 2:
            first, second = (condition.model_copy(update={"op": "=", "value": value}) for value in condition.values)
            rest = tuple(one for one in query.where if one is not condition)
            return query.model_copy(update={"where": rest, "group_by": ()}), (first, second)
    return None


def compare_groups(data: Data, columns: Columns, query: TableQuery, sides: Sides, report: Report) -> None:
    """The same measures on both sides, with their difference, into `report`."""
    explain(query, report)
    report.about |= query.named_columns | {sides[0].column}
    measures = _measures(query)
    names = [_name(side) for side in sides]
    figures: list[tuple[Cell, ...]] = []
    for side in sides:
        one = query.model_copy(
            update={
                "measures": measures,
                "where": (*query.where, side),
                "group_by": (),
                "order": None,
                "limit": 0,
                "select": (),
            }
        )
        statement = sql.select(one, columns)
        report.sql.append(sql.stated(statement, columns))
        figures.append(data.query(statement).rows[0])
    counts = [_rows_of(one) for one in figures]
    report.matched_rows = sum(counts)
    path = columns.source.path
    for name, count in zip(names, counts, strict=True):
        if not count:
            report.say("rows", "No row has {}.", code(name), source=path)
    if not all(counts):
        report.reject(f"One side of the comparison has no rows in {path}.", hint="Name two values that there are.")
        return
    lines = [_line(measure.label, figures[0][place], figures[1][place]) for place, measure in enumerate(measures)]
    words, pieces = where(query.where)
    for measure, line in zip(measures, lines, strict=True):
        said, said_pieces = describe(measure)
        pair = _Pair(Prose(f"The {said}{words}", (*said_pieces, *pieces)), names, line[1:], unit_of(measure, columns))
        pair.say(report, path)
    table = Rows(("what", *names, "difference", "change %"), lines, truncated=False, sql="")
    report.show(table_of(table, title=f"{names[0]} and {names[1]}"), _chart(lines, measures, names))
    report.name_subjects(names)


def _measures(query: TableQuery) -> tuple[Measure, ...]:
    """What is compared: what was named, and the number of rows."""
    named = tuple(one for one in query.measures if one.function not in ("count", "share") or one.column)
    return (*named, Measure(function="count"))


def _rows_of(row: Sequence[Cell]) -> int:
    value = row[-1]
    return value if isinstance(value, int) else 0


def _name(condition: Condition) -> str:
    part = "" if condition.part == "none" else f" {condition.part}"
    values = condition.values
    return f"{condition.column}{part} {', '.join(map(str, values))}"


def _line(label: str, first: Cell, second: Cell) -> tuple[Cell, ...]:
    """A measure on both sides; no percentage of nothing."""
    if not isinstance(first, int | float) or not isinstance(second, int | float):
        return (label, first, second, None, None)
    change = 100 * (second - first) / abs(first) if first else None
    return (label, first, second, second - first, change)


@dataclass(frozen=True, slots=True)
class _Pair:
    """One measure on both sides: its figures, their difference and the change in percent."""

    said: Prose
    names: Sequence[str]
    figures: Sequence[Cell]
    unit: str | None

    def say(self, report: Report, source: str) -> None:
        """Say it in a sentence."""
        first, second, difference, change = self.figures
        tail = ""
        if isinstance(difference, int | float):
            way = "more" if difference > 0 else "less"
            percent = f" ({change:+.3g} %)" if isinstance(change, int | float) and difference else ""
            tail = (
                f"; the second is {shown(abs(difference), self.unit)} {way}{percent}"
                if difference
                else "; no difference"
            )
        report.say(
            "comparison",
            f"{self.said.template} is {{}} for {{}} and {{}} for {{}}{tail}.",
            *self.said.pieces,
            shown(first, self.unit),
            code(self.names[0]),
            shown(second, self.unit),
            code(self.names[1]),
            source=source,
        )


def _chart(lines: list[tuple[Cell, ...]], measures: Sequence[Measure], names: Sequence[str]) -> Chart:
    return chart_of(names, lines[0][1:3], title=measures[0].label, line=False, unit=None)


def key_of(first: Columns, second: Columns, given: Sequence[str]) -> tuple[str, ...]:
    """The columns that tell rows apart in both files: those given, else one whose name says so; maybe none.

    Raises:
        UnknownName: A given column is not in both.
    """
    if given:
        for columns in (first, second):
            for name in given:
                columns.named(name, path="/parameters/key")
        return tuple(given)
    shared = [name for name in first.names if name in second]
    for name in shared:
        parts = name.casefold().split("_")
        if parts[-1] in _KEYS and _is_unique(first, name) and _is_unique(second, name):
            return (name,)
    # Numbers that happen to differ from row to row identify nothing.
    texts = [name for name in shared[:1] if first.named(name).kind == "text"]
    return next(((name,) for name in texts if _is_unique(first, name) and _is_unique(second, name)), ())


def _is_unique(columns: Columns, name: str) -> bool:
    return columns.distinct(name) == columns.source.rows > 0


def compare_files(
    data: Data, first: Columns, second: Columns, report: Report, *, key: Sequence[str], measures: Sequence[Measure]
) -> None:
    """Two files: rows added, removed and changed by their key; else their measures side by side. Into `report`."""
    shared = [name for name in first.names if name in second]
    if not shared:
        raise InvalidInput(
            f"{first.source.path!r} and {second.source.path!r} have no column in common.",
            hint="Name two files with columns of the same names.",
            path="/parameters/files",
        )
    report.matched_rows = first.source.rows + second.source.rows
    for one, other in ((first, second), (second, first)):
        alone = [name for name in one.names if name not in other]
        if alone:
            listed = ", ".join(["{}"] * len(alone[:8]))
            report.say(
                "columns",
                f"Only {{}} has {listed}.",
                code(one.source.path),
                *map(code, alone[:8]),
                source=one.source.path,
            )
    if key:
        _by_key(data, first, second, report, key)
    else:
        report.note("No column tells the rows of both files apart, so rows were not matched; `key` names such columns.")
    _side_by_side(data, first, second, report, measures)


def _by_key(data: Data, first: Columns, second: Columns, report: Report, key: Sequence[str]) -> None:
    others = [name for name in first.names if name in second and name not in key]
    same = " AND ".join(f"a.{identifier(name)} IS NOT DISTINCT FROM b.{identifier(name)}" for name in key)
    differs = " OR ".join(f"a.{identifier(name)} IS DISTINCT FROM b.{identifier(name)}" for name in others) or "FALSE"
    keys = ", ".join(identifier(name) for name in key)
    old, new = first.table, second.table
    counts = (
        f"SELECT (SELECT count(*) FROM {new} AS b WHERE NOT EXISTS (SELECT 1 FROM {old} AS a WHERE {same})) AS added, "
        f"(SELECT count(*) FROM {old} AS a WHERE NOT EXISTS (SELECT 1 FROM {new} AS b WHERE {same})) AS removed, "
        f"(SELECT count(*) FROM {old} AS a JOIN {new} AS b ON {same} WHERE {differs}) AS changed"
    )
    report.sql.append(sql.stated(sql.stated(counts, first), second))
    row = data.query(counts).rows[0]
    counted = {name: int(value or 0) for name, value in zip(("added", "removed", "changed"), row, strict=True)}
    report.metrics |= {f"{name}_rows": value for name, value in counted.items()}
    report.say(
        "rows",
        f"By {', '.join(['{}'] * len(key))}, {{}} has {plural(counted['added'], 'row')} more, "
        f"{plural(counted['removed'], 'row')} fewer and "
        f"{plural(counted['changed'], 'row')} changed against {{}}.",
        *map(code, key),
        code(second.source.path),
        code(first.source.path),
        source=second.source.path,
    )
    listing = (
        f"SELECT 'added' AS change, {keys} FROM {new} AS b "
        f"WHERE NOT EXISTS (SELECT 1 FROM {old} AS a WHERE {same}) UNION ALL "
        f"SELECT 'removed', {keys} FROM {old} AS a "
        f"WHERE NOT EXISTS (SELECT 1 FROM {new} AS b WHERE {same}) UNION ALL "
        f"SELECT 'changed', {', '.join(f'a.{identifier(name)}' for name in key)} "
        f"FROM {old} AS a JOIN {new} AS b ON {same} WHERE {differs}"
    )
    rows = data.query(f"SELECT * FROM ({listing}) ORDER BY ALL LIMIT {_SHOWN}", limit=_SHOWN)
    if rows.rows:
        report.show(table_of(rows, title="Rows that differ", total=sum(counted.values())))
        report.name_subjects([row[1] for row in rows.rows])
    for name in others[:50]:
        value = data.query(
            f"SELECT count(*) FROM {old} AS a JOIN {new} AS b ON {same} "
            f"WHERE a.{identifier(name)} IS DISTINCT FROM b.{identifier(name)}"
        ).rows[0][0]
        if isinstance(value, int) and value:
            report.say(
                "changed columns", f"{{}} differs in {plural(value, 'row')}.", code(name), source=second.source.path
            )


def _side_by_side(data: Data, first: Columns, second: Columns, report: Report, measures: Sequence[Measure]) -> None:
    query = [one for one in measures if not one.column or (one.column in first and one.column in second)]
    numbers = [
        column.name for column in first.numbers if column.name in second and second.named(column.name).kind == "number"
    ]
    chosen = [one for one in query if one.column] or [Measure(function="mean", column=name) for name in numbers[:8]]
    lines = [_line("rows", first.source.rows, second.source.rows)]
    if chosen:
        found: list[tuple[Cell, ...]] = []
        for columns in (first, second):
            statement = sql.select(TableQuery(measures=tuple(chosen)), columns)
            report.sql.append(sql.stated(statement, columns))
            found.append(data.query(statement).rows[0])
        lines += [_line(one.label, found[0][place], found[1][place]) for place, one in enumerate(chosen)]
    names = (first.source.path, second.source.path)
    for (label, *figures), one in zip(lines, (Measure(function="count"), *chosen), strict=True):
        if label == "rows" or any(measure.column for measure in query):
            pieces = [] if not one.column else [code(one.column)]
            pair = _Pair(Prose(f"The {measure_words(one)}", tuple(pieces)), names, figures, unit_of(one, first))
            pair.say(report, second.source.path)
    report.show(
        table_of(
            Rows(("what", *names, "difference", "change %"), lines, truncated=False, sql=""),
            title=f"{names[0]} and {names[1]}",
        )
    )
