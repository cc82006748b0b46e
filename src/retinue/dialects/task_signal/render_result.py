"""Writing answers: a `Result` as signal lines, as the JSON form, or as a table."""

from typing import Final, cast

from retinue.contract import json
from retinue.contract.fault import Fault
from retinue.contract.formatting import truncate
from retinue.contract.json import pointer
from retinue.contract.model import JsonMapping
from retinue.contract.result import Artifact, Outcome, Result
from retinue.dialects.diagnostics import Diagnostics
from retinue.dialects.losses import Losses, choose_form
from retinue.dialects.port import DEFAULT_CONTEXT, RenderedMessage

from .answer_text import SIGNAL_NAME, write_answer, write_table
from .duration import read_duration, write_duration
from .failure import ErrorBlock, error_block_of, fault_of
from .lines import ensure_writable, one_line
from .parse_result import outcome_of, outcome_of_rows
from .questions import write_body
from .unquote import unquote_path
from .wire import (
    SIGNALS,
    STATUSES,
    SUMMARY_CHARS,
    TABLE_STATUSES,
    TITLE_CHARS,
    AnswerTable,
    JsonReport,
    ReportArtifact,
    Signal,
    SignalAnswer,
    Status,
    TableRow,
)  # fmt: skip

RESULT_FORMS: Final = ("signals", "json", "table")

_UNSUPPORTED: Final = (
    "versions", "warnings", "traces", "usage", "attempts", "retries", "confidence", "completeness", "files_read",
    "files_written", "native",
)  # fmt: skip
_LIMITS: Final = {"title": TITLE_CHARS, "summary": SUMMARY_CHARS}
_RESERVED: Final = frozenset({*SIGNALS, "PROGRESS", "CHECKPOINT"})
_ERROR_SIGNALS: Final = frozenset({"CONTEXT", "RECOVERY"})
"""Signals that belong to an `ERROR`, and are kept when they stand without one."""

_WORDS: Final[dict[Status, str]] = {"complete": "done", "partial": "partial", "failed": "failed"}


def render_result(result: Result, *, form: str | None = None) -> RenderedMessage:
    """Write an answer: signal lines and the text below them, the JSON form, or the table (H6, H14, H15).

    An answer that is still under way is a progress line, whatever the form (C1).

    Raises:
        InvalidInput: There is no such form, or a value is no whole text or no JSON.
    """
    form = choose_form(form, RESULT_FORMS, "task_signal")
    losses = Losses("task_signal")
    losses.add_fields(result, *_UNSUPPORTED)
    losses.add_fields(result, "reasoning", why="what an agent thought is not handed on")
    # Note what the reader must know by itself.
    for name in ("task_id", "agent", "skill"):
        if getattr(result, name) != getattr(DEFAULT_CONTEXT, name):
            losses.add(f"/{name}")
    losses.add_foreign_extras(result.extras)
    if result.lifecycle in {"submitted", "working"}:
        return RenderedMessage(
            ensure_writable(_working(result, losses)), form="signals", find_losses=lambda: losses.entries
        )
    match form:
        case "json":
            text = _json(result, losses)
        case "table":
            text = _table(result, losses)
        case _:
            text = _signals(result, losses)
    return RenderedMessage(ensure_writable(text), form=form, find_losses=lambda: losses.entries)


def _working(result: Result, losses: Losses) -> str:
    why = "a progress line says only that it is under way"
    losses.add_fields(result, "outcome", "data", "content", "artifacts", "fault", "duration_ns", "questions", why=why)
    if result.lifecycle != "working":
        losses.add("/lifecycle", why)
    if "task_signal" in result.extras:
        losses.add("/extras/task_signal", why)
    return f"PROGRESS: {one_line(result.skill or result.agent) or DEFAULT_CONTEXT.agent} - working"


