"""The answer of `run_agent` as the Python value that the function returned, which may hold anything at all."""

from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from retinue.contract import json
from retinue.contract.finding import Level
from retinue.contract.json import JsonObject, JsonValue, pointer
from retinue.contract.result import Result
from retinue.dialects.diagnostics import Diagnostics, refuse
from retinue.dialects.port import DEFAULT_CONTEXT, ParseContext, Parsed
from retinue.errors import InvalidInput, OutputInvalid

from .parse import read_answer
from .wire import AgentOutputMinimal, ToolTraceMinimal


def parse_value(value: object, *, context: ParseContext = DEFAULT_CONTEXT, level: Level = "standard") -> Parsed[Result]:
    """Read what `run_agent` returned, as a Python value: a dictionary, or a pydantic model such as the spec's own.

    `value` is not changed, and nothing is shared with it.

    Raises:
        OutputInvalid: It is no such answer, or cannot be written as JSON; `detail["findings"]` lists every reason.
    """
    notes = Diagnostics("run_agent", level)
    fields: object = value.model_dump(exclude_none=True) if isinstance(value, BaseModel) else value
    if not isinstance(fields, Mapping):
        notes.add(
            "shape", f"The answer is a `{type(value).__name__}`, not a dictionary.", fix=_RETURN, severity="error"
        )
        refuse(notes, OutputInvalid)
    return read_answer(_copy_fields(cast("Mapping[str, Any]", fields), notes), context, notes)


_RETURN: Final = (
    "Return a dictionary with `content` (text), `response_time_secs` (number) and `traces` (a list of objects with "
    "`tool` and `output`)."
)
_SPEC_KEYS: Final = frozenset(AgentOutputMinimal.model_fields)
_TEXTS: Final = frozenset(ToolTraceMinimal.model_fields) - {"args"}


def _copy_fields(fields: Mapping[str, Any], notes: Diagnostics) -> JsonObject:
    """JSON data, but for the values that the spec names: those are seen as they are, and not made to fit."""
    copy: JsonObject = {
        key: item if key in _SPEC_KEYS else _json_copy(item, [key], notes) for key, item in fields.items()
    }
    traces: object = copy.get("traces")
    if isinstance(traces, list | tuple):
        copy["traces"] = [_trace(item, at, notes) for at, item in enumerate(cast("list[JsonValue]", traces))]
    return copy


def _trace(item: JsonValue, at: int, notes: Diagnostics) -> JsonValue:
    if not isinstance(item, dict):
        return item
    return {
        key: part
        if key in _TEXTS and not isinstance(part, dict | list | tuple)
        else _json_copy(part, ["traces", at, key], notes)
        for key, part in item.items()
    }


def _json_copy(value: object, path: list[str | int], notes: Diagnostics) -> JsonValue:
    """A copy as JSON data; where there is none, a finding and something of the same kind."""
    try:
        data = to_jsonable_python(value)
        json.dumps(data)
    except InvalidInput as error:
        place, why = f"{pointer(path)}{error.path}", error.message
    except (TypeError, ValueError, RecursionError) as error:
        place, why = pointer(path), f"{error}."
    else:
        return data
    notes.add("json", f"It cannot be written as JSON: {why}", path=place, fix="Return JSON values.", severity="error")
    return {} if isinstance(value, Mapping) else None
