"""Text as a sentence needs it: cut to a length, listed, quoted. What is safe to show is for `sanitize`."""

import unicodedata
from collections.abc import Iterable
from typing import Literal

from retinue.errors import InvalidInput


def truncate(line: str, limit: int) -> str:
    """The beginning of `line`, at most `limit` Unicode characters, cut at a word's edge where there is one (C24)."""
    if len(line) <= limit:
        return line
    end = limit
    if not line[end].isspace():
        space = line.rfind(" ", 0, end)
        end = space if space > 0 else _character_edge(line, limit)
    return line[:end].rstrip()


def _character_edge(line: str, limit: int) -> int:
    """The last place up to `limit` that does not part a letter from its marks; `limit` where all are marks."""
    end = limit
    while end > 1 and (unicodedata.combining(line[end]) or "\u200d" in line[end - 1 : end + 1]):
        end -= 1
    return end if end > 1 else limit


def natural_list(words: Iterable[str], *, last: Literal["and", "or"] = "and") -> str:
    """The words as a sentence lists them: `a, b and c`; nothing when there are none."""
    *most, final = [*words] or [""]
    return f"{', '.join(most)} {last} {final}" if most else final


def ensure_text(value: object, what: str, *, or_bytes: bool = False) -> None:
    """See that what a caller without types gave is text, or bytes where these are taken too.

    Raises:
        InvalidInput: It is not.
    """
    if not isinstance(value, str) and not (or_bytes and isinstance(value, bytes)):
        allowed = "`str` or `bytes`" if or_bytes else "`str`"
        raise InvalidInput(f"The {what} is a `{type(value).__name__}`.", hint=f"Give it as {allowed}.")


_MAX_LENGTH = 80


def short_repr(value: object) -> str:
    """Quote `value` for a message: control and invisible characters escaped, at most about 80 characters."""
    if isinstance(value, str) and len(value) > _MAX_LENGTH:
        return f"{value[:_MAX_LENGTH]!r}… ({len(value)} characters)"
    text = repr(value)
    return text if len(text) <= 2 * _MAX_LENGTH else f"{text[:_MAX_LENGTH]}…"
