"""`context_summary`: what is being done, in one or two sentences, and in one what it is for (A9).

As in the spec's sample, the last sentence says why. Where that would not be read so, both are labelled.
"""

import re
from typing import Final

_WHAT: Final = "What: "
_WHY: Final = "Why: "
_ENDS: Final = re.compile(r"(?<=[.!?])\s+(?=\S)")


def read_summary(text: str) -> tuple[str, str]:
    """What, and why; of a single sentence only what."""
    if text.startswith(_WHY):
        return "", text.removeprefix(_WHY)
    if text.startswith(_WHAT):
        what, _, why = text.removeprefix(_WHAT).partition(f"\n{_WHY}")
        return what, why
    ends = [(match.start(), match.end()) for match in _ENDS.finditer(text)]
    return (text[: ends[-1][0]], text[ends[-1][1] :]) if ends else (text, "")


def write_summary(what: str, why: str) -> str:
    """One text that `read_summary` reads as `what` and `why`, unless a label stands inside of `what`."""
    unlabelled = " ".join(filter(None, (what, why)))
    if read_summary(unlabelled) == (what, why):
        return unlabelled
    return "\n".join(f"{label}{text}" for label, text in ((_WHAT, what), (_WHY, why)) if text)


def sentences_of(text: str) -> int:
    """How many sentences there are, about."""
    return len(_ENDS.findall(text)) + 1 if text.strip() else 0
