"""From a type annotation, as it is written, to the JSON Schema that it means; without importing or running anything.

Knows the plain types, literals, lists, options and `Annotated` fields. What it does not know it does not guess.
"""

import ast
from collections.abc import Mapping
from typing import Final

from retinue.contract.model import JsonMapping

_SCALARS: Final[Mapping[str, JsonMapping]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "None": {"type": "null"},
}
_LISTS: Final = frozenset({"list", "List", "Sequence", "Iterable", "set", "Set", "frozenset"})
_OBJECTS: Final = frozenset({"dict", "Dict", "Mapping"})
_FIELDS: Final = {
    "description": "description", "ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum",
    "min_length": "minLength", "max_length": "maxLength", "pattern": "pattern", "multiple_of": "multipleOf",
}  # fmt: skip
_ITEMS: Final = {"minLength": "minItems", "maxLength": "maxItems"}


def schema_of(node: ast.expr) -> JsonMapping | None:
    """The schema that an annotation means; None when that cannot be told from its text."""
    match node:
        case ast.Constant(value=None):
            return dict(_SCALARS["None"])
        case ast.Constant(value=str(text)):  # an annotation in quotes
            return _quoted(text)
        case ast.Name() | ast.Attribute():
            name = last_name(node)
            scalar = _SCALARS.get(name)
            container: JsonMapping | None = {"type": "array"} if name in _LISTS else None
            return dict(scalar) if scalar else {"type": "object"} if name in _OBJECTS else container
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return _either(left, right)
        case ast.Subscript(value=value, slice=inside):
            return _subscript(last_name(value), inside)
        case _:
            return None


def last_name(node: ast.expr) -> str:
    """The last part of a dotted name; empty when it is none."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def literal(node: ast.expr) -> tuple[bool, object]:
    """Whether an expression is a plain value, and which."""
    try:
        return True, ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False, None


def _quoted(text: str) -> JsonMapping | None:
    try:
        inside = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return None if isinstance(inside, ast.Constant) else schema_of(inside)


def _subscript(name: str, inside: ast.expr) -> JsonMapping | None:
    parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
    if name in _LISTS:
        items = schema_of(parts[0])
        return {"type": "array", "items": items} if items is not None else None
    if name in _OBJECTS:
        values = schema_of(parts[-1])
        return {"type": "object", "additionalProperties": values if values is not None else True}
    if name == "Optional":
        return _either(parts[0], ast.Constant(value=None))
    if name == "Literal":
        values = [literal(part) for part in parts]
        return {"enum": [value for _, value in values]} if all(is_literal for is_literal, _ in values) else None
    if name == "Annotated":
        schema = schema_of(parts[0])
        return None if schema is None else {**schema, **_field_keywords(parts[1:], schema)}
    return None


def _either(first: ast.expr, second: ast.expr) -> JsonMapping | None:
    one, other = schema_of(first), schema_of(second)
    return None if one is None or other is None else {"anyOf": [one, other]}


def _field_keywords(notes: list[ast.expr], schema: JsonMapping) -> JsonMapping:
    """What the `Field(…)` of an `Annotated` says."""
    keywords: JsonMapping = {}
    for note in notes:
        for keyword in note.keywords if isinstance(note, ast.Call) and last_name(note.func) == "Field" else ():
            word = _FIELDS.get(keyword.arg or "")
            is_literal, value = literal(keyword.value)
            if word and is_literal:
                keywords[_ITEMS.get(word, word) if schema.get("type") == "array" else word] = value
    return keywords
