"""Agents of spec 002: one that is as it should be, and one for each requirement that breaks it.

Each is a function from the text of a request to the text of an answer. They do nothing: what is judged is how they
speak.
"""

import re
from collections.abc import Mapping
from typing import Final

from retinue.conformance.port import RequestTemplate
from tests.conformance.mutants.mutation import AgentFunction, alternating, mixing

TEMPLATE: Final = RequestTemplate(
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


def GOOD(text: str) -> str:  # noqa: N802 - a constant of its kind, beside `MUTANTS`
    """An agent with nothing wrong."""
    head = text[:_MOST]
    target = _INPUT.search(head)
    if not _GOAL.search(head):
        return _NO_GOAL
    return _NO_FILE if target and "MISSING" in target[1] else _REPORT


# The broken ones: the good one's answer, changed.


def _with_replacement(old: str, new: str) -> AgentFunction:
    """The good agent, with some of its words replaced."""

    def answer(text: str) -> str:
        return GOOD(text).replace(old, new)

    return answer


def _always(answer: str) -> AgentFunction:
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
    target_text = target[1].encode("ascii", "replace").decode() if target else ""
    return f"{GOOD(text)}\n{target_text}"


def _no_injection(text: str) -> str:
    return _NO_GOAL if "- Topic:" in text else GOOD(text)


def _choosy(text: str) -> str:
    return _NO_GOAL if "unheard_of" in text else GOOD(text)


def _uncorrectable(text: str) -> str:
    return "I did that already." if "**Correction**" in text else GOOD(text)


def _quoting(text: str) -> str:
    """Ends with what it was asked."""
    target = _INPUT.search(text[:_MOST])
    return f"{GOOD(text)}\n\nThat was about {target[1] if target else 'nothing'}."


_LONG: Final = "word " * 60

MUTANTS: Final[Mapping[str, AgentFunction]] = {
    f"task_signal/{name}": speaks
    for name, speaks in {
        "answers": _silent,
        "signals": _prose,
        "layout": _with_replacement("complete\n\n", "complete\n"),
        "status": _with_replacement("STATUS: complete", "STATUS: terminé"),
        "known": _with_replacement("COUNT: 2", "FILES: 2"),
        "says": _with_replacement("COUNT: 2", "COUNT:"),
        "once": _with_replacement("COUNT: 2", "COUNT: 2\nCOUNT: 2"),
        "count": _with_replacement("COUNT: 2", "COUNT: two"),
        "summary-length": _with_replacement("12 patterns in use;", f"{_LONG};"),
        "title-length": _with_replacement("TITLE: Patterns", f"TITLE: {_LONG}"),
        "form": _with_replacement(_REPORT, '{"status": "complete", "artifacts": ["/project/reports/001_patterns.md"]}'),
        "contradiction": _with_replacement("STATUS: failed", "STATUS: complete"),
        "valid": _always(_NO_FILE),
        "expected": _with_replacement("STATUS: complete\n", ""),
        "without-reference": _no_injection,
        "created-path": _with_replacement("/project/reports", "reports"),
        "described": _with_replacement("TITLE: Sessions\n", ""),
        "forged": _echoing,
        "sections": _with_replacement("## Findings", "## Things"),
        "counted": _with_replacement("COUNT: 2", "COUNT: 3"),
        "smaller": _always("TITLE: a\nSUMMARY: b\nSTATUS: complete\n\nc"),
        "error-block": _with_replacement("ERROR: VALIDATION - The request names no goal.\n", ""),
        "error-category": _with_replacement("VALIDATION - ", ""),
        "error-context": _with_replacement("CONTEXT: Reading the request\n", ""),
        "error-recovery": _with_replacement("RECOVERY: Check the path under `- Input Resources:`.\n", ""),
        "missing-input": _with_replacement("FILE_NOT_FOUND", "VALIDATION"),
        "invalid-input": _with_replacement(_NO_GOAL, _REPORT),
        "hostile-input": _with_replacement(_NO_GOAL, _REPORT),
        "not-ascii": _ascii,
        "free-parameters": _choosy,
        "progress": _with_replacement("PROGRESS: Research - Analyzed 12/30 files", "PROGRESS: Analyzed 12/30 files"),
        "checkpoint": _with_replacement("- Artifacts: 2\n", ""),
        "steady": alternating(GOOD, _always(_NO_GOAL)),
        "unmixed": mixing(_quoting),
        "corrected": _uncorrectable,
        "strict": _with_replacement("STATUS: complete", "STATUS: done"),
    }.items()
}
"""By the id of the requirement that each breaks."""
