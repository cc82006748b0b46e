"""From the contract to requests (prompt, block, Task tool call) and answers (signal lines, JSON form, table)."""

from typing import Any, Final, cast

from retinue.contract import json
from retinue.contract.fault import Fault
from retinue.contract.formatting import truncate
from retinue.contract.model import JsonMapping
from retinue.contract.result import Artifact, Result
from retinue.contract.task import Correction, Task
from retinue.dialects.losses import NO_EQUIVALENT, choose_form, own_extras, rendered_message
from retinue.dialects.port import DEFAULT_CONTEXT, RenderedMessage

from . import wire
from .answer_text import SIGNAL_NAME, write_answer, write_table
from .parse import parse_result, parse_task
from .parse_result import error_block_of, write_body
from .prompt import KEY, is_plain_key, read_prompt, write_block, write_items, write_prompt

TASK_FORMS: Final = ("block", "json", "prompt")

_CALL_KEYS: Final = ("subagent_type", "description", "prompt")
_CONTEXT_KEYS: Final = frozenset({"primary goal", "output path", "input resources"})
_CONSTRAINT_KEYS: Final = frozenset({"time budget", "thinking mode"})
_MODES: Final = {mode: word for word, mode in wire.THINKING.items() if mode != "ultrathink"}


def render_task(task: Task, *, form: str | None = None) -> RenderedMessage:
    """Write a request: as the `Task { … }` block, as the JSON of a Task tool call, or as the prompt alone (H1 to H5).

    A relative output path is written as it is: only the caller knows where the workspace lies (C12).

    Raises:
        InvalidInput: There is no such form, or a value is no whole text or no JSON.
    """
    return _render(task, choose_form(form, TASK_FORMS, "task_signal"), None)


def render_retry(task: Task, correction: Correction) -> RenderedMessage:
    """Write the same request again, with a section that says what was wrong and how to do better (A12).

    Raises:
        InvalidInput: A value is no whole text or no JSON.
    """
    return _render(task, TASK_FORMS[0], correction)


def _render(task: Task, form: str, correction: Correction | None) -> RenderedMessage:
    extras = _FormatExtras(task, form)
    prompt = wire.ensure_writable(write_prompt(_prompt(task, extras, correction)))
    match form:
        case "prompt":
            text = prompt
        case "json":
            values = {"subagent_type": extras.subagent_type, "description": extras.description, "prompt": prompt}
            text = json.dumps({**values, **extras.keys})
        case _:
            text = write_block(wire.TaskCall(prompt, extras.subagent_type, extras.description, extras.keys))
    return rendered_message(
        text, form, task, dialect="task_signal", read=lambda text: parse_task(text).value, reasons=_TASK_REASONS
    )


_TASK_REASONS: Final = {
    "/agent": "a name that ends in a version means that major version there",
    "/major": "a name that ends in a version means that major version there",
    "/output/path": "with nothing around it there",
    "/parameters/*": "a parameter is text there",
    "/thinking": "`think hard` is the most there is",
}


def _prompt(task: Task, extras: "_FormatExtras", correction: Correction | None) -> wire.Prompt:
    sections = [
        wire.PromptSection("Task Context", write_items(_task_context(task))),
        wire.PromptSection("Background", write_items(_background(task))),
        wire.PromptSection("Constraints", write_items(_constraints(task))),
        wire.PromptSection("Expected Output", extras.expected),
    ]
    if correction is not None:
        sections.append(wire.PromptSection("Correction", write_items(_correction(correction))))
    return wire.Prompt(extras.behaviour, sections=tuple(section for section in sections if section.text))


# The sections


def _task_context(task: Task) -> tuple[wire.PromptItem, ...]:
    items = [wire.PromptItem("Primary Goal", task.instruction)] if task.instruction else []
    if task.output.path is not None:
        items.append(wire.PromptItem("Output Path", task.output.path))
    if task.target is not None:
        items.append(wire.PromptItem("Input Resources", task.target))
    for name, value in cast("dict[str, object]", task.parameters).items():
        text = value if isinstance(value, str) else json.dumps(value)
        items.append(wire.PromptItem(name, text, literal=not is_plain_key(name) or _fold_key(name) in _CONTEXT_KEYS))
    return tuple(items)


def _background(task: Task) -> tuple[wire.PromptItem, ...]:
    context = task.context
    texts = {"What": context.what, "Why": context.why, "Memory": context.memory}
    items = [wire.PromptItem(name, text) for name, text in texts.items() if text]
    items += [wire.PromptItem("History", turn) for turn in context.history]
    if context.inputs:
        items.append(wire.PromptItem("Inputs", json.dumps(context.inputs)))
    return tuple(items)


