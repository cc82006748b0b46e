"""Typed parameters of a task as a `Wanted`: what a program sets instead of words, checked against the columns."""

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from retinue.catalogue.data_analyst.columns import Columns
from retinue.catalogue.data_analyst.reading import Reading
from retinue.catalogue.data_analyst.wanted import Condition, Function, Group, Measure, Operator, Order, Unit, Wanted
from retinue.contract.model import JsonMapping
from retinue.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from retinue.contract.table import Cell

__all__ = ["answers_in", "is_typed", "wanted_of"]


def is_typed(parameters: JsonMapping) -> bool:
    """Whether a program has said what is measured, so that open words need not be asked about."""
    return bool(parameters.get("measures"))


def answers_in(parameters: JsonMapping, constraints: tuple[str, ...]) -> dict[str, str]:
    """What was said to earlier questions: as `meanings`, or by a person during the run."""
    from retinue.catalogue.data_analyst.asked import question_id  # noqa: PLC0415 - asked needs the same values as this

    given = cast("Mapping[str, object]", parameters.get("meanings") or {})
    found = {question_id(words): str(column) for words, column in given.items()}
    for line in constraints:
        key, separator, value = line.partition(": ")
        if separator:
            found[key] = value
    return found


def wanted_of(reading: Reading, parameters: JsonMapping, columns: Columns) -> Wanted:
    """What words say, with typed parameters in place of what they say (typed wins).

    Raises:
        UnknownName: A column is none of the file's.
        InvalidInput: A measure does not fit its column, or an order names nothing of the answer.
    """
    wanted = reading.wanted
    if typed := _list(parameters, "measures"):
        wanted = replace(
            wanted,
            measures=tuple(_measure(one, place, columns) for place, one in enumerate(typed)),
            rows=False,
            averaged=False,
        )
    if typed := _list(parameters, "group_by"):
        wanted = replace(
            wanted, groups=tuple(_group(one, place, columns) for place, one in enumerate(typed)), rows=False
        )
    if typed := _list(parameters, "where"):
        conditions = tuple(_condition(one, place, columns) for place, one in enumerate(typed))
        wanted = replace(wanted, conditions=conditions, within=())
    if (order := _ordering(parameters)) is not None:
        wanted = replace(wanted, order=_order(order, wanted, columns))
    elif wanted.order is not None and isinstance(wanted.order.by, int):
        wanted = replace(wanted, order=replace(wanted.order, by=min(wanted.order.by, len(wanted.measures) - 1)))
    limit = parameters.get("limit")
    if isinstance(limit, int) and limit > 0 and not _is_compared(limit, reading.wanted):
        wanted = replace(wanted, limit=limit)
    return wanted


def _is_compared(limit: int, read: Wanted) -> bool:
    """A planner reads "at most 100" as a limit too; in words it is a comparison."""
    values = [one.value for one in (*read.conditions, *read.within, *read.having)]
    return read.limit is None and limit in values


def _ordering(parameters: JsonMapping) -> JsonMapping | None:
    """The order that was set; what a schema fills in by itself sets none."""
    given = parameters.get("order")
    order = cast("JsonMapping", given) if isinstance(given, dict) else {}
    return order if order.get("by") or order.get("descending") is False else None


def _list(parameters: JsonMapping, name: str) -> list[JsonMapping]:
    given = parameters.get(name)
    return cast("list[JsonMapping]", given) if isinstance(given, list) else []


def _measure(one: JsonMapping, place: int, columns: Columns) -> Measure:
    path = f"/parameters/measures/{place}"
    function = cast("Function", one["function"])
    name = one.get("column")
    if not name:
        if function not in ("count", "share"):
            raise InvalidInput(
                f"`{function}` needs a column.",
                hint=f"Set `column` to one of {', '.join(columns.names[:12])}.",
                path=path,
            )
        return Measure(function)
    column = columns.named(str(name), path=f"{path}/column")
    if function not in ("count", "count_distinct", "min", "max") and column.kind != "number":
        numbers = ", ".join(one.name for one in columns.numbers[:12]) or "none"
        raise InvalidInput(
            f"`{column.name}` holds no numbers, so `{function}` of it is nothing.",
            hint=f"Columns of numbers: {numbers}.",
            path=f"{path}/column",
        )
    percentile = one.get("percentile")
    if function == "percentile" and not isinstance(percentile, int | float):
        raise InvalidInput(
            "`percentile` says which one.", hint="Set `percentile` to a number from 0 to 100.", path=path
        )
    return Measure(function, column.name, float(percentile) if isinstance(percentile, int | float) else None)


def _group(one: JsonMapping, place: int, columns: Columns) -> Group:
    path = f"/parameters/group_by/{place}"
    column = columns.named(str(one["column"]), path=f"{path}/column")
    said = str(one.get("unit") or "none")
    unit = None if said == "none" else cast("Unit", said)
    if unit is not None and column.kind != "time":
        times = ", ".join(one.name for one in columns.times) or "none"
        raise InvalidInput(f"`{column.name}` holds no times.", hint=f"Columns of times: {times}.", path=f"{path}/unit")
    return Group(column.name, unit)


def _condition(one: JsonMapping, place: int, columns: Columns) -> Condition:
    path = f"/parameters/where/{place}"
    column = columns.named(str(one["column"]), path=f"{path}/column")
    operator = cast("Operator", one["op"])
    value = one.get("value")
    if operator in ("in", "not_in"):
        if not isinstance(value, list) or not value:
            raise InvalidInput(
                f"`{operator}` needs a list of values.", hint="Set `value` to a list.", path=f"{path}/value"
            )
        return Condition(column.name, operator, tuple(cast("list[Cell]", value)))
    if operator in ("is_null", "not_null"):
        return Condition(column.name, operator)
    if isinstance(value, list | dict) or value is None:
        raise InvalidInput(
            f"`{operator}` needs one value.", hint="Set `value`; for no value use `is_null`.", path=f"{path}/value"
        )
    is_text = isinstance(value, str)
    if column.kind == "number" and is_text and operator not in ("contains", "not_contains"):
        raise InvalidInput(
            f"`{column.name}` holds numbers, and {value!r} is a text.",
            hint="Write the number without quotes.",
            path=f"{path}/value",
        )
    if column.kind == "text" and not is_text:
        value = str(value)
    return Condition(column.name, operator, cast("Cell", value))


def _order(order: JsonMapping, wanted: Wanted, columns: Columns) -> Order:
    by, descending = str(order.get("by") or ""), order.get("descending") is not False
    if not by:
        return Order(0, descending=descending)
    for place, measure in enumerate(wanted.measures):
        if by in (measure.label, measure.function, measure.column):
            return Order(place, descending=descending)
    column = columns.named(by, path="/parameters/order/by").name
    if not wanted.rows and all(group.column != column for group in wanted.groups):
        labels = [measure.label for measure in wanted.measures]
        raise InvalidInput(
            f"The answer has no {by!r} to be ordered by.",
            hint=f"Name one of {', '.join([*labels, *(group.column for group in wanted.groups)])}.",
            path="/parameters/order/by",
        )
    return Order(column, descending=descending)
