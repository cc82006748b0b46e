"""What an answer means: signals, the JSON form or a table as a `Result`.

An agent that cannot go on puts its questions before the text of its answer; text that looks like such a list stands
below a line `**Answer**:`.

    **Questions**:
    - [period] Which period is meant?
      - Q1
      - Q2
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import Any, Final

from retinue.contract.fault import Fault
from retinue.contract.formatting import natural_list
from retinue.contract.model import JsonMapping
from retinue.contract.names import nearest
from retinue.contract.result import Artifact, Outcome, Result, Warned
from retinue.contract.task import Question
from retinue.dialects.diagnostics import Diagnostics
from retinue.dialects.port import ParseContext
from retinue.errors import FaultCode

from . import wire
from .answer_text import AnswerHead, ParsedTable, is_table, lines_of

_LONGEST_COUNT: Final = 300
_LOOSE_COUNT: Final = re.compile(r"([0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,300})(?:[ \t]++[^0-9]*)?", re.ASCII)
_LIMITS: Final = {"TITLE": wire.TITLE_CHARS, "SUMMARY": wire.SUMMARY_CHARS}


def outcome_of(status: wire.Status | None, fault: Fault | None) -> Outcome:
    """What a status and an error block come to (C1); without a status it is a success, unless there is an error."""
    if status == "failed" or (status is None and fault is not None):
        return "canceled" if fault is not None and fault.code == "canceled" else "error"
    return "partial" if status == "partial" else "success"


# Signals


@dataclass(slots=True)
class _HeadFields:
    """What the signals of one head say."""

    notes: Diagnostics
    artifacts: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    data: JsonMapping = field(default_factory=dict[str, Any])
    by_name: dict[str, wire.Signal] = field(default_factory=dict[str, wire.Signal])
    unknown: JsonMapping = field(default_factory=dict[str, Any])
    empty: list[wire.Signal] = field(default_factory=list[wire.Signal])


def from_head(head: AnswerHead, context: ParseContext, notes: Diagnostics) -> Result:
    """The result that the signals report (C41). What is wrong with them is noted."""
    fields = _HeadFields(notes)
    for signal in head.answer.signals:
        _read_signal(signal, fields)
    if not any(signal.name in wire.SIGNALS for signal in head.answer.signals):
        if head.has_events and not head.answer.signals and not head.answer.body:
            return Result(task_id=context.task_id, agent=context.agent, skill=context.skill, lifecycle="working")
        note_no_signals(head, notes)
    else:
        note_near_misses(head, notes, has_outcome=not fields.by_name.keys().isdisjoint({"STATUS", "ERROR"}))
    fault = _fault(fields)
    status = _status(fields, fault)
    _note_empty(fields, status, has_body=bool(head.answer.body.strip()))
    content, questions = (
        read_body(head.answer.body) if status == "partial" else read_body(head.answer.body, allow_questions=False)
    )
    is_waiting = questions is not None
    return Result(
        task_id=context.task_id,
        agent=context.agent,
        skill=context.skill,
        lifecycle="input_required" if is_waiting else "ended",
        outcome=None if is_waiting else outcome_of(status, fault),
        data=fields.data or None,
        content=content,
        artifacts=tuple(Artifact(**one) for one in fields.artifacts),  # pyright: ignore[reportArgumentType] - texts
        fault=fault,
        questions=questions or (),
        extras={"task_signal": fields.unknown} if fields.unknown else {},
    )


def _read_signal(signal: wire.Signal, fields: _HeadFields) -> None:
    name, value = signal.name, signal.value
    if control := wire.CONTROL.search(value):
        message, fix = (
            f"`{name}` holds the control character {control[0]!r}.",
            "End lines with a line feed, and write plain text.",
        )
        severity = "error" if "\r" in value else wire.strict_severity(fields.notes)
        wire.note_at(fields.notes, "control", message, line=signal.line, fix=fix, severity=severity)
    if not value or (name in {"CREATED", "ERROR"} and wire.is_nothing(value)):
        fields.empty.append(signal)
    elif name == "CREATED":
        fields.artifacts.append({"path": _read_path(value, signal.line, fields.notes)})
    elif name in _LIMITS:
        _describe(signal, fields)
    elif name == "COUNT":
        _read_count(signal, fields)
    elif name in wire.SIGNALS:
        if name in fields.by_name:
            _note_duplicate(signal, fields.notes)
        fields.by_name[name] = signal
    else:
        _keep_unknown(signal, fields)


def _note_empty(fields: _HeadFields, status: wire.Status | None, *, has_body: bool) -> None:
    """A signal without a value is borne, but never where that would make a success of an answer that reports none."""
    empty_answer = not (fields.artifacts or fields.data or fields.by_name or has_body)
    for signal in fields.empty:
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
        severity = "error" if failure or claim or empty_answer else wire.strict_severity(fields.notes)
        wire.note_at(fields.notes, "empty", message, line=signal.line, fix=fix, severity=severity)


def _read_path(value: str, line: int, notes: Diagnostics) -> str:
    """The path itself, without what is put around it."""
    path = wire.unquote_path(value)
    if path != value:
        message, fix = f"{value[:80]!r} is read as the path {path[:80]!r}.", "Write the path alone."
        wire.note_at(notes, "path", message, line=line, fix=fix, severity=wire.strict_severity(notes))
    return path


def _describe(signal: wire.Signal, fields: _HeadFields) -> None:
    """Attach a title or summary to the file before it, else to the whole (C41)."""
    target = fields.artifacts[-1] if fields.artifacts else fields.data
    name, limit = signal.name.lower(), _LIMITS[signal.name]
    if name in target:
        _note_duplicate(signal, fields.notes)
    target[name] = signal.value
    if len(signal.value) > limit:
        message = f"`{signal.name}` has {len(signal.value)} characters, and {limit} are allowed."
        fix = "Shorten it; the whole belongs below the signals, or into the file."
        wire.note_at(
            fields.notes, "length", message, line=signal.line, fix=fix, severity=wire.strict_severity(fields.notes)
        )


def _read_count(signal: wire.Signal, fields: _HeadFields) -> None:
    if "count" in fields.data:
        _note_duplicate(signal, fields.notes)
    if signal.value.isascii() and signal.value.isdigit() and len(signal.value) <= _LONGEST_COUNT:
        fields.data["count"] = int(signal.value)
        return
    match = _LOOSE_COUNT.fullmatch(signal.value) if fields.notes.level == "lenient" else None
    if match:
        fields.data["count"] = int(match[1].replace(",", ""))
    means = f"it is read as {match[1].replace(',', '')}" if match else "and no number"
    wire.note_at(
        fields.notes, "count", f"`COUNT` is {signal.value[:80]!r}, {means}.", line=signal.line, path="/data/count",
        fix="Write digits alone, as in `COUNT: 1234`.", severity="warning" if match else "error",
    )  # fmt: skip


def _keep_unknown(signal: wire.Signal, fields: _HeadFields) -> None:
    suggestions = nearest(signal.name, wire.SIGNALS, limit=1)
    fix = (
        f"Did you mean `{suggestions[0]}`?"
        if suggestions
        else f"Use {', '.join(wire.SIGNALS)}, or say it below a blank line."
    )
    message = f"`{signal.name}` is not a signal; it is kept and not understood."
    wire.note_at(
        fields.notes, "unknown", message, line=signal.line, fix=fix, severity=wire.strict_severity(fields.notes)
    )
    previous: object = fields.unknown.get(signal.name)
    if previous is None:
        fields.unknown[signal.name] = signal.value
    else:
        fields.unknown[signal.name] = [*(previous if isinstance(previous, list) else [previous]), signal.value]


def _fault(fields: _HeadFields) -> Fault | None:
    error, context, recovery = (fields.by_name.get(name) for name in ("ERROR", "CONTEXT", "RECOVERY"))
    if error is not None:
        block = ErrorBlock(error.value, context and context.value, recovery and recovery.value)
        return fault_of(block, fields.notes, line=error.line)
    for signal in filter(None, (context, recovery)):
        message = f"`{signal.name}` stands without an `ERROR`; it is kept and not understood."
        fix = "Add an `ERROR` line before it that says what went wrong."
        wire.note_at(
            fields.notes, "error_block", message, line=signal.line, fix=fix, severity=wire.strict_severity(fields.notes)
        )
        fields.unknown[signal.name] = signal.value
    return None


def _status(fields: _HeadFields, fault: Fault | None) -> wire.Status | None:
    signal = fields.by_name.get("STATUS")
    if signal is None:
        return None
    status = _read_status(signal.value, ("complete", "partial", "failed"), signal.line, fields.notes)
    if status == "complete" and fault is not None:
        message = "The answer is complete, and reports an error."
        fix = "Write `STATUS: failed`, or `STATUS: partial`, or leave the `ERROR` out."
        wire.note_at(fields.notes, "status", message, line=signal.line, fix=fix, path="/outcome", severity="error")
    elif status == "failed" and fault is None:
        message = "The answer failed, but does not say why."
        fix = "Add `ERROR: CATEGORY - description`."
        wire.note_at(
            fields.notes,
            "error_block",
            message,
            line=signal.line,
            fix=fix,
            path="/fault",
            severity=wire.strict_severity(fields.notes),
        )
    return status


def _read_status(word: str, valid_words: Sequence[str], line: int, notes: Diagnostics) -> wire.Status | None:
    """The status that a word says; another word of the same meaning is borne, any other is an error."""
    status = wire.status_of(word)
    if word not in valid_words:
        means = "is not a valid status" if status is None else f"is taken as `{status}`"
        wire.note_at(
            notes, "status", f"{word[:80]!r} {means}.", line=line, path="/outcome",
            fix=f"Write {natural_list((f'`{each}`' for each in valid_words), last='or')}.",
            severity="error" if status is None else wire.strict_severity(notes),
        )  # fmt: skip
    return status


# The JSON form


def from_report(report: wire.JsonReport, extras: JsonMapping, context: ParseContext, notes: Diagnostics) -> Result:
    """The result that the JSON form reports (H14); its metrics are the data, but for the time."""
    fault = None
    if report.error is not None:
        fault = fault_of(ErrorBlock(report.error, report.context, report.recovery), notes)
    if report.status == "complete" and fault is not None:
        fix = 'Write `"status": "failed"`, or leave `error` out.'
        notes.add("status", "The answer is complete, and reports an error.", path="/status", fix=fix, severity="error")
    data = None if report.metrics is None else dict(report.metrics)
    duration_ns = None
    if data is not None and "time_elapsed" in data:
        duration_ns = wire.read_duration(data["time_elapsed"])
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
        task_id=context.task_id,
        agent=context.agent,
        skill=context.skill,
        outcome=outcome_of(report.status, fault),
        data=data,
        artifacts=tuple(Artifact(**one.model_dump()) for one in report.artifacts),
        fault=fault,
        duration_ns=duration_ns,
        extras={"task_signal": extras} if extras else {},
    )


# The table form


def from_table(sheet: ParsedTable, context: ParseContext, notes: Diagnostics) -> Result:
    """The result that a table reports: an artifact a row (H15). A row without a path is about the whole."""
    _check_columns(sheet, notes)
    table = sheet.table
    if not table.rows:
        fix = "Write a row for every file, or `STATUS: complete` where there is none."
        wire.note_at(notes, "rows", "The table has no rows.", line=sheet.line, fix=fix, severity="error")
    artifacts = [_artifact(row, notes) for row in table.rows if wire.unquote_path(row.path)]
    fault: Fault | None = None
    warnings: list[Warned] = []
    for row in table.rows:
        if row.status:
            _read_status(row.status, wire.TABLE_STATUSES, row.line, notes)
        if wire.unquote_path(row.path) or not row.summary:
            continue
        if wire.status_of(row.status) == "failed" and fault is None:
            fault = fault_of(ErrorBlock(row.summary), notes, line=row.line)
        else:
            text = f"{row.topic}: {row.summary}" if row.topic else row.summary
            warnings.append(Warned(type="missing_data", message=text))
            fix = "Name the file of every row."
            wire.note_at(
                notes,
                "path",
                f"No file is named for {text[:80]!r}.",
                line=row.line,
                fix=fix,
                severity=wire.strict_severity(notes),
            )
    return Result(
        task_id=context.task_id,
        agent=context.agent,
        skill=context.skill,
        outcome=outcome_of_rows(table.rows, fault),
        content=table.body,
        artifacts=tuple(artifacts),
        warnings=tuple(warnings),
        fault=fault,
    )


def outcome_of_rows(rows: Sequence[wire.TableRow], fault: Fault | None) -> Outcome:
    """What the rows come to together: all failed is an error, all done a success, anything else partial."""
    words = {wire.status_of(row.status) or "complete" for row in rows}
    if words == {"failed"}:
        return outcome_of("failed", fault)
    return "success" if words <= {"complete"} else "partial"


def _artifact(row: wire.TableRow, notes: Diagnostics) -> Artifact:
    path = _read_path(row.path, row.line, notes)
    return Artifact(path=path, topic=row.topic or None, status=row.status or None, summary=row.summary or None)


def _check_columns(sheet: ParsedTable, notes: Diagnostics) -> None:
    columns = sheet.columns
    if columns != wire.COLUMNS:
        fix = f"Use the columns {', '.join(wire.COLUMNS)}."
        other = [name for name in columns if name.lower() not in {one.lower() for one in wire.COLUMNS}]
        suffix = f" Not read: {', '.join(repr(name[:40]) for name in other[:10])}." if other else ""
        message = f"The table does not have the four columns in their order.{suffix}"
        wire.note_at(notes, "columns", message, line=sheet.line, fix=fix, severity=wire.strict_severity(notes))
    if not sheet.has_rule:
        fix = "Write `|---|---|---|---|` below the names of the columns."
        message = "The table has no line of dashes below the names of its columns."
        wire.note_at(notes, "rule", message, line=sheet.line, fix=fix, severity=wire.strict_severity(notes))
    for line, count in sheet.uneven_rows[:100]:
        message = f"The row has {count} cells, and there are {len(columns)} columns."
        fix = r"Write `\|` for a bar inside a cell."
        wire.note_at(notes, "cells", message, line=line, fix=fix, severity="error")


# Notes


def _note_duplicate(signal: wire.Signal, notes: Diagnostics) -> None:
    message = f"`{signal.name}` is given twice about the same."
    fix = "Say it once; a file of its own begins with its own `CREATED`."
    wire.note_at(notes, "twice", message, line=signal.line, fix=fix, severity="error")


_MARK: Final = r"(?:\*\*|__|`)?"
_SIGNAL_LIKE: Final = re.compile(
    rf"[ \t]*+(?:>[ \t]*+)?(?:(?:[-*+]|[0-9]{{1,3}}[.)])[ \t]++)?{_MARK}({'|'.join(wire.SIGNALS)}){_MARK}"
    rf"[ \t]*+[:\uff1a]{_MARK}[ \t]*+(.*)",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
_LONGEST: Final = 1_000
"""Letters of a line that is looked at; a longer one is prose."""
_LINES: Final = 10_000
"""So many lines are looked through."""


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A line that was meant as a signal.

    Attributes:
        line: Counted from 1 in the text that was looked through.
        is_well_formed: It is written as a signal, so that only its place is wrong.
        is_upper: Its name is in capitals.
        is_fenced: It stands in a code fence.
    """

    name: str
    value: str
    line: int
    is_well_formed: bool
    is_upper: bool
    is_fenced: bool


