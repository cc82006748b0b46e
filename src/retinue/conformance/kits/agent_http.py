"""What an agent of spec 004 is sent, and what is checked in its answers, requirement by requirement.

Which skill a body is meant for only a route could say, so all of them are messages; those that must be refused are no
message at all.
"""

from collections.abc import Iterator, Mapping
from typing import Final, cast

from retinue.conformance.answer_checks import (
    CheckTable,
    all_answers,
    each_answer,
    each_object,
    each_object_in_exchange,
    expect_member,
    garbled_values,
    is_nonblank,
    object_at,
    object_in,
    quote,
    quote_member,
    same_members,
    strict_object,
)
from retinue.conformance.port import Probe, ProbeExchange, ProbeFactory, RequestTemplate
from retinue.conformance.requests import GOOD, HOSTILE, ODD, text_probe
from retinue.contract import json
from retinue.contract.fault import Fault
from retinue.contract.json import JsonObject, JsonValue
from retinue.dialects import dialect as dialect_of
from retinue.dialects.decoding import parse_timestamp
from retinue.errors import RetinueError

# Probes.


def _question(template: RequestTemplate) -> Probe:
    words = template.instruction or "What can you do?"
    task = template.task("question", skill=None, target=None, parameters={}, instruction=words)
    return Probe("question", task, "A question in words, and nothing else.")


PROBES: Final[Mapping[str, ProbeFactory]] = {
    **GOOD,
    "question": _question,
    "not_ascii": ODD["not_ascii"],
    "unknown_parameter": ODD["unknown_parameter"],
    **HOSTILE,
    "no_message": text_probe("no_message", '{"metadata": {}}', "It is JSON, and holds no message."),
    "no_parts": text_probe("no_parts", '{"message": {"role": "user", "parts": 5}}', "Its message has no parts."),
}


# Checks.


CHECKS: Final = CheckTable("agent_http")
"""By the requirement's name."""

_STATES: Final = ("pending", "working", "completed", "failed", "canceled")
_YOURS: Final = frozenset({"invalid_input", "parse_error", "validation_error", "bad_request", 400, 422})
_TIMESTAMP_FIELDS: Final = ("timestamp", "created_at", "updated_at")


# The record.


@CHECKS.add(each_object, "record", "corrected")
def _record(body: JsonObject) -> Iterator[str]:
    if not isinstance(body.get("id"), str):
        yield f"`id` is {quote_member(body, 'id')}"
    if "state" not in _status(body):
        yield f"`status` is {quote_member(body, 'status')}, and has no `state`"


@CHECKS.add(each_object_in_exchange, "id")
def _id(body: JsonObject, exchange: ProbeExchange) -> Iterator[str]:
    task_id = exchange.probe.task.id
    if body.get("id") != task_id:
        yield f"`id` is {quote_member(body, 'id')}, and {quote(task_id)} was posted"


@CHECKS.add(each_object, "any-task")
def _any_task(body: JsonObject) -> Iterator[str]:
    if _failed(body):
        yield f"it failed: {_why(body)}"


@CHECKS.add(each_object, "any-question")
def _any_question(body: JsonObject) -> Iterator[str]:
    if "response_message" not in body and not _status(body).get("message"):
        yield "the record says nothing"


@CHECKS.add(each_object, "response")
def _response(body: JsonObject) -> Iterator[str]:
    if _status(body).get("state") == "completed" and not _parts(body) and not body.get("artifacts"):
        yield "it is completed, and there is no `response_message` with parts and no artifact"


@CHECKS.add(each_object, "parts")
def _part_types(body: JsonObject) -> Iterator[str]:
    for at, part in enumerate(_parts(body)):
        place = f"`response_message.parts[{at}]`"
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(part, dict) or not isinstance(kind, str):
            yield f"{place} has no `type`: {quote(part)}"
        elif kind == "text" and not isinstance(part.get("text"), str):
            yield f"{place}: `text` is {quote_member(part, 'text')}"
        elif kind == "data" and "data" not in part:
            yield f"{place}: `data` is missing"


