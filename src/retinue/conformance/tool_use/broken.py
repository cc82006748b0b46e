"""An agent of spec 000 that does everything right, and for each requirement one that breaks it.

A check is trusted once it has failed. Every agent here is a function from the text of a request to that of an answer.
"""

import json
from collections.abc import Callable, Mapping
from threading import Barrier, BrokenBarrierError
from typing import Any, Final, TypeAlias, cast

from retinue.conformance.port import Asking

__all__ = ["ASKING", "BROKEN", "GOOD"]

_Speaks: TypeAlias = Callable[[str], str | None]
_Envelope: TypeAlias = dict[str, Any]

ASKING: Final = Asking(agent="researcher_analyst", parameters={"task": "Compare the two offers", "depth": "quick_scan"})
"""How the agents of this module are asked validly."""

_NAME: Final = "researcher_analyst"
_DEPTHS: Final = ("quick_scan", "deep_dive", "comprehensive")
_PARAMETERS: Final = ("task", "depth", "sources", "output_format")
_METADATA: Final = {"execution_time_ms": 12, "tokens_used": 0, "confidence": 0.9, "model_used": "none"}
_MOST: Final = 100_000


# The good one.


def GOOD(text: str) -> str:  # noqa: N802 - a constant of its kind, beside `BROKEN`
    """An agent with nothing wrong."""
    return json.dumps(_envelope(text), ensure_ascii=False)


def _envelope(text: str) -> _Envelope:
    message = _message(text[:_MOST])
    if message is None:
        return _error("That is no request.", "Send a hand-off, or a call with `name` and `input`.", {})
    if message.get("message_type") == "task_delegation":
        return _handed(message)
    if "input" in message:
        return _called(message)
    return _error("That is neither a hand-off nor a call.", "Send `message_type` or `input`.", message)


def _message(text: str) -> _Envelope | None:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("_Envelope", value) if isinstance(value, dict) else None


def _handed(message: _Envelope) -> _Envelope:
    if message.get("target_agent") != _NAME:
        return _error("That is somebody else.", f"Ask for `{_NAME}`.", message)
    return _success(str(message["payload"]["instruction"]))


def _called(message: _Envelope) -> _Envelope:
    said: _Envelope = message["input"]
    if message.get("name") != _NAME:
        return _error("That is somebody else.", f"Ask for `{_NAME}`.", message)
    for name in said:
        if name not in _PARAMETERS:
            return _error(f"There is no parameter {name!r}.", f"Leave it out; there is {_PARAMETERS}.", message)
    if said.get("depth") not in _DEPTHS:
        return _error("The depth is unknown.", f"`depth` takes one of {_DEPTHS}.", message)
    return _success(str(said.get("task")))


def _success(task: str) -> _Envelope:
    findings = [{"topic": task, "content": "The second offer is cheaper.", "source": "offers.csv", "confidence": 0.9}]
    result = {"findings": findings, "citations": ["offers.csv"]}
    return {"status": "success", "result": result, "metadata": dict(_METADATA)}


def _error(message: str, hint: str, request: _Envelope) -> _Envelope:
    correction: _Envelope = request.get("correction") or {"retry_count": 0, "max_retries": 2}
    last = correction["retry_count"] >= correction["max_retries"]
    return {
        "status": "failed" if last else "error",
        "metadata": {"execution_time_ms": 1},
        "error_type": "validation_error",
        "message": message,
        "correction_hint": hint,
        "retry_count": correction["retry_count"],
        "max_retries": correction["max_retries"],
    }


# The broken ones: the good one's envelope, changed.


def _changed(change: Callable[[_Envelope], object], *, when: str = "") -> _Speaks:
    """The good agent, with `change` made to every envelope, or to those with one status."""

    def speak(text: str) -> str:
        envelope = _envelope(text)
        if when in {"", envelope["status"]}:
            change(envelope)
        return json.dumps(envelope, ensure_ascii=False)

    return speak


