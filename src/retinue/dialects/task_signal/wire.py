"""The exact shapes and words of spec 002, and its values: budgets, durations, paths, single lines.

A value is written so that it reads back, and cannot forge a signal or a section. Text forms are slotted records of what
stood where (`TaskCall`, `Prompt`, `SignalAnswer`, `AnswerTable`); JSON forms are strict models.
"""

import math
import re
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field

from retinue.contract import json
from retinue.contract.finding import Finding, Severity
from retinue.contract.formatting import ensure_text, truncate
from retinue.contract.model import JsonMapping
from retinue.contract.names import canonical_name, to_kebab
from retinue.contract.result import Outcome
from retinue.contract.task import Thinking
from retinue.contract.version import split_versioned_name
from retinue.dialects.decoding import decode_utf8, parse_error_at
from retinue.dialects.diagnostics import Diagnostics, WireModel
from retinue.errors import FaultCode, InvalidInput

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


_AMOUNT: Final = re.compile(
    r"(?<![\w.,-])([0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,320})(\.[0-9]{1,320})?([eE][+-]?[0-9]{1,3})?"
    r"[ ]?([kKmM](?![a-zA-Z]))?[ ]?([a-zA-Z]{1,12})?",
    re.ASCII,
)
_RANGE: Final = re.compile(r"[0-9][ ]?[-\u2013\u2014][ ]?[0-9]")
_TIMES: Final = {"k": 1_000, "m": 1_000_000}
_TOKENS: Final = frozenset({"token", "tokens", "tok"})
_SECONDS: Final[dict[str, float]] = {
    "ms": 0.001, "millisecond": 0.001, "milliseconds": 0.001,
    "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1,
    "min": 60, "mins": 60, "minute": 60, "minutes": 60,
    "h": 3600, "hr": 3600, "hrs": 3600, "hour": 3600, "hours": 3600,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TimeBudget:
    """What a budget says.

    Attributes:
        ambiguous: A number had no unit, or one that means nothing here: it was taken as tokens.
    """

    tokens: int | None = None
    timeout_s: float | None = None
    ambiguous: bool = False


def read_budget(text: str) -> TimeBudget | None:
    """Read `15K tokens`, `10 minutes`, both with a comma between, or a bare number; None when it is none (C23)."""
    if _RANGE.search(text):
        return None
    tokens: int | None = None
    seconds: float | None = None
    ambiguous = False
    for match in _AMOUNT.finditer(text):
        whole, fraction, power, times, word = match.groups()
        unit = (word or "").lower()
        number = float(f"{whole.replace(',', '')}{fraction or ''}{power or ''}")
        if unit in _SECONDS and not times:
            seconds = (seconds or 0.0) + number * _SECONDS[unit]
        elif tokens is None and number * _TIMES.get((times or "").lower(), 1) < math.inf:
            ambiguous = ambiguous or unit not in _TOKENS
            exact = fraction is None and power is None
            amount = int(whole.replace(",", "")) if exact else number
            tokens = round(amount * _TIMES.get((times or "").lower(), 1))
        else:
            return None
    if seconds is not None and not 0 < seconds < math.inf:
        return None
    return TimeBudget(tokens, seconds, ambiguous) if tokens is not None or seconds is not None else None


def write_budget(budget: TimeBudget) -> str:
    """The budget, so that `read_budget` gives it back."""
    parts = [] if budget.tokens is None else [f"{budget.tokens} tokens"]
    if budget.timeout_s is not None:
        parts.append(f"{budget.timeout_s!r} seconds")
    return ", ".join(parts)


_TIME: Final = re.compile(r"([0-9]{1,20})(?:\.([0-9]{1,12}))?[ ]?(ms|s|sec|seconds?|min|minutes?|h|hours?)", re.ASCII)
_UNITS: Final = {"ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}


def read_duration(value: object) -> int | None:
    """Nanoseconds; None when it is no text with a number and a unit, or finer than a nanosecond."""
    match = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return None
    fraction = match[2] or ""
    unit = _UNITS["ms" if match[3] == "ms" else match[3][0]]
    amount, rest = divmod(int(match[1] + fraction) * unit, 10 ** len(fraction))
    return amount if not rest else None


def write_duration(duration_ns: int) -> str:
    """Seconds, exactly."""
    seconds, rest = divmod(duration_ns, 10**9)
    return f"{seconds}.{rest:09}".rstrip("0").rstrip(".") + "s" if rest else f"{seconds}s"


_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)", re.DOTALL)
CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""What a line of plain text never holds: it moves the cursor, breaks the line, or turns the direction."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def decode_text(text: str | bytes, notes: Diagnostics) -> str:
    """Give `text` as whole Unicode characters, without a byte order mark.

    Raises:
        ParseError: It is no UTF-8, empty, too large, or holds half a character.
    """
    ensure_text(text, "message", or_bytes=True)
    content = decode_utf8(text) if isinstance(text, bytes) else text
    if content.startswith("\ufeff"):
        if notes.level == "strict":
            raise parse_error_at(
                content, 0, "byte_order_mark", "the text starts with a byte order mark", hint="Send plain UTF-8."
            )
        notes.add("repaired", "The byte order mark was taken off.", fix="Send plain UTF-8 without one.")
        content = content[1:]
    if len(content) > json.MAX_BYTES:
        raise parse_error_at(
            content, 0, "too_large", f"the text has {len(content):,} characters", hint="Send less, or name a file."
        )
    if not content or content.isspace():
        raise parse_error_at(content, 0, "empty", "there is no text", hint="Send a message.")
    half = None if content.isascii() else _SURROGATE.search(content)
    if half:
        raise parse_error_at(
            content, half.start(), "lone_surrogate", "half a character stands alone", hint="Send it whole."
        )
    return content


def ensure_writable(text: str) -> str:
    """`text`, seen to be writable.

    Raises:
        InvalidInput: It holds half a character, which no text can.
    """
    half = None if text.isascii() else _SURROGATE.search(text)
    if half:
        raise InvalidInput(
            f"A value holds half of a surrogate pair, `\\u{ord(half[0]):04x}`.", hint="Send the whole character."
        )
    return text


def strict_severity(notes: Diagnostics) -> Severity:
    """How grave it is to break a rule that only `strict` insists on."""
    return "error" if notes.level == "strict" else "warning"


def note_at(
    notes: Diagnostics,
    rule: str,
    message: str,
    *,
    line: int,
    fix: str = "",
    path: str = "",
    severity: Severity = "warning",
) -> None:
    """Note something about a line of the text."""
    rule = f"{notes.dialect}/{rule}"
    notes.extend((Finding(rule=rule, message=message, line=line, column=1, fix=fix, path=path, severity=severity),))


def one_line(value: str) -> str:
    """`value` on one line, whoever reads it: what anybody takes for a line break, or for a command, becomes a space."""
    if not value.isprintable():
        value = CONTROL.sub("\n", value)
    return " ".join(filter(None, map(str.strip, value.splitlines())))


def quote_json(value: str) -> str:
    """`value` as a JSON string.

    Raises:
        InvalidInput: It holds half a character.
    """
    return json.dumps(value)


class Fences:
    """Tells which lines of a Markdown text are code.

    Args:
        indented: A fence may be indented by up to three spaces.
    """

    def __init__(self, *, indented: bool = True) -> None:
        self._mark = ""
        self._indented = indented

    def is_code(self, line: str) -> bool:
        """Whether `line`, the next one, is part of a code block; its first and last line are."""
        content = line.lstrip(" ") if self._indented else line
        match = _FENCE.fullmatch(line) if content.startswith(("```", "~~~")) else None
        if not self._mark:
            if match and not (match[1][0] == "`" and "`" in match[2]):
                self._mark = match[1]
                return True
            return False
        if match and match[1].startswith(self._mark) and not match[2].strip():
            self._mark = ""
        return True


_QUOTES: Final = (("`", "`"), ('"', '"'), ("'", "'"), ("<", ">"), ("**", "**"))
_LINK: Final = re.compile(r"\[[^\[\]]{0,400}\]\(([^()\s]{1,4000})\)")
_NOTHING: Final = frozenset({"none", "n/a", "na", "nothing", "null", "-", "--", "\u2013", "\u2014"})


def unquote_path(value: str) -> str:
    """The path in `value`, empty where it names none."""
    link = _LINK.fullmatch(value)
    if link:
        return unquote_path(link[1])
    for start, end in _QUOTES:
        inner = value[len(start) : len(value) - len(end)]
        if inner and value.startswith(start) and value.endswith(end) and start not in inner and end not in inner:
            return unquote_path(inner.strip())
    return "" if is_nothing(value) else value


def is_nothing(value: str) -> bool:
    """Whether `value` only says that there is none."""
    return value.strip("()[]. ").lower() in _NOTHING
