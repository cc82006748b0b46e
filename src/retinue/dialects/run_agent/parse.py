"""From the arguments and the answer of `run_agent` to the contract."""

import re
from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from retinue.contract import json
from retinue.contract.fault import Fault
from retinue.contract.finding import Level
from retinue.contract.json import JsonObject, JsonValue, pointer
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result, Trace
from retinue.contract.task import Context, Correction, Task
from retinue.dialects.decoding import find_json, quote_keys
from retinue.dialects.diagnostics import (
    Diagnostics,
    drop_nulls,
    parse_answer_object,
    parse_object,
    read_model,
    read_numbers,
    refuse,
    validate,
)
from retinue.dialects.port import DEFAULT_CONTEXT, Detection, ParseContext, Parsed
from retinue.errors import InvalidInput, OutputInvalid

from .config import read_config
from .wire import CORRECTION, DATA, AgentOutputMinimal, AnswerExtensions, Arguments, ToolTraceMinimal, read_outcome

_LONGEST_S: Final = 1e11
"""Seconds, some three thousand years. What is longer is no time that passed."""


# Requests


def parse_task(
    text: str | bytes, *, context: ParseContext = DEFAULT_CONTEXT, level: Level = "standard"
) -> Parsed[Task]:
    """Read the arguments of a call (B1 to B3). Arguments beyond the four, and `config`, ride in `extras`.

    A wrong setting in `config` refuses the call only when strict; the agent does without it otherwise.

    Raises:
        ParseError: The text is no single JSON object.
        InvalidInput: It holds no call of `run_agent`.
    """
    notes = Diagnostics("run_agent", level)
    wire = validate(parse_object(text, notes), Arguments, notes, refusal=InvalidInput)
    extras: JsonMapping = dict(wire.model_extra or {})
    prompt, correction = read_correction(wire.prompt, wire.config or {})
    if wire.config is not None:
        settings = {key: value for key, value in wire.config.items() if key != CORRECTION or correction is None}
        for finding in read_config(wire.config).findings:
            severity = "warning" if finding.severity == "error" and notes.level != "strict" else finding.severity
            rule = finding.rule.partition("/")[2]
            notes.add(rule, finding.message, path=f"/config{finding.path}", fix=finding.fix, severity=severity)
        if notes.has_errors:
            refuse(notes, InvalidInput)
        if settings or correction is None:
            extras["config"] = settings
    task = Task(
        id=context.task_id,
        agent=context.agent,
        skill=context.skill,
        instruction=prompt,
        context=Context(history=read_history(wire.chat_history or ""), memory=wire.memory or ""),
        extras={"run_agent": extras} if extras else {},
    )
    return Parsed(task, "arguments", tuple(notes.findings), correction)


def read_correction(prompt: str, config: JsonMapping) -> tuple[str, Correction | None]:
    """A prompt without the correction at its end, and that correction; None when the request is not made again."""
    correction = read_model(Correction, config[CORRECTION]) if CORRECTION in config else None
    return (prompt, None) if correction is None else (prompt.removesuffix(correction_text(correction)), correction)


def correction_text(correction: Correction) -> str:
    """What a prompt ends with that is put again: the correction, for an agent that reads nothing but its prompt."""
    of = "" if correction.max_retries is None else f" of {correction.max_retries}"
    sentence = f"Your last answer was refused (retry {correction.retry_count}{of}): {correction.message}"
    return "\n\n" + "\n".join(filter(None, (sentence, correction.hint)))


# Answers


def parse_result(
    text: str | bytes, *, context: ParseContext = DEFAULT_CONTEXT, level: Level = "standard"
) -> Parsed[Result]:
    """Read what `run_agent` returned, as JSON text (B4 to B6).

    Raises:
        OutputInvalid: The text is no such answer.
    """
    notes = Diagnostics("run_agent", level)
    value = parse_answer_object(text, notes)
    return read_answer(value, context, notes)


def read_answer(value: JsonObject, context: ParseContext, notes: Diagnostics) -> Parsed[Result]:
    """Read an answer that is JSON data already; `value` is changed where something in it has to be mended.

    Raises:
        OutputInvalid: It is none.
    """
    wire = validate(value, AgentOutputMinimal, notes, refusal=OutputInvalid, normalise=_normalise)
    duration_ns = _wall_clock(wire.response_time_secs, "/response_time_secs", notes)
    traces: list[Trace] = []
    for at, item in enumerate(wire.traces):
        trace_ns = None
        if item.duration_secs is not None:
            trace_ns = _wall_clock(item.duration_secs, f"/traces/{at}/duration_secs", notes)
        traces.append(Trace(tool=item.tool, output=item.output, args=item.args, duration_ns=trace_ns))
    # The further keys: those that say a noun of the contract, and the rest.
    fields = wire.model_extra or {}
    values: dict[str, Any] = {
        key: noun for key, value in fields.items() if (noun := contract_value(key, value)) is not None
    }
    extras = {key: value for key, value in fields.items() if key not in values}
    if extras.get("error"):
        fix = "Say what went wrong as text, or as an object with `message`."
        notes.add("error", "`error` is there and says nothing we can read.", path="/error", fix=fix)
    if notes.has_errors:
        refuse(notes, OutputInvalid)
    lifecycle, outcome = read_outcome(values, values.get("outcome"))
    result = Result(
        task_id=context.task_id,
        agent=context.agent,
        skill=context.skill,
        lifecycle=lifecycle,
        outcome=outcome,
        data=values.get(DATA),
        content=wire.content,
        artifacts=values.get("artifacts", ()),
        warnings=values.get("warnings", ()),
        fault=values.get("error") or None,
        traces=tuple(traces),
        duration_ns=duration_ns or None,
        attempts=values.get("attempts", ()),
        questions=values.get("questions", ()),
        extras={"run_agent": extras} if extras else {},
    )
    return Parsed(result, "answer", tuple(notes.findings))


