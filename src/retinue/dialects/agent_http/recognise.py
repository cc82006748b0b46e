"""Whether a text looks like a message of this dialect. Judges marks only; reading it may still refuse it."""

from typing import Final

from retinue.contract.json import JsonObject
from retinue.dialects.decoding import find_json
from retinue.dialects.port import Detection

from .wire import STATES

_RECORD: Final = ("id", "response_message", "artifacts", "request_message", "history", "session_id", "created_at")


def recognise(text: str) -> tuple[Detection, ...]:
    """Say as what `text` could be read; anything in JSON could be the input or the output of a skill."""
    value = find_json(text)
    if not isinstance(value, dict):
        return ()
    certain = tuple(
        detection for detection in (_card(value), _record(value), _body(value), _error(value)) if detection is not None
    )
    possible = (
        Detection("agent_http", "result", "skill", "possible", "any JSON object may be the output of a skill"),
        Detection("agent_http", "task", "skill", "possible", "any JSON object may be the parameters of a skill"),
    )
    return certain or possible


def _card(value: JsonObject) -> Detection | None:
    several = value.get("agents")
    first = several[0] if isinstance(several, list) and several else value
    capabilities = first.get("capabilities") if isinstance(first, dict) else None
    if not isinstance(first, dict) or not isinstance(capabilities, list):
        return None
    routes = all(isinstance(each, dict) and "endpoint" in each for each in capabilities)
    is_certain = routes and (bool(capabilities) or "endpoints" in first)
    why = 'it has "capabilities" with an "endpoint" each' if is_certain else 'it has a list of "capabilities"'
    return Detection("agent_http", "definition", "agent.json", "certain" if is_certain else "likely", why)


def _record(value: JsonObject) -> Detection | None:
    status = value.get("status")
    if not isinstance(status, dict) or "state" not in status:
        return None
    is_certain = status["state"] in tuple(STATES) and any(name in value for name in _RECORD)
    why = 'it has a "status" with a "state"'
    return Detection("agent_http", "result", "task", "certain" if is_certain else "likely", why)


def _body(value: JsonObject) -> Detection | None:
    message = value.get("message", value.get("request_message"))
    if isinstance(message, dict) and isinstance(message.get("parts"), list):
        return Detection("agent_http", "task", "task", "certain", 'it has a "message" with "parts"')
    if isinstance(value.get("task"), str) and value.keys() <= {"task", "id", "session_id", "metadata"}:
        return Detection(
            "agent_http", "task", "task", "likely", 'it has a "task" and nothing that is not posted with one'
        )
    return None


def _error(value: JsonObject) -> Detection | None:
    error = value.get("error")
    if value.keys() == {"error"} and isinstance(error, dict) and "message" in error:
        return Detection("agent_http", "result", "skill", "likely", 'it is an "error" and nothing else')
    return None
