"""The words of a text as texts are compared here: parted, in lower case, without endings; and its 4-grams."""

import re
from functools import lru_cache
from typing import Final

__all__ = ["FUNCTION_WORDS", "gram_tokens", "word_tokens"]

FUNCTION_WORDS: Final = """
a about after all also am an and any are as at be been before being but by can could did do does doing for from get
give had has have having he help her here him his i if in into is it its just know let like ll looking me my
need of on or our out please re s she should so some t tell than that the their them then there these they this those
to up us ve want what which who how where when why whose whom was we were will with would you your
"""

_WORD: Final = re.compile(r"[^\W\d_]+|\d+")
_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")
_ENDINGS: Final = (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""))


def word_tokens(text: str) -> list[str]:
    """The words of `text`, camelCase taken apart, lower case, without the commonest English endings."""
    return [_stem(word.lower()) for word in _HUMP.findall(text)]


def gram_tokens(text: str) -> list[str]:
    """Every four characters in a row of `text`, words joined by one space."""
    spaced = f" {' '.join(_WORD.findall(text.lower()))} "
    return [spaced[start : start + 4] for start in range(max(1, len(spaced) - 3))]


@lru_cache(maxsize=16_384)
def _stem(word: str) -> str:
    if len(word) < 4:
        return word
    word = word.replace("iz", "is")  # "summarize"
    for ending, instead in _ENDINGS:
        if word.endswith(ending):
            kept = len(word) - len(ending)
            if kept < 3 or (ending == "s" and word[-2] in "su"):
                continue
            word = word[:kept] + instead
            if ending in {"ing", "ed"} and len(word) > 4 and word[-1] == word[-2] and word[-1] not in "aeiouflsz":
                word = word[:-1]  # "committed"
            break
    # "change", "changes" and "changed" meet.
    return word[:-1] if len(word) > 4 and word.endswith("e") else word
