"""JSON data as an outline that people read: keys, indentation, dashes. Not YAML, and not read back."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

import click

from retinue.cli.output import json_line, safe, safe_lines

_INDENT: Final = "  "
_NOT_WORDS: Final = re.compile(r"\A(?:|-?[0-9][0-9.eE+-]*|true|false|null|\s.*|.*\s|[\[{\"|-].*)\Z", re.DOTALL)
"""Text that would be taken for something else than text, and stands in quotation marks."""


def outline(value: object) -> str:
    """`value`, JSON data, one fact a line. Foreign text moves no cursor; lines of text stay lines."""
    return "\n".join(_block(value))


def _block(value: object) -> Iterator[str]:
    match value:
        case dict() if value:
            yield from _members(cast("Mapping[str, object]", value))
        case list() | tuple() if value:
            yield from _items(cast("Sequence[object]", value))
        case _:
            yield from _scalar(value)


def _members(members: Mapping[str, object]) -> Iterator[str]:
    for key, value in members.items():
        name = click.style(f"{safe(key)}:", bold=True)
        if _is_nested(value):
            yield name
            yield from _indent(_block(value))
        else:
            first, *more = _scalar(value)
            yield f"{name} {first}"
            yield from _indent(more)


def _items(items: Sequence[object]) -> Iterator[str]:
    for item in items:
        first, *more = _block(item)
        yield f"- {first}"
        yield from _indent(more)


def _indent(lines: Iterator[str] | list[str]) -> Iterator[str]:
    return (f"{_INDENT}{line}" for line in lines)


def _is_nested(value: object) -> bool:
    return isinstance(value, dict | list | tuple) and bool(cast("Sequence[object]", value))


def _scalar(value: object) -> Iterator[str]:
    """A value that holds no other: a line, or a bar and the lines of a longer text."""
    if not isinstance(value, str):
        yield json_line(value)
    elif "\n" in value.strip("\n"):
        yield "|"
        yield from safe_lines(value).split("\n")
    elif _NOT_WORDS.match(value):
        yield json_line(value)
    else:
        yield safe_lines(value)
