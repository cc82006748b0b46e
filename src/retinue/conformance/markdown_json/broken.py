"""An agent of spec 003 that does everything right, and for each requirement one that breaks it.

A check is trusted once it has failed. Every agent here is a function from the text of a request to that of an answer.
"""

import json
import re
from collections.abc import Callable, Mapping
from threading import Barrier, BrokenBarrierError
from typing import Any, Final, TypeAlias

from retinue.conformance.port import Asking

__all__ = ["ASKING", "BROKEN", "GOOD"]

_Speaks: TypeAlias = Callable[[str], str | None]
_Envelope: TypeAlias = dict[str, Any]

ASKING: Final = Asking(
    agent="ticket_analyzer", skill="story_deep", target="STORY-0001.2.3", partial_target="STORY-0001.2.4"
)
"""How the agents of this module are asked validly."""

_OPERATIONS: Final = ("story-deep", "ticket-completeness", "hierarchy-gaps", "task-readiness")
_FIELD: Final = re.compile(r"^\*\*(Agent|Operation|Target):\*\*[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_MOST: Final = 100_000


# The good one.


def GOOD(text: str) -> str:  # noqa: N802 - a constant of its kind, beside `BROKEN`
    """An agent with nothing wrong."""
    return json.dumps(_envelope(text), ensure_ascii=False)


def _envelope(text: str) -> _Envelope:
    asked = dict(_FIELD.findall(text[:_MOST]))
    operation, target = asked.get("Operation", ""), asked.get("Target", "")
    if operation not in _OPERATIONS:
        return _error(operation, target, f"There is no operation {operation[:40]!r}.", "check the operation")
    if ".." in target.split("/") or not target:
        return _error(operation, target, f"The target {target[:40]!r} is outside the repository.", "check the target")
    return _partial(operation, target) if target.endswith("2.4") else _success(operation, target)


def _head(status: str) -> _Envelope:
    return {"status": status, "agent": "ticket-analyzer", "version": "1.0"}


def _success(operation: str, target: str) -> _Envelope:
    result: _Envelope = {
        "target": target,
        "score": 85,
        "ready": True,
        "issues": [],
        "total_tasks": 4,
        "path": "docs/tickets/STORY-0001.2.3.md",
    }
    metadata = {"execution_time_ms": 12, "files_read": 5, "files_written": 0}
    return {**_head("success"), "operation": operation, "result": result, "metadata": metadata}


def _partial(operation: str, target: str) -> _Envelope:
    warning = {
        "type": "missing_data",
        "message": "The story names four tasks, and their files are not there.",
        "impact": "It cannot be said whether the tasks are complete.",
        "recovery": "Create the four files TASK-0001.2.4.1.md to TASK-0001.2.4.4.md.",
    }
    metadata = {"execution_time_ms": 12, "files_read": 1, "completeness": 60}
    result: _Envelope = {
        "target": target,
        "score": 85,
        "ready": False,
        "tasks": [],
        "total_tasks": 0,
        "path": "docs/tickets/x.md",
    }
    head = {**_head("partial"), "operation": operation}
    return {**head, "result": result, "warnings": [warning], "metadata": metadata}


def _error(operation: str, target: str, message: str, failed_at: str) -> _Envelope:
    return {
        **_head("error"),
        "error_type": "invalid_input",
        "message": message,
        "context": {"operation": operation, "target": target, "failed_at": failed_at},
        "partial_results": {},
        "recovery_suggestions": [f"Use one of the operations {', '.join(_OPERATIONS)}."],
        "metadata": {"execution_time_ms": 1, "error_timestamp": "2025-10-08T15:30:00Z"},
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
    """The good agent, with `value` at `path` (as `metadata/completeness`) of its envelopes."""
    *above, last = path.split("/")

    def change(envelope: _Envelope) -> None:
        place: Any = envelope
        for name in above:
            place = place[int(name) if name.isdigit() else name]
        place[last] = value

    return _changed(change, when=when)


def _without(name: str, *, when: str = "", inside: str = "") -> _Speaks:
    def change(envelope: _Envelope) -> None:
        place: Any = envelope[inside] if inside else envelope
        del (place[0] if inside == "warnings" else place)[name]

    return _changed(change, when=when)


def _silent(text: str) -> str | None:
    return GOOD(text) if "story-deep" in text else None


def _fenced(text: str) -> str:
    return f"Here is the analysis:\n```json\n{GOOD(text)}\n```\n"


def _hard_failing(text: str) -> str:
    if "STORY-0001.2.4" in text:
        return json.dumps(_error("story-deep", "STORY-0001.2.4", "The task files are not there.", "read the tasks"))
    return GOOD(text)


def _obliging(text: str) -> str:
    """Answers whatever it is asked with a success."""
    del text
    return json.dumps(_success("story-deep", "nothing"))


def _trusting(text: str) -> str:
    if "etc/passwd" in text:
        return json.dumps(_with_result(_success("story-deep", "x"), content="root:x:0:0:root:/root:/bin/bash"))
    return GOOD(text)


def _with_result(envelope: _Envelope, **more: object) -> _Envelope:
    return {**envelope, "result": {**envelope["result"], **more}}


def _mangling(text: str) -> str:
    return GOOD(text.encode().decode("latin-1"))


def _picky(text: str) -> str:
    if "unheard" in text.lower():
        return json.dumps(_error("story-deep", "x", "The parameter is not known here.", "read the parameters"))
    return GOOD(text)


def _deaf_to_corrections(text: str) -> str:
    return GOOD(text) if text.startswith("**Agent:**") and "could not be read" not in text else "I am sorry about that."


def _forgetful() -> _Speaks:
    """Answers every other request with another version."""
    asked = 0

    def speak(text: str) -> str:
        nonlocal asked
        asked += 1
        return json.dumps({**_envelope(text), "version": f"1.{asked % 2}"}, ensure_ascii=False)

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
    f"markdown_json/{name}": speaks
    for name, speaks in {
        "answers": _silent,
        "json": _fenced,
        "status": _with("status", "ok"),
        "agent": _with("agent", "somebody-else"),
        "version": _with("version", "latest"),
        "what": _without("operation", when="success"),
        "operation": _with("operation", "another", when="success"),
        "validator": _without("result", when="success"),
        "required": _with("result", None, when="success"),
        "execution-time": _with("metadata/execution_time_ms", True),
        "file-counts": _with("metadata/files_read", ["README.md"], when="success"),
        "success-test": _with("metadata", {}, when="success"),
        "error-test": _with("recovery_suggestions", [], when="error"),
        "partial-test": _without("warnings", when="partial"),
        "warning-types": _with("warnings/0/type", "hint", when="partial"),
        "warning-recovery": _without("recovery", inside="warnings", when="partial"),
        "completeness": _without("completeness", inside="metadata", when="partial"),
        "degrades": _hard_failing,
        "error-types": _with("error_type", "wrong_operation", when="error"),
        "error-kind": _with("error_type", "timeout", when="error"),
        "lists-operations": _with("recovery_suggestions", ["Ask for something else."], when="error"),
        "error-message": _with("message", "", when="error"),
        "error-context": _without("failed_at", inside="context", when="error"),
        "error-timestamp": _with("metadata/error_timestamp", "08/10/2025 17:30", when="error"),
        "scores": _with("result/score", "85", when="success"),
        "arrays": _with("result/issues", None, when="success"),
        "booleans": _with("result/ready", "true", when="success"),
        "counts": _with("result/total_tasks", -1, when="success"),
        "paths": _with("result/path", "../elsewhere/STORY.md", when="success"),
        "messages": _with("message", "Something went wrong.", when="error"),
        "recovery": _with("recovery_suggestions", ["Try again."], when="error"),
        "impact": _with("warnings/0/impact", "", when="partial"),
        "invalid-input": _obliging,
        "hostile-input": _obliging,
        "outside-path": _trusting,
        "not-ascii": _mangling,
        "free-parameters": _picky,
        "steady": _forgetful(),
        "unmixed": _mixing(),
        "corrected": _deaf_to_corrections,
        "strict": _with("metadata/completeness", "most of it", when="partial"),
    }.items()
}
"""By the id of the requirement that each breaks."""
