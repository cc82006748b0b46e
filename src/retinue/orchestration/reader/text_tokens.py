"""The words of a text as texts are compared here: parted, in lower case, without endings; and its 4-grams."""

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Final

FUNCTION_WORDS: Final = """
a about after all also am an and any are as at be been before being but by can could did do does doing for from get
give had has have having he help her here him his i if in into is it its just know let like ll looking me my
need of on or our out please re s she should so some t tell than that the their them then there these they this those
to up us ve want what which who how where when why whose whom was we were will with would you your
"""
_COURTESIES: Final = """
bye cheers fine good goodbye great hello hey hi morning nice ok okay perfect right sorry thank thanks well yes very
much lot everyone there thx ty btw cool awesome
"""
_LIGHT: Final = """
across actually against another any anybody anyone anything anywhere because behind between both brief briefly code
codebase currently each either ever every everybody everyone everything everywhere exactly find given gives here
instead kind lie list look made make makes mean means most must nobody none nothing now one other over own per project
quick quickly really repo repository roughly say says see several shall show somebody someone something somewhere
still take there thing things through too top toward under upon use used uses using via whether while whole within
work works yet
"""
"""Words of asking and being: a skill need not know them to do what is asked, though they help to find it."""

_WORD: Final = re.compile(r"[^\W\d_]+|\d+")
_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")
_ENDINGS: Final = (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""))
_SHORT_TEXT: Final = 10
_MAX_MISSPELLING: Final = 24


def word_set(words: str) -> frozenset[str]:
    """The words of a line, for telling whether one is among them."""
    return frozenset(words.split())


def split_words(text: str) -> list[str]:
    """The words of `text` as they are written, camelCase taken apart."""
    return _HUMP.findall(text)


def word_tokens(text: str) -> list[str]:
    """The words of `text`, camelCase taken apart, lower case, without the commonest English endings."""
    return [_stem(word.lower()) for word in split_words(text)]


def ngram_tokens(text: str) -> list[str]:
    """Every four characters in a row of `text`, words joined by one space."""
    spaced = f" {' '.join(_WORD.findall(text.lower()))} "
    return [spaced[start : start + 4] for start in range(max(1, len(spaced) - 3))]


def content_words(text: str) -> list[str]:
    """The words of `text` that mean something on their own, as they are written."""
    words = split_words(text)
    courtesies = frozenset(_COURTESIES.split()) if len(words) < _SHORT_TEXT else frozenset[str]()
    return [word for word in words if word.lower() not in courtesies and _stem(word.lower()) not in FUNCTION_STEMS]


def is_generic(word: str) -> bool:
    """Whether `word` is so general that nobody must be able to be told of it."""
    return word.lower() in _LIGHT_WORDS


def correct_spelling(word: str, vocabulary: Collection[str], *, shortest: int = 5) -> str | None:
    """The one of `vocabulary` that `word` misspells by one letter too few, too many or wrong, or by two swapped.

    None when it is spelled right, too short to tell, or could be several of them.
    """
    if not shortest <= len(word) <= _MAX_MISSPELLING or word in vocabulary:
        return None
    from rapidfuzz import process  # noqa: PLC0415 - most words are spelled right
    from rapidfuzz.distance import OSA  # noqa: PLC0415

    neighbours = process.extract(word, vocabulary, scorer=OSA.distance, score_cutoff=1, limit=2)
    candidates = [str(one) for one, *_ in neighbours if len(str(one)) > 2]
    return candidates[0] if len(candidates) == 1 else None


@lru_cache(maxsize=16_384)
def _stem(word: str) -> str:
    if len(word) < 4:
        return word
    word = word.replace("iz", "is")  # "summarize"
    for ending, instead in _ENDINGS:
        if word.endswith(ending):
            rest = len(word) - len(ending)
            if rest < 3 or (ending == "s" and word[-2] in "su"):
                continue
            if ending == "es" and not word.endswith(("xes", "ches", "shes")):
                continue  # the plural of "wine", and not of "win"
            word = word[:rest] + instead
            if ending in {"ing", "ed"} and len(word) > 4 and word[-1] == word[-2] and word[-1] not in "aeiouflsz":
                word = word[:-1]  # "committed"
            break
    # "change", "changes" and "changed" meet.
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


FUNCTION_STEMS: Final = frozenset(word_tokens(FUNCTION_WORDS))
_LIGHT_WORDS: Final = word_set(_LIGHT)
NEGATIONS: Final = word_set(
    "no not without dont don't didn't doesn't isn't never exclude excluding except skip skipping omit ignore ignoring"
    " apart leaving nor"
)
