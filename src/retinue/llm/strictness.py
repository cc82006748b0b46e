"""How strictly a provider can be held to a schema, without losing what the schema allows.

Some providers compile the schema of an answer into a grammar. That closes every object, so that one which may hold any
keys can only be answered with `{}`, and some forms of schema are refused altogether. Nothing here asks a model;
`pydantic_ai_model` decides how to ask.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

_MAX_DEPTH: Final = 64
_MAX_OPTIONAL: Final = 24
"""Keys that need not be there, in a whole schema: with more, the grammar is refused as too large."""

_NOT_COMPILED: Final = frozenset({"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "prefixItems"})


def is_open(schema: object) -> bool:
    """Whether some object in `schema` may hold keys that nothing names.

    An object that lists its keys and says nothing of others is not meant: closing it loses nothing that was asked for.
    """
    return any(_takes_any_key(each) for each in _schemas(schema))


def compiles(schema: object) -> bool:
    """Whether `schema` is one that providers with a narrow grammar take, and take whole."""
    optional = 0
    for each in _schemas(schema):
        if _takes_any_key(each) or isinstance(each.get("type"), (list, tuple)) or _NOT_COMPILED & each.keys():
            return False
        keys, required = each.get("properties"), each.get("required")
        if isinstance(keys, Mapping):
            required_keys = cast("Sequence[object]", required) if isinstance(required, (list, tuple)) else ()
            optional += sum(key not in required_keys for key in cast("Mapping[str, object]", keys))
    return optional <= _MAX_OPTIONAL


def _takes_any_key(schema: Mapping[str, object]) -> bool:
    kinds = schema.get("type")
    types = cast("Sequence[object]", kinds) if isinstance(kinds, (list, tuple)) else (kinds,)
    if "object" not in types:
        return False
    others = schema.get("additionalProperties")
    return bool(others or schema.get("patternProperties")) or (others is None and not schema.get("properties"))


def _schemas(value: object, depth: int = 0) -> Iterator[Mapping[str, object]]:
    """Every object in `value`, itself included: more than the schemas in it, but never fewer."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, object]", value)
        yield mapping
        for each in mapping.values():
            yield from _schemas(each, depth + 1)
    elif isinstance(value, (list, tuple)):
        for each in cast("Sequence[object]", value):
            yield from _schemas(each, depth + 1)
