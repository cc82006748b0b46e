"""What a question measures: a function, and the column that stands behind it or before."""

import re
from typing import Final, cast

from retinue.catalogue.data_analyst.asked import Asked
from retinue.catalogue.data_analyst.columns import Column
from retinue.catalogue.data_analyst.items import Item
from retinue.catalogue.data_analyst.wanted import Function, Measure, Order

__all__ = ["NAMES", "is_free_number", "measure", "read_measures", "read_percentiles"]

NAMES: Final = re.compile(r"(?:\b|_)(?:ids?|keys?|codes?|no|nr|numbers?|year|month|day|hour|num)\Z", re.IGNORECASE)
"""Columns whose numbers name something, so that nobody adds them up."""
_USUAL: Final = (50.0, 90.0, 95.0, 99.0)
_OVER_ROWS: Final = frozenset({"count", "sum", "mean", "max", "min", "median"})
_OF_NUMBERS: Final = frozenset({"mean", "max", "min", "median", "stddev"})
_COUNTS: Final = frozenset({"count", "count_distinct"})


def read_percentiles(asked: Asked) -> None:
    """Read "p95", "the 90th and 99th percentile", "quartiles"."""
    for place in list(asked.places("percentiles")):
        item = asked.items[place]
        item.used = True
        found = [float(number) for number in item.payload.split() if 0 <= float(number) <= 100]
        asked.percentiles += [one for one in found or _USUAL if one not in asked.percentiles]


def read_measures(asked: Asked) -> None:
    """Read "the average departure delay", "how many different carriers", "min, max and mean of temp"."""
    for place in list(asked.places("share")):
        asked.share = True
        asked.items[place].used = True
    _name_columns(asked)
    waiting: list[Function] = []
    for place in list(asked.places("measure")):
        item = asked.items[place]
        if item.used:
            continue
        item.used = True
        function = cast("Function", item.payload)
        follows = asked.after(place, "super", "is") if function in _OVER_ROWS else asked.after(place, "is")
        head = asked.at(follows)
        if head.role == "measure" and not head.used:
            behind = asked.after(follows)
            if head.payload == "count" and is_free_number(asked, asked.at(behind)):
                head.used = True  # "the average number of seats"
                _measured(asked, place, behind, [*waiting, function])
                waiting = []
            elif function == "mean" and head.payload in ("count", "sum"):
                asked.averaged = True  # "the average number of flights per day"
            elif function in ("max", "min") and head.payload in ("count", "sum", "mean"):
                asked.order = Order(0, descending=function == "max", words=item.text)
            continue
        if head.role == "and" and asked.at(asked.after(follows, "and")).role in ("measure", "percentiles"):
            waiting.append(function)
            continue
        _measured(asked, place, follows, [*waiting, function])
        waiting = []
    for function in waiting:
        _measured(asked, len(asked.items), len(asked.items), [function])


def _name_columns(asked: Asked) -> None:
    """Read "the average order total" of a column called `total`: behind another function it is no function."""
    for place in list(asked.places("measure")):
        item, lead = asked.items[place], asked.at(asked.before(place, "rows"))
        if not any(asked.is_number(name) for name in item.columns):
            continue
        following = asked.at(place + 1)
        repeated = following.role == "column" and not following.used and following.columns == item.columns
        of_groups = lead.role == "super" and _has_groups(asked)
        if (lead.role in ("measure", "super") and lead.payload not in _COUNTS and not of_groups) or (
            following.role not in ("column", "rows") and asked.at(place - 1).role == "rows"
        ):
            item.role = "column"
            following.used = following.used or repeated  # "total sales" is one thing where `total` is what sales are


def _has_groups(asked: Asked) -> bool:
    return bool(asked.groups) or any(item.role == "group" for item in asked.items)


def _measured(asked: Asked, place: int, follows: int, functions: list[Function]) -> None:
    """What `functions` are of: the rows, a stretch of time, the column behind them, else one elsewhere."""
    head, function = asked.at(follows), functions[-1]
    words = asked.at(place).text
    if head.role == "rows" and function not in _COUNTS and is_free_number(asked, asked.at(follows + 1)):
        head.used = True  # "the average flight distance"
        head, follows = asked.at(follows + 1), follows + 1
    if head.role == "rows" and function in _OF_NUMBERS and not _has_groups(asked):
        head.used = True
        _measured_elsewhere(asked, place, len(asked.items), functions)
        return
    if head.role == "unit" and head.columns and function not in _COUNTS and not asked.columns.times:
        head.role = "column"
    if head.role == "rows" and not (head.sure and function == "count_distinct"):
        head.used = True
        asked.averaged = asked.averaged or (function == "mean" and bool(asked.groups))
        measure(asked, Measure("count", words=f"{words} {head.text}"))
    elif head.role == "unit" and function in _COUNTS and not head.used:
        _count_units(asked, head)
    elif head.role in ("column", "rows") and not head.used:
        for each in _columns_from(asked, follows, function):
            for one in functions:
                _one(asked, one, each, words)
    elif function == "count":
        measure(asked, Measure("count", words=words))
    else:
        _measured_elsewhere(asked, place, follows, functions)


