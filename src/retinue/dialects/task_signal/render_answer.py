"""Writing answers: a `Result` as signal lines, as the JSON form, or as a table."""

from typing import Final, cast

from retinue.contract import json
from retinue.contract.fault import Fault
from retinue.contract.json import pointer
from retinue.contract.model import JsonMapping
from retinue.contract.result import Artifact, Outcome, Result
from retinue.contract.text import cut
from retinue.dialects.port import NOTHING, Rendered
from retinue.dialects.reading import Notes
from retinue.dialects.writing import Losses, form_of

from .answer import NAME as SIGNAL_NAME, write_answer, write_table
from .answered import outcome_of, outcome_of_rows
from .bare import bare_path
from .elapsed import read_elapsed, write_elapsed
from .failure import Said, fault_of, said_of
from .questions import write_body
from .text import one_line, writable
from .wire import (
    SIGNALS,
    STATUSES,
    SUMMARY_CHARS,
    TABLE_STATUSES,
    TITLE_CHARS,
    Answer,
    Report,
    ReportArtifact,
    Row,
    Signal,
    Status,
    Table,
)  # fmt: skip

__all__ = ["RESULT_FORMS", "render_result"]

RESULT_FORMS: Final = ("signals", "json", "table")

_UNSAID: Final = (
    "versions", "warnings", "traces", "usage", "attempts", "retries", "confidence", "completeness", "files_read",
    "files_written", "native",
)  # fmt: skip
_LIMITS: Final = {"title": TITLE_CHARS, "summary": SUMMARY_CHARS}
_TAKEN: Final = frozenset({*SIGNALS, "PROGRESS", "CHECKPOINT"})
_STRAY: Final = frozenset({"CONTEXT", "RECOVERY"})
"""Signals that belong to an `ERROR`, and are kept when they stand without one."""

_WORDS: Final[dict[Status, str]] = {"complete": "done", "partial": "partial", "failed": "failed"}


def render_result(result: Result, *, form: str | None = None) -> Rendered:
    """Write an answer: signal lines and the text below them, the JSON form, or the table (H6, H14, H15).

    An answer that is still under way is a progress line, whatever the form (C1).

    Raises:
        InvalidInput: There is no such form, or a value is no whole text or no JSON.
    """
    form = form_of(form, RESULT_FORMS, "task_signal")
    losses = Losses("task_signal")
    losses.unsaid(result, *_UNSAID)
    losses.unsaid(result, "reasoning", why="what an agent thought is not handed on")
    _unknown(result, losses)
    losses.foreign(result.extras)
    if result.lifecycle in {"submitted", "working"}:
        return Rendered(writable(_working(result, losses)), form="signals", losses=tuple(losses.found))
    match form:
        case "json":
            text = _json(result, losses)
        case "table":
            text = _table(result, losses)
        case _:
            text = _signals(result, losses)
    return Rendered(writable(text), form=form, losses=tuple(losses.found))


def _unknown(result: Result, losses: Losses) -> None:
    """Note what the reader must know by itself."""
    for name in ("task_id", "agent", "skill"):
        if getattr(result, name) != getattr(NOTHING, name):
            losses.add(f"/{name}")


def _working(result: Result, losses: Losses) -> str:
    why = "a progress line says only that it is under way"
    losses.unsaid(result, "outcome", "data", "content", "artifacts", "fault", "duration_ns", "questions", why=why)
    if result.lifecycle != "working":
        losses.add("/lifecycle", why)
    if "task_signal" in result.extras:
        losses.add("/extras/task_signal", why)
    return f"PROGRESS: {one_line(result.skill or result.agent) or NOTHING.agent} - working"


def _status(result: Result) -> Status:
    """The word for the outcome. What it reads as is compared when the fault is known."""
    if result.lifecycle == "input_required" or result.outcome is None:
        return "partial"
    return STATUSES[result.outcome]


def _see_outcome(result: Result, read: Outcome | None, losses: Losses) -> None:
    if read != result.outcome:
        losses.add("/outcome", f"it reads as `{read}` there" if read else "an answer that asks has none there")


def _block(result: Result, status: Status, losses: Losses, *, lines: bool) -> tuple[Said | None, Fault | None]:
    """The error block, and the fault as it reads back; a complete answer has none."""
    if result.fault is None or status == "complete":
        losses.unsaid(result, "fault", why="a complete answer reports no error there")
        return None, None
    said = said_of(result.fault, losses, lines=lines)
    return said, fault_of(said, Notes("task_signal", "lenient"))


# Signals


_UNTOLD: Final = Fault(code="internal_error", message="The agent failed without a reason.")


