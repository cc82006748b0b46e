"""From a `Task` to the input block, and to the same block again with a correction."""

from typing import Final, cast

from retinue.contract import json
from retinue.contract.model import JsonMapping
from retinue.contract.task import Correction, Task
from retinue.dialects.losses import choose_form, rendered_message
from retinue.dialects.port import RenderedMessage

from .block import KEYS, LISTS, is_unknown_key, item_text, line_text, prose_text, starts_or_fences
from .parse import parse_task
from .vocabulary import CLOSING_SENTENCES, agent_text, context_text, instruction_in, to_wire

TASK_FORMS: Final = ("block", "invocation")
"""The input block alone, and with the sentence that asks to follow the contract (K23)."""


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
    before, unknown = _own_extras(task.extras)
    # A strict reader requires an operation (K9); the agent's own name is no other skill than the one it has.
    lines = [
        f"**{KEYS[0]}:** {agent_text(task.agent, task.major)}",
        f"**{KEYS[1]}:** {to_wire(task.skill or task.agent)}",
    ]
    if task.target is not None:
        lines.append(f"**{KEYS[2]}:** {line_text(task.target)}")
    context = context_text(task.context.what, task.context.why, task.context.constraints)
    if context:
        lines.append(f"**{KEYS[3]}:** {context}")
    parts = [before, "\n".join([*lines, *unknown])]
    if task.parameters:
        texts = {
            name: value if isinstance(value, str) else json.dumps(value) for name, value in task.parameters.items()
        }
        parts.append(_list(LISTS[0], [item_text(name, text) for name, text in texts.items()]))
    if correction is not None:
        parts.append(_list(LISTS[1], _correction(correction)))
    if task.instruction:
        text = prose_text(task.instruction)
        is_plain = instruction_in(text) == (task.instruction, TASK_FORMS[0])
        parts.append(text if is_plain else json.dumps(task.instruction))
    if form == "invocation":
        parts.append(CLOSING_SENTENCES[0])
    return rendered_message(
        "\n\n".join(part for part in parts if part),
        form,
        task,
        dialect="markdown_json",
        read=lambda text: parse_task(text).value,
        reasons=_REASONS,
    )


_REASONS: Final = {
    "/agent": "a name that ends in a version is read as one",
    "/major": "a version is at most nine digits behind the name",
    "/skill": "the format requires one, and has the agent's own name",
}


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


def _own_extras(extras: JsonMapping) -> tuple[str, list[str]]:
    """The prose before the block, and the lines of the fields that the format has no word for."""
    raw: object = extras.get("markdown_json")
    own = cast("JsonMapping", raw) if isinstance(raw, dict) else {}
    before, fields = own.get("before"), own.get("fields")
    mapping = cast("JsonMapping", fields) if isinstance(fields, dict) else {}
    lines = [
        f"**{name}:** {line_text(value, lines=True)}"
        for name, value in mapping.items()
        if isinstance(value, str) and is_unknown_key(name)
    ]
    return before if isinstance(before, str) and _stands_before(before) else "", lines


def _stands_before(text: str) -> bool:
    """Whether `text` is read as prose before a block, and as nothing else."""
    is_whole = text == text.strip() != "" and "\r" not in text and not text.startswith("\ufeff")
    return is_whole and not starts_or_fences(text)
