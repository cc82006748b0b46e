"""As what of `run_agent` a text could be read."""

from retinue.dialects.port import Sign
from retinue.dialects.recognising import json_in, named

from .wire import AgentOutputMinimal, Arguments

__all__ = ["recognise"]


def recognise(text: str) -> tuple[Sign, ...]:
    """Say as what `text` could be read, the likeliest first; nothing when as nothing. Never raises."""
    value = json_in(text)
    if not isinstance(value, dict):
        return ()
    signs: list[Sign] = []
    if isinstance(value.get("content"), str):
        other = [key for key in AgentOutputMinimal.model_fields if key in value and key != "content"]
        if other:
            certainty = "certain" if "response_time_secs" in other else "likely"
            signs.append(Sign("run_agent", "result", "answer", certainty, f"it has {named(['content', *other])}"))
    if isinstance(value.get("prompt"), str):
        other = [key for key in Arguments.model_fields if key in value and key != "prompt"]
        alone = not other and len(value) > 1
        certainty = "certain" if {"chat_history", "memory"} & set(other) else "possible" if alone else "likely"
        signs.append(Sign("run_agent", "task", "arguments", certainty, f"it has {named(['prompt', *other])}"))
    return tuple(signs)