def _signals(result: Result, losses: Losses) -> str:
    losses.unsaid(result, "duration_ns")
    status = _status(result)
    said, fault = _block(result, status, losses, lines=True)
    if status == "failed" and said is None:
        losses.add("/fault", "a failed answer says why there")
        said = said_of(_UNTOLD, Losses("task_signal"), lines=True)
        fault = fault_of(said, Notes("task_signal", "lenient"))
    asks = result.lifecycle == "input_required"
    _see_outcome(result, None if asks else outcome_of(status, fault), losses)
    if not asks:
        losses.unsaid(result, "questions", why="an answer that has ended asks nothing there")
    signals = [*_whole(result.data, losses), *_created(result, losses)]
    if _is_count(count := _member(result.data, "count")):
        signals.append(Signal("COUNT", str(count)))
    if said is not None:
        block = {"ERROR": said.error, "CONTEXT": said.context, "RECOVERY": said.recovery}
        signals += [Signal(name, value) for name, value in block.items() if value]
    signals.append(Signal("STATUS", status))
    signals += _others(result, losses, is_failure=said is not None)
    content = result.content or _data_told(result.data, losses)
    body = write_body(content, result.questions if asks else None, losses)
    return write_answer(Answer(tuple(signals), body))


def _data_told(data: object, losses: Losses) -> str:
    """The data as text for people, where an answer has no other and the signals do not say it all; else nothing."""
    if all(not loss.field.startswith("/data") for loss in losses.found):
        return ""
    text = data if isinstance(data, str) else f"```json\n{json.dumps(data)}\n```\n"
    if text:
        losses.add("/content", "the data stands in the text there")
    return text


def _whole(data: object, losses: Losses) -> list[Signal]:
    """Title and summary of the whole; they stand before the first file, or they would be that file's."""
    if data is None:
        return []
    said = {name: _short(name, value) for name in _LIMITS if isinstance(value := _member(data, name), str)}
    said = {name: value for name, value in said.items() if value}
    count = _member(data, "count")
    kept = {*said, *(["count"] if _is_count(count) else [])}
    if not isinstance(data, dict) or not kept:
        losses.add("/data")
        return []
    for name, value in cast("JsonMapping", data).items():
        if name not in kept:
            losses.add(f"/data{pointer([name])}")
        elif name in said and said[name] != value:
            losses.add(f"/data/{name}", _why_short(name))
    return [Signal(name.upper(), value) for name, value in said.items()]


def _created(result: Result, losses: Losses) -> list[Signal]:
    """The files, each with its title and summary."""
    if not all(_named(artifact) for artifact in result.artifacts):
        losses.add("/artifacts", "a file without a name cannot be told there")
        return [each for one in result.artifacts if _named(one) for each in _file(one, "", Losses("task_signal"))]
    return [each for at, one in enumerate(result.artifacts) for each in _file(one, f"/artifacts/{at}", losses)]


def _file(artifact: Artifact, path: str, losses: Losses) -> list[Signal]:
    named = _named(artifact)
    if named != artifact.path:
        losses.add(f"{path}/path", "on one line there, and with nothing around it")
    signals = [Signal("CREATED", named)]
    for name in _LIMITS:
        value: str | None = getattr(artifact, name)
        said = _short(name, value or "")
        if said:
            signals.append(Signal(name.upper(), said))
        if (said or None) != value:
            losses.add(f"{path}/{name}", _why_short(name))
    losses.unsaid(artifact, "type", "topic", "status", "size", "sha256", "media_type", path=path)
    return signals


def _named(artifact: Artifact) -> str:
    """The path as it reads back; empty where it would read as none."""
    return bare_path(one_line(artifact.path))


def _others(result: Result, losses: Losses, *, is_failure: bool) -> list[Signal]:
    """Signals that an earlier reading kept without understanding them."""
    if "task_signal" not in result.extras:
        return []
    kept: object = result.extras["task_signal"]
    named = cast("JsonMapping", kept) if isinstance(kept, dict) else {}
    signals: list[Signal] = []
    lost: list[str] = []
    for name, value in cast("dict[str, object]", named).items():
        values = _texts_of(value)
        is_stray = name in _STRAY and not is_failure and len(values) == 1
        if values and SIGNAL_NAME.fullmatch(name) and (is_stray or name not in _TAKEN):
            signals += [Signal(name, each) for each in values]
        else:
            lost.append(name)
    if not signals:
        losses.add("/extras/task_signal")
    else:
        for name in lost:
            losses.add(f"/extras/task_signal{pointer([name])}")
    return signals


def _texts_of(value: object) -> list[str]:
    """The values of a signal that was said once or several times; none where one of them would not read back."""
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    said = [each for each in values if isinstance(each, str) and each and one_line(each) == each]
    is_whole = len(said) == len(values) and (len(said) > 1 or not isinstance(value, list))
    return said if is_whole else []


def _short(name: str, value: str) -> str:
    return cut(one_line(value), _LIMITS[name])


def _why_short(name: str) -> str:
    return f"on one line of at most {_LIMITS[name]} characters there"


def _member(data: object, name: str) -> object:
    return cast("JsonMapping", data).get(name) if isinstance(data, dict) else None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**300


