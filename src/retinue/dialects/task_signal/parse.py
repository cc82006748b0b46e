"""Reading requests and answers: which form a text has, and whatever stands between it and the message."""

import re
from typing import Final, cast

from retinue.contract import json
from retinue.contract.finding import Level
from retinue.contract.formatting import ensure_text
from retinue.contract.model import DialectName, JsonMapping
from retinue.contract.result import Result
from retinue.contract.task import Task
from retinue.dialects.diagnostics import Diagnostics, parse_object, refuse, refuse_text, validate
from retinue.dialects.port import DEFAULT_CONTEXT, Certainty, Detection, Kind, ParseContext, Parsed
from retinue.errors import InvalidInput, OutputInvalid, ParseError

from .answer_text import is_table, read_answer, read_table
from .events import read_events
from .parse_request import task_of
from .parse_result import find_near_misses, from_head, from_report, from_table
from .prompt import call_of, find_blocks, is_block, is_prompt, read_block
from .wire import SIGNALS, JsonReport, ReportArtifact, Status, TaskCall, decode_text, note_at, status_of

NAME: Final[DialectName] = "task_signal"

_BLOCK_LIKE: Final = re.compile(r"\s*+task[ \t]*+:?[ \t]*+[({]", re.IGNORECASE)


# Requests


def parse_task(
    text: str | bytes, *, context: ParseContext = DEFAULT_CONTEXT, level: Level = "standard"
) -> Parsed[Task]:
    """Read a request: the block, the JSON of a Task tool call, or a prompt alone (H1 to H5, C40).

    Raises:
        ParseError: The text cannot be read, or is no JSON where it starts as one.
        InvalidInput: It is no request; `detail["findings"]` lists every reason.
    """
    notes = Diagnostics(NAME, level)
    call, form = _call(decode_text(text, notes), notes)
    if call is None:
        refuse(notes, InvalidInput)
    task, correction = task_of(call, context, notes)
    if notes.has_errors:
        refuse(notes, InvalidInput)
    return Parsed(task, form=form, findings=tuple(notes.findings), correction=correction)


def _call(text: str, notes: Diagnostics) -> tuple[TaskCall | None, str]:
    """What is asked, and in which form."""
    if text.lstrip().startswith("{"):
        return _json_call(text, notes), "json"
    if is_prompt(text):
        return TaskCall(text), "prompt"
    lines = text.split("\n")
    blocks = find_blocks(lines)
    if blocks:
        return _only_block(lines, blocks, notes), "block"
    if notes.level != "strict" and '"prompt"' in text and "{" in text:
        return _json_call(text, notes), "json"
    if notes.level != "lenient" or _BLOCK_LIKE.match(text):
        if _BLOCK_LIKE.match(text):
            rule, message = "block", "The text begins like a request block, and is none."
            fix = (
                "Write `Task {` on a line of its own, below it `key: value` lines and `prompt: |`, and `}` at the end."
            )
        else:
            rule, message = (
                "request",
                "The text is neither a `Task { … }` block nor a prompt that refers to a behaviour file.",
            )
            fix = "Begin the prompt with `Read and follow: .claude/agents/<agent>.md`."
        note_at(notes, rule, message, line=1, fix=fix, severity="error")
        return None, "prompt"
    return TaskCall(text.strip()), "prompt"


def _json_call(text: str, notes: Diagnostics) -> TaskCall | None:
    value = parse_object(text, notes)
    if "prompt" not in value:
        notes.add("prompt", "There is no `prompt`.", path="/prompt", fix="Add `prompt`.", severity="error")
    return call_of(cast("JsonMapping", value), notes)


def _only_block(lines: list[str], blocks: list[int], notes: Diagnostics) -> TaskCall | None:
    """The one block of a text; what stands around it is passed over, unless strict."""
    call, end = read_block(lines, blocks[0], notes)
    for other in blocks[1:]:
        message = "A second block begins here; a message is one request."
        note_at(notes, "block", message, line=other + 1, fix="Send one request.", severity="error")
    for at in range(end, len(lines)) if len(blocks) == 1 else ():
        if is_prompt(lines[at].strip()):
            message = f"A part of the prompt stands below the end of the block, which is on line {end}."
            fix = "Indent every line of the prompt deeper than `prompt:`; a `}` of its own must not end the block."
            note_at(notes, "block", message, line=at + 1, fix=fix, severity="error")
            break
    extra_chars = sum(len(line.strip()) for line in (*lines[: blocks[0]], *lines[end:]))
    if extra_chars and len(blocks) == 1:
        message = f"The message was not the block alone: {extra_chars} characters stood around it."
        severity = "error" if notes.level == "strict" else "warning"
        note_at(notes, "repaired", message, line=1, fix="Send the block alone.", severity=severity)
    return call


# Answers


def parse_result(
    text: str | bytes, *, context: ParseContext = DEFAULT_CONTEXT, level: Level = "standard"
) -> Parsed[Result]:
    """Read an answer: signal lines, the JSON form, or the table (H6, H14, H15).

    Signals count in the head of the answer only: a line in its prose or in a code fence says nothing (C42).

    Raises:
        OutputInvalid: It is no answer; `detail["findings"]` lists every reason.
    """
    notes = Diagnostics(NAME, level)
    try:
        content = decode_text(text, notes)
        result, form = _result(content, context, notes)
    except ParseError as error:
        refuse_text(error, notes)
    if notes.has_errors:
        refuse(notes, OutputInvalid)
    return Parsed(result, form=form, findings=tuple(notes.findings))


