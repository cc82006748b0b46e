"""Figures, values and conditions as people read them. Tables carry the exact ones."""

from typing import Final

from retinue.catalogue._prose import Piece, code
from retinue.contract.table import Cell
from retinue.contract.table_query import Condition, Function, Measure

__all__ = ["condition_words", "measure_words", "plural", "shown", "text_of"]

_EXACT: Final = 1_000
_LISTED: Final = 8
_WORDS: Final = {
    "=": "is", "!=": "is not", "<": "is below", "<=": "is at most", ">": "is above", ">=": "is at least",
    "in": "is one of", "not_in": "is none of", "contains": "contains", "not_contains": "does not contain",
}  # fmt: skip
_MONTHS: Final = "January February March April May June July August September October November December".split()  # noqa: SIM905 - twelve words
_WEEKDAYS: Final = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()  # noqa: SIM905 - seven words

_NOUNS: Final[dict[Function, str]] = {
    "count": "number of values of {}", "count_distinct": "number of different {}", "share": "share of the total of {}",
    "sum": "total of {}", "mean": "mean of {}", "median": "median of {}", "min": "smallest {}", "max": "largest {}",
    "stddev": "standard deviation of {}",
}  # fmt: skip
_NOUNS_OF_ROWS: Final[dict[Function, str]] = {"count": "number of rows", "share": "share of the rows"}


def shown(value: Cell, unit: str | None = None) -> str:
    """A figure with thousands set apart and at most four significant digits behind a point, then its unit."""
    if value is None:
        return "no value"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    text = _number(value)
    return f"{text} {unit}" if unit else text


def _number(value: float) -> str:
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    if abs(value) >= _EXACT:
        return f"{value:,.1f}"
    short = f"{value:.4g}"
    return short if "e" not in short else f"{value:.3g}"


def text_of(value: Cell) -> str:
    """A value as a label."""
    return "no value" if value is None else shown(value) if isinstance(value, bool) else str(value)


def plural(count: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 row`, `2,000 rows`."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def measure_words(measure: Measure) -> str:
    """A measure as a noun, with `{}` where its column stands."""
    function = measure.function
    if function == "percentile":
        return f"{measure.percentile:g}th percentile of {{}}"
    return _NOUNS[function] if measure.column else _NOUNS_OF_ROWS[function]


def condition_words(condition: Condition) -> tuple[str, list[Piece]]:
    """A condition as half a sentence, and the pieces for its `{}`."""
    name = "{}" if condition.part == "none" else f"the {condition.part} of {{}}"
    column = code(condition.column)
    if condition.op == "is_null":
        return f"{name} has no value", [column]
    if condition.op == "not_null":
        return f"{name} has a value", [column]
    values = condition.values
    listed = [code(_value(value, condition)) for value in values[:_LISTED]]
    more = f" and {len(values) - _LISTED} more" if len(values) > _LISTED else ""
    return f"{name} {_WORDS[condition.op]} {', '.join(['{}'] * len(listed))}{more}", [column, *listed]


def _value(value: Cell, condition: Condition) -> str:
    if isinstance(value, int) and condition.part in ("month", "weekday"):
        names = _MONTHS if condition.part == "month" else _WEEKDAYS
        return names[value - 1] if 0 < value <= len(names) else str(value)
    return shown(value) if isinstance(value, float) else text_of(value)
