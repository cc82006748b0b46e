"""An agent of spec 004 that does everything right, and for each requirement one that breaks it.

A check is trusted once it has failed. Every agent here is a function from what was posted to what is answered.
"""

import json
from collections.abc import Callable, Mapping
from threading import Barrier, BrokenBarrierError
from typing import Any, Final, TypeAlias, cast

from retinue.conformance.port import Asking

__all__ = ["ASKING", "BROKEN", "GOOD"]

_Speaks: TypeAlias = Callable[[str], str | None]
_Body: TypeAlias = dict[str, Any]

ASKING: Final = Asking(
    agent="metrics",
    skill="year_to_end_sales",
    instruction="How did sales do this year?",
    parameters={"year": 2025},
)
"""How the agents of this module are asked validly."""

_MOMENT: Final = "2025-10-08T15:30:00Z"


# The good one.


def GOOD(text: str) -> str:  # noqa: N802 - a constant of its kind, beside `BROKEN`
    """An agent with nothing wrong."""
    return json.dumps(_answer(text), ensure_ascii=False)


def _answer(text: str) -> _Body:
    try:
        said: Any = json.loads(text)
        task, parts = str(said.get("id", "")), said["message"]["parts"]
        words = " ".join(part["text"] for part in parts if part["type"] == "text")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        hint = "Post a `message` with `role` and `parts`."
        return {"error": {"code": "invalid_input", "message": "The body holds no message.", "hint": hint}}
    parts = [{"type": "text", "text": f"On {words!r}: they rose."}, {"type": "data", "data": {"sales": 125_000}}]
    return {
        "id": task,
        "status": {"state": "completed", "timestamp": _MOMENT},
        "response_message": {"role": "agent", "parts": parts},
        "artifacts": [],
        "created_at": _MOMENT,
    }


# The broken ones: the good one's answer, changed.


def _changed(change: Callable[[_Body], object], *, errors: bool = False) -> _Speaks:
    """The good agent, with `change` made to its records, or to its errors."""

    def speak(text: str) -> str:
        body = _answer(text)
        if ("error" in body) is errors:
            change(body)
        return json.dumps(body, ensure_ascii=False)

    return speak


def _with(path: str, value: object, *, errors: bool = False) -> _Speaks:
    """The good agent, with `value` at `path` (as `status/state`) of its answers."""
    *above, last = path.split("/")

    def change(body: _Body) -> None:
        place: Any = body
        for name in above:
            place = place[int(name) if name.isdigit() else name]
        place[last] = value

    return _changed(change, errors=errors)


def _without(name: str, *, inside: str = "", errors: bool = False) -> _Speaks:
    def change(body: _Body) -> None:
        del (body[inside] if inside else body)[name]

    return _changed(change, errors=errors)


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


def _mangling(text: str) -> str:
    return GOOD(text).encode().decode("latin-1") if text.isascii() else json.dumps(_mangled(_answer(text)))


def _mangled(body: _Body) -> _Body:
    said = json.dumps(body, ensure_ascii=False).encode().decode("latin-1")
    return cast("_Body", json.loads(said))


def _failing(body: _Body) -> _Body:
    error = {"code": "invalid_input", "message": "The parameter is not known here.", "hint": "Leave it out."}
    return {"id": body["id"], "status": {"state": "failed", "message": error["message"]}, "metadata": {"error": error}}


def _picky(text: str) -> str:
    return json.dumps(_failing(_answer(text))) if "unheard_of" in text else GOOD(text)


def _unwilling(text: str) -> str:
    body = _answer(text)
    return json.dumps(body if "error" in body else _failing(body), ensure_ascii=False)


def _deaf_to_corrections(text: str) -> str:
    return json.dumps({"text": "I am sorry about that."}) if "could not be read" in text else GOOD(text)


def _moody() -> _Speaks:
    """Does not finish every other task."""
    asked = 0

    def speak(text: str) -> str:
        nonlocal asked
        asked += 1
        body = _answer(text)
        if "error" not in body and asked % 2:
            body["status"]["state"] = "working"
        return json.dumps(body, ensure_ascii=False)

    return speak


def _mixing() -> _Speaks:
    """Keeps what it was asked in one place for all tasks."""
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
    f"agent_http/{name}": speaks
    for name, speaks in {
        "answers": _silent,
        "json": _chatty,
        "record": _with("status", "completed"),
        "state": _with("status/state", "COMPLETE"),
        "id": _with("id", "another"),
        "any-task": _unwilling,
        "any-question": _wordless,
        "response": _with("response_message", {"role": "agent", "parts": []}),
        "parts": _with("response_message/parts/0", {"text": "They rose."}),
        "role": _with("response_message/role", "user"),
        "artifacts": _with("artifacts", None),
        "timestamps": _with("created_at", "08/10/2025 17:30"),
        "no-nulls": _with("updated_at", None),
        "refuses": _obliging,
        "error-message": _with("error/message", "", errors=True),
        "error-code": _with("error/code", "internal_error", errors=True),
        "error-hint": _without("hint", inside="error", errors=True),
        "not-ascii": _mangling,
        "free-parameters": _picky,
        "steady": _moody(),
        "unmixed": _mixing(),
        "corrected": _deaf_to_corrections,
        "strict": _with("response", "They rose."),
    }.items()
}
"""By the id of the requirement that each breaks."""
