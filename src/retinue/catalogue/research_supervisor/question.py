"""What is asked of each subject, out of what was asked of all of them. Pure."""

import re
from collections.abc import Sequence
from typing import Final

__all__ = ["DEFAULT", "question_about", "sources_for"]

DEFAULT: Final = ("docs", "code")
"""Where is looked when nobody says where."""

_ALL: Final = (
    r"(?:(?:each|every one|all|any|both)(?: one)?(?: of)?(?: (?:them|these|those|the \w+))?|them|these|those|it)"
)
_COMPARING: Final = re.compile(
    r"^(?:(?:and|then|please|now|also|can you|could you)\s+)*"
    r"(?:compare|contrast|check|match|verify|look|find|research|hold|put)\s+"
    rf"(?:(?:up\s+)?{_ALL}\b(?:\s+up)?\s*(?:(?:with|against|to|beside|in)\b\s*)?|(?:with|against)\s+)",
    re.IGNORECASE,
)
_BACK: Final = re.compile(rf"\s*\b(?:for|about|of|on|regarding|to) {_ALL}(?=\W|$)", re.IGNORECASE)
_NAMED: Final = {
    "docs": re.compile(r"\b(?:docs?|documents?|documentation|readme|guides?|manual|handbook)\b", re.IGNORECASE),
    "memory": re.compile(r"\b(?:memory|memories|notes)\b", re.IGNORECASE),
    "code": re.compile(r"\b(?:code|source|sources|implementation|modules?)\b", re.IGNORECASE),
}
_OPEN: Final = re.compile(r"[\s?.!,;:]+\Z")


def question_about(subject: str, asked: str) -> str:
    """`asked`, a question about "them", as one about `subject`.

    "compare them with what the docs promise" is "what the docs promise about `/orders`": the words that point back
    are replaced by what they point at.
    """
    core = _OPEN.sub("", _BACK.sub("", _COMPARING.sub("", " ".join(asked.split()))))
    named = subject if "`" in subject else f"`{subject}`"
    return f"{core or 'what is said'} about {named}"


def sources_for(asked: str, given: Sequence[str]) -> tuple[str, ...]:
    """Where to look: what was `given`; where that is only the default, what the question itself names."""
    if tuple(given) != DEFAULT:
        return tuple(given)
    return tuple(name for name, sign in _NAMED.items() if sign.search(asked)) or DEFAULT