def _status(result: Result) -> Status:
    """The word for the outcome. What it reads as is compared when the fault is known."""
    if result.lifecycle == "input_required" or result.outcome is None:
        return "partial"
    return STATUSES[result.outcome]


def _check_outcome(result: Result, read: Outcome | None, losses: Losses) -> None:
    if read != result.outcome:
        losses.add("/outcome", f"it reads as `{read}` there" if read else "an answer that asks has none there")


def _error_block(
    result: Result, status: Status, losses: Losses, *, as_lines: bool
) -> tuple[ErrorBlock | None, Fault | None]:
    """The error block, and the fault as it reads back; a complete answer has none."""
    if result.fault is None or status == "complete":
        losses.add_fields(result, "fault", why="a complete answer reports no error there")
        return None, None
    error_block = error_block_of(result.fault, losses, as_lines=as_lines)
    return error_block, fault_of(error_block, Diagnostics("task_signal", "lenient"))


# Signals


_NO_REASON: Final = Fault(code="internal_error", message="The agent failed without a reason.")


def _signals(result: Result, losses: Losses) -> str:
    losses.add_fields(result, "duration_ns")
    status = _status(result)
    error_block, fault = _error_block(result, status, losses, as_lines=True)
    if status == "failed" and error_block is None:
        losses.add("/fault", "a failed answer says why there")
        error_block = error_block_of(_NO_REASON, Losses("task_signal"), as_lines=True)
        fault = fault_of(error_block, Diagnostics("task_signal", "lenient"))
    asks = result.lifecycle == "input_required"
    _check_outcome(result, None if asks else outcome_of(status, fault), losses)
    if not asks:
        losses.add_fields(result, "questions", why="an answer that has ended asks nothing there")
    signals = [*_data_signals(result.data, losses), *_artifact_signals(result, losses)]
    if _is_count(count := _member(result.data, "count")):
        signals.append(Signal("COUNT", str(count)))
    if error_block is not None:
        block = {"ERROR": error_block.error, "CONTEXT": error_block.context, "RECOVERY": error_block.recovery}
        signals += [Signal(name, value) for name, value in block.items() if value]
    signals.append(Signal("STATUS", status))
    signals += _unknown_signals(result, losses, is_failure=error_block is not None)
    content = result.content or _data_as_text(result.data, losses)
    body = write_body(content, result.questions if asks else None, losses)
    return write_answer(SignalAnswer(tuple(signals), body))


def _data_as_text(data: object, losses: Losses) -> str:
    """The data as text for people, where an answer has no other and the signals do not say it all; else nothing."""
    if all(not loss.field.startswith("/data") for loss in losses.entries):
        return ""
    text = data if isinstance(data, str) else f"```json\n{json.dumps(data)}\n```\n"
    if text:
        losses.add("/content", "the data stands in the text there")
    return text


def _data_signals(data: object, losses: Losses) -> list[Signal]:
    """Title and summary of the whole; they stand before the first file, or they would be that file's."""
    if data is None:
        return []
    texts = {name: _short(name, value) for name in _LIMITS if isinstance(value := _member(data, name), str)}
    texts = {name: value for name, value in texts.items() if value}
    count = _member(data, "count")
    names = {*texts, *(["count"] if _is_count(count) else [])}
    if not isinstance(data, dict) or not names:
        losses.add("/data")
        return []
    for name, value in cast("JsonMapping", data).items():
        if name not in names:
            losses.add(f"/data{pointer([name])}")
        elif name in texts and texts[name] != value:
            losses.add(f"/data/{name}", _why_short(name))
    return [Signal(name.upper(), value) for name, value in texts.items()]


def _artifact_signals(result: Result, losses: Losses) -> list[Signal]:
    """The files, each with its title and summary."""
    if not all(_readable_path(artifact) for artifact in result.artifacts):
        losses.add("/artifacts", "a file without a name cannot be told there")
        return [
            each
            for one in result.artifacts
            if _readable_path(one)
            for each in _file_signals(one, "", Losses("task_signal"))
        ]
    return [each for at, one in enumerate(result.artifacts) for each in _file_signals(one, f"/artifacts/{at}", losses)]


