"""The text that a wrapped agent is asked with: in its own dialect, or as plain as its definition allows.

Also a correction is said here, in the agent's own manner. What comes back is read by the boundary.
"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from retinue.contract import json, names
from retinue.contract.correction import Correction
from retinue.contract.definition import Definition, Skill
from retinue.contract.finding import Loss
from retinue.contract.model import DialectName, JsonMapping
from retinue.contract.result import Warned
from retinue.contract.task import Task

__all__ = ["Form", "Request", "request_for", "unsaid"]

Form: TypeAlias = Literal["words", "json"]
"""How an agent is asked that speaks no dialect: in words, or with its parameters as JSON."""


@dataclass(frozen=True, slots=True)
class Request:
    """A task, written.

    Attributes:
        losses: What the text does not say of it.
    """

    text: str
    losses: tuple[Loss, ...] = ()


def request_for(task: Task, correction: Correction | None, definition: Definition, *, form: Form) -> Request:
    """Write `task` for the agent behind `definition`, with the correction when there is one.

    Raises:
        InvalidInput: The dialect cannot say it.
    """
    skill = next((each for each in definition.skills if each.name == task.skill), definition.skills[0])
    if definition.dialect is not None:
        return _spoken(_settled(task, skill, definition), correction, definition.dialect)
    if form == "json":
        return Request(_as_json(task, correction))
    return Request(_in_words(_settled(task, skill, definition), correction))


_MATTERS: Final = ("/instruction", "/target", "/parameters", "/context", "/output")


def unsaid(losses: tuple[Loss, ...], dialect: DialectName | None) -> tuple[Warned, ...]:
    """A warning when the agent was not told all of what was asked; ids and limits are our own business."""
    fields = tuple(dict.fromkeys(f"`{loss.field}`" for loss in losses if loss.field.startswith(_MATTERS)))
    if not fields:
        return ()
    more = f" and {len(fields) - _SHOWN} more" if len(fields) > _SHOWN else ""
    return (
        Warned(
            type="incomplete_context",
            message=f"`{dialect}` cannot say all of the request: {', '.join(fields[:_SHOWN])}{more} was left out.",
            impact="The agent did not know it.",
            recovery="Say it in the instruction, or give the agent another dialect.",
            synthetic=True,
        ),
    )


_SHOWN: Final = 5


def _spoken(task: Task, correction: Correction | None, dialect: DialectName) -> Request:
    from retinue.dialects import dialect as dialect_of  # noqa: PLC0415 - agents without a dialect need none

    speaks = dialect_of(dialect)
    rendered = speaks.render_task(task) if correction is None else speaks.render_retry(task, correction)
    return Request(rendered.text, rendered.losses)


def _settled(task: Task, skill: Skill, definition: Definition) -> Task:
    """`task` with its words in one place: what the boundary put into the parameters goes back to where it is said."""
    parameters = dict(task.parameters)
    changes: JsonMapping = {"parameters": parameters}
    for name, field in ((skill.instruction_field, "instruction"), (skill.target_field, "target")):
        value = parameters.get(name) if name is not None else None
        if name is not None and isinstance(value, str) and getattr(task, field) in {"", None, value}:
            changes[field] = value
            del parameters[name]
    known = parameters.get("context")
    if skill.instruction_field == "task" and isinstance(known, str) and not task.context.what:
        changes["context"] = task.context.model_copy(update={"what": known})
        del parameters["context"]
    called = definition.wire_names.get(definition.dialect) if definition.dialect else None
    if called and names.fold(called)[:1].isalpha():
        changes["agent"] = names.fold(called)
    return task.model_copy(update=changes)


# Without a dialect.


def _in_words(task: Task, correction: Correction | None) -> str:
    """The task as a person would say it."""
    lines = [task.instruction]
    told = {
        "Target": task.target,
        "Context": task.context.what if task.context.what != task.instruction else "",
        "Reason": task.context.why,
        "Constraints": "; ".join(task.context.constraints),
        **{name: value if isinstance(value, str) else json.dumps(value) for name, value in task.parameters.items()},
        "Inputs": json.dumps(task.context.inputs) if task.context.inputs else None,
    }
    said = [f"{name}: {value}" for name, value in told.items() if value]
    blocks = ["\n".join(lines), "\n".join(said), _corrected(correction)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _corrected(correction: Correction | None) -> str:
    if correction is None:
        return ""
    return f"Your last answer was refused. {correction.message}\n{correction.hint}".rstrip()


def _as_json(task: Task, correction: Correction | None) -> str:
    """The parameters as one line of JSON; a correction stands beside them."""
    value = dict(task.parameters)
    if correction is not None:
        value["correction"] = correction.to_json()
    return json.dumps(value) + "\n"
