"""Mends that mean the same in every dialect that speaks JSON. When one is made is the dialect's own business."""

from collections.abc import Container, Iterable

from retinue.contract import json
from retinue.contract.json import JsonObject, pointer
from retinue.dialects.diagnostics import Diagnostics
from retinue.errors import ParseError


def drop_nulls(value: JsonObject, keys: Container[str], notes: Diagnostics, *, path: str = "") -> None:
    """Take null for "not there" (C16).

    Args:
        value: The object; it is changed.
        keys: Those of its keys that may be absent.
        notes: Where each change is noted.
        path: JSON Pointer of the object in the message.
    """
    for key in [key for key in value if value[key] is None and key in keys]:
        del value[key]
        notes.add("null", f"`{key[:80]}` is null.", path=path + pointer([key]), fix=f"Leave `{key[:80]}` out.")


def read_numbers(value: JsonObject, keys: Iterable[str], notes: Diagnostics, *, path: str = "") -> None:
    """Read numbers out of texts that are one; the arguments as above."""
    for key in keys:
        text = value.get(key)
        if not isinstance(text, str):
            continue
        try:
            number = json.loads(text)
        except ParseError:
            continue
        if isinstance(number, int | float) and not isinstance(number, bool):
            value[key] = number
            notes.add("number", f"`{key}` is a number in a text.", path=path + pointer([key]), fix="Send the number.")
