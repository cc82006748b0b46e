"""YAML out of JSON values: block style, with quotes around what any reader could take for another value.

Only what `agents.load.yaml` reads back as the same value. Written here because the library's own rules for quoting are
those of its own reader, which is not ours.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

from retinue.contract import json as strict
from retinue.contract.json import JsonObject, JsonValue

_PLAIN_SCALAR: Final = re.compile(r"[A-Za-z](?:[A-Za-z0-9_ .,;/()+*&!?=<>@%^~'\"-]|:(?=[^\s])|#(?<=[^\s]#))*(?<! )")
_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf"})
"""Texts that one reader or another takes for something else."""
_NOT_PRINTABLE: Final = re.compile(
    "[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_LONGEST_PLAIN: Final = 2_000


def write_yaml(value: JsonObject) -> str:
    """The lines of `value`, without the fences around them.

    Raises:
        InvalidInput: It holds something that JSON cannot say either.
    """
    strict.dumps(value)
    return "\n".join(_object(value))


def _object(value: JsonObject) -> Iterator[str]:
    for key, item in value.items():
        yield from _member(f"{_text(key)}:", item)


def _member(head: str, item: JsonValue) -> Iterator[str]:
    """`head` and its value, on the same line where that is one scalar."""
    if (isinstance(item, dict | list)) and item:
        yield head
        yield from (f"  {line}" for line in (_object(item) if isinstance(item, dict) else _list(item)))
    elif isinstance(item, str) and _is_block(item):
        yield f"{head} |-"
        yield from (f"  {line}" if line else "" for line in item.split("\n"))
    else:
        # An empty list or object is written as JSON writes it.
        yield f"{head} {_text(item) if isinstance(item, str) else json.dumps(item)}"


def _list(value: list[JsonValue]) -> Iterator[str]:
    for item in value:
        if isinstance(item, dict | list) and item:
            first, *rest = _object(item) if isinstance(item, dict) else _list(item)
            yield f"- {first}"
            yield from (f"  {line}" if line else "" for line in rest)
        else:
            yield from _member("-", item)


def _is_block(text: str) -> bool:
    """Whether the lines of `text` can stand as they are."""
    lines = text.split("\n")
    return (
        len(lines) > 1
        and bool(lines[0].strip())
        and not lines[0].startswith(" ")
        and bool(lines[-1].strip())
        and not any(_NOT_PRINTABLE.search(line) for line in lines)
    )


def _text(text: str) -> str:
    if len(text) <= _LONGEST_PLAIN and _PLAIN_SCALAR.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return _NOT_PRINTABLE.sub(_escape, json.dumps(text, ensure_ascii=False))


def _escape(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
