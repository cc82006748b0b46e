"""As what of `run_agent` a text could be read."""

from retinue.contract import json
from retinue.contract.json import JsonValue
from retinue.dialects.port import Sign
from retinue.errors import ParseError

from .wire import AgentOutputMinimal, Arguments

__all__ = ["recognise"]


def recognise(text: str) -> tuple[Sign, ...]:
    """Say as what `text` could be read, the likeliest first; nothing when as nothing. Never raises."""
    value = _value(text)
    if not isinstance(value, dict):
        return ()
    signs: list[Sign] = []
    if isinstance(value.get("content"), str):
        other = [key for key in AgentOutputMinimal.model_fields if key in value and key != "content"]
        if other:
            certainty = "certain" if "response_time_secs" in other else "likely"
            signs.append(Sign("run_agent", "result", "answer", certainty, _has(["content", *other])))
    if isinstance(value.get("prompt"), str):
        other = [key for key in Arguments.model_fields if key in value and key != "prompt"]
        alone = not other and len(value) > 1
        certainty = "certain" if {"chat_history", "memory"} & set(other) else "possible" if alone else "likely"
        signs.append(Sign("run_agent", "task", "arguments", certainty, _has(["prompt", *other])))
    return tuple(signs)


def _value(text: str) -> JsonValue:
    try:
        return json.loads(text)
    except ParseError:
        pass
    try:
        return json.repair(text)[0]
    except ParseError:
        return None


def _has(keys: list[str]) -> str:
    named = [f'"{key}"' for key in keys]
    return f"it has {' and '.join(filter(None, (', '.join(named[:-1]), named[-1])))}"
