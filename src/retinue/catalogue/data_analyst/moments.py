"""Dates, months, weekdays and years in a question, as conditions on whatever column says when."""

from typing import Final, cast

from retinue.catalogue.data_analyst.asked import Asked
from retinue.catalogue.data_analyst.conditions import add_condition, is_negated
from retinue.catalogue.data_analyst.items import Item
from retinue.catalogue.data_analyst.wanted import Condition, Operator, Part

__all__ = ["read_moments"]

_EDGES: Final[dict[str, Operator]] = {
    "since": ">=", "from": ">=", "after": ">", "later than": ">", "before": "<", "until": "<=", "till": "<=",
    "up to": "<=", "starting": ">=", "earlier than": "<", "to": "<=", "newer than": ">", "older than": "<",
    "no later than": "<=", "over": ">", "under": "<",
}  # fmt: skip
_COMPARING: Final = frozenset({"compare", "compared", "comparing", "comparison", "difference", "differ", "differs"})
_YEARS: Final = (1900, 2100)
_OF_TIME: Final = frozenset({"in", "of", "during", "for", "on", "within", "through", "throughout", "year"})


def read_moments(asked: Asked) -> None:
    """Read "in March", "on 2013-07-04", "between January and March", "on weekends", "since 2013-06-01"."""
    if any(True for _ in asked.places("weekday")):
        for place in list(asked.places("unit")):
            item = asked.items[place]
            if item.text.casefold() == "weekdays" and "against" in (
                asked.at(asked.before(place)).role,
                asked.at(asked.after(place)).role,
            ):  # beside weekends they are the days of work
                item.role, item.payload = "weekday", "1 2 3 4 5"
    for place in list(asked.places("month", "date", "weekday", "number")):
        item = asked.items[place]
        if item.used or (item.role == "number" and not _is_year(asked, place)):
            continue
        if item.role == "month" and not _is_month(asked, place):
            item.used = True  # "may" as a verb
            continue
        _moment(asked, place)


def _moment(asked: Asked, place: int) -> None:
    item = asked.items[place]
    lead = asked.at(asked.before(place))
    joint, other = asked.at(place + 1), asked.at(asked.after(place + 1, "from"))
    is_range = lead.role in ("between", "from") and joint.role in ("and", "to", "compare") and other.role == item.role
    # "from March and May" names two; only "to" makes it a stretch.
    apart = lead.role == "between" and joint.role == "and" and _are_compared(asked, place)
    if is_range and not apart and (lead.role == "between" or joint.role == "to" or joint.payload == "<="):
        _use(lead, joint, item, other)
        _between(asked, item, other, negated=is_negated(asked, asked.items.index(lead)))
        return
    if joint.role == "against" and other.role == item.role and not _edge_of(lead):
        _use(joint, item, other)
        _within(asked, [item], negated=False)
        _within(asked, [other], negated=False)  # two sides, which no row is on both of
        return
    several = [item]
    end = place
    while asked.at(end + 1).role == "and" and asked.at(asked.after(end + 1)).role == item.role and item.role != "date":
        asked.at(end + 1).used = True
        end = asked.after(end + 1)
        several.append(asked.at(end))
    edge = _edge_of(lead)
    negated = is_negated(asked, asked.items.index(lead) if edge else place)
    if edge:
        lead.used = True
    _use(*several)
    if edge and len(several) == 1:
        _edge(asked, item, edge, negated=negated)
    else:
        _within(asked, several, negated=negated)


def _edge_of(lead: Item) -> Operator | None:
    return _EDGES.get(lead.text.casefold()) if lead.role in ("compare", "from", "to") else None


def _are_compared(asked: Asked, place: int) -> bool:
    """Read "the difference between January and July": two months, not seven."""
    return any(one.text.casefold() in _COMPARING for one in asked.items[:place])


def _within(asked: Asked, items: list[Item], *, negated: bool) -> None:
    words = " ".join(item.text for item in items)
    first = items[0]
    if first.role == "date" and first.days is not None:
        _days(asked, first, negated=negated)
        return
    numbers = tuple(number for item in items for number in _numbers(item))
    found = _part(asked, first, words)
    if found is None:
        return
    column, part = found
    condition = Condition(column, "=", numbers[0], part, words)
    if len(numbers) > 1:
        condition = Condition(column, "in", numbers, part, words)
    add_condition(asked, condition, negated=negated)


