"""How an agent of spec 004 is judged, requirement by requirement."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, cast

from retinue.conformance.answers import accepted, alike, each, each_object, shown, unmixed, values_in
from retinue.conformance.port import Check, Exchange
from retinue.contract import json
from retinue.contract.json import JsonObject, JsonValue
from retinue.dialects.moments import moment_ns
from retinue.errors import ParseError

__all__ = ["CHECKS"]

_STATES: Final = ("pending", "working", "completed", "failed", "canceled")
_YOURS: Final = frozenset({"invalid_input", "parse_error", "validation_error", "bad_request", 400, 422})
_MOMENTS: Final = ("timestamp", "created_at", "updated_at")


def _any(exchanges: Mapping[str, Exchange]) -> Iterable[str]:
    """Nothing: that there is an answer to each has been seen before a check is asked."""
    del exchanges
    return ()


def _json(exchange: Exchange) -> Iterator[str]:
    try:
        value = json.loads(exchange.text or "")
    except ParseError as error:
        yield f"{error.message} {error.hint}"
        return
    if not isinstance(value, dict):
        yield f"it is JSON, and no object: {shown(value)}"


# The record.


def _record(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    if not isinstance(body.get("id"), str):
        yield f"`id` is {_said(body, 'id')}"
    if "state" not in _status(body):
        yield f"`status` is {_said(body, 'status')}, and has no `state`"


def _state(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    if _status(body).get("state") not in _STATES:
        yield f"`status.state` is {_said(_status(body), 'state')}"


def _id(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    asked = exchange.probe.task.id
    if body.get("id") != asked:
        yield f"`id` is {_said(body, 'id')}, and {shown(asked)} was posted"


def _any_task(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    if _failed(body):
        yield f"it failed: {shown(_status(body).get('message') or body.get('error'))}"


def _any_question(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    if "response_message" not in body and not _status(body).get("message"):
        yield "the record says nothing"


def _response(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    if _status(body).get("state") == "completed" and not _parts(body) and not body.get("artifacts"):
        yield "it is completed, and there is no `response_message` with parts and no artifact"


def _part_types(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    for at, part in enumerate(_parts(body)):
        place = f"`response_message.parts[{at}]`"
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(part, dict) or not isinstance(kind, str):
            yield f"{place} has no `type`: {shown(part)}"
        elif kind == "text" and not isinstance(part.get("text"), str):
            yield f"{place}: `text` is {_said(part, 'text')}"
        elif kind == "data" and "data" not in part:
            yield f"{place}: `data` is missing"


def _role(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    message = body.get("response_message")
    if isinstance(message, dict) and message.get("role") != "agent":
        yield f"`response_message.role` is {_said(message, 'role')}"


def _artifacts(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    listed = body.get("artifacts", [])
    if not isinstance(listed, list) or not all(isinstance(artifact, dict) for artifact in listed):
        yield f"`artifacts` is {shown(listed)}"


def _timestamps(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    for holder in (body, _status(body)):
        for name in _MOMENTS:
            said = holder.get(name)
            if name in holder and not (isinstance(said, str) and said.endswith("Z") and moment_ns(said) is not None):
                yield f"`{name}` is {shown(said)}"


def _no_nulls(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    for place, holder in (("", body), ("status.", _status(body))):
        yield from (f"`{place}{name}` is null" for name, value in holder.items() if value is None)


# Failures.


def _refuses(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    if not _failed(body):
        yield f"it is no error: {shown(body)}"


def _error_message(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    said = _error(body).get("message") or _status(body).get("message")
    if not isinstance(said, str) or not said.strip():
        yield f"its message is {shown(said)}"


def _error_code(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    code = _error(body).get("code")
    if not isinstance(code, str | int) or code not in _YOURS:
        yield f"its code is {shown(code)}"


def _error_hint(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    error = _error(body)
    if not error.get("hint") and not error.get("suggestions"):
        yield "there is no hint and no suggestion"


# Behaviour.


def _not_ascii(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    words = exchange.probe.task.target or ""
    broken = {words.encode().decode("latin-1"), words.encode("ascii", "replace").decode()}
    for place, _, value in values_in(body):
        if isinstance(value, str) and ("\ufffd" in value or any(word in value for word in broken)):
            yield f"`{place}` is {shown(value)}"


def _free_parameters(exchanges: Mapping[str, Exchange]) -> Iterator[str]:
    failed = {name: list(_look_failed(exchange)) for name, exchange in exchanges.items()}
    if failed["unknown_parameter"] and not failed["valid"]:
        yield f"unknown_parameter: {failed['unknown_parameter'][0]}"


def _look_failed(exchange: Exchange) -> Iterator[str]:
    try:
        value = json.loads(exchange.text or "")
    except ParseError as error:
        yield error.message
        return
    if isinstance(value, dict) and _failed(value):
        yield shown(_status(value).get("message") or value.get("error"))


# Words.


def _status(body: JsonObject) -> JsonObject:
    said = body.get("status")
    return said if isinstance(said, dict) else {}


def _error(body: JsonObject) -> JsonObject:
    """The error of an error body, or of a record's metadata."""
    metadata = body.get("metadata")
    said = body.get("error", metadata.get("error") if isinstance(metadata, dict) else None)
    return said if isinstance(said, dict) else {}


def _failed(body: JsonObject) -> bool:
    return "error" in body or _status(body).get("state") in {"failed", "canceled"}


def _parts(body: JsonObject) -> list[JsonValue]:
    message = body.get("response_message")
    parts = message.get("parts") if isinstance(message, dict) else None
    return parts if isinstance(parts, list) else cast("list[JsonValue]", [])


def _said(body: JsonObject, name: str) -> str:
    return shown(body[name]) if name in body else "missing"


CHECKS: Final[Mapping[str, Check]] = {
    f"agent_http/{name}": check
    for name, check in {
        "answers": _any,
        "json": each(_json),
        "record": each_object(_record),
        "state": each_object(_state),
        "id": each_object(_id),
        "any-task": each_object(_any_task),
        "any-question": each_object(_any_question),
        "response": each_object(_response),
        "parts": each_object(_part_types),
        "role": each_object(_role),
        "artifacts": each_object(_artifacts),
        "timestamps": each_object(_timestamps),
        "no-nulls": each_object(_no_nulls),
        "refuses": each_object(_refuses),
        "error-message": each_object(_error_message),
        "error-code": each_object(_error_code),
        "error-hint": each_object(_error_hint),
        "not-ascii": each_object(_not_ascii),
        "free-parameters": _free_parameters,
        "steady": alike("status/state"),
        "unmixed": unmixed,
        "corrected": each_object(_record),
        "strict": accepted("agent_http"),
    }.items()
}
