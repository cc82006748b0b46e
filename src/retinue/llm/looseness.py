"""Which schemas a provider must not be held to word by word.

Providers that compile a schema into a grammar close every object in it: one that may hold any keys can then only be
answered with `{}`. Nothing here asks a model; `provided` decides how to ask.
"""

from collections.abc import Mapping, Sequence
from typing import Final, cast

__all__ = ["is_loose"]

_MAX_DEPTH: Final = 64


def is_loose(schema: object, *, depth: int = 0) -> bool:
    """Whether some object in `schema` may hold keys that the schema does not name.

    An object that lists its keys and says nothing of others is not meant: closing it loses nothing that was asked for.
    """
    if depth > _MAX_DEPTH:
        return True
    if isinstance(schema, Mapping):
        said = cast("Mapping[str, object]", schema)
        return _is_open(said) or any(is_loose(each, depth=depth + 1) for each in said.values())
    if isinstance(schema, Sequence) and not isinstance(schema, str):
        return any(is_loose(each, depth=depth + 1) for each in cast("Sequence[object]", schema))
    return False


def _is_open(schema: Mapping[str, object]) -> bool:
    kinds = schema.get("type")
    named = cast("Sequence[object]", kinds) if isinstance(kinds, (list, tuple)) else (kinds,)
    if "object" not in named:
        return False
    others = schema.get("additionalProperties")
    return bool(others or schema.get("patternProperties")) or (others is None and not schema.get("properties"))
