"""What is looked at in the answers of an agent of spec 000, requirement by requirement."""

from collections.abc import Iterator, Mapping
from typing import Final

from retinue.conformance.answer_checks import (
    ObjectInspector,
    any_answer,
    each_answer,
    each_object,
    each_object_in_exchange,
    garbled_values,
    passes_strict_reader,
    same_members,
    strict_object,
    unmixed,
)
from retinue.conformance.members import is_count, is_nonblank, is_uninformative, object_at, quote, quote_member
from retinue.conformance.port import Check, ProbeExchange
from retinue.conformance.tool_use.probes import UNHEARD_OF
from retinue.contract.json import JsonObject

_STATUSES: Final = ("success", "error", "partial", "failed")
_FAILURES: Final = ("error", "failed")
_ERROR_TYPES: Final = ("validation_error", "runtime_error", "timeout")
_MEASURED: Final = ("execution_time_ms", "tokens_used", "confidence", "model_used")


# Envelopes.


def _status(body: JsonObject) -> Iterator[str]:
    if body.get("status") not in _STATUSES:
        yield f"`status` is {quote_member(body, 'status')}"


def _result(body: JsonObject) -> Iterator[str]:
    is_required = body.get("status") not in _FAILURES
    if (is_required or "result" in body) and not isinstance(body.get("result"), dict | list):
        yield f"`result` is {quote_member(body, 'result')}"


def _metadata(body: JsonObject) -> Iterator[str]:
    if not isinstance(body.get("metadata"), dict):
        yield f"`metadata` is {quote_member(body, 'metadata')}"


def _count_field(name: str) -> ObjectInspector:
    def inspect(body: JsonObject) -> Iterator[str]:
        metadata = _metadata_of(body)
        if name in metadata and not is_count(metadata[name]):
            yield f"`metadata.{name}` is {quote(metadata[name])}"

    return inspect


def _confidence(body: JsonObject) -> Iterator[str]:
    confidence = _metadata_of(body).get("confidence", 0)
    if not isinstance(confidence, int | float) or isinstance(confidence, bool) or not 0 <= confidence <= 1:
        yield f"`metadata.confidence` is {quote(confidence)}"


def _texts(body: JsonObject) -> Iterator[str]:
    texts = {
        "metadata.model_used": _metadata_of(body).get("model_used", "x"),
        "reasoning_log": body.get("reasoning_log", "x"),
    }
    yield from (f"`{name}` is {quote(value)}" for name, value in texts.items() if not is_nonblank(value))


def _measured(body: JsonObject) -> Iterator[str]:
    metadata = _metadata_of(body)
    yield from (f"`metadata.{name}` is missing" for name in _MEASURED if name not in metadata)


def _succeeds(body: JsonObject) -> Iterator[str]:
    if body.get("status") not in ("success", "partial"):
        message = _error_of(body).get("message")
        yield f"`status` is {quote_member(body, 'status')}" + (f": {quote(message)}" if message else "")


def _whole(body: JsonObject) -> Iterator[str]:
    yield from _status(body)
    yield from _result(body)
    yield from _metadata(body)


# Failures.


def _fails(body: JsonObject) -> Iterator[str]:
    if body.get("status") not in _FAILURES:
        yield f"`status` is {quote_member(body, 'status')}"


def _error_type(body: JsonObject) -> Iterator[str]:
    if body.get("status") in _FAILURES and _error_of(body).get("error_type") not in _ERROR_TYPES:
        yield f"`error_type` is {quote_member(_error_of(body), 'error_type')}"


def _error_says(name: str) -> ObjectInspector:
    def inspect(body: JsonObject) -> Iterator[str]:
        error = _error_of(body)
        if body.get("status") in _FAILURES and not is_nonblank(error.get(name)):
            yield f"`{name}` is {quote_member(error, name)}"

    return inspect


def _retry_count(body: JsonObject) -> Iterator[str]:
    error = _error_of(body)
    if body.get("status") in _FAILURES and not is_count(error.get("retry_count")):
        yield f"`retry_count` is {quote_member(error, 'retry_count')}"


def _specific(body: JsonObject) -> Iterator[str]:
    hint = _error_of(body).get("correction_hint")
    if is_nonblank(hint) and is_uninformative(hint):
        yield f"`correction_hint` is {quote(hint)}"


def _names_the_fix(body: JsonObject) -> Iterator[str]:
    error = _error_of(body)
    if UNHEARD_OF not in f"{error.get('message')} {error.get('correction_hint')}":
        yield f"neither `message` nor `correction_hint` names `{UNHEARD_OF}`: {quote_member(error, 'correction_hint')}"


def _closed(body: JsonObject) -> Iterator[str]:
    yield from _fails(body)
    error_type = _error_of(body).get("error_type")
    if body.get("status") in _FAILURES and error_type != "validation_error":
        yield f"`error_type` is {quote(error_type)}"


def _escalates(body: JsonObject) -> Iterator[str]:
    if body.get("status") != "failed":
        yield f"`status` is {quote_member(body, 'status')}"


def _not_ascii(body: JsonObject, exchange: ProbeExchange) -> Iterator[str]:
    yield from garbled_values(body, exchange)
    yield from _status(body)


# Words.


def _metadata_of(body: JsonObject) -> JsonObject:
    return object_at(body, "metadata")


def _error_of(body: JsonObject) -> JsonObject:
    """The error object: beside the envelope's other keys, or inside; the spec shows the two apart."""
    for place in (body, body.get("error"), body.get("result")):
        if isinstance(place, dict) and "error_type" in place:
            return place
    return body


CHECKS: Final[Mapping[str, Check]] = {
    "answers": any_answer,
    "json": each_answer(strict_object),
    "status": each_object(_status),
    "result": each_object(_result),
    "metadata": each_object(_metadata),
    "execution-time": each_object(_count_field("execution_time_ms")),
    "tokens": each_object(_count_field("tokens_used")),
    "confidence": each_object(_confidence),
    "texts": each_object(_texts),
    "measured": each_object(_measured),
    "succeeds": each_object(_succeeds),
    "handed-on": each_object(_succeeds),
    "error-type": each_object(_error_type),
    "error-message": each_object(_error_says("message")),
    "correction-hint": each_object(_error_says("correction_hint")),
    "retry-count": each_object(_retry_count),
    "hint-is-specific": each_object(_specific),
    "hint-names-the-fix": each_object(_names_the_fix),
    "closed": each_object(_closed),
    "invalid-input": each_object(_fails),
    "prose": each_object(_fails),
    "another-tool": each_object(_fails),
    "escalates": each_object(_escalates),
    "corrected": each_object(_whole),
    "not-ascii": each_object_in_exchange(_not_ascii),
    "steady": same_members("status"),
    "unmixed": unmixed,
    "strict": passes_strict_reader("tool_use"),
}
"""By the requirement's name."""
