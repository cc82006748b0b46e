"""An agent's text becomes data: by its dialect where it speaks one, else as strict JSON, with one narrow repair.

The repair takes a single whole object out of its code fence or the prose around it, and is always reported. Nothing is
guessed: a text that is cut off, has two objects or trailing commas is refused with its place. The dialects are loaded
when the first agent speaks one; the text itself is kept whole in `native`.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from retinue.agents.port import ABSENT, NAME_GUESSED, Reply
from retinue.contract import json
from retinue.contract.definition import Definition
from retinue.contract.finding import Level
from retinue.contract.json import JsonValue
from retinue.contract.model import DialectName, JsonMapping
from retinue.contract.result import Result, Warned
from retinue.contract.schema import Validator
from retinue.contract.task import Question, Task
from retinue.errors import OutputInvalid, ParseError, RetinueError

if TYPE_CHECKING:
    from retinue.dialects.port import ParseContext, Parsed

Reader: TypeAlias = Callable[[str], Reply]
"""Reads an answer in one dialect. Raises one of our errors when it cannot."""

_HOW: Final = "Answer with one JSON object and nothing around it."
_MARK: Final = re.compile(r'"(?:status|content|state|agent|error)"\s*:|^[A-Z]{4,10}:(?:\s|$)', re.MULTILINE)
"""Every answer in any dialect has one of these."""

_SHARED: Final = (
    "artifacts", "completeness", "confidence", "content", "fault", "files_read", "files_written", "outcome",
    "reasoning", "traces", "usage",
)  # fmt: skip
_BOUNDARY_FIELDS: Final = ("versions", "duration_ns", "attempts", "retries", "task_id", "agent", "skill")
"""Only the boundary stamps these. What an agent says of them is kept beside, in `extras["spoken"]`."""


def parse_text(text: str, reply: Reply, *, reader: Reader | None, validator: Validator | None) -> Reply:
    """`reply` with its `text` read, and a warning where something had to be stripped.

    Without an output schema only JSON objects and lists are data; any other text is the content as it stands.

    Raises:
        OutputInvalid: Data is promised and the text holds none; `detail` says line, column and reason.
        RetinueError: The dialect's own reader refuses it.
    """
    if reader is not None:
        # What the dialect read, and what only the runner knows.
        read = reader(text)
        is_words = (
            read.data is ABSENT and read.content != "" and validator is not None and validator.is_valid(read.content)
        )
        return replace(
            read,
            data=read.content if is_words else read.data,
            warnings=(*read.warnings, *reply.warnings),
            extras={**(read.extras or {}), **reply.extras} if reply.extras else read.extras,
            usage=read.usage or reply.usage,
            traces=read.traces or reply.traces,
            files_read=read.files_read or reply.files_read,
            files_written=read.files_written or reply.files_written,
        )
    if validator is None:
        data: object = ABSENT
        if text.lstrip()[:1] in ("{", "["):
            with suppress(ParseError):
                data = json.loads(text)
        return replace(reply, text=None, data=data, content=reply.content or text)
    try:
        value, stripped = json.loads(text), ""
    except ParseError as error:
        value, stripped = (text, "") if validator.is_valid(text) else _repair_json(text, error)
    else:
        if not validator.is_valid(value) and validator.is_valid(text):
            value = text
    if not stripped:
        return replace(reply, text=None, data=value)
    warning = Warned(
        type="degraded_analysis",
        message=f"The answer was not JSON alone. {stripped}",
        impact="The data is what the agent wrote; the text around it is not part of it.",
        recovery=_HOW,
        synthetic=True,
    )
    return replace(reply, text=None, data=value, warnings=(*reply.warnings, warning))


def _repair_json(text: str, parse_error: ParseError) -> tuple[JsonValue, str]:
    try:
        return json.repair(text)
    except ParseError as error:
        failure = parse_error if error.detail["reason"] == "no_object" else error
        raise OutputInvalid(
            f"The answer is not JSON: {failure.message[:1].lower()}{failure.message[1:]}",
            hint=f"{failure.hint} {_HOW}",
            path=failure.path,
            suggestions=(failure.hint, _HOW),
            detail=failure.detail,
        ) from None


def pick_dialect(
    text: str, definition: Definition, validator: Validator | None = None
) -> tuple[DialectName | None, str]:
    """The dialect to read an answer in: the agent's own, else one that it certainly is, and the evidence for it.

    A text that is what its skill promises is data, whatever else it looks like.
    """
    if definition.dialect is not None:
        return definition.dialect, ""
    if _MARK.search(text) is None:
        return None, ""
    if validator is not None:
        with suppress(ParseError):
            if validator.is_valid(json.loads(text)):
                return None, ""
    from retinue.dialects.detect import detect  # noqa: PLC0415 - most agents speak no dialect

    detections = [detection for detection in detect(text) if detection.certainty == "certain"]
    if not detections or detections[0].kind != "result" or len({detection.dialect for detection in detections}) > 1:
        return None, ""
    return detections[0].dialect, detections[0].why


def read_answer(text: str, dialect: DialectName, definition: Definition, task: Task, *, level: Level) -> Reply:
    """Read an answer in `dialect`.

    Args:
        text: What the agent said.
        dialect: What it speaks.
        definition: Whose answer it is.
        task: What was asked.
        level: How strictly it is read (C3).

    Raises:
        OutputInvalid: It is not an answer, for every reason listed; or it says that the work is not finished.
    """
    from retinue.dialects import dialect as dialect_of  # noqa: PLC0415 - most agents speak none

    context = parse_context(definition, dialect, task)
    return as_reply(dialect_of(dialect).parse_result(text, context=context, level=level), dialect, context)


def parse_context(definition: Definition, dialect: DialectName, task: Task) -> "ParseContext":
    """What is known of an answer before it is read: who was asked, by its name in that dialect, and for what."""
    from retinue.dialects.port import ParseContext  # noqa: PLC0415

    if definition.extras.get(NAME_GUESSED):
        return ParseContext(task_id=task.id)
    return ParseContext(task_id=task.id, agent=definition.wire_names.get(dialect, definition.name), skill=task.skill)


def can_be_read(text: str, definition: Definition, task: Task) -> bool:
    """Whether `text` is an answer in the agent's dialect, or without one certainly one in some dialect."""
    from retinue.dialects import dialect as dialect_of  # noqa: PLC0415

    dialect, _ = pick_dialect(text, definition)
    if dialect is None:
        return False
    try:
        dialect_of(dialect).parse_result(text, context=parse_context(definition, dialect, task))
    except RetinueError:
        return False
    return True


