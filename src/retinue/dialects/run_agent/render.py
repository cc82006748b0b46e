"""From the contract to the arguments and the answer of `run_agent`."""

from collections.abc import Iterator
from typing import Any, Final, cast

from retinue.contract import json
from retinue.contract.model import JsonMapping, Model
from retinue.contract.result import Outcome, Result
from retinue.contract.task import Correction, Task
from retinue.dialects.losses import choose_form, own_extras, rendered_message
from retinue.dialects.port import RenderedMessage

from .parse import contract_value, correction_text, parse_result, parse_task, write_history
from .wire import CORRECTION, DATA, Arguments, read_outcome

_MICROSECOND: Final = 1_000
_LONGEST_NS: Final = 10**20
_PARAMETERS_SAY: Final = "the parameters say it otherwise"
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
    arguments = render_arguments(task, correction=correction)
    values = {name: value for name, value in arguments.items() if value is not None}
    extra_keys = {
        name: value
        for name, value in own_extras(task.extras, "run_agent").items()
        if name not in Arguments.model_fields
    }
    has_prompt = bool(_text(task, "prompt", task.instruction).strip())
    return rendered_message(
        json.dumps({**values, **extra_keys}),
        form,
        task,
        dialect="run_agent",
        read=lambda text: parse_task(text).value,
        reasons={
            "/agent": "the agent that is called is not named",
            "/context/memory": _PARAMETERS_SAY,
            "/parameters": "a call has four arguments",
            "/instruction": _PARAMETERS_SAY if has_prompt else "there is none, so the rest of the task is the prompt",
            "/context/history": _PARAMETERS_SAY
            if "chat_history" in task.parameters
            else "a turn there begins with its role",
        },
    )


def render_arguments(task: Task, *, correction: Correction | None = None) -> dict[str, Any]:
    """The four arguments as Python values, for a call of the function itself; None for what is not said (B1).

    What the parameters say comes first, then the task's own context. `config` is also what came with a task that this
    dialect read.
    """
    prompt = _text(task, "prompt", task.instruction)
    if not prompt.strip():
        prompt = "\n".join(_lines(task)) or prompt
    # The `config` to send; what only says why a request is made again is not the caller's to say.
    holders = (task.parameters, own_extras(task.extras, "run_agent"))
    configs = (cast("object", holder.get("config")) for holder in holders)
    config = next((cast("JsonMapping", each) for each in configs if isinstance(each, dict)), None)
    if config is not None:
        config = {key: value for key, value in config.items() if key != CORRECTION}
    if correction is not None:
        prompt += correction_text(correction)
        config = {**(config or {}), CORRECTION: correction.to_json()}
    return {
        "prompt": prompt,
        "chat_history": _text(task, "chat_history", write_history(task.context.history)) or None,
        "memory": _text(task, "memory", task.context.memory) or None,
        "config": config,
    }


def _lines(task: Task) -> Iterator[str]:
    """What is asked where there are no words for it: the skill, its target and its parameters."""
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


def _text(task: Task, parameter: str, otherwise: str) -> str:
    value: object = task.parameters.get(parameter)
    return value if isinstance(value, str) else otherwise


# Answers


def render_result(result: Result, *, form: str | None = None) -> RenderedMessage:
    """Write the answer. The text is the agent's own, else its failure, questions, data as JSON (C8), or files.

    A duration that nobody measured is written as 0, because the format owes a number, and 0 is read as not measured.

    Raises:
        InvalidInput: There is no such form, or something in it is no JSON.
    """
    form_name = choose_form(form, ("answer",), "run_agent")
    traces: list[JsonMapping] = []
    for trace in result.traces:
        seconds = None if trace.duration_ns is None else _seconds(trace.duration_ns)
        item = {"tool": trace.tool, "args": trace.args, "output": trace.output, "duration_secs": seconds}
        traces.append({key: value for key, value in item.items() if value is not None})
    answer: JsonMapping = {
        "content": result.content or _content(result),
        "response_time_secs": (result.duration_ns and _seconds(result.duration_ns)) or 0,
        "traces": traces,
        **_extensions(result),
    }
    own = own_extras(result.extras, "run_agent").items()
    extra_keys = {key: value for key, value in own if key not in answer and contract_value(key, value) is None}
    return rendered_message(
        json.dumps({**answer, **extra_keys}),
        form_name,
        result,
        dialect="run_agent",
        read=lambda text: parse_result(text).value,
        reasons=_RESULT_REASONS,
        unit_ns=_MICROSECOND,
    )


_RESULT_REASONS: Final = {
    "/content": "the format requires a text, so one was written",
    "/duration_ns": "a number of seconds is less exact, and 0 stands for not measured",
    "/traces/*/duration_ns": "a number of seconds is less exact",
}


def _content(result: Result) -> str:
    """What stands in for the text of a result that has none."""
    if result.fault is not None:
        return result.fault.message
    if result.questions:
        return "\n".join(question.text for question in result.questions)
    if result.data is not None:
        return result.data if isinstance(result.data, str) else json.dumps(result.data)
    return "\n".join(
        f"{': '.join(filter(None, (one.title, one.summary))) or 'Created'} ({one.path})" for one in result.artifacts
    )


def _seconds(ns: int) -> float | None:
    """Seconds; None for a duration so long that no reader would believe it."""
    return None if ns > _LONGEST_NS else ns / 1_000_000_000


def _extensions(result: Result) -> JsonMapping:
    """Our own keys, as the table of words has them; `outcome` only where they would be read otherwise (C1)."""
    has_ended, outcome = result.lifecycle == "ended", result.outcome
    extensions: JsonMapping = {} if result.data is None else {DATA: result.data}
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
        extensions["outcome"] = outcome
    return extensions


def _to_json(model: Model) -> JsonMapping:
    """A noun as JSON; what was never said stays unsaid, because that is not the same as its default."""
    return model.model_dump(mode="json", exclude_unset=True, exclude_none=True, by_alias=True)
