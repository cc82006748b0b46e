"""From plain words to a query of SQLite's full-text search. Nothing of its syntax gets through: words only, quoted."""

import re
from typing import Final

MOST_WORDS: Final = 32

_WORD: Final = re.compile(r"\w+")
_EMPTY: Final = re.compile(
    "an?|and|are|as|at|be|but|by|do|does|for|from|had|has|have|how|i|in|is|its?|my|not|of|on|or|our|so|that|the|their|"
    "there|this|to|was|we|were|what|when|where|which|who|why|will|with|your?"
)


def full_text_query(text: str) -> str:
    """A query that finds what holds any of the words of `text`, the rarer the better; empty when there are none.

    Words that say nothing (`the`, `of`) are left out unless there are no others.
    """
    words = list(dict.fromkeys(match[0].lower() for match in _WORD.finditer(text[:4_000])))
    content_words = [word for word in words if not _EMPTY.fullmatch(word)] or words
    return " OR ".join(f'"{word}"' for word in content_words[:MOST_WORDS])
