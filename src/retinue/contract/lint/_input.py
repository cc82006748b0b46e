"""The rules over an input schema: what a model that must fill it needs (spec 000 §2.2 and §7.1)."""

from collections.abc import Iterator
from typing import Final, cast

from retinue.contract import schema as schemas
from retinue.contract.finding import Finding
from retinue.contract.formatting import short_repr
from retinue.contract.model import JsonMapping
from retinue.contract.names import nearest
from retinue.errors import InvalidDefinition

from ._fields import SchemaField, as_mapping, as_texts, fields_of, subschemas
from ._words import lists_choices, says_default, says_deprecated, says_more_than
from .rules import make_finding

_KEYWORDS: Final = frozenset(
    {"$anchor", "$comment", "$defs", "$dynamicAnchor", "$dynamicRef", "$id", "$ref", "$schema", "$vocabulary",
     "additionalItems", "additionalProperties", "allOf", "anyOf", "const", "contains", "contentEncoding",
     "contentMediaType", "contentSchema", "default", "definitions", "dependencies", "dependentRequired",
     "dependentSchemas", "deprecated", "description", "else", "enum", "enumDescriptions", "examples",
     "exclusiveMaximum", "exclusiveMinimum", "format", "if", "items", "maxContains", "maxItems", "maxLength",
     "maxProperties", "maximum", "minContains", "minItems", "minLength", "minProperties", "minimum", "multipleOf",
     "not", "oneOf", "pattern", "patternProperties", "prefixItems", "properties", "propertyNames", "readOnly",
     "required", "then", "title", "type", "unevaluatedItems", "unevaluatedProperties", "uniqueItems", "writeOnly"}
)  # fmt: skip
_MAX_GUESSES: Final = 100
"""So many names of one schema get a "did you mean": comparing spellings takes longer than anything else here."""

