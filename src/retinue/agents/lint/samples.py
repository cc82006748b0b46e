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
    outline = text.outline
    current: tuple[Validator, set[str], int] | None = None  # the schema, its members, and where its section ends
    for fence in outline.code_blocks:
        if fence.kind not in _JSON or not fence.text.lstrip().startswith("{"):
            continue
        try:
            value = json.loads(fence.text)
        except ParseError:
            continue  # cut short, or marked up: not for us to say
        if not isinstance(value, dict):
            continue
        properties = value.get("properties")
        if "$schema" in value or (value.get("type") == "object" and isinstance(properties, dict)):
            members = set(properties) if isinstance(properties, dict) else set[str]()
            try:
                current = schema.compile(value), members, outline.section_at(fence.line).whole_end
            except InvalidDefinition:
                current = None
        elif current and fence.line <= current[2]:
            before = outline.lines[max(fence.line - 2 - _BEFORE, 0) : fence.line - 2]
            lines = [outline.section_at(fence.line).heading, *before]
            is_example = any(map(_EXAMPLE.search, lines)) and not any(map(_WRONG.search, lines))
            # It is of the kind that the schema describes when at least half of its members are.
            shared_count = len(value.keys() & current[1])
            if is_example and shared_count and shared_count * 2 >= len(value):
                yield from _check_example(value, current[0], text, fence)


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
