"""An agent of spec 003 that does everything right, and for each requirement one that breaks it.

A check is trusted once it has failed. Every agent here is a function from the text of a request to that of an answer.
"""

import json
import re
from collections.abc import Mapping
from typing import Final

from retinue.conformance.port import RequestTemplate
from tests.conformance.mutants.mutation import AgentFunction, Body, GoodAgent, alternating, mixing

TEMPLATE: Final = RequestTemplate(
    agent="ticket_analyzer", skill="story_deep", target="STORY-0001.2.3", partial_target="STORY-0001.2.4"
)
"""How the agents of this module are asked validly."""

_OPERATIONS: Final = ("story-deep", "ticket-completeness", "hierarchy-gaps", "task-readiness")
_FIELD: Final = re.compile(r"^\*\*(Agent|Operation|Target):\*\*[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_MOST: Final = 100_000


# The good one.


def _envelope(text: str) -> Body:
    fields = dict(_FIELD.findall(text[:_MOST]))
    operation, target = fields.get("Operation", ""), fields.get("Target", "")
    if operation not in _OPERATIONS:
        return _error(operation, target, f"There is no operation {operation[:40]!r}.", "check the operation")
    if ".." in target.split("/") or not target:
        return _error(operation, target, f"The target {target[:40]!r} is outside the repository.", "check the target")
    return _partial(operation, target) if target.endswith("2.4") else _success(operation, target)


def _head(status: str) -> Body:
    return {"status": status, "agent": "ticket-analyzer", "version": "1.0"}


def _success(operation: str, target: str) -> Body:
    result: Body = {
        "target": target,
        "score": 85,
        "ready": True,
        "issues": [],
        "total_tasks": 4,
        "path": "docs/tickets/STORY-0001.2.3.md",
    }
    metadata = {"execution_time_ms": 12, "files_read": 5, "files_written": 0}
    return {**_head("success"), "operation": operation, "result": result, "metadata": metadata}


def _partial(operation: str, target: str) -> Body:
    warning = {
        "type": "missing_data",
        "message": "The story names four tasks, and their files are not there.",
        "impact": "It cannot be said whether the tasks are complete.",
        "recovery": "Create the four files TASK-0001.2.4.1.md to TASK-0001.2.4.4.md.",
    }
    metadata = {"execution_time_ms": 12, "files_read": 1, "completeness": 60}
    result: Body = {
        "target": target,
        "score": 85,
        "ready": False,
        "tasks": [],
        "total_tasks": 0,
        "path": "docs/tickets/x.md",
    }
    head = {**_head("partial"), "operation": operation}
    return {**head, "result": result, "warnings": [warning], "metadata": metadata}


def _error(operation: str, target: str, message: str, failed_at: str) -> Body:
    return {
        **_head("error"),
        "error_type": "invalid_input",
        "message": message,
        "context": {"operation": operation, "target": target, "failed_at": failed_at},
        "partial_results": {},
        "recovery_suggestions": [f"Use one of the operations {', '.join(_OPERATIONS)}."],
        "metadata": {"execution_time_ms": 1, "error_timestamp": "2025-10-08T15:30:00Z"},
    }


GOOD: Final = GoodAgent(_envelope, kind=lambda envelope: envelope["status"])
"""An agent with nothing wrong."""


# The broken ones.


def _silent(text: str) -> str | None:
    return GOOD(text) if "story-deep" in text else None


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
        envelope = _success("story-deep", "x")
        envelope["result"]["content"] = "root:x:0:0:root:/root:/bin/bash"
        return json.dumps(envelope)
    return GOOD(text)


def _picky(text: str) -> str:
    if "unheard" in text.lower():
        return json.dumps(_error("story-deep", "x", "The parameter is not known here.", "read the parameters"))
    return GOOD(text)


def _deaf_to_corrections(text: str) -> str:
    return GOOD(text) if text.startswith("**Agent:**") and "could not be read" not in text else "I am sorry about that."


MUTANTS: Final[Mapping[str, AgentFunction]] = {
    f"markdown_json/{name}": speaks
    for name, speaks in {
        "answers": _silent,
        "json": GOOD.fenced,
        "status": GOOD.with_value("status", "ok"),
        "agent": GOOD.with_value("agent", "somebody-else"),
        "version": GOOD.with_value("version", "latest"),
        "what": GOOD.without("operation", when="success"),
        "operation": GOOD.with_value("operation", "another", when="success"),
        "validator": GOOD.without("result", when="success"),
        "required": GOOD.with_value("result", None, when="success"),
        "execution-time": GOOD.with_value("metadata/execution_time_ms", True),
        "file-counts": GOOD.with_value("metadata/files_read", ["README.md"], when="success"),
        "success-test": GOOD.with_value("metadata", {}, when="success"),
        "error-test": GOOD.with_value("recovery_suggestions", [], when="error"),
        "partial-test": GOOD.without("warnings", when="partial"),
        "warning-types": GOOD.with_value("warnings/0/type", "hint", when="partial"),
        "warning-recovery": GOOD.without("warnings/0/recovery", when="partial"),
        "completeness": GOOD.without("metadata/completeness", when="partial"),
        "degrades": _hard_failing,
        "error-types": GOOD.with_value("error_type", "wrong_operation", when="error"),
        "error-kind": GOOD.with_value("error_type", "timeout", when="error"),
        "lists-operations": GOOD.with_value("recovery_suggestions", ["Ask for something else."], when="error"),
        "error-message": GOOD.with_value("message", "", when="error"),
        "error-context": GOOD.without("context/failed_at", when="error"),
        "error-timestamp": GOOD.with_value("metadata/error_timestamp", "08/10/2025 17:30", when="error"),
        "scores": GOOD.with_value("result/score", "85", when="success"),
        "arrays": GOOD.with_value("result/issues", None, when="success"),
        "booleans": GOOD.with_value("result/ready", "true", when="success"),
        "counts": GOOD.with_value("result/total_tasks", -1, when="success"),
        "paths": GOOD.with_value("result/path", "../elsewhere/STORY.md", when="success"),
        "messages": GOOD.with_value("message", "Something went wrong.", when="error"),
        "recovery": GOOD.with_value("recovery_suggestions", ["Try again."], when="error"),
        "impact": GOOD.with_value("warnings/0/impact", "", when="partial"),
        "invalid-input": _obliging,
        "hostile-input": _obliging,
        "outside-path": _trusting,
        "not-ascii": GOOD.garbled,
        "free-parameters": _picky,
        "steady": alternating(GOOD, GOOD.with_value("version", "1.1")),
        "unmixed": mixing(GOOD),
        "corrected": _deaf_to_corrections,
        "strict": GOOD.with_value("metadata/completeness", "most of it", when="partial"),
    }.items()
}
"""By the id of the requirement that each breaks."""
