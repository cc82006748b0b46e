"""Lines that were meant as signals and are none: what a refusal says of them.

Only `answer` says what a signal is. People and models also write bold names, bullets, small letters, fences, and blank
lines between signals; none of these are taken for signals (C42), and whoever wrote them is told.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Final

from retinue.dialects.reading import Notes

from .answer import Head, is_table, lines_of
from .status import status_of
from .text import Fences, bearable, note_at
from .wire import SIGNALS, code_of

__all__ = ["Stray", "note_overlooked", "note_silence", "strays_in"]

_MARK: Final = r"(?:\*\*|__|`)?"
_MEANT: Final = re.compile(
    rf"[ \t]*+(?:>[ \t]*+)?(?:(?:[-*+]|[0-9]{{1,3}}[.)])[ \t]++)?{_MARK}({'|'.join(SIGNALS)}){_MARK}[ \t]*+[:\uff1a]"
    rf"{_MARK}[ \t]*+(.*)",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
_LONGEST: Final = 1_000
"""Letters of a line that is looked at; a longer one is prose."""
_LINES: Final = 10_000
"""So many lines are looked through."""


@dataclass(frozen=True, slots=True)
class Stray:
    """A line that was meant as a signal.

    Attributes:
        line: Counted from 1 in the text that was looked through.
        plain: It is written as a signal, so that only its place is wrong.
        shouted: Its name is in capitals.
        fenced: It stands in a code fence.
    """

    name: str
    value: str
    line: int
    plain: bool
    shouted: bool
    fenced: bool


def strays_in(text: str) -> Iterator[Stray]:
    """Every line of `text` that was meant as a signal, in order; a long text is not looked through to its end."""
    fences = Fences()
    for number, (line, _, _) in enumerate(islice(lines_of(text), _LINES), start=1):
        held = fences.hold(line)
        found = _MEANT.fullmatch(line) if len(line) <= _LONGEST else None
        if found is not None:
            plain = line.startswith(f"{found[1].upper()}:")
            yield Stray(
                found[1].upper(), found[2].strip(), number, plain=plain, shouted=found[1].isupper(), fenced=held
            )


_WHERE: Final = (
    "Begin the answer with lines such as `CREATED: path`, `STATUS: complete` or `ERROR: CATEGORY - description`."
)


def note_silence(head: Head, notes: Notes) -> None:
    """Say that there is no signal, and where something looks like one."""
    body = head.answer.body
    message, fix, line = "No signal stands at the start of the answer.", _WHERE, head.line
    stray = next(strays_in(body), None)
    table = next((at for at, (row, _, _) in enumerate(lines_of(body)) if row[:1] == "|" and is_table(row)), -1)
    if stray is not None:
        line = head.line + stray.line - 1
        why, fix = _misplaced(stray)
        message += f" `{stray.name}` on line {line} does not count: {why}."
    elif table >= 0:
        line = head.line + table
        message += f" The table on line {line} does not count: it stands below other text, or in a code fence."
        fix = "Begin the answer with the table itself."
    note_at(notes, "signals", message, line=line, fix=fix, severity="error")


def _misplaced(stray: Stray) -> tuple[str, str]:
    """Why a line is no signal, and what to do about it."""
    if stray.fenced:
        return "it stands in a code fence", f"Take the code fence off. {_WHERE}"
    if stray.plain:
        return "it stands below other text", f"Move it above all other text. {_WHERE}"
    fix = "Write the name in capitals at the start of the line: no bold, bullet, number, quote mark or space before it."
    return "its name does not stand bare at the start of the line", f"{fix} {_WHERE}"


def note_overlooked(head: Head, notes: Notes, *, ended: bool) -> None:
    """Say what of the text below the signals may have been meant as some.

    Args:
        head: With some signals.
        notes: Where to say it.
        ended: The signals say how it ended. Where they do not, a bad end that stands below them is not passed over.
    """
    for number in head.odd[:10]:
        fix = "Write the name of a signal without stars."
        note_at(notes, "signals", "The name of a signal is bold.", line=number, fix=fix)
    last = 0
    if head.glued:
        last = sum(1 for _ in takewhile(lambda each: each[0].strip(), lines_of(head.answer.body)))
        message, fix = (
            "No blank line stands between the signals and the text below them.",
            "Put one after the last signal.",
        )
        note_at(notes, "layout", message, line=head.line, fix=fix, severity=bearable(notes))
    shown = False
    for stray in strays_in(head.answer.body):
        near = not shown and stray.plain and stray.line <= max(last, 1)
        tells = not ended and _tells_bad_end(stray)
        if near or tells:
            shown = True
            line = head.line + stray.line - 1
            message = f"`{stray.name}` on line {line} does not count: it stands below the signals."
            fix = "Write all signals one below the other, without other lines between, and then a blank line."
            severity = "error" if tells or last else "warning"
            note_at(notes, "signals", message, line=line, fix=fix, severity=severity)
        if tells or (ended and (shown or stray.line > last)):
            return


def _tells_bad_end(stray: Stray) -> bool:
    """Whether the line says that the work did not end well."""
    if stray.fenced or not stray.shouted:
        return False
    if stray.name == "STATUS":
        return status_of(stray.value) in {"partial", "failed"}
    return stray.name == "ERROR" and code_of(stray.value.partition(" ")[0]) is not None