@CHECKS.add(each_object, "artifacts")
def _artifacts(body: JsonObject) -> Iterator[str]:
    artifacts = body.get("artifacts", [])
    if not isinstance(artifacts, list) or not all(isinstance(artifact, dict) for artifact in artifacts):
        yield f"`artifacts` is {quote(artifacts)}"


@CHECKS.add(each_object, "timestamps")
def _timestamps(body: JsonObject) -> Iterator[str]:
    for holder in (body, _status(body)):
        for name in _TIMESTAMP_FIELDS:
            value = holder.get(name)
            if name in holder and not (
                isinstance(value, str) and value.endswith("Z") and parse_timestamp(value) is not None
            ):
                yield f"`{name}` is {quote(value)}"


@CHECKS.add(each_object, "no-nulls")
def _no_nulls(body: JsonObject) -> Iterator[str]:
    for place, holder in (("", body), ("status.", _status(body))):
        yield from (f"`{place}{name}` is null" for name, value in holder.items() if value is None)


# Failures.


@CHECKS.add(each_object, "refuses")
def _refuses(body: JsonObject) -> Iterator[str]:
    if not _failed(body):
        yield f"it is not an error: {quote(body)}"


@CHECKS.add(each_object, "error-message")
def _error_message(body: JsonObject) -> Iterator[str]:
    fault = _fault(body)
    message = _error(body).get("message") or _status(body).get("message") or (fault.message if fault else None)
    if not is_nonblank(message):
        yield f"its message is {quote(message)}"


@CHECKS.add(each_object, "error-code")
def _error_code(body: JsonObject) -> Iterator[str]:
    code = _error(body).get("code")
    if not isinstance(code, str | int) or code not in _YOURS:
        yield f"its code is {quote(code)}"


@CHECKS.add(each_object, "error-hint")
def _error_hint(body: JsonObject) -> Iterator[str]:
    error = _error(body)
    if not error.get("hint") and not error.get("suggestions"):
        yield "there is no hint and no suggestion"


# Behaviour.


@CHECKS.add(all_answers, "free-parameters")
def _free_parameters(exchanges: Mapping[str, ProbeExchange]) -> Iterator[str]:
    bodies = {name: object_in(exchange.text or "") for name, exchange in exchanges.items()}
    valid, odd = bodies["valid"], bodies["unknown_parameter"]
    if valid is not None and not _failed(valid) and (odd is None or _failed(odd)):
        yield f"unknown_parameter: {'there is no JSON object in it' if odd is None else _why(odd)}"


# Words.


def _status(body: JsonObject) -> JsonObject:
    return object_at(body, "status")


def _error(body: JsonObject) -> JsonObject:
    """The error of an error body, or of a record's metadata."""
    return object_at(body if "error" in body else object_at(body, "metadata"), "error")


def _failed(body: JsonObject) -> bool:
    """Whether it says so, in our shape or in another that is usual: a reader takes it for no success."""
    if "error" in body or _status(body).get("state") in {"failed", "canceled"}:
        return True
    return "state" not in _status(body) and _fault(body) is not None


def _fault(body: JsonObject) -> Fault | None:
    """The failure that it is, as our own reader takes it."""
    try:
        return dialect_of("agent_http").parse_result(json.dumps(body)).value.fault
    except RetinueError:
        return None


def _why(body: JsonObject) -> str:
    return quote(_status(body).get("message") or body.get("error") or body)


def _parts(body: JsonObject) -> list[JsonValue]:
    parts = object_at(body, "response_message").get("parts")
    return parts if isinstance(parts, list) else cast("list[JsonValue]", [])


CHECKS.update({
    "json": each_answer(strict_object),
    "state": each_object(expect_member("status.state", lambda value: value in _STATES)),
    "role": each_object(expect_member("response_message.role", lambda value: value == "agent", within_object=True)),
    "not-ascii": each_object_in_exchange(garbled_values),
    "steady": same_members("status/state"),
})  # fmt: skip
