"""Values without what is put around them: quotes, backticks, angle brackets, a link, and words that say "nothing"."""

import re
from typing import Final

_QUOTES: Final = (("`", "`"), ('"', '"'), ("'", "'"), ("<", ">"), ("**", "**"))
_LINK: Final = re.compile(r"\[[^\[\]]{0,400}\]\(([^()\s]{1,4000})\)")
_NOTHING: Final = frozenset({"none", "n/a", "na", "nothing", "null", "-", "--", "\u2013", "\u2014"})


def unquote_path(value: str) -> str:
    """The path in `value`, empty where it names none."""
    link = _LINK.fullmatch(value)
    if link:
        return unquote_path(link[1])
    for start, end in _QUOTES:
        inner = value[len(start) : len(value) - len(end)]
        if inner and value.startswith(start) and value.endswith(end) and start not in inner and end not in inner:
            return unquote_path(inner.strip())
    return "" if is_nothing(value) else value


def is_nothing(value: str) -> bool:
    """Whether `value` only says that there is none."""
    return value.strip("()[]. ").lower() in _NOTHING
