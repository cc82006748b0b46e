"""Parameters named outright: `limit=5`, "depth: deep_dive", `--since=2024-01-01`."""

import re
from typing import Final

from retinue.orchestration.routing.reading._amounts import amounts, counted
from retinue.orchestration.routing.reading.around import Surroundings
from retinue.orchestration.routing.reading.parameter import Parameter
from retinue.orchestration.routing.reading.said import Reading, Said
from retinue.orchestration.routing.words import word_tokens

__all__ = ["read"]

_QUOTED: Final = r"\"([^\"\n]*)\"|'([^'\n]*)'|`([^`\n]*)`"
_BARE: Final = 4
_YES_AND_NO: Final = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def read(parameter: Parameter, said: Said, _around: Surroundings) -> Reading | None:
    """The value that stands behind the parameter's name and a `=` or `:`."""
    name = r"[\s_-]".join(map(re.escape, parameter.words))
    if not name:
        return None
    bare = r"[^\s;]+" if parameter.type == "array" else r"[^\s,;]+"
    pattern = re.compile(rf"(?<![\w-])-{{0,2}}{name}\s?[=:]\s?(?:{_QUOTED}|({bare}))", re.IGNORECASE)
    for match in said.matches(pattern):
        inside = match.lastindex or 1
        text = match.group(inside)
        value = _decoded(text.rstrip(".?!") if inside == _BARE else text, parameter)
        if value is not None:
            return Reading(value, match.start(), match.end())
    return None


def _decoded(text: str, parameter: Parameter) -> object | None:
    """`text` as a value of the parameter's type, or None."""
    if parameter.choices:
        return next((choice for choice in parameter.choices if word_tokens(choice) == word_tokens(text)), None)
    match parameter.type:
        case "boolean":
            return _YES_AND_NO.get(text.lower())
        case "integer" | "number":
            found = next(amounts(text), None)
            return None if found is None else counted(found.value, parameter)
        case "array":
            parts = [part.strip() for part in text.split(",") if part.strip()]
            values = [part if parameter.items is None else _decoded(part, parameter.items) for part in parts]
            return values if values and None not in values else None
        case "string":
            return text or None
        case _:
            return None
