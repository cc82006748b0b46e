"""Checks that several dialects share, and the ways in which a look at one answer becomes a check of all.

A check says what is wrong as `probe: what`. Looks are made at the text itself; `passes_strict_reader` asks the
dialect's own strict reader.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias, cast

from retinue.conformance.members import member, object_in, quote, values_in
from retinue.conformance.port import Check, ProbeExchange
from retinue.conformance.requests import TOGETHER, mark_of
from retinue.contract import json
from retinue.contract.json import JsonObject
from retinue.contract.model import DialectName
from retinue.dialects import dialect as dialect_of
from retinue.dialects.port import ParseContext
from retinue.errors import ParseError, RetinueError

AnswerInspector: TypeAlias = Callable[[ProbeExchange], Iterable[str]]
"""Says everything that is wrong with one answer."""
ObjectInspector: TypeAlias = Callable[[JsonObject], Iterable[str]]
"""Says everything that is wrong with the JSON object of one answer."""
ExchangeInspector: TypeAlias = Callable[[JsonObject, ProbeExchange], Iterable[str]]
"""Says everything that is wrong with the JSON object of one answer, for what was asked."""


# From looks to checks.


def each_answer(inspect: AnswerInspector) -> Check:
    """A check that looks at every answer."""

    def check(exchanges: Mapping[str, ProbeExchange]) -> Iterator[str]:
        for name, exchange in exchanges.items():
            yield from (f"{name}: {wrong}" for wrong in inspect(exchange))

    return check


def each_object(inspect: ObjectInspector) -> Check:
    """A check that looks at the JSON object that every answer has to be, or at least to hold."""
    return each_object_in_exchange(lambda body, _: inspect(body))


def each_object_in_exchange(inspect: ExchangeInspector) -> Check:
    """The same, for looks that have to know what was asked."""

    def inspect_object(exchange: ProbeExchange) -> Iterable[str]:
        value = object_in(exchange.text or "")
        return ("there is no JSON object in it",) if value is None else inspect(value, exchange)

    return each_answer(inspect_object)


# Looks.


def strict_object(exchange: ProbeExchange) -> Iterator[str]:
    """A look that the text is one JSON object, strictly, and nothing beside it."""
    try:
        value = json.loads(exchange.text or "")
    except ParseError as error:
        yield f"{error.message} {error.hint}"
        return
    if not isinstance(value, dict):
        yield f"it is JSON, and no object: {quote(value)}"


def garbled_values(body: JsonObject, exchange: ProbeExchange) -> Iterator[str]:
    """A look that no text of the object is `is_garbled`."""
    words = exchange.probe.task.target or ""
    for place, _, value in values_in(body):
        if isinstance(value, str) and is_garbled(value, words):
            yield f"`{place}` is {quote(value)}"


def is_garbled(text: str, words: str) -> bool:
    """Whether `text` holds `words`, which are not ASCII, in letters that they turn into on a wrong way."""
    turned = (
        words.encode().decode("latin-1"),
        words.encode().decode("cp1252", "replace"),
        words.encode("ascii", "replace").decode(),
        "\ufffd",
    )
    return any(letters != words and letters in text for letters in turned)


# Checks.


def any_answer(exchanges: Mapping[str, ProbeExchange]) -> Iterable[str]:
    """A check that takes any answer: that there is one has been seen before a check is asked."""
    del exchanges
    return ()


def passes_strict_reader(dialect: DialectName) -> Check:
    """A check that every answer passes the dialect's strict reader."""

    def inspect(exchange: ProbeExchange) -> Iterator[str]:
        try:
            dialect_of(dialect).parse_result(exchange.text or "", context=parse_context_of(exchange), level="strict")
        except RetinueError as error:
            findings = cast("list[JsonObject]", error.detail.get("findings") or [])
            errors = [finding for finding in findings if finding.get("severity") == "error"]
            for finding in errors:
                place, message = f"`{finding.get('path', '')}`", str(finding["message"])
                yield message if place in {"``", message[: len(place)]} else f"{place}: {message}"
            if not errors:
                yield error.message

    return each_answer(inspect)


def same_members(*paths: str) -> Check:
    """A check that all answers say the same in the members `paths` (as `metadata/version`) of their object."""

    def check(exchanges: Mapping[str, ProbeExchange]) -> Iterator[str]:
        bodies = {name: object_in(exchange.text or "") for name, exchange in exchanges.items()}
        for path in paths:
            texts = {name: quote(member(value, path)) for name, value in bodies.items()}
            if len(set(texts.values())) > 1:
                variants = ", ".join(f"{value} to `{name}`" for name, value in texts.items())
                yield f"`{path}` differs between answers to the same request: {variants}"

    return check


def unmixed(exchanges: Mapping[str, ProbeExchange]) -> Iterator[str]:
    """A check that no answer to a request of `TOGETHER` has the mark of another."""
    for name in TOGETHER:
        for other in TOGETHER:
            if other != name and mark_of(other) in (exchanges[name].text or ""):
                yield f"{name}: the answer has words of `{other}`, which was put at the same time"


def parse_context_of(exchange: ProbeExchange) -> ParseContext:
    """What the request says about the answer."""
    task = exchange.probe.task
    return ParseContext(task_id=task.id, agent=task.agent, skill=task.skill)
