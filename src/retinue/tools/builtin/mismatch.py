"""Why a text that should stand in a file does not: the place that comes nearest, and in what it differs. Pure.

What it finds are the slips of whoever copies by memory: line numbers copied along, another indentation, other quotes
or dashes, blanks at the ends of lines, other case. It takes time in proportion to the file.
"""

import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import Final

_NUMBERED: Final = re.compile(r"^ {0,12}\d+(?:\t|→)", re.MULTILINE)
_MIN_RATIO: Final = 0.6
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


def explain(text: str, piece: str) -> tuple[str, str]:
    """What is wrong with `piece`, which does not stand in `text`, and what to do: a sentence each."""
    unnumbered = _NUMBERED.sub("", piece)
    if unnumbered != piece and unnumbered in text:
        return "The old text begins its lines with line numbers, which are not in the file.", "Leave them out."
    lines, piece_lines = text.split("\n"), piece.split("\n")
    while len(piece_lines) > 1 and not piece_lines[-1].strip():
        piece_lines.pop()
    while len(piece_lines) > 1 and not piece_lines[0].strip():
        piece_lines.pop(0)
    for slip, fold in _SLIPS:
        if (at := _window(lines, piece_lines, fold)) is not None:
            return f"The old text does not stand there; {_span(at, len(piece_lines))} differs only {slip}.", _copy(
                lines, at, len(piece_lines)
            )
    near = _nearest(lines, piece_lines)
    if near is None:
        return "The old text does not stand in the file, and nothing like it does.", "Read the file and copy from it."
    return f"The old text does not stand there; nearest is {_span(near, len(piece_lines))}.", (
        f"{_first_difference(lines, piece_lines, near)}{_copy(lines, near, len(piece_lines))}"
    )


def _window(lines: Sequence[str], piece_lines: Sequence[str], fold: Callable[[str], str]) -> int | None:
    """Where the folded lines stand whole, or, a single one, within a line."""
    folded_lines, folded_piece = [fold(line) for line in lines], [fold(line) for line in piece_lines]
    if not any(folded_piece):
        return None
    if len(folded_piece) == 1:
        return next((at for at, line in enumerate(folded_lines) if folded_piece[0] in line), None)
    at = -1
    for _ in range(folded_lines.count(folded_piece[0])):
        at = folded_lines.index(folded_piece[0], at + 1)
        if folded_lines[at : at + len(folded_piece)] == folded_piece:
            return at
    return None


def _nearest(lines: Sequence[str], piece_lines: Sequence[str]) -> int | None:
    """Where the most of the asked lines stand in their order; else where one stands that is like the longest."""
    places: dict[str, list[int]] = {}
    for at, line in enumerate(lines):
        places.setdefault(line.strip(), []).append(at)
    votes: dict[int, int] = {}
    for offset, line in enumerate(piece_lines[:_COMPARED]):
        key = line.strip()
        for at in places.get(key, ())[:_COMPARED] if len(key) > 1 else ():
            votes[at - offset] = votes.get(at - offset, 0) + len(key)
    if votes:
        return max(0, max(votes, key=lambda start: votes[start]))
    offset = max(range(len(piece_lines)), key=lambda one: len(piece_lines[one].strip()))
    best, place = _MIN_RATIO, None
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(piece_lines[offset].strip()[:_LONGEST])
    for at, line in enumerate(lines[:_COMPARED]):
        matcher.set_seq1(line.strip()[:_LONGEST])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and (ratio := matcher.ratio()) > best:
            best, place = ratio, max(0, at - offset)
    return place


def _first_difference(lines: Sequence[str], piece_lines: Sequence[str], at: int) -> str:
    for number, line in enumerate(piece_lines):
        there = lines[at + number] if at + number < len(lines) else None
        if there != line:
            actual = "the file has ended" if there is None else f"the file says {_quote(there)}"
            return f"In line {at + number + 1} {actual} where you say {_quote(line)}. "
    return ""


def _copy(lines: Sequence[str], at: int, count: int) -> str:
    excerpt = "\n".join(lines[at : at + min(count, _SHOWN)])
    more = f" and {count - _SHOWN} lines more" if count > _SHOWN else ""
    return f"Copy it as it stands: {_quote(excerpt, longest=_SHOWN * _LONGEST)}{more}."


def _span(at: int, count: int) -> str:
    return f"line {at + 1}" if count == 1 else f"what begins in line {at + 1}"


def _quote(text: str, *, longest: int = _LONGEST) -> str:
    return repr(text if len(text) <= longest else f"{text[:longest]}…")