# The JSON form


def _json(result: Result, losses: Losses) -> str:
    status = _status(result)
    said, fault = _block(result, status, losses, lines=False)
    _see_outcome(result, outcome_of(status, fault), losses)
    losses.unsaid(result, "content", "questions")
    _see_ended(result, losses)
    report = Report(
        status=status,
        artifacts=tuple(_listed(one, f"/artifacts/{at}", losses) for at, one in enumerate(result.artifacts)),
        metrics=_metrics(result, losses),
        error=said.error if said else None,
        context=said.context if said else None,
        recovery=said.recovery if said else None,
    )
    return json.dumps({**report.model_dump(exclude_none=True), **_more(result, losses)})


def _listed(artifact: Artifact, path: str, losses: Losses) -> ReportArtifact:
    losses.unsaid(artifact, "topic", "status", "size", "sha256", "media_type", path=path)
    return ReportArtifact(path=artifact.path, type=artifact.type, title=artifact.title, summary=artifact.summary)


def _metrics(result: Result, losses: Losses) -> JsonMapping | None:
    """The data, and the time it took; a member that would read as that time has no place."""
    data: object = result.data
    if data is not None and not isinstance(data, dict):
        losses.add("/data", "there it is an object")
        return None if result.duration_ns is None else {"time_elapsed": write_elapsed(result.duration_ns)}
    metrics = dict(cast("JsonMapping", data or {}))
    timed = result.duration_ns is not None or read_elapsed(metrics.get("time_elapsed")) is not None
    lost = timed and "time_elapsed" in metrics
    if lost:
        del metrics["time_elapsed"]
    if data is not None and not metrics and result.duration_ns is not None:
        losses.add("/data", "the time alone is not data there")
    elif lost:
        losses.add("/data/time_elapsed", "that key is the time it took there")
    if result.duration_ns is not None:
        return {**metrics, "time_elapsed": write_elapsed(result.duration_ns)}
    return None if data is None else metrics


def _more(result: Result, losses: Losses) -> JsonMapping:
    """Further keys that an earlier reading kept."""
    if "task_signal" not in result.extras:
        return {}
    kept: object = result.extras["task_signal"]
    named = cast("JsonMapping", kept) if isinstance(kept, dict) else {}
    more = {name: value for name, value in named.items() if name not in Report.model_fields}
    if not more:
        losses.add("/extras/task_signal")
    else:
        for name in named:
            if name not in more:
                losses.add(f"/extras/task_signal{pointer([name])}")
    return more


def _see_ended(result: Result, losses: Losses) -> None:
    if result.lifecycle != "ended":
        losses.add("/lifecycle", "this form says only how a task ended")


# The table


def _table(result: Result, losses: Losses) -> str:
    losses.unsaid(result, "data", "duration_ns", "questions")
    if "task_signal" in result.extras:
        losses.add("/extras/task_signal")
    _see_ended(result, losses)
    status = _status(result)
    rows = _rows(result, _WORDS[status], losses)
    fault: Fault | None = None
    if result.fault is None or status == "complete":
        losses.unsaid(result, "fault", why="a complete answer reports no error there")
    else:
        losses.unsaid(result.fault, "hint", "suggestions", "failed_at", path="/fault")
        brief = result.fault.model_copy(update={"hint": "", "suggestions": (), "failed_at": None})
        said = said_of(brief, losses, lines=True)
        fault = fault_of(said, Notes("task_signal", "lenient"))
        rows.append(Row(_about(result), "failed", "", said.error))
    if not rows:
        rows.append(Row(_about(result), _WORDS[status]))
    _see_outcome(result, outcome_of_rows(rows, fault), losses)
    return write_table(Table(tuple(rows), result.content))


def _rows(result: Result, word: str, losses: Losses) -> list[Row]:
    if not all(_named(artifact) for artifact in result.artifacts):
        losses.add("/artifacts", "a file without a name cannot be told there")
        return [_row(one, word, "", Losses("task_signal")) for one in result.artifacts if _named(one)]
    return [_row(one, word, f"/artifacts/{at}", losses) for at, one in enumerate(result.artifacts)]


def _row(artifact: Artifact, word: str, path: str, losses: Losses) -> Row:
    cells = {"topic": one_line(artifact.topic or ""), "path": _named(artifact)}
    cells["summary"] = one_line(artifact.summary or "")
    for name, cell in cells.items():
        if (cell or None) != getattr(artifact, name):
            losses.add(f"{path}/{name}", "on one line there")
    status = artifact.status if artifact.status in TABLE_STATUSES else word
    if status != artifact.status:
        losses.add(f"{path}/status", "the table says there how the whole ended")
    losses.unsaid(artifact, "type", "title", "size", "sha256", "media_type", path=path)
    return Row(cells["topic"], status or word, cells["path"], cells["summary"])


def _about(result: Result) -> str:
    return one_line(result.skill or result.agent)
