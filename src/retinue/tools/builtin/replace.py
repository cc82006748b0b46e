"""Exact replacement in a text: each old piece must stand there once, or it is said why not. Pure.

All replacements hold or none does. Line ends stay what they are in the file: in one whose lines all end with CRLF, a
line break that is written as LF means CRLF.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from retinue.contract.finding import Finding
from retinue.errors import InvalidInput
from retinue.tools.builtin.mismatch import explain

_SHOWN: Final = 10
_COUNTED: Final = 1000


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
    ends = _line_ends(text)
    now = text.replace("\r\n", "\n") if ends == "\r\n" else text
    findings: list[Finding] = []
    for number, replacement in enumerate(replacements):
        one = replacement if ends is None else _with_plain_ends(replacement)
        problem = _problem(now, one, f"/edits/{number}")
        if problem is None:
            now = now.replace(one.old, one.new, -1 if one.everywhere else 1)
        else:
            findings.append(problem)
    if findings:
        raise _refusal(findings, len(replacements))
    if text.endswith("\n") and now and not now.endswith("\n"):
        now += "\n"
    return now.replace("\n", "\r\n") if ends == "\r\n" else now


def _problem(text: str, one: Replacement, path: str) -> Finding | None:
    if not one.old:
        return _finding("The old text is empty.", "Give the text that is to be replaced.", f"{path}/old")
    if one.old == one.new:
        return _finding("The old and the new text are the same.", "Leave this edit out.", f"{path}/new")
    places = list(islice(_places(text, one.old), 2 if one.everywhere else _COUNTED))
    if not places:
        message, fix = explain(text, one.old)
        return _finding(message, fix, f"{path}/old")
    if len(places) > 1 and not one.everywhere:
        often = f"{_COUNTED:,} times or more" if len(places) == _COUNTED else f"{len(places)} times"
        return _finding(
            f"The old text stands {often}: {_lines_of(text, places)}.",
            "Give more lines around it so that it stands once, or set `replace_all`.",
            f"{path}/old",
        )
    return None


def _places(text: str, piece: str) -> Iterator[int]:
    """Where `piece` stands, overlapping places too: which of them is meant nobody could say."""
    at = text.find(piece)
    while at >= 0:
        yield at
        at = text.find(piece, at + 1)


def _lines_of(text: str, places: Sequence[int]) -> str:
    breaks = [at for at, character in enumerate(text) if character == "\n"]
    lines = list(dict.fromkeys(bisect_right(breaks, at - 1) + 1 for at in places))
    numbers = ", ".join(str(line) for line in lines[:_SHOWN])
    more = f" and {len(lines) - _SHOWN:,} more" if len(lines) > _SHOWN else ""
    return f"{'line' if len(lines) == 1 else 'lines'} {numbers}{more}"


def _finding(message: str, fix: str, path: str) -> Finding:
    return Finding(rule="edit/match", message=message, path=path, fix=fix)


def _refusal(findings: Sequence[Finding], count: int) -> InvalidInput:
    which = "" if count == 1 else f"{len(findings)} of {count} edits cannot be done, so none was: "
    first = findings[0]
    details = " ".join(f"{one.path}: {one.message} {one.fix}" for one in findings[1:_SHOWN])
    return InvalidInput(
        f"{which}{first.message}",
        hint=f"{first.fix} {details}".strip(),
        path=first.path,
        detail={"findings": [finding.to_json() for finding in findings]},
    )


def _line_ends(text: str) -> str | None:
    """What all lines end with; None when they differ, and then nothing is taken for anything else."""
    pairs = text.count("\r\n")
    if not pairs:
        return "\n"
    return "\r\n" if pairs == text.count("\n") else None


def _with_plain_ends(one: Replacement) -> Replacement:
    return Replacement(one.old.replace("\r\n", "\n"), one.new.replace("\r\n", "\n"), one.everywhere)