def _with(path: str, value: object, *, when: str = "") -> _Speaks:
    """The good agent, with `value` at `path` (as `metadata/confidence`) of its envelopes."""
    *above, last = path.split("/")

    def change(envelope: _Envelope) -> None:
        place: Any = envelope
        for name in above:
            place = place[name]
        place[last] = value

    return _changed(change, when=when)


def _without(name: str, *, when: str) -> _Speaks:
    return _changed(lambda envelope: envelope.pop(name), when=when)


def _silent(text: str) -> str | None:
    return GOOD(text) if _message(text[:_MOST]) else None


def _fenced(text: str) -> str:
    return f"Here you are:\n```json\n{GOOD(text)}\n```\n"


def _obliging(text: str) -> str:
    """Answers whatever it is asked with a success."""
    del text
    return json.dumps(_success("anything"))


def _typed_only(text: str) -> str:
    """Knows calls only."""
    message = _message(text[:_MOST]) or {}
    return GOOD(text) if "input" in message else json.dumps(_error("No `input`.", "Send a call.", message))


def _lenient(text: str) -> str:
    """Takes parameters that its schema has not."""
    return json.dumps(_success("anything")) if "unheard_of" in text else GOOD(text)


def _short_of_words(text: str) -> str:
    hint = "One parameter is too many; leave it out."
    return json.dumps({**_envelope(text), "message": "A parameter is unknown.", "correction_hint": hint})


def _mangling(text: str) -> str:
    envelope = _envelope(text)
    for finding in envelope.get("result", {}).get("findings", []):
        finding["topic"] = finding["topic"].encode("ascii", "replace").decode()
    return json.dumps(envelope)


def _deaf_to_corrections(text: str) -> str:
    return "I am sorry about that." if "correction" in text else GOOD(text)


def _forgetful() -> _Speaks:
    """Finds less with every other request."""
    asked = 0

    def speak(text: str) -> str:
        nonlocal asked
        envelope = _envelope(text)
        asked += envelope["status"] == "success"
        status = "partial" if envelope["status"] == "success" and asked % 2 else envelope["status"]
        return json.dumps({**envelope, "status": status}, ensure_ascii=False)

    return speak


def _mixing() -> _Speaks:
    """Keeps what it was asked in one place for all requests."""
    asked = ""
    together = Barrier(3)

    def speak(text: str) -> str:
        nonlocal asked
        if "MARK-TOGETHER" not in text:
            return GOOD(text)
        asked = text
        try:
            together.wait(timeout=5)
        except BrokenBarrierError:
            return GOOD(text)
        return GOOD(asked)

    return speak


BROKEN: Final[Mapping[str, _Speaks]] = {
    f"tool_use/{name}": speaks
    for name, speaks in {
        "answers": _silent,
        "json": _fenced,
        "status": _with("status", "ok"),
        "result": _with("result", "The second offer is cheaper.", when="success"),
        "metadata": _without("metadata", when="success"),
        "execution-time": _with("metadata/execution_time_ms", 12.5),
        "tokens": _with("metadata/tokens_used", "3200"),
        "confidence": _with("metadata/confidence", 95),
        "texts": _with("reasoning_log", ["First I looked."]),
        "measured": _with("metadata", {}),
        "succeeds": _changed(lambda envelope: envelope.update(_error("No.", "Ask `x`.", {})), when="success"),
        "handed-on": _typed_only,
        "error-type": _with("error_type", "bad_parameter", when="error"),
        "error-message": _without("message", when="error"),
        "correction-hint": _with("correction_hint", "", when="error"),
        "retry-count": _with("retry_count", True, when="error"),
        "hint-is-specific": _with("correction_hint", "Please try again.", when="error"),
        "hint-names-the-fix": _short_of_words,
        "closed": _lenient,
        "invalid-input": _obliging,
        "prose": _obliging,
        "another-tool": _obliging,
        "escalates": _with("status", "error", when="failed"),
        "corrected": _deaf_to_corrections,
        "not-ascii": _mangling,
        "steady": _forgetful(),
        "unmixed": _mixing(),
        "strict": _with("files_read", 3),
    }.items()
}
"""By the id of the requirement that each breaks."""
