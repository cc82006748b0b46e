"""Writing requests: a `Task` as a prompt, alone, in its block, or as a call of the Task tool."""

from typing import TYPE_CHECKING, Any, Final, cast

from retinue.contract import json
from retinue.contract.json import pointer
from retinue.contract.task import Correction, Task
from retinue.dialects.port import NOTHING, Rendered
from retinue.dialects.writing import Losses, form_of

from .bare import bare_path
from .block import KEY, write_block
from .budget import TimeBudget, write_budget
from .prompt import is_plain_key, read_prompt, write_items, write_prompt
from .text import writable
from .usual import SUBAGENT, agent_in, behaviour_of, description_of, expected_of
from .wire import CATEGORIES, THINKING, Call, Item, Prompt, Section, code_of

if TYPE_CHECKING:
    from retinue.contract.model import JsonMapping

__all__ = ["TASK_FORMS", "render_retry", "render_task"]

TASK_FORMS: Final = ("block", "json", "prompt")

_CALL_KEYS: Final = ("subagent_type", "description", "prompt")
_CONTEXT_KEYS: Final = frozenset({"primary goal", "output path", "input resources"})
_CONSTRAINT_KEYS: Final = frozenset({"time budget", "thinking mode"})
_MODES: Final = {mode: word for word, mode in THINKING.items() if mode != "ultrathink"}


def render_task(task: Task, *, form: str | None = None) -> Rendered:
    """Write a request: as the `Task { … }` block, as the JSON of a Task tool call, or as the prompt alone (H1 to H5).

    A relative output path is written as it is: only the caller knows where the workspace lies (C12).

    Raises:
        InvalidInput: There is no such form, or a value is no whole text or no JSON.
    """
    return _render(task, form_of(form, TASK_FORMS, "task_signal"), None)


def render_retry(task: Task, correction: Correction) -> Rendered:
    """Write the same request again, with a section that says what was wrong and how to do better (A12).

    Raises:
        InvalidInput: A value is no whole text or no JSON.
    """
    return _render(task, TASK_FORMS[0], correction)


def _render(task: Task, form: str, correction: Correction | None) -> Rendered:
    losses = Losses("task_signal")
    if task.id != NOTHING.task_id:
        losses.add("/id")
    losses.unsaid(task, "skill", "produced_by", "source_agent", "parent", "depth", "model", "idempotency_key")
    losses.foreign(task.extras)
    own = _Own(task, form, losses)
    prompt = writable(write_prompt(_prompt(task, own, correction, losses)))
    match form:
        case "prompt":
            text = prompt
        case "json":
            values = {"subagent_type": own.subagent_type, "description": own.description, "prompt": prompt}
            text = json.dumps({**values, **own.keys})
        case _:
            text = write_block(Call(prompt, own.subagent_type, own.description, own.keys))
    return Rendered(text, form=form, losses=tuple(losses.found))


def _prompt(task: Task, own: "_Own", correction: Correction | None, losses: Losses) -> Prompt:
    sections = [
        Section("Task Context", write_items(_task_context(task, losses))),
        Section("Background", write_items(_background(task))),
        Section("Constraints", write_items(_constraints(task, losses))),
        Section("Expected Output", own.expected),
    ]
    if correction is not None:
        sections.append(Section("Correction", write_items(_correction(correction))))
    losses.unsaid(task.output, "transport", "style", "answer_schema", path="/output")
    return Prompt(own.behaviour, sections=tuple(section for section in sections if section.text))


# The sections


def _task_context(task: Task, losses: Losses) -> tuple[Item, ...]:
    items = [Item("Primary Goal", task.instruction)] if task.instruction else []
    if task.output.path is not None:
        items.append(Item("Output Path", task.output.path))
        if bare_path(task.output.path) not in {task.output.path, ""}:
            losses.add("/output/path", "with nothing around it there")
    if task.target is not None:
        items.append(Item("Input Resources", task.target))
    for name, value in cast("dict[str, object]", task.parameters).items():
        if not isinstance(value, str):
            losses.add(f"/parameters{pointer([name])}", "a parameter is text there")
        said = value if isinstance(value, str) else json.dumps(value)
        items.append(Item(name, said, literal=not is_plain_key(name) or _folded(name) in _CONTEXT_KEYS))
    if task.untyped != bool(task.parameters):
        losses.add("/untyped", "parameters are text there")
    return tuple(items)


def _background(task: Task) -> tuple[Item, ...]:
    context = task.context
    said = {"What": context.what, "Why": context.why, "Memory": context.memory}
    items = [Item(name, text) for name, text in said.items() if text]
    items += [Item("History", turn) for turn in context.history]
    if context.inputs:
        items.append(Item("Inputs", json.dumps(context.inputs)))
    return tuple(items)


