"""The line "Time Budget": a number and a unit, which may be tokens or time (H4, C23)."""

import math
import re
from dataclasses import dataclass
from typing import Final

_AMOUNT: Final = re.compile(
    r"(?<![\w.,-])([0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,320})(\.[0-9]{1,320})?([eE][+-]?[0-9]{1,3})?"
    r"[ ]?([kKmM](?![a-zA-Z]))?[ ]?([a-zA-Z]{1,12})?",
    re.ASCII,
)
_RANGE: Final = re.compile(r"[0-9][ ]?[-\u2013\u2014][ ]?[0-9]")
_TIMES: Final = {"k": 1_000, "m": 1_000_000}
_TOKENS: Final = frozenset({"token", "tokens", "tok"})
_SECONDS: Final[dict[str, float]] = {
    "ms": 0.001, "millisecond": 0.001, "milliseconds": 0.001,
    "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1,
    "min": 60, "mins": 60, "minute": 60, "minutes": 60,
    "h": 3600, "hr": 3600, "hrs": 3600, "hour": 3600, "hours": 3600,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TimeBudget:
    """What a budget says.

    Attributes:
        ambiguous: A number had no unit, or one that means nothing here: it was taken as tokens.
    """

    tokens: int | None = None
    timeout_s: float | None = None
    ambiguous: bool = False


def read_budget(text: str) -> TimeBudget | None:
    """Read `15K tokens`, `10 minutes`, both with a comma between, or a bare number; None when it is none (C23)."""
    if _RANGE.search(text):
        return None
    tokens: int | None = None
    seconds: float | None = None
    ambiguous = False
    for match in _AMOUNT.finditer(text):
        whole, fraction, power, times, word = match.groups()
        unit = (word or "").lower()
        number = float(f"{whole.replace(',', '')}{fraction or ''}{power or ''}")
        if unit in _SECONDS and not times:
            seconds = (seconds or 0.0) + number * _SECONDS[unit]
        elif tokens is None and number * _TIMES.get((times or "").lower(), 1) < math.inf:
            ambiguous = ambiguous or unit not in _TOKENS
            exact = fraction is None and power is None
            amount = int(whole.replace(",", "")) if exact else number
            tokens = round(amount * _TIMES.get((times or "").lower(), 1))
        else:
            return None
    if seconds is not None and not 0 < seconds < math.inf:
        return None
    return TimeBudget(tokens, seconds, ambiguous) if tokens is not None or seconds is not None else None


def write_budget(budget: TimeBudget) -> str:
    """The budget, so that `read_budget` gives it back."""
    parts = [] if budget.tokens is None else [f"{budget.tokens} tokens"]
    if budget.timeout_s is not None:
        parts.append(f"{budget.timeout_s!r} seconds")
    return ", ".join(parts)


_TIME: Final = re.compile(r"([0-9]{1,20})(?:\.([0-9]{1,12}))?[ ]?(ms|s|sec|seconds?|min|minutes?|h|hours?)", re.ASCII)
_UNITS: Final = {"ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}


def read_duration(value: object) -> int | None:
    """Nanoseconds; None when it is no text with a number and a unit, or finer than a nanosecond."""
    match = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return None
    fraction = match[2] or ""
    unit = _UNITS["ms" if match[3] == "ms" else match[3][0]]
    amount, rest = divmod(int(match[1] + fraction) * unit, 10 ** len(fraction))
    return amount if not rest else None


def write_duration(duration_ns: int) -> str:
    """Seconds, exactly."""
    seconds, rest = divmod(duration_ns, 10**9)
    return f"{seconds}.{rest:09}".rstrip("0").rstrip(".") + "s" if rest else f"{seconds}s"
