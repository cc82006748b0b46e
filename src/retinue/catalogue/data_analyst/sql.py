"""A `TableQuery` as one SELECT. The statement is whole: values stand in it as literals, so that it can be run as shown.

Names are quoted and texts are escaped, so SQL in a column's name or in a value stays a name and a value.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from retinue.contract.table import Cell
from retinue.contract.table_query import (
    Condition,
    DatePart,
    GroupCondition,
    Grouping,
    Measure,
    Ordering,
    TableQuery,
    TimeUnit,
)
from retinue.errors import InvalidInput
from retinue.tools.data import identifier

if TYPE_CHECKING:
    from retinue.catalogue.data_analyst.columns import Columns

__all__ = ["bucket", "every", "is_serial", "literal", "place_of_order", "select", "stated"]

_FUNCTIONS: Final = {
    "sum": "sum({})",
    "mean": "avg({})",
    "median": "median({})",
    "min": "min({})",
    "max": "max({})",
    "stddev": "stddev_samp({})",
    "count_distinct": "count(DISTINCT {})",
    "count": "count({})",
}
_TIED: Final = 8
_PARTS: Final[dict[DatePart, str]] = {
    "day": "day({})",
    "month": "month({})",
    "year": "year({})",
    "weekday": "isodow({})",
    "hour": "hour({})",
}
_BUCKETS: Final[dict[TimeUnit, str]] = {
    "second": "strftime(date_trunc('second', {}), '%Y-%m-%d %H:%M:%S')",
    "minute": "strftime(date_trunc('minute', {}), '%Y-%m-%d %H:%M')",
    "hour": "strftime(date_trunc('hour', {}), '%Y-%m-%d %H:00')",
    "day": "strftime({}, '%Y-%m-%d')",
    "week": "strftime(date_trunc('week', {}), '%Y-%m-%d')",
    "month": "strftime({}, '%Y-%m')",
    "quarter": "strftime({0}, '%Y') || '-Q' || quarter({0})",
    "year": "strftime({}, '%Y')",
    "weekday": "dayname({})",
    "hour_of_day": "hour({})",
}
"""Each as people write it; but for the weekdays their order is that of time. A week is named by its Monday."""


def literal(value: Cell) -> str:
    """`value` as it stands in SQL.

    Raises:
        InvalidInput: It is a text that holds a NUL.
    """
    if value is None or isinstance(value, bool):
        return "NULL" if value is None else str(value).upper()
    if isinstance(value, int | float):
        return repr(value)
    if "\0" in value:
        raise InvalidInput("A value holds a NUL character.", hint="Name a value without control characters.")
    return "'" + value.replace("'", "''") + "'"


def select(query: TableQuery, columns: "Columns") -> str:
    """The statement that answers `query`.

    Raises:
        UnknownName: A column is none of the table's.
    """
    if query.select:
        return _rows(query, columns)
    groups = [f"{bucket(group, columns)} AS {_label(group.label)}" for group in query.group_by]
    figures = [f"{_figure(one, columns)} AS {_label(one.label)}" for one in query.measures]
    # How many rows stand behind a figure is told with it, unless that is the figure.
    counted = [] if Measure(function="count") in query.measures else ["count(*) AS rows"]
    lines = [f"SELECT {', '.join([*groups, *figures, *counted])}", f"FROM {columns.table}"]
    lines += _where(query.where, columns)
    if groups:
        lines.append(f"GROUP BY {', '.join(str(place) for place in range(1, len(groups) + 1))}")
    if query.having:
        lines.append("HAVING " + " AND ".join(_having(one, columns) for one in query.having))
    if query.averaged:
        inner = "\n  ".join(lines)
        means = [f"avg({_label(one.label)}) AS {_label(f'mean of {one.label}')}" for one in query.measures]
        return f"SELECT {', '.join(means)}, count(*) AS groups\nFROM (\n  {inner}\n)"
    lines += _order(query, columns)
    return "\n".join(lines)


def _label(name: str) -> str:
    """Any label as an SQL name."""
    return identifier(name.replace("\0", ""))


def stated(statement: str, columns: "Columns") -> str:
    """`statement` so that it runs by itself on the file: its path in place of the table."""
    place = columns.file
    if place is None:
        return statement
    return statement.replace(f"FROM {columns.table}", f"FROM {place}").replace(f"JOIN {columns.table}", f"JOIN {place}")


def _figure(measure: Measure, columns: "Columns") -> str:
    """The expression of one measure."""
    if measure.function == "share":
        whole = "count(*)" if not measure.column else f"sum({columns.expression(measure.column)})"
        if measure.where:
            return f"100.0 * {whole} FILTER (WHERE {every(measure.where, columns)}) / nullif({whole}, 0)"
        return f"100.0 * {whole} / sum({whole}) OVER ()"
    if not measure.column:
        return "count(*)"
    column = columns.expression(measure.column)
    if measure.function == "percentile":
        return f"quantile_cont({column}, {measure.percentile / 100:.6g})"
    return _FUNCTIONS[measure.function].format(column)


def bucket(group: Grouping, columns: "Columns") -> str:
    """The expression of one group."""
    column = columns.expression(group.column)
    return column if group.unit == "none" else _BUCKETS[group.unit].format(column)


def every(conditions: Sequence[Condition], columns: "Columns") -> str:
    """All conditions at once."""
    return " AND ".join(_condition(one, columns) for one in conditions) or "TRUE"


def _rows(query: TableQuery, columns: "Columns") -> str:
    names = () if "*" in query.select else query.select
    shown = ", ".join(f"{columns.expression(name)} AS {_label(name)}" for name in names) or "*"
    lines = [f"SELECT {shown}", f"FROM {columns.table}", *_where(query.where, columns)]
    if query.order is not None and query.order.by:
        by, way = query.order.by, "DESC" if query.order.descending else "ASC"
        # Ties are broken too, so that the same question has the same answer.
        rest = [columns.key] if columns.key is not None else columns.names[:_TIED]
        ties = ", ".join(columns.expression(name) for name in rest if name != by)
        lines.append(f"ORDER BY {columns.expression(by)} {way} NULLS LAST{', ' if ties else ''}{ties}")
    return "\n".join([*lines, *([f"LIMIT {query.limit}"] if query.limit else [])])


def _where(conditions: Sequence[Condition], columns: "Columns") -> list[str]:
    return [f"WHERE {every(conditions, columns)}"] if conditions else []


def _condition(condition: Condition, columns: "Columns") -> str:
    column = columns.expression(condition.column)
    if condition.part != "none":
        column = _PARTS[condition.part].format(column)
    values = condition.values
    operator = condition.op
    if operator in ("is_null", "not_null"):
        return f"{column} IS NULL" if operator == "is_null" else f"{column} IS NOT NULL"
    if operator in ("in", "not_in"):
        among = f"{column} {'IN' if operator == 'in' else 'NOT IN'} ({', '.join(map(literal, values))})"
        return among if operator == "in" else f"({among} OR {column} IS NULL)"
    if operator in ("contains", "not_contains"):
        # `LIKE` would take `%` and `_` in the value as patterns.
        found = f"contains(lower(CAST({column} AS VARCHAR)), lower({literal(str(values[0]))}))"
        return found if operator == "contains" else f"({column} IS NULL OR NOT {found})"
    return f"{column} {'IS DISTINCT FROM' if operator == '!=' else operator} {literal(values[0])}"


def _having(having: GroupCondition, columns: "Columns") -> str:
    return f"{_figure(having.measure, columns)} {having.op} {literal(having.value)}"


def _order(query: TableQuery, columns: "Columns") -> list[str]:
    groups = len(query.group_by)
    if not groups:
        return []
    order = query.order or _usual_order(query, columns)
    first = place_of_order(query, order) + 1
    way = "DESC" if order.descending else "ASC"
    # Ties are broken by the groups, so that the same question has the same answer.
    rest = [str(place) for place in range(1, groups + 1) if place != first]
    by = str(first)
    if first <= groups and query.group_by[first - 1].unit == "weekday":
        by = f"min(isodow({columns.expression(query.group_by[first - 1].column)}))"
    lines = [f"ORDER BY {', '.join([f'{by} {way} NULLS LAST', *rest])}"]
    return [*lines, f"LIMIT {query.limit}"] if query.limit else lines


def place_of_order(query: TableQuery, order: Ordering) -> int:
    """Which column of the answer groups are ordered by, from 0: a group's, or a measure's behind them."""
    groups = [group.column for group in query.group_by]
    figures = [place for place, one in enumerate(query.measures) if order.by in (one.label, one.function, one.column)]
    if not figures and order.by in groups:
        return groups.index(order.by)
    return len(groups) + (figures[0] if figures else 0)


def is_serial(group: Grouping, columns: "Columns") -> bool:
    """Whether its values follow each other, as times and numbers do."""
    return group.unit != "none" or columns.named(group.column).kind in ("number", "time")


def _usual_order(query: TableQuery, columns: "Columns") -> Ordering:
    """What follows each other stands in that order; other groups by the first figure, the largest first."""
    serial = next((group for group in query.group_by if is_serial(group, columns)), None)
    return Ordering(by=serial.column, descending=False) if serial else Ordering()