def _normalise(value: JsonObject, notes: Diagnostics) -> None:
    """What the spec's Python types say otherwise than its schema (B7, C16); when lenient, what has one meaning."""
    if "traces" not in value or (value["traces"] is None):
        value["traces"] = []
        notes.add("traces", "`traces` is missing; no tool was called.", path="/traces", fix="Send an empty array.")
    traces = value["traces"]
    for at, item in enumerate(traces if isinstance(traces, list) else ()):
        if not isinstance(item, dict):
            continue
        path = f"/traces/{at}"
        drop_nulls(item, ["args", "duration_secs"], notes, path=path)
        if notes.level != "lenient":
            continue
        read_numbers(item, ["duration_secs"], notes, path=path)
        if isinstance(item.get("output"), dict | list):
            item["output"] = json.dumps(item["output"])
            notes.add("output", "`output` was no text; it is now its JSON.", path=f"{path}/output", fix="Send text.")
        for key in [key for key in item if key not in ToolTraceMinimal.model_fields]:
            del item[key]
            notes.add("closed", f"A trace item has no {key[:100]!r}; it was dropped.", path=path, fix="Leave it out.")
    if notes.level == "lenient":
        read_numbers(value, ["response_time_secs"], notes)


def _wall_clock(seconds: float, path: str, notes: Diagnostics) -> int | None:
    """Nanoseconds; None and a finding when no clock shows so many seconds."""
    if 0 <= seconds <= _LONGEST_S:
        return nanoseconds(seconds)
    lenient = notes.level == "lenient"
    message = f"`{seconds}` seconds cannot have passed{'; they are dropped' if lenient else ''}."
    notes.add("seconds", message, path=path, fix="Measure, with a clock.", severity="warning" if lenient else "error")
    return None


def nanoseconds(seconds: float) -> int:
    """Nanoseconds in so many `seconds`, rounded once."""
    whole, parts = seconds.as_integer_ratio()
    return (2 * whole * 1_000_000_000 + parts) // (2 * parts)


# What stands beside the required fields


def contract_value(key: str, value: object) -> object | None:
    """What the contract has for a further key of an answer; None when it has nothing, and the key is an extra.

    An `error` that is empty is `{}`: it says nothing.
    """
    if key == DATA:
        return value
    if key == "error":
        return _error(value)
    if key not in AnswerExtensions.model_fields or value is None:
        return None
    extensions = read_model(AnswerExtensions, {key: value})
    return None if extensions is None else getattr(extensions, key)


def _error(value: object) -> Fault | JsonMapping | None:
    """A failure in our words; else in any that hold a message, which are kept in its `detail`."""
    match value:
        case str() if value.strip():
            return Fault(code="internal_error", message=value)
        case {}:
            fields = cast("JsonMapping", value)
        case _:
            return None
    try:
        return Fault.model_validate_json(json.dumps(fields)) if fields else {}
    except ValidationError:
        message = fields.get("message")
        has_message = isinstance(message, str) and message.strip()
        return Fault(code="internal_error", message=str(message), detail={"said": fields}) if has_message else None


def tool_names(result: Result) -> tuple[str, ...]:
    """The tools that were used, each once, in the order of their first use (B16)."""
    return tuple(dict.fromkeys(trace.tool for trace in result.traces))


_ROLE: Final = r"(?:user|assistant):"
_BREAK: Final = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_TURN: Final = re.compile(rf"(?:\r\n|[{_BREAK}])(?={_ROLE})", re.IGNORECASE)
_LOOKALIKE: Final = re.compile(rf"(?<=[{_BREAK}])(?= *{_ROLE})", re.IGNORECASE)
_ESCAPED: Final = re.compile(rf"(?<=[{_BREAK}]) (?= *{_ROLE})", re.IGNORECASE)


def read_history(text: str) -> tuple[str, ...]:
    """The turns of `text`, oldest first, each as `role: text`; what stands before the first role is a turn too."""
    return tuple(_ESCAPED.sub("", turn) for turn in _TURN.split(text)) if text else ()


def write_history(turns: tuple[str, ...]) -> str:
    """One string that `read_history` reads as `turns`, as long as each but the first begins with a role."""
    texts = [_LOOKALIKE.sub(" ", turn) for turn in turns]
    # A line feed behind a carriage return would be one line break with it, and the turn be read without its end.
    lines = [turn + ("\r" if turn.endswith("\r") else "\n") for turn in texts[:-1]]
    return "".join([*lines, *texts[-1:]])


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
        copy["traces"] = [
            {
                key: part
                if key in _TEXTS and not isinstance(part, dict | list | tuple)
                else _json_copy(part, ["traces", at, key], notes)
                for key, part in item.items()
            }
            if isinstance(item, dict)
            else item
            for at, item in enumerate(cast("list[JsonValue]", traces))
        ]
    return copy


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
