"""The exact shapes and words of spec 002. No text is read here, and nothing is judged.

Text forms are slotted records of what stood where (`TaskCall`, `Prompt`, `SignalAnswer`, `AnswerTable`); JSON forms are
strict models with the wire's own keys.
"""

import re
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field

from retinue.contract.formatting import truncate
from retinue.contract.model import JsonMapping
from retinue.contract.names import canonical_name, to_kebab
from retinue.contract.result import Outcome
from retinue.contract.task import Thinking
from retinue.contract.version import split_versioned_name
from retinue.dialects.wire_model import WireModel
from retinue.errors import FaultCode

from .lines import one_line

Status: TypeAlias = Literal["complete", "partial", "failed"]

SIGNALS: Final = ("CREATED", "TITLE", "SUMMARY", "STATUS", "ERROR", "COUNT", "CONTEXT", "RECOVERY")
"""What the head of an answer may say (H7, H16)."""

TITLE_CHARS: Final = 50
SUMMARY_CHARS: Final = 200
"""The longest title and summary, in Unicode characters (H23, C24)."""

STATUSES: Final[dict[Outcome, Status]] = {
    "success": "complete",
    "partial": "partial",
    "error": "failed",
    "failed": "failed",
    "canceled": "failed",
    "rejected": "failed",
}
"""Our outcomes in this format's words (C1). Read back, `failed` is an error: nobody else counts our attempts."""

TABLE_STATUSES: Final = ("done", "complete", "partial", "failed")
"""What the Status column says: `done` for what is complete (H15)."""

STATUS_SYNONYMS: Final[dict[str, Status]] = {
    "complete": "complete", "completed": "complete", "done": "complete", "success": "complete",
    "partial": "partial", "partially complete": "partial",
    "failed": "failed", "failure": "failed", "error": "failed",
}  # fmt: skip
"""Words of the same meaning that are in use; all but the three of `Status` (and `done` in a table) are borne with a
finding."""

CATEGORIES: Final[dict[FaultCode, str]] = {
    "missing_file": "FILE_NOT_FOUND",
    "invalid_input": "VALIDATION",
    "output_invalid": "VALIDATION",
    "parse_error": "PARSE_ERROR",
    "access_denied": "ACCESS_DENIED",
    "unauthenticated": "ACCESS_DENIED",
    "network_error": "NETWORK_ERROR",
    "unavailable": "NETWORK_ERROR",
    "timeout": "TIMEOUT",
    "budget_exceeded": "BUDGET",
    "canceled": "CANCELED",
    "internal_error": "INTERNAL",
}
"""Our fault codes as error categories (H17, C2)."""

OUR_CATEGORIES: Final = frozenset({"ACCESS_DENIED", "BUDGET", "CANCELED", "INTERNAL"})
"""Categories that spec 002 does not have."""

_CODES: Final[dict[str, FaultCode]] = {
    "FILE_NOT_FOUND": "missing_file",
    "PARSE_ERROR": "parse_error",
    "NETWORK_ERROR": "network_error",
    "VALIDATION": "output_invalid",
    "TIMEOUT": "timeout",
    "ACCESS_DENIED": "access_denied",
    "BUDGET": "budget_exceeded",
    "CANCELED": "canceled",
    "INTERNAL": "internal_error",
}

THINKING: Final[dict[str, Thinking]] = {
    "standard": "standard",
    "think": "think",
    "think hard": "think_hard",
    "ultrathink": "ultrathink",
}
"""Thinking modes as they are read; the last is no word of the format and is written as the one before it (C43)."""

COLUMNS: Final = ("Topic", "Status", "Path", "Summary")
"""The columns of the table form (H15)."""


def code_of(category: str) -> FaultCode | None:
    """What an error category means; None for one that nobody has decided on."""
    return _CODES.get(category)


# Text forms


