"""Moments as the formats write them: RFC 3339 in UTC, to the nanosecond where that says more. Reads no clock."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_SECOND: Final = 1_000_000_000
_END: Final = 253_402_300_800  # seconds to the year 10000, which RFC 3339 cannot say
_TIMESTAMP: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,12}))?"
    r"(?:([Zz])|([+-])([0-9]{2}):([0-9]{2}))"
)


def format_timestamp(ns: int) -> str | None:
    """The moment `ns` nanoseconds after 1970 UTC, as in `2025-10-08T15:30:00Z`; None beyond the year 9999."""
    seconds, rest = divmod(ns, _SECOND)
    if not 0 <= seconds < _END:
        return None
    day = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    return f"{day:%Y-%m-%dT%H:%M:%S}{fraction}Z"


def parse_timestamp(text: str) -> int | None:
    """Nanoseconds from 1970 UTC to the moment that `text` says; None when it says none, or one before."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    utc_offset = 0 if match[8] else (int(match[10]) * 60 + int(match[11])) * (60 if match[9] == "+" else -60)
    since_epoch = moment - datetime(1970, 1, 1, tzinfo=UTC)
    seconds = since_epoch.days * 86_400 + since_epoch.seconds - utc_offset
    fraction = int((match[7] or "0").ljust(9, "0")[:9])
    return seconds * _SECOND + fraction if seconds >= 0 else None
