"""What an answer means: signals, the JSON form or a table as a `Result`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping
from retinue.contract.names import nearest
from retinue.contract.result import Artifact, Outcome, Result, Warned
from retinue.contract.text import listed
from retinue.dialects.port import Known
from retinue.dialects.reading import Notes

from .answer import Head, Sheet
from .bare import bare_path, is_nothing
from .elapsed import read_elapsed
from .failure import Said, fault_of
from .questions import read_body
from .status import status_of
from .stray import note_overlooked, note_silence
from .text import CONTROL, bearable, note_at
from .wire import (
    COLUMNS,
    SIGNALS,
    SUMMARY_CHARS,
    TABLE_STATUSES,
    TITLE_CHARS,
    Report,
    Row,
    Signal,
    Status,
)

__all__ = ["from_head", "from_report", "from_table", "outcome_of", "outcome_of_rows"]

_LONGEST_COUNT: Final = 300
_LOOSE_COUNT: Final = re.compile(r"([0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,300})(?:[ \t]++[^0-9]*)?", re.ASCII)
_LIMITS: Final = {"TITLE": TITLE_CHARS, "SUMMARY": SUMMARY_CHARS}


def outcome_of(status: Status | None, fault: Fault | None) -> Outcome:
    """What a status and an error block come to (C1); without a status it is a success, unless there is an error."""
    if status == "failed" or (status is None and fault is not None):
        return "canceled" if fault is not None and fault.code == "canceled" else "error"
    return "partial" if status == "partial" else "success"


# Signals


@dataclass(slots=True)
class _Heard:
    """What the signals of one head say."""

    notes: Notes
    artifacts: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    whole: JsonMapping = field(default_factory=dict[str, Any])
    once: dict[str, Signal] = field(default_factory=dict[str, Signal])
    others: JsonMapping = field(default_factory=dict[str, Any])
    empty: list[Signal] = field(default_factory=list[Signal])


def from_head(head: Head, known: Known, notes: Notes) -> Result:
    """The result that the signals report (C41). What is wrong with them is noted."""
    heard = _Heard(notes)
    for signal in head.answer.signals:
        _hear(signal, heard)
    if not any(signal.name in SIGNALS for signal in head.answer.signals):
        if head.reports and not head.answer.signals and not head.answer.body:
            return Result(task_id=known.task_id, agent=known.agent, skill=known.skill, lifecycle="working")
        note_silence(head, notes)
    else:
        note_overlooked(head, notes, ended=not heard.once.keys().isdisjoint({"STATUS", "ERROR"}))
    fault = _fault(heard)
    status = _status(heard, fault)
    _note_empty(heard, status, has_body=bool(head.answer.body.strip()))
    content, questions = read_body(head.answer.body) if status == "partial" else read_body(head.answer.body, asks=False)
    waits = questions is not None
    return Result(
        task_id=known.task_id,
        agent=known.agent,
        skill=known.skill,
        lifecycle="input_required" if waits else "ended",
        outcome=None if waits else outcome_of(status, fault),
        data=heard.whole or None,
        content=content,
        artifacts=tuple(Artifact(**one) for one in heard.artifacts),  # pyright: ignore[reportArgumentType] - texts
        fault=fault,
        questions=questions or (),
        extras={"task_signal": heard.others} if heard.others else {},
    )


def _hear(signal: Signal, heard: _Heard) -> None:
    name, value = signal.name, signal.value
    if control := CONTROL.search(value):
        message, fix = (
            f"`{name}` holds the control character {control[0]!r}.",
            "End lines with a line feed, and write plain text.",
        )
        severity = "error" if "\r" in value else bearable(heard.notes)
        note_at(heard.notes, "control", message, line=signal.line, fix=fix, severity=severity)
    if not value or (name in {"CREATED", "ERROR"} and is_nothing(value)):
        heard.empty.append(signal)
    elif name == "CREATED":
        heard.artifacts.append({"path": _path(value, signal.line, heard.notes)})
    elif name in _LIMITS:
        _describe(signal, heard)
    elif name == "COUNT":
        _count(signal, heard)
    elif name in SIGNALS:
        if name in heard.once:
            _note_twice(signal, heard.notes)
        heard.once[name] = signal
    else:
        _keep(signal, heard)


def _note_empty(heard: _Heard, status: Status | None, *, has_body: bool) -> None:
    """A signal without a value is borne, but never where that would make a success of an answer that reports none."""
    empty_answer = not (heard.artifacts or heard.whole or heard.once or has_body)
    for signal in heard.empty:
        name = signal.name
        # A template filled in by a model may keep `ERROR:` or `CREATED:` beside a status that speaks for itself. The
        # word "none" is an answer; no word is not.
        failure = name == "ERROR" and status is None and not signal.value
        claim = name == "CREATED" and status in {None, "complete"} and not signal.value
        message, fix = f"`{name}` has no value.", f"Give `{name}` a value, or leave it out."
        if failure:
            fix = "Write `ERROR: CATEGORY - description`, or leave `ERROR` out."
        elif claim:
            fix = "Name the file, as in `CREATED: path`, or leave `CREATED` out."
        severity = "error" if failure or claim or empty_answer else bearable(heard.notes)
        note_at(heard.notes, "empty", message, line=signal.line, fix=fix, severity=severity)


def _path(value: str, line: int, notes: Notes) -> str:
    """The path itself, without what is put around it."""
    path = bare_path(value)
    if path != value:
        message, fix = f"{value[:80]!r} is read as the path {path[:80]!r}.", "Write the path alone."
        note_at(notes, "path", message, line=line, fix=fix, severity=bearable(notes))
    return path


def _describe(signal: Signal, heard: _Heard) -> None:
    """Attach a title or summary to the file before it, else to the whole (C41)."""
    said = heard.artifacts[-1] if heard.artifacts else heard.whole
    name, limit = signal.name.lower(), _LIMITS[signal.name]
    if name in said:
        _note_twice(signal, heard.notes)
    said[name] = signal.value
    if len(signal.value) > limit:
        message = f"`{signal.name}` has {len(signal.value)} characters, and {limit} are allowed."
        fix = "Shorten it; the whole belongs below the signals, or into the file."
        note_at(heard.notes, "length", message, line=signal.line, fix=fix, severity=bearable(heard.notes))


def _count(signal: Signal, heard: _Heard) -> None:
    if "count" in heard.whole:
        _note_twice(signal, heard.notes)
    if signal.value.isascii() and signal.value.isdigit() and len(signal.value) <= _LONGEST_COUNT:
        heard.whole["count"] = int(signal.value)
        return
    found = _LOOSE_COUNT.fullmatch(signal.value) if heard.notes.level == "lenient" else None
    if found:
        heard.whole["count"] = int(found[1].replace(",", ""))
    means = f"it is read as {found[1].replace(',', '')}" if found else "and no number"
    note_at(
        heard.notes, "count", f"`COUNT` is {signal.value[:80]!r}, {means}.", line=signal.line, path="/data/count",
        fix="Write digits alone, as in `COUNT: 1234`.", severity="warning" if found else "error",
    )  # fmt: skip


def _keep(signal: Signal, heard: _Heard) -> None:
    meant = nearest(signal.name, SIGNALS, limit=1)
    fix = f"Did you mean `{meant[0]}`?" if meant else f"Use {', '.join(SIGNALS)}, or say it below a blank line."
    message = f"`{signal.name}` is not a signal; it is kept and not understood."
    note_at(heard.notes, "unknown", message, line=signal.line, fix=fix, severity=bearable(heard.notes))
    before: object = heard.others.get(signal.name)
    if before is None:
        heard.others[signal.name] = signal.value
    else:
        heard.others[signal.name] = [*(before if isinstance(before, list) else [before]), signal.value]


def _fault(heard: _Heard) -> Fault | None:
    error, context, recovery = (heard.once.get(name) for name in ("ERROR", "CONTEXT", "RECOVERY"))
    if error is not None:
        said = Said(error.value, context and context.value, recovery and recovery.value)
        return fault_of(said, heard.notes, line=error.line)
    for stray in filter(None, (context, recovery)):
        message = f"`{stray.name}` stands without an `ERROR`; it is kept and not understood."
        fix = "Add an `ERROR` line before it that says what went wrong."
        note_at(heard.notes, "error_block", message, line=stray.line, fix=fix, severity=bearable(heard.notes))
        heard.others[stray.name] = stray.value
    return None


def _status(heard: _Heard, fault: Fault | None) -> Status | None:
    said = heard.once.get("STATUS")
    if said is None:
        return None
    status = _word(said.value, ("complete", "partial", "failed"), said.line, heard.notes)
    if status == "complete" and fault is not None:
        message = "The answer is complete, and reports an error."
        fix = "Write `STATUS: failed`, or `STATUS: partial`, or leave the `ERROR` out."
        note_at(heard.notes, "status", message, line=said.line, fix=fix, path="/outcome", severity="error")
    elif status == "failed" and fault is None:
        message = "The answer failed, but does not say why."
        fix = "Add `ERROR: CATEGORY - description`."
        note_at(
            heard.notes, "error_block", message, line=said.line, fix=fix, path="/fault", severity=bearable(heard.notes)
        )
    return status


def _word(word: str, exact: Sequence[str], line: int, notes: Notes) -> Status | None:
    """The status that a word says; another word of the same meaning is borne, any other is an error."""
    status = status_of(word)
    if word not in exact:
        means = "is not a valid status" if status is None else f"is taken as `{status}`"
        note_at(
            notes, "status", f"{word[:80]!r} {means}.", line=line, path="/outcome",
            fix=f"Write {listed((f'`{each}`' for each in exact), last='or')}.",
            severity="error" if status is None else bearable(notes),
        )  # fmt: skip
    return status


# The JSON form


def from_report(report: Report, more: JsonMapping, known: Known, notes: Notes) -> Result:
    """The result that the JSON form reports (H14); its metrics are the data, but for the time."""
    fault = None
    if report.error is not None:
        fault = fault_of(Said(report.error, report.context, report.recovery), notes)
    if report.status == "complete" and fault is not None:
        fix = 'Write `"status": "failed"`, or leave `error` out.'
        notes.add("status", "The answer is complete, and reports an error.", path="/status", fix=fix, severity="error")
    data = None if report.metrics is None else dict(report.metrics)
    duration_ns = None
    if data is not None and "time_elapsed" in data:
        duration_ns = read_elapsed(data["time_elapsed"])
        if duration_ns is None:
            fix = 'Write a number and a unit, as in `"2.3s"`.'
            notes.add(
                "time",
                "`time_elapsed` is not a valid time; it is kept as it is.",
                path="/metrics/time_elapsed",
                fix=fix,
            )
        else:
            del data["time_elapsed"]
            data = data or None
    return Result(
        task_id=known.task_id,
        agent=known.agent,
        skill=known.skill,
        outcome=outcome_of(report.status, fault),
        data=data,
        artifacts=tuple(Artifact(**one.model_dump()) for one in report.artifacts),
        fault=fault,
        duration_ns=duration_ns,
        extras={"task_signal": more} if more else {},
    )


# The table form


def from_table(sheet: Sheet, known: Known, notes: Notes) -> Result:
    """The result that a table reports: an artifact a row (H15). A row without a path is about the whole."""
    _note_columns(sheet, notes)
    table = sheet.table
    if not table.rows:
        fix = "Write a row for every file, or `STATUS: complete` where there is none."
        note_at(notes, "rows", "The table has no rows.", line=sheet.line, fix=fix, severity="error")
    artifacts = [_artifact(row, notes) for row in table.rows if bare_path(row.path)]
    fault: Fault | None = None
    warnings: list[Warned] = []
    for row in table.rows:
        if row.status:
            _word(row.status, TABLE_STATUSES, row.line, notes)
        if bare_path(row.path) or not row.summary:
            continue
        if status_of(row.status) == "failed" and fault is None:
            fault = fault_of(Said(row.summary), notes, line=row.line)
        else:
            said = f"{row.topic}: {row.summary}" if row.topic else row.summary
            warnings.append(Warned(type="missing_data", message=said))
            fix = "Name the file of every row."
            note_at(
                notes, "path", f"No file is named for {said[:80]!r}.", line=row.line, fix=fix, severity=bearable(notes)
            )
    return Result(
        task_id=known.task_id,
        agent=known.agent,
        skill=known.skill,
        outcome=outcome_of_rows(table.rows, fault),
        content=table.body,
        artifacts=tuple(artifacts),
        warnings=tuple(warnings),
        fault=fault,
    )


def outcome_of_rows(rows: Sequence[Row], fault: Fault | None) -> Outcome:
    """What the rows come to together: all failed is an error, all done a success, anything else partial."""
    words = {status_of(row.status) or "complete" for row in rows}
    if words == {"failed"}:
        return outcome_of("failed", fault)
    return "success" if words <= {"complete"} else "partial"


def _artifact(row: Row, notes: Notes) -> Artifact:
    path = _path(row.path, row.line, notes)
    return Artifact(path=path, topic=row.topic or None, status=row.status or None, summary=row.summary or None)


def _note_columns(sheet: Sheet, notes: Notes) -> None:
    columns = sheet.columns
    if columns != COLUMNS:
        fix = f"Use the columns {', '.join(COLUMNS)}."
        other = [name for name in columns if name.lower() not in {one.lower() for one in COLUMNS}]
        passed = f" Not read: {', '.join(repr(name[:40]) for name in other[:10])}." if other else ""
        message = f"The table does not have the four columns in their order.{passed}"
        note_at(notes, "columns", message, line=sheet.line, fix=fix, severity=bearable(notes))
    if not sheet.ruled:
        fix = "Write `|---|---|---|---|` below the names of the columns."
        message = "The table has no line of dashes below the names of its columns."
        note_at(notes, "rule", message, line=sheet.line, fix=fix, severity=bearable(notes))
    for line, count in sheet.uneven[:100]:
        message = f"The row has {count} cells, and there are {len(columns)} columns."
        fix = r"Write `\|` for a bar inside a cell."
        note_at(notes, "cells", message, line=line, fix=fix, severity="error")


# Notes


def _note_twice(signal: Signal, notes: Notes) -> None:
    message = f"`{signal.name}` is given twice about the same."
    fix = "Say it once; a file of its own begins with its own `CREATED`."
    note_at(notes, "twice", message, line=signal.line, fix=fix, severity="error")