def find_near_misses(text: str) -> Iterator[NearMiss]:
    """Every line of `text` that was meant as a signal, in order; a long text is not looked through to its end."""
    fences = wire.Fences()
    for number, (line, _, _) in enumerate(islice(lines_of(text), _LINES), start=1):
        in_fence = fences.is_code(line)
        match = _SIGNAL_LIKE.fullmatch(line) if len(line) <= _LONGEST else None
        if match is not None:
            is_well_formed = line.startswith(f"{match[1].upper()}:")
            yield NearMiss(
                match[1].upper(),
                match[2].strip(),
                number,
                is_well_formed=is_well_formed,
                is_upper=match[1].isupper(),
                is_fenced=in_fence,
            )


_WHERE: Final = (
    "Begin the answer with lines such as `CREATED: path`, `STATUS: complete` or `ERROR: CATEGORY - description`."
)


def note_no_signals(head: AnswerHead, notes: Diagnostics) -> None:
    """Say that there is no signal, and where something looks like one."""
    body = head.answer.body
    message, fix, line = "No signal stands at the start of the answer.", _WHERE, head.line
    near_miss = next(find_near_misses(body), None)
    table = next((at for at, (row, _, _) in enumerate(lines_of(body)) if row[:1] == "|" and is_table(row)), -1)
    if near_miss is not None:
        line = head.line + near_miss.line - 1
        why, fix = _explain(near_miss)
        message += f" `{near_miss.name}` on line {line} does not count: {why}."
    elif table >= 0:
        line = head.line + table
        message += f" The table on line {line} does not count: it stands below other text, or in a code fence."
        fix = "Begin the answer with the table itself."
    wire.note_at(notes, "signals", message, line=line, fix=fix, severity="error")


