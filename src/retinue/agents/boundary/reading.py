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

__all__ = ["Reader", "fits", "read_text"]

Reader: TypeAlias = Callable[[str], Reply]
"""Reads an answer in one dialect. Raises one of our errors when it is none."""

_HOW: Final = "Answer with one JSON object and nothing around it."


def read_text(text: str, reply: Reply, *, reader: Reader | None, gives: Validator | None) -> Reply:
    """`reply` with its `text` read, and a warning where something had to be stripped.

    Without an output schema only JSON objects and lists are data; any other text is the content as it stands.

    Raises:
        OutputInvalid: Data is owed and the text holds none; `detail` says line, column and reason.
        RetinueError: The dialect's own reader refuses it.
    """
    if reader is not None:
        return _beside(reader(text), reply, gives)
    if gives is None:
        data = _container(text)
        return replace(reply, text=None, data=data, content=reply.content or text)
    data, stripped = _owed(text, gives)
    warnings = (*reply.warnings, _repaired(stripped)) if stripped else reply.warnings
    return replace(reply, text=None, data=data, warnings=warnings)


def fits(text: str, gives: Validator | None) -> bool:
    """Whether `text` as it stands is the JSON that its skill promises."""
    if gives is None:
        return False
    try:
        return gives.accepts(json.loads(text))
    except ParseError:
        return False


def _beside(read: Reply, reply: Reply, gives: Validator | None) -> Reply:
    """What the dialect read, and beside it what the runner knows and no text says.

    In a dialect of words the words are the data, where the skill takes them as such.
    """
    worded = read.data is ABSENT and read.content != "" and gives is not None and gives.accepts(read.content)
    return replace(
        read,
        data=read.content if worded else read.data,
        warnings=(*read.warnings, *reply.warnings),
        extras={**(read.extras or {}), **reply.extras} if reply.extras else read.extras,
        usage=read.usage or reply.usage,
        traces=read.traces or reply.traces,
        files_read=read.files_read or reply.files_read,
        files_written=read.files_written or reply.files_written,
    )


def _container(text: str) -> object:
    if text.lstrip()[:1] not in ("{", "["):
        return ABSENT
    try:
        return json.loads(text)
    except ParseError:
        return ABSENT


def _owed(text: str, gives: Validator) -> tuple[JsonValue, str]:
    """The data, and what was stripped around it. A plain text is data too where the schema takes one."""
    try:
        value = json.loads(text)
    except ParseError as refused:
        if gives.accepts(text):
            return text, ""
        return _repair(text, refused)
    return (text, "") if not gives.accepts(value) and gives.accepts(text) else (value, "")


def _repair(text: str, refused: ParseError) -> tuple[JsonValue, str]:
    try:
        return json.repair(text)
    except ParseError as error:
        told = refused if error.detail["reason"] == "no_object" else error
        raise OutputInvalid(
            f"The answer is not JSON: {told.message[:1].lower()}{told.message[1:]}",
            hint=f"{told.hint} {_HOW}",
            path=told.path,
            suggestions=(told.hint, _HOW),
            detail=told.detail,
        ) from None


def _repaired(stripped: str) -> Warned:
    return Warned(
        type="degraded_analysis",
        message=f"The answer was not JSON alone. {stripped}",
        impact="The data is what the agent wrote; what stood around it is not part of it.",
        recovery=_HOW,
        synthetic=True,
    )
