"""The fields of a schema, found wherever an object is described; for judging style, so nothing here validates."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, cast

from retinue.contract.json import pointer
from retinue.contract.model import JsonMapping

__all__ = ["Field", "drawn_in", "fields_of", "mapping", "parts_of", "resolved", "texts"]

_NAMED: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTED: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE: Final = ("items", "additionalProperties", "contains", "if", "then", "else")


@dataclass(frozen=True, slots=True)
class Field:
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


def parts_of(schema: JsonMapping) -> Iterator[tuple[str, JsonMapping]]:
    """Every schema inside `schema`, itself first, each with its JSON Pointer."""
    pending: list[tuple[str, object]] = [("", schema)]
    for path, part in pending:  # grows while it is walked
        if not isinstance(part, dict):
            continue
        source = cast("JsonMapping", part)
        yield path, source
        for word in _NAMED:
            pending += [(path + pointer([word, name]), inner) for name, inner in mapping(source.get(word)).items()]
        for word in (*_LISTED, "items"):
            inner = source.get(word)
            if isinstance(inner, list):
                pending += [(f"{path}/{word}/{index}", one) for index, one in enumerate(cast("list[object]", inner))]
        pending += [(f"{path}/{word}", source[word]) for word in _SINGLE if word in source]


def fields_of(schema: JsonMapping) -> Iterator[Field]:
    """Every field of every object that `schema` describes, outer ones first."""
    for path, part in parts_of(schema):
        required = frozenset(texts(part.get("required")))
        for name, stated in mapping(part.get("properties")).items():
            whole = mapping(stated)
            yield Field(
                name=name,
                path=path + pointer(["properties", name]),
                required=name in required,
                stated=whole,
                schema=drawn_in(whole, schema),
            )


def resolved(schema: JsonMapping, root: JsonMapping) -> JsonMapping:
    """`schema` with a local `$ref` drawn in; what stands beside the reference wins."""
    for _ in range(32):  # a circle of references is reported elsewhere
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        target: object = root
        for part in reference.split("/")[1:]:
            target = mapping(target).get(part.replace("~1", "/").replace("~0", "~"))
        schema = {**mapping(target), **{word: value for word, value in schema.items() if word != "$ref"}}
    return schema


def drawn_in(schema: JsonMapping, root: JsonMapping) -> JsonMapping:
    """`schema` as one flat object: references, a lone `allOf`, and the only alternative beside `null` drawn in."""
    schema = resolved(schema, root)
    for word in ("allOf", "anyOf", "oneOf"):
        inner = schema.get(word)
        if not isinstance(inner, list):
            continue
        branches = [resolved(mapping(one), root) for one in cast("list[object]", inner)]
        real = [one for one in branches if one.get("type") != "null"]
        if len(real) == 1:
            flat = {**real[0], **{key: value for key, value in schema.items() if key != word}}
            if len(real) < len(branches):
                flat["type"] = [*texts(real[0].get("type")), "null"]
            return flat
    return schema


def mapping(value: object) -> JsonMapping:
    """`value` if it is a JSON object, else an empty one."""
    return cast("JsonMapping", value) if isinstance(value, dict) else {}


def texts(value: object) -> list[str]:
    """The strings in `value`, or `value` itself as the only one."""
    if isinstance(value, str):
        return [value]
    items = cast("Iterable[object]", value) if isinstance(value, (list, tuple)) else ()
    return [item for item in items if isinstance(item, str)]
