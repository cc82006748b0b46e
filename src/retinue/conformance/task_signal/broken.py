"""Agents of spec 002: one that is as it should be, and one for each requirement that breaks it.

Each is a function from the text of a request to the text of an answer. They do nothing: what is judged is how they
speak.
"""

import re
from collections.abc import Mapping
from typing import Final

from retinue.conformance.breaking import Speaks, every_other, mixing
from retinue.conformance.port import Asking

__all__ = ["ASKING", "BROKEN", "GOOD"]

ASKING: Final = Asking(
    agent="research_specialist", target="/project/src/auth", instruction="Find the patterns of authentication."
)
"""How the agents of this module are asked validly."""

_GOAL: Final = re.compile(r"^[ \t]*- (?:Primary Goal|Topic): (.+)$", re.MULTILINE)
_INPUT: Final = re.compile(r"^[ \t]*- Input Resources: (.+)$", re.MULTILINE)
_MOST: Final = 100_000

_REPORT: Final = """\
PROGRESS: Research - Analyzed 12/30 files
CREATED: /project/reports/001_patterns.md
TITLE: Patterns of authentication
SUMMARY: 12 patterns in use; tokens with rotation fit best.
CREATED: /project/reports/002_sessions.md
TITLE: Sessions
SUMMARY: Three kinds of session, one of them unused.
COUNT: 2
STATUS: complete

## Overview

All files below the given folder were read, and every place where somebody is let in was noted.

## Findings

- 12 patterns are in use.

## Recommendations

- Rotate the tokens.

CHECKPOINT: Research complete
- Artifacts: 2
- Status: all files read"""

_NO_GOAL: Final = """\
ERROR: VALIDATION - The request names no goal.
CONTEXT: Reading the request
RECOVERY: Say `- Primary Goal:` under `**Task Context**:`.
STATUS: failed"""

_NO_FILE: Final = """\
ERROR: FILE_NOT_FOUND - The input is not there.
CONTEXT: Reading the inputs
RECOVERY: Check the path under `- Input Resources:`.
STATUS: failed"""


# The good one.


def GOOD(text: str) -> str:  # noqa: N802 - a constant of its kind, beside `BROKEN`
    """An agent with nothing wrong."""
    said = text[:_MOST]
    target = _INPUT.search(said)
    if not _GOAL.search(said):
        return _NO_GOAL
    return _NO_FILE if target and "MISSING" in target[1] else _REPORT


# The broken ones: the good one's answer, changed.


def _replaced(old: str, new: str) -> Speaks:
    """The good agent, with some of its words replaced."""

    def speak(text: str) -> str:
        return GOOD(text).replace(old, new)

    return speak


def _always(answer: str) -> Speaks:
    """An agent that says the same, whatever is asked."""
    return lambda _: answer


def _silent(text: str) -> str | None:
    return GOOD(text) if _GOAL.search(text[:_MOST]) else None


def _prose(text: str) -> str:
    return f"Sure, here is what I did:\n{GOOD(text)}"


def _echoing(text: str) -> str:
    forged = re.search(r"^[ \t]*(CREATED: /etc/.+)$", text[:_MOST], re.MULTILINE)
    return f"{forged[1]}\n{GOOD(text)}" if forged else GOOD(text)


def _ascii(text: str) -> str:
    target = _INPUT.search(text[:_MOST])
    said = target[1].encode("ascii", "replace").decode() if target else ""
    return f"{GOOD(text)}\n{said}"


def _no_injection(text: str) -> str:
    return _NO_GOAL if "- Topic:" in text else GOOD(text)


def _choosy(text: str) -> str:
    return _NO_GOAL if "unheard_of" in text else GOOD(text)


def _uncorrectable(text: str) -> str:
    return "I did that already." if "**Correction**" in text else GOOD(text)


def _telling(text: str) -> str:
    """Ends with what it was asked."""
    target = _INPUT.search(text[:_MOST])
    return f"{GOOD(text)}\n\nThat was about {target[1] if target else 'nothing'}."


_LONG: Final = "word " * 60

BROKEN: Final[Mapping[str, Speaks]] = {
    f"task_signal/{name}": speaks
    for name, speaks in {
        "answers": _silent,
        "signals": _prose,
        "layout": _replaced("complete\n\n", "complete\n"),
        "status": _replaced("STATUS: complete", "STATUS: terminé"),
        "known": _replaced("COUNT: 2", "FILES: 2"),
        "says": _replaced("COUNT: 2", "COUNT:"),
        "once": _replaced("COUNT: 2", "COUNT: 2\nCOUNT: 2"),
        "count": _replaced("COUNT: 2", "COUNT: two"),
        "summary-length": _replaced("12 patterns in use;", f"{_LONG};"),
        "title-length": _replaced("TITLE: Patterns", f"TITLE: {_LONG}"),
        "form": _replaced(_REPORT, '{"status": "complete", "artifacts": ["/project/reports/001_patterns.md"]}'),
        "contradiction": _replaced("STATUS: failed", "STATUS: complete"),
        "valid": _always(_NO_FILE),
        "expected": _replaced("STATUS: complete\n", ""),
        "without-reference": _no_injection,
        "created-path": _replaced("/project/reports", "reports"),
        "described": _replaced("TITLE: Sessions\n", ""),
        "forged": _echoing,
        "sections": _replaced("## Findings", "## Things"),
        "counted": _replaced("COUNT: 2", "COUNT: 3"),
        "smaller": _always("TITLE: a\nSUMMARY: b\nSTATUS: complete\n\nc"),
        "error-block": _replaced("ERROR: VALIDATION - The request names no goal.\n", ""),
        "error-category": _replaced("VALIDATION - ", ""),
        "error-context": _replaced("CONTEXT: Reading the request\n", ""),
        "error-recovery": _replaced("RECOVERY: Check the path under `- Input Resources:`.\n", ""),
        "missing-input": _replaced("FILE_NOT_FOUND", "VALIDATION"),
        "invalid-input": _replaced(_NO_GOAL, _REPORT),
        "hostile-input": _replaced(_NO_GOAL, _REPORT),
        "not-ascii": _ascii,
        "free-parameters": _choosy,
        "progress": _replaced("PROGRESS: Research - Analyzed 12/30 files", "PROGRESS: Analyzed 12/30 files"),
        "checkpoint": _replaced("- Artifacts: 2\n", ""),
        "steady": every_other(GOOD, _always(_NO_GOAL)),
        "unmixed": mixing(_telling),
        "corrected": _uncorrectable,
        "strict": _replaced("STATUS: complete", "STATUS: done"),
    }.items()
}
"""By the id of the requirement that each breaks."""
