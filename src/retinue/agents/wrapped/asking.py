"""The text that a wrapped agent is asked with: in its own dialect, or as plain as its definition allows.

What a dialect has no word for is said in the instruction, so that the agent knows it all the same. A correction is said
here too, in the agent's own manner. What comes back is read by the boundary.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from retinue.contract import json, names
from retinue.contract.definition import Definition, Skill
from retinue.contract.model import DialectName, JsonMapping
from retinue.contract.result import Warned
from retinue.contract.task import Context, Correction, Task

from .definition import is_made

__all__ = ["Form", "Request", "request_for"]

Form: TypeAlias = Literal["words", "json"]
"""How an agent is asked that speaks no dialect: in words, or with its parameters as JSON."""


@dataclass(frozen=True, slots=True)
class Request:
    """A task, written.

    Attributes:
        warnings: What the agent is not told.
    """

    text: str
    warnings: tuple[Warned, ...] = ()


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


def _settled(task: Task, skill: Skill, definition: Definition) -> Task:
    """`task` with its words in one place: what the boundary put into the parameters goes back to where it is said."""
    parameters, context = dict(task.parameters), task.context
    changes: JsonMapping = {"parameters": parameters}
    for name, field in ((skill.instruction_field, "instruction"), (skill.target_field, "target")):
        value = parameters.get(name) if name is not None else None
        if name is not None and isinstance(value, str) and getattr(task, field) in {"", None, value}:
            changes[field] = value
            del parameters[name]
    if context.what and context.what == changes.get("instruction", task.instruction):
        context = context.model_copy(update={"what": ""})  # the goal of a run of one task: the same words again
    if is_made(skill) and not context.what and isinstance(parameters.get("context"), str):
        context = context.model_copy(update={"what": parameters.pop("context")})
    if task.major == 1:  # nobody adds `-v1` to a name: a reader that knows no versions would know no such agent
        changes["major"] = None
    called = definition.wire_names.get(definition.dialect) if definition.dialect else None
    if called and names.fold(called)[:1].isalpha():
        changes["agent"] = names.fold(called)
    return task.model_copy(update={**changes, "context": context})


# In a dialect.


def _spoken(task: Task, correction: Correction | None, dialect: DialectName) -> Request:
    from retinue.dialects import dialect as dialect_of  # noqa: PLC0415 - agents without a dialect need none

    speaks = dialect_of(dialect)
    unsaid = tuple(loss.field for loss in speaks.render_task(task).losses)
    task = _said_in_words(task, unsaid)
    rendered = speaks.render_task(task) if correction is None else speaks.render_retry(task, correction)
    left = tuple(dict.fromkeys(loss.field for loss in rendered.losses if loss.field.startswith(_MATTERS)))
    return Request(rendered.text, (_warned(left, dialect),) if left else ())


def _said_in_words(task: Task, unsaid: tuple[str, ...]) -> Task:
    """`task` with the parts that its dialect has no word for said in the instruction, and there alone."""
    parts = {field: part for field, part in _PARTS.items() if field in unsaid}
    said = "\n".join(line for part in parts.values() if (line := part(task)))
    if not said:
        return task
    changes: JsonMapping = {"instruction": f"{task.instruction}\n\n{said}".strip()}
    changes |= {"target": None} if "/target" in parts else {}
    changes |= {"parameters": {}} if "/parameters" in parts else {}
    plain = Context()
    told = {field.rpartition("/")[2] for field in parts if field.startswith("/context/")}
    return task.model_copy(
        update={**changes, "context": task.context.model_copy(update={name: getattr(plain, name) for name in told})}
    )


_MATTERS: Final = ("/instruction", "/target", "/context", "/output", "/model", "/thinking")
"""Ids, limits and depths are our own business, and parameters as text are still said."""

_SHOWN: Final = 5


def _warned(fields: tuple[str, ...], dialect: DialectName) -> Warned:
    listed = ", ".join(f"`{field}`" for field in fields[:_SHOWN])
    more = f" and {len(fields) - _SHOWN} more" if len(fields) > _SHOWN else ""
    return Warned(
        type="incomplete_context",
        message=f"The request says more than `{dialect}` can; left out: {listed}{more}.",
        impact="The agent did not know it.",
        recovery="Say it in the instruction.",
        synthetic=True,
    )


# In words.


def _named(name: str, value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value) if value else ""
    return f"{name}: {text}" if text else ""


_PARTS: Final[Mapping[str, Callable[[Task], str]]] = {
    "/target": lambda task: _named("Target", task.target),
    "/context/what": lambda task: _named("Context", task.context.what),
    "/context/why": lambda task: _named("Reason", task.context.why),
    "/context/constraints": lambda task: _named("Constraints", "; ".join(task.context.constraints)),
    "/context/memory": lambda task: _named("Remembered", task.context.memory),
    "/context/history": lambda task: _named("Said before", "\n".join(task.context.history)),
    "/context/inputs": lambda task: _named("Results of others", task.context.inputs),
    "/parameters": lambda task: "\n".join(_named(name, value) for name, value in task.parameters.items()),
}


def _in_words(task: Task, correction: Correction | None) -> str:
    """The task as a person would say it."""
    text = _said_in_words(task, tuple(_PARTS)).instruction
    if correction is not None:
        text += f"\n\nYour last answer was refused. {correction.message}\n{correction.hint}".rstrip()
    return f"{text}\n"


def _as_json(task: Task, correction: Correction | None) -> str:
    """The parameters as one line of JSON; a correction stands beside them."""
    value = dict(task.parameters)
    if correction is not None:
        value["correction"] = correction.to_json()
    return json.dumps(value) + "\n"
