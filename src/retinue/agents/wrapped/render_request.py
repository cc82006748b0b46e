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

from .default_definition import is_default_skill

Form: TypeAlias = Literal["words", "json"]
"""How an agent is asked that speaks no dialect: in words, or with its parameters as JSON."""


@dataclass(frozen=True, slots=True)
class RenderedRequest:
    """A task, written.

    Attributes:
        warnings: What the agent is not told.
    """

    text: str
    warnings: tuple[Warned, ...] = ()


def render_request(task: Task, correction: Correction | None, definition: Definition, *, form: Form) -> RenderedRequest:
    """Write `task` for the agent behind `definition`, with the correction when there is one.

    Raises:
        InvalidInput: The dialect cannot say it.
    """
    skill = next((each for each in definition.skills if each.name == task.skill), definition.skills[0])
    if definition.dialect is not None:
        return _in_dialect(_restore_text_fields(task, skill, definition), correction, definition.dialect)
    if form == "json":  # one line; a correction stands beside the parameters
        value = dict(task.parameters)
        if correction is not None:
            value["correction"] = correction.to_json()
        return RenderedRequest(json.dumps(value) + "\n")
    text = _move_to_instruction(_restore_text_fields(task, skill, definition), tuple(_PARTS)).instruction
    if correction is not None:
        text += f"\n\nYour last answer was refused. {correction.message}\n{correction.hint}".rstrip()
    return RenderedRequest(f"{text}\n")


def _restore_text_fields(task: Task, skill: Skill, definition: Definition) -> Task:
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
    if is_default_skill(skill) and not context.what and isinstance(parameters.get("context"), str):
        context = context.model_copy(update={"what": parameters.pop("context")})
    if task.major == 1:  # nobody adds `-v1` to a name: a reader that knows no versions would know no such agent
        changes["major"] = None
    wire_name = definition.wire_names.get(definition.dialect) if definition.dialect else None
    if wire_name and names.fold(wire_name)[:1].isalpha():
        changes["agent"] = names.fold(wire_name)
    return task.model_copy(update={**changes, "context": context})


# In a dialect.


def _in_dialect(task: Task, correction: Correction | None, dialect: DialectName) -> RenderedRequest:
    from retinue.dialects import dialect as dialect_of  # noqa: PLC0415 - agents without a dialect need none

    adapter = dialect_of(dialect)
    lost_fields = tuple(loss.field for loss in adapter.render_task(task).losses)
    task = _move_to_instruction(task, lost_fields)
    rendered = adapter.render_task(task) if correction is None else adapter.render_retry(task, correction)
    losses = tuple(dict.fromkeys(loss.field for loss in rendered.losses if loss.field.startswith(_MATTERS)))
    if not losses:
        return RenderedRequest(rendered.text)
    names_text = ", ".join(f"`{field}`" for field in losses[:_MAX_SHOWN])
    more = f" and {len(losses) - _MAX_SHOWN} more" if len(losses) > _MAX_SHOWN else ""
    warning = Warned(
        type="incomplete_context",
        message=f"The request says more than `{dialect}` can; left out: {names_text}{more}.",
        impact="The agent did not know it.",
        recovery="Say it in the instruction.",
        synthetic=True,
    )
    return RenderedRequest(rendered.text, (warning,))


def _move_to_instruction(task: Task, fields: tuple[str, ...]) -> Task:
    """`task` with the parts that its dialect has no word for said in the instruction, and there alone."""
    parts = {field: part for field, part in _PARTS.items() if field in fields}
    text = "\n".join(line for part in parts.values() if (line := part(task)))
    if not text:
        return task
    changes: JsonMapping = {"instruction": f"{task.instruction}\n\n{text}".strip()}
    changes |= {"target": None} if "/target" in parts else {}
    changes |= {"parameters": {}} if "/parameters" in parts else {}
    empty = Context()
    context_fields = {field.rpartition("/")[2] for field in parts if field.startswith("/context/")}
    return task.model_copy(
        update={
            **changes,
            "context": task.context.model_copy(update={name: getattr(empty, name) for name in context_fields}),
        }
    )


_MATTERS: Final = ("/instruction", "/target", "/context", "/output", "/model", "/thinking")
"""Ids, limits and depths are our own business, and parameters as text are still said."""

_MAX_SHOWN: Final = 5


# In words.


def _labelled_line(name: str, value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value) if value else ""
    return f"{name}: {text}" if text else ""


_PARTS: Final[Mapping[str, Callable[[Task], str]]] = {
    "/target": lambda task: _labelled_line("Target", task.target),
    "/context/what": lambda task: _labelled_line("Context", task.context.what),
    "/context/why": lambda task: _labelled_line("Reason", task.context.why),
    "/context/constraints": lambda task: _labelled_line("Constraints", "; ".join(task.context.constraints)),
    "/context/memory": lambda task: _labelled_line("Remembered", task.context.memory),
    "/context/history": lambda task: _labelled_line("Said before", "\n".join(task.context.history)),
    "/context/inputs": lambda task: _labelled_line("Results of others", task.context.inputs),
    "/parameters": lambda task: "\n".join(_labelled_line(name, value) for name, value in task.parameters.items()),
}
