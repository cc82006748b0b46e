"""The values in a question: "for carrier UA", "JFK or LGA", "status 500", and the column that each is one of."""

from math import isfinite, nan
from typing import Final

from retinue.catalogue.data_analyst.asked import Asked
from retinue.catalogue.data_analyst.conditions import add_condition, is_negated, whole
from retinue.catalogue.data_analyst.items import Item
from retinue.catalogue.data_analyst.wanted import Condition, Operator

__all__ = ["read_values"]

_FROM: Final = frozenset(
    {"origin", "from", "source", "src", "sender", "start", "departure", "from_station", "start_station"}
)
_TO: Final = frozenset(
    {"dest", "destination", "to", "target", "receiver", "recipient", "arrival", "end", "end_station"}
)


def read_values(asked: Asked) -> None:
    """Read "for carrier UA", "JFK or LGA", "status 500", "not from EWR"."""
    for place in list(asked.places("value")):
        if not asked.items[place].used:
            _value_list(asked, place)
    for place in list(asked.places("number")):
        if not asked.items[place].used:
            _numbered(asked, place)


def _value_list(asked: Asked, place: int) -> None:
    """One value, or several of the same column joined by "and" or "or"."""
    item = asked.items[place]
    if not item.values:
        _quoted_value(asked, place)
        return
    column = _column_of(asked, place)
    if column is None:
        return
    written = dict(item.values).get(column, item.text)
    values, last, end = [written], place, place
    while asked.at(end + 1).role in ("and", "stop") or asked.at(end + 1).role == "not":
        following = end + 1
        while asked.at(following).role in ("and", "stop", "not", "from", "to"):
            following += 1
        other = asked.at(following)
        joined = [asked.at(one) for one in range(last + 1, following)]
        if other.role != "value" or column not in dict(other.values) or not any(one.role == "and" for one in joined):
            break
        if any(one.role in ("from", "to") for one in joined) and len(dict(other.values)) > 1:
            break
        values.append(dict(other.values)[column])
        other.used = True
        for one in joined:
            one.used = True
        last = end = following
    item.used = True
    words = " ".join(one.text for one in asked.items[place : end + 1])
    negated = is_negated(asked, place)
    condition = Condition(column, "=", values[0], words=words)
    if len(values) > 1:
        condition = Condition(column, "in", tuple(dict.fromkeys(values)), words=words)
    add_condition(asked, condition, negated=negated)


def _column_of(asked: Asked, place: int) -> str | None:
    """The column that a value is one of: the one it stands beside, else the only one, else by "from" and "to"."""
    item = asked.items[place]
    holding = tuple(dict(item.values))
    for beside in (asked.before(place, "is", "not", "compare"), asked.after(place)):
        other = asked.at(beside)
        near = [name for name in other.columns if name in holding]
        if beside >= 0 and other.role == "column" and near:
            if beside > place and asked.at(asked.after(beside)).role in ("value", "number"):
                continue  # "UA and origin JFK": the column belongs to what follows it
            other.used = True
            return near[0]
    back = asked.at(place - 1) if asked.at(place - 1).role in ("from", "to") else asked.at(asked.before(place))
    if back.role in ("from", "to"):
        back.used = True
        ends = [name for name in asked.columns.names if name.casefold() in (_FROM if back.role == "from" else _TO)]
        others = [name for name in asked.columns.names if name.casefold() in (_TO if back.role == "from" else _FROM)]
        near = [name for name in holding if name in ends]
        if len(near) == 1:
            return near[0]
        if len(ends) == 1 and set(holding) <= set(others):
            return ends[0]
    if len(holding) == 1:
        return holding[0]
    asked.ask(item.text, f"In which column is `{item.text}` meant?", holding)
    item.used = True
    return None


