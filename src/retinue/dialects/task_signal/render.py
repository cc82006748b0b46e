"""Writing requests: a `Task` as a prompt, alone, in its block, or as a call of the Task tool."""

from typing import Any, Final, cast

from retinue.contract import json
from retinue.contract.model import JsonMapping
from retinue.contract.task import Correction, Task
from retinue.dialects.losses import choose_form, rendered_message
from retinue.dialects.port import RenderedMessage

from .block import KEY, write_block
from .budget import TimeBudget, write_budget
from .lines import ensure_writable
from .parse import parse_task
from .prompt import is_plain_key, read_prompt, write_items, write_prompt
from .wire import (
    CATEGORIES,
    SUBAGENT,
    THINKING,
    Prompt,
    PromptItem,
    PromptSection,
    TaskCall,
    agent_in,
    behaviour_of,
    code_of,
    description_of,
    expected_of,
)

TASK_FORMS: Final = ("block", "json", "prompt")

_CALL_KEYS: Final = ("subagent_type", "description", "prompt")
_CONTEXT_KEYS: Final = frozenset({"primary goal", "output path", "input resources"})
_CONSTRAINT_KEYS: Final = frozenset({"time budget", "thinking mode"})
_MODES: Final = {mode: word for word, mode in THINKING.items() if mode != "ultrathink"}


def render_task(task: Task, *, form: str | None = None) -> RenderedMessage:
    """Write a request: as the `Task { … }` block, as the JSON of a Task tool call, or as the prompt alone (H1 to H5).

    A relative output path is written as it is: only the caller knows where the workspace lies (C12).

    Raises:
        InvalidInput: There is no such form, or a value is no whole text or no JSON.
    """
    return _render(task, choose_form(form, TASK_FORMS, "task_signal"), None)


def render_retry(task: Task, correction: Correction) -> RenderedMessage:
    """Write the same request again, with a section that says what was wrong and how to do better (A12).

    Raises:
        InvalidInput: A value is no whole text or no JSON.
    """
    return _render(task, TASK_FORMS[0], correction)


def _render(task: Task, form: str, correction: Correction | None) -> RenderedMessage:
    extras = _FormatExtras(task, form)
    prompt = ensure_writable(write_prompt(_prompt(task, extras, correction)))
    match form:
        case "prompt":
            text = prompt
        case "json":
            values = {"subagent_type": extras.subagent_type, "description": extras.description, "prompt": prompt}
            text = json.dumps({**values, **extras.keys})
        case _:
            text = write_block(TaskCall(prompt, extras.subagent_type, extras.description, extras.keys))
    return rendered_message(
        text, form, task, dialect="task_signal", read=lambda text: parse_task(text).value, reasons=_REASONS
    )


_REASONS: Final = {
    "/agent": "a name that ends in a version means that major version there",
    "/major": "a name that ends in a version means that major version there",
    "/output/path": "with nothing around it there",
    "/parameters/*": "a parameter is text there",
    "/thinking": "`think hard` is the most there is",
}


def _prompt(task: Task, extras: "_FormatExtras", correction: Correction | None) -> Prompt:
    sections = [
        PromptSection("Task Context", write_items(_task_context(task))),
        PromptSection("Background", write_items(_background(task))),
        PromptSection("Constraints", write_items(_constraints(task))),
        PromptSection("Expected Output", extras.expected),
    ]
    if correction is not None:
        sections.append(PromptSection("Correction", write_items(_correction(correction))))
    return Prompt(extras.behaviour, sections=tuple(section for section in sections if section.text))


# The sections


def _task_context(task: Task) -> tuple[PromptItem, ...]:
    items = [PromptItem("Primary Goal", task.instruction)] if task.instruction else []
    if task.output.path is not None:
        items.append(PromptItem("Output Path", task.output.path))
    if task.target is not None:
        items.append(PromptItem("Input Resources", task.target))
    for name, value in cast("dict[str, object]", task.parameters).items():
        text = value if isinstance(value, str) else json.dumps(value)
        items.append(PromptItem(name, text, literal=not is_plain_key(name) or _fold_key(name) in _CONTEXT_KEYS))
    return tuple(items)


