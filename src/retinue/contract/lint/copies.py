"""Inline copies of a behaviour: how much of one text stands in another (H11).

Compares lines, white space and capitals apart. A line counts when it is long enough to say something and stands in few
of the behaviours, so that what every file of a family begins with is no copy. Linear in the texts; whoever rewrites
every line is not caught, and need not be: such a text is no longer a copy.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from retinue.contract.finding import Finding

from .rules import found

__all__ = ["Passage", "copies"]

_SHORTEST: Final = 25
"""Characters of a line that says something of its own."""
_SHARED: Final = 2
"""A line that more behaviours have is nobody's own."""
_FEWEST: Final = 15
_LEAST: Final = 0.15
_MANY: Final = 40
"""A copy is 15 lines or more that are 15 % of the behaviour, or 40 lines of a long one. In six public collections of
agents, where nobody copied, no file shares more than 12 such lines with a behaviour, and none more than 10 % of it."""
_MARKUP: Final = re.compile(r"[\s*_`>#-]+")


@dataclass(frozen=True, slots=True)
class Passage:
    """A text, and where it stands.

    Attributes:
        name: What people call it: an agent's name, or a file.
        line: The line of the file on which it begins.
    """

    name: str
    file: str
    text: str
    line: int = 1


@dataclass(frozen=True, slots=True)
class _Copy:
    behaviour: Passage
    shared: int
    share: float
    there: tuple[int, int]
    here: tuple[int, int]


def copies(behaviours: Iterable[Passage], callers: Iterable[Passage]) -> Iterator[Finding]:
    """Every caller that holds a good part of a behaviour, instead of referring to it (H9, H11).

    Args:
        behaviours: What agents do, as their files say it.
        callers: Commands and prompts. The file of a behaviour is no caller of itself.
    """
    originals = tuple(behaviours)
    indexed = [_lines(each) for each in originals]
    spread = Counter(line for lines in indexed for line in lines)
    owners: dict[str, list[int]] = {}
    for owner, lines in enumerate(indexed):
        for line in lines:
            if spread[line] <= _SHARED:
                owners.setdefault(line, []).append(owner)
    for caller in callers:
        for copy in _copies_in(caller, originals, indexed, owners):
            yield _finding(caller, copy)


def _lines(passage: Passage) -> dict[str, int]:
    """The lines that say something, each with its number where it stands first."""
    lines: dict[str, int] = {}
    for number, line in enumerate(passage.text.split("\n"), start=passage.line):
        plain = _MARKUP.sub(" ", line).strip().casefold()
        if len(plain) >= _SHORTEST:
            lines.setdefault(plain, number)
    return lines


def _copies_in(
    caller: Passage, originals: tuple[Passage, ...], indexed: list[dict[str, int]], owners: Mapping[str, list[int]]
) -> Iterator[_Copy]:
    shared: dict[int, list[tuple[int, int]]] = {}
    for line, number in _lines(caller).items():
        for owner in owners.get(line, ()):
            shared.setdefault(owner, []).append((indexed[owner][line], number))
    for owner, pairs in shared.items():
        original, own = originals[owner], sum(owner in owners.get(line, ()) for line in indexed[owner])
        enough = len(pairs) >= _MANY or (len(pairs) >= _FEWEST and len(pairs) >= _LEAST * own)
        if original.file == caller.file or not enough:
            continue
        there, here = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        yield _Copy(original, len(pairs), len(pairs) / own, (min(there), max(there)), (min(here), max(here)))


def _finding(caller: Passage, copy: _Copy) -> Finding:
    original = copy.behaviour
    message = (
        f"It holds {copy.share:.0%} of the behaviour of `{original.name}`: {copy.shared} lines between "
        f"{copy.here[0]} and {copy.here[1]} also stand in {original.file}, lines {copy.there[0]} to {copy.there[1]}."
    )
    fix = f"Write “Read and follow: {original.file}” in their place, and only what this call adds."
    return found("behaviour/copy", "", message, fix, file=caller.file, line=copy.here[0], column=1)