def _explain(near_miss: NearMiss) -> tuple[str, str]:
    """Why a line is no signal, and what to do about it."""
    if near_miss.is_fenced:
        return "it is in a code fence", f"Take the code fence off. {_WHERE}"
    if near_miss.is_well_formed:
        return "it stands below other text", f"Move it above all other text. {_WHERE}"
    fix = "Write the name in capitals at the start of the line: no bold, bullet, number, quote mark or space before it."
    return "its name does not stand bare at the start of the line", f"{fix} {_WHERE}"


def note_near_misses(head: AnswerHead, notes: Diagnostics, *, has_outcome: bool) -> None:
    """Say what of the text below the signals may have been meant as some.

    Args:
        head: With some signals.
        notes: Where to say it.
        has_outcome: The signals say how it ended. Where they do not, a bad end that stands below them is not passed
            over.
    """
    for number in head.bold_lines[:10]:
        fix = "Write the name of a signal without stars."
        wire.note_at(notes, "signals", "The name of a signal is bold.", line=number, fix=fix)
    last = 0
    if head.is_adjacent:
        last = sum(1 for _ in takewhile(lambda each: each[0].strip(), lines_of(head.answer.body)))
        message, fix = (
            "No blank line stands between the signals and the text below them.",
            "Put one after the last signal.",
        )
        wire.note_at(notes, "layout", message, line=head.line, fix=fix, severity=wire.strict_severity(notes))
    has_note = False
    for near_miss in find_near_misses(head.answer.body):
        is_near = not has_note and near_miss.is_well_formed and near_miss.line <= max(last, 1)
        is_bad_end = not has_outcome and _is_bad_end(near_miss)
        if is_near or is_bad_end:
            has_note = True
            line = head.line + near_miss.line - 1
            message = f"`{near_miss.name}` on line {line} does not count: it stands below the signals."
            fix = "Write all signals one below the other, without other lines between, and then a blank line."
            severity = "error" if is_bad_end or last else "warning"
            wire.note_at(notes, "signals", message, line=line, fix=fix, severity=severity)
        if is_bad_end or (has_outcome and (has_note or near_miss.line > last)):
            return


