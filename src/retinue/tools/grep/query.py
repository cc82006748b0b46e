"""What both engines share: the question, a hit, and how bytes become lines."""

import re
from dataclasses import dataclass

from retinue.tools.encoding import encoding_of


@dataclass(frozen=True, slots=True)
class GrepQuery:
    """What to look for, checked, and how many matches are wanted at most."""

    pattern: str
    is_literal: bool
    ignore_case: bool
    max_matches: int

    def to_pattern(self) -> re.Pattern[str]:
        """The question as one of Python's regular expressions."""
        source = re.escape(self.pattern) if self.is_literal else self.pattern
        return re.compile(source, re.IGNORECASE if self.ignore_case else 0)


@dataclass(frozen=True, slots=True)
class LineHit:
    """A line that matches; `column` counts from 1, in bytes of UTF-8 when `is_bytes`, else in characters."""

    path: str
    line: int
    column: int
    is_bytes: bool


def lines_of(data: bytes) -> list[str]:
    """The lines of a text file without their ends; a byte that is no UTF-8 is a lone surrogate."""
    bom_encoding = encoding_of(data)
    text = data.decode(bom_encoding or "utf-8", "replace" if bom_encoding else "surrogateescape")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines
