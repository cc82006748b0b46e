"""Checks that several dialects share, and the ways in which a look at one answer becomes a check of all.

A check says what is wrong as `probe: what`. Looks are made at the text itself; `accepted` asks the dialect's own strict
reader.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias, cast

from retinue.conformance.members import member, object_in, shown, values_in
from retinue.conformance.port import Check, Exchange
from retinue.conformance.requests import TOGETHER, marked
from retinue.contract import json
from retinue.contract.json import JsonObject
from retinue.contract.model import DialectName
from retinue.dialects import dialect as dialect_of
from retinue.dialects.port import Known
from retinue.errors import ParseError, RetinueError

__all__ = [
    "AskedLook",
    "Look",
    "ObjectLook",
    "accepted",
    "alike",
    "anything",
    "each",
    "each_object",
    "each_object_asked",
    "garbled",
    "garbled_values",
    "is_object",
    "known_of",
    "unmixed",
]

Look: TypeAlias = Callable[[Exchange], Iterable[str]]
"""Says everything that is wrong with one answer."""
ObjectLook: TypeAlias = Callable[[JsonObject], Iterable[str]]
"""Says everything that is wrong with the JSON object of one answer."""
AskedLook: TypeAlias = Callable[[JsonObject, Exchange], Iterable[str]]
"""Says everything that is wrong with the JSON object of one answer, for what was asked."""


# From looks to checks.


def each(look: Look) -> Check:
    """A check that looks at every answer."""

    def check(exchanges: Mapping[str, Exchange]) -> Iterator[str]:
        for name, exchange in exchanges.items():
            yield from (f"{name}: {wrong}" for wrong in look(exchange))

    return check


def each_object(look: ObjectLook) -> Check:
    """A check that looks at the JSON object that every answer has to be, or at least to hold."""
    return each_object_asked(lambda body, _: look(body))


def each_object_asked(look: AskedLook) -> Check:
    """The same, for looks that have to know what was asked."""

    def look_inside(exchange: Exchange) -> Iterable[str]:
        value = object_in(exchange.text or "")
        return ("there is no JSON object in it",) if value is None else look(value, exchange)

    return each(look_inside)


# Looks.


def is_object(exchange: Exchange) -> Iterator[str]:
    """A look that the text is one JSON object, strictly, and nothing beside it."""
    try:
        value = json.loads(exchange.text or "")
    except ParseError as error:
        yield f"{error.message} {error.hint}"
        return
    if not isinstance(value, dict):
        yield f"it is JSON, and no object: {shown(value)}"


def garbled_values(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    """A look that no text of the object is `garbled`."""
    words = exchange.probe.task.target or ""
    for place, _, value in values_in(body):
        if isinstance(value, str) and garbled(value, words):
            yield f"`{place}` is {shown(value)}"


def garbled(text: str, words: str) -> bool:
    """Whether `text` holds `words`, which are not ASCII, in letters that they turn into on a wrong way."""
    turned = (
        words.encode().decode("latin-1"),
        words.encode().decode("cp1252", "replace"),
        words.encode("ascii", "replace").decode(),
        "\ufffd",
    )
    return any(letters != words and letters in text for letters in turned)


# Checks.


def anything(exchanges: Mapping[str, Exchange]) -> Iterable[str]:
    """A check that takes any answer: that there is one has been seen before a check is asked."""
    del exchanges
    return ()


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
            told = {name: shown(member(value, path)) for name, value in found.items()}
            if len(set(told.values())) > 1:
                listed = ", ".join(f"{value} to `{name}`" for name, value in told.items())
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