_BOUNDS: Final = {
    "string": ("minLength", "maxLength", "pattern", "format", "contentEncoding"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
_SAYS_WHAT: Final = frozenset(
    {"type", "enum", "const", "$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "not", "if", "properties", "items"}
)


def check_input(schema: JsonMapping, *, exempt: frozenset[str] = frozenset()) -> Iterator[Finding]:
    """Everything to say about an input schema, paths inside it.

    Args:
        schema: The schema, known to be JSON data.
        exempt: Top-level fields that may be optional because they came later (C33).
    """
    yield from _check_shape(schema)
    guesses = iter(range(_MAX_GUESSES))
    for path, part in subschemas(schema):
        yield from _check_part(part, path, guesses)
    for field in fields_of(schema):
        yield from _check_field(
            field, schema, exempt=field.path == f"/properties/{field.name}" and field.name in exempt
        )


def check_deprecation(*, text: str, keyword: bool, path: str) -> Iterator[Finding]:
    """That deprecation is said in both places (C34)."""
    if keyword and not says_deprecated(text):
        yield make_finding(
            "definition/deprecated",
            path,
            "It is deprecated, but its description does not say so.",
            "Add `deprecated: true` to the description, and what to use instead.",
        )
    if says_deprecated(text) and not keyword:
        yield make_finding(
            "definition/deprecated",
            path,
            "Its description says `deprecated: true`, but it is not marked.",
            "Set the keyword `deprecated` too.",
        )


def _check_shape(schema: JsonMapping) -> Iterator[Finding]:
    """The four things that spec 000 §2.2 demands of every input schema."""
    properties = as_mapping(schema.get("properties"))
    if schema.get("type") != "object":
        yield make_finding(
            "input/type-object", "", "The input schema is not of `type: object`.", 'Set `"type": "object"`.'
        )
    if "properties" not in schema:
        yield make_finding("input/properties", "", "The input schema lists no `properties`.", "List every parameter.")
    if properties and "required" not in schema:
        names = ", ".join(f'"{name}"' for name, field in properties.items() if "default" not in as_mapping(field))
        fix = f'Add `"required": [{names}]`, less what may be left out.'
        yield make_finding("input/required", "", "The input schema does not say what is `required`.", fix)
    if schema.get("additionalProperties") is not False and schema.get("unevaluatedProperties") is not False:
        message = "The input schema takes parameters that it does not list."
        yield make_finding("input/open", "", message, 'Set `"additionalProperties": false`.')
    if properties and "required" in schema and not as_texts(schema["required"]):
        message = "Every parameter is optional."
        yield make_finding("input/all-optional", "/required", message, "Require what the agent cannot do without.")


def _check_part(part: JsonMapping, path: str, guesses: Iterator[int]) -> Iterator[Finding]:
    """Rules for any schema, wherever it stands."""
    for word in part:
        if word not in _KEYWORDS and (near := _closest_keyword(word, guesses)):
            message = f"The keyword {short_repr(word)} means nothing in a schema."
            yield make_finding("input/keyword", f"{path}/{word}", message, f"Did you mean `{near}`?")
    properties = as_mapping(part.get("properties"))
    strange = [name for name in as_texts(part.get("required")) if name not in properties]
    for name in strange if properties or part.get("additionalProperties") is False else ():
        near = nearest(name, properties, limit=1) if next(guesses, None) is not None else ()
        fix = f"Did you mean `{near[0]}`?" if near else "Describe it in `properties`, or do not require it."
        message = f"{short_repr(name)} is required, but no property."
        yield make_finding("input/required-unknown", f"{path}/required", message, fix)
    if path and properties and not any(word in part for word in ("additionalProperties", "unevaluatedProperties")):
        message = "The object takes members that it does not list."
        yield make_finding("input/open-inside", path, message, 'Set `"additionalProperties": false`.')
    if "array" in as_texts(part.get("type")) and "prefixItems" not in part and part.get("items", True) in ({}, True):
        yield make_finding("input/loose", path, "The list may hold anything.", "Say in `items` what it holds.")


def _closest_keyword(word: str, guesses: Iterator[int]) -> str:
    if word.startswith(("x-", "$")) or len(word) < 4 or next(guesses, None) is None:
        return ""
    return next(iter(nearest(word, _KEYWORDS, limit=1)), "")


def _check_field(field: SchemaField, root: JsonMapping, *, exempt: bool) -> Iterator[Finding]:
    """Rules for one field."""
    text = field.description
    if not text.strip():
        message = f"`{field.name}` has no description."
        yield make_finding("input/description", field.path, message, "Say what to put there: it is the prompt.")
    elif not says_more_than(text, field.name):
        message = f"The description of `{field.name}` only repeats its name."
        yield make_finding("input/description-name", field.path, message, "Say what a good value looks like.")
    yield from check_deprecation(text=text, keyword=field.schema.get("deprecated") is True, path=field.path)
    yield from _check_stated_values(field, root)
    if not field.required and "default" not in field.schema:
        yield from _check_optional(field, exempt=exempt)
    yield from _check_values(field)


def _check_optional(field: SchemaField, *, exempt: bool) -> Iterator[Finding]:
    """What happens when an optional field is left out must be known."""
    if says_default(field.description):
        message = f"The default of `{field.name}` stands in its description only."
        yield make_finding(
            "input/default-in-words", field.path, message, "Set `default`; it is then filled in and shown."
        )
    elif not exempt and field.schema.get("deprecated") is not True:
        message = f"`{field.name}` is optional and has no default."
        yield make_finding("input/optional", field.path, message, "Require it, or give it a `default`.")


def _check_values(field: SchemaField) -> Iterator[Finding]:
    """Rules for what a field takes."""
    schema = field.schema
    kinds = as_texts(schema.get("type"))
    is_untyped = not _SAYS_WHAT & schema.keys()
    is_shapeless = {*kinds} - {"null"} == {"object"} and not {
        "properties",
        "additionalProperties",
        "patternProperties",
    } & schema.keys()
    if is_untyped or is_shapeless:
        message = f"`{field.name}` takes {'anything' if is_untyped else 'any object'}."
        yield make_finding("input/loose", field.path, message, "Say what it holds: `type`, `properties`, `enum`, …")
    inside = as_mapping(schema.get("items")) if "array" in kinds else schema
    fixed = {"enum", "const", "pattern", "format", "$ref", "anyOf", "oneOf"} & inside.keys()
    if "string" in as_texts(inside.get("type")) and not fixed and lists_choices(field.description):
        message = f"The choices for `{field.name}` stand in its description only."
        yield make_finding("input/choices-in-words", field.path, message, "List them in `enum`.")
    for kind, words in _BOUNDS.items():
        if kind in kinds and not {"enum", "const", *words} & schema.keys():
            message = f"`{field.name}` is a {'text' if kind == 'string' else 'number'} without bounds."
            yield make_finding(
                "input/constraint", field.path, message, f"Set {' or '.join(f'`{one}`' for one in words[:2])}."
            )


def _check_stated_values(field: SchemaField, root: JsonMapping) -> Iterator[Finding]:
    """The default and the examples must pass what they stand in for."""
    examples: object = field.stated.get("examples")
    values = [("default", "default", field.stated["default"])] if "default" in field.stated else []
    if isinstance(examples, list):
        values += [("example", f"examples/{at}", value) for at, value in enumerate(cast("list[object]", examples))]
    if not values:
        return
    shared = {word: root[word] for word in ("$schema", "$defs", "definitions") if word in root}
    try:
        validator = schemas.compile({**shared, **field.stated})
    except InvalidDefinition:
        return  # the schema itself is reported, or it refers to a place that only the whole has
    for what, place, value in values:
        for violation in validator.findings(value):
            message = f"The {what} of `{field.name}` does not pass its own schema: {violation.message}"
            yield make_finding(f"input/{what}", f"{field.path}/{place}{violation.path}", message, violation.fix)
