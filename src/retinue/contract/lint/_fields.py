"""The fields of a schema, found wherever an object is described; for judging style, so nothing here validates."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, cast

from retinue.contract.json import pointer
from retinue.contract.model import JsonMapping

_SCHEMA_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_SCHEMA_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE_SCHEMAS: Final = ("items", "additionalProperties", "contains", "if", "then", "else")


@dataclass(frozen=True, slots=True)
class SchemaField:
    """One member of an object.

    Attributes:
        stated: Its schema as it stands there.
        schema: The same with what it refers to drawn in, and of one alternative beside `null`, that alternative.
    """

    name: str
    path: str
    required: bool
    stated: JsonMapping
    schema: JsonMapping

    @property
    def description(self) -> str:
        """Its description, its own before that of what it refers to."""
        text = self.schema.get("description")
        return text if isinstance(text, str) else ""


def subschemas(schema: JsonMapping) -> Iterator[tuple[str, JsonMapping]]:
    """Every schema inside `schema`, itself first, each with its JSON Pointer."""
    pending: list[tuple[str, object]] = [("", schema)]
    for path, part in pending:  # grows during the loop
        if not isinstance(part, dict):
            continue
        source = cast("JsonMapping", part)
        yield path, source
        for word in _SCHEMA_MAPS:
            pending += [(path + pointer([word, name]), inner) for name, inner in as_mapping(source.get(word)).items()]
        for word in (*_SCHEMA_LISTS, "items"):
            inner = source.get(word)
            if isinstance(inner, list):
                pending += [(f"{path}/{word}/{index}", one) for index, one in enumerate(cast("list[object]", inner))]
        pending += [(f"{path}/{word}", source[word]) for word in _SINGLE_SCHEMAS if word in source]


def fields_of(schema: JsonMapping) -> Iterator[SchemaField]:
    """Every field of every object that `schema` describes, outer ones first."""
    for path, part in subschemas(schema):
        required = frozenset(as_texts(part.get("required")))
        for name, stated in as_mapping(part.get("properties")).items():
            whole = as_mapping(stated)
            yield SchemaField(
                name=name,
                path=path + pointer(["properties", name]),
                required=name in required,
                stated=whole,
                schema=flatten(whole, schema),
            )


def resolve_ref(schema: JsonMapping, root: JsonMapping) -> JsonMapping:
    """`schema` with a local `$ref` drawn in; what stands beside the reference wins."""
    for _ in range(32):  # a circle of references is reported elsewhere
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        target: object = root
        for part in reference.split("/")[1:]:
            target = as_mapping(target).get(part.replace("~1", "/").replace("~0", "~"))
        schema = {**as_mapping(target), **{word: value for word, value in schema.items() if word != "$ref"}}
    return schema


def flatten(schema: JsonMapping, root: JsonMapping) -> JsonMapping:
    """`schema` as one flat object: references, a lone `allOf`, and the only alternative beside `null` drawn in."""
    schema = resolve_ref(schema, root)
    for word in ("allOf", "anyOf", "oneOf"):
        inner = schema.get(word)
        if not isinstance(inner, list):
            continue
        branches = [resolve_ref(as_mapping(one), root) for one in cast("list[object]", inner)]
        real = [one for one in branches if one.get("type") != "null"]
        if len(real) == 1:
            flat = {**real[0], **{key: value for key, value in schema.items() if key != word}}
            if len(real) < len(branches):
                flat["type"] = [*as_texts(real[0].get("type")), "null"]
            return flat
    return schema


def as_mapping(value: object) -> JsonMapping:
    """`value` if it is a JSON object, else an empty one."""
    return cast("JsonMapping", value) if isinstance(value, dict) else {}


def as_texts(value: object) -> list[str]:
    """The strings in `value`, or `value` itself as the only one."""
    if isinstance(value, str):
        return [value]
    items = cast("Iterable[object]", value) if isinstance(value, (list, tuple)) else ()
    return [item for item in items if isinstance(item, str)]
