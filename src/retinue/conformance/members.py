"""What stands in an answer that is a JSON object, and how a sentence quotes it. What is wrong with it, checks say."""

import json as lax_json
import re
from collections.abc import Iterator
from typing import Final, cast

from retinue.contract import json
from retinue.contract.json import JsonObject, JsonValue, pointer
from retinue.errors import ParseError

_QUOTE_LENGTH: Final = 80
_GENERIC_PHRASES: Final = frozenset(
    {
        "an error occurred", "an unexpected error occurred", "check input", "check logs", "check parameters",
        "check request", "check the input", "check the log", "check the logs", "check the parameters",
        "check the request", "check your input", "check your parameters", "check your request", "contact support",
        "error", "error occurred", "failed", "failure", "fix it", "fix the error", "fix the input", "fix the issue",
        "fix the problem", "fix the request", "internal error", "invalid", "invalid input", "retry", "retry later",
        "see documentation", "see logs", "see the documentation", "see the logs", "something failed",
        "something went wrong", "try again", "try again later", "unexpected error", "unknown error", "warning",
    }
)  # fmt: skip
"""What can be said of anything, without punctuation and without `please`."""


# Finding.


def object_in(text: str) -> JsonObject | None:
    """The JSON object that `text` is or holds, however loosely it is written; None when there is none.

    Checks of its members need it even where the text itself is not as it should be.
    """
    try:
        value: object = json.loads(text)
    except ParseError:
        try:
            value, _ = json.repair(text)
        except ParseError:
            value = _loads_loosely(text)
    return cast("JsonObject", value) if isinstance(value, dict) else None


def _loads_loosely(text: str) -> object:
    try:
        return lax_json.loads(text)
    except (ValueError, RecursionError):
        return None


def member(value: JsonValue, path: str) -> JsonValue:
    """What stands at `path`, as `metadata/version`; None when nothing does."""
    for name in path.split("/"):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def object_at(body: JsonObject, name: str) -> JsonObject:
    """The object that is the member `name`; an empty one when there is none."""
    value = body.get(name)
    return value if isinstance(value, dict) else {}


def objects_at(body: JsonObject, name: str) -> Iterator[tuple[int, JsonObject]]:
    """The objects in the list that is the member `name`, each with its index; what is no object is passed over."""
    value = body.get(name)
    for at, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, dict):
            yield at, item


def values_in(value: JsonValue) -> Iterator[tuple[str, str, JsonValue]]:
    """Every member and item below `value`: its JSON Pointer, its name (an item has that of its list), and itself."""
    pending: list[tuple[tuple[str | int, ...], str, JsonValue]] = [((), "", value)]
    while pending:
        path, name, current = pending.pop()
        if path:
            yield pointer(path), name, current
        if isinstance(current, dict):
            pending += [((*path, key), key, below) for key, below in reversed(current.items())]
        elif isinstance(current, list):
            pending += [((*path, at), name, below) for at, below in reversed(list(enumerate(current)))]


def missing(body: JsonObject, *names: str) -> Iterator[str]:
    """A sentence for each of `names` that is no member."""
    yield from (f"`{name}` is missing" for name in names if name not in body)


# Quoting.


def quote(value: object) -> str:
    """A value as a sentence quotes it: as JSON, and not all of it when it is long."""
    try:
        text = lax_json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(type(value))
    return f"`{text[:_QUOTE_LENGTH]}…`" if len(text) > _QUOTE_LENGTH else f"`{text}`"


def quote_member(body: JsonObject, name: str) -> str:
    """A member as a sentence quotes it, after `is`."""
    return quote(body[name]) if name in body else "missing"


# Telling apart.


def is_nonblank(value: JsonValue) -> bool:
    """Whether it is a text that is not blank."""
    return isinstance(value, str) and bool(value.strip())


def is_amount(value: JsonValue) -> bool:
    """Whether it is a number from 0 on; to Python, a boolean would be one."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def is_count(value: JsonValue) -> bool:
    """Whether it is a whole number from 0 on."""
    return isinstance(value, int) and is_amount(value)


def is_uninformative(value: JsonValue, *, words: int = 1) -> bool:
    """Whether a message is no text, has fewer than so many words, or is what anybody says of anything."""
    if not isinstance(value, str):
        return True
    used = re.sub(r"[^\w\s]", " ", value.lower()).split()
    return len(used) < words or " ".join(word for word in used if word != "please") in _GENERIC_PHRASES
