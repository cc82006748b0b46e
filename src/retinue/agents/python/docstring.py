"""Google-style docstrings, as far as a definition is described by one: text, arguments, what is returned."""

import inspect
import re
from dataclasses import dataclass, field
from typing import Final

_SECTIONS: Final = {
    "args": "args", "arguments": "args", "parameters": "args", "keyword args": "args",
    "returns": "returns", "return": "returns",
    "attributes": "", "example": "", "examples": "", "note": "", "notes": "", "raises": "", "todo": "", "warning": "",
    "yields": "",
}  # fmt: skip
_SECTION = re.compile(r"([A-Z][A-Za-z ]*):[ \t]*")
_ARGUMENT = re.compile(r"\*{0,2}(\w+)[ \t]*(?:\([^)]*\))?:[ \t]*(.*)")


@dataclass(frozen=True, slots=True)
class Docstring:
    """The parts of a docstring, each as running text on one line.

    Attributes:
        text: What stands before the first section; its paragraphs joined.
        arguments: Descriptions by name.
    """

    text: str = ""
    arguments: dict[str, str] = field(default_factory=dict[str, str])
    returns: str = ""

    @property
    def description(self) -> str:
        """What it does and what it returns: what a definition's description must say (A6)."""
        if not self.returns:
            return self.text
        return f"{self.text} Returns: {self.returns}".strip()


def read_docstring(docstring: str | None) -> Docstring:
    """Take a docstring apart. Sections of other kinds are left out."""
    sections: dict[str, list[str]] = {"text": []}
    current = sections["text"]
    for line in inspect.cleandoc(docstring or "").splitlines():
        match = _SECTION.fullmatch(line)
        kind = _SECTIONS.get(match[1].lower()) if match else None
        if kind is None:
            current.append(line)
        else:
            current = sections.setdefault(kind, []) if kind else []
    return Docstring(
        text=_join_lines(sections["text"]),
        arguments=_arguments(sections.get("args", [])),
        returns=_join_lines(sections.get("returns", [])),
    )


def _arguments(lines: list[str]) -> dict[str, str]:
    """One entry for each line at the outer indentation; deeper lines continue the one above."""
    indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    outer = min(indents, default=0)
    entries: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines:
        match = _ARGUMENT.fullmatch(line.strip()) if len(line) - len(line.lstrip()) == outer else None
        if match:
            current = entries.setdefault(match[1], [])
            current.append(match[2])
        else:
            current.append(line)
    return {name: _join_lines(parts) for name, parts in entries.items()}


def _join_lines(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())
