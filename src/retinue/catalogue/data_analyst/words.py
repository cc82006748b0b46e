"""Figures, values, measures and conditions as people read them. Tables carry the exact figures."""

from collections.abc import Iterable, Sequence
from typing import Final

from retinue.catalogue._prose import Piece, Prose, code
from retinue.catalogue._report import plural
from retinue.contract.table import Cell
from retinue.contract.table_query import Condition, Function, Measure, TableQuery

__all__ = ["describe", "filters", "listed", "rows_counted", "shown", "text_of", "understood", "where"]

_EXACT: Final = 1_000
_LISTED: Final = 8
_ENDINGS: Final = {"1": "st", "2": "nd", "3": "rd"}
_WORDS: Final = {
    "=": "is", "!=": "is not", "<": "is below", "<=": "is at most", ">": "is above", ">=": "is at least",
    "in": "is one of", "not_in": "is none of", "contains": "contains", "not_contains": "does not contain",
    "is_null": "has no value", "not_null": "has a value",
}  # fmt: skip
_NAMES: Final = {
    "month": ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
              "November", "December"),
    "weekday": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
}  # fmt: skip
_NOUNS: Final[dict[Function, str]] = {
    "count": "number of values of {}", "count_distinct": "number of different {}", "share": "share of the total of {}",
    "sum": "total of {}", "mean": "mean of {}", "median": "median of {}", "min": "smallest {}", "max": "largest {}",
    "stddev": "standard deviation of {}",
}  # fmt: skip


def shown(value: Cell, unit: str | None = None) -> str:
    """A figure with thousands set apart and at most four significant digits behind a point, then its unit."""
    if value is None or isinstance(value, str | bool):
        return "no value" if value is None else str(value).lower() if isinstance(value, bool) else value
    if isinstance(value, int) or float(value).is_integer():
        text = f"{int(value):,}"
    elif abs(value) >= _EXACT:
        text = f"{value:,.1f}"
    else:
        short = f"{value:.4g}"
        text = short if "e" not in short else f"{value:.3g}"
    return f"{text} {unit}" if unit else text


def text_of(value: Cell) -> str:
    """A value as a label."""
    return shown(value) if value is None or isinstance(value, bool) else str(value)


def rows_counted(value: Cell) -> str:
    """A count with its noun."""
    return plural(int(value), "row") if isinstance(value, int | float) else shown(value)


def listed(pieces: Iterable[Piece | Prose | str], *, more: str = "") -> Prose:
    """Pieces between commas, and what follows when there are more."""
    several = tuple(pieces)
    return Prose(", ".join(["{}"] * len(several)) + more, several)


def describe(measure: Measure) -> Prose:
    """A measure as a noun."""
    if not measure.column:
        return Prose("share of the rows" if measure.function == "share" else "number of rows")
    if measure.function == "percentile":
        number = f"{measure.percentile:g}"
        ending = "th" if "." in number or number in ("11", "12", "13") else _ENDINGS.get(number[-1], "th")
        return Prose(f"{number}{ending} percentile of {{}}", (code(measure.column),))
    return Prose(_NOUNS[measure.function], (code(measure.column),))


def where(conditions: Sequence[Condition]) -> Prose:
    """The conditions as the end of a sentence: " where … and …"."""
    said = tuple(map(_condition, conditions))
    return Prose(f" where {' and '.join(['{}'] * len(said))}" if said else "", said)


def filters(conditions: Sequence[Condition]) -> list[str]:
    """Each condition in words."""
    return [_condition(one).plain() for one in conditions]


def understood(query: TableQuery) -> dict[str, list[str]]:
    """How a question was read."""
    found: dict[str, list[str]] = {
        "measure": ["the rows themselves"] if query.select else [describe(one).plain() for one in query.measures],
        "group": [one.label for one in query.group_by],
        "filter": filters((*query.where, *query.within)),
        "having": [f"{one.measure.label} {one.op} {one.value:g}" for one in query.having],
    }
    if query.order is not None:
        by = query.order.by or (query.measures[0].label if query.measures else "")
        found["order"] = [f"{by}, {'largest first' if query.order.descending else 'smallest first'}"]
    return {key: lines for key, lines in found.items() if lines}


def _condition(condition: Condition) -> Prose:
    """A condition as half a sentence."""
    name = "{}" if condition.part == "none" else f"the {condition.part} of {{}}"
    words, values = f"{name} {_WORDS[condition.op]}", condition.values
    if condition.op in ("is_null", "not_null"):
        return Prose(words, (code(condition.column),))
    more = f" and {len(values) - _LISTED} more" if len(values) > _LISTED else ""
    few = listed((code(_value(value, condition.part)) for value in values[:_LISTED]), more=more)
    return Prose(f"{words} {{}}", (code(condition.column), few))


def _value(value: Cell, part: str) -> str:
    names = _NAMES.get(part, ())
    if isinstance(value, int) and 0 < value <= len(names):
        return names[value - 1]
    return shown(value) if isinstance(value, float) else text_of(value)
