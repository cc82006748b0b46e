"""As what of `tool_use` a text could be read."""

from typing import Final

from retinue.contract.json import JsonObject
from retinue.dialects.decoding import find_json, quote_keys
from retinue.dialects.port import Certainty, Detection, Kind

from .wire import ERROR_TYPES, OUTCOMES, EnvelopeMetadata

_TOOL: Final = ("name", "description", "input_schema")


def recognise(text: str) -> tuple[Detection, ...]:
    """Say as what `text` could be read, the likeliest first; nothing when as nothing. Never raises."""
    value = find_json(text)
    if isinstance(value, list):
        tools = [item for item in value if isinstance(item, dict) and _is_tool(item)]
        whole = bool(tools) and len(tools) == len(value)
        return (_detection("definition", "tools", "certain", "each item has", *_TOOL),) if whole else ()
    return tuple(_detections(value)) if isinstance(value, dict) else ()


def _detections(value: JsonObject) -> list[Detection]:
    detections: list[Detection] = []
    if _is_tool(value):
        detections.append(_detection("definition", "tools", "certain", "it has", *_TOOL))
    if value.get("message_type") == "task_delegation":
        detections.append(_detection("task", "handoff", "certain", 'its "message_type" is', "task_delegation"))
    elif "target_agent" in value and isinstance(value.get("payload"), dict):
        detections.append(_detection("task", "handoff", "likely", "it has", "target_agent", "payload"))
    if isinstance(value.get("name"), str) and isinstance(value.get("input"), dict):
        has_type = value.get("type") == "tool_use"
        detections.append(_detection("task", "call", "certain" if has_type else "likely", "it has", "name", "input"))
    if "correction_hint" in value and "error_type" in value and "status" not in value:
        is_ours = value["error_type"] in ERROR_TYPES.values()
        certainty: Certainty = "certain" if is_ours else "likely"
        detections.append(_detection("correction", "correction", certainty, "it has", "error_type", "correction_hint"))
    if "status" in value:
        detections += _envelope_detections(value)
    return detections


def _envelope_detections(value: JsonObject) -> list[Detection]:
    """An envelope shares its status with other formats; its own keys tell it from them."""
    if {"agent", "operation", "response_message", "artifacts"} & value.keys() or value["status"] not in tuple(OUTCOMES):
        return []
    metadata = value.get("metadata")
    own = [key for key in ("correction_hint", "reasoning_log") if key in value]
    if isinstance(metadata, dict):
        own += [key for key in EnvelopeMetadata.model_fields if key in metadata and key != "execution_time_ms"]
    if own:
        return [_detection("result", "envelope", "certain", "it has", "status", *own)]
    if "result" in value or "error_type" in value:
        return [_detection("result", "envelope", "likely" if "metadata" in value else "possible", "it has", "status")]
    return []


def _is_tool(value: JsonObject) -> bool:
    return isinstance(value.get("name"), str) and isinstance(value.get("input_schema"), dict)


def _detection(kind: Kind, form: str, certainty: Certainty, how: str, *words: str) -> Detection:
    return Detection("tool_use", kind, form, certainty, f"{how} {quote_keys(words)}")
