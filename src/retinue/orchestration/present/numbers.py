"""Numbers and times as people read them. What is measured elsewhere is only worded here, never rounded away in data."""

import re
from collections.abc import Iterator
from math import isfinite
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from retinue.contract.result import Usage
    from retinue.contract.table import Column

__all__ = ["beside", "drawable", "duration", "exact", "figure", "grouped", "head_of", "is_counted", "short", "spent"]

_STEPS: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_MOST: Final = 1e300
_BESIDE: Final = 18
_MEASURED: Final = 10
_DIGITS: Final = 6
_WHOLE: Final = 1e5
_LARGEST_WHOLE: Final = 1e15
_NAMES_ONLY: Final = re.compile(r"(?:\b|_)(?:year|id|key|code|port|zip|status|line|version|number|no)\Z", re.IGNORECASE)
"""Columns whose numbers name something: nobody writes the year 2,013."""


def exact(value: object) -> str:
    """A cell's value as it is: `1234567`, `0.3`, `yes`; nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return ("no", "yes")[value]
    # Fifteen digits are all that survive a binary fraction: 0.1 + 0.2 is 0.3 to whoever reads it.
    return format(value, ".15g") if isinstance(value, float) else str(value)


def figure(value: object) -> str:
    """As `exact`; of a number that was worked out (a mean, a share) only six digits, or all before the point.

    A float with more than ten digits is one that was worked out: nothing is measured or priced so finely.
    """
    said = exact(value)
    if not isinstance(value, float) or not isfinite(value) or _digits(said) <= _MEASURED:
        return said
    return format(value, ".0f" if _WHOLE <= abs(value) < _LARGEST_WHOLE else f".{_DIGITS}g")


def _digits(said: str) -> int:
    """How many digits of a number say something."""
    return len(said.partition("e")[0].lstrip("-0.").replace(".", ""))


def grouped(value: object) -> str:
    """For eyes: as `figure`, with commas between the thousands of a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return exact(value)
    said = figure(value)
    whole, dot, rest = said.partition(".")
    return f"{int(whole):,}{dot}{rest}" if whole.lstrip("-").isdigit() and whole != "-0" else said


def head_of(column: "Column") -> str:
    """The name of a column, with its unit unless the name says it already."""
    unit = column.unit or ""
    said = column.name.replace("(", " ").replace(")", " ").split()
    return f"{column.name} ({unit})" if unit and unit not in said else column.name


def is_counted(column: "Column") -> bool:
    """Whether the numbers in a column count or measure something, so that commas help to read them."""
    return column.kind == "number" and _NAMES_ONLY.search(column.name.strip()) is None


def drawable(value: float) -> float:
    """A number of any size as one that lengths can be worked out with: beyond 1e300 all look alike."""
    try:
        return min(max(float(value), -_MOST), _MOST)
    except OverflowError:
        return _MOST if value > 0 else -_MOST


def beside(value: float) -> str:
    """A number beside its bar: as `grouped`, or as `short` when that would take the room of the bar."""
    said = grouped(value)
    return said if len(said) <= _BESIDE else short(drawable(value))


def short(value: float) -> str:
    """A number where there is little room, as on an axis: `950`, `1.2k`, `3.4M`, `0.05`."""
    size = abs(value)
    for step, letter in _STEPS:
        if size >= step:
            return f"{value / step:.3g}{letter}" if size < step * 1000 else f"{value:.3g}"
    return f"{value:.3g}"


def duration(nanoseconds: int) -> str:
    """A time as people say it: `40 ms`, `1.2 s`, `3 min 05 s`, `2 h 07 min`."""
    seconds = nanoseconds / 1e9
    if seconds < 0.0995:
        return f"{seconds * 1e3:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min"


def spent(usage: "Usage") -> Iterator[str]:
    """What something cost: its tokens, in and out where both are known for all of it, and its money."""
    counts = {"in": usage.tokens_in, "out": usage.tokens_out}
    known = [f"{count:,} {way}" for way, count in counts.items() if count is not None]
    if usage.tokens_total is not None:
        yield f"{usage.tokens_total:,} tokens"
    elif known:
        yield f"{', '.join(known)} tokens"
    if money := _money(usage):
        yield money


def _money(usage: "Usage") -> str:
    """What it cost; where only some of that is known, that it was at least so much, and why no more is said."""
    if usage.cost is not None:
        return f"${usage.cost.usd:.4f}"
    parts, known = usage.split(), usage.known_usd
    unpriced = {part.model for part in parts if part.is_unpriced}
    if known is None:
        return "no known price" if unpriced - {None} else ""
    models = {part.model for part in parts}
    why = f"{len(unpriced)} of {len(models)} models {'has' if len(unpriced) == 1 else 'have'} no known price"
    if None in unpriced or unpriced & {part.model for part in parts if part.cost is not None}:
        why = "not all of it has a known price"
    return f"at least ${known:.4f} ({why})"
