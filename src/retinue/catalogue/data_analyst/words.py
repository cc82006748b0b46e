"""A question cut into words with their places, and misspelt words set right against those that are known."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

__all__ = ["Word", "nearest_word", "split"]

_LONGEST: Final = 2_000
_WORD: Final = re.compile(
    r"`(?P<tick>[^`\n]{1,200})`|\"(?P<double>[^\"\n]{1,200})\"|“(?P<curly>[^”\n]{1,200})”"
    r"|(?<!\w)'(?P<single>[^'\n]{1,200})'(?!\w)"
    r"|(?P<moment>\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?Z?)?)"
    r"|(?P<path>(?<!\w)(?:\.{0,2}/)[\w./{}:@*+-]*\w)"
    r"|(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+)(?=\D|$)"
    r"|[^\W_]\.(?:[^\W_]\.)+"
    r"|\w+(?:[.'\u2019@/-]\w+)*%?"
    r"|>=|<=|!=|<>|==|[<>=&%]|[,;:()?!]"
)
_SHORT: Final = 4
_LONG: Final = 8


@dataclass(slots=True)
class Word:
    """One word.

    Attributes:
        text: As it was written, without quotes.
        low: In small letters, misspellings set right.
    """

    text: str
    low: str
    start: int
    end: int
    quoted: bool = False


def split(question: str) -> list[Word]:
    """The words of `question`, of which the first 2,000 characters are read."""
    found: list[Word] = []
    for match in _WORD.finditer(question[:_LONGEST]):
        quoted = next((text for key in ("tick", "double", "curly", "single") if (text := match[key])), None)
        text = (quoted or match.group()).strip()
        if quoted is None:
            text = re.sub(r"['\u2019]s$", "", text)
        if text:
            found.append(Word(text, text.casefold(), match.start(), match.end(), quoted is not None))
    return found


def nearest_word(word: str, known: Iterable[str], sure: frozenset[str]) -> str | None:
    """What `word` was meant to be, among `known`; None when nothing is near, or two things are.

    Short words may be mistaken for anything: four letters are set right only towards words of `sure`.
    """
    if len(word) < _SHORT or not word.isalpha():
        return None
    most = 1 if len(word) < _LONG else 2
    found: dict[int, set[str]] = {}
    for other in known:
        if abs(len(other) - len(word)) > most or len(other) < _SHORT or other[0] != word[0]:
            continue
        # "summer" is not "summed": another ending makes another word, which is no slip of a finger.
        if other[-1] != word[-1] and (other[:-1] != word or len(word) == _SHORT):
            continue
        if len(word) == _SHORT and other not in sure and sorted(other) != sorted(word):
            continue
        if (distance := _distance(word, other, most)) <= most:
            found.setdefault(distance, set()).add(other)
    best = found[min(found)] if found else set[str]()
    if len(best) > 1:
        best = {other for other in best if sorted(other) == sorted(word)} or {
            other for other in best if not any(other != one and other.startswith(one) for one in best)
        }
    return best.pop() if len(best) == 1 else None


def _distance(one: str, other: str, most: int) -> int:
    """Letters to change, add, drop or swap; more than `most` is not counted out."""
    before: list[int] = []
    above = list(range(len(other) + 1))
    for row, left in enumerate(one, 1):
        line = [row]
        for column, right in enumerate(other, 1):
            cost = min(above[column] + 1, line[-1] + 1, above[column - 1] + (left != right))
            if row > 1 and column > 1 and left == other[column - 2] and one[row - 2] == right:
                cost = min(cost, before[column - 2] + 1)
            line.append(cost)
        if min(line) > most:
            return most + 1
        before, above = above, line
    return above[-1]