def _file_signals(artifact: Artifact, path: str, losses: Losses) -> list[Signal]:
    file_path = _readable_path(artifact)
    if file_path != artifact.path:
        losses.add(f"{path}/path", "on one line there, and with nothing around it")
    signals = [Signal("CREATED", file_path)]
    for name in _LIMITS:
        value: str | None = getattr(artifact, name)
        text = _short(name, value or "")
        if text:
            signals.append(Signal(name.upper(), text))
        if (text or None) != value:
            losses.add(f"{path}/{name}", _why_short(name))
    losses.add_fields(artifact, "type", "topic", "status", "size", "sha256", "media_type", path=path)
    return signals


def _readable_path(artifact: Artifact) -> str:
    """The path as it reads back; empty where it would read as none."""
    return unquote_path(one_line(artifact.path))


def _unknown_signals(result: Result, losses: Losses, *, is_failure: bool) -> list[Signal]:
    """Signals that an earlier reading kept without understanding them."""
    if "task_signal" not in result.extras:
        return []
    extras: object = result.extras["task_signal"]
    mapping = cast("JsonMapping", extras) if isinstance(extras, dict) else {}
    signals: list[Signal] = []
    lost_names: list[str] = []
    for name, value in cast("dict[str, object]", mapping).items():
        values = _texts_of(value)
        is_error_signal = name in _ERROR_SIGNALS and not is_failure and len(values) == 1
        if values and SIGNAL_NAME.fullmatch(name) and (is_error_signal or name not in _RESERVED):
            signals += [Signal(name, each) for each in values]
        else:
            lost_names.append(name)
    if not signals:
        losses.add("/extras/task_signal")
    else:
        for name in lost_names:
            losses.add(f"/extras/task_signal{pointer([name])}")
    return signals


def _texts_of(value: object) -> list[str]:
    """The values of a signal that was said once or several times; none where one of them would not read back."""
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    texts = [each for each in values if isinstance(each, str) and each and one_line(each) == each]
    is_whole = len(texts) == len(values) and (len(texts) > 1 or not isinstance(value, list))
    return texts if is_whole else []


def _short(name: str, value: str) -> str:
    return truncate(one_line(value), _LIMITS[name])


def _why_short(name: str) -> str:
    return f"on one line of at most {_LIMITS[name]} characters there"


def _member(data: object, name: str) -> object:
    return cast("JsonMapping", data).get(name) if isinstance(data, dict) else None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**300


# The JSON form


def _json(result: Result, losses: Losses) -> str:
    status = _status(result)
    error_block, fault = _error_block(result, status, losses, as_lines=False)
    _check_outcome(result, outcome_of(status, fault), losses)
    losses.add_fields(result, "content", "questions")
    _check_ended(result, losses)
    report = JsonReport(
        status=status,
        artifacts=tuple(_report_artifact(one, f"/artifacts/{at}", losses) for at, one in enumerate(result.artifacts)),
        metrics=_metrics(result, losses),
        error=error_block.error if error_block else None,
        context=error_block.context if error_block else None,
        recovery=error_block.recovery if error_block else None,
    )
    return json.dumps({**report.model_dump(exclude_none=True), **_extra_keys(result, losses)})


def _report_artifact(artifact: Artifact, path: str, losses: Losses) -> ReportArtifact:
    losses.add_fields(artifact, "topic", "status", "size", "sha256", "media_type", path=path)
    return ReportArtifact(path=artifact.path, type=artifact.type, title=artifact.title, summary=artifact.summary)