def _background(task: Task) -> tuple[PromptItem, ...]:
    context = task.context
    texts = {"What": context.what, "Why": context.why, "Memory": context.memory}
    items = [PromptItem(name, text) for name, text in texts.items() if text]
    items += [PromptItem("History", turn) for turn in context.history]
    if context.inputs:
        items.append(PromptItem("Inputs", json.dumps(context.inputs)))
    return tuple(items)


def _constraints(task: Task) -> tuple[PromptItem, ...]:
    limits = task.limits
    items: list[PromptItem] = []
    if limits.tokens is not None or limits.timeout_s is not None:
        items.append(PromptItem("Time Budget", write_budget(TimeBudget(limits.tokens, limits.timeout_s))))
    if task.thinking is not None:
        mode = "think_hard" if task.thinking == "ultrathink" else task.thinking
        items.append(PromptItem("Thinking Mode", _MODES[mode]))
    return (*items, *map(_constraint, task.context.constraints))


def _constraint(text: str) -> PromptItem:
    """A constraint as a bullet: with its key where it has one that reads back, else as a whole."""
    key, colon, value = text.partition(": ")
    if colon and is_plain_key(key) and _fold_key(key) not in _CONSTRAINT_KEYS and value == value.strip() != "":
        return PromptItem(key, value)
    return PromptItem(None, text)


def _correction(correction: Correction) -> tuple[PromptItem, ...]:
    category = CATEGORIES[correction.code]
    items = [PromptItem("Error", f"{category} - {correction.message}")]
    if code_of(category) != correction.code:
        items.append(PromptItem("Code", correction.code))
    if correction.hint:
        items.append(PromptItem("Recovery", correction.hint))
    limit = "" if correction.max_retries is None else f" of {correction.max_retries}"
    items.append(PromptItem("Retry", f"{correction.retry_count}{limit}"))
    items += [PromptItem("Finding", json.dumps(finding)) for finding in correction.findings]
    if correction.previous is not None:
        items.append(PromptItem("Data", json.dumps(correction.previous)))
    if correction.said is not None:
        items.append(PromptItem("Refused", correction.said))
    return tuple(items)


# What the format itself left in the extras


class _FormatExtras:
    """The values that an earlier reading kept, where they still fit; the usual ones elsewhere."""

    def __init__(self, task: Task, form: str) -> None:
        self.behaviour = behaviour_of(task.agent, task.major)
        self.subagent_type = SUBAGENT
        self.description = description_of(task.instruction)
        self.expected = expected_of(task.output.path)
        self.keys: JsonMapping = {}
        extras: object = task.extras.get("task_signal")
        for name, value in cast("dict[str, object]", extras).items() if isinstance(extras, dict) else ():
            if name == "keys" and form != "prompt" and isinstance(value, dict):
                self.keys = {
                    key: each
                    for key, each in cast("dict[str, Any]", value).items()
                    if key not in _CALL_KEYS and (form == "json" or KEY.fullmatch(key))
                }
            elif isinstance(value, str) and self._fits(name, value, task, form):
                setattr(self, "expected" if name == "expected_output" else name, value)

    def _fits(self, name: str, value: str, task: Task, form: str) -> bool:
        """Whether `value` can be written and comes back as an extra."""
        match name:
            case "behaviour":
                reads_back = read_prompt(f"Read and follow: {value}").reference == value
                return reads_back and value != self.behaviour and agent_in(value) == (task.agent, task.major)
            case "subagent_type":
                return form != "prompt" and value != SUBAGENT
            case "description":
                return form != "prompt" and value != self.description
            case "expected_output":
                section = PromptSection("Expected Output", value)
                alone = read_prompt(write_prompt(Prompt("x.md", sections=(section,))))
                return value not in {"", self.expected} and alone == Prompt("x.md", sections=(section,))
            case _:
                return False


def _fold_key(key: str) -> str:
    return " ".join(key.lower().split())