@dataclass(frozen=True, slots=True)
class PromptItem:
    """One bullet: `- key: value`, or `- value` without a key.

    Attributes:
        literal: The key is written in quotes: it is a parameter's name, even if it looks like a field of the format.
        line: Where it stands, from 1.
    """

    key: str | None
    value: str
    literal: bool = False
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class PromptSection:
    """A bold heading of a prompt and the text below it."""

    name: str
    text: str = ""
    exact: bool = field(default=True, compare=False)
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What an agent is told (H2 to H5).

    Attributes:
        reference: The behaviour file that it should read and follow.
        lead: Free text before the first section.
    """

    reference: str | None
    lead: str = ""
    sections: tuple[PromptSection, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskCall:
    """The request block (H1), and a call of the Task tool with the same keys.

    Attributes:
        extras: Keys that the format does not have.
        line: Where the prompt begins in the text, from 1.
    """

    prompt: str
    subagent_type: str | None = None
    description: str | None = None
    extras: JsonMapping = field(default_factory=dict[str, Any])
    line: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True)
class Signal:
    """One line of the head."""

    name: str
    value: str
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class SignalAnswer:
    """Signals first, then whatever else the agent has to say (H6)."""

    signals: tuple[Signal, ...]
    body: str = ""


@dataclass(frozen=True, slots=True)
class TableRow:
    """One line of the table form."""

    topic: str = ""
    status: str = ""
    path: str = ""
    summary: str = ""
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """The table form (H15), and what stands below it."""

    rows: tuple[TableRow, ...]
    body: str = ""


# JSON forms


class ReportArtifact(WireModel):
    """One file of the JSON form."""

    path: str
    type: str | None = None
    title: str | None = None
    summary: str | None = None


class JsonReport(WireModel):
    """The JSON form (H14).

    Attributes:
        error: As in the error block, when it failed; spec 002 shows the JSON form of a success only.
    """

    status: Status
    artifacts: Annotated[tuple[ReportArtifact, ...], Field(strict=False)] = ()  # JSON has arrays, and no tuples
    metrics: dict[str, Any] | None = None
    error: str | None = None
    context: str | None = None
    recovery: str | None = None


_MARKS: Final[dict[Status, str]] = {
    "complete": "\u2705\u2714\u2713\u2611",
    "partial": "\u26a0",
    "failed": "\u274c\u2717\u2718",
}
"""Signs that stand beside a word and mean the same."""

_AROUND: Final = "".join(_MARKS.values()) + " \t\ufe0f*_`\"'.!"


def status_of(word: str) -> Status | None:
    """The status that `word` means, whatever is put around it; None when it is none, or a sign contradicts it."""
    key = word.strip(_AROUND).lower().replace("_", " ")
    status = STATUS_SYNONYMS.get(" ".join(key.split()))
    contrary = "".join(marks for meaning, marks in _MARKS.items() if meaning != status)
    return None if any(mark in contrary for mark in word) else status


SUBAGENT: Final = "general-purpose"
"""The type that every request names; who is meant stands in the behaviour file (H1, H2)."""

_FOLDER: Final = ".claude/agents"
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_FILE: Final = re.compile(r"[^\s`'\"]+\.md(?![\w.])", re.IGNORECASE)
_DESCRIPTION_CHARS: Final = 60


def behaviour_of(agent: str, major: int | None) -> str:
    """The behaviour file of an agent: `researcher_analyst`, 2 is `.claude/agents/researcher-analyst-v2.md` (C11).

    A major version that no name can hold is left out.
    """
    version = f"-v{major}" if major is not None and major < 10**9 else ""
    return f"{_FOLDER}/{to_kebab(agent)}{version}.md"


def agent_in(reference: str) -> tuple[str, int | None] | None:
    """The agent and its major version that a behaviour file is named after (C10, C11); None when it is no name."""
    match = _FILE.search(reference) if any(mark.isspace() for mark in reference) else None
    path = (match[0] if match else reference).replace("\\", "/").rstrip("/")
    stem = path.rpartition("/")[2]
    stem = stem[:-3] if stem.lower().endswith(".md") else stem
    # `[agent-type]` is a place to be filled: it has a finding of its own.
    name, major = split_versioned_name(canonical_name(stem.strip("[]{}")))
    return (name, major) if len(name) <= 64 and _NAME.fullmatch(name) else None


def description_of(instruction: str) -> str:
    """A few words for a request that brings no description."""
    return truncate(one_line(instruction), _DESCRIPTION_CHARS) or "Task"


def expected_of(path: str | None) -> str:
    """The line that names the signal to return (H5)."""
    return "Return: STATUS: complete" if path is None else "Return: CREATED: [path of the file]"
