"""JSON examples in a Markdown text, held against the JSON Schema that stands beside them.

An example is what a heading or a line before the code block calls one, below a schema of the same section. Whatever is
less plain is left alone.
"""

import re
from collections.abc import Iterator
from typing import Final

from retinue.agents.load.outline import Fence
from retinue.contract import json, schema
from retinue.contract.finding import Finding
from retinue.contract.json import JsonObject
from retinue.contract.lint.rules import found
from retinue.contract.schema import Validator
from retinue.errors import InvalidDefinition, ParseError

from .texts import Text

__all__ = ["judge_samples"]

_JSON: Final = frozenset({"json", "jsonc", ""})
_EXAMPLE: Final = re.compile(r"\b(?:examples?|samples?|for instance|e\.g\.)", re.IGNORECASE)
_WRONG: Final = re.compile(
    r"\b(?:invalid|wrong|bad|incorrect|refused|rejected|don.?t|never|not|counter)\b|❌", re.IGNORECASE
)
_BEFORE: Final = 3
"""Lines before a code block that may say what it is."""


def judge_samples(text: Text) -> Iterator[Finding]:
    """Every example in a text that does not pass the schema beside it (C27)."""
    held: tuple[Validator, JsonObject, int] | None = None  # the schema, and where its section ends
    for fence in text.outline.fences:
        value = _object(fence)
        if value is None:
            continue
        if _is_schema(value):
            held = _compiled(value, text, fence)
        elif held and fence.line <= held[2] and _is_example(text, fence) and _speaks_of(value, held[1]):
            yield from _judge(value, held[0], text, fence)


def _object(fence: Fence) -> JsonObject | None:
    if fence.kind not in _JSON or not fence.text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(fence.text)
    except ParseError:
        return None  # cut short, or marked up: not for us to say
    return value if isinstance(value, dict) else None


def _is_schema(value: JsonObject) -> bool:
    return "$schema" in value or (value.get("type") == "object" and isinstance(value.get("properties"), dict))


def _compiled(value: JsonObject, text: Text, fence: Fence) -> tuple[Validator, JsonObject, int] | None:
    try:
        return schema.compile(value), value, text.outline.section_at(fence.line).whole_end
    except InvalidDefinition:
        return None


def _is_example(text: Text, fence: Fence) -> bool:
    outline = text.outline
    before = outline.lines[max(fence.line - 2 - _BEFORE, 0) : fence.line - 2]
    said = [outline.section_at(fence.line).heading, *before]
    return any(_EXAMPLE.search(line) for line in said) and not any(_WRONG.search(line) for line in said)


def _speaks_of(value: JsonObject, schema: JsonObject) -> bool:
    """Whether the object is of the kind the schema describes: at least half of its members are."""
    properties = schema.get("properties")
    known = len(value.keys() & properties.keys()) if isinstance(properties, dict) else 0
    return bool(known) and known * 2 >= len(value)


def _judge(value: JsonObject, validator: Validator, text: Text, fence: Fence) -> Iterator[Finding]:
    places = json.places(fence.text)
    for wrong in validator.findings(value):
        path = wrong.path
        while path and path not in places:
            path = path.rpartition("/")[0]
        line, column = places.get(path, (1, 1))
        place = fence.line + line - 1, fence.column + column - 1
        message = f"The example does not pass the schema above it: {wrong.message}"
        yield found("sample/schema", wrong.path, message, wrong.fix, file=text.name, line=place[0], column=place[1])
