"""A `TableQuery` held against the columns of a file, and as one SELECT.

The statement is whole: values stand in it as literals, so that it can be run as shown. Names are quoted and texts are
escaped, so SQL in a column's name or in a value stays a name and a value.
"""

from collections.abc import Sequence
from typing import Final

from retinue.catalogue.data_analyst.columns import Columns
from retinue.contract.table_query import Condition, Grouping, Measure, Ordering, TableQuery, TimeUnit
from retinue.errors import InvalidInput
from retinue.tools.data import identifier, literal

_ANY_KIND: Final = ("contains", "not_contains", "is_null", "not_null")
_DEFAULT_PERCENTILES: Final = (50.0, 90.0, 95.0, 99.0)
_FUNCTIONS: Final = {"mean": "avg({})", "stddev": "stddev_samp({})", "count_distinct": "count(DISTINCT {})"}
_MAX_TIE_COLUMNS: Final = 8
_BUCKETS: Final[dict[TimeUnit, str]] = {
    "none": "{}",
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


def resolve_query(query: TableQuery, columns: Columns) -> TableQuery:
    """`query` with the names of its columns as the file spells them.

    Raises:
        UnknownName: A column is none of the file's.
        InvalidInput: A figure or a comparison does not fit its column, or an order names nothing of the answer.
    """
    parts = {
        "measures": tuple(
            _resolve_measure(one, f"/parameters/measures/{at}", columns) for at, one in enumerate(query.measures)
        ),
        "group_by": tuple(
            _resolve_group(one, f"/parameters/group_by/{at}", columns) for at, one in enumerate(query.group_by)
        ),
        "where": _resolve_conditions(query.where, "/parameters/where", columns),
        "having": tuple(
            one.model_copy(update={"column": _resolve_measure(one.measure, f"/parameters/having/{at}", columns).column})
            for at, one in enumerate(query.having)
        ),
        "select": tuple(
            name if name == "*" else columns.resolve(name, path=f"/parameters/select/{at}").name
            for at, name in enumerate(query.select)
        ),
        "order": None if query.order is None else _resolve_order(query.order, query, columns),
    }
    return query.model_copy(update=parts)


def _resolve_measure(one: Measure, path: str, columns: Columns) -> Measure:
    column = columns.resolve(one.column, path=f"{path}/column") if one.column else None
    if column is None and one.function not in ("count", "share"):
        names = ", ".join([*columns][:12])
        raise InvalidInput(f"`{one.function}` needs a column.", hint=f"Set `column` to one of {names}.", path=path)
    counts = one.function in ("count", "count_distinct", "min", "max")
    if column is not None and not counts and column.kind != "number":
        numbers = ", ".join(each.name for each in columns.of_kind("number")[:12]) or "none"
        raise InvalidInput(
            f"`{column.name}` holds no numbers, so `{one.function}` of it cannot be computed.",
            hint=f"Columns of numbers: {numbers}.",
            path=f"{path}/column",
        )
    where = _resolve_conditions(one.where, f"{path}/where", columns)
    return one.model_copy(update={"column": "" if column is None else column.name, "where": where})


def _resolve_group(one: Grouping, path: str, columns: Columns) -> Grouping:
    column = columns.resolve(one.column, path=f"{path}/column")
    if one.unit != "none" and column.kind != "time":
        times = ", ".join(each.name for each in columns.of_kind("time")) or "none"
        raise InvalidInput(f"`{one.column}` holds no times.", hint=f"Columns of times: {times}.", path=f"{path}/unit")
    return one.model_copy(update={"column": column.name})


def _resolve_conditions(conditions: Sequence[Condition], path: str, columns: Columns) -> tuple[Condition, ...]:
    return tuple(_resolve_condition(one, f"{path}/{at}", columns) for at, one in enumerate(conditions))


def _resolve_condition(one: Condition, path: str, columns: Columns) -> Condition:
    column, values = columns.resolve(one.column, path=f"{path}/column"), one.values
    several = one.op in ("in", "not_in")
    if several != isinstance(one.value, tuple) or not values:
        requirement = "a list of values" if several else "one value"
        raise InvalidInput(
            f"`{one.op}` needs {requirement}.", hint=f"Set `value` to {requirement}.", path=f"{path}/value"
        )
    text = next((value for value in values if isinstance(value, str)), None)
    if column.kind == "number" and text is not None and one.op not in _ANY_KIND:
        raise InvalidInput(
            f"`{column.name}` holds numbers, and {text!r} is a text.",
            hint="Write the number without quotes.",
            path=f"{path}/value",
        )
    if column.kind == "text":
        values = tuple(map(str, values))
    return one.model_copy(update={"column": column.name, "value": values if several else values[0]})


def _resolve_order(order: Ordering, query: TableQuery, columns: Columns) -> Ordering:
    if not order.by or any(order.by in (one.label, one.function, one.column) for one in query.measures):
        return order
    name = columns.resolve(order.by, path="/parameters/order/by").name
    groups = [group.column for group in query.group_by]
    if not query.select and name not in groups:
        raise InvalidInput(
            f"The answer has no {order.by!r} to be ordered by.",
            hint=f"Name one of {', '.join([*(one.label for one in query.measures), *groups])}.",
            path="/parameters/order/by",
        )
    return order.model_copy(update={"by": name})


def with_percentiles(query: TableQuery, columns: Columns, points: Sequence[float]) -> TableQuery:
    """`query` with percentiles of its columns: `points`, else those it names, else 50, 90, 95 and 99.

    Raises:
        InvalidInput: No column of numbers is named, and there is not just one.
    """
    if not points and any(one.function == "percentile" for one in query.measures):
        return query
    names = dict.fromkeys(one.column for one in query.measures if one.column)
    chosen = [name for name in names if columns.resolve(name).kind == "number"]
    numbers = [one.name for one in columns.of_kind("number")]
    if not chosen and len(numbers) != 1:
        raise InvalidInput(
            "Percentiles need a column of numbers.",
            hint=f"Name one of {', '.join(numbers[:24])}." if numbers else "Name another file: this one has none.",
            path="/parameters/measures",
            suggestions=tuple(numbers[:24]),
        )
    measures = tuple(
        Measure(function="percentile", column=name, percentile=point)
        for name in chosen or numbers
        for point in points or _DEFAULT_PERCENTILES
    )
    return query.model_copy(update={"measures": measures, "select": (), "averaged": False})


def select_sql(query: TableQuery, columns: Columns) -> str:
    """The statement that answers `query`.

    Raises:
        UnknownName: A column is none of the table's.
    """
    where = [f"WHERE {conditions_sql(query.where, columns)}"] if query.where else []
    limit = [f"LIMIT {query.limit}"] if query.limit else []
    if query.select:
        names = () if "*" in query.select else query.select
        select_list = ", ".join(f"{columns.expression(name)} AS {_label(name)}" for name in names) or "*"
        return "\n".join(
            [f"SELECT {select_list}", f"FROM {columns.table}", *where, *_row_order_sql(query, columns), *limit]
        )
    groups = [f"{bucket_sql(group, columns)} AS {_label(group.label)}" for group in query.group_by]
    figures = [f"{_measure_sql(one, columns)} AS {_label(one.label)}" for one in query.measures]
    # How many rows stand behind a figure is told with it, unless that is the figure.
    row_count = [] if Measure(function="count") in query.measures else ["count(*) AS rows"]
    lines = [f"SELECT {', '.join([*groups, *figures, *row_count])}", f"FROM {columns.table}", *where]
    if groups:
        lines.append(f"GROUP BY {', '.join(map(str, range(1, len(groups) + 1)))}")
    if query.having:
        having = (f"{_measure_sql(one.measure, columns)} {one.op} {literal(one.value)}" for one in query.having)
        lines.append(f"HAVING {' AND '.join(having)}")
    if query.averaged:
        inner = "\n  ".join(lines)
        means = [f"avg({_label(one.label)}) AS {_label(f'mean of {one.label}')}" for one in query.measures]
        return f"SELECT {', '.join(means)}, count(*) AS groups\nFROM (\n  {inner}\n)"
    return "\n".join([*lines, *([_group_order_sql(query, columns), *limit] if groups else [])])


def _label(name: str) -> str:
    """Any label as an SQL name."""
    return identifier(name.replace("\0", ""))


def _measure_sql(measure: Measure, columns: Columns) -> str:
    """The expression of one measure."""
    column = columns.expression(measure.column) if measure.column else ""
    if measure.function == "share":
        whole = f"sum({column})" if column else "count(*)"
        if measure.where:
            return f"100.0 * {whole} FILTER (WHERE {conditions_sql(measure.where, columns)}) / nullif({whole}, 0)"
        return f"100.0 * {whole} / sum({whole}) OVER ()"
    if measure.function == "percentile":
        return f"quantile_cont({column}, {measure.percentile / 100:.6g})"
    return _FUNCTIONS.get(measure.function, f"{measure.function}({{}})").format(column or "*")


def bucket_sql(group: Grouping, columns: Columns) -> str:
    """The expression of one group."""
    return _BUCKETS[group.unit].format(columns.expression(group.column))


def conditions_sql(conditions: Sequence[Condition], columns: Columns) -> str:
    """All conditions at once."""
    return " AND ".join(_condition_sql(one, columns) for one in conditions) or "TRUE"


def _condition_sql(condition: Condition, columns: Columns) -> str:
    column, operator, values = columns.expression(condition.column), condition.op, condition.values
    if condition.part != "none":
        column = f"{'isodow' if condition.part == 'weekday' else condition.part}({column})"
    if operator in ("is_null", "not_null"):
        return f"{column} IS NULL" if operator == "is_null" else f"{column} IS NOT NULL"
    if operator in ("in", "not_in"):
        among = f"{column} {'IN' if operator == 'in' else 'NOT IN'} ({', '.join(map(literal, values))})"
        return among if operator == "in" else f"({among} OR {column} IS NULL)"
    if operator in ("contains", "not_contains"):
        # `LIKE` would take `%` and `_` in the value as patterns.
        contains = f"contains(lower(CAST({column} AS VARCHAR)), lower({literal(str(values[0]))}))"
        return contains if operator == "contains" else f"({column} IS NULL OR NOT {contains})"
    return f"{column} {'IS DISTINCT FROM' if operator == '!=' else operator} {literal(values[0])}"


def _row_order_sql(query: TableQuery, columns: Columns) -> list[str]:
    order = query.order
    if order is None or not order.by:
        return []
    # Ties are broken too, so that the same question has the same answer.
    rest = [*columns][:_MAX_TIE_COLUMNS] if columns.key is None else [columns.key]
    ties = [columns.expression(name) for name in rest if name != order.by]
    first = f"{columns.expression(order.by)} {'DESC' if order.descending else 'ASC'} NULLS LAST"
    return [f"ORDER BY {', '.join([first, *ties])}"]


def _group_order_sql(query: TableQuery, columns: Columns) -> str:
    """As asked; else what follows each other in that order, and other groups by the first figure, the largest first."""
    serial = next((group for group in query.group_by if is_serial(group, columns)), None)
    order = query.order or (Ordering(by=serial.column, descending=False) if serial else Ordering())
    groups, first = len(query.group_by), order_index(query, order)
    by = str(first + 1)
    if first < groups and query.group_by[first].unit == "weekday":
        by = f"min(isodow({columns.expression(query.group_by[first].column)}))"
    # Ties are broken by the groups, so that the same question has the same answer.
    ties = [str(place + 1) for place in range(groups) if place != first]
    first_by = f"{by} {'DESC' if order.descending else 'ASC'} NULLS LAST"
    return f"ORDER BY {', '.join([first_by, *ties])}"


def order_index(query: TableQuery, order: Ordering) -> int:
    """Which column of the answer groups are ordered by, from 0: a group's, or a measure's behind them."""
    groups = [group.column for group in query.group_by]
    figures = [place for place, one in enumerate(query.measures) if order.by in (one.label, one.function, one.column)]
    if not figures and order.by in groups:
        return groups.index(order.by)
    return len(groups) + (figures[0] if figures else 0)


def is_serial(group: Grouping, columns: Columns) -> bool:
    """Whether its values follow each other, as times and numbers do."""
    return group.unit != "none" or columns.resolve(group.column).kind in ("number", "time")
