"""The prompt as text: its reference, its bold sections and their bullets (H2 to H5, C40).

Knows headings, bullets and quoting; what a field means is the business of `parse` and `render`. A value is plain text,
indented where it goes on over several lines; where that would not read back it is a JSON string. So no value can forge
a bullet or a section.
"""

import re
from collections.abc import Iterator
from typing import Final

from retinue.dialects.decoding import unquoted

from .text import Fences, quoted
from .wire import Item, Prompt, Section

__all__ = ["SECTIONS", "is_plain_key", "is_prompt", "items_of", "read_prompt", "write_items", "write_prompt"]

SECTIONS: Final = (
    "Task Context", "Workflow-Specific Context", "Background", "Constraints", "Expected Output", "Correction",
)  # fmt: skip
"""The sections a prompt may have. `Background` and `Correction` are ours."""

_KNOWN: Final = {name.lower(): name for name in SECTIONS}
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
        said = raw.removesuffix("\r")
        found = None if fences.hold(said) else _heading(said)
        if found is not None:
            headings.append((*found, number))
            texts.append([])
        elif reference is None and len(texts) == 1 and (named := _REFERENCE.fullmatch(said)) and not _said(texts[0]):
            reference = named[1].strip().strip("`'\"") or None
        else:
            texts[-1].append(said)
    sections = tuple(
        Section(name, _trimmed(body), exact=exact, line=at)
        for (name, exact, at), body in zip(headings[1:], texts[1:], strict=True)
    )
    return Prompt(reference, _trimmed(texts[0]), sections)


def write_prompt(prompt: Prompt) -> str:
    """The prompt, so that `read_prompt` gives it back; sections are separated by blank lines."""
    parts = [] if prompt.reference is None else [f"Read and follow: {prompt.reference}"]
    if prompt.lead:
        parts.append(prompt.lead)
    for section in prompt.sections:
        heading = f"**{section.name}**:"
        parts.append(f"{heading}\n{section.text}" if section.text else heading)
    return "\n\n".join(parts)


def items_of(section: Section) -> tuple[tuple[Item, ...], str]:
    """The bullets of a section, and the free text between them.

    What is indented deeper than the first bullet goes on with the one above it, over blank lines too.
    """
    items: list[Item] = []
    free: list[str] = []
    for lines, number in _grouped(section, free):
        items.append(_item(lines, number))
    return tuple(items), _trimmed(free)


def write_items(items: tuple[Item, ...]) -> str:
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
    found = _BOLD.fullmatch(line)
    if found:
        name = found[1].strip()
        has_colon = bool(found[2])
    elif hashed := _HASH.fullmatch(line):
        name, has_colon = hashed[1], False
    else:
        return None
    plain = name.rstrip(":").strip()
    known = _KNOWN.get(" ".join(plain.lower().split()))
    return (known or plain, has_colon and (known or plain) == name)


def _grouped(section: Section, free: list[str]) -> Iterator[tuple[list[str], int]]:
    """The lines of each bullet, with the number of its first; other lines go to `free`."""
    depth: int | None = None
    taken: list[str] = []
    number = 0
    for at, line in enumerate(section.text.split("\n"), start=section.line + 1):
        width = len(line) - len(line.lstrip(" \t"))
        found = _ITEM.fullmatch(line)
        if found and (depth is None or width <= depth):
            if taken:
                yield taken, number
            depth = width if depth is None else depth
            taken, number = [found[2] or ""], at
        elif taken and width == len(line):
            taken.append(line[min(width, depth or 0) :][2:])
        elif taken and width > (depth or 0):
            taken.append(line[(depth or 0) + min(2, width - (depth or 0)) :])
        else:
            if taken:
                yield taken, number
            taken, depth = [], None
            free.append(line)
    if taken:
        yield taken, number


def _item(lines: list[str], number: int) -> Item:
    said = "\n".join(lines).strip()
    if said.startswith('"'):
        whole = unquoted(said)
        if whole is not None:
            return Item(None, whole, line=number)
        string = _STRING.match(said)
        key = unquoted(string[0]) if string else None
        if string and key is not None and said.startswith(":", string.end()):
            return Item(key, _value(said[string.end() + 1 :]), literal=True, line=number)
    bare = _without_stars(said)
    found = _KEY.fullmatch(bare)
    if found is None:
        return Item(None, said, line=number)
    return Item(found[1].strip(), _value(found[2] or ""), line=number)


def _without_stars(said: str) -> str:
    """`said` without the stars around a bold key: `**Key**: value` and `**Key:** value`."""
    if not said.startswith("**"):
        return said
    key, stars, rest = said[2:].partition("**")
    return f"{key}{rest}" if stars and (key.endswith(":") or rest.startswith(":")) else said


def _value(said: str) -> str:
    said = said.strip()
    text = unquoted(said)
    if text is not None:
        return text
    lines = said.split("\n")
    if len(lines) > 1 and all(line.startswith("- ") for line in lines):
        return ", ".join(line[2:].strip() for line in lines)
    return said


def _said(lines: list[str]) -> bool:
    return any(line.strip() for line in lines)


def _trimmed(lines: list[str]) -> str:
    """The lines without blank ones around them."""
    first, last = 0, len(lines)
    while first < last and not lines[first].strip():
        first += 1
    while last > first and not lines[last - 1].strip():
        last -= 1
    return "\n".join(lines[first:last])


# Writing


def _pair(item: Item) -> str:
    if item.key is None:
        plain = _is_plain(item.value) and _KEY.fullmatch(_without_stars(item.value)) is None
        return _lines(item.value) if plain else quoted(item.value)
    value = _lines(item.value) if _is_plain(item.value) and not _is_list(item.value) else quoted(item.value)
    return f"{quoted(item.key) if item.literal else item.key}: {value}"


def is_plain_key(key: str) -> bool:
    """Whether a bullet may carry `key` without quotes, as the name of a parameter."""
    found = _KEY.fullmatch(f"{key}:")
    return found is not None and found[1] == key == key.strip() and not key.startswith("**") and "\r" not in key


def _is_plain(value: str) -> bool:
    """Whether `value` reads back as it is, further lines indented."""
    return value != "" and value == value.strip() and not value.startswith('"') and "\r" not in value


def _is_list(value: str) -> bool:
    lines = value.split("\n")
    return len(lines) > 1 and all(line.startswith("- ") for line in lines)


def _lines(value: str) -> str:
    first, *rest = value.split("\n")
    return "\n".join([first, *(f"  {line}" if line else "" for line in rest)])
