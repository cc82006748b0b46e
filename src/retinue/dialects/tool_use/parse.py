"""From the requests and answers of spec 000 to the contract."""

from typing import Final

from pydantic import ValidationError

from retinue.contract import json
from retinue.contract.correction import Correction
from retinue.contract.fault import Fault
from retinue.contract.finding import Level
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.model import JsonMapping
from retinue.contract.names import nearest
from retinue.contract.question import Question
from retinue.contract.result import Result, Usage
from retinue.contract.task import Context, Limits, OutputWish, Task
from retinue.dialects.port import NOTHING, Known, Parsed
from retinue.dialects.reading import Notes, object_in, read, refuse, refuse_text
from retinue.errors import InvalidInput, OutputInvalid, ParseError

from .constraints import read_constraints
from .correction import correction_of, mend_error
from .names import ToolName, read_tool_name, write_tool_name
from .rest import Rest, drop_nulls, numbers
from .summary import read_summary, sentences_of
from .wire import CODES, OUTCOMES, STYLES, Call, CorrectionObject, Envelope, HandOff, Metadata, Payload

__all__ = ["parse_result", "parse_task", "questions_in"]


# Requests


def parse_task(text: str | bytes, *, known: Known = NOTHING, level: Level = "standard") -> Parsed[Task]:
    """Read a hand-off (A7) or a tool-use call. Keys that the spec does not show ride in `extras`, unless strict.

    Raises:
        ParseError: The text is no single JSON object.
        InvalidInput: It holds neither.
    """
    notes = Notes("tool_use", level)
    value = object_in(text, notes)
    return _call(value, known, notes) if "input" in value or "name" in value else _hand_off(value, known, notes)


def _hand_off(value: JsonObject, known: Known, notes: Notes) -> Parsed[Task]:
    rest = Rest()

    def mend(value: JsonObject, notes: Notes) -> None:
        drop_nulls(value, ("source_agent", "correction"), notes)
        payload = value.get("payload")
        if isinstance(payload, dict):
            drop_nulls(payload, ("context_summary", "constraints", "required_output_format"), notes, path="/payload")
            rest.take(payload, Payload, notes, path="/payload")
        _mend_correction(value, notes)
        if notes.level == "lenient":
            _complete(value, known, notes)
        rest.take(value, HandOff, notes)

    wire = read(value, HandOff, notes, refusal=InvalidInput, mend=mend)
    target = _tool(wire.target_agent, "/target_agent", notes)
    payload = wire.payload
    what, why = read_summary(payload.context_summary)
    if sentences_of(payload.context_summary) > _SENTENCES:
        fix = "Say in one or two sentences what is done, and in one what for."
        notes.add("summary", "`context_summary` is long.", path="/payload/context_summary", fix=fix, severity="info")
    constraints, limits = read_constraints(payload.constraints, notes)
    task = Task(
        id=payload.task_id,
        agent=target.agent,
        major=target.major,
        skill=target.skill or known.skill,
        instruction=payload.instruction,
        context=Context(what=what, why=why, constraints=constraints),
        limits=limits,
        output=_wish(payload.required_output_format),
        source_agent=wire.source_agent,
        extras=rest.extras,
    )
    return Parsed(task, "handoff", tuple(notes.findings), _again(wire.correction))


_SENTENCES: Final = 3


def _complete(value: JsonObject, known: Known, notes: Notes) -> None:
    """What a hand-off left out and whoever reads it knows."""
    payload = value.get("payload")
    filled = [(value, "target_agent", known.agent), (value, "message_type", "task_delegation")]
    if isinstance(payload, dict):
        filled.append((payload, "task_id", known.task_id))
        if isinstance(payload.get("constraints"), str):
            payload["constraints"] = [payload["constraints"]]
            notes.add("list", "`constraints` was a single text.", path="/payload/constraints", fix="Send a list.")
    for holder, key, word in filled:
        if key not in holder:
            holder[key] = word
            notes.add("missing", f"`{key}` is missing; {word!r} was taken.", fix=f"Send `{key}`.")


def _wish(word: str | None) -> OutputWish:
    """A word for how the answer is sent, or for the style of the report: two things, and one field (C22)."""
    return OutputWish(style=word) if word in STYLES else OutputWish(transport=word)