def _result(text: str, context: ParseContext, notes: Diagnostics) -> tuple[Result, str]:
    if text.lstrip().startswith("{"):
        return _json_result(text, context, notes), "json"
    if is_table(text):
        return from_table(read_table(text), context, notes), "table"
    head = read_answer(text, bold=notes.level == "lenient")
    if not head.answer.signals and notes.level != "strict" and '"status"' in head.answer.body:
        return _json_result(text, context, notes), "json"
    return from_head(head, context, notes), "signals"


def _json_result(text: str, context: ParseContext, notes: Diagnostics) -> Result:
    value = cast("JsonMapping", parse_object(text, notes))
    extras = {name: cast("object", each) for name, each in value.items() if name not in JsonReport.model_fields}
    for name in extras:
        fix = "Say it under `metrics`."
        message = f"An answer has no {name[:80]!r}; it is kept and not understood."
        severity = "error" if notes.level == "strict" else "warning"
        notes.add(
            "key", message, path="/" + name[:80].replace("~", "~0").replace("/", "~1"), fix=fix, severity=severity
        )
    ours = {name: cast("object", each) for name, each in value.items() if name not in extras}
    report = validate(ours, JsonReport, notes, refusal=OutputInvalid, normalise=_normalise)  # pyright: ignore[reportArgumentType] - JSON
    return from_report(report, extras, context, notes)


def _normalise(value: JsonMapping, notes: Diagnostics) -> None:
    """Bear other words for the status, and further keys of a file."""
    word: object = value.get("status")
    if isinstance(word, str) and (status := status_of(word)) and status != word:
        notes.add("status", f"{word[:80]!r} is taken as `{status}`.", path="/status", fix=f"Write `{status}`.")
        value["status"] = status
    artifacts: object = value.get("artifacts")
    if isinstance(artifacts, list):
        value["artifacts"] = [
            _drop_unknown_keys(one, at, notes) for at, one in enumerate(cast("list[object]", artifacts))
        ]


def _drop_unknown_keys(artifact: object, at: int, notes: Diagnostics) -> object:
    """The file without the keys that the format does not have, each of them noted (C7)."""
    if not isinstance(artifact, dict):
        return artifact
    mapping = cast("JsonMapping", artifact)
    other = [name for name in mapping if name not in ReportArtifact.model_fields]
    if other:
        names = ", ".join(repr(name[:40]) for name in other[:10])
        fix = "A file has `path`, `type`, `title` and `summary`."
        notes.add("key", f"Of a file is not read: {names}.", path=f"/artifacts/{at}", fix=fix)
    return {name: value for name, value in mapping.items() if name not in other}


_UNMISTAKABLE: Final = frozenset({"CREATED", "STATUS", "ERROR"})
_STATUSES: Final[tuple[Status, ...]] = ("complete", "partial", "failed")


def recognise(text: str) -> tuple[Detection, ...]:
    """Say as what `text` could be read, the likeliest first; nothing when as nothing. Never raises."""
    ensure_text(text, "message")
    start = text.lstrip()
    if start.startswith("{"):
        try:
            value = json.loads(start)
        except ParseError:
            return ()
        mapping = cast("JsonMapping", value)
        if isinstance(mapping.get("prompt"), str):
            if "subagent_type" in mapping:
                return (_detection("task", "json", "certain", 'it has "subagent_type" and "prompt"'),)
            if is_prompt(mapping["prompt"]):
                return (_detection("task", "json", "likely", 'its "prompt" refers to a behaviour file'),)
        status: object = mapping.get("status")
        if isinstance(status, str) and status_of(status) is not None:
            lists = isinstance(mapping.get("artifacts"), list)
            if status in _STATUSES:
                certainty: Certainty = "certain" if lists else "likely" if "metrics" in mapping else "possible"
                return (_detection("result", "json", certainty, f'its "status" is {status!r}'),)
            if lists:
                return (_detection("result", "json", "possible", 'it has "status" and "artifacts"'),)
        return ()
    if is_block(start):
        return (_detection("task", "block", "certain", "it begins with `Task {`"),)
    if is_prompt(start):
        return (_detection("task", "prompt", "certain", "it begins with a reference to a behaviour file or a section"),)
    if is_table(start):
        return (_detection("result", "table", "certain", "it is a table with the columns Status and Path"),)
    return _detect_lines(text)


def _detect_lines(text: str) -> tuple[Detection, ...]:
    detections: list[Detection] = []
    head = read_answer(text)
    signals = [signal.name for signal in head.answer.signals if signal.name in SIGNALS]
    if signals:
        # `STATUS:` alone may be a heading of prose; `ERROR:` is a failure, with or without a reason.
        names_with_value = {signal.name for signal in head.answer.signals if signal.value or signal.name == "ERROR"}
        certainty: Certainty = "certain" if _UNMISTAKABLE & names_with_value else "likely"
        names = ", ".join(f"`{name}:`" for name in dict.fromkeys(signals))
        detections.append(_detection("result", "signals", certainty, f"it begins with {names}"))
    if head.has_events or "PROGRESS:" in text or "CHECKPOINT:" in text:
        count = len(read_events(text))
        if count:
            certainty = "likely" if signals else "certain"
            detections.append(_detection("event", "events", certainty, f"{count} of its lines report progress"))
    if not signals and find_blocks(text.split("\n")):
        detections.append(_detection("task", "block", "likely", "a line of it is `Task {`"))
    if not detections:  # whoever reads it then says what keeps the line from being a signal
        near_miss = next(
            (each for each in find_near_misses(text) if each.is_upper and each.name in _UNMISTAKABLE), None
        )
        if near_miss is not None:
            why = f"line {near_miss.line} may have been meant as `{near_miss.name}:`"
            detections.append(_detection("result", "signals", "possible", why))
    return tuple(detections)


def _detection(kind: Kind, form: str, certainty: Certainty, why: str) -> Detection:
    return Detection("task_signal", kind, form, certainty, why)
