"""From the contract to the arguments and the answer of `run_agent`."""

from collections.abc import Iterator
from typing import Any, Final, cast

from retinue.contract import json
from retinue.contract.json import pointer
from retinue.contract.model import JsonMapping, Model
from retinue.contract.result import Outcome, Result, Trace
from retinue.contract.task import Correction, Task
from retinue.dialects.losses import Losses, choose_form
from retinue.dialects.port import DEFAULT_CONTEXT, RenderedMessage

from .history import read_history, write_history
from .parse import contract_value, correction_text, nanoseconds
from .wire import CORRECTION, DATA, Arguments, read_outcome

_MICROSECOND: Final = 1_000
_LONGEST_NS: Final = 10**20
_FAILURES: Final[frozenset[Outcome]] = frozenset({"error", "failed", "canceled", "rejected"})


# Requests


def render_task(task: Task, *, form: str | None = None) -> RenderedMessage:
    """Write the arguments of a call. What the parameters say for one of the four comes before the task's own words.

    A task without words is told by its skill, its target and its parameters, a line each.

    Raises:
        InvalidInput: There is no such form, or something in it is no JSON.
    """
    return _render(task, choose_form(form, ("arguments",), "run_agent"), None)


def render_retry(task: Task, correction: Correction) -> RenderedMessage:
    """Write the call again: the correction as the last words of the prompt, and whole in `config`.

    Raises:
        InvalidInput: Something in it is no JSON.
    """
    return _render(task, "arguments", correction)


def _render(task: Task, form: str, correction: Correction | None) -> RenderedMessage:
    losses = Losses("run_agent")
    arguments = render_arguments(task, correction=correction)
    values = {name: value for name, value in arguments.items() if value is not None}
    extra_keys = {name: value for name, value in _own_extras(task.extras).items() if name not in Arguments.model_fields}
    # What the three texts do not say, and all that has no place in a call.
    if task.id != DEFAULT_CONTEXT.task_id:
        losses.add("/id")
    if task.agent != DEFAULT_CONTEXT.agent:
        losses.add("/agent", "the one who is called is not named")
    if _prompt(task) != task.instruction:
        is_said = bool(_text(task, "prompt", task.instruction).strip())
        losses.add(
            "/instruction", _PARAMETERS_SAY if is_said else "there is none, so the rest of the task is the prompt"
        )
    if read_history(_history(task)) != task.context.history:
        why = _PARAMETERS_SAY if "chat_history" in task.parameters else "a turn there begins with its role"
        losses.add("/context/history", why)
    if _memory(task) != task.context.memory:
        losses.add("/context/memory", _PARAMETERS_SAY)
    losses.add_fields(task, "parameters", why="a call has four arguments")
    losses.add_fields(task, *_UNSUPPORTED)
    losses.add_fields(task.context, "what", "why", "constraints", "inputs", path="/context")
    settings = _settings(task)
    if correction is not None and not settings:
        settings = None
    _add_extras_losses(task.extras, extra_keys if settings is None else {**extra_keys, "config": settings}, losses)
    return RenderedMessage(json.dumps({**values, **extra_keys}), form, tuple(losses.entries))


def render_arguments(task: Task, *, correction: Correction | None = None) -> dict[str, Any]:
    """The four arguments as Python values, for a call of the function itself; None for what is not said (B1).

    What the parameters say comes first, then the task's own context. `config` is also what came with a task that this
    dialect read.
    """
    prompt, config = _prompt(task), _settings(task)
    if correction is not None:
        prompt += correction_text(correction)
        config = {**(config or {}), CORRECTION: correction.to_json()}
    return {
        "prompt": prompt,
        "chat_history": _history(task) or None,
        "memory": _memory(task) or None,
        "config": config,
    }


def _prompt(task: Task) -> str:
    """What is asked. Where there are no words for it, the skill, its target and its parameters say it."""
    prompt = _text(task, "prompt", task.instruction)
    return prompt if prompt.strip() else "\n".join(_lines(task)) or prompt


def _lines(task: Task) -> Iterator[str]:
    context = task.context
    fields = {"Skill": task.skill, "Target": task.target, "Context": context.what, "Why": context.why}
    yield from (f"{label}: {_line(text)}" for label, text in fields.items() if text)
    yield from (f"Constraint: {_line(each)}" for each in context.constraints)
    parameters = {name: value for name, value in task.parameters.items() if name not in Arguments.model_fields}
    if parameters:
        yield "Parameters:"
    yield from (f"- {_line(name)}: {_line(value)}" for name, value in parameters.items())


def _line(value: object) -> str:
    """`value` on one line: a text that is one as it stands, anything else as JSON."""
    if isinstance(value, str) and value.isprintable() and value == value.strip() != "":
        return value
    return json.dumps(value)


def _history(task: Task) -> str:
    return _text(task, "chat_history", write_history(task.context.history))


def _memory(task: Task) -> str:
    return _text(task, "memory", task.context.memory)


def _text(task: Task, parameter: str, otherwise: str) -> str:
    value: object = task.parameters.get(parameter)
    return value if isinstance(value, str) else otherwise


def _settings(task: Task) -> JsonMapping | None:
    """The `config` to send; what only says why a request is made again is not the caller's to say."""
    for holder in (task.parameters, _own_extras(task.extras)):
        config: object = holder.get("config")
        if isinstance(config, dict):
            return {key: value for key, value in cast("JsonMapping", config).items() if key != CORRECTION}
    return None


