"""Lines that were meant as signals and are none: what a refusal says of them.

Only `answer_text` says what a signal is. People and models also write bold names, bullets, small letters, fences, and
blank lines between signals; none of these are taken for signals (C42), and whoever wrote them is told.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Final

from retinue.dialects.diagnostics import Diagnostics

from .answer_text import AnswerHead, is_table, lines_of
from .lines import Fences, note_at, strict_severity
from .status import status_of
from .wire import SIGNALS, code_of

_MARK: Final = r"(?:\*\*|__|`)?"
_SIGNAL_LIKE: Final = re.compile(
    rf"[ \t]*+(?:>[ \t]*+)?(?:(?:[-*+]|[0-9]{{1,3}}[.)])[ \t]++)?{_MARK}({'|'.join(SIGNALS)}){_MARK}[ \t]*+[:\uff1a]"
    rf"{_MARK}[ \t]*+(.*)",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
_LONGEST: Final = 1_000
"""Letters of a line that is looked at; a longer one is prose."""
_LINES: Final = 10_000
"""So many lines are looked through."""


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A line that was meant as a signal.

    Attributes:
        line: Counted from 1 in the text that was looked through.
        is_well_formed: It is written as a signal, so that only its place is wrong.
        is_upper: Its name is in capitals.
        is_fenced: It stands in a code fence.
    """

    name: str
    value: str
    line: int
    is_well_formed: bool
    is_upper: bool
    is_fenced: bool


def find_near_misses(text: str) -> Iterator[NearMiss]:
    """Every line of `text` that was meant as a signal, in order; a long text is not looked through to its end."""
    fences = Fences()
    for number, (line, _, _) in enumerate(islice(lines_of(text), _LINES), start=1):
        in_fence = fences.is_code(line)
        match = _SIGNAL_LIKE.fullmatch(line) if len(line) <= _LONGEST else None
        if match is not None:
            is_well_formed = line.startswith(f"{match[1].upper()}:")
            yield NearMiss(
                match[1].upper(),
                match[2].strip(),
                number,
                is_well_formed=is_well_formed,
                is_upper=match[1].isupper(),
                is_fenced=in_fence,
            )


_WHERE: Final = (
    "Begin the answer with lines such as `CREATED: path`, `STATUS: complete` or `ERROR: CATEGORY - description`."
)


def note_no_signals(head: AnswerHead, notes: Diagnostics) -> None:
    """Say that there is no signal, and where something looks like one."""
    body = head.answer.body
    message, fix, line = "No signal stands at the start of the answer.", _WHERE, head.line
    near_miss = next(find_near_misses(body), None)
    table = next((at for at, (row, _, _) in enumerate(lines_of(body)) if row[:1] == "|" and is_table(row)), -1)
    if near_miss is not None:
        line = head.line + near_miss.line - 1
        why, fix = _explain(near_miss)
        message += f" `{near_miss.name}` on line {line} does not count: {why}."
    elif table >= 0:
        line = head.line + table
        message += f" The table on line {line} does not count: it stands below other text, or in a code fence."
        fix = "Begin the answer with the table itself."
    note_at(notes, "signals", message, line=line, fix=fix, severity="error")


def _explain(near_miss: NearMiss) -> tuple[str, str]:
    """Why a line is no signal, and what to do about it."""
    if near_miss.is_fenced:
        return "it stands in a code fence", f"Take the code fence off. {_WHERE}"
    if near_miss.is_well_formed:
        return "it stands below other text", f"Move it above all other text. {_WHERE}"
    fix = "Write the name in capitals at the start of the line: no bold, bullet, number, quote mark or space before it."
    return "its name does not stand bare at the start of the line", f"{fix} {_WHERE}"


def note_near_misses(head: AnswerHead, notes: Diagnostics, *, has_outcome: bool) -> None:
    """Say what of the text below the signals may have been meant as some.

    Args:
        head: With some signals.
        notes: Where to say it.
        has_outcome: The signals say how it ended. Where they do not, a bad end that stands below them is not passed
            over.
    """
    for number in head.bold_lines[:10]:
        fix = "Write the name of a signal without stars."
        note_at(notes, "signals", "The name of a signal is bold.", line=number, fix=fix)
    last = 0
    if head.is_adjacent:
        last = sum(1 for _ in takewhile(lambda each: each[0].strip(), lines_of(head.answer.body)))
        message, fix = (
            "No blank line stands between the signals and the text below them.",
            "Put one after the last signal.",
        )
        note_at(notes, "layout", message, line=head.line, fix=fix, severity=strict_severity(notes))
    has_note = False
    for near_miss in find_near_misses(head.answer.body):
        is_near = not has_note and near_miss.is_well_formed and near_miss.line <= max(last, 1)
        is_bad_end = not has_outcome and _is_bad_end(near_miss)
        if is_near or is_bad_end:
            has_note = True
            line = head.line + near_miss.line - 1
            message = f"`{near_miss.name}` on line {line} does not count: it stands below the signals."
            fix = "Write all signals one below the other, without other lines between, and then a blank line."
            severity = "error" if is_bad_end or last else "warning"
            note_at(notes, "signals", message, line=line, fix=fix, severity=severity)
        if is_bad_end or (has_outcome and (has_note or near_miss.line > last)):
            return


def _is_bad_end(near_miss: NearMiss) -> bool:
    """Whether the line says that the work did not end well."""
    if near_miss.is_fenced or not near_miss.is_upper:
        return False
    if near_miss.name == "STATUS":
        return status_of(near_miss.value) in {"partial", "failed"}
    return near_miss.name == "ERROR" and code_of(near_miss.value.partition(" ")[0]) is not None
