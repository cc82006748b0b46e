"""Ways of looking at answers that the checks of several dialects share.

A check says what is wrong as `probe: what`. Looks are made at the text itself; `accepted` asks the dialect's own strict
reader.
"""

import json as lax_json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias, cast

from retinue.conformance.port import Check, Exchange
from retinue.conformance.requests import TOGETHER, marked
from retinue.contract import json
from retinue.contract.json import JsonObject, JsonValue, pointer
from retinue.contract.model import DialectName
from retinue.dialects import dialect as dialect_of
from retinue.dialects.port import Known
from retinue.errors import ParseError, RetinueError

__all__ = [
    "Look",
    "ObjectLook",
    "accepted",
    "alike",
    "each",
    "each_object",
    "known_of",
    "object_in",
    "shown",
    "unmixed",
    "values_in",
]

Look: TypeAlias = Callable[[Exchange], Iterable[str]]
"""Says everything that is wrong with one answer."""
ObjectLook: TypeAlias = Callable[[JsonObject, Exchange], Iterable[str]]
"""Says everything that is wrong with the JSON object of one answer."""

_SHOWN: Final = 80


def each(look: Look) -> Check:
    """A check that looks at every answer."""

    def check(exchanges: Mapping[str, Exchange]) -> Iterator[str]:
        for name, exchange in exchanges.items():
            yield from (f"{name}: {wrong}" for wrong in look(exchange))

    return check


def each_object(look: ObjectLook) -> Check:
    """A check that looks at the JSON object that every answer has to be, or at least to hold."""

    def look_inside(exchange: Exchange) -> Iterable[str]:
        value = object_in(exchange.text or "")
        return ("there is no JSON object in it",) if value is None else look(value, exchange)

    return each(look_inside)


def accepted(dialect: DialectName) -> Check:
    """A check that every answer passes the dialect's strict reader."""

    def look(exchange: Exchange) -> Iterator[str]:
        try:
            dialect_of(dialect).parse_result(exchange.text or "", known=known_of(exchange), level="strict")
        except RetinueError as error:
            listed = cast("list[JsonObject]", error.detail.get("findings") or [])
            errors = [finding for finding in listed if finding.get("severity") == "error"]
            for finding in errors:
                place, message = f"`{finding.get('path', '')}`", str(finding["message"])
                yield message if place in {"``", message[: len(place)]} else f"{place}: {message}"
            if not errors:
                yield error.message

    return each(look)


def alike(*paths: str) -> Check:
    """A check that all answers say the same in the members `paths` (as `metadata/version`) of their object."""

    def check(exchanges: Mapping[str, Exchange]) -> Iterator[str]:
        found = {name: object_in(exchange.text or "") for name, exchange in exchanges.items()}
        for path in paths:
            said = {name: shown(_member(value, path)) for name, value in found.items()}
            if len(set(said.values())) > 1:
                listed = ", ".join(f"{value} to `{name}`" for name, value in said.items())
                yield f"`{path}` differs between answers to the same request: {listed}"

    return check


def unmixed(exchanges: Mapping[str, Exchange]) -> Iterator[str]:
    """A check that no answer to a request of `TOGETHER` has the mark of another."""
    for name in TOGETHER:
        for other in TOGETHER:
            if other != name and marked(other) in (exchanges[name].text or ""):
                yield f"{name}: the answer has words of `{other}`, which was put at the same time"


def known_of(exchange: Exchange) -> Known:
    """What whoever asked knows about the answer."""
    task = exchange.probe.task
    return Known(task_id=task.id, agent=task.agent, skill=task.skill)


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
            value = _loosely(text)
    return cast("JsonObject", value) if isinstance(value, dict) else None


def _loosely(text: str) -> object:
    try:
        return lax_json.loads(text)
    except (ValueError, RecursionError):
        return None


def values_in(value: JsonValue) -> Iterator[tuple[str, str, JsonValue]]:
    """Every member and item below `value`: its JSON Pointer, its name (an item has that of its list), and itself."""
    waiting: list[tuple[tuple[str | int, ...], str, JsonValue]] = [((), "", value)]
    while waiting:
        path, name, current = waiting.pop()
        if path:
            yield pointer(path), name, current
        if isinstance(current, dict):
            waiting += [((*path, key), key, below) for key, below in reversed(current.items())]
        elif isinstance(current, list):
            waiting += [((*path, at), name, below) for at, below in reversed(list(enumerate(current)))]


def shown(value: object) -> str:
    """A value as a sentence quotes it: as JSON, and not all of it when it is long."""
    try:
        text = lax_json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(type(value))
    return f"`{text[:_SHOWN]}…`" if len(text) > _SHOWN else f"`{text}`"


def _member(value: JsonValue, path: str) -> JsonValue:
    for name in path.split("/"):
        value = value.get(name) if isinstance(value, dict) else None
    return value
