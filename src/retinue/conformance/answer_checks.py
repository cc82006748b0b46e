"""Members of an answer and how a sentence quotes them; checks that several dialects share; how a look becomes a check.

A check says what is wrong as `probe: what`. Looks are made at the text itself; `passes_strict_reader` asks the
dialect's own strict reader.
"""

import json as lax_json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Final, TypeAlias, TypeVar, cast

from retinue.conformance.port import Check, ProbeExchange
from retinue.conformance.requests import TOGETHER, mark_of
from retinue.contract import json
from retinue.contract.json import JsonObject, JsonValue, pointer
from retinue.contract.model import DialectName
from retinue.dialects import dialect as dialect_of
from retinue.dialects.port import ParseContext
from retinue.errors import ParseError, RetinueError

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
            try:  # Python's own reader takes NaN and names that occur twice
                value = lax_json.loads(text)
            except (ValueError, RecursionError):
                return None
    return cast("JsonObject", value) if isinstance(value, dict) else None


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


AnswerInspector: TypeAlias = Callable[[ProbeExchange], Iterable[str]]
"""Says everything that is wrong with one answer."""
ObjectInspector: TypeAlias = Callable[[JsonObject], Iterable[str]]
"""Says everything that is wrong with the JSON object of one answer."""
ExchangeInspector: TypeAlias = Callable[[JsonObject, ProbeExchange], Iterable[str]]
"""Says everything that is wrong with the JSON object of one answer, for what was asked."""


# From looks to checks.

_Look = TypeVar("_Look")


class CheckTable(dict[str, Check]):
    """The checks of one kit, by the names of their requirements; those that every dialect has are in it.

    Args:
        dialect: Of the agents that are judged; a protocol has none.
    """

    def __init__(self, dialect: DialectName | None = None) -> None:
        super().__init__(answers=any_answer)
        if dialect is not None:
            self.update(unmixed=unmixed, strict=passes_strict_reader(dialect))

    def add(self, make: Callable[[_Look], Check], *names: str) -> Callable[[_Look], _Look]:
        """Enter what `make` (`each_object`, …) makes of the decorated function as the check of `names`."""

        def register(inspect: _Look) -> _Look:
            self.update(dict.fromkeys(names, make(inspect)))
            return inspect

        return register


def all_answers(check: Check) -> Check:
    """A check that looks at all answers together: itself."""
    return check


def each_answer(inspect: AnswerInspector) -> Check:
    """A check that looks at every answer."""

    def check(exchanges: Mapping[str, ProbeExchange]) -> Iterator[str]:
        for name, exchange in exchanges.items():
            yield from (f"{name}: {wrong}" for wrong in inspect(exchange))

    return check


def each_object(*inspectors: ObjectInspector) -> Check:
    """A check that looks at the JSON object that every answer has to be, or at least to hold."""
    return each_object_in_exchange(lambda body, _: chain.from_iterable(inspect(body) for inspect in inspectors))


def each_object_in_exchange(*inspectors: ExchangeInspector) -> Check:
    """The same, for looks that have to know what was asked."""

    def inspect_object(exchange: ProbeExchange) -> Iterable[str]:
        value = object_in(exchange.text or "")
        if value is None:
            return ("there is no JSON object in it",)
        return chain.from_iterable(inspect(value, exchange) for inspect in inspectors)

    return each_answer(inspect_object)


# Looks.


def expect_member(
    path: str,
    is_valid: Callable[[JsonValue], bool],
    *,
    when: str = "",
    optional: bool = False,
    within_object: bool = False,
) -> ObjectInspector:
    """A look that the member at `path`, as `metadata.version`, is valid.

    Args:
        path: Names of members, the last one being looked at.
        is_valid: Gets the value, None when it is missing.
        when: Only answers with this `status` are looked at.
        optional: The member may be missing.
        within_object: The object that holds it may be missing.
    """
    *parents, name = path.split(".")

    def inspect(body: JsonObject) -> Iterator[str]:
        holder: JsonValue = body
        for parent in parents:
            holder = holder.get(parent) if isinstance(holder, dict) else None
        if (when and body.get("status") != when) or (within_object and not isinstance(holder, dict)):
            return
        holder = holder if isinstance(holder, dict) else {}
        if not (optional and name not in holder) and not is_valid(holder.get(name)):
            yield f"`{path}` is {quote_member(holder, name)}"

    return inspect


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
