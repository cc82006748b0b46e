"""From text to contract: the input block becomes a `Task`, the envelope a `Result`."""

import re
from typing import Any, Final, cast

from pydantic import ValidationError

from retinue.contract import json
from retinue.contract.fault import Fault
from retinue.contract.finding import Finding, Level, findings_of
from retinue.contract.formatting import ensure_text
from retinue.contract.model import JsonMapping
from retinue.contract.names import fold
from retinue.contract.result import Result, Versions, Warned
from retinue.contract.task import Correction, Question, Task
from retinue.contract.version import is_version
from retinue.dialects.decoding import PLACEHOLDER_FIX, decode_utf8, find_json, parse_timestamp, placeholder_problem
from retinue.dialects.diagnostics import Diagnostics, parse_answer_object, read_model, refuse, validate
from retinue.dialects.port import DEFAULT_AGENT, DEFAULT_CONTEXT, Detection, ParseContext, Parsed
from retinue.errors import InvalidInput, OutputInvalid, ParseError

from .block import (
    ASKING,
    KEYS,
    LISTS,
    Block,
    BlockField,
    agent_in,
    context_in,
    find_blocks,
    from_wire,
    instruction_in,
    strip_unstated,
)
from .contract_checks import Normalisation, check_answer, normalise
from .wire import (
    ERROR_TYPES,
    FAULT_CODES,
    AnswerEnvelope,
    ErrorEnvelope,
    PartialEnvelope,
    SuccessEnvelope,
    envelope_for,
)

_NAME: Final = "markdown_json"
_MAX_BLOCKS: Final = 100
"""So many blocks are named, where there should be one."""


def parse_result(
    text: str | bytes, *, context: ParseContext = DEFAULT_CONTEXT, level: Level = "standard"
) -> Parsed[Result]:
    """Read an answer: one of the three envelopes.

    Every check of spec 003 is made (K8 to K11), and all that is wrong is told at once. A partial answer without
    warnings gets one that says so, marked synthetic (C3).

    Raises:
        OutputInvalid: It is none; `detail["findings"]` lists every reason.
    """
    notes = Diagnostics(_NAME, level)
    value = parse_answer_object(text, notes)
    normalisation = normalise(value, notes, context)
    check_answer(value, notes, context)
    envelope = validate(value, envelope_for(value.get("status")), notes, refusal=OutputInvalid)
    return Parsed(result_of(envelope, context, normalisation), form="envelope", findings=tuple(notes.findings))


def parse_task(
    text: str | bytes, *, context: ParseContext = DEFAULT_CONTEXT, level: Level = "standard"
) -> Parsed[Task]:
    """Read a request: one input block, with prose around it where it stands in a slash command (K2, K23).

    The parameters are text (C44). Prose behind the block is the task's instruction.

    Raises:
        ParseError: The bytes are no UTF-8.
        InvalidInput: There is no such block, or more than one, or it breaks the format.
    """
    notes = Diagnostics(_NAME, level)
    ensure_text(text, "message", or_bytes=True)
    content = text if isinstance(text, str) else decode_utf8(text)
    if content.startswith("\ufeff"):
        what, fix = "The text starts with a byte order mark.", "Send plain UTF-8 without one."
        mark = Finding(rule=f"{_NAME}/byte_order_mark", message=what, line=1, column=1, fix=fix)
        notes.extend((mark.model_copy(update={"severity": notes.severity("standard")}),))
    return _Request(content.removeprefix("\ufeff"), notes, context).parse()