def _is_bad_end(near_miss: NearMiss) -> bool:
    """Whether the line says that the work did not end well."""
    if near_miss.is_fenced or not near_miss.is_upper:
        return False
    if near_miss.name == "STATUS":
        return wire.status_of(near_miss.value) in {"partial", "failed"}
    return near_miss.name == "ERROR" and wire.code_of(near_miss.value.partition(" ")[0]) is not None


_QUESTIONS: Final = "**Questions**:"
_ANSWER: Final = "**Answer**:"
_QUESTION: Final = re.compile(r"- \[([^\[\]]{1,200})\] (.*)")
_UNNAMED: Final = re.compile(r"- (.*)")
_OPTION: Final = re.compile(r"[ ]{2,}- (.*)")


def read_body(body: str, *, allow_questions: bool = True) -> tuple[str, tuple[Question, ...] | None]:
    """The text of the body and its questions; None when it asks nothing, or `allow_questions` is false."""
    questions: tuple[Question, ...] | None = None
    if allow_questions and _line(body, 0)[0].rstrip() == _QUESTIONS:
        questions, end = _read_questions(body, _line(body, 0)[1])
        body = body[end:]
    first, end = _line(body, 0)
    return (body[end:] if first == _ANSWER else body), questions


def write_body(content: str, questions: Sequence[Question] | None) -> str:
    """The body that says this, so that `read_body` gives it back."""
    first = _line(content, 0)[0]
    text = f"{_ANSWER}\n{content}" if first == _ANSWER or first.rstrip() == _QUESTIONS else content
    if questions is None:
        return text
    section = "\n".join([_QUESTIONS, *(line for question in questions for line in _question_lines(question))])
    return f"{section}\n\n{text}" if text else section


