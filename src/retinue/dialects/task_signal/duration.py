"""How the JSON form says how long it took: text with a unit, `2.3s` (C5). Inside it is integer nanoseconds."""

import re
from typing import Final

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
