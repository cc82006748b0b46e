"""Requests as text: the block `Task { … }` (H1); the prompt: its reference, sections and bullets (H2 to H5, C40).

Knows headings, bullets and quoting; what a field means is the business of `parse` and `render`. A value is plain text,
indented where it goes on over several lines; where that would not read back it is a JSON string. So no value can forge
a bullet or a section.
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

from .wire import Fences, Prompt, PromptItem, PromptSection, TaskCall, note_at, quote_json, strict_severity

SECTIONS: Final = (
    "Task Context", "Workflow-Specific Context", "Background", "Constraints", "Expected Output", "Correction",
)  # fmt: skip
"""The sections a prompt may have. `Background` and `Correction` are ours."""

_SECTION_NAMES: Final = {name.lower(): name for name in SECTIONS}
_REFERENCE: Final = re.compile(r"[ \t]*read and follow[ \t]*:?[ \t]*(.*)", re.IGNORECASE | re.DOTALL)
_BOLD: Final = re.compile(r"\*\*([^*]{1,100})\*\*[ \t]*(:?)[ \t]*")
_HASH: Final = re.compile(r"#{1,6}[ \t]+([^#]{1,100}?)[ \t]*#*")
_NUMBERED: Final = (
    r"[0-9]{1,2}[.)](?=[ \t]+(?:\*\*)?(?:primary goal|output path|input resources|topic|target|output|time budget"
    r"|thinking mode)(?:\*\*)?:)"
)
"""A number instead of a dash, where one of the keys that the format has stands behind it."""

_ITEM: Final = re.compile(rf"([ \t]*)(?:[-*+]|{_NUMBERED})(?:[ \t]+(.*)|)", re.DOTALL | re.IGNORECASE)
_STRING: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"')
_KEY: Final = re.compile(r"([^:\n\"]{1,200}?)[ \t]*:(?:\s+(.*)|)", re.DOTALL)


def is_prompt(text: str) -> bool:
    """Whether `text` begins as a prompt: with a reference to a behaviour file, or one of the sections."""
    first = text.lstrip().partition("\n")[0]
    heading = _heading(first)
    return _REFERENCE.fullmatch(first) is not None or (heading is not None and heading[0] in SECTIONS)


def read_prompt(text: str, *, line: int = 1) -> Prompt:
    """The parts of a prompt. Never fails: what is no part of anything is free text.

    Args:
        text: The prompt, its indentation in a block taken off.
        line: Where it begins in the message, from 1.
    """
    fences = Fences(indented=False)  # what is indented goes on with a bullet, and can start nothing
    reference: str | None = None
    headings: list[tuple[str, bool, int]] = [("", True, line)]
    texts: list[list[str]] = [[]]
    for number, raw in enumerate(text.split("\n"), start=line):
        content = raw.removesuffix("\r")
        heading = None if fences.is_code(content) else _heading(content)
        if heading is not None:
            headings.append((*heading, number))
            texts.append([])
        elif (
            reference is None
            and len(texts) == 1
            and (match := _REFERENCE.fullmatch(content))
            and not _has_text(texts[0])
        ):
            reference = match[1].strip().strip("`'\"") or None
        else:
            texts[-1].append(content)
    sections = tuple(
        PromptSection(name, _trim_blank_lines(body), exact=exact, line=at)
        for (name, exact, at), body in zip(headings[1:], texts[1:], strict=True)
    )
    return Prompt(reference, _trim_blank_lines(texts[0]), sections)


def write_prompt(prompt: Prompt) -> str:
    """The prompt, so that `read_prompt` gives it back; sections are separated by blank lines."""
    parts = [] if prompt.reference is None else [f"Read and follow: {prompt.reference}"]
    if prompt.lead:
        parts.append(prompt.lead)
    for section in prompt.sections:
        heading = f"**{section.name}**:"
        parts.append(f"{heading}\n{section.text}" if section.text else heading)
    return "\n\n".join(parts)


def items_of(section: PromptSection) -> tuple[tuple[PromptItem, ...], str]:
    """The bullets of a section, and the free text between them.

    What is indented deeper than the first bullet goes on with the one above it, over blank lines too.
    """
    items: list[PromptItem] = []
    free: list[str] = []
    for lines, number in _group_items(section, free):
        items.append(_item(lines, number))
    return tuple(items), _trim_blank_lines(free)


def write_items(items: tuple[PromptItem, ...]) -> str:
    """The bullets, so that `items_of` gives them back.

    Raises:
        InvalidInput: A value holds half a character.
    """
    return "\n".join(f"- {_pair(item)}" for item in items)


# Reading


def _heading(line: str) -> tuple[str, bool] | None:
    """The name of a heading, as we write it if we know it, and whether it is spelled exactly so."""
    if not line.startswith(("**", "#")):
        return None
    bold_match = _BOLD.fullmatch(line)
    if bold_match:
        name = bold_match[1].strip()
        has_colon = bool(bold_match[2])
    elif hash_match := _HASH.fullmatch(line):
        name, has_colon = hash_match[1], False
    else:
        return None
    title = name.rstrip(":").strip()
    section = _SECTION_NAMES.get(" ".join(title.lower().split()))
    return (section or title, has_colon and (section or title) == name)


def _group_items(section: PromptSection, free: list[str]) -> Iterator[tuple[list[str], int]]:
    """The lines of each bullet, with the number of its first; other lines go to `free`."""
    depth: int | None = None
    lines: list[str] = []
    number = 0
    for at, line in enumerate(section.text.split("\n"), start=section.line + 1):
        width = len(line) - len(line.lstrip(" \t"))
        match = _ITEM.fullmatch(line)
        if match and (depth is None or width <= depth):
            if lines:
                yield lines, number
            depth = width if depth is None else depth
            lines, number = [match[2] or ""], at
        elif lines and width == len(line):
            lines.append(line[min(width, depth or 0) :][2:])
        elif lines and width > (depth or 0):
            lines.append(line[(depth or 0) + min(2, width - (depth or 0)) :])
        else:
            if lines:
                yield lines, number
            lines, depth = [], None
            free.append(line)
    if lines:
        yield lines, number


def _item(lines: list[str], number: int) -> PromptItem:
    text = "\n".join(lines).strip()
    if text.startswith('"'):
        whole = unquote_json(text)
        if whole is not None:
            return PromptItem(None, whole, line=number)
        string = _STRING.match(text)
        key = unquote_json(string[0]) if string else None
        if string and key is not None and text.startswith(":", string.end()):
            return PromptItem(key, _value(text[string.end() + 1 :]), literal=True, line=number)
    unstarred = _without_stars(text)
    match = _KEY.fullmatch(unstarred)
    if match is None:
        return PromptItem(None, text, line=number)
    return PromptItem(match[1].strip(), _value(match[2] or ""), line=number)


def _without_stars(text: str) -> str:
    """`text` without the stars around a bold key: `**Key**: value` and `**Key:** value`."""
    if not text.startswith("**"):
        return text
    key, stars, rest = text[2:].partition("**")
    return f"{key}{rest}" if stars and (key.endswith(":") or rest.startswith(":")) else text


def _value(raw: str) -> str:
    raw = raw.strip()
    text = unquote_json(raw)
    if text is not None:
        return text
    lines = raw.split("\n")
    if len(lines) > 1 and all(line.startswith("- ") for line in lines):
        return ", ".join(line[2:].strip() for line in lines)
    return raw


def _has_text(lines: list[str]) -> bool:
    return any(line.strip() for line in lines)


def _trim_blank_lines(lines: list[str]) -> str:
    """The lines without blank ones around them."""
    first, last = 0, len(lines)
    while first < last and not lines[first].strip():
        first += 1
    while last > first and not lines[last - 1].strip():
        last -= 1
    return "\n".join(lines[first:last])


# Writing


def _pair(item: PromptItem) -> str:
    if item.key is None:
        is_plain = _is_plain(item.value) and _KEY.fullmatch(_without_stars(item.value)) is None
        return _lines(item.value) if is_plain else quote_json(item.value)
    value = _lines(item.value) if _is_plain(item.value) and not _is_list(item.value) else quote_json(item.value)
    return f"{quote_json(item.key) if item.literal else item.key}: {value}"


def is_plain_key(key: str) -> bool:
    """Whether a bullet may carry `key` without quotes, as the name of a parameter."""
    match = _KEY.fullmatch(f"{key}:")
    return match is not None and match[1] == key == key.strip() and not key.startswith("**") and "\r" not in key


def _is_plain(value: str) -> bool:
    """Whether `value` reads back as it is, further lines indented."""
    return value != "" and value == value.strip() and not value.startswith('"') and "\r" not in value


def _is_list(value: str) -> bool:
    lines = value.split("\n")
    return len(lines) > 1 and all(line.startswith("- ") for line in lines)


def _lines(value: str) -> str:
    first, *rest = value.split("\n")
    return "\n".join([first, *(f"  {line}" if line else "" for line in rest)])


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
    if _fits_scalar(call.prompt):
        lines.append("  prompt: |")
        lines += [f"{_INDENT}{line}" if line else "" for line in call.prompt.split("\n")]
    else:
        lines.append(f"  prompt: {quote_json(call.prompt)}")
    return "\n".join(["Task {", *lines, "}"])


def _fits_scalar(prompt: str) -> bool:
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
                yield key, self._scalar(len(match[1])) if raw in _SCALAR else _parse_value(raw), at
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


def _parse_value(raw: str) -> JsonValue:
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
