"""The request block as text: `Task { … }` with its keys, and the prompt as an indented scalar (H1).

Looks like YAML and is none: keys, quoted strings and one block of text. What a prompt says is the business of `prompt`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, cast

from retinue.contract import json
from retinue.contract.json import JsonValue
from retinue.contract.model import JsonMapping
from retinue.dialects.decoding import unquote_json
from retinue.dialects.diagnostics import Diagnostics
from retinue.errors import ParseError

from .lines import note_at, quote_json, strict_severity
from .wire import TaskCall

KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""How a key of the block looks."""

_OPEN: Final = re.compile(r"Task[ \t]*\{[ \t]*\r?")
_PAIR: Final = re.compile(rf"([ \t]*)({KEY.pattern})[ \t]*:(?:[ \t]+(.*))?", re.DOTALL)
_SCALAR: Final = frozenset({"|", "|-", "|+", ">", ">-"})
_INDENT: Final = "    "
_OURS: Final = ("subagent_type", "description", "prompt")


def is_block(text: str) -> bool:
    """Whether `text` begins as a request block."""
    start = text.lstrip()
    return start.startswith("Task") and _OPEN.fullmatch(start.partition("\n")[0]) is not None


def find_blocks(lines: list[str]) -> list[int]:
    """Where blocks begin, as indexes of lines. What stands indented is part of something else."""
    return [at for at, line in enumerate(lines) if line.startswith("Task") and _OPEN.fullmatch(line)]


def read_block(lines: list[str], start: int, notes: Diagnostics) -> tuple[TaskCall | None, int]:
    """Read the block that begins at the line `start`; also give the line after its end.

    Everything that is wrong with it is noted. None when it has no prompt.
    """
    reader = _TaskBlockReader(lines, start + 1)
    values: dict[str, JsonValue] = {}
    prompt_line = 0
    for key, value, at in reader.pairs(notes):
        if key in values:
            note_at(notes, "key", f"`{key}` appears twice.", line=at + 1, severity="error", fix="Say it once.")
        values[key] = value
        if key == "prompt":
            prompt_line = at + (1 if lines[at].rstrip().endswith(("|", "-", "+", ">")) else 0)
    if not reader.is_closed:
        note_at(notes, "block", "The block is not closed.", line=len(lines), fix="End it with `}`.", severity="error")
    if "prompt" not in values:
        note_at(notes, "prompt", "There is no `prompt`.", line=start + 1, fix="Add `prompt: |`.", severity="error")
        return None, reader.at
    return call_of(values, notes, line=start + 1, prompt_line=prompt_line + 1), reader.at


def call_of(values: JsonMapping, notes: Diagnostics, *, line: int = 1, prompt_line: int = 1) -> TaskCall:
    """The call with these keys; what has the wrong type is noted."""
    texts: dict[str, str | None] = {}
    for name in _OURS:
        value: object = values.get(name)
        texts[name] = value if isinstance(value, str) else None
        if name in values and not isinstance(value, str):
            fix = f"Give `{name}` as a string."
            note_at(notes, "type", f"`{name}` is not text.", line=line, path=f"/{name}", fix=fix, severity="error")
    extras = {name: cast("object", value) for name, value in values.items() if name not in _OURS}
    for name in extras:
        note_at(
            notes,
            "key",
            f"A request has no {name[:80]!r}; it is kept and not understood.",
            line=line,
            fix="Say it in the prompt.",
            severity=strict_severity(notes),
        )
    return TaskCall(
        prompt=texts["prompt"] or "",
        subagent_type=texts["subagent_type"],
        description=texts["description"],
        extras=extras,
        line=prompt_line,
    )


def write_block(call: TaskCall) -> str:
    """The block, so that `read_block` gives `call` back.

    Raises:
        InvalidInput: A value holds half a character, or is no JSON.
    """
    pairs = {"subagent_type": call.subagent_type, "description": call.description}
    lines = [f"  {name}: {quote_json(value)}" for name, value in pairs.items() if value is not None]
    lines += [f"  {name}: {json.dumps(value)}" for name, value in call.extras.items()]
    if _is_plain(call.prompt):
        lines.append("  prompt: |")
        lines += [f"{_INDENT}{line}" if line else "" for line in call.prompt.split("\n")]
    else:
        lines.append(f"  prompt: {quote_json(call.prompt)}")
    return "\n".join(["Task {", *lines, "}"])


def _is_plain(prompt: str) -> bool:
    """Whether an indented scalar gives the prompt back: it has a first line to tell the indentation, and no odd end."""
    return prompt != "" and not prompt[0].isspace() and not prompt.endswith("\n") and "\r" not in prompt


@dataclass(slots=True)
class _TaskBlockReader:
    """A place among the lines of a block."""

    lines: list[str]
    at: int
    is_closed: bool = False

    def pairs(self, notes: Diagnostics) -> Iterator[tuple[str, JsonValue, int]]:
        """Each key with its value and the index of its line, up to the closing brace."""
        while self.at < len(self.lines):
            line = self.lines[self.at].removesuffix("\r")
            self.at += 1
            if line.strip() == "}":
                self.is_closed = True
                return
            match = _PAIR.fullmatch(line)
            if match:
                key, raw, at = match[2], (match[3] or "").strip(), self.at - 1
                yield key, self._scalar(len(match[1])) if raw in _SCALAR else _value(raw), at
            elif line.strip():
                fix = "Write `key: value`, and the prompt indented below `prompt: |`."
                note_at(notes, "block", f"{line[:80]!r} is not a key.", line=self.at, fix=fix, severity="error")

    def _scalar(self, outer: int) -> str:
        """The lines that are indented deeper than `outer`, without the indentation of the first."""
        scalar: list[str] = []
        indent = 0
        while self.at < len(self.lines):
            line = self.lines[self.at].removesuffix("\r")
            width = len(line) - len(line.lstrip(" \t"))
            if width < len(line):
                if width <= outer:
                    break
                indent = indent or width
            scalar.append(line[min(indent or width, width) :])
            self.at += 1
        while scalar and not scalar[-1]:
            scalar.pop()
        while scalar and not scalar[0].strip():
            del scalar[0]
        return "\n".join(scalar)


def _value(raw: str) -> JsonValue:
    """What stands behind a key: a quoted text, other JSON, or the text as it is."""
    text = unquote_json(raw)
    if text is not None:
        return text
    if len(raw) > 1 and raw[0] == raw[-1] == "'":
        return raw[1:-1].replace("''", "'")
    if raw[:1] in {"{", "[", "-", *"0123456789"} or raw in {"true", "false", "null"}:
        try:
            return json.loads(raw)
        except ParseError:
            return raw
    return raw
