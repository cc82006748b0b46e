"""The comparisons in a question: "more than", "at least", "between"; and what they are about."""

from typing import Final, cast

from retinue.catalogue.data_analyst.asked import Asked
from retinue.catalogue.data_analyst.columns import Column
from retinue.catalogue.data_analyst.conditions import NEGATED, is_negated, whole
from retinue.catalogue.data_analyst.items import Item
from retinue.catalogue.data_analyst.wanted import Condition, Function, Having, Measure, Operator
from retinue.contract.table import Cell

__all__ = ["read_comparisons"]

_SECONDS: Final = {
    "ms": 0.001, "s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0, "minute": 60.0, "minutes": 60.0, "min": 60.0,
    "mins": 60.0, "hour": 3600.0, "hours": 3600.0, "h": 3600.0, "day": 86400.0, "days": 86400.0,
    "millisecond": 0.001, "milliseconds": 0.001,
}  # fmt: skip
_A_MINUTE: Final = 60.0
_SIZES: Final = {"bytes": 1.0, "kb": 1e3, "kB": 1e3, "mb": 1e6, "MB": 1e6, "gb": 1e9, "GB": 1e9, "byte": 1.0}
_IN_TIME: Final = frozenset({"after", "before", "since", "until", "later than", "earlier than"})
_MEASURES_OF: Final = {
    "miles": "distance",
    "mile": "distance",
    "km": "distance",
    "kilometers": "distance",
    "kilometres": "distance",
    "feet": "altitude",
    "ft": "altitude",
}


def read_comparisons(asked: Asked) -> None:
    """Read "more than 60 minutes of delay", "distance between 500 and 800", "carriers with at least 1000 flights"."""
    for place in list(asked.places("between")):
        _between(asked, place)
    for place in list(asked.places("compare")):
        following = asked.at(place + 1) if asked.at(place + 1).role == "number" else asked.at(asked.after(place))
        if asked.items[place].text.casefold() in _IN_TIME and _is_year(asked, following):
            continue  # "after 2005" is said of the time
        if following.role == "number" and following.number is not None and not following.used:
            _compared(asked, place, following)
        elif following.role not in ("date", "month", "weekday"):
            asked.items[place].used = True  # "over all carriers" compares nothing


def _is_year(asked: Asked, number: Item) -> bool:
    has_years = asked.plain_number("year") is not None or asked.columns.day is not None or bool(asked.columns.times)
    return has_years and number.text.isdecimal() and not number.unit and 1900 <= (number.number or 0) <= 2100


def _compared(asked: Asked, place: int, number: Item) -> None:
    compare = asked.items[place]
    operator = cast("Operator", compare.payload)
    if is_negated(asked, place):
        operator = NEGATED[operator]
    at = asked.items.index(number)
    after, unit = _unit_after(asked, at)
    following = asked.at(after)
    words = " ".join(one.text for one in asked.items[place : at + 1])
    if following.role == "rows" and not unit:
        _use(compare, number)
        asked.having.append(Having(Measure("count"), operator, whole(number.number or 0), words=words))
        return
    column, measure = _compared_column(asked, place, after, unit)
    if column is None and not asked.questions:
        column = asked.ask(words, f"What is `{words}` said of?", asked.number_names)
    if column is None:
        _use(compare, number)
        return
    value = _in_unit_of(asked, column, number.number or 0, unit)
    _use(compare, number)
    if measure is not None:
        asked.having.append(Having(Measure(measure, column.name), operator, value, words=words))
        return
    asked.conditions.append(Condition(column.name, operator, value, words=f"{words} {unit}".strip()))


def _unit_after(asked: Asked, at: int) -> tuple[int, str]:
    """The place after a number and its unit, and the unit."""
    number, following = asked.at(at), asked.at(at + 1)
    if number.unit:
        return asked.after(at), number.unit
    low = following.text.casefold()
    if following.role in ("unit", "word", "measure") and (low in _SECONDS or low in _SIZES or low in _MEASURES_OF):
        following.used = True
        return asked.after(at + 1), low
    return asked.after(at), ""


