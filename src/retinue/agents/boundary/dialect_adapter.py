"""An agent's text in one of the five dialects becomes a reply. The dialects are loaded when one is first spoken.

What an agent says of itself that only the boundary may stamp (how long it took, how often it tried, whose version
answered) is kept in `extras["spoken"]`; the text itself is kept whole in `native`.
"""

import re
from typing import TYPE_CHECKING, Final

from retinue.agents.port import NAME_GUESSED, Reply
from retinue.contract.definition import Definition
from retinue.contract.finding import Finding, Level
from retinue.contract.model import DialectName, JsonMapping
from retinue.contract.result import Result, Warned
from retinue.contract.task import Question, Task
from retinue.errors import OutputInvalid, RetinueError

if TYPE_CHECKING:
    from retinue.dialects.port import ParseContext, Parsed


def read_answer(text: str, dialect: DialectName, definition: Definition, task: Task, *, level: Level) -> Reply:
    """Read an answer in `dialect`.

    Args:
        text: What the agent said.
        dialect: What it speaks.
        definition: Whose answer it is.
        task: What was asked.
        level: How strictly it is read (C3).

    Raises:
        OutputInvalid: It is no answer, for every reason listed; or it says that the work still goes on.
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

    dialect = definition.dialect or (recognise_dialect(text)[0] if looks_like_dialect(text) else None)
    if dialect is None:
        return False
    try:
        dialect_of(dialect).parse_result(text, context=parse_context(definition, dialect, task))
    except RetinueError:
        return False
    return True


_MARK: Final = re.compile(r'"(?:status|content|state|agent|error)"\s*:|^[A-Z]{4,10}:(?:\s|$)', re.MULTILINE)


def looks_like_dialect(text: str) -> bool:
    """Whether `text` has something that every answer in any dialect has; costs next to nothing."""
    return _MARK.search(text) is not None


def recognise_dialect(text: str) -> tuple[DialectName | None, str]:
    """The dialect in which `text` certainly is an answer, and the marks that say so; None when it is not certain."""
    from retinue.dialects.detect import detect  # noqa: PLC0415

    detections = [detection for detection in detect(text) if detection.certainty == "certain"]
    if not detections or detections[0].kind != "result" or len({detection.dialect for detection in detections}) > 1:
        return None, ""
    return detections[0].dialect, detections[0].why


# From a result to a reply.

_SHARED: Final = (
    "artifacts", "completeness", "confidence", "content", "fault", "files_read", "files_written", "outcome",
    "reasoning", "traces", "usage",
)  # fmt: skip
_BOUNDARY_FIELDS: Final = ("versions", "duration_ns", "attempts", "retries", "task_id", "agent", "skill")
"""What an agent says of these is kept beside what the boundary knows."""


def as_reply(read: "Parsed[Result]", dialect: DialectName, context: "ParseContext") -> Reply:
    """All that an answer says, as a reply. What was borne when it was read is a warning.

    Args:
        read: The answer.
        dialect: What it was written in.
        context: What was known of it before.

    Raises:
        OutputInvalid: It says that the work goes on; nobody can ask later.
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
    reply.warnings = (
        *result.warnings,
        *(_breach_warning(finding) for finding in findings if finding.severity != "info"),
    )
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


def _breach_warning(finding: Finding) -> Warned:
    """A breach of the dialect that was borne, as a warning."""
    place = f" (at `{finding.path}`)" if finding.path else f" (line {finding.line})" if finding.line else ""
    return Warned(
        type="degraded_analysis",
        message=f"{finding.message.rstrip('.')}{place}.",
        impact=f"It breaks `{finding.rule}`; a strict reader refuses it.",
        recovery=finding.fix,
        synthetic=True,
    )
