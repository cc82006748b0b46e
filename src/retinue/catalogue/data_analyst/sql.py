"""A `Wanted` as one SELECT. The statement is whole: values stand in it as literals, so that it can be run as shown.

Names are quoted and texts are escaped, so SQL in a column's name or in a value stays a name and a value.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from retinue.catalogue.data_analyst.literal import literal
from retinue.catalogue.data_analyst.wanted import Condition, Group, Having, Measure, Order, Part, Unit, Wanted

if TYPE_CHECKING:
    from retinue.catalogue.data_analyst.columns import Columns

__all__ = ["bucket", "every", "select", "stated"]

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
_PARTS: Final[dict[Part, str]] = {
    "month": "month({})",
    "year": "year({})",
    "weekday": "isodow({})",
    "hour": "hour({})",
}
_BUCKETS: Final[dict[Unit, str]] = {
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


def select(wanted: Wanted, columns: "Columns") -> str:
    """The statement that answers `wanted`.

    Raises:
        UnknownName: A column is none of the table's.
    """
    if wanted.rows:
        return _rows(wanted, columns)
    groups = [f"{bucket(group, columns)} AS {columns.quoted(group.label)}" for group in wanted.groups]
    figures = [f"{_figure(one, wanted, columns)} AS {columns.quoted(one.label)}" for one in wanted.measures]
    # How many rows stand behind a figure is told with it, unless that is the figure.
    counted = [] if any(one == Measure("count", words=one.words) for one in wanted.measures) else ["count(*) AS rows"]
    lines = [f"SELECT {', '.join([*groups, *figures, *counted])}", f"FROM {columns.table}"]
    lines += _where(wanted.conditions, columns)
    if groups:
        lines.append(f"GROUP BY {', '.join(str(place) for place in range(1, len(groups) + 1))}")
    if wanted.having:
        lines.append("HAVING " + " AND ".join(_having(one, wanted, columns) for one in wanted.having))
    if wanted.averaged:
        inner = "\n  ".join(lines)
        means = [
            f"avg({columns.quoted(one.label)}) AS {columns.quoted(f'mean of {one.label}')}" for one in wanted.measures
        ]
        return f"SELECT {', '.join(means)}, count(*) AS groups\nFROM (\n  {inner}\n)"
    lines += _order(wanted, columns)
    return "\n".join(lines)


def stated(statement: str, columns: "Columns") -> str:
    """`statement` so that it runs by itself on the file: its path in place of the table."""
    place = columns.file
    return statement if place is None else statement.replace(f"FROM {columns.table}", f"FROM {place}")


def _figure(measure: Measure, wanted: Wanted, columns: "Columns") -> str:
    """The expression of one measure."""
    if measure.function == "share":
        whole = "count(*)" if measure.column is None else f"sum({columns.expression(measure.column)})"
        if wanted.within:
            return f"100.0 * {whole} FILTER (WHERE {every(wanted.within, columns)}) / nullif({whole}, 0)"
        return f"100.0 * {whole} / sum({whole}) OVER ()"
    if measure.column is None:
        return "count(*)"
    column = columns.expression(measure.column)
    if measure.function == "percentile":
        return f"quantile_cont({column}, {(measure.percentile or 0) / 100:.6g})"
    return _FUNCTIONS[measure.function].format(column)


def bucket(group: Group, columns: "Columns") -> str:
    """The expression of one group."""
    column = columns.expression(group.column)
    return column if group.unit is None else _BUCKETS[group.unit].format(column)


def every(conditions: Sequence[Condition], columns: "Columns") -> str:
    """All conditions at once."""
    return " AND ".join(_condition(one, columns) for one in conditions) or "TRUE"


def _rows(wanted: Wanted, columns: "Columns") -> str:
    shown = ", ".join(f"{columns.expression(name)} AS {columns.quoted(name)}" for name in wanted.columns) or "*"
    lines = [f"SELECT {shown}", f"FROM {columns.table}", *_where(wanted.conditions, columns)]
    if wanted.order is not None and isinstance(wanted.order.by, str):
        way = "DESC" if wanted.order.descending else "ASC"
        # Ties are broken too, so that the same question has the same answer.
        rest = [columns.key] if columns.key is not None else columns.names[:_TIED]
        ties = ", ".join(columns.expression(name) for name in rest if name != wanted.order.by)
        lines.append(f"ORDER BY {columns.expression(wanted.order.by)} {way} NULLS LAST{', ' if ties else ''}{ties}")
    if wanted.limit is not None:
        lines.append(f"LIMIT {wanted.limit}")
    return "\n".join(lines)


def _where(conditions: Sequence[Condition], columns: "Columns") -> list[str]:
    return [f"WHERE {every(conditions, columns)}"] if conditions else []


def _condition(condition: Condition, columns: "Columns") -> str:
    column = columns.expression(condition.column)
    if condition.part is not None:
        column = _PARTS[condition.part].format(column)
    values = condition.value if isinstance(condition.value, tuple) else (condition.value,)
    operator = condition.operator
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


def _having(having: Having, wanted: Wanted, columns: "Columns") -> str:
    return f"{_figure(having.measure, wanted, columns)} {having.operator} {literal(having.value)}"


def _order(wanted: Wanted, columns: "Columns") -> list[str]:
    groups = len(wanted.groups)
    if not groups:
        return []
    order = wanted.order or _usual_order(wanted)
    if isinstance(order.by, int):
        first = groups + order.by + 1
    else:
        first = next((place for place, group in enumerate(wanted.groups, 1) if group.column == order.by), 1)
    way = "DESC" if order.descending else "ASC"
    # Ties are broken by the groups, so that the same question has the same answer.
    rest = [str(place) for place in range(1, groups + 1) if place != first]
    by = str(first)
    if first <= groups and wanted.groups[first - 1].unit == "weekday":
        by = f"min(isodow({columns.expression(wanted.groups[first - 1].column)}))"
    lines = [f"ORDER BY {', '.join([f'{by} {way} NULLS LAST', *rest])}"]
    return [*lines, f"LIMIT {wanted.limit}"] if wanted.limit is not None else lines


def _usual_order(wanted: Wanted) -> Order:
    """What follows each other in time stands in that order; other groups by the first figure, the largest first."""
    timed = next((group for group in wanted.groups if group.unit is not None or group.serial), None)
    return Order(timed.column, descending=False) if timed else Order(0)