def _quoted_value(asked: Asked, place: int) -> None:
    """A text in quotes that no short list of values has: its column decides."""
    item = asked.items[place]
    back = asked.at(asked.before(place, "is", "not", "compare"))
    column = asked.pick(back, "text") if back.role == "column" and not back.used else None
    texts = [one for one in asked.columns if one.kind == "text"]
    if column is None:
        found = [(one, text) for one in texts[:50] if (text := asked.columns.holds(one.name, item.text)) is not None]
        if len(found) > 1:
            asked.ask(item.text, f"In which column is `{item.text}` meant?", tuple(one.name for one, _ in found))
            item.used = True
            return
        if found:
            column = found[0][0]
    if column is None:
        asked.ask_meaning(item)
        item.used = True
        return
    item.used = True
    negated = is_negated(asked, place)
    if column.kind == "number":
        _quoted_number(asked, column.name, item, negated=negated)
        return
    written = asked.columns.holds(column.name, item.text)
    operator: Operator = "contains" if written is None else "="
    condition = Condition(column.name, operator, written or item.text, words=item.text)
    add_condition(asked, condition, negated=negated)


def _quoted_number(asked: Asked, column: str, item: Item, *, negated: bool) -> None:
    try:
        number = float(item.text)
    except ValueError:
        number = nan
    if not isfinite(number):
        asked.ask_meaning(item)
        return
    add_condition(asked, Condition(column, "=", whole(number), words=item.text), negated=negated)


def _numbered(asked: Asked, place: int) -> None:
    """Read "status 500", "month 3 or 4", "5xx"."""
    item = asked.items[place]
    found = _column_of_number(asked, place)
    if item.number is None or found is None:
        return
    column, back = found
    if item.unit == "xx":
        _use(item, back)
        _hundred(asked, column, place)
        return
    values, end = [whole(item.number)], place
    while asked.at(end + 1).role == "and":
        following = asked.after(end + 1, "and")
        other = asked.at(following)
        if other.role != "number" or other.number is None or asked.at(following + 1).role == "rows":
            break
        values.append(whole(other.number))
        other.used = asked.at(end + 1).used = True
        end = following
    negated = is_negated(asked, place) or (back is not item and is_negated(asked, asked.items.index(back)))
    _use(item, back)
    words = f"{back.text} {' '.join(one.text for one in asked.items[place : end + 1])}"
    condition = Condition(column, "=", values[0], words=words)
    if len(values) > 1:
        condition = Condition(column, "in", tuple(values), words=words)
    add_condition(asked, condition, negated=negated)


def _column_of_number(asked: Asked, place: int) -> tuple[str, Item] | None:
    """The column of numbers that a bare number is one of, and the item that names it."""
    item, back_place = asked.items[place], asked.before(place, "is")
    back = asked.at(back_place)
    if back.role == "compare" and back.payload in ("=", "!="):
        back.used = True
        if back.payload == "!=":
            back.role = "not"
        back_place = asked.before(back_place, "is")
    if asked.at(back_place).role == "not":
        back_place = asked.before(back_place, "is")
    back = asked.at(back_place)
    named = [name for name in back.columns if asked.is_number(name)] if back.role in ("column", "unit") else []
    if len(named) == 1:
        return named[0], back
    if not named and (item.unit == "xx" or (asked.columns.source.kind == "log" and _is_status(asked, place))):
        status = asked.plain_number("status")
        return None if status is None else (status.name, item)
    return None


def _hundred(asked: Asked, column: str, place: int) -> None:
    """Read "5xx": 500 to 599."""
    item = asked.items[place]
    low = int(item.number or 0)
    if is_negated(asked, place):
        asked.conditions.append(Condition(column, "not_in", tuple(range(low, low + 100)), words=item.text))
        return
    asked.conditions.append(Condition(column, ">=", low, words=item.text))
    asked.conditions.append(Condition(column, "<", low + 100, words=item.text))


def _is_status(asked: Asked, place: int) -> bool:
    """A bare number that web servers answer with: "which paths return 404"."""
    item, before = asked.items[place], asked.at(asked.before(place))
    whole = item.number is not None and item.number.is_integer() and 100 <= item.number < 600 and not item.unit
    return whole and before.role not in ("compare", "between", "top", "super") and asked.at(place + 1).role != "unit"


def _use(*items: Item) -> None:
    for item in items:
        item.used = True
