"""How a definition looks among other files: the folders where one may lie, and the marks of one. Reads no file."""

from typing import Final

from retinue.contract.json import JsonValue

DEFINITION_KEYS: Final = frozenset({"input_schema", "inputSchema", "parameters", "skills", "capabilities", "endpoints"})
"""One of these beside `name` and `description` makes a JSON object look like a definition."""

_OF_SCHEMAS: Final = frozenset({"$ref", "allOf", "anyOf", "oneOf", "properties", "type"})
_SEARCHED_HIDDEN: Final = frozenset({".claude", ".retinue"})
"""Hidden folders in which people keep definitions."""
_SKIPPED: Final = frozenset({"__pycache__", "node_modules", "site-packages"})


def is_searched(folder: str) -> bool:
    """Whether definitions may lie in a folder of this name: in hidden ones, and in what was installed, none do."""
    return folder not in _SKIPPED and (folder[0] != "." or folder in _SEARCHED_HIDDEN)


def has_front_matter(data: bytes) -> bool:
    """Whether a Markdown text begins with the front matter of a definition."""
    return data.startswith(b"---") and b"\nname:" in data[:2_000] and b"\ndescription:" in data[:20_000]


def is_definition(value: JsonValue) -> bool:
    """Whether a JSON value looks like a definition, or like a list with one in it.

    A manifest or a template has a name, a description and perhaps `skills` or `parameters` too: what these hold tells.
    """
    return any(
        isinstance(each, dict)
        and isinstance(each.get("name"), str)
        and isinstance(each.get("description"), str)
        and any(_holds_definition(key, each[key]) for key in DEFINITION_KEYS & each.keys())
        for each in (value if isinstance(value, list) else [value])
    )


def _holds_definition(key: str, value: JsonValue) -> bool:
    """Whether the value of one of `DEFINITION_KEYS` is what a definition has there."""
    if key == "endpoints":
        return isinstance(value, list | dict)
    if key in {"skills", "capabilities"}:
        return isinstance(value, list) and all(isinstance(each, dict) for each in value)
    return isinstance(value, dict) and (not value or not _OF_SCHEMAS.isdisjoint(value))