def as_reply(read: "Parsed[Result]", dialect: DialectName, context: "ParseContext") -> Reply:
    """All that an answer says, as a reply. What the reader tolerated is a warning.

    Args:
        read: The answer.
        dialect: What it was written in.
        context: What was known of it before.

    Raises:
        OutputInvalid: It says that the work is not finished; it cannot be asked later.
    """
    result, findings = read.value, read.findings
    if result.lifecycle in {"submitted", "working"} and not result.questions:
        raise OutputInvalid(
            f"`{context.agent}` says that it is still working, and this was its only chance to answer.",
            hint="Answer when the work has ended: completely, in part, or with an error.",
            detail={"lifecycle": result.lifecycle},
        )
    reply = Reply(**{name: getattr(result, name) for name in _SHARED})
    if dialect == "run_agent" and reply.outcome == "success":
        reply.outcome = None  # the format has no word for it: only what the answer holds can say so
    if result.data is not None:
        reply.data = result.data
    reply.questions = result.questions
    if result.lifecycle == "input_required" and not result.questions:
        reply.questions = (Question(id="1", text=result.content or "It asks for something, and does not say what."),)
    warnings = list(result.warnings)
    for finding in findings:
        if finding.severity != "info":
            place = f" (at `{finding.path}`)" if finding.path else f" (line {finding.line})" if finding.line else ""
            warnings.append(
                Warned(
                    type="degraded_analysis",
                    message=f"{finding.message.rstrip('.')}{place}.",
                    impact=f"It breaks `{finding.rule}`; a strict reader refuses it.",
                    recovery=finding.fix,
                    synthetic=True,
                )
            )
    reply.warnings = tuple(warnings)
    expected = {"task_id": context.task_id, "agent": context.agent, "skill": context.skill}
    self_reported: JsonMapping = {
        name: value
        for name, value in result.model_dump(mode="json", include=set(_BOUNDARY_FIELDS), exclude_defaults=True).items()
        if value is not None and expected.get(name) != value
    }
    infos = [finding.to_json() for finding in findings if finding.severity == "info"]
    details = {**({"said": self_reported} if self_reported else {}), **({"noted": infos} if infos else {})}
    reply.extras = {**result.extras, **({"spoken": {"dialect": dialect, **details}} if details else {})} or None
    return reply
