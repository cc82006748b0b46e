"""What JSON holds, as types, and how a place inside it is named. No reading and no writing."""

from collections.abc import Iterable
from typing import TypeAlias

__all__ = ["JsonObject", "JsonValue", "pointer"]

JsonValue: TypeAlias = dict[str, "JsonValue"] | list["JsonValue"] | str | int | float | bool | None
"""Anything JSON can say. For type checkers; pydantic models use pydantic's own."""

JsonObject: TypeAlias = dict[str, JsonValue]
"""A JSON object: what every message of an agent is at the top."""


def pointer(parts: Iterable[str | int]) -> str:
    """Name a place inside a JSON document as RFC 6901 does: `pointer(["a/b", 0])` is `/a~1b/0`."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)
