"""As what of `run_agent` a text could be read."""

from retinue.dialects.decoding import find_json, quote_keys
from retinue.dialects.port import Detection

from .wire import AgentOutputMinimal, Arguments


def recognise(text: str) -> tuple[Detection, ...]:
    """Say as what `text` could be read, the likeliest first; nothing when as nothing. Never raises."""
    value = find_json(text)
    if not isinstance(value, dict):
        return ()
    detections: list[Detection] = []
    if isinstance(value.get("content"), str):
        other = [key for key in AgentOutputMinimal.model_fields if key in value and key != "content"]
        if other:
            certainty = "certain" if "response_time_secs" in other else "likely"
            detections.append(
                Detection("run_agent", "result", "answer", certainty, f"it has {quote_keys(['content', *other])}")
            )
    if isinstance(value.get("prompt"), str):
        other = [key for key in Arguments.model_fields if key in value and key != "prompt"]
        alone = not other and len(value) > 1
        certainty = "certain" if {"chat_history", "memory"} & set(other) else "possible" if alone else "likely"
        detections.append(
            Detection("run_agent", "task", "arguments", certainty, f"it has {quote_keys(['prompt', *other])}")
        )
    return tuple(detections)