class _Request:
    """One reading of one text: what was found in it, and what was wrong."""

    def __init__(self, text: str, notes: Diagnostics, context: ParseContext) -> None:
        self._notes = notes
        self._context = context
        self._blocks = find_blocks(text)

    def parse(self) -> Parsed[Task]:
        """The task.

        Raises:
            InvalidInput: There is none.
        """
        if not self._blocks:
            fix = "Begin the request with `**Agent:** name` and `**Operation:** name`."
            self._note("no_block", "The text holds no input block.", line=1, fix=fix)
            refuse(self._notes, InvalidInput)
        for other in self._blocks[1:_MAX_BLOCKS]:
            self._note("two_blocks", "Another input block starts.", line=other.line, fix="Send one block.")
        block = self._blocks[0]
        self._check_spelling(block)
        self._check_placeholders(block)
        agent, major = self._agent(block)
        skill = self._skill(block)
        what, why, constraints = context_in(next((f.raw for f in block.fields if f.key == "Context"), ""))
        parameters = self._list(block.parameters, "Optional Parameters")
        instruction, form = instruction_in(block.after)
        correction = self._correction(block)
        fields: JsonMapping = {"id": self._context.task_id, "agent": agent, "major": major, "skill": skill}
        fields |= {"instruction": instruction, "target": block.get("Target"), "extras": self._extras(block)}
        fields |= {"context": {"what": what, "why": why, "constraints": constraints}}
        fields |= {"parameters": parameters, "untyped": bool(parameters)}
        task = None
        try:
            task = Task(**fields)
        except ValidationError as error:
            self._notes.extend(findings_of(error, rule=f"{_NAME}/shape"))
        if task is None or self._notes.has_errors:
            refuse(self._notes, InvalidInput)
        return Parsed(task, form=form, findings=tuple(self._notes.findings), correction=correction)

    def _note(self, rule: str, message: str, *, line: int, fix: str, threshold: Level | None = None) -> None:
        """Note something; `threshold` is the strictest level at which it is only a warning, None that there is none."""
        finding = Finding(
            rule=f"{_NAME}/{rule}",
            message=message,
            severity="error" if threshold is None else self._notes.severity(threshold),
            line=line,
            column=1,
            fix=fix,
        )
        self._notes.extend((finding,))

    def _check_spelling(self, block: Block) -> None:
        """What is odd about the lines themselves."""
        if block.is_fenced:
            self._note("fence", "The block is in a fence.", line=block.line, fix="Send it bare.", threshold="standard")
        for each in (*block.fields, *block.headings):
            if each.oddity is not None:
                fix = f"Write `**{each.key}:**`."
                self._note("spelling", "The colon is outside.", line=each.line, fix=fix, threshold="standard")
        fields_by_key: dict[str, BlockField] = {}
        for each in (*block.fields, *block.headings):
            first = fields_by_key.setdefault(each.key, each)
            if first is not each:
                threshold: Level | None = "standard" if first.value == each.value and each.key not in LISTS else None
                what = f"{each.key[:80]!r} appears twice."
                self._note("duplicate", what, line=each.line, fix="Give each field once.", threshold=threshold)
            if each.key in KEYS and each.raw == "":
                fix = f"Fill `{each.key}`, or leave it out."
                self._note("empty", f"`{each.key}` is empty.", line=each.line, fix=fix, threshold="standard")
            if each.key not in KEYS and each.key not in LISTS:
                fix = "Put what is the agent's own under `**Optional Parameters:**`."
                what = f"The block has no field {each.key[:80]!r}; it was kept."
                self._note("unknown", what, line=each.line, fix=fix, threshold="standard")

    def _check_placeholders(self, block: Block) -> None:
        """Values that nobody filled."""
        values = [(each.value, each.line) for each in (*block.fields, *block.parameters)]
        for value, line in (*values, (block.after, block.line_of("Optional Parameters"))):
            if what := placeholder_problem(value):
                self._note("template", what, line=line, fix=PLACEHOLDER_FIX, threshold="strict")

    def _agent(self, block: Block) -> tuple[str, int | None]:
        name = block.get("Agent")
        if not name:
            if name is None:
                fix = "Say `**Agent:** name`."
                self._note("no_agent", "The block names no agent.", line=block.line, fix=fix, threshold="standard")
            return self._context.agent, None
        agent, major = agent_in(name)
        if self._context.agent not in {DEFAULT_AGENT, agent}:
            what = f"The block is for {name[:80]!r}, not for {self._context.agent!r}."
            fix = f"Ask {self._context.agent!r}."
            self._note("agent", what, line=block.line_of("Agent"), fix=fix, threshold="standard")
        return agent, major

    def _skill(self, block: Block) -> str | None:
        name = block.get("Operation")
        if not name:
            if name is None:
                fix = "Say `**Operation:** name`."
                self._note("no_operation", "No operation is named.", line=block.line, fix=fix, threshold="standard")
            return self._context.skill
        return fold(name)

    def _list(self, items: list[BlockField], name: str) -> JsonMapping:
        """The items of one list, as texts."""
        read: dict[str, Any] = {}
        for item in items:
            if item.oddity == "no_key":
                fix = "Write `- key: value`."
                what = f"An item under {name!r} has no key: {item.value[:80]!r}."
                self._note("item", what, line=item.line, fix=fix, threshold="standard")
            elif item.oddity is not None:
                fix = "Begin the line with `- `."
                self._note("item", "An item does not begin with `-`.", line=item.line, fix=fix, threshold="standard")
            if item.key in read and read[item.key] != item.value:
                what = f"{item.key[:80]!r} appears twice, with two values."
                self._note("duplicate", what, line=item.line, fix="Give each parameter once.")
            read[item.key] = item.value
        return read

    def _extras(self, block: Block) -> JsonMapping:
        extras: dict[str, Any] = {}
        fields = {each.key: each.value for each in block.fields if each.key not in KEYS}
        if fields:
            extras["fields"] = fields
        if block.before:
            extras["before"] = block.before
            what = f"There are {len(block.before)} characters of prose before the block; they were kept."
            prose = Finding(rule=f"{_NAME}/prose", message=what, severity="info", line=1, column=1)
            self._notes.extend((prose,))
        return {_NAME: extras} if extras else {}

    def _correction(self, block: Block) -> Correction | None:
        """Why the request is made again; what cannot be read of it is a finding."""
        if not any(heading.key == "Correction" for heading in block.headings):
            return None
        values = self._list(block.correction, "Correction")
        retry, _, limit = str(values.get("Retry", "1")).partition(" of ")
        fields: JsonMapping = {"retry_count": retry, "max_retries": limit or None}
        texts = {"code": "Code", "message": "Message", "hint": "Hint", "said": "Said"}
        fields |= {name: values[key] for name, key in texts.items() if key in values}
        raw = {item.key: item.raw for item in block.correction}
        try:
            for name, key in (("findings", "Findings"), ("previous", "Previous")):
                if key in raw:
                    fields[name] = json.loads(raw[key])
            fields["retry_count"] = int(retry)
            fields["max_retries"] = int(limit) if limit else None
            return Correction.model_validate_json(json.dumps(fields))
        except (ParseError, ValidationError, ValueError):
            fix = "Write it as it was sent, or leave it out."
            line = block.line_of("Correction")
            self._note("correction", "The correction cannot be read.", line=line, fix=fix, threshold="lenient")
            return None


