"""What is looked at in the answers of an agent of spec 000, requirement by requirement."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from retinue.conformance.answers import ObjectLook, accepted, alike, each, each_object, shown, unmixed
from retinue.conformance.port import Check, Exchange
from retinue.conformance.tool_use.probes import UNHEARD_OF
from retinue.contract import json
from retinue.contract.json import JsonObject, JsonValue
from retinue.errors import ParseError

__all__ = ["CHECKS"]

_STATUSES: Final = ("success", "error", "partial", "failed")
_FAILURES: Final = ("error", "failed")
_ERROR_TYPES: Final = ("validation_error", "runtime_error", "timeout")
_MEASURED: Final = ("execution_time_ms", "tokens_used", "confidence", "model_used")
_GENERIC: Final = re.compile(
    r"(?:please )?(?:try again|retry|check (?:the |your )?(?:input|request|parameters)|fix (?:it|the request|the input)"
    r"|contact support|see (?:the )?(?:logs|documentation))(?: later| please)?[.!]?",
    re.IGNORECASE,
)


def _any(exchanges: Mapping[str, Exchange]) -> Iterable[str]:
    """Nothing: that there is an answer to each has been seen before a check is asked."""
    del exchanges
    return ()


# Envelopes.


def _json(exchange: Exchange) -> Iterator[str]:
    try:
        value = json.loads(exchange.text or "")
    except ParseError as error:
        yield f"{error.message} {error.hint}"
        return
    if not isinstance(value, dict):
        yield f"it is JSON, and no object: {shown(value)}"


def _status(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    if body.get("status") not in _STATUSES:
        yield f"`status` is {_said(body, 'status')}"


def _result(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    owed = body.get("status") not in _FAILURES
    if (owed or "result" in body) and not isinstance(body.get("result"), dict | list):
        yield f"`result` is {_said(body, 'result')}"


def _metadata(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    if not isinstance(body.get("metadata"), dict):
        yield f"`metadata` is {_said(body, 'metadata')}"


def _counted(name: str) -> ObjectLook:
    def look(body: JsonObject, exchange: Exchange) -> Iterator[str]:
        del exchange
        metadata = _metadata_of(body)
        if name in metadata and not _is_count(metadata[name]):
            yield f"`metadata.{name}` is {shown(metadata[name])}"

    return look


def _confidence(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    said = _metadata_of(body).get("confidence", 0)
    if not isinstance(said, int | float) or isinstance(said, bool) or not 0 <= said <= 1:
        yield f"`metadata.confidence` is {shown(said)}"


def _texts(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    said = {
        "metadata.model_used": _metadata_of(body).get("model_used", "x"),
        "reasoning_log": body.get("reasoning_log", "x"),
    }
    yield from (f"`{name}` is {shown(value)}" for name, value in said.items() if not _is_words(value))


def _measured(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    metadata = _metadata_of(body)
    yield from (f"`metadata.{name}` is missing" for name in _MEASURED if name not in metadata)


def _succeeds(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    if body.get("status") not in ("success", "partial"):
        told = _error_of(body).get("message")
        yield f"`status` is {_said(body, 'status')}" + (f": {shown(told)}" if told else "")


def _whole(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    yield from _status(body, exchange)
    yield from _result(body, exchange)
    yield from _metadata(body, exchange)


# Failures.


def _fails(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    if body.get("status") not in _FAILURES:
        yield f"`status` is {_said(body, 'status')}"


def _error_type(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    if body.get("status") in _FAILURES and _error_of(body).get("error_type") not in _ERROR_TYPES:
        yield f"`error_type` is {_said(_error_of(body), 'error_type')}"


def _error_says(name: str) -> ObjectLook:
    def look(body: JsonObject, exchange: Exchange) -> Iterator[str]:
        del exchange
        error = _error_of(body)
        if body.get("status") in _FAILURES and not _is_words(error.get(name)):
            yield f"`{name}` is {_said(error, name)}"

    return look


def _retry_count(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    error = _error_of(body)
    if body.get("status") in _FAILURES and not _is_count(error.get("retry_count")):
        yield f"`retry_count` is {_said(error, 'retry_count')}"


def _specific(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    hint = _error_of(body).get("correction_hint")
    if isinstance(hint, str) and _GENERIC.fullmatch(hint.strip()):
        yield f"`correction_hint` is {shown(hint)}"


def _names_the_fix(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    error = _error_of(body)
    if UNHEARD_OF not in f"{error.get('message')} {error.get('correction_hint')}":
        yield f"neither `message` nor `correction_hint` names `{UNHEARD_OF}`: {_said(error, 'correction_hint')}"


def _closed(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    yield from _fails(body, exchange)
    said = _error_of(body).get("error_type")
    if body.get("status") in _FAILURES and said != "validation_error":
        yield f"`error_type` is {shown(said)}"


def _escalates(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    if body.get("status") != "failed":
        yield f"`status` is {_said(body, 'status')}"


# Words.


def _not_ascii(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    words = exchange.probe.task.target or ""
    broken = (words.encode().decode("latin-1"), words.encode("ascii", "replace").decode(), "\ufffd")
    text = json.dumps(body)
    yield from (f"the answer holds {shown(wrong)}" for wrong in broken if wrong in text)
    yield from _status(body, exchange)


def _error_of(body: JsonObject) -> JsonObject:
    """The error object: beside the envelope's other keys, or inside; the spec shows the two apart."""
    for place in (body, body.get("error"), body.get("result")):
        if isinstance(place, dict) and "error_type" in place:
            return place
    return body


def _metadata_of(body: JsonObject) -> JsonObject:
    said = body.get("metadata")
    return said if isinstance(said, dict) else {}


def _said(body: JsonObject, name: str) -> str:
    return shown(body[name]) if name in body else "missing"


def _is_words(value: JsonValue) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_count(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


CHECKS: Final[Mapping[str, Check]] = {
    f"tool_use/{name}": check
    for name, check in {
        "answers": _any,
        "json": each(_json),
        "status": each_object(_status),
        "result": each_object(_result),
        "metadata": each_object(_metadata),
        "execution-time": each_object(_counted("execution_time_ms")),
        "tokens": each_object(_counted("tokens_used")),
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
        "not-ascii": each_object(_not_ascii),
        "steady": alike("status"),
        "unmixed": unmixed,
        "strict": accepted("tool_use"),
    }.items()
}
"""By the id of the requirement."""
