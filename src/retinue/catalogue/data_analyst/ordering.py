"""In which order a question wants its answer: superlatives, and "sorted by"."""

from typing import Final

from retinue.catalogue.data_analyst.asked import Asked
from retinue.catalogue.data_analyst.columns import Column
from retinue.catalogue.data_analyst.grouping import group_by, may_group
from retinue.catalogue.data_analyst.items import Item
from retinue.catalogue.data_analyst.measuring import NAMES, is_free_number, measure
from retinue.catalogue.data_analyst.wanted import Measure, Order

__all__ = ["read_order"]

_THE_LESS_THE_BETTER: Final = (
    "delay", "latency", "duration", "elapsed", "time", "seconds", "error", "fail", "loss", "lost", "miss", "late",
    "wait", "cost", "price", "defect", "bug", "damage", "risk", "age",
)  # fmt: skip


def read_order(asked: Asked) -> None:
    """Read "the most delayed", "slowest endpoints", "sorted by distance descending"."""
    for place in list(asked.places("super")):
        _superlative(asked, place)
    _sorted(asked)


def _superlative(asked: Asked, place: int) -> None:
    item = asked.items[place]
    item.used = True
    way, _, family = _way(asked, place).partition(":")
    head = asked.at(asked.after(place, "number"))
    asked.order = Order(0, descending=way == "desc", words=item.text)
    if family == "count":  # "busiest"
        _group_head(asked, head)
        if not asked.measures:
            measure(asked, Measure("count", words=item.text))
    elif head.role == "column" and not head.used and _is_number(asked, head) and not _is_grouped_alone(asked, place):
        _most_of_column(asked, place, head)
    elif head.role == "rows" and not family:
        _most_rows(asked, head, item)
    elif family and not asked.measures:
        _most_of_family(asked, head, item, family)
    elif head.role == "column" and not head.used and asked.groups and not asked.measures:
        column = asked.pick(head)  # "the carrier with the most destinations"
        if column is not None:
            measure(asked, Measure("count_distinct", column.name, words=f"{item.text} {head.text}"))
    else:
        _group_head(asked, head)
        if not asked.measures and not any(is_free_number(asked, one) for one in asked.items):
            measure(asked, Measure("count", words=item.text))


def _way(asked: Asked, place: int) -> str:
    """Which way a superlative goes: the worst delay is the largest, the worst score the smallest."""
    item = asked.items[place]
    if item.payload not in ("worst", "best"):
        return item.payload
    named = [name.casefold() for one in asked.items for name in one.columns if asked.is_number(name)]
    grows_bad = any(word in name for name in named for word in _THE_LESS_THE_BETTER)
    way = "desc" if (item.payload == "worst") == grows_bad else "asc"
    asked.note(f"“{item.text}” is read as the {'largest' if way == 'desc' else 'smallest'}.")
    return way


def _is_grouped_alone(asked: Asked, place: int) -> bool:
    """Whether a plural at the end names groups ("the largest months"), and nothing before it does."""
    at = asked.after(place, "number")
    # A measured column may well be called by a plural: `units`, `bytes`.
    names = all(NAMES.search(name) for name in asked.at(at).columns)
    is_last = names and asked.at(at).plural and asked.at(asked.after(at)).role == "end"
    return is_last and not (asked.rows or asked.groups or any(one.role == "which" for one in asked.items[:place]))


def _most_of_column(asked: Asked, place: int, head: Item) -> None:
    """Read "the longest delay", "the most delayed carrier"."""
    at = asked.after(place, "number")
    behind = asked.at(asked.after(at))
    column = asked.pick(head, "number")
    grouped = _has_groups(asked)
    if behind.role in ("column", "unit") and not behind.used and may_group(asked, behind):
        _group_head(asked, behind)
        grouped = True
    if column is not None:
        _order_by(asked, column, grouped=grouped or bool(asked.groups), words=head.text)


def _most_rows(asked: Asked, head: Item, item: Item) -> None:
    """Read "the most flights": of a group; without one, the rows themselves."""
    head.used = True
    if _has_groups(asked):
        measure(asked, Measure("count", words=f"{item.text} {head.text}"))
    else:
        asked.rows = True


def _most_of_family(asked: Asked, head: Item, item: Item, family: str) -> None:
    """Read "the slowest endpoints", "the oldest rows": the adjective says what kind of column it is about."""
    if head.role == "rows":
        head.used = asked.rows = True
    else:
        _group_head(asked, head)
    named = next((one for one in asked.items if is_free_number(asked, one)), None)
    if family == "time":
        column = asked.time(item.text)
    else:
        column = asked.pick(named, "number") if named is not None else asked.family(family, item.text)
    if column is not None:
        _order_by(asked, column, grouped=bool(asked.groups))


def _has_groups(asked: Asked) -> bool:
    """Whether something is grouped by, or is there to be."""
    return bool(asked.groups) or any(
        one.role in ("column", "unit") and not one.used and may_group(asked, one) and not _is_number(asked, one)
        for one in asked.items
    )


def _order_by(asked: Asked, column: Column, *, grouped: bool, words: str = "") -> None:
    order = asked.order or Order(0)
    if asked.rows or (asked.limit is not None and not grouped):
        asked.rows = True  # "the two largest units"
        asked.order = Order(column.name, descending=order.descending, words=order.words)
    elif grouped:
        if not asked.ask_figure(column, words or order.words):
            measure(asked, Measure("mean", column.name, words=order.words))
    else:
        asked.order = None
        measure(asked, Measure("max" if order.descending else "min", column.name, words=order.words))


def _group_head(asked: Asked, head: Item) -> None:
    if not head.used and (head.role == "unit" or (head.role == "column" and may_group(asked, head))):
        group_by(asked, head)


def _is_number(asked: Asked, item: Item) -> bool:
    return bool(item.columns) and all(asked.is_number(name) for name in item.columns)


def _sorted(asked: Asked) -> None:
    for place in list(asked.places("order")):
        asked.items[place].used = True
        way = next((one for one in asked.items if one.role == "direction"), None)
        head = asked.at(asked.after(place, "is"))
        if head.role == "column" and head.columns:
            column = asked.pick(head)
            if column is not None:
                measured = next((at for at, one in enumerate(asked.measures) if one.column == column.name), None)
                asked.order = Order(
                    column.name if measured is None else measured, descending=way is not None and way.payload == "desc"
                )
        elif way is not None:
            asked.order = Order(0, descending=way.payload == "desc")
