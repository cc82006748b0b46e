"""That an agent is deprecated, in its description (A27) and as the keyword of JSON Schema: both are written (C34).

The description ends `(deprecated: true; since 1.4; use x_v2; why)`. Anybody else's `deprecated: true` is read as well.
"""

import re
from typing import Final, NamedTuple

from retinue.contract.definition import Deprecation
from retinue.contract.model import JsonMapping

_ENDING: Final = re.compile(r" ?\(deprecated: true(?:; since ([^;()\n]*))?(?:; use ([^;()\n]*))?(?:; ([^;()\n]*))?\)\Z")
_DEPRECATED: Final = re.compile(r"\bdeprecated\s*[:=]\s*true\b", re.IGNORECASE)
_KEYWORD: Final = "deprecated"


class DeprecationSplit(NamedTuple):
    """A description and a schema without what they said of deprecation."""

    description: str
    input_schema: JsonMapping
    deprecated: Deprecation | None


def read_deprecation(description: str, input_schema: JsonMapping) -> DeprecationSplit:
    """Part what is said of deprecation from the rest; of a description that says it in other words nothing is cut."""
    schema = {key: value for key, value in input_schema.items() if key != _KEYWORD or value is not True}
    ending = _ENDING.search(description)
    if ending is not None:
        since, use, note = ending.groups()
        return DeprecationSplit(
            description[: ending.start()], schema, Deprecation(since=since, use=use, note=note or "")
        )
    is_deprecated = len(schema) < len(input_schema) or _DEPRECATED.search(description) is not None
    return (
        DeprecationSplit(description, schema, Deprecation())
        if is_deprecated
        else DeprecationSplit(description, input_schema, None)
    )


def write_deprecation(
    description: str, input_schema: JsonMapping, deprecated: Deprecation | None
) -> tuple[str, JsonMapping]:
    """The description and the schema that say so. Details that would be read otherwise are left out."""
    if deprecated is None:
        return description, input_schema
    parts = [
        "deprecated: true",
        *([f"since {deprecated.since}"] if deprecated.since is not None else []),
        *([f"use {deprecated.use}"] if deprecated.use is not None else []),
        *([deprecated.note] if deprecated.note else []),
    ]
    schema = {**input_schema, _KEYWORD: True}
    space = " " if description else ""
    full = f"{description}{space}({'; '.join(parts)})"
    reads_back = read_deprecation(full, schema)[::2] == (description, deprecated)
    return (full if reads_back else f"{description}{space}(deprecated: true)"), schema
