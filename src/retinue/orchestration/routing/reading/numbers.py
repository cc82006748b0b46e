"""Numbers that are said of a parameter: by their unit, by the word they count, or by "the last", "at most", "top"."""

import re
from typing import Final

from retinue.orchestration.routing.reading._amounts import Amount, amounts, counted, scale_to
from retinue.orchestration.routing.reading.around import Surroundings
from retinue.orchestration.routing.reading.parameter import Parameter
from retinue.orchestration.routing.reading.said import Reading, Said, vocabulary
from retinue.orchestration.routing.words import word_tokens

__all__ = ["read", "read_only"]

_COUNTS: Final = ("limit", "count", "max", "maximum", "top", "number", "n", "size", "most")
_LIMITS: Final = vocabulary("top last first latest recent newest only most to limit maximum max least")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_CALENDAR: Final = vocabulary("day week month quarter year")


def read(parameter: Parameter, said: Said, _around: Surroundings) -> Reading | None:
    """The first number that is meant for the parameter."""
    if parameter.type not in {"integer", "number"}:
        return None
    for amount in amounts(said.text):
        end = amount.start + len(amount.words)
        if not said.free(amount.start, end) or (meant := _meant(amount, parameter, said)) is None:
            continue
        if (value := counted(meant, parameter)) is not None:
            return Reading(value, amount.start, end)
    return None


def read_only(parameter: Parameter, said: Said, _around: Surroundings) -> Reading | None:
    """The one number that is left, for a parameter that must be given."""
    if parameter.type not in {"integer", "number"} or not parameter.required:
        return None
    left = [one for one in amounts(said.text) if said.free(one.start, one.start + len(one.number))]
    if len(left) != 1 or (value := counted(left[0].value, parameter)) is None:
        return None
    return Reading(value, left[0].start, left[0].start + len(left[0].number))


def _meant(amount: Amount, parameter: Parameter, said: Said) -> float | None:
    """The value for `parameter` if `amount` is said of it."""
    if (scaled := scale_to(amount, parameter.name)) is not None:
        return scaled
    if amount.unit == "%" and parameter.schema.get("maximum") == 1:
        return amount.value / 100
    return amount.value if _counts(amount, parameter, said) else None


def _counts(amount: Amount, parameter: Parameter, said: Said) -> bool:
    if amount.unit.rstrip("s") in _CALENDAR:
        return amount.unit.rstrip("s") in {word.rstrip("s") for word in parameter.words}
    unit = word_tokens(amount.unit)
    if unit and len(unit[0]) > 2 and unit[0] in parameter.stems:
        return True
    before = said.before(amount.start, most=2)
    if not set(before).isdisjoint(parameter.words):
        return True
    if _YEAR.fullmatch(amount.number) and before[:1] == ["to"]:
        return False  # "from 2024 to 2025"
    return parameter.says(*_COUNTS) and bool(before) and before[0] in _LIMITS
