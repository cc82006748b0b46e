"""As what of `tool_use` a text could be read."""

from typing import Final

from retinue.contract.json import JsonObject
from retinue.dialects.port import Certainty, Kind, Sign
from retinue.dialects.recognising import json_in, named

from .wire import ERROR_TYPES, OUTCOMES, Metadata

__all__ = ["recognise"]

_TOOL: Final = ("name", "description", "input_schema")


def recognise(text: str) -> tuple[Sign, ...]:
    """Say as what `text` could be read, the likeliest first; nothing when as nothing. Never raises."""
    value = json_in(text)
    if isinstance(value, list):
        tools = [item for item in value if isinstance(item, dict) and _is_tool(item)]
        whole = bool(tools) and len(tools) == len(value)
        return (_sign("definition", "tools", "certain", "each item has", *_TOOL),) if whole else ()
    return tuple(_signs(value)) if isinstance(value, dict) else ()


def _signs(value: JsonObject) -> list[Sign]:
    signs: list[Sign] = []
    if _is_tool(value):
        signs.append(_sign("definition", "tools", "certain", "it has", *_TOOL))
    if value.get("message_type") == "task_delegation":
        signs.append(_sign("task", "handoff", "certain", 'its "message_type" is', "task_delegation"))
    elif "target_agent" in value and isinstance(value.get("payload"), dict):
        signs.append(_sign("task", "handoff", "likely", "it has", "target_agent", "payload"))
    if isinstance(value.get("name"), str) and isinstance(value.get("input"), dict):
        typed = value.get("type") == "tool_use"
        signs.append(_sign("task", "call", "certain" if typed else "likely", "it has", "name", "input"))
    if "correction_hint" in value and "error_type" in value and "status" not in value:
        known = value["error_type"] in ERROR_TYPES.values()
        certainty: Certainty = "certain" if known else "likely"
        signs.append(_sign("correction", "correction", certainty, "it has", "error_type", "correction_hint"))
    if "status" in value:
        signs += _envelope_signs(value)
    return signs


def _envelope_signs(value: JsonObject) -> list[Sign]:
    """An envelope shares its status with other formats; its own keys tell it from them."""
    if {"agent", "operation", "response_message", "artifacts"} & value.keys() or value["status"] not in tuple(OUTCOMES):
        return []
    metadata = value.get("metadata")
    own = [key for key in ("correction_hint", "reasoning_log") if key in value]
    if isinstance(metadata, dict):
        own += [key for key in Metadata.model_fields if key in metadata and key != "execution_time_ms"]
    if own:
        return [_sign("result", "envelope", "certain", "it has", "status", *own)]
    if "result" in value or "error_type" in value:
        return [_sign("result", "envelope", "likely" if "metadata" in value else "possible", "it has", "status")]
    return []


def _is_tool(value: JsonObject) -> bool:
    return isinstance(value.get("name"), str) and isinstance(value.get("input_schema"), dict)


def _sign(kind: Kind, form: str, certainty: Certainty, how: str, *words: str) -> Sign:
    return Sign("tool_use", kind, form, certainty, f"{how} {named(words)}")
