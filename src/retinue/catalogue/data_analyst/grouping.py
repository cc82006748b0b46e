"""What a question puts rows together by, and how many groups or rows it wants."""

from typing import Final, cast

from retinue.catalogue.data_analyst.asked import Asked
from retinue.catalogue.data_analyst.columns import Column
from retinue.catalogue.data_analyst.items import Item
from retinue.catalogue.data_analyst.measuring import NAMES
from retinue.catalogue.data_analyst.wanted import Group, Order, Unit

__all__ = ["group_by", "may_group", "read_groups", "read_limit"]

_WITHIN_A_DAY: Final = frozenset({"second", "minute", "hour", "hour_of_day"})
_ITEMS: Final = ("column", "unit")


def read_limit(asked: Asked) -> None:
    """Read "top 5", "the three slowest", "first ten"."""
    for place in list(asked.places("top")):
        item, number = asked.items[place], asked.at(asked.after(place))
        item.used = True
        if _is_count(number):
            _limit(asked, number)
            asked.order = Order(0, descending=item.payload == "desc", words=f"{item.text} {number.text}")
        elif item.text.casefold() in ("top", "leading"):
            asked.order = Order(0, words=item.text)
    superlatives = list(asked.places("super"))
    for place in superlatives:
        number = next(
            (one for one in (asked.at(asked.before(place)), asked.at(asked.after(place))) if _is_count(one)), None
        )
        if number is not None:
            _limit(asked, number)
    if superlatives and asked.limit is None:
        _limit_before_noun(asked)


def _limit_before_noun(asked: Asked) -> None:
    """Read "the 10 flights with the longest delay"."""
    for place in list(asked.places("number")):
        item, head = asked.items[place], asked.at(asked.after(place))
        compared = asked.at(asked.before(place)).role in ("compare", "between", "and")
        if _is_count(item) and head.role in ("rows", "column", "unit") and not compared:
            _limit(asked, item)
            asked.rows = head.role == "rows"
            return


def _is_count(item: Item) -> bool:
    return item.role == "number" and bool(item.number) and not item.unit and not item.used


def _limit(asked: Asked, number: Item) -> None:
    asked.limit, number.used = max(int(number.number or 1), 1), True


def read_groups(asked: Asked) -> None:
    """Read "per carrier", "by origin and month", "for each hour", "which endpoints"."""
    for place in list(asked.places("group")):
        _grouped(asked, place)
    for place in list(asked.places("which")):
        item, head = asked.items[place], asked.at(asked.after(place, "super", "number", "top"))
        item.used = True
        if head.used:
            continue
        if head.role == "rows":
            asked.rows = any(one.role == "super" and not one.used for one in asked.items) or asked.limit is not None
        elif head.role == "unit" and any(one.role in ("super", "top") for one in asked.items):
            _add_unit(asked, head)
        elif head.role == "column" and may_group(asked, head) and not _is_measure_next(asked, place):
            _add_column(asked, head)
    if any(True for _ in asked.places("trend")):
        _over_time(asked)


def _grouped(asked: Asked, place: int) -> None:
    """The columns and units that follow "per", as far as "and" and commas join them."""
    cue, at = asked.items[place], asked.after(place, "rows")
    head = asked.at(at)
    if head.role in ("measure", "super", "share", "percentiles", "value", "number"):
        # "top 5 carriers by average delay" names the measure; "flights by UA" a value.
        cue.used = cue.used or head.role == "value" or (head.role in ("measure", "super") and asked.order is not None)
        return
    if _is_ordering(asked, head):
        cue.used = True
        return
    while asked.at(at).role in _ITEMS and not asked.at(at).used:
        cue.used = group_by(asked, asked.at(at)) or cue.used
        following = at + 1
        while asked.at(following).role in ("and", "stop", "group"):
            following += 1
        if not any(one.role in ("and", "group") for one in asked.items[at + 1 : following]):
            break
        at = following
    if asked.at(at).role == "word" and not cue.used:
        asked.at(at).used = True
        asked.ask_meaning(asked.at(at))
    cue.used = True