def _measured_elsewhere(asked: Asked, place: int, follows: int, functions: list[Function]) -> None:
    """The last column of numbers before `functions`, else the only one behind them; else that is asked."""
    head, words = asked.at(follows), asked.at(place).text
    own = next((name for name in asked.at(place).columns if asked.is_number(name)), None)
    before = next((one for one in reversed(asked.items[:place]) if is_free_number(asked, one)), None)
    later = [one for one in asked.items[follows:] if is_free_number(asked, one)]
    named = before if before is not None else later[0] if len(later) == 1 else None
    column = asked.pick(named, "number") if named is not None else None
    if named is None and own is not None and head.role != "word":
        column = asked.columns.get(own)  # "total per country", where a column is called `total`
    elif named is None:
        column = _asked_column(asked, head, functions[-1], words)
    if column is not None:
        for one in functions:
            _one(asked, one, column, words)


def _asked_column(asked: Asked, head: Item, function: Function, words: str) -> Column | None:
    """The answer to which column is meant, when there is one already."""
    if head.role == "word" and not head.used:
        head.used = True
        return asked.ask(head.text, f"Which column is `{head.text}`?", asked.number_names)
    if function == "count_distinct" and not asked.measures:
        return asked.ask(words, f"Of which column are `{words}` values counted?", asked.columns.names)
    if function == "sum" and not asked.measures:
        measure(asked, Measure("count", words=words))  # "in total"
    elif function not in ("sum", "count_distinct") and not asked.questions:
        noun = words.removeprefix("on ").removeprefix("in ").removeprefix("at ")
        return asked.ask(words, f"The {noun} of which column?", asked.number_names)
    return None


def is_free_number(asked: Asked, item: Item) -> bool:
    """Whether `item` names a column of numbers that has no use yet."""
    return item.role == "column" and not item.used and any(asked.is_number(name) for name in item.columns)


def _columns_from(asked: Asked, place: int, function: Function) -> list[Column]:
    """A column and those joined to it by "and"."""
    kinds = () if function in ("count", "count_distinct", "min", "max") else ("number",)
    found: list[Column] = []
    while asked.at(place).role in ("column", "rows") and not asked.at(place).used:
        item = asked.at(place)
        if found and kinds and not any(asked.is_number(name) for name in item.columns):
            break
        item.role = "column"
        column = asked.pick(item, *kinds)
        if column is not None:
            found.append(column)
        if asked.at(place + 1).role != "and":
            break
        place = asked.after(place + 1, "and") if asked.at(place + 1).payload != "or" else -1
    return found


def _one(asked: Asked, function: Function, column: Column, words: str) -> None:
    if function == "count":
        if column.kind == "number" and not column.whole:
            measure(asked, Measure("count", column.name, words=words))
        elif column.kind == "number" and not NAMES.search(column.name):
            measure(asked, Measure("sum", column.name, words=words))
            measure(asked, Measure("count_distinct", column.name, words=words))
            asked.note(
                f"“{words} {column.name}” may be the total of `{column.name}` or its different values: see both."
            )
        else:
            measure(asked, Measure("count_distinct", column.name, words=words))
    elif function in ("count_distinct", "min", "max") or column.kind == "number":
        measure(asked, Measure(function, column.name, words=words))
    else:
        asked.ask(words, f"`{column.name}` holds no numbers. The {words} of which column?", asked.number_names)


def _count_units(asked: Asked, item: Item) -> None:
    """Read "how many days": different buckets, where a column says them."""
    column = asked.plain_number(item.payload)
    item.used = True
    if column is not None:
        measure(asked, Measure("count_distinct", column.name, words=item.text))
    else:
        asked.ask(f"number of {item.text}", f"Which column says the {item.text}?", asked.columns.names)


def measure(asked: Asked, wanted: Measure) -> None:
    """Add a measure, once."""
    if all((one.function, one.column) != (wanted.function, wanted.column) for one in asked.measures):
        asked.measures.append(wanted)