def _call(value: JsonObject, known: Known, notes: Notes) -> Parsed[Task]:
    rest = Rest()

    def mend(value: JsonObject, notes: Notes) -> None:
        drop_nulls(value, ("type", "id", "correction"), notes)
        _mend_correction(value, notes)
        rest.take(value, Call, notes)

    wire = read(value, Call, notes, refusal=InvalidInput, mend=mend)
    called = _tool(wire.name, "/name", notes)
    task = Task(
        id=known.task_id if wire.id is None else wire.id,
        agent=called.agent,
        major=called.major,
        skill=called.skill or known.skill,
        parameters=wire.input,
        produced_by="model" if wire.type else None,
        extras=rest.extras,
    )
    return Parsed(task, "call", tuple(notes.findings), _again(wire.correction))


def _mend_correction(value: JsonObject, notes: Notes) -> None:
    correction = value.get("correction")
    if isinstance(correction, dict):
        mend_error(correction, notes, path="/correction")


def _again(wire: CorrectionObject | None) -> Correction | None:
    """Why a request is made again: there it is the answer that was refused."""
    return None if wire is None else correction_of(wire, code="output_invalid" if wire.error_type in _REFUSED else None)


_REFUSED: Final = frozenset({"validation_error"})


def _tool(name: str, path: str, notes: Notes) -> ToolName:
    """Whom the name means; another spelling of a name is borne unless strict.

    Raises:
        InvalidInput: It is nobody's name.
    """
    found = read_tool_name(name)
    if found is None or (notes.level == "strict" and not _canonical(name, found)):
        notes.add("name", f"{name[:100]!r} is no name.", path=path, fix=_SNAKE, severity="error")
        refuse(notes, InvalidInput)
    if not _canonical(name, found):
        notes.add("name", f"{name[:100]!r} is read as {write_tool_name(*found)!r}.", path=path, fix=_SNAKE)
    return found


_SNAKE: Final = "Use snake_case: small letters, digits and single underscores, as in `code_writer`."


def _canonical(name: str, found: ToolName) -> bool:
    return name in (write_tool_name(*found), f"{write_tool_name(*found[:2])}__{found.skill}")


# Answers


def parse_result(text: str | bytes, *, known: Known = NOTHING, level: Level = "standard") -> Parsed[Result]:
    """Read a return envelope (A11), that of a failure too. Its `reasoning_log` is for the journal only (C9).

    A partial answer whose `result` holds questions asks them. `tokens_used` does not say how many tokens went in and
    how many came out; it is counted as tokens in.

    Raises:
        OutputInvalid: The text is no such envelope.
    """
    notes = Notes("tool_use", level)
    try:
        value = object_in(text, notes)
    except ParseError as error:
        refuse_text(error, notes)
    return _envelope(value, known, notes)


def _envelope(value: JsonObject, known: Known, notes: Notes) -> Parsed[Result]:
    rest = Rest()
    free: list[JsonValue] = []

    def mend(value: JsonObject, notes: Notes) -> None:
        drop_nulls(value, [key for key in Envelope.model_fields if key != "status"], notes)
        _mend_metadata(value, notes, rest)
        _mend_status(value, notes)
        mend_error(value, notes, owed=_owed(value))
        if "result" in value and not isinstance(value["result"], dict | list):
            free.append(value.pop("result"))
            notes.add("structured", "`result` is not structured.", path="/result", fix="Send an object.")
        rest.take(value, Envelope, notes)

    wire = read(value, Envelope, notes, refusal=OutputInvalid, mend=mend)
    _see_it_is_whole(wire, notes, free=bool(free))
    if notes.wrong:
        refuse(notes, OutputInvalid)
    data: JsonValue = free[0] if free else wire.result
    questions = questions_in(data) if wire.status == "partial" else ()
    if questions and isinstance(data, dict):
        data = {key: item for key, item in data.items() if key != "questions"} or None
    measured = wire.metadata
    result = Result(
        task_id=known.task_id,
        agent=known.agent,
        skill=known.skill,
        lifecycle="input_required" if questions else "ended",
        outcome=None if questions else OUTCOMES[wire.status],
        data=data,
        fault=_fault(wire),
        usage=_usage(measured),
        duration_ns=None if measured.execution_time_ms is None else measured.execution_time_ms * 1_000_000,
        retries=wire.retry_count or 0,
        confidence=measured.confidence,
        questions=questions,
        reasoning=wire.reasoning_log,
        extras=rest.extras,
    )
    return Parsed(result, "envelope", tuple(notes.findings))
