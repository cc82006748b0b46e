"""An agent's text becomes data: by its dialect where it speaks one, else as strict JSON, with one narrow repair.

The repair takes a single whole object out of its code fence or the prose around it, and is always told. Nothing is
guessed: a text that is cut off, has two objects or trailing commas is refused with its place.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

from retinue.agents.port import ABSENT, Reply
from retinue.contract import json
from retinue.contract.json import JsonValue
from retinue.contract.result import Warned
from retinue.contract.schema import Validator
from retinue.errors import OutputInvalid, ParseError

Reader: TypeAlias = Callable[[str], Reply]
"""Reads an answer in one dialect. Raises one of our errors when it is none."""

_HOW: Final = "Answer with one JSON object and nothing around it."


def parse_text(text: str, reply: Reply, *, reader: Reader | None, validator: Validator | None) -> Reply:
    """`reply` with its `text` read, and a warning where something had to be stripped.

    Without an output schema only JSON objects and lists are data; any other text is the content as it stands.

    Raises:
        OutputInvalid: Data is owed and the text holds none; `detail` says line, column and reason.
        RetinueError: The dialect's own reader refuses it.
    """
    if reader is not None:
        # What the dialect read, and beside it what the runner knows and no text says.
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
        data = _container(text)
        return replace(reply, text=None, data=data, content=reply.content or text)
    data, stripped = _parse_data(text, validator)
    warnings = (*reply.warnings, _repair_warning(stripped)) if stripped else reply.warnings
    return replace(reply, text=None, data=data, warnings=warnings)


def is_valid_output(text: str, validator: Validator | None) -> bool:
    """Whether `text` as it stands is the JSON that its skill promises."""
    if validator is None:
        return False
    try:
        return validator.is_valid(json.loads(text))
    except ParseError:
        return False


def _container(text: str) -> object:
    if text.lstrip()[:1] not in ("{", "["):
        return ABSENT
    try:
        return json.loads(text)
    except ParseError:
        return ABSENT


def _parse_data(text: str, validator: Validator) -> tuple[JsonValue, str]:
    """The data, and what was stripped around it. A plain text is data too where the schema takes one."""
    try:
        value = json.loads(text)
    except ParseError as parse_error:
        if validator.is_valid(text):
            return text, ""
        return _repair_json(text, parse_error)
    return (text, "") if not validator.is_valid(value) and validator.is_valid(text) else (value, "")


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


def _repair_warning(stripped: str) -> Warned:
    return Warned(
        type="degraded_analysis",
        message=f"The answer was not JSON alone. {stripped}",
        impact="The data is what the agent wrote; what stood around it is not part of it.",
        recovery=_HOW,
        synthetic=True,
    )