def _constraints(task: Task) -> tuple[wire.PromptItem, ...]:
    limits = task.limits
    items: list[wire.PromptItem] = []
    if limits.tokens is not None or limits.timeout_s is not None:
        items.append(
            wire.PromptItem("Time Budget", wire.write_budget(wire.TimeBudget(limits.tokens, limits.timeout_s)))
        )
    if task.thinking is not None:
        mode = "think_hard" if task.thinking == "ultrathink" else task.thinking
        items.append(wire.PromptItem("Thinking Mode", _MODES[mode]))
    return (*items, *map(_constraint, task.context.constraints))


def _constraint(text: str) -> wire.PromptItem:
    """A constraint as a bullet: with its key where it has one that reads back, else as a whole."""
    key, colon, value = text.partition(": ")
    if colon and is_plain_key(key) and _fold_key(key) not in _CONSTRAINT_KEYS and value == value.strip() != "":
        return wire.PromptItem(key, value)
    return wire.PromptItem(None, text)


def _correction(correction: Correction) -> tuple[wire.PromptItem, ...]:
    category = wire.CATEGORIES[correction.code]
    items = [wire.PromptItem("Error", f"{category} - {correction.message}")]
    if wire.code_of(category) != correction.code:
        items.append(wire.PromptItem("Code", correction.code))
    if correction.hint:
        items.append(wire.PromptItem("Recovery", correction.hint))
    limit = "" if correction.max_retries is None else f" of {correction.max_retries}"
    items.append(wire.PromptItem("Retry", f"{correction.retry_count}{limit}"))
    items += [wire.PromptItem("Finding", json.dumps(finding)) for finding in correction.findings]
    if correction.previous is not None:
        items.append(wire.PromptItem("Data", json.dumps(correction.previous)))
    if correction.said is not None:
        items.append(wire.PromptItem("Refused", correction.said))
    return tuple(items)


# What the format itself left in the extras


class _FormatExtras:
    """The values that an earlier reading kept, where they still fit; the usual ones elsewhere."""

    def __init__(self, task: Task, form: str) -> None:
        self.behaviour = wire.behaviour_of(task.agent, task.major)
        self.subagent_type = wire.SUBAGENT
        self.description = wire.description_of(task.instruction)
        self.expected = wire.expected_of(task.output.path)
        self.keys: JsonMapping = {}
        for name, value in own_extras(task.extras, "task_signal").items():
            if name == "keys" and form != "prompt" and isinstance(value, dict):
                self.keys = {
                    key: each
                    for key, each in cast("dict[str, Any]", value).items()
                    if key not in _CALL_KEYS and (form == "json" or KEY.fullmatch(key))
                }
            elif isinstance(value, str) and self._fits(name, value, task, form):
                setattr(self, "expected" if name == "expected_output" else name, value)

    def _fits(self, name: str, value: str, task: Task, form: str) -> bool:
        """Whether `value` can be written and comes back as an extra."""
        match name:
            case "behaviour":
                reads_back = read_prompt(f"Read and follow: {value}").reference == value
                return reads_back and value != self.behaviour and wire.agent_in(value) == (task.agent, task.major)
            case "subagent_type":
                return form != "prompt" and value != wire.SUBAGENT
            case "description":
                return form != "prompt" and value != self.description
            case "expected_output":
                section = wire.PromptSection("Expected Output", value)
                alone = read_prompt(write_prompt(wire.Prompt("x.md", sections=(section,))))
                return value not in {"", self.expected} and alone == wire.Prompt("x.md", sections=(section,))
            case _:
                return False


def _fold_key(key: str) -> str:
    return " ".join(key.lower().split())


RESULT_FORMS: Final = ("signals", "json", "table")

_LIMITS: Final = {"title": wire.TITLE_CHARS, "summary": wire.SUMMARY_CHARS}
_RESERVED: Final = frozenset({*wire.SIGNALS, "PROGRESS", "CHECKPOINT"})
_ERROR_SIGNALS: Final = frozenset({"CONTEXT", "RECOVERY"})
"""Signals that belong to an `ERROR`, and are kept when they stand without one."""

_WORDS: Final[dict[wire.Status, str]] = {"complete": "done", "partial": "partial", "failed": "failed"}