MILLISECOND: Final = 1_000_000


def result_of(envelope: AnswerEnvelope, context: ParseContext, normalisation: Normalisation) -> Result:
    """What the envelope says, and what it carried that the contract has no word for."""
    metadata = envelope.metadata
    extras = dict(normalisation.extras)
    counts = {name: getattr(metadata, name) for name in ("files_read", "files_written")}
    _add_extras(extras, "metadata", {name: count for name, count in counts.items() if count is not None})
    has_version = "version" not in normalisation.filled_keys and is_version(envelope.version)
    fields: dict[str, Any] = {
        "task_id": context.task_id,
        "agent": context.agent if "agent" in normalisation.filled_keys else from_wire(envelope.agent),
        "skill": from_wire(envelope.operation) if envelope.operation is not None else context.skill,
        "versions": Versions(agent=metadata.agent_version, contract=envelope.version if has_version else None),
        "warnings": tuple(
            Warned(
                type=each.type,
                message=strip_unstated(each.message),
                impact=strip_unstated(each.impact),
                recovery=strip_unstated(each.recovery),
                synthetic=bool(each.synthetic),
            )
            for each in envelope.warnings
        ),
        "completeness": metadata.completeness,
        "artifacts": tuple(metadata.artifacts or ()),
    }
    if metadata.execution_time_ms is not None:
        fields["duration_ns"] = metadata.execution_time_ms * MILLISECOND
    if isinstance(envelope, SuccessEnvelope):
        fields |= {"outcome": "success", "data": envelope.result}
    elif isinstance(envelope, PartialEnvelope):
        fields |= _partial(envelope, fields["warnings"])
    else:
        fields |= _failure(cast("ErrorEnvelope", envelope), extras)
    return Result(**fields, extras={"markdown_json": extras} if extras else {})


def _add_extras(extras: JsonMapping, name: str, values: JsonMapping) -> None:
    if values:
        extras[name] = {**cast("JsonMapping", extras.get(name, {})), **values}


