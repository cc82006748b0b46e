"""A question in words as a `Wanted`, or as questions back: nothing that could not be matched is guessed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from retinue.catalogue.data_analyst.arithmetic import calculation_in
from retinue.catalogue.data_analyst.asked import FIGURES, LEAVE_OUT, Asked
from retinue.catalogue.data_analyst.columns import Columns
from retinue.catalogue.data_analyst.comparing import read_comparisons
from retinue.catalogue.data_analyst.conditions import read_errors, read_missing
from retinue.catalogue.data_analyst.grouping import read_groups, read_limit
from retinue.catalogue.data_analyst.items import Item, items_of
from retinue.catalogue.data_analyst.lexicon import Lexicon
from retinue.catalogue.data_analyst.measuring import NAMES, read_measures, read_percentiles
from retinue.catalogue.data_analyst.moments import read_moments
from retinue.catalogue.data_analyst.ordering import read_order
from retinue.catalogue.data_analyst.values import read_values
from retinue.catalogue.data_analyst.vocabulary import PHRASES, singular
from retinue.catalogue.data_analyst.wanted import Condition, Group, Measure, Order, Wanted
from retinue.contract.question import Question

__all__ = ["Reading", "read"]

_SPLIT: Final = re.compile(
    r"\b(?:is|are|was|were|have|has|had|that|which|who|took|take|takes|arrived?|left|depart(?:ed)?|go|went)\b"
)
_ASIDES: Final = (",", ";")
_MOST_GROUPS: Final = 3
_SAYS_NOTHING: Final = ("stop", "which", "is", "and", "also")
_TEN: Final = 10
_SHORT: Final = 3
_SAYS_NO: Final = frozenset({"no", "never", "neither", "nor"})
_RELATIVE: Final = frozenset({"last", "this", "past", "previous", "next", "current"})
_ROWS: Final = frozenset({"row", "record"})
_BOUNDS: Final = {"maximum of": "max", "a maximum of": "max", "minimum of": "min", "a minimum of": "min"}
_LATE: Final = frozenset({"late", "delayed"})
"""What is so when the column of delays is above 0."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a question came to.

    Attributes:
        percentiles: Those that are asked for by number.
        unused: Words that went into nothing.
        is_open: The words say nothing but which file: what it holds is the answer.
        speaks_of_it: Some word is a column, a value or the rows of the file.
        calculation: The words that ask for what cannot be computed here: then nothing else of it is an answer.
    """

    wanted: Wanted
    percentiles: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    unused: tuple[str, ...] = ()
    is_open: bool = False
    speaks_of_it: bool = False
    calculation: str = ""


def read(
    question: str, columns: Columns, *, files: tuple[str, ...] = (), answers: Mapping[str, str] | None = None
) -> Reading:
    """Read `question`.

    Args:
        question: In English, as people ask.
        columns: Of the file that it is about.
        files: Paths that the question may name.
        answers: What was said to earlier questions, by their ids.
    """
    known = dict(answers or {})
    lexicon = Lexicon(columns)
    text = question
    asked = _read_once(text, lexicon, columns, files, known)
    while (told := next((one for one in asked.questions if one in known), None)) is not None:
        text = _with_answer(text, asked.said.get(told, ""), known.pop(told), columns)
        asked = _read_once(text, lexicon, columns, files, known)
    return replace(_reading(asked, text), calculation=calculation_in(question, lexicon))


def _read_once(
    text: str, lexicon: Lexicon, columns: Columns, files: tuple[str, ...], answers: Mapping[str, str]
) -> Asked:
    items, mended = items_of(text, lexicon, (columns.source.path, *files))
    asked = Asked(items, lexicon, columns, answers=answers)
    _narrow(asked)
    for written, right in mended:
        asked.note(f"“{written}” is read as “{right}”.")
    for reader in (
        read_percentiles,
        read_limit,
        read_errors,
        read_comparisons,
        read_moments,
        read_values,
        read_missing,
        read_groups,
        read_measures,
        read_order,
    ):
        reader(asked)
    _rest(asked)
    return asked


def _narrow(asked: Asked) -> None:
    """Words that each may be several columns, and only one together: "arrived … late" is `arr_delay`.

    "A maximum of 5" compares; without a number behind it, it is a figure.
    """
    for place, item in enumerate(asked.items):
        bound = _BOUNDS.get(item.text.casefold())
        if bound is not None and item.role == "compare" and asked.at(asked.after(place)).role != "number":
            item.role, item.payload = "measure", bound
    open_ones = [item for item in asked.items if item.role == "column" and not item.sure and not item.quoted]
    for first, second in pairwise(open_ones):
        both = tuple(name for name in first.columns if name in second.columns)
        narrowed = len(first.columns) > 1 or len(second.columns) > 1
        if len(both) == 1 and narrowed and first.role == "column":
            second.columns = both
            second.text = f"{first.text} {second.text}"
            second.words = (*first.words, *second.words)
            first.role, first.used = "stop", True


def _with_answer(text: str, words: str, answer: str, columns: Columns) -> str:
    said = answer.replace("`", "").strip()
    figure, _, name = said.partition(" ")
    meant = " " if said.casefold() == LEAVE_OUT else said if said.replace(".", "", 1).isdecimal() else f"`{said}`"
    if figure in FIGURES and said not in columns:
        meant = f"{figure} `{name}`" if name in columns else figure
        if PHRASES.get(tuple(words.casefold().split()), ("",))[0] == "super":
            meant = f"{words} {meant}"  # "the slowest" by this figure
    replaced = re.sub(re.escape(words), lambda _: meant, text, count=1, flags=re.IGNORECASE)
    return replaced if replaced != text or meant == " " else f"{text} {meant}"


def _rest(asked: Asked) -> None:
    """What is left: columns get a use, words are asked about or named as not used."""
    for place in list(asked.places("column")):
        _leftover_column(asked, asked.items[place])
    for place in list(asked.places("and")):
        if asked.items[place].payload == "or" and _joins_conditions(asked, place):
            text = "“or” between conditions on different columns is not understood. Ask about each by itself."
            asked.ask("or", text, ())
    _ask_what_is_open(asked)
    for place in list(asked.places("value", "word", "number")):
        item = asked.items[place]
        if (item.role == "value" and not item.values and item.quoted) or _matters(asked, place):
            asked.ask_meaning(item)
        else:
            asked.notes.append(f"“{item.text}” was not used.")
        item.used = True


def _ask_what_is_open(asked: Asked) -> None:
    """Words that change a figure, and went into nothing: a "not", a "last month", a "missing"."""
    for place in list(asked.places("not")):
        words = asked.items[place].text
        following = asked.at(asked.after(place)).text or asked.at(place + 1).text
        if words not in _SAYS_NO and following:
            asked.ask(f"{words} {following}", f"What is left out by `{words} {following}`?", ())
    for place in list(asked.places("unit")):
        lead = asked.at(place - 1).text
        if lead.casefold() in _RELATIVE:
            words = f"{lead} {asked.items[place].text}"
            asked.ask(words, f"Which one is `{words}`? Name the days, the month or the year.", ())
    for place in list(asked.places("null")):
        words = asked.items[place].text
        column = asked.ask(words, f"What is {words}: a value of which column?", asked.columns.names)
        if column is not None:
            asked.conditions.append(Condition(column.name, "is_null", words=words))


def _joins_conditions(asked: Asked, place: int) -> bool:
    """Whether a condition stands right before an "or", and another behind it."""
    before = asked.at(asked.before(place, "is", "column", "rows"))
    after = asked.at(asked.after(place, "is", "column", "rows", "from", "to", "not", "compare", "between"))
    kinds = ("value", "number", "date", "month", "weekday", "error", "null")
    return before.role in kinds and after.role in kinds


def _leftover_column(asked: Asked, item: Item) -> None:
    if _LATE & set(item.words) and (column := asked.pick(item, "number")) is not None:
        asked.note(f"“{item.text}” means `{column.name}` above 0.")
        asked.conditions.append(Condition(column.name, ">", 0, words=item.text))
    elif not any(asked.is_number(name) for name in item.columns):
        _leftover_text(asked, item)
    elif asked.percentiles and not any(one.function == "percentile" for one in asked.measures):
        column = asked.pick(item, "number")
        if column is not None:
            asked.measures += [Measure("percentile", column.name, one, item.text) for one in asked.percentiles]
    elif not asked.measures and not asked.share and not (asked.rows and asked.order):
        _unmeasured(asked, item)
    elif asked.rows and asked.order is not None and isinstance(asked.order.by, int):
        column = asked.pick(item, "number")
        if column is not None:
            asked.order = Order(column.name, descending=asked.order.descending, words=asked.order.words)
    elif asked.share and (column := asked.pick(item, "number")) is not None:
        asked.measures.append(Measure("share", column.name, words=item.text))
    elif not asked.share:
        _unrelated(asked, item)


def _unrelated(asked: Asked, item: Item) -> None:
    """A second column of numbers: a figure that leaves it out may not be what was asked for."""
    if NAMES.search(item.columns[0]):
        asked.note(f"“{item.text}” was not used.")
    else:
        asked.ask(item.text, f"What is `{item.text}` to do with the rest?", (LEAVE_OUT,))


def _leftover_text(asked: Asked, item: Item) -> None:
    """A column of texts that nothing was said of puts rows together, unless it is narrowed already."""
    column = asked.pick(item, "text", "boolean") if len(asked.groups) < _MOST_GROUPS else None
    if column is None or column.kind not in ("text", "boolean"):
        return
    if all(one.column != column.name for one in (*asked.groups, *asked.conditions)):
        asked.groups.append(Group(column.name, words=item.text))


def _unmeasured(asked: Asked, item: Item) -> None:
    """A column of numbers of which nobody said what is wanted: mean and total, where neither decides an order."""
    if asked.order is not None and not asked.groups:
        asked.rows = True
        column = asked.pick(item, "number")
        if column is not None:
            asked.order = Order(column.name, descending=asked.order.descending, words=asked.order.words)
        return
    column = asked.pick(item, "number")
    if column is None:
        return
    if asked.order is not None and asked.ask_figure(column, item.text):
        return
    asked.measures.append(Measure("mean", column.name, words=item.text))
    if asked.order is None:
        asked.measures.append(Measure("sum", column.name, words=item.text))
        asked.note(f"Nothing was said of what to measure of `{column.name}`: mean and total are given.")


def _matters(asked: Asked, place: int) -> bool:
    """Whether a word may be a condition: it stands in the sentence of what was understood, and not behind an aside."""
    item = asked.items[place]
    if item.role == "number" or item.quoted or item.text[:1].isupper() or any(letter.isdigit() for letter in item.text):
        return place > 0 or item.role == "number" or item.quoted
    last_aside = max((at for at in range(place) if asked.items[at].text in _ASIDES), default=-1)
    understood = [
        one for one in asked.items[last_aside + 1 :] if one.role in ("column", "rows", "value", "measure", "super")
    ]
    return bool(understood)


def _reading(asked: Asked, text: str) -> Reading:
    unused = tuple(
        one.removeprefix("“").removesuffix("” was not used.") for one in asked.notes if one.endswith("was not used.")
    )
    if asked.rows and asked.order is not None and isinstance(asked.order.by, int) and not asked.questions:
        words = asked.order.words
        column = asked.ask(words, f"The {words.removeprefix('the ')} by which column?", asked.number_names)
        if column is not None:
            asked.order = Order(column.name, descending=asked.order.descending, words=words)
    if asked.share and not asked.questions:
        wanted = _share(asked, text)
    else:
        wanted = Wanted(
            measures=tuple(asked.measures) or _measures_of_groups(asked),
            groups=tuple(asked.groups),
            conditions=tuple(dict.fromkeys(asked.conditions)),
            having=tuple(asked.having),
            order=_order(asked),
            limit=asked.limit if asked.limit is not None or not asked.rows else _few(asked),
            rows=asked.rows,
            averaged=asked.averaged and bool(asked.groups),
        )
    columns = asked.columns
    is_open = all(one.role in _SAYS_NOTHING for one in asked.items)
    times = {one.name for one in (*columns.times, columns.day) if one is not None}
    names = any(one.column not in times for one in asked.conditions) or any(
        one.columns or one.quoted or _names_a_value(one) or _names_rows(asked, one) for one in asked.items
    )
    if wanted.having and not wanted.groups and not asked.questions:
        words = wanted.having[0].words
        asked.ask(
            words, f"`{words}` of what is wanted: by which column are rows to be put together?", asked.columns.names
        )
    return Reading(
        wanted,
        tuple(asked.percentiles),
        tuple(asked.notes),
        tuple(asked.questions.values()),
        unused,
        is_open=is_open,
        speaks_of_it=names,
    )


def _names_a_value(item: Item) -> bool:
    """Whether a text of the file is meant; a short word may be one only by chance, unless written alike."""
    return any(len(text) > _SHORT or text == item.text for _, text in item.values)


def _names_rows(asked: Asked, item: Item) -> bool:
    """Whether `item` is what a row of this file is called, or a word for any row."""
    words = {word for said in item.words for word in (said, singular(said))}
    return item.role == "rows" and bool(words & (asked.lexicon.row_nouns | _ROWS))


def _measures_of_groups(asked: Asked) -> tuple[Measure, ...]:
    """Where nothing else is measured: what the groups were chosen by, else how many rows there are."""
    return tuple(dict.fromkeys(one.measure for one in asked.having)) or (Measure("count"),)


def _few(asked: Asked) -> int:
    """How many rows: one for "which flight", else the first ten."""
    noun = next((one.words[-1] for one in asked.items if one.role == "rows" and one.words), "")
    return 1 if noun and singular(noun) == noun else _TEN


def _order(asked: Asked) -> Order | None:
    order = asked.order
    if order is None or not isinstance(order.by, int):
        return order
    return replace(order, by=min(order.by, max(len(asked.measures) - 1, 0)))


def _share(asked: Asked, text: str) -> Wanted:
    """Of which rows, and what must hold for one to count: what stands before the verb, and what behind it."""
    low = text.casefold()
    start = next((low.find(one.text.casefold()) for one in asked.items if one.role == "share"), 0)
    verb = _SPLIT.search(low, max(start, 0) + 6)
    split = verb.start() if verb is not None else -1

    def stands(condition: Condition) -> int:
        return low.find(condition.words.casefold().split(" ")[0]) if condition.words else len(low)

    base = [one for one in asked.conditions if stands(one) < start or (verb is not None and stands(one) < split)]
    within = [one for one in asked.conditions if one not in base]
    if not within:
        base, within = [], list(asked.conditions)
    summed = [Measure("share", one.column, words=one.words) for one in asked.measures if one.function == "sum"]
    measures = summed or [one for one in asked.measures if one.function == "share"]
    if not measures and (within or asked.groups):
        measures = [Measure("share", words="share")]
    elif not measures:
        asked.ask("share", "The share of what? Name a value, a comparison or a column.", ())
    return Wanted(
        measures=tuple(measures) or (Measure("count"),),
        groups=tuple(asked.groups),
        conditions=tuple(base),
        within=tuple(within),
        order=_order(asked),
        limit=asked.limit,
    )
