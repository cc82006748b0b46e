"""Values that read like a template that nobody filled, as `[specific objective]` or `{agent-name}`.

Only what is such words as a whole counts: a path may well have `[slug]` in it. What is read is not changed.
"""

import re
from typing import Final

_WORDS: Final = r"(?!(?:true|false|null)[\]}])[A-Za-z][A-Za-z0-9 _/.-]{1,80}"
_PLACEHOLDER: Final = re.compile(rf"\[{_WORDS}\]|\{{{_WORDS}\}}")

PLACEHOLDER_FIX: Final = "Fill it in, or leave it out."


def placeholder_problem(value: str) -> str:
    """What is wrong with a value that is a place to be filled, as a sentence; empty where nothing is."""
    return _sentence(value) if _PLACEHOLDER.fullmatch(value) else ""


def placeholder_problem_within(value: str) -> str:
    """The same for one that only has such a place in it, as the name of a file."""
    return _sentence(value) if _PLACEHOLDER.search(value) else ""


def _sentence(value: str) -> str:
    return f"{value[:80]!r} reads like a template that nobody filled."
