"""Numbers and times as people read them. What is measured elsewhere is only worded here, never rounded away in data."""

import re
from collections.abc import Iterator
from math import isfinite
from typing import Final

from retinue.contract.result import Usage
from retinue.contract.table import TableColumn

_STEPS: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_MAX_DRAWABLE: Final = 1e300
_MAX_VALUE_LABEL: Final = 18
_MAX_MEASURED_DIGITS: Final = 10
_SIGNIFICANT_DIGITS: Final = 6
_WHOLE: Final = 1e5
_LARGEST_WHOLE: Final = 1e15
_NAMES_ONLY: Final = re.compile(r"(?:\b|_)(?:year|id|key|code|port|zip|status|line|version|number|no)\Z", re.IGNORECASE)
"""Columns whose numbers name something: nobody writes the year 2,013."""


def format_exact(value: object) -> str:
    """A cell's value as it is: `1234567`, `0.3`, `yes`; nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return ("no", "yes")[value]
    # Fifteen digits are all that survive a binary fraction: 0.1 + 0.2 is 0.3 to whoever reads it.
    return format(value, ".15g") if isinstance(value, float) else str(value)


def format_figure(value: object) -> str:
    """As `format_exact`; of a number that was worked out (a mean, a share) only six digits, or all before the point.

    A float with more than ten digits is one that was worked out: nothing is measured or priced so finely.
    """
    text = format_exact(value)
    # How many digits of a number say something.
    if (
        not isinstance(value, float)
        or not isfinite(value)
        or len(text.partition("e")[0].lstrip("-0.").replace(".", "")) <= _MAX_MEASURED_DIGITS
    ):
        return text
    return format(value, ".0f" if _WHOLE <= abs(value) < _LARGEST_WHOLE else f".{_SIGNIFICANT_DIGITS}g")


def format_grouped(value: object) -> str:
    """For eyes: as `format_figure`, with commas between the thousands of a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return format_exact(value)
    text = format_figure(value)
    whole, dot, rest = text.partition(".")
    # The whole of -0.5 is "-0", which as a number has lost its sign.
    return f"{int(whole):,}{dot}{rest}" if whole.lstrip("-").isdigit() and whole != "-0" else text


def column_heading(column: TableColumn) -> str:
    """The name of a column, with its unit unless the name says it already."""
    unit = column.unit or ""
    words = column.name.replace("(", " ").replace(")", " ").split()
    return f"{column.name} ({unit})" if unit and unit not in words else column.name


def is_quantity(column: TableColumn) -> bool:
    """Whether the numbers in a column count or measure something, so that commas help to read them."""
    return column.kind == "number" and _NAMES_ONLY.search(column.name.strip()) is None


def clamp(value: float) -> float:
    """A number of any size as one that lengths can be worked out with: beyond 1e300 all look alike."""
    try:
        return min(max(float(value), -_MAX_DRAWABLE), _MAX_DRAWABLE)
    except OverflowError:
        return _MAX_DRAWABLE if value > 0 else -_MAX_DRAWABLE


def format_value_label(value: float) -> str:
    """A number beside its bar: as `format_grouped`, or as `format_short` when that would take the room of the bar."""
    text = format_grouped(value)
    return text if len(text) <= _MAX_VALUE_LABEL else format_short(clamp(value))


def format_short(value: float) -> str:
    """A number where there is little room, as on an axis: `950`, `1.2k`, `3.4M`, `0.05`."""
    size = abs(value)
    for step, letter in _STEPS:
        if size >= step:
            return f"{value / step:.3g}{letter}" if size < step * 1000 else f"{value:.3g}"
    return f"{value:.3g}"


def format_duration(nanoseconds: int) -> str:
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


def format_cost(usage: Usage | None) -> str:
    """The money that something cost, the least of it where not all has a known price; empty when nobody knows any."""
    usd = usage.known_usd if usage is not None else None
    return "" if usage is None or usd is None else f"{'' if usage.cost else 'at least '}${usd:.4f}"


def usage_parts(usage: Usage) -> Iterator[str]:
    """What something cost: its tokens, in and out where both are known for all of it, and its money."""
    counts = {"in": usage.tokens_in, "out": usage.tokens_out}
    token_counts = [f"{count:,} {way}" for way, count in counts.items() if count is not None]
    if usage.tokens_total is not None:
        yield f"{usage.tokens_total:,} tokens"
    elif token_counts:
        yield f"{', '.join(token_counts)} tokens"
    if usage.cost is not None:
        yield f"${usage.cost.usd:.4f}"
        return
    parts, known_usd = usage.split(), usage.known_usd
    unpriced = {part.model for part in parts if part.is_unpriced}
    if known_usd is None:
        if unpriced - {None}:
            yield "no known price"
        return
    # Where the price of only some is known, the sum is the least that it can have been.
    models = {part.model for part in parts}
    why = f"{len(unpriced)} of {len(models)} models {'has' if len(unpriced) == 1 else 'have'} no known price"
    if None in unpriced or unpriced & {part.model for part in parts if part.cost is not None}:
        why = "not all of it has a known price"
    yield f"at least ${known_usd:.4f} ({why})"
