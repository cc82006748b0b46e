"""Words of a text as search terms: identifiers taken apart, endings folded, accents dropped.

Every folded word is a beginning of the word it came from, so that a plain substring test can never miss one. It is no
linguistics: `running` and `run` meet, `ran` and `run` do not.
"""

import re
from functools import lru_cache
from typing import Final
from unicodedata import combining, normalize

WORD: Final = re.compile(r"\w+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_VOWEL = re.compile(r"[aeiouy]")
_WITHOUT_SPACES = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_LONGEST = 64

_STOP_WORDS = """
    a about all also am an and any are as at be because been but by can could did do does doing done each for
    from get had has have he her here him his how i if in into is it its just let may me might must my need no
    not of on or our out over own please shall she should show so some such tell than that the their them then
    there these they this those to too up us use used using very want was we were what when where which who why
    will with would you your
"""
STOP_WORDS: Final = frozenset(_STOP_WORDS.split())
"""Words that say nothing about what a text is about; a query that has no others keeps them."""


def terms(text: str) -> list[str]:
    """All search terms of `text` in order, with repeats: `readAllLines` gives `readalllin`, `read`, `all`, `lin`."""
    return [term for word in WORD.findall(text) for term in expand(word)]


def char_grams(text: str, *, size: int = 4) -> list[str]:
    """The runs of `size` characters in the words of `text`, each framed by one space: `cat` gives ` cat` and `cat `.

    They find what words miss: compounds, endings, typing mistakes. A word shorter than a run is one run.
    """
    grams: list[str] = []
    for word in WORD.findall(strip_accents(text)):
        framed = f" {word[:_LONGEST]} "
        grams += [framed[start : start + size] for start in range(max(1, len(framed) - size + 1))]
    return grams


def strip_accents(text: str) -> str:
    """`text` in lower case, without accents and underscores: where the terms of `text` are found as substrings."""
    if text.isascii():
        return text.lower().replace("_", "")
    decomposed = normalize("NFKD", text.casefold())
    return "".join(character for character in decomposed if not combining(character)).replace("_", "")


@lru_cache(maxsize=1 << 16)
def expand(word: str) -> tuple[str, ...]:
    """The terms of one word: itself as a whole, and its parts when it is an identifier of several."""
    if len(word) > _LONGEST:
        return ()  # a hash, a key or encoded bytes
    if not word.isascii():
        other = strip_accents(word)
        if _WITHOUT_SPACES.search(other) and len(other) > 2:  # pairs of characters, where a script has no spaces
            return tuple(dict.fromkeys(other[start : start + 2] for start in range(len(other) - 1)))
        return (fold(other),) if other else ()
    parts = _PARTS.findall(word)
    whole = fold(word.lower().replace("_", ""))
    if len(parts) < 2:
        return (whole,) if whole else ()
    return tuple(dict.fromkeys((whole, *(fold(part.lower()) for part in parts))))


def fold(word: str) -> str:
    """A lower-case word without plural, `-ed`, `-ing` and last `e`, `i`, `y`: `retries`, `retry`, `retried` meet."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    stem = word
    if word.endswith("ies") and len(word) > 5:
        stem = word[:-3]
    elif word.endswith(("sses", "shes", "ches", "xes", "zes")):
        stem = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        stem = word[:-1]
    for ending in ("ing", "ed"):
        if stem.endswith(ending) and len(stem) - len(ending) >= 3 and _VOWEL.search(stem, 0, len(stem) - len(ending)):
            stem = stem.removesuffix(ending)
            if stem[-1] == stem[-2] and stem[-1] not in "lsz":
                stem = stem[:-1]
            break
    while len(stem) > 3 and stem[-1] in "eiy":
        stem = stem[:-1]
    return stem
