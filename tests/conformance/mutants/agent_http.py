"""An agent of spec 004 that does everything right, and for each requirement one that breaks it.

A check is trusted once it has failed. Every agent here is a function from what was posted to what is answered.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from retinue.conformance.port import RequestTemplate
from tests.conformance.mutants.mutation import AgentFunction, Body, GoodAgent, alternating, mixing

TEMPLATE: Final = RequestTemplate(
    agent="metrics",
    skill="year_to_end_sales",
    instruction="How did sales do this year?",
    parameters={"year": 2025},
)
"""How the agents of this module are asked validly."""

_TIMESTAMP: Final = "2025-10-08T15:30:00Z"


# The good one.


def _answer(text: str) -> Body:
    try:
        request: Any = json.loads(text)
        task, parts = str(request.get("id", "")), request["message"]["parts"]
        words = " ".join(part["text"] for part in parts if part["type"] == "text")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        hint = "Post a `message` with `role` and `parts`."
        return {"error": {"code": "invalid_input", "message": "The body holds no message.", "hint": hint}}
    parts = [{"type": "text", "text": f"On {words!r}: they rose."}, {"type": "data", "data": {"sales": 125_000}}]
    return {
        "id": task,
        "status": {"state": "completed", "timestamp": _TIMESTAMP},
        "response_message": {"role": "agent", "parts": parts},
        "artifacts": [],
        "created_at": _TIMESTAMP,
    }


GOOD: Final = GoodAgent(_answer, kind=lambda body: "error" if "error" in body else "record")
"""An agent with nothing wrong."""


# The broken ones.


def _silent(text: str) -> str | None:
    return GOOD(text) if text.startswith("{") else None


def _chatty(text: str) -> str:
    return f"Sure! Here it is:\n{GOOD(text)}"


def _wordless(text: str) -> str:
    """Answers words alone with a record that says nothing."""
    body = _answer(text)
    if "error" not in body and '"question"' in text:
        del body["response_message"]
    return json.dumps(body)


def _obliging(text: str) -> str:
    body = _answer(text)
    return json.dumps({"answer": "That looks fine."} if "error" in body else body)


def _failing(body: Body) -> Body:
    error = {"code": "invalid_input", "message": "The parameter is not known here.", "hint": "Leave it out."}
    return {"id": body["id"], "status": {"state": "failed", "message": error["message"]}, "metadata": {"error": error}}


def _picky(text: str) -> str:
    return json.dumps(_failing(_answer(text))) if "unheard_of" in text else GOOD(text)


def _unwilling(text: str) -> str:
    body = _answer(text)
    return json.dumps(body if "error" in body else _failing(body), ensure_ascii=False)


def _deaf_to_corrections(text: str) -> str:
    return json.dumps({"text": "I am sorry about that."}) if "could not be read" in text else GOOD(text)


MUTANTS: Final[Mapping[str, AgentFunction]] = {
    f"agent_http/{name}": speaks
    for name, speaks in {
        "answers": _silent,
        "json": _chatty,
        "record": GOOD.with_value("status", "completed", when="record"),
        "state": GOOD.with_value("status/state", "COMPLETE", when="record"),
        "id": GOOD.with_value("id", "another", when="record"),
        "any-task": _unwilling,
        "any-question": _wordless,
        "response": GOOD.with_value("response_message", {"role": "agent", "parts": []}, when="record"),
        "parts": GOOD.with_value("response_message/parts/0", {"text": "They rose."}, when="record"),
        "role": GOOD.with_value("response_message/role", "user", when="record"),
        "artifacts": GOOD.with_value("artifacts", None, when="record"),
        "timestamps": GOOD.with_value("created_at", "08/10/2025 17:30", when="record"),
        "no-nulls": GOOD.with_value("updated_at", None, when="record"),
        "refuses": _obliging,
        "error-message": GOOD.with_value("error/message", "", when="error"),
        "error-code": GOOD.with_value("error/code", "internal_error", when="error"),
        "error-hint": GOOD.without("error/hint", when="error"),
        "not-ascii": GOOD.garbled,
        "free-parameters": _picky,
        "steady": alternating(GOOD.with_value("status/state", "working", when="record"), GOOD),
        "unmixed": mixing(GOOD),
        "corrected": _deaf_to_corrections,
        "strict": GOOD.with_value("response", "They rose.", when="record"),
    }.items()
}
"""By the id of the requirement that each breaks."""
