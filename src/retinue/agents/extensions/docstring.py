"""What a tool's docstring says, in the form that spec 001's tools have (B21).

    Say what is to be trained today.
    What's my workout?
    Example response: Squats, five times five.
    Example args: {"date": "2026-05-04"}
    Notes: Asks for nothing.

The first line says what it does, the first other line that says anything is what somebody would ask for it with.
"""

import inspect
import re
from dataclasses import dataclass
from typing import Final

_LABEL: Final = re.compile(r"(example prompt|example response|example args|note)s?[ \t]*:[ \t]*(.*)", re.IGNORECASE)
_QUOTES: Final = "\"'`\u2018\u2019\u201c\u201d"


@dataclass(frozen=True, slots=True)
class ToolWords:
    """A tool in its author's words; what was not said is empty."""

    summary: str = ""
    example_prompt: str = ""
    example_response: str = ""
    example_args: str = ""
    notes: str = ""


def read_words(docstring: str | None) -> ToolWords:
    """Take the docstring of a tool apart. A line without a label continues the one above."""
    first, *rest = inspect.cleandoc(docstring or "").splitlines() or [""]
    sections: dict[str, list[str]] = {}
    label = ""
    for line in filter(None, map(str.strip, rest)):
        match = _LABEL.fullmatch(line)
        label = match[1].lower() if match else label or ("note" if sections else "example prompt")
        sections.setdefault(label, []).append(match[2] if match else line)
        label = "" if label == "example prompt" else label
    texts = {label: " ".join(filter(None, lines)) for label, lines in sections.items()}
    return ToolWords(
        summary=first.strip(),
        example_prompt=texts.get("example prompt", "").strip(_QUOTES),
        example_response=texts.get("example response", ""),
        example_args=texts.get("example args", ""),
        notes=texts.get("note", ""),
    )
