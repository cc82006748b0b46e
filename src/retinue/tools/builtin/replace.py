"""Exact replacement in a text: each old piece must stand there once, or it is said why not. Pure.

All replacements hold or none does. Line ends stay what they are in the file: in one whose lines all end with CRLF, a
line break that is written as LF means CRLF.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import accumulate, pairwise
from typing import Final

from retinue.contract.finding import Finding
from retinue.errors import InvalidInput

_MAX_SHOWN: Final = 10
_MAX_COUNT: Final = 1000


@dataclass(frozen=True, slots=True)
class Replacement:
    """`old` becomes `new`: the one place where it stands, or with `everywhere` each of them."""

    old: str
    new: str
    everywhere: bool = False


def apply_replacements(text: str, replacements: Sequence[Replacement]) -> str:
    """`text` after all `replacements`, one after the other.

    A line break at the very end of `text` is kept.

    Raises:
        InvalidInput: Some cannot be done; `detail["findings"]` says of each why, with the place that comes nearest.
    """
    # What all lines end with; where they differ, nothing is taken for anything else.
    pairs = text.count("\r\n")
    ends = "\n" if not pairs else "\r\n" if pairs == text.count("\n") else None
    now = text.replace("\r\n", "\n") if ends == "\r\n" else text
    findings: list[Finding] = []
    for number, replacement in enumerate(replacements):
        one = replacement
        if ends is not None:
            one = replace(one, old=one.old.replace("\r\n", "\n"), new=one.new.replace("\r\n", "\n"))
        problem = _problem(now, one, f"/edits/{number}")
        if problem is None:
            now = now.replace(one.old, one.new, -1 if one.everywhere else 1)
        else:
            findings.append(problem)
    if findings:
        count, first = len(replacements), findings[0]
        which = "" if count == 1 else f"{len(findings)} of {count} edits cannot be done, so none was: "
        details = " ".join(f"{one.path}: {one.message} {one.fix}" for one in findings[1:_MAX_SHOWN])
        raise InvalidInput(
            f"{which}{first.message}",
            hint=f"{first.fix} {details}".strip(),
            path=first.path,
            detail={"findings": [finding.to_json() for finding in findings]},
        )
    if text.endswith("\n") and now and not now.endswith("\n"):
        now += "\n"
    return now.replace("\n", "\r\n") if ends == "\r\n" else now


def _problem(text: str, one: Replacement, path: str) -> Finding | None:
    if not one.old:
        return _finding("The old text is empty.", "Give the text that is to be replaced.", f"{path}/old")
    if one.old == one.new:
        return _finding("The old and the new text are the same.", "Leave this edit out.", f"{path}/new")
    places: list[int] = []
    at = text.find(one.old)
    while at >= 0 and len(places) < (2 if one.everywhere else _MAX_COUNT):
        places.append(at)
        at = text.find(one.old, at + 1)  # overlapping places too: which of them is meant cannot be known
    if not places:
        message, fix = explain(text, one.old)
        return _finding(message, fix, f"{path}/old")
    if len(places) > 1 and not one.everywhere:
        often = f"{_MAX_COUNT:,} times or more" if len(places) == _MAX_COUNT else f"{len(places)} times"
        numbers_by_place = accumulate((text.count("\n", *span) for span in pairwise([0, *places])), initial=1)
        lines = sorted(set(list(numbers_by_place)[1:]))
        numbers = ", ".join(str(line) for line in lines[:_MAX_SHOWN])
        more = f" and {len(lines) - _MAX_SHOWN:,} more" if len(lines) > _MAX_SHOWN else ""
        return _finding(
            f"The old text stands {often}: {'line' if len(lines) == 1 else 'lines'} {numbers}{more}.",
            "Give more lines around it so that it stands once, or set `replace_all`.",
            f"{path}/old",
        )
    return None


def _finding(message: str, fix: str, path: str) -> Finding:
    return Finding(rule="edit/match", message=message, path=path, fix=fix)


_NUMBERED: Final = re.compile(r"^ {0,12}\d+(?:\t|→)", re.MULTILINE)
_MIN_RATIO: Final = 0.6
_COMPARED: Final = 3000
_LONGEST: Final = 200
_SHOWN_LINES: Final = 8
_EQUIVALENTS: Final = str.maketrans(
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
    ("in quotes, dashes or white space", lambda line: _one_blank(line.translate(_EQUIVALENTS))),
    ("in case", lambda line: _one_blank(line.translate(_EQUIVALENTS)).casefold()),
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
        return "The old text is not in the file, nor anything like it.", "Read the file and copy from it."
    difference = ""
    for number, line in enumerate(piece_lines, near):
        there = lines[number] if number < len(lines) else None
        if there != line:
            actual = "the file has ended" if there is None else f"the file says {_quote(there)}"
            difference = f"In line {number + 1} {actual} where you say {_quote(line)}. "
            break
    return (
        f"The old text does not stand there; nearest is {_span(near, len(piece_lines))}.",
        f"{difference}{_copy(lines, near, len(piece_lines))}",
    )


def _window(lines: Sequence[str], piece_lines: Sequence[str], fold: Callable[[str], str]) -> int | None:
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


def _copy(lines: Sequence[str], at: int, count: int) -> str:
    excerpt = "\n".join(lines[at : at + min(count, _SHOWN_LINES)])
    more = f" and {count - _SHOWN_LINES} lines more" if count > _SHOWN_LINES else ""
    return f"Copy it as it stands: {_quote(excerpt, longest=_SHOWN_LINES * _LONGEST)}{more}."


def _span(at: int, count: int) -> str:
    return f"line {at + 1}" if count == 1 else f"what begins in line {at + 1}"


def _quote(text: str, *, longest: int = _LONGEST) -> str:
    return repr(text if len(text) <= longest else f"{text[:longest]}…")