def _is_ordering(asked: Asked, head: Item) -> bool:
    """Whether "by" names what to put in order: "top 5 carriers by distance"."""
    ordered = asked.order is not None or any(one.role == "super" for one in asked.items)
    top = ordered and asked.limit is not None and not asked.groups
    names = head.plural and all(NAMES.search(name) for name in head.columns)  # "by months", not "by units"
    return top and head.role == "column" and asked.kind(head) == "number" and not names


def group_by(asked: Asked, item: Item) -> bool:
    """Put rows together by what `item` names; whether that is done, or asked."""
    return _add_unit(asked, item) if item.role == "unit" else _add_column(asked, item)


def may_group(asked: Asked, item: Item) -> bool:
    """Whether rows can be put together by what `item` names: texts, whole numbers, or a plural."""
    kinds = {column.kind for name in item.columns if (column := asked.columns.get(name)) is not None}
    return bool(kinds & {"text", "boolean"}) or item.plural or (kinds == {"number"} and _is_whole(asked, item))


def _is_whole(asked: Asked, item: Item) -> bool:
    return all((column := asked.columns.get(name)) is not None and column.whole for name in item.columns)


def _is_measure_next(asked: Asked, place: int) -> bool:
    """Read "what distance is the longest" asks for a distance."""
    return asked.at(asked.after(place)).role == "measure"


def _add_column(asked: Asked, item: Item) -> bool:
    named = [column for name in item.columns if (column := asked.columns.get(name)) is not None]
    has_text = any(column.kind == "text" for column in named)
    column = asked.pick(item, "text", "boolean") if has_text else asked.pick(item)
    if column is None:
        return bool(asked.questions)
    if column.kind == "time":
        return _bucket(asked, column, asked.columns.unit_of_span(column.name), item.text)
    if all(group.column != column.name for group in asked.groups):
        asked.groups.append(Group(column.name, words=item.text))
    return True


def _add_unit(asked: Asked, item: Item) -> bool:
    """A stretch of time: a column of that name, or a bucket of the column of times."""
    unit = cast("Unit", item.payload)
    plain = asked.plain_number(item.payload.partition("_of_")[0])
    # A column called `day` holds the day of a month: "per day" means a day of the calendar, where there is one.
    dayless = unit == "day" and plain is not None and (asked.columns.times or asked.columns.day is not None)
    if item.text.casefold() == "date" and item.columns and not asked.columns.times:
        plain = asked.columns.get(item.columns[0])
    if plain is not None and not dayless:
        item.used = True
        asked.groups.append(Group(plain.name, words=item.text, serial=True))
        return True
    time = asked.time(item.text, of_day=unit in _WITHIN_A_DAY)
    item.used = True
    if time is None:
        if not asked.columns.times:
            asked.ask(item.text, f"Which column says the {item.text}?", asked.columns.names)
        return True
    return _bucket(asked, time, unit, item.text)


def _bucket(asked: Asked, column: Column, unit: Unit, words: str) -> bool:
    asked.groups.append(Group(column.name, unit, words))
    return True


def _over_time(asked: Asked) -> None:
    for place in asked.places("trend"):
        asked.items[place].used = True
    if any(group.unit for group in asked.groups):
        return
    months = asked.plain_number("month")
    if not asked.columns.times and months is not None:
        asked.groups.append(Group(months.name, words="over time", serial=True))
        return
    time = asked.time("over time", of_day=bool(asked.columns.times))
    if time is not None:
        unit = asked.columns.unit_of_span(time.name)
        day = asked.columns.day
        asked.groups.append(
            Group(day.name if day is not None and unit not in _WITHIN_A_DAY else time.name, unit, "over time")
        )
    elif not asked.columns.times:
        asked.ask("over time", "Which column says when?", asked.columns.names)