def _read_questions(body: str, start: int) -> tuple[tuple[Question, ...], int]:
    """The questions from there on, and where the text behind them begins."""
    parts: list[tuple[str, str, list[str]]] = []
    while start < len(body):
        line, end = _line(body, start)
        option = _OPTION.fullmatch(line) if parts else None
        named_match = _QUESTION.fullmatch(line)
        unnamed_match = None if named_match else _UNNAMED.fullmatch(line)
        if option:
            parts[-1][2].append(option[1].strip())
        elif named_match:
            parts.append((named_match[1], named_match[2].strip(), []))
        elif unnamed_match:
            parts.append((f"q{len(parts) + 1}", unnamed_match[1].strip(), []))
        else:
            start = end if not line.strip() else start
            break
        start = end
    return tuple(_question(*one) for one in parts), min(start, len(body))


def _question(name: str, text: str, options: Sequence[str]) -> Question:
    return Question(id=name, text=text, kind="choice" if options else "question", options=tuple(options))


def _question_lines(question: Question) -> list[str]:
    short = wire.one_line(question.id.replace("[", "(").replace("]", ")"))[:200].rstrip() or "question"
    return [
        f"- [{short}] {wire.one_line(question.text)}",
        *(f"  - {wire.one_line(option)}" for option in question.options),
    ]