def render_result(result: Result, *, form: str | None = None) -> RenderedMessage:
    """Write an answer: signal lines and the text below them, the JSON form, or the table (H6, H14, H15).

    An answer that is still under way is a progress line, whatever the form (C1).

    Raises:
        InvalidInput: There is no such form, or a value is no whole text or no JSON.
    """
    form = choose_form(form, RESULT_FORMS, "task_signal")
    if result.lifecycle in {"submitted", "working"}:
        form = "signals"
        about = wire.one_line(result.skill or result.agent) or DEFAULT_CONTEXT.agent
        text, reasons = f"PROGRESS: {about} - working", _WORKING_REASONS
    elif form == "json":
        text, reasons = _json(result), _JSON_REASONS
    elif form == "table":
        text, reasons = _table(result), _TABLE_REASONS
    else:
        text, reasons = _signals(result), _SIGNALS_REASONS
    if result.fault is not None and _status(result) == "complete":
        reasons = {**reasons, "/fault": "only a failure reports an error there"}
    return rendered_message(
        wire.ensure_writable(text),
        form,
        result,
        dialect="task_signal",
        read=lambda text: parse_result(text).value,
        reasons=reasons,
    )


_ONE_LINE: Final = "on one line there"
_REASONS: Final = {
    "/artifacts": "a file without a name cannot be given there",
    "/artifacts/*": NO_EQUIVALENT,
    "/fault": "a failed answer says why there",
    "/fault/*": NO_EQUIVALENT,
    "/fault/code": "another category is the nearest there",
    "/fault/retryable": "its category decides that there",
    "/fault/detail/category": "it is our own word; spec 002 has no category for it",
    "/fault/suggestions": "there is one line for what to do",
    "/fault/hint": "there is one line for what to do",
    "/fault/failed_at": _ONE_LINE,
    "/fault/message": _ONE_LINE,
}
_UNDER_WAY: Final = "a progress line says only that it is under way"
_WORKING_REASONS: Final = dict.fromkeys(("/" + name for name in Result.model_fields), _UNDER_WAY) | {
    name: reason for name, reason in _REASONS.items() if not name.startswith("/fault")
}
_SIGNALS_REASONS: Final = {
    **_REASONS,
    "/artifacts/*/path": "on one line there, and with nothing around it",
    **{
        f"{place}/{name}": f"on one line of at most {limit} characters there"
        for name, limit in {"title": wire.TITLE_CHARS, "summary": wire.SUMMARY_CHARS}.items()
        for place in ("/data", "/artifacts/*")
    },
    "/content": "the data is in the text there",
    "/questions": "an answer that has ended asks nothing there",
    "/questions/*": _ONE_LINE,
    "/questions/*/id": "on one line there, without brackets",
    "/questions/*/kind": "its options decide that there",
}
_END_ONLY: Final = "this form says only how a task ended"
_JSON_REASONS: Final = {
    **_REASONS,
    "/lifecycle": _END_ONLY,
    "/data": "there it is an object",
    "/data/*": NO_EQUIVALENT,
    "/data/time_elapsed": "that key is the time it took there",
}
_TABLE_REASONS: Final = {
    **_REASONS,
    "/lifecycle": _END_ONLY,
    "/artifacts/*/path": _ONE_LINE,
    "/artifacts/*/topic": _ONE_LINE,
    "/artifacts/*/summary": _ONE_LINE,
    "/artifacts/*/status": "the table says there how the whole ended",
}


def _status(result: Result) -> wire.Status:
    if result.lifecycle == "input_required" or result.outcome is None:
        return "partial"
    return wire.STATUSES[result.outcome]


# Signals


_NO_REASON: Final = Fault(code="internal_error", message="The agent failed without a reason.")


def _signals(result: Result) -> str:
    status = _status(result)
    fault = None if status == "complete" else result.fault or (_NO_REASON if status == "failed" else None)
    error_block = None if fault is None else error_block_of(fault, as_lines=True)
    data: object = result.data
    members = cast("JsonMapping", data) if isinstance(data, dict) else {}
    # Title and summary of the whole stand before the first file, or they would be that file's.
    facts = {name: text for name in _LIMITS if (text := _short(name, members.get(name)))}
    signals = [wire.Signal(name.upper(), text) for name, text in facts.items()]
    signals += [each for one in result.artifacts for each in _file_signals(one)]
    count = members.get("count")
    has_count = isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 10**300
    if has_count:
        signals.append(wire.Signal("COUNT", str(count)))
    if error_block is not None:
        block = {"ERROR": error_block.error, "CONTEXT": error_block.context, "RECOVERY": error_block.recovery}
        signals += [wire.Signal(name, value) for name, value in block.items() if value]
    signals.append(wire.Signal("STATUS", status))
    signals += _unknown_signals(result, is_failure=error_block is not None)
    content = result.content
    # The data as text for people, where an answer has no other and the signals do not say it all.
    if not content and data is not None and (not members or members != facts | ({"count": count} if has_count else {})):
        content = result.data if isinstance(result.data, str) else f"```json\n{json.dumps(result.data)}\n```\n"
    asks = result.lifecycle == "input_required"
    return write_answer(wire.SignalAnswer(tuple(signals), write_body(content, result.questions if asks else None)))


