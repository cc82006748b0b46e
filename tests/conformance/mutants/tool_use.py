"""An agent of spec 000 that does everything right, and for each requirement one that breaks it.

A check is trusted once it has failed. Every agent here is a function from the text of a request to that of an answer.
"""

import json
from collections.abc import Mapping
from typing import Final, cast

from retinue.conformance.port import RequestTemplate
from tests.conformance.mutants.mutation import AgentFunction, Body, GoodAgent, alternating, mixing

TEMPLATE: Final = RequestTemplate(
    agent="researcher_analyst", parameters={"task": "Compare the two offers", "depth": "quick_scan"}
)
"""How the agents of this module are asked validly."""

_NAME: Final = "researcher_analyst"
_DEPTHS: Final = ("quick_scan", "deep_dive", "comprehensive")
_PARAMETERS: Final = ("task", "depth", "sources", "output_format")
_METADATA: Final = {"execution_time_ms": 12, "tokens_used": 0, "confidence": 0.9, "model_used": "none"}
_MOST: Final = 100_000


# The good one.


def _envelope(text: str) -> Body:
    message = _message(text[:_MOST])
    if message is None:
        return _error("That is no request.", "Send a hand-off, or a call with `name` and `input`.", {})
    if message.get("message_type") == "task_delegation":
        if message.get("target_agent") != _NAME:
            return _error("That is somebody else.", f"Ask for `{_NAME}`.", message)
        return _success(str(message["payload"]["instruction"]))
    if "input" in message:
        arguments: Body = message["input"]
        if message.get("name") != _NAME:
            return _error("That is somebody else.", f"Ask for `{_NAME}`.", message)
        for name in arguments:
            if name not in _PARAMETERS:
                return _error(f"There is no parameter {name!r}.", f"Leave it out; there is {_PARAMETERS}.", message)
        if arguments.get("depth") not in _DEPTHS:
            return _error("The depth is unknown.", f"`depth` takes one of {_DEPTHS}.", message)
        return _success(str(arguments.get("task")))
    return _error("That is neither a hand-off nor a call.", "Send `message_type` or `input`.", message)


def _message(text: str) -> Body | None:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("Body", value) if isinstance(value, dict) else None


def _success(task: str) -> Body:
    findings = [{"topic": task, "content": "The second offer is cheaper.", "source": "offers.csv", "confidence": 0.9}]
    result = {"findings": findings, "citations": ["offers.csv"]}
    return {"status": "success", "result": result, "metadata": dict(_METADATA)}


def _error(message: str, hint: str, request: Body) -> Body:
    correction: Body = request.get("correction") or {"retry_count": 0, "max_retries": 2}
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


GOOD: Final = GoodAgent(_envelope, kind=lambda envelope: envelope["status"])
"""An agent with nothing wrong."""


# The broken ones.


def _silent(text: str) -> str | None:
    return GOOD(text) if _message(text[:_MOST]) else None


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


def _deaf_to_corrections(text: str) -> str:
    return "I am sorry about that." if "correction" in text else GOOD(text)


MUTANTS: Final[Mapping[str, AgentFunction]] = {
    f"tool_use/{name}": speaks
    for name, speaks in {
        "answers": _silent,
        "json": GOOD.fenced,
        "status": GOOD.with_value("status", "ok"),
        "result": GOOD.with_value("result", "The second offer is cheaper.", when="success"),
        "metadata": GOOD.without("metadata", when="success"),
        "execution-time": GOOD.with_value("metadata/execution_time_ms", 12.5),
        "tokens": GOOD.with_value("metadata/tokens_used", "3200"),
        "confidence": GOOD.with_value("metadata/confidence", 95),
        "texts": GOOD.with_value("reasoning_log", ["First I looked."]),
        "measured": GOOD.with_value("metadata", {}),
        "succeeds": GOOD.with_change(lambda envelope: envelope.update(_error("No.", "Ask `x`.", {})), when="success"),
        "handed-on": _typed_only,
        "error-type": GOOD.with_value("error_type", "bad_parameter", when="error"),
        "error-message": GOOD.without("message", when="error"),
        "correction-hint": GOOD.with_value("correction_hint", "", when="error"),
        "retry-count": GOOD.with_value("retry_count", True, when="error"),
        "hint-is-specific": GOOD.with_value("correction_hint", "Please try again.", when="error"),
        "hint-names-the-fix": _short_of_words,
        "closed": _lenient,
        "invalid-input": _obliging,
        "prose": _obliging,
        "another-tool": _obliging,
        "escalates": GOOD.with_value("status", "error", when="failed"),
        "corrected": _deaf_to_corrections,
        "not-ascii": GOOD.garbled,
        "steady": alternating(GOOD, GOOD.with_value("status", "partial", when="success")),
        "unmixed": mixing(GOOD),
        "strict": GOOD.with_value("files_read", 3),
    }.items()
}
"""By the id of the requirement that each breaks."""
