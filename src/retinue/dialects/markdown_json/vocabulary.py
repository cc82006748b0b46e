"""What the envelope says in words of its own: names in kebab-case, and the sentences that fill what it demands."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from retinue.contract.names import fold, to_kebab
from retinue.contract.version import split_versioned_name

from .block import line_text, unquote
from .wire import ErrorType

CLOSING_SENTENCES: Final = (
    "Execute per AGENT_CONTRACT.md.",
    "Execute per AGENT_CONTRACT.md",
    "Execute the analysis and return structured JSON output per AGENT_CONTRACT.md.",
)
"""The sentences that close an invocation (K23), ours first; they ask for nothing of their own."""

_MAJORS: Final = 10**9

LABELS: Final = ("Why:", "Constraint:")
"""What begins a line of the context that is not the context itself."""

UNSTATED: Final = "Not stated."
"""Stands where the format demands a text and there is none; read back as none."""

ASKING: Final = "The agent needs an answer before it can go on."
AT_WORK: Final = "The agent has not finished."
NO_WARNING: Final = "The agent called its answer partial, and gave no reason."

RECOVERIES: Final[Mapping[ErrorType, str]] = {
    "missing_file": "Check that the path and the branch are right, or create the file.",
    "invalid_input": "Check the request against what the operation takes, and add what is missing.",
    "parse_error": "Fix the form of the file: its sections and its syntax.",
    "access_denied": "Check the permissions of the file, and who runs the agent.",
    "timeout": "Narrow the target, or allow more time.",
    "internal_error": "Report the failure with its message, and ask again with a narrower target.",
}
"""What to do about each kind of failure, for an agent that does not say (K7)."""

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_ ][A-Za-z0-9]+)*")


def from_wire(name: str) -> str:
    """A name of the wire in our spelling (C46); what is no name stays as it is."""
    return fold(name) if _NAME.fullmatch(name) else name


def to_wire(name: str) -> str:
    """The spelling of the wire, where `from_wire` reads it back; else the name as it is."""
    kebab = to_kebab(name)
    return kebab if from_wire(kebab) == name else name


def strip_unstated(text: str) -> str:
    """A text that was filled in is none."""
    return "" if text == UNSTATED else text


def agent_in(name: str) -> tuple[str, int | None]:
    """The agent that the wire names, and the major version it asks for (C11)."""
    return split_versioned_name(fold(name))


def agent_text(agent: str, major: int | None) -> str:
    """An agent as the wire names it."""
    return to_kebab(agent) if major is None or major >= _MAJORS else f"{to_kebab(agent)}-v{major}"


def context_in(raw: str) -> tuple[str, str, tuple[str, ...]]:
    """What, why and the constraints, out of the lines of the context."""
    what: list[str] = []
    why: list[str] = []
    constraints: list[str] = []
    for line in raw.split("\n"):
        label = next((label for label in LABELS if line.startswith(label)), "")
        into = {"": what, LABELS[0]: why, LABELS[1]: constraints}[label]
        into.append(unquote(line[len(label) :].strip()))
    return "\n".join(what), "\n".join(why), tuple(constraints)


def context_text(what: str, why: str, constraints: Iterable[str]) -> str:
    """The lines of the context that say so."""
    lines = [line_text(what, lines=True, labels=LABELS)] if what else []
    lines += [f"{LABELS[0]} {line_text(why)}"] if why else []
    lines += [f"{LABELS[1]} {line_text(each)}" for each in constraints]
    return "\n".join(lines)


def instruction_in(after: str) -> tuple[str, str]:
    """What the prose behind the block asks for, and which form that is: the closing sentence is no part of it."""
    for sentence in CLOSING_SENTENCES:
        if after == sentence or after.endswith(f"\n\n{sentence}"):
            return unquote(after.removesuffix(sentence).strip()), "invocation"
    return unquote(after), "block"
