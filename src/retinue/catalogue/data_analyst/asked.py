"""A question while it is read: its items, what has been made of them so far, and what only a person can say."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from retinue.catalogue.data_analyst.columns import Column, ColumnKind, Columns
from retinue.catalogue.data_analyst.items import Item, ItemRole
from retinue.catalogue.data_analyst.lexicon import Lexicon
from retinue.catalogue.data_analyst.wanted import Condition, Group, Having, Measure, Order
from retinue.contract.names import fold, nearest
from retinue.contract.question import Question

__all__ = ["FIGURES", "LEAVE_OUT", "Asked", "question_id"]

FIGURES: Final = ("total", "mean", "maximum", "minimum")
"""The words for the figures of a column that a person can choose from."""

LEAVE_OUT: Final = "leave it out"
"""The answer that a word means nothing here."""

_END: Final = Item("end", "", used=True)
_OPTIONS: Final = 24
_FAMILIES: Final = {
    "duration": ("duration", "latency", "seconds", "elapsed", "air_time", "time_taken"),
    "length": ("length", "duration", "distance", "air_time", "seconds"),
    "price": ("price",),
    "temperature": ("temperature", "temp"),
    "weight": ("weight",),
}
"""Columns that an adjective such as "slowest" may be about."""


def question_id(words: str) -> str:
    """The id of the question what `words` mean."""
    return f"meaning_{fold(words)[:60] or 'it'}"


@dataclass(slots=True)
class Asked:
    """What has been made of a question.

    Attributes:
        share: A share is wanted.
        answers: What was said to earlier questions, by their ids.
        said: The words that each question is about.
    """

    items: list[Item]
    lexicon: Lexicon
    columns: Columns
    conditions: list[Condition] = field(default_factory=list[Condition])
    inner: list[Condition] = field(default_factory=list[Condition])
    having: list[Having] = field(default_factory=list[Having])
    groups: list[Group] = field(default_factory=list[Group])
    measures: list[Measure] = field(default_factory=list[Measure])
    order: Order | None = None
    limit: int | None = None
    rows: bool = False
    share: bool = False
    averaged: bool = False
    percentiles: list[float] = field(default_factory=list[float])
    notes: list[str] = field(default_factory=list[str])
    questions: dict[str, Question] = field(default_factory=dict[str, Question])
    answers: Mapping[str, str] = field(default_factory=dict[str, str])
    said: dict[str, str] = field(default_factory=dict[str, str])

    def at(self, place: int) -> Item:
        """The item at `place`; one that says nothing, beyond the ends."""
        return self.items[place] if 0 <= place < len(self.items) else _END

    def places(self, *roles: ItemRole) -> Iterator[int]:
        """Where unused items with these roles are."""
        for place, item in enumerate(self.items):
            if item.role in roles and not item.used:
                yield place

    def after(self, place: int, *skipped: ItemRole) -> int:
        """The next place that holds more than filling words."""
        place += 1
        while self.at(place).role in ("stop", *skipped) and self.at(place).text != ";":
            place += 1
        return place

    def before(self, place: int, *skipped: ItemRole) -> int:
        """The last place that holds more than filling words; -1 when there is none."""
        place -= 1
        while place >= 0 and self.at(place).role in ("stop", *skipped):
            place -= 1
        return place

    def kind(self, item: Item) -> ColumnKind | None:
        """What the column that an item names holds, when all it may name are alike."""
        kinds: list[ColumnKind] = [
            column.kind for name in item.columns if (column := self.columns.get(name)) is not None
        ]
        return kinds[0] if len(set(kinds)) == 1 else None

    def pick(self, item: Item, *kinds: ColumnKind) -> Column | None:
        """The column that an item names. When it may be several, that is asked, and nothing is guessed."""
        found = [column for name in item.columns if (column := self.columns.get(name)) is not None]
        fitting = [column for column in found if not kinds or column.kind in kinds] or found
        if len(fitting) == 1:
            item.used = True
            return fitting[0]
        if fitting:
            item.used = True
            return self.ask(item.text, f"Which column is `{item.text}`?", tuple(column.name for column in fitting))
        return None

    def family(self, name: str, words: str) -> Column | None:
        """The column of numbers that an adjective is about: asked when there are several, none when there is none."""
        found: list[str] = []
        for word in _FAMILIES.get(name, ()):
            hit = self.lexicon.column(word.split("_"))
            if hit is not None and hit.quality <= 3:
                found += [one for one in hit.columns if self.is_number(one)]
        found = list(dict.fromkeys(found))
        if len(found) == 1:
            return self.columns.get(found[0])
        options = tuple(found) or self.number_names
        return self.ask(words, f"Which column says what is {words}?", options)

    def is_number(self, name: str) -> bool:
        """Whether the column called `name` holds numbers."""
        column = self.columns.get(name)
        return column is not None and column.kind == "number"

    @property
    def number_names(self) -> tuple[str, ...]:
        """The columns that can be measured."""
        return tuple(column.name for column in self.columns.numbers)

    def time(self, words: str, *, of_day: bool = False) -> Column | None:
        """The one column of times; asked when there are several. A day may be said by columns of its parts."""
        if self.columns.day is not None and not of_day:
            return self.columns.day
        times = self.columns.times
        if len(times) == 1:
            return times[0]
        if times:
            return self.ask(words, f"Which time is `{words}` about?", tuple(column.name for column in times))
        return None

    def plain_number(self, name: str) -> Column | None:
        """The column of whole numbers that is called exactly `name` (`month`, `hour`, `year`)."""
        hit = self.lexicon.column((name,))
        if hit is None or hit.quality > 1 or len(hit.columns) != 1:
            return None
        column = self.columns.get(hit.columns[0])
        return column if column is not None and column.kind == "number" else None

    def ask(self, words: str, text: str, options: tuple[str, ...]) -> Column | None:
        """Ask what `words` mean; the column, when that was answered already."""
        known = question_id(words)
        answered = self.columns.get(self.answers.get(known, ""))
        if answered is not None:
            return answered
        shown = options[:_OPTIONS]
        listed = f" There is: {', '.join(shown)}{', …' if len(options) > len(shown) else ''}." if shown else ""
        self.questions.setdefault(
            known,
            Question(id=known, text=f"{text}{listed}", kind="choice" if shown else "question", options=shown),
        )
        self.said.setdefault(known, words)
        return None

    def ask_figure(self, column: Column, words: str) -> bool:
        """Ask which figure of `column` is meant; False when there is nothing to ask, as each group is one row.

        Total, mean and maximum put groups in different orders: to pick one would be to guess the answer.
        """
        if len(self.groups) == 1 and self.groups[0].unit is None:
            group = self.columns.get(self.groups[0].column)
            if group is not None and self.columns.distinct(group.name) == self.columns.source.rows:
                return False
        options = tuple(f"{figure} {column.name}" for figure in FIGURES)
        self.ask(words, f"Which figure of `{column.name}` is meant by `{words}`?", options)
        return True

    def ask_meaning(self, item: Item) -> None:
        """Ask what a word means that is neither a column nor a value here."""
        texts = [value for values in self.columns.values.values() for value in values]
        near = nearest(item.text, [*self.columns.names, *texts[:5_000]], limit=5)
        path = self.columns.source.path
        self.ask(
            item.text,
            f"What is `{item.text}`? `{path}` has no such column or value.",
            (*dict.fromkeys((*near, *self.columns.names[: _OPTIONS - 6])), LEAVE_OUT),
        )

    def note(self, text: str) -> None:
        """Add a note once."""
        if text not in self.notes:
            self.notes.append(text)
