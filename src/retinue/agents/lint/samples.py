"""JSON examples in a Markdown text, held against the JSON Schema that stands beside them.

An example is what a heading or a line before the code block calls one, below a schema of the same section. Whatever is
less plain is left alone.
"""

import re
from collections.abc import Iterator
from typing import Final

from retinue.agents.load.outline import CodeBlock
from retinue.contract import json, schema
from retinue.contract.finding import Finding
from retinue.contract.json import JsonObject
from retinue.contract.lint.rules import make_finding
from retinue.contract.schema import Validator
from retinue.errors import InvalidDefinition, ParseError

from .definitions import MarkdownText

_JSON: Final = frozenset({"json", "jsonc", ""})
_EXAMPLE: Final = re.compile(r"\b(?:examples?|samples?|for instance|e\.g\.)", re.IGNORECASE)
_WRONG: Final = re.compile(
    r"\b(?:invalid|wrong|bad|incorrect|refused|rejected|don.?t|never|not|counter)\b|❌", re.IGNORECASE
)
_BEFORE: Final = 3
"""Lines before a code block that may say what it is."""


def check_samples(text: MarkdownText) -> Iterator[Finding]:
    """Every example in a text that does not pass the schema beside it (C27)."""
    current: tuple[Validator, JsonObject, int] | None = None  # the schema, and where its section ends
    for fence in text.outline.code_blocks:
        value = _object(fence)
        if value is None:
            continue
        if _is_schema(value):
            current = _compile(value, text, fence)
        elif current and fence.line <= current[2] and _is_example(text, fence) and _describes(value, current[1]):
            yield from _check_example(value, current[0], text, fence)


def _object(fence: CodeBlock) -> JsonObject | None:
    if fence.kind not in _JSON or not fence.text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(fence.text)
    except ParseError:
        return None  # cut short, or marked up: not for us to say
    return value if isinstance(value, dict) else None


def _is_schema(value: JsonObject) -> bool:
    return "$schema" in value or (value.get("type") == "object" and isinstance(value.get("properties"), dict))


def _compile(value: JsonObject, text: MarkdownText, fence: CodeBlock) -> tuple[Validator, JsonObject, int] | None:
    try:
        return schema.compile(value), value, text.outline.section_at(fence.line).whole_end
    except InvalidDefinition:
        return None


def _is_example(text: MarkdownText, fence: CodeBlock) -> bool:
    outline = text.outline
    before = outline.lines[max(fence.line - 2 - _BEFORE, 0) : fence.line - 2]
    lines = [outline.section_at(fence.line).heading, *before]
    return any(_EXAMPLE.search(line) for line in lines) and not any(_WRONG.search(line) for line in lines)


def _describes(value: JsonObject, schema: JsonObject) -> bool:
    """Whether the object is of the kind the schema describes: at least half of its members are."""
    properties = schema.get("properties")
    shared_count = len(value.keys() & properties.keys()) if isinstance(properties, dict) else 0
    return bool(shared_count) and shared_count * 2 >= len(value)


def _check_example(value: JsonObject, validator: Validator, text: MarkdownText, fence: CodeBlock) -> Iterator[Finding]:
    places = json.source_map(fence.text)
    for finding in validator.findings(value):
        path = finding.path
        while path and path not in places:
            path = path.rpartition("/")[0]
        line, column = places.get(path, (1, 1))
        place = fence.line + line - 1, fence.column + column - 1
        message = f"The example does not pass the schema above it: {finding.message}"
        yield make_finding(
            "sample/schema", finding.path, message, finding.fix, file=text.name, line=place[0], column=place[1]
        )
