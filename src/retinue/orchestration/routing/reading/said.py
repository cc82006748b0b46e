"""A clause made ready for reading parameters out of it: its words with their places, what is quoted, what is taken."""

import copy
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, Self, TypeAlias

from retinue.orchestration.routing.words import word_tokens

__all__ = ["Reading", "Said", "Side", "Word", "vocabulary"]

Side: TypeAlias = Literal["all", "kept", "denied"]
"""Which words of a clause are read: all, those that say what is wanted, or those that say what is to be left out."""

_WORDS: Final = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
_QUOTED: Final = re.compile(r"`([^`\n]{1,200})`|\"([^\"\n]{1,200})\"|“([^”\n]{1,200})”|(?<!\w)'([^'\n]{1,200})'(?!\w)")


def vocabulary(words: str) -> frozenset[str]:
    """The words of a line, for telling whether one is among them."""
    return frozenset(words.split())


@dataclass(frozen=True, slots=True)
class Word:
    """One word of the clause.

    Attributes:
        stem: Lower case, without ending.
    """

    text: str
    stem: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Reading:
    """A value, and where in the clause it was read.

    Attributes:
        shared: Other parameters may read the same words too ("since March" has a beginning and an end).
        options: All that the words may mean, when that is several: then a person has to say which.
    """

    value: object
    start: int
    end: int
    shared: bool = False
    options: tuple[str, ...] = ()


class Said:
    """A clause, and which of its words a parameter has taken already.

    Args:
        denied: Where it says what is to be left out (see `denied`).
    """

    def __init__(self, text: str, *, denied: Iterable[tuple[int, int]] = ()) -> None:
        self.text = text
        self.side: Side = "all"
        self._denied = tuple(denied)
        self.words = tuple(
            Word(match.group(), (word_tokens(match.group()) or [""])[0], match.start(), match.end())
            for match in _WORDS.finditer(text)
        )
        self._ends = tuple(word.end for word in self.words)
        self.stems = tuple(word.stem for word in self.words)
        self._taken: list[tuple[int, int]] = []
        self._shared: list[tuple[int, int]] = []

    def on(self, side: Side) -> Self:
        """The same clause, of which only the words of one side are free; what is taken is taken on all sides."""
        if side == self.side or not self._denied:
            return self
        other = copy.copy(self)
        other.side = side
        return other

    def take(self, reading: Reading) -> None:
        """Keep the words of `reading` from being read again, but by readers that share."""
        (self._shared if reading.shared else self._taken).append((reading.start, reading.end))

    def free(self, start: int, end: int, *, sharing: bool = False) -> bool:
        """Whether nothing between `start` and `end` is taken; with `sharing`, what is shared counts as free."""
        if self.side != "all":
            denied = any(start < stop and begin < end for begin, stop in self._denied)
            if denied != (self.side == "denied"):
                return False
        taken = self._taken if sharing else (*self._taken, *self._shared)
        return all(end <= begin or start >= stop for begin, stop in taken)

    def matches(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """The matches of `pattern` that are free."""
        return (match for match in pattern.finditer(self.text) if self.free(*match.span()))

    def quoted(self) -> Iterator[Reading]:
        """What stands in quotes or backticks and is free."""
        for match in self.matches(_QUOTED):
            inside = match.lastindex or 1
            yield Reading(match.group(inside), match.start(inside), match.end(inside))

    def find(self, stems: Iterable[str]) -> Iterator[tuple[int, int]]:
        """Where the words with these stems stand in a row: index of the first, index after the last."""
        wanted = tuple(stems)
        if not wanted:
            return
        for first in range(len(self.stems) - len(wanted) + 1):
            if self.stems[first : first + len(wanted)] == wanted:
                start, end = self.words[first].start, self.words[first + len(wanted) - 1].end
                if self.free(start, end):
                    yield first, first + len(wanted)

    def reading(self, value: object, first: int, last: int) -> Reading:
        """`value` as read from the words `first` up to before `last`."""
        return Reading(value, self.words[first].start, self.words[last - 1].end)

    def before(self, start: int, *, most: int) -> list[str]:
        """Up to `most` words right before the place `start`, lower case, nearest first."""
        last = bisect_right(self._ends, start)
        return [word.text.lower() for word in reversed(self.words[max(last - most, 0) : last])]