def _partial(envelope: PartialEnvelope, warnings: tuple[Warned, ...]) -> JsonMapping:
    """A partial answer, or one that asks back: three signs together say so."""
    questions = questions_in(envelope.result) if any(w.type == "incomplete_context" for w in warnings) else None
    if questions is None:
        return {"outcome": "partial", "data": envelope.result}
    rest = {name: value for name, value in envelope.result.items() if name != "next_questions"}
    last = warnings[-1]
    if last.synthetic and last.type == "incomplete_context" and last.message == ASKING:
        warnings = warnings[:-1]
    return {"lifecycle": "input_required", "questions": questions, "data": rest or None, "warnings": warnings}


def questions_in(data: object) -> tuple[Question, ...] | None:
    """The questions under `next_questions`; None when there is no such list of questions."""
    items = cast("JsonMapping", data).get("next_questions") if isinstance(data, dict) else None
    if not isinstance(items, list):
        return None
    questions = [_question(each, number) for number, each in enumerate(cast("list[object]", items), start=1)]
    read = tuple(each for each in questions if each is not None)
    return read if len(read) == len(questions) else None


def _question(value: object, number: int) -> Question | None:
    if isinstance(value, str):
        return Question(id=f"q{number}", text=value)
    if question := read_model(Question, value):
        return question
    text = cast("JsonMapping", value).get("question") if isinstance(value, dict) else None
    return Question(id=f"q{number}", text=text) if isinstance(text, str) else None


def _failure(envelope: ErrorEnvelope, extras: JsonMapping) -> JsonMapping:
    context = envelope.context
    code = FAULT_CODES[envelope.error_type]
    if context.kind is not None and ERROR_TYPES[context.kind] == envelope.error_type:
        code = context.kind
    elif context.kind is not None:
        _add_extras(extras, "context", {"class": context.kind})
    operation = None if context.operation is None else from_wire(context.operation)
    suggestions = [strip_unstated(each) for each in envelope.recovery_suggestions]
    moment = envelope.metadata.error_timestamp
    timestamp = None if moment is None else parse_timestamp(moment)
    if moment is not None and timestamp is None:
        _add_extras(extras, "metadata", {"error_timestamp": moment})
    fault = Fault(
        code=code,
        message=strip_unstated(envelope.message),
        hint=suggestions[0] if suggestions else "",
        suggestions=tuple(suggestions[1:]),
        operation=operation,
        target=context.target,
        failed_at=context.failed_at,
        timestamp_ns=timestamp,
        detail=context.detail or {},
    )
    fields: JsonMapping = {"outcome": "error", "fault": fault, "data": envelope.partial_results}
    if context.attempts is not None:
        fields |= {"outcome": "failed", "retries": context.attempts - 1}
    if envelope.operation is None and operation and operation.strip():
        fields["skill"] = operation
    return fields


_BOLD_KEY: Final = re.compile(r"\*\*\s*agent\s*(?::\*\*|\*\*\s*:)", re.IGNORECASE)


def recognise(text: str) -> tuple[Detection, ...]:
    """Say as what `text` could be read: an input block, an envelope, or nothing."""
    ensure_text(text, "message")
    return (*_answer(text), *_request(text))


def _request(text: str) -> tuple[Detection, ...]:
    if _BOLD_KEY.search(text) is None:
        return ()
    blocks = find_blocks(text)
    if len(blocks) != 1:
        return ()
    whole = blocks[0].get("Operation") is not None
    why = "it has the bold keys Agent and Operation" if whole else "it has the bold key Agent"
    form = "invocation" if blocks[0].after.startswith("Execute ") else "block"
    suffix = ", and a correction" if blocks[0].correction else ""
    return (Detection("markdown_json", "task", form, "certain" if whole else "likely", why + suffix),)


def _answer(text: str) -> tuple[Detection, ...]:
    value = find_json(text) if '"status"' in text else None
    if not isinstance(value, dict) or value.get("status") not in ("success", "partial", "error"):
        return ()
    head = "agent" in value and "version" in value
    if value["status"] == "error" and "error_type" in value and ("context" in value or "recovery_suggestions" in value):
        body, marks = True, '"error_type" and "recovery_suggestions"'
    else:
        body, marks = "result" in value, '"result"'
    if head and body:
        why = f'it has "status", "agent", "version" and {marks}'
        return (Detection("markdown_json", "result", "envelope", "certain", why),)
    if head or (body and ("warnings" in value or value["status"] == "error")):
        why = 'it has "status" and parts of the envelope'
        return (Detection("markdown_json", "result", "envelope", "likely", why),)
    return (Detection("markdown_json", "result", "envelope", "possible", 'it has "status"'),) if body else ()