_PARAMETERS_SAY: Final = "the parameters say it otherwise"
_UNSUPPORTED: Final = (
    "major", "skill", "target", "produced_by", "untyped", "limits", "output", "source_agent", "parent", "depth",
    "model", "thinking", "idempotency_key",
)  # fmt: skip


# Answers


def render_result(result: Result, *, form: str | None = None) -> RenderedMessage:
    """Write the answer. The text is the agent's own, else its failure, questions, data as JSON (C8), or files.

    A duration that nobody measured is written as 0, because the format owes a number, and 0 is read as not measured.

    Raises:
        InvalidInput: There is no such form, or something in it is no JSON.
    """
    form_name = choose_form(form, ("answer",), "run_agent")
    losses = Losses("run_agent")
    answer: JsonMapping = {
        "content": _content(result, losses),
        "response_time_secs": _response_time(result.duration_ns, losses),
        "traces": [_trace(trace, f"/traces/{at}", losses) for at, trace in enumerate(result.traces)],
        **_extensions(result, losses),
    }
    own = _own_extras(result.extras).items()
    extra_keys = {key: value for key, value in own if key not in answer and contract_value(key, value) is None}
    _add_extras_losses(result.extras, extra_keys, losses)
    losses.add_identity(result)
    losses.add_fields(result, "skill", "versions", "usage", "retries", "confidence", "completeness")
    losses.add_fields(result, "files_read", "files_written", "native")
    losses.add_fields(result, "reasoning", why="it stays in the journal, and is never handed on")
    return RenderedMessage(json.dumps({**answer, **extra_keys}), form_name, tuple(losses.entries))


def _content(result: Result, losses: Losses) -> str:
    if result.content:
        return result.content
    if result.fault is not None:
        content = result.fault.message
    elif result.questions:
        content = "\n".join(question.text for question in result.questions)
    elif isinstance(result.data, str):
        content = result.data
    elif result.data is not None:
        content = json.dumps(result.data)
    else:
        content = "\n".join(
            f"{': '.join(filter(None, (one.title, one.summary))) or 'Created'} ({one.path})" for one in result.artifacts
        )
    if content:
        losses.add("/content", "the format owes a text, so there is one now")
    return content


def _response_time(duration_ns: int | None, losses: Losses) -> float:
    if duration_ns == 0:
        losses.add("/duration_ns", "0 stands for not measured there")
    return (duration_ns and _seconds(duration_ns, "/duration_ns", losses)) or 0


def _trace(trace: Trace, path: str, losses: Losses) -> JsonMapping:
    ns = trace.duration_ns
    seconds = None if ns is None else _seconds(ns, f"{path}/duration_ns", losses)
    item = {"tool": trace.tool, "args": trace.args, "output": trace.output, "duration_secs": seconds}
    return {key: value for key, value in item.items() if value is not None}


def _seconds(ns: int, path: str, losses: Losses) -> float | None:
    if ns > _LONGEST_NS:
        losses.add(path, "so much time does not pass")
        return None
    seconds = ns / 1_000_000_000
    if abs(nanoseconds(seconds) - ns) > _MICROSECOND // 2:
        losses.add(path, "a number of seconds is less exact")
    return seconds


def _extensions(result: Result, losses: Losses) -> JsonMapping:
    """Our own keys, as the table of words has them; `outcome` only where they would be read otherwise (C1)."""
    has_ended, outcome = result.lifecycle == "ended", result.outcome
    extensions: JsonMapping = {}
    if result.data is not None:
        extensions[DATA] = result.data
    if result.warnings or (has_ended and outcome == "partial"):
        extensions["warnings"] = [_to_json(warning) for warning in result.warnings]
    if result.fault is not None or (has_ended and outcome in _FAILURES):
        extensions["error"] = _to_json(result.fault) if result.fault is not None else {}
    if result.attempts or (has_ended and outcome == "failed"):
        extensions["attempts"] = [_to_json(attempt) for attempt in result.attempts]
    if result.questions:
        extensions["questions"] = [_to_json(question) for question in result.questions]
    if result.artifacts:
        extensions["artifacts"] = [_to_json(artifact) for artifact in result.artifacts]
    read = read_outcome(extensions, None)
    asks = read[0] == result.lifecycle == "input_required"
    if outcome is not None and not asks and read != (result.lifecycle, outcome):
        extensions["outcome"], read = outcome, ("ended", outcome)
    if read[0] != result.lifecycle:
        losses.add("/lifecycle", f"it reads as {read[0]!r}")
    if read[1] != outcome:
        losses.add("/outcome", f"it reads as {read[1]!r}")
    return extensions


def _to_json(model: Model) -> JsonMapping:
    """A noun as JSON; what was never said stays unsaid, because that is not the same as its default."""
    return model.model_dump(mode="json", exclude_unset=True, exclude_none=True, by_alias=True)


# Extras


def _own_extras(extras: JsonMapping) -> JsonMapping:
    own: object = extras.get("run_agent")
    return cast("JsonMapping", own) if isinstance(own, dict) else {}


def _add_extras_losses(extras: JsonMapping, output: JsonMapping, losses: Losses) -> None:
    """What of `extras` is not among what was `output`, which is what will be read."""
    losses.add_foreign_extras(extras)
    if "run_agent" not in extras:
        if output:
            losses.add("/extras/run_agent", _PARAMETERS_SAY)
        return
    own = _own_extras(extras)
    if own is not extras["run_agent"] or not output:
        losses.add("/extras/run_agent", _RESERVED)
        return
    for key in {**own, **output}:
        if key not in own or key not in output or own[key] != output[key]:
            losses.add(pointer(["extras", "run_agent", key]), _RESERVED)


_RESERVED: Final = "the key has a meaning of its own there"
