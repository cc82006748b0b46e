"""The light schema of extensions: what a router is shown, and nothing else (B19, B26)."""

from collections.abc import Iterable
from typing import Final

from retinue.contract.sanitize import printable

from .extension import Extension, ExtensionTool

_LONGEST: Final = 300


def light_schema(extensions: Iterable[Extension]) -> str:
    """One paragraph for each extension: its name and the first line of its prompt, then a line for each tool.

    TASKS — You keep the tasks of one person.
    - TASKS_ACTION_add: Add a task. EX: "remind me to call Ada tomorrow"

    Extensions are separated by a blank line. Every text is one line, whatever its author wrote.
    """
    return "\n\n".join(map(_paragraph, extensions))


def _paragraph(extension: Extension) -> str:
    first = next((line for line in extension.prompt.splitlines() if line.strip()), "")
    return "\n".join([f"{_one_line(extension.name)} — {_one_line(first)}", *map(_line, extension.tools)])


def _line(tool: ExtensionTool) -> str:
    line = f"- {_one_line(tool.name)}: {_one_line(tool.words.summary)}"
    example = _one_line(tool.words.example_prompt).replace('"', "'")
    return f'{line} EX: "{example}"' if example else line


def _one_line(text: str) -> str:
    line = " ".join(printable(text[: _LONGEST * 4]).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1].rstrip()}…"