def _metrics(result: Result, losses: Losses) -> JsonMapping | None:
    """The data, and the time it took; a member that would read as that time has no place."""
    data: object = result.data
    if data is not None and not isinstance(data, dict):
        losses.add("/data", "there it is an object")
        return None if result.duration_ns is None else {"time_elapsed": write_duration(result.duration_ns)}
    metrics = dict(cast("JsonMapping", data or {}))
    has_time = result.duration_ns is not None or read_duration(metrics.get("time_elapsed")) is not None
    is_lost = has_time and "time_elapsed" in metrics
    if is_lost:
        del metrics["time_elapsed"]
    if data is not None and not metrics and result.duration_ns is not None:
        losses.add("/data", "the time alone is not data there")
    elif is_lost:
        losses.add("/data/time_elapsed", "that key is the time it took there")
    if result.duration_ns is not None:
        return {**metrics, "time_elapsed": write_duration(result.duration_ns)}
    return None if data is None else metrics


def _extra_keys(result: Result, losses: Losses) -> JsonMapping:
    """Further keys that an earlier reading kept."""
    if "task_signal" not in result.extras:
        return {}
    extras: object = result.extras["task_signal"]
    mapping = cast("JsonMapping", extras) if isinstance(extras, dict) else {}
    extra_keys = {name: value for name, value in mapping.items() if name not in JsonReport.model_fields}
    if not extra_keys:
        losses.add("/extras/task_signal")
    else:
        for name in mapping:
            if name not in extra_keys:
                losses.add(f"/extras/task_signal{pointer([name])}")
    return extra_keys


def _check_ended(result: Result, losses: Losses) -> None:
    if result.lifecycle != "ended":
        losses.add("/lifecycle", "this form says only how a task ended")


# The table


def _table(result: Result, losses: Losses) -> str:
    losses.add_fields(result, "data", "duration_ns", "questions")
    if "task_signal" in result.extras:
        losses.add("/extras/task_signal")
    _check_ended(result, losses)
    status = _status(result)
    rows = _rows(result, _WORDS[status], losses)
    fault: Fault | None = None
    if result.fault is None or status == "complete":
        losses.add_fields(result, "fault", why="a complete answer reports no error there")
    else:
        losses.add_fields(result.fault, "hint", "suggestions", "failed_at", path="/fault")
        brief = result.fault.model_copy(update={"hint": "", "suggestions": (), "failed_at": None})
        error_block = error_block_of(brief, losses, as_lines=True)
        fault = fault_of(error_block, Diagnostics("task_signal", "lenient"))
        rows.append(TableRow(_about(result), "failed", "", error_block.error))
    if not rows:
        rows.append(TableRow(_about(result), _WORDS[status]))
    _check_outcome(result, outcome_of_rows(rows, fault), losses)
    return write_table(AnswerTable(tuple(rows), result.content))


def _rows(result: Result, word: str, losses: Losses) -> list[TableRow]:
    if not all(_readable_path(artifact) for artifact in result.artifacts):
        losses.add("/artifacts", "a file without a name cannot be told there")
        return [_row(one, word, "", Losses("task_signal")) for one in result.artifacts if _readable_path(one)]
    return [_row(one, word, f"/artifacts/{at}", losses) for at, one in enumerate(result.artifacts)]


def _row(artifact: Artifact, word: str, path: str, losses: Losses) -> TableRow:
    cells = {"topic": one_line(artifact.topic or ""), "path": _readable_path(artifact)}
    cells["summary"] = one_line(artifact.summary or "")
    for name, cell in cells.items():
        if (cell or None) != getattr(artifact, name):
            losses.add(f"{path}/{name}", "on one line there")
    status = artifact.status if artifact.status in TABLE_STATUSES else word
    if status != artifact.status:
        losses.add(f"{path}/status", "the table says there how the whole ended")
    losses.add_fields(artifact, "type", "title", "size", "sha256", "media_type", path=path)
    return TableRow(cells["topic"], status or word, cells["path"], cells["summary"])


def _about(result: Result) -> str:
    return one_line(result.skill or result.agent)
