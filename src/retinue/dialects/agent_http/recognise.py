"""Whether a text looks like a message of this dialect. Judges marks only; reading it may still refuse it."""

from typing import Final

from retinue.contract.json import JsonObject
from retinue.dialects.port import Sign
from retinue.dialects.recognising import json_in

from .wire import STATES

__all__ = ["recognise"]

_RECORD: Final = ("id", "response_message", "artifacts", "request_message", "history", "session_id", "created_at")


def recognise(text: str) -> tuple[Sign, ...]:
    """Say as what `text` could be read; anything in JSON could be the input or the output of a skill."""
    value = json_in(text)
    if not isinstance(value, dict):
        return ()
    certain = tuple(sign for sign in (_card(value), _record(value), _body(value), _error(value)) if sign is not None)
    possible = (
        Sign("agent_http", "result", "skill", "possible", "any JSON object may be the output of a skill"),
        Sign("agent_http", "task", "skill", "possible", "any JSON object may be the parameters of a skill"),
    )
    return certain or possible


def _card(value: JsonObject) -> Sign | None:
    several = value.get("agents")
    first = several[0] if isinstance(several, list) and several else value
    capabilities = first.get("capabilities") if isinstance(first, dict) else None
    if not isinstance(first, dict) or not isinstance(capabilities, list):
        return None
    routes = all(isinstance(each, dict) and "endpoint" in each for each in capabilities)
    sure = routes and (bool(capabilities) or "endpoints" in first)
    why = 'it has "capabilities" with an "endpoint" each' if sure else 'it has a list of "capabilities"'
    return Sign("agent_http", "definition", "agent.json", "certain" if sure else "likely", why)


def _record(value: JsonObject) -> Sign | None:
    status = value.get("status")
    if not isinstance(status, dict) or "state" not in status:
        return None
    sure = status["state"] in tuple(STATES) and any(name in value for name in _RECORD)
    why = 'it has a "status" with a "state"'
    return Sign("agent_http", "result", "task", "certain" if sure else "likely", why)


def _body(value: JsonObject) -> Sign | None:
    message = value.get("message", value.get("request_message"))
    if isinstance(message, dict) and isinstance(message.get("parts"), list):
        return Sign("agent_http", "task", "task", "certain", 'it has a "message" with "parts"')
    if isinstance(value.get("task"), str) and value.keys() <= {"task", "id", "session_id", "metadata"}:
        return Sign("agent_http", "task", "task", "likely", 'it has a "task" and nothing that is not posted with one')
    return None


def _error(value: JsonObject) -> Sign | None:
    error = value.get("error")
    if value.keys() == {"error"} and isinstance(error, dict) and "message" in error:
        return Sign("agent_http", "result", "skill", "likely", 'it is an "error" and nothing else')
    return None
