"""A query held against the columns of a file: names that there are, figures that can be computed."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from retinue.catalogue.data_analyst.columns import Columns
from retinue.contract.table_query import Condition, GroupCondition, Grouping, Measure, Ordering, TableQuery
from retinue.errors import InvalidInput

__all__ = ["checked_query", "with_percentiles"]

_OF_ANY: Final = ("contains", "not_contains", "is_null", "not_null")
_USUAL: Final = (50.0, 90.0, 95.0, 99.0)

T = TypeVar("T")


def checked_query(query: TableQuery, columns: Columns) -> TableQuery:
    """`query` with the names of its columns as the file spells them.

    Raises:
        UnknownName: A column is none of the file's.
        InvalidInput: A figure or a comparison does not fit its column, or an order names nothing of the answer.
    """
    parts = {
        "measures": _each(query.measures, _measure, "measures", columns),
        "group_by": _each(query.group_by, _group, "group_by", columns),
        "where": _each(query.where, _condition, "where", columns),
        "having": _each(query.having, _having, "having", columns),
        "select": _each(query.select, _selected, "select", columns),
    }
    order = None if query.order is None else _order(query.order, query, columns)
    return query.model_copy(update={**parts, "order": order})


def _each(several: Sequence[T], check: Callable[[T, str, Columns], T], name: str, columns: Columns) -> tuple[T, ...]:
    return tuple(check(one, f"/parameters/{name}/{place}", columns) for place, one in enumerate(several))


def _selected(name: str, path: str, columns: Columns) -> str:
    return name if name == "*" else columns.named(name, path=path).name


def _having(one: GroupCondition, path: str, columns: Columns) -> GroupCondition:
    return one.model_copy(update={"column": _measure(one.measure, path, columns).column})


def _measure(one: Measure, path: str, columns: Columns) -> Measure:
    column = columns.named(one.column, path=f"{path}/column") if one.column else None
    if column is None and one.function not in ("count", "share"):
        names = ", ".join(columns.names[:12])
        raise InvalidInput(f"`{one.function}` needs a column.", hint=f"Set `column` to one of {names}.", path=path)
    counts = one.function in ("count", "count_distinct", "min", "max")
    if column is not None and not counts and column.kind != "number":
        numbers = ", ".join(each.name for each in columns.numbers[:12]) or "none"
        raise InvalidInput(
            f"`{column.name}` holds no numbers, so `{one.function}` of it cannot be computed.",
            hint=f"Columns of numbers: {numbers}.",
            path=f"{path}/column",
        )
    where = tuple(_condition(each, f"{path}/where/{at}", columns) for at, each in enumerate(one.where))
    return one.model_copy(update={"column": "" if column is None else column.name, "where": where})


def _group(one: Grouping, path: str, columns: Columns) -> Grouping:
    column = columns.named(one.column, path=f"{path}/column")
    if one.unit != "none" and column.kind != "time":
        times = ", ".join(each.name for each in columns.times) or "none"
        raise InvalidInput(f"`{one.column}` holds no times.", hint=f"Columns of times: {times}.", path=f"{path}/unit")
    return one.model_copy(update={"column": column.name})


def _condition(one: Condition, path: str, columns: Columns) -> Condition:
    column, values = columns.named(one.column, path=f"{path}/column"), one.values
    several = one.op in ("in", "not_in")
    if several != isinstance(one.value, tuple) or (several and not one.value):
        needed = "a list of values" if several else "one value"
        raise InvalidInput(f"`{one.op}` needs {needed}.", hint=f"Set `value` to {needed}.", path=f"{path}/value")
    text = next((value for value in values if isinstance(value, str)), None)
    if column.kind == "number" and text is not None and one.op not in _OF_ANY:
        raise InvalidInput(
            f"`{column.name}` holds numbers, and {text!r} is a text.",
            hint="Write the number without quotes.",
            path=f"{path}/value",
        )
    if column.kind == "text":
        values = tuple(map(str, values))
    return one.model_copy(update={"column": column.name, "value": values if several else values[0]})


def _order(order: Ordering, query: TableQuery, columns: Columns) -> Ordering:
    if not order.by or any(order.by in (one.label, one.function, one.column) for one in query.measures):
        return order
    name = columns.named(order.by, path="/parameters/order/by").name
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
    names = list(dict.fromkeys(one.column for one in query.measures if one.column))
    names = [name for name in names if columns.named(name).kind == "number"]
    numbers = [one.name for one in columns.numbers]
    if not names and len(numbers) != 1:
        raise InvalidInput(
            "Percentiles need a column of numbers.",
            hint=f"Name one of {', '.join(numbers[:24])}." if numbers else "Name another file: this one has none.",
            path="/parameters/measures",
            suggestions=tuple(numbers[:24]),
        )
    measures = tuple(
        Measure(function="percentile", column=name, percentile=point)
        for name in names or numbers
        for point in points or _USUAL
    )
    return query.model_copy(update={"measures": measures, "select": (), "averaged": False})
