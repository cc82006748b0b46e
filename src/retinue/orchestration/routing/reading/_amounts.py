"""Numbers that people write, with their units: "20 commits", "the last five", "30 seconds", "1,500", "5 MB"."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from retinue.orchestration.routing.reading.parameter import Parameter

__all__ = ["NUMBER_WORDS", "Amount", "amounts", "counted", "number_of", "scale_to"]

_WORDS: Final = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "dozen": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "fifty": 50,
    "hundred": 100,
}  # fmt: skip
NUMBER_WORDS: Final = "|".join(sorted(_WORDS, key=len, reverse=True))

_NUMBER: Final = re.compile(
    rf"(?<![\w.,/:#@-])(?P<number>[-+]?\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|[-+]?\d{{1,15}}(?:\.\d{{1,15}})?|\b(?:{NUMBER_WORDS})\b)"
    r"(?![\d:/])(?:\s?(?P<unit>%|[A-Za-z]+))?",
    re.IGNORECASE,
)
_LARGEST: Final = 10**15
_TIME: Final = {
    "ms": 0.001, "millisecond": 0.001, "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60,
    "h": 3600, "hr": 3600, "hour": 3600, "d": 86_400, "day": 86_400, "week": 604_800,
}  # fmt: skip
_SIZE: Final = {
    "b": 1, "byte": 1, "kb": 1_000, "kilobyte": 1_000, "kib": 1_024, "mb": 1_000_000, "megabyte": 1_000_000,
    "mib": 1_048_576, "gb": 1_000_000_000, "gigabyte": 1_000_000_000, "gib": 1_073_741_824,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Amount:
    """A number in a text.

    Attributes:
        number: The number as it is written.
        unit: The word right after it, lower case; empty when there is none.
        words: What was read, the unit included.
        start: Where it begins in the text.
    """

    value: float
    number: str
    unit: str
    words: str
    start: int


def amounts(text: str) -> Iterator[Amount]:
    """Every number in `text`, in order. Versions, dates, paths and identifiers hold none."""
    for match in _NUMBER.finditer(text):
        value = number_of(match["number"])
        if value is not None:
            yield Amount(value, match["number"], (match["unit"] or "").lower(), match.group(), match.start())


def number_of(word: str) -> float | None:
    """The number that `word` writes."""
    if word.lower() in _WORDS:
        return float(_WORDS[word.lower()])
    try:
        return float(word.replace(",", ""))
    except ValueError:
        return None


def scale_to(amount: Amount, name: str) -> float | None:
    """`amount` in the unit that the parameter called `name` ends in (`timeout_s`, `max_mb`).

    None when one of them names no unit, or when they measure different things.
    """
    ending = _singular(name.lower().rpartition("_")[2])
    said = _singular(amount.unit)
    for units in (_TIME, _SIZE):
        if ending in units and said in units:
            return amount.value * units[said] / units[ending]
    return None


def counted(value: float, parameter: Parameter) -> int | float | None:
    """`value` as the parameter's type has it; None when it is no whole number and must be, or beyond all counting."""
    if abs(value) > _LARGEST:
        return None
    if value.is_integer():
        return int(value)
    return None if parameter.type == "integer" else value


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 2 and word.endswith("s") and word != "ms" else word