def _file_signals(artifact: Artifact) -> list[wire.Signal]:
    """A file with its title and summary; nothing for one whose path would read as none."""
    path = _readable_path(artifact)
    if not path:
        return []
    texts = {name: _short(name, getattr(artifact, name)) for name in _LIMITS}
    return [wire.Signal("CREATED", path), *(wire.Signal(name.upper(), text) for name, text in texts.items() if text)]


def _readable_path(artifact: Artifact) -> str:
    """The path as it reads back; empty where it would read as none."""
    return wire.unquote_path(wire.one_line(artifact.path))


def _unknown_signals(result: Result, *, is_failure: bool) -> list[wire.Signal]:
    """Signals that an earlier reading kept without understanding them."""
    signals: list[wire.Signal] = []
    for name, value in own_extras(result.extras, "task_signal").items():
        values = _texts_of(value)
        is_error_signal = name in _ERROR_SIGNALS and not is_failure and len(values) == 1
        if SIGNAL_NAME.fullmatch(name) and (is_error_signal or name not in _RESERVED):
            signals += [wire.Signal(name, each) for each in values]
    return signals


def _texts_of(value: object) -> list[str]:
    """The values of a signal that was said once or several times; none where one of them would not read back."""
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    texts = [each for each in values if isinstance(each, str) and each and wire.one_line(each) == each]
    is_whole = len(texts) == len(values) and (len(texts) > 1 or not isinstance(value, list))
    return texts if is_whole else []


def _short(name: str, value: object) -> str:
    return truncate(wire.one_line(value), _LIMITS[name]) if isinstance(value, str) else ""


# The JSON form


def _json(result: Result) -> str:
    status = _status(result)
    is_failure = result.fault is not None and status != "complete"
    error_block = error_block_of(result.fault, as_lines=False) if is_failure and result.fault else None
    report = wire.JsonReport(
        status=status,
        artifacts=tuple(
            wire.ReportArtifact(path=one.path, type=one.type, title=one.title, summary=one.summary)
            for one in result.artifacts
        ),
        metrics=_metrics(result),
        error=error_block.error if error_block else None,
        context=error_block.context if error_block else None,
        recovery=error_block.recovery if error_block else None,
    )
    # Further keys that an earlier reading kept.
    extra_keys = {
        name: value
        for name, value in own_extras(result.extras, "task_signal").items()
        if name not in wire.JsonReport.model_fields
    }
    return json.dumps({**report.model_dump(exclude_none=True), **extra_keys})


def _metrics(result: Result) -> JsonMapping | None:
    """The data, and the time it took; a member that would read as that time has no place."""
    data: object = result.data
    metrics = dict(cast("JsonMapping", data)) if isinstance(data, dict) else {}
    if result.duration_ns is not None:
        return {**metrics, "time_elapsed": wire.write_duration(result.duration_ns)}
    if wire.read_duration(metrics.get("time_elapsed")) is not None:
        del metrics["time_elapsed"]
    return metrics if isinstance(data, dict) else None


# The table


def _table(result: Result) -> str:
    status = _status(result)
    rows = [_row(one, _WORDS[status]) for one in result.artifacts if _readable_path(one)]
    about = wire.one_line(result.skill or result.agent)
    if result.fault is not None and status != "complete":
        brief = result.fault.model_copy(update={"hint": "", "suggestions": (), "failed_at": None})
        rows.append(wire.TableRow(about, "failed", "", error_block_of(brief, as_lines=True).error))
    return write_table(wire.AnswerTable(tuple(rows or [wire.TableRow(about, _WORDS[status])]), result.content))


def _row(artifact: Artifact, word: str) -> wire.TableRow:
    status = artifact.status if artifact.status in wire.TABLE_STATUSES else word
    summary = wire.one_line(artifact.summary or "")
    return wire.TableRow(wire.one_line(artifact.topic or ""), status or word, _readable_path(artifact), summary)