def _line(text: str, start: int) -> tuple[str, int]:
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    return text[start:end].removesuffix("\r"), min(end + 1, len(text))


_CATEGORY: Final = re.compile(r"([A-Z][A-Z0-9_]{1,63})(?:[ \t]+([-\u2013\u2014])(?:[ \t](.*)|)|)", re.DOTALL)
_LOOSE_CATEGORY: Final = re.compile(
    r"[\[`*]{0,3}([A-Za-z][A-Za-z_ -]{1,40}?)[\]`*]{0,3}[ \t]*+(?:[-:](?![A-Za-z])|[\u2013\u2014])[ \t]*+(.*)",
    re.DOTALL,
)
"""A category in other letters or signs, and what follows it."""

_RETRYABLE: Final[frozenset[FaultCode]] = frozenset({"network_error", "unavailable", "timeout"})


@dataclass(frozen=True, slots=True)
class ErrorBlock:
    """The three lines of the block."""

    error: str
    context: str | None = None
    recovery: str | None = None


def fault_of(block: ErrorBlock, notes: Diagnostics, *, line: int = 1) -> Fault:
    """The fault that a block reports. An unknown category is an internal error, and kept in `detail["category"]`."""
    match = _CATEGORY.fullmatch(block.error)
    category = match[1] if match and (match[2] or wire.code_of(match[1])) else None
    code = wire.code_of(category) if category is not None else None
    guess = _LOOSE_CATEGORY.fullmatch(block.error) if category is None else None
    spelling = "_".join(guess[1].upper().replace("-", " ").split()) if guess else ""
    if guess is not None and wire.code_of(spelling) is not None:
        category, code, message = spelling, wire.code_of(spelling), guess[2]
        _note(notes, line, f"The error is taken as `{spelling}`, which is written otherwise.")
    elif match is None or category is None:
        message = block.error
        _note(notes, line, "The error has no category; it is taken as an internal error.")
    else:
        message = match[3] or ""
        if match[2] not in {None, "-"}:
            _note(notes, line, f"A dash {match[2]!r} follows the category; use a hyphen.")
        if code is None:
            guess = nearest(category, [*wire.CATEGORIES.values()], limit=1)
            hint = f" Is `{guess[0]}` meant?" if guess else ""
            _note(notes, line, f"`{category}` is not a valid category; it is taken as an internal error.{hint}")
    is_theirs = category is not None and (code is None or category in wire.OUR_CATEGORIES)
    code = code or "internal_error"
    return Fault(
        code=code,
        message=message,
        hint=block.recovery or "",
        failed_at=block.context,
        retryable=code in _RETRYABLE,
        detail={"category": category} if is_theirs else {},
    )


def error_block_of(fault: Fault, *, as_lines: bool) -> ErrorBlock:
    """The block that reports `fault`; with `as_lines`, each value on one line."""
    fit = wire.one_line if as_lines else str
    category = _category(fault)
    message = fit(fault.message)
    # Without a hint the suggestions stand in for it, so that its reader can act.
    recovery = fit(fault.hint) if fault.hint or not fault.suggestions else wire.one_line("; ".join(fault.suggestions))
    return ErrorBlock(
        error=f"{category} - {message}" if message else f"{category} -",
        context=None if fault.failed_at is None else fit(fault.failed_at),
        recovery=recovery or None,
    )


def _category(fault: Fault) -> str:
    """The category to write: the one it was read with, if it still means the same."""
    category: object = fault.detail.get("category")
    if isinstance(category, str) and _CATEGORY.fullmatch(f"{category} - "):
        code = wire.code_of(category)
        if code == fault.code or (code is None and fault.code == "internal_error"):
            return category
    return wire.CATEGORIES[fault.code]


def _note(notes: Diagnostics, line: int, message: str) -> None:
    fix = "Write `ERROR: CATEGORY - description` with one of the categories of spec 002."
    wire.note_at(
        notes, "category", message, line=line, fix=fix, path="/fault/code", severity=wire.strict_severity(notes)
    )
