"""From a `Task` to the input block, and to the same block again with a correction."""

from typing import Final, cast

from retinue.contract import json
from retinue.contract.model import JsonMapping
from retinue.contract.task import Correction, Task
from retinue.dialects.losses import Losses, choose_form
from retinue.dialects.port import RenderedMessage

from .block import KEYS, LISTS, is_unknown_key, item_text, line_text, prose_text, starts_or_fences
from .vocabulary import CLOSING_SENTENCES, agent_in, agent_text, context_text, instruction_in, to_wire

TASK_FORMS: Final = ("block", "invocation")
"""The input block alone, and with the sentence that asks to follow the contract (K23)."""

_UNSUPPORTED: Final = ("produced_by", "source_agent", "parent", "depth", "model", "thinking", "idempotency_key")
_AS_TEXT: Final = "parameters are text there"


def render_task(task: Task, *, form: str | None = None) -> RenderedMessage:
    """Write a request as an input block (K2).

    A value that plain text could not hold is a JSON string. Parameters become text; the instruction is prose behind
    the block.

    Raises:
        InvalidInput: There is no such form, or a value is no JSON.
    """
    return _render(task, choose_form(form, TASK_FORMS, "markdown_json"), None)


def render_retry(task: Task, correction: Correction) -> RenderedMessage:
    """Write the request again, with what was wrong as a list of its own (C6)."""
    return _render(task, TASK_FORMS[0], correction)


def _render(task: Task, form: str, correction: Correction | None) -> RenderedMessage:
    losses = Losses("markdown_json")
    before, unknown = _own_extras(task.extras, losses)
    parts = [before, _head(task, unknown, losses)]
    if task.parameters:
        parts.append(_list(LISTS[0], _parameters(task, losses)))
    if correction is not None:
        parts.append(_list(LISTS[1], _correction(correction)))
    if task.instruction:
        parts.append(_prose(task.instruction))
    if form == "invocation":
        parts.append(CLOSING_SENTENCES[0])
    if task.id:
        losses.add("/id")
    losses.add_fields(task, *_UNSUPPORTED)
    losses.add_fields(task.context, "history", "memory", "inputs", path="/context")
    losses.add_fields(task.limits, *type(task.limits).model_fields, path="/limits")
    losses.add_fields(task.output, *type(task.output).model_fields, path="/output")
    if task.untyped != bool(task.parameters):
        losses.add("/untyped", _AS_TEXT)
    losses.add_foreign_extras(task.extras)
    return RenderedMessage("\n\n".join(part for part in parts if part), form, lambda: losses.entries)


def _head(task: Task, unknown: list[str], losses: Losses) -> str:
    """The bold keys."""
    agent = agent_text(task.agent, task.major)
    agent_name, major = agent_in(agent)
    if agent_name != task.agent:
        losses.add("/agent", "a name that ends in a version is read as one")
    if major != task.major:
        losses.add("/major", "a version is at most nine digits behind the name")
    lines = [f"**{KEYS[0]}:** {agent}"]
    # Whoever reads strictly wants an operation (K9); the agent's own name is no other skill than the one it has.
    lines.append(f"**{KEYS[1]}:** {to_wire(task.skill or task.agent)}")
    if task.skill is None:
        losses.add("/skill", "the format demands one, and has the agent's own name")
    if task.target is not None:
        lines.append(f"**{KEYS[2]}:** {line_text(task.target)}")
    context = context_text(task.context.what, task.context.why, task.context.constraints)
    if context:
        lines.append(f"**{KEYS[3]}:** {context}")
    return "\n".join([*lines, *unknown])


def _parameters(task: Task, losses: Losses) -> list[str]:
    items: list[str] = []
    for name, value in task.parameters.items():
        text = value if isinstance(value, str) else json.dumps(value)
        if text is not value:
            losses.add("/parameters" + json.pointer([name]), _AS_TEXT)
        items.append(item_text(name, text))
    return items


def _correction(correction: Correction) -> list[str]:
    limit = "" if correction.max_retries is None else f" of {correction.max_retries}"
    items = [
        item_text("Message", correction.message),
        item_text("Retry", f"{correction.retry_count}{limit}"),
        item_text("Code", correction.code),
    ]
    items += [item_text("Hint", correction.hint)] if correction.hint else []
    items += [f"- Findings: {json.dumps(list(correction.findings))}"] if correction.findings else []
    items += [f"- Previous: {json.dumps(correction.previous)}"] if correction.previous is not None else []
    items += [item_text("Said", correction.said)] if correction.said is not None else []
    return items


def _list(heading: str, items: list[str]) -> str:
    return "\n".join([f"**{heading}:**", *items])


def _prose(instruction: str) -> str:
    text = prose_text(instruction)
    return text if instruction_in(text) == (instruction, TASK_FORMS[0]) else json.dumps(instruction)


def _own_extras(extras: JsonMapping, losses: Losses) -> tuple[str, list[str]]:
    """The prose before the block, and the lines of the fields that the format has no word for."""
    if "markdown_json" not in extras:
        return "", []
    raw, path = extras["markdown_json"], "/extras/markdown_json"
    own = cast("JsonMapping", raw) if isinstance(raw, dict) else {}
    before, fields = own.get("before"), own.get("fields")
    prose = before if isinstance(before, str) and _stands_before(before) else ""
    mapping = cast("JsonMapping", fields) if isinstance(fields, dict) else {}
    lines = {
        name: f"**{name}:** {line_text(value, lines=True)}"
        for name, value in mapping.items()
        if isinstance(value, str) and is_unknown_key(name)
    }
    if not prose and not lines:
        losses.add(path)
        return "", []
    for name in own:
        if not (name == "before" and prose) and not (name == "fields" and lines):
            losses.add(path + json.pointer([name]))
    for name in mapping if lines else ():
        if name not in lines:
            losses.add(path + json.pointer(["fields", name]))
    return prose, list(lines.values())


def _stands_before(text: str) -> bool:
    """Whether `text` is read as prose before a block, and as nothing else."""
    is_whole = text == text.strip() != "" and "\r" not in text and not text.startswith("\ufeff")
    return is_whole and not starts_or_fences(text)
