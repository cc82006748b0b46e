"""Why a text that should stand in a file does not: the place that comes nearest, and in what it differs. Pure.

What it finds are the slips of whoever copies by memory: line numbers copied along, another indentation, other quotes
or dashes, blanks at the ends of lines, other case. It takes time in proportion to the file.
"""

import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import Final

__all__ = ["explain"]

_NUMBERED: Final = re.compile(r"^ {0,12}\d+(?:\t|→)", re.MULTILINE)
_ALIKE: Final = 0.6
_COMPARED: Final = 3000
_LONGEST: Final = 200
_SHOWN: Final = 8
_FOLDED: Final = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "'": '"', "‘": '"', "’": '"', "`": '"'}  # noqa: RUF001 - look-alikes
    | dict.fromkeys("‐‑‒–—−", "-")  # noqa: RUF001 - look-alikes
    | dict.fromkeys("\u00a0\u2007\u202f", " ")
)


def _one_blank(line: str) -> str:
    return " ".join(line.split())


_SLIPS: Final[Sequence[tuple[str, Callable[[str], str]]]] = (
    ("in line ends", lambda line: line.removesuffix("\r")),
    ("in blanks at the ends of lines", str.rstrip),
    ("in indentation", str.strip),
    ("in white space", _one_blank),
    ("in quotes, dashes or white space", lambda line: _one_blank(line.translate(_FOLDED))),
    ("in case", lambda line: _one_blank(line.translate(_FOLDED)).casefold()),
)
"""From the smallest to the largest."""


def explain(text: str, wanted: str) -> tuple[str, str]:
    """What is wrong with `wanted`, which does not stand in `text`, and what to do: a sentence each."""
    plain = _NUMBERED.sub("", wanted)
    if plain != wanted and plain in text:
        return "The old text begins its lines with line numbers, which are not in the file.", "Leave them out."
    lines, asked = text.split("\n"), wanted.split("\n")
    while len(asked) > 1 and not asked[-1].strip():
        asked.pop()
    while len(asked) > 1 and not asked[0].strip():
        asked.pop(0)
    for slip, fold in _SLIPS:
        if (at := _window(lines, asked, fold)) is not None:
            return f"The old text does not stand there; {_span(at, len(asked))} differs only {slip}.", _copy(
                lines, at, len(asked)
            )
    near = _nearest(lines, asked)
    if near is None:
        return "The old text does not stand in the file, and nothing like it does.", "Read the file and copy from it."
    return f"The old text does not stand there; nearest is {_span(near, len(asked))}.", (
        f"{_first_difference(lines, asked, near)}{_copy(lines, near, len(asked))}"
    )


def _window(lines: Sequence[str], asked: Sequence[str], fold: Callable[[str], str]) -> int | None:
    """Where the folded lines stand whole, or, a single one, within a line."""
    folded, sought = [fold(line) for line in lines], [fold(line) for line in asked]
    if not any(sought):
        return None
    if len(sought) == 1:
        return next((at for at, line in enumerate(folded) if sought[0] in line), None)
    at = -1
    for _ in range(folded.count(sought[0])):
        at = folded.index(sought[0], at + 1)
        if folded[at : at + len(sought)] == sought:
            return at
    return None


def _nearest(lines: Sequence[str], asked: Sequence[str]) -> int | None:
    """Where the most of the asked lines stand in their order; else where one stands that is like the longest."""
    places: dict[str, list[int]] = {}
    for at, line in enumerate(lines):
        places.setdefault(line.strip(), []).append(at)
    votes: dict[int, int] = {}
    for offset, line in enumerate(asked[:_COMPARED]):
        key = line.strip()
        for at in places.get(key, ())[:_COMPARED] if len(key) > 1 else ():
            votes[at - offset] = votes.get(at - offset, 0) + len(key)
    if votes:
        return max(0, max(votes, key=lambda start: votes[start]))
    offset = max(range(len(asked)), key=lambda one: len(asked[one].strip()))
    best, place = _ALIKE, None
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(asked[offset].strip()[:_LONGEST])
    for at, line in enumerate(lines[:_COMPARED]):
        matcher.set_seq1(line.strip()[:_LONGEST])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and (ratio := matcher.ratio()) > best:
            best, place = ratio, max(0, at - offset)
    return place


def _first_difference(lines: Sequence[str], asked: Sequence[str], at: int) -> str:
    for number, line in enumerate(asked):
        there = lines[at + number] if at + number < len(lines) else None
        if there != line:
            said = "the file has ended" if there is None else f"the file says {_shown(there)}"
            return f"In line {at + number + 1} {said} where you say {_shown(line)}. "
    return ""


def _copy(lines: Sequence[str], at: int, count: int) -> str:
    shown = "\n".join(lines[at : at + min(count, _SHOWN)])
    more = f" and {count - _SHOWN} lines more" if count > _SHOWN else ""
    return f"Copy it as it stands: {_shown(shown, longest=_SHOWN * _LONGEST)}{more}."


def _span(at: int, count: int) -> str:
    return f"line {at + 1}" if count == 1 else f"what begins in line {at + 1}"


def _shown(text: str, *, longest: int = _LONGEST) -> str:
    return repr(text if len(text) <= longest else f"{text[:longest]}…")
