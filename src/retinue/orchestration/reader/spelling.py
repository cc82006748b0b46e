"""Words that are one slip of the keyboard apart. It knows no language, only letters."""

from collections.abc import Collection, Iterable, Iterator
from typing import Final

__all__ = ["Spellings", "one_edit_from"]

_LEAST: Final = 4
_MOST: Final = 24


def one_edit_from(word: str, known: Collection[str]) -> str | None:
    """The one of `known` that `word` misspells by a single slip: a letter too few or too many, wrong, or two swapped.

    None when it is spelled right, too short to tell, or could be several of them.
    """
    if not _LEAST <= len(word) <= _MOST or word in known:
        return None
    found = {other for other in known if abs(len(other) - len(word)) <= 1 and len(other) > 2 and _is_slip(word, other)}
    return found.pop() if len(found) == 1 else None


class Spellings:
    """Many known words, in which misspelled ones are found quickly.

    Args:
        words: The known ones.
        shortest: Shorter words are neither misspelled nor meant.
    """

    def __init__(self, words: Iterable[str], *, shortest: int = 5) -> None:
        self._shortest = shortest
        self._known: dict[str, list[str]] = {}
        for word in words:
            if shortest <= len(word) <= _MOST:
                for form in _shortened(word):
                    self._known.setdefault(form, []).append(word)

    def nearest(self, word: str) -> str | None:
        """The one known word that `word` misspells by a single slip, or None."""
        found = self.near(word)
        return found.pop() if len(found) == 1 else None

    def near(self, word: str) -> set[str]:
        """All known words that `word` may misspell by a single slip."""
        if not self._shortest <= len(word) <= _MOST:
            return set()
        found = {known for form in _shortened(word) for known in self._known.get(form, ()) if _is_slip(word, known)}
        found.discard(word)
        return found


def _shortened(word: str) -> Iterator[str]:
    """`word`, and `word` without each of its letters: misspellings of each other share one of these."""
    yield word
    for place in range(len(word)):
        yield word[:place] + word[place + 1 :]


def _is_slip(one: str, other: str) -> bool:
    """Whether the two differ by one letter more, less or wrong, or by two neighbours swapped."""
    if len(one) > len(other):
        one, other = other, one
    start = 0
    while start < len(one) and one[start] == other[start]:
        start += 1
    if len(one) < len(other):
        return len(other) - len(one) == 1 and one[start:] == other[start + 1 :]
    swapped = one[start : start + 2] == other[start : start + 2][::-1]
    return one[start + 1 :] == other[start + 1 :] or (swapped and one[start + 2 :] == other[start + 2 :])
