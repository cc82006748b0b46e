"""Versions, `MAJOR.MINOR[.PATCH]`, and the major in a name (`researcher_analyst_v2`).

Not semver whole: no pre-releases and no build tags, because no spec here uses them.
"""

import re
from dataclasses import dataclass
from typing import Final

from retinue.errors import InvalidInput

from .formatting import short_repr

_PART: Final = r"(0|[1-9][0-9]{0,8})"
_VERSION: Final = re.compile(rf"{_PART}\.{_PART}(?:\.{_PART})?")
_VERSIONED_NAME: Final = re.compile(rf"(.+)_v{_PART}", re.DOTALL)


@dataclass(frozen=True, slots=True, order=False, eq=False)
class Version:
    """A version as it was written (C35).

    `1.0` and `1.0.0` are equal, sort alike and hash alike, yet each renders as it was written.
    """

    major: int
    minor: int
    patch: int | None = None

    @classmethod
    def parse(cls, text: str) -> "Version":
        """Read `MAJOR.MINOR[.PATCH]`: ASCII digits without leading zeros, at most nine a part, nothing around them.

        Raises:
            InvalidInput: `text` is something else.
        """
        match = _VERSION.fullmatch(text)
        if not match:
            raise InvalidInput(
                f"{short_repr(text)} is not a valid version.",
                hint="Write `MAJOR.MINOR` or `MAJOR.MINOR.PATCH`, as in `1.0` or `2.3.1`.",
            )
        major, minor, patch = match.groups()
        return cls(int(major), int(minor), None if patch is None else int(patch))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}" if self.patch is None else f"{self.major}.{self.minor}.{self.patch}"

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Version) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __lt__(self, other: "Version") -> bool:
        return self._key() < other._key()

    def __le__(self, other: "Version") -> bool:
        return self._key() <= other._key()

    def __gt__(self, other: "Version") -> bool:
        return self._key() > other._key()

    def __ge__(self, other: "Version") -> bool:
        return self._key() >= other._key()

    def _key(self) -> tuple[int, int, int]:
        return self.major, self.minor, self.patch or 0


def is_version(text: str) -> bool:
    """Whether `text` is a version that can be compared."""
    return _VERSION.fullmatch(text) is not None


def is_compatible(one: Version | None, other: Version | None) -> bool:
    """Say whether the two can work together: the same major (K34).

    A missing version counts as compatible; the caller owes its user a warning then.
    """
    return one is None or other is None or one.major == other.major


def split_versioned_name(name: str) -> tuple[str, int | None]:
    """Part a name from the major it ends in: `researcher_analyst_v2` is major 2 of `researcher_analyst` (C11).

    Without such an ending the name comes back whole, with None.
    """
    match = _VERSIONED_NAME.fullmatch(name)
    return (match[1], int(match[2])) if match else (name, None)