def _constraints(task: Task, losses: Losses) -> tuple[Item, ...]:
    limits = task.limits
    losses.unsaid(limits, "deadline_ns", "cost_usd", "retries", path="/limits")
    items: list[Item] = []
    if limits.tokens is not None or limits.timeout_s is not None:
        items.append(Item("Time Budget", write_budget(TimeBudget(limits.tokens, limits.timeout_s))))
    if task.thinking is not None:
        mode = task.thinking
        if mode == "ultrathink":
            mode = "think_hard"
            losses.add("/thinking", "`think hard` is the most there is")
        items.append(Item("Thinking Mode", _MODES[mode]))
    return (*items, *map(_constraint, task.context.constraints))


def _constraint(text: str) -> Item:
    """A constraint as a bullet: with its key where it has one that reads back, else as a whole."""
    key, colon, value = text.partition(": ")
    if colon and is_plain_key(key) and _folded(key) not in _CONSTRAINT_KEYS and value == value.strip() != "":
        return Item(key, value)
    return Item(None, text)


def _correction(correction: Correction) -> tuple[Item, ...]:
    category = CATEGORIES[correction.code]
    items = [Item("Error", f"{category} - {correction.message}")]
    if code_of(category) != correction.code:
        items.append(Item("Code", correction.code))
    if correction.hint:
        items.append(Item("Recovery", correction.hint))
    most = "" if correction.max_retries is None else f" of {correction.max_retries}"
    items.append(Item("Retry", f"{correction.retry_count}{most}"))
    items += [Item("Finding", json.dumps(finding)) for finding in correction.findings]
    if correction.previous is not None:
        items.append(Item("Data", json.dumps(correction.previous)))
    if correction.said is not None:
        items.append(Item("Refused", correction.said))
    return tuple(items)


# What the format itself left in the extras


class _Own:
    """The values that an earlier reading kept, where they still fit; the usual ones elsewhere.

    Whatever would not come back like that is a loss.
    """

    def __init__(self, task: Task, form: str, losses: Losses) -> None:
        self.behaviour = behaviour_of(task.agent, task.major)
        self.subagent_type = SUBAGENT
        self.description = description_of(task.instruction)
        self.expected = expected_of(task.output.path)
        self.keys: JsonMapping = {}
        if "task_signal" in task.extras:
            self._take(cast("object", task.extras["task_signal"]), task, form, losses)
        agent = agent_in(self.behaviour)
        if agent is None or agent[0] != task.agent:
            losses.add("/agent", "a name that ends in a version means that major version there")
        if agent is None or agent[1] != task.major:
            losses.add("/major", "a name that ends in a version means that major version there")

    def _take(self, kept: object, task: Task, form: str, losses: Losses) -> None:
        whole = cast("dict[str, Any]", kept) if isinstance(kept, dict) else {}
        lost: list[tuple[str, ...]] = []
        for name, value in whole.items():
            if name == "keys" and form != "prompt":
                lost += self._take_keys(value, form)
            elif not (isinstance(value, str) and self._fits(name, value, task, form)):
                lost.append((name,))
            else:
                setattr(self, "expected" if name == "expected_output" else name, value)
        if len({one[0] for one in lost}) == len(whole) and not self.keys:
            losses.add("/extras/task_signal")
        else:
            for one in lost:
                losses.add("/extras/task_signal" + pointer(one))

    def _take_keys(self, value: object, form: str) -> list[tuple[str, ...]]:
        named = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        self.keys = {
            name: each
            for name, each in named.items()
            if name not in _CALL_KEYS and (form == "json" or KEY.fullmatch(name))
        }
        if not self.keys:
            return [("keys",)]
        return [("keys", name) for name in named if name not in self.keys]

    def _fits(self, name: str, value: str, task: Task, form: str) -> bool:
        """Whether `value` can be written and comes back as an extra."""
        match name:
            case "behaviour":
                reads = read_prompt(f"Read and follow: {value}").reference == value
                return reads and value != self.behaviour and agent_in(value) == (task.agent, task.major)
            case "subagent_type":
                return form != "prompt" and value != SUBAGENT
            case "description":
                return form != "prompt" and value != self.description
            case "expected_output":
                section = Section("Expected Output", value)
                alone = read_prompt(write_prompt(Prompt("x.md", sections=(section,))))
                return value not in {"", self.expected} and alone == Prompt("x.md", sections=(section,))
            case _:
                return False


def _folded(key: str) -> str:
    return " ".join(key.lower().split())