def _days(asked: Asked, item: Item, *, negated: bool) -> None:
    """The days of a date, the last one included."""
    first, last = cast("tuple[str, str]", item.days)
    time = asked.time(item.text)
    if time is None and not asked.questions:
        time = asked.ask(item.text, f"Which column says when, for `{item.text}`?", asked.columns.names)
    if time is None:
        return
    if negated:
        asked.ask(item.text, f"Say what is wanted instead of `{item.text}`: before it or after it?", ())
        return
    asked.conditions.append(Condition(time.name, ">=", first, words=item.text))
    asked.conditions.append(Condition(time.name, "<", _next_day(last), words=item.text))


def _edge(asked: Asked, item: Item, operator: Operator, *, negated: bool) -> None:
    if item.role == "date":
        time = asked.time(item.text)
        if time is None:
            if not asked.questions:
                asked.ask(item.text, f"Which column says when, for `{item.text}`?", asked.columns.names)
            return
        first, last = cast("tuple[str, str]", item.days)
        day = _next_day(last) if operator in (">", "<=") else first
        operator = ">=" if operator == ">" else "<" if operator == "<=" else operator
        add_condition(asked, Condition(time.name, operator, day, words=item.text), negated=negated)
        return
    found = _part(asked, item, item.text)
    if found is not None:
        column, part = found
        last = operator in (">", "<=")  # of a quarter, the first month or the last
        number = _numbers(item)[-1 if last else 0]
        add_condition(asked, Condition(column, operator, number, part, item.text), negated=negated)


def _between(asked: Asked, low: Item, high: Item, *, negated: bool) -> None:
    words = f"{low.text} to {high.text}"
    if negated:
        asked.ask(words, f"Say what is wanted instead of {words}: before it or after it?", ())
    elif low.role == "date":
        time = asked.time(words)
        if time is not None and low.days and high.days:
            asked.conditions.append(Condition(time.name, ">=", low.days[0], words=words))
            asked.conditions.append(Condition(time.name, "<", _next_day(high.days[1]), words=words))
        elif not asked.questions:
            asked.ask(words, f"Which column says when, for `{words}`?", asked.columns.names)
    elif (found := _part(asked, low, words)) is not None:
        column, part = found
        first, last = _numbers(low)[0], _numbers(high)[-1]
        if first <= last:
            asked.conditions.append(Condition(column, ">=", first, part, words))
            asked.conditions.append(Condition(column, "<=", last, part, words))
        else:  # November to February
            most = 12 if low.role == "month" else 7
            around = (*range(first, most + 1), *range(1, last + 1))
            asked.conditions.append(Condition(column, "in", around, part, words))


def _part(asked: Asked, item: Item, words: str) -> tuple[str, Part | None] | None:
    """The column, and the part of it, that a month, weekday or year is compared with."""
    name: Part = "year" if item.role == "number" else cast("Part", item.role)
    plain = asked.plain_number(name)
    if plain is not None:
        return plain.name, None
    time = asked.time(words)
    if time is not None:
        return time.name, name
    if not asked.questions:
        asked.ask(words, f"Which column says when, for `{words}`?", asked.columns.names)
    return None


def _numbers(item: Item) -> tuple[int, ...]:
    if item.role == "number":
        return (int(item.number or 0),)
    return tuple(int(number) for number in item.payload.split())


def _is_year(asked: Asked, place: int) -> bool:
    item = asked.items[place]
    if item.number is None or item.unit or not _YEARS[0] <= item.number <= _YEARS[1] or not item.text.isdecimal():
        return False
    before = asked.at(place - 1)
    return before.text.casefold() in _OF_TIME or before.text.casefold() in _EDGES or before.role in ("and", "between")


def _is_month(asked: Asked, place: int) -> bool:
    item = asked.items[place]
    low = item.text.casefold()
    if low not in {"may", "mar", "march", "sep", "dec", "jan", "jun"}:
        return True
    before = asked.at(place - 1)
    return low != "may" or item.text[:1].isupper() or before.text.casefold() in _OF_TIME or before.role in (
        "and", "between", "from", "to", "compare",
    )  # fmt: skip


def _next_day(day: str) -> str:
    from datetime import date, timedelta  # noqa: PLC0415 - few questions name a day

    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()


def _use(*items: Item) -> None:
    for item in items:
        item.used = True
