"""Agents behind the `/tasks` of spec 004 as strangers write them, each right in its own style; none knows this project."""

import json
from datetime import UTC, datetime
from itertools import count
from typing import Any

__all__ = ["framed", "partial", "terse"]


# One without a record: the answer alone, and the shortest error there is.


def terse(text: str) -> str:
    """Answers the words and nothing else."""
    try:
        words = json.loads(text)["message"]["parts"][0]["text"]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        return '{"error": "The body holds no message with a text."}'
    return json.dumps({"answer": f"{words} Yes."})


# One behind a web framework, with ids of its own and much that nobody asked for.

_NUMBERS = count(1)


def framed(text: str) -> str:
    """Answers as a service whose framework has looked at the body first."""
    try:
        posted: Any = json.loads(text)
    except (ValueError, RecursionError):
        return json.dumps({"detail": [{"type": "json_invalid", "loc": ["body", 0], "msg": "JSON decode error"}]})
    try:
        message: Any = posted["message"]
        said = " ".join(str(part["text"]) for part in message["parts"] if part["type"] == "text")
    except (KeyError, TypeError):
        return json.dumps({"detail": [{"type": "missing", "loc": ["body", "message", "parts"], "msg": "Required"}]})
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    record: dict[str, Any] = {
        "id": f"task-{next(_NUMBERS):06}",
        "kind": "task",
        "status": {"state": "completed", "timestamp": now, "progress": 1.0},
        "request_message": message,
        "response_message": {"role": "agent", "parts": [{"type": "text", "text": said}], "messageId": "m-1"},
        "history": [],
        "artifacts": [{"name": "figures", "parts": [{"type": "data", "data": {"sales": [1, 2, 3]}}]}],
        "created_at": now,
        "updated_at": now,
        "metadata": {"trace": {"span": 7}},
    }
    return json.dumps(record)


# One that never has all of it, and says so.


def partial(text: str) -> str:
    """Has the figures of eleven months, whatever is asked."""
    try:
        posted = json.loads(text)
        name, parts = posted["id"], posted["message"]["parts"]
        words = [part["text"] for part in parts if part["type"] == "text"]
    except (ValueError, KeyError, TypeError, RecursionError):
        hint = "Post an `id` and a `message` with `parts`."
        return json.dumps({"error": {"code": "invalid_input", "message": "That is not a task.", "hint": hint}})
    told = f"On {words[0]!r}: the figures of December are missing, so the year is not whole."
    return json.dumps(
        {
            "id": name,
            "status": {"state": "completed", "message": "December is missing."},
            "response_message": {
                "role": "agent",
                "parts": [{"type": "text", "text": told}, {"type": "data", "data": {"months": 11}}],
            },
            "metadata": {"outcome": "partial", "warnings": ["December is missing."]},
        },
        ensure_ascii=False,
    )
