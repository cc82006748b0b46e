"""Which status a word means, in the spellings in use."""

from typing import Final

from .wire import STATUS_SYNONYMS, Status

_MARKS: Final[dict[Status, str]] = {
    "complete": "\u2705\u2714\u2713\u2611",
    "partial": "\u26a0",
    "failed": "\u274c\u2717\u2718",
}
"""Signs that stand beside a word and mean the same."""

_AROUND: Final = "".join(_MARKS.values()) + " \t\ufe0f*_`\"'.!"


def status_of(word: str) -> Status | None:
    """The status that `word` means, whatever is put around it; None when it is none, or a sign contradicts it."""
    bare = word.strip(_AROUND).lower().replace("_", " ")
    status = STATUS_SYNONYMS.get(" ".join(bare.split()))
    contrary = "".join(marks for meaning, marks in _MARKS.items() if meaning != status)
    return None if any(mark in contrary for mark in word) else status
