"""Text that has to be short. What is safe to show is for `sanitize`."""

import unicodedata

__all__ = ["cut"]


def cut(line: str, limit: int) -> str:
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