def _compared_column(asked: Asked, place: int, after: int, unit: str) -> tuple[Column | None, Function | None]:
    """What a comparison is about: the column before it or after it, or what its unit measures."""
    following = asked.at(after)
    back = asked.before(place, "is", "not")
    if asked.at(back).role == "word" and asked.at(asked.before(back, "is")).role == "column":
        back = asked.before(back, "is")
    before = asked.at(back)
    if back >= 0 and before.role in ("column", "unit", "measure") and not before.used and _is_measured(asked, before):
        return asked.pick(before, "number"), _function_of_groups(asked, back)
    if following.role == "column" and _is_measured(asked, following) and not following.used:
        return asked.pick(following, "number"), None
    last = asked.at(asked.before(place, "and"))
    if asked.conditions and last.role == "number" and last.used and last.text in asked.conditions[-1].words:
        return asked.columns.get(asked.conditions[-1].column), None  # "a distance above 500 and below 800"
    if unit in _SECONDS:
        return asked.family("duration", unit), None
    word = "bytes" if unit in _SIZES else _MEASURES_OF.get(unit, "")
    hit = asked.lexicon.column((word,)) if word else None
    return (asked.columns.get(hit.columns[0]) if hit is not None and len(hit.columns) == 1 else None), None


def _function_of_groups(asked: Asked, place: int) -> Function | None:
    """The function that makes of a comparison one of groups: "carriers with an average delay above 10"."""
    lead = asked.at(asked.before(place))
    figured = lead.role == "measure" and not lead.used and lead.payload not in ("count", "count_distinct")
    if not figured or not _has_group_before(asked, place):
        return None
    lead.used = True
    return cast("Function", lead.payload)


def _has_group_before(asked: Asked, place: int) -> bool:
    return any(item.role in ("column", "which", "group") for item in asked.items[: max(place - 1, 0)])


def _is_measured(asked: Asked, item: Item) -> bool:
    return any(asked.is_number(name) for name in item.columns)


def _in_unit_of(asked: Asked, column: Column, number: float, unit: str) -> Cell:
    """The number in the unit of the column, when both are known."""
    own = column.unit or ""
    for scale in (_SECONDS, _SIZES):
        if unit in scale and own in scale:
            return whole(round(number * scale[unit] / scale[own], 9))
    if unit in _SECONDS and _SECONDS[unit] > _A_MINUTE and not own:
        said = f"{number:g} {unit}"
        asked.ask(said, f"`{column.name}` does not say its unit. How much is {said} in it, as a number?", ())
    elif unit not in ("", "%", own):
        asked.note(f"`{column.name}` does not say its unit: {number:g} {unit} is compared as {number:g}.")
    return whole(number)


def _between(asked: Asked, place: int) -> None:
    at = asked.after(place, "from")
    low, joint, high = asked.at(at), asked.at(at + 1), asked.at(at + 2)
    if low.role != "number" or high.role != "number" or low.number is None or high.number is None:
        return
    after, unit = _unit_after(asked, at + 2)
    column, _ = _compared_column(asked, place, after, unit)
    words = f"{low.text} {joint.text} {high.text}"
    negated = is_negated(asked, place)
    _use(asked.items[place], low, joint, high)
    if column is None:
        column = asked.ask(words, f"What is between {low.text} and {high.text}?", asked.number_names)
    if column is None:
        return
    least, most = sorted((low.number, high.number))
    if negated:
        asked.ask(words, f"Say what is wanted instead of {words}: what is below it, or what is above it?", ())
        return
    first = Condition(column.name, ">=", _in_unit_of(asked, column, least, unit), words=words)
    second = Condition(column.name, "<=", _in_unit_of(asked, column, most, unit), words=words)
    asked.conditions += [first, second]


def _use(*items: Item) -> None:
    for item in items:
        item.used = True
