"""How names are folded into our own form, rendered in another, and how the nearest of several is found.

Only spelling. Whether a name is registered, and who answers to it, is the business of `agents/`.
"""

import functools
import heapq
import re
import unicodedata
from collections.abc import Iterable

_MAX_LENGTH = 256
"""Names beyond this are cut before they are compared: nobody mistypes that much, and comparing takes square time."""

_MAX_COMPARED = 200
"""Among so many is looked for a misspelling: those of like length, with the same first letter before others."""

_CASE_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[A-Za-z0-9]+")
_APOSTROPHE = re.compile("['\u2019]")
_SEPARATORS = re.compile(r"[^a-z0-9]+")
_SNAKE_CASE = re.compile("[a-z0-9]+(?:_[a-z0-9]+)*")
_NAME = re.compile(r"[A-Za-z0-9 ./_-]*")


def canonical_name(name: str) -> str:
    """Fold what is to name somebody; empty where it holds anything but letters, digits, spaces and `-_./` (C10).

    Letters of other scripts look like ours, and others like nothing: folded, `admin` with a Cyrillic a would be `dmin`.
    """
    return fold(name) if len(name) <= _MAX_LENGTH and _NAME.fullmatch(_strip_accents(name)) else ""


def fold(name: str) -> str:
    """Fold any spelling of a name into snake_case (C10, C46).

    Reads kebab-case, SCREAMING_CASE, camelCase, Title Case, and the last part of a path. Accents are dropped; what is
    still not ASCII separates words. The answer may be empty, or begin with a digit: then there is no canonical name.
    """
    if _SNAKE_CASE.fullmatch(name):
        return name
    text = _strip_accents(name.rstrip("/").rpartition("/")[2])
    # Only in a word with small letters does a capital begin a new one; `Q2Q3` is one word.
    words = _WORD.sub(
        lambda word: word[0] if word[0].isupper() else _CASE_BOUNDARY.sub("_", word[0]), _APOSTROPHE.sub("", text)
    )
    return _SEPARATORS.sub("_", words.lower()).strip("_")


def _strip_accents(name: str) -> str:
    """`name` without accents."""
    if name.isascii():
        return name
    return "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))


def to_kebab(name: str) -> str:
    """Render a name as kebab-case, whatever its spelling (C46)."""
    return fold(name).replace("_", "-")


def nearest(name: str, names: Iterable[str], *, limit: int = 3) -> tuple[str, ...]:
    """Find the names that `name` was probably meant to be, the likeliest first; often none.

    Spelling apart (`yearEnd` for `year_end`) comes before misspelling (`yaer_end`), equal likeness as given.
    """
    import difflib  # noqa: PLC0415 - only misspellings need it, and every process imports this module

    target = fold(name[:_MAX_LENGTH])
    folds: dict[str, list[str]] = {}
    for candidate in names:
        if candidate != name:
            folds.setdefault(_cached_fold(candidate[:_MAX_LENGTH]), []).append(candidate)
    # Comparing takes the square of the length for each name, so only the likeliest are compared.
    likely = heapq.nsmallest(
        _MAX_COMPARED,
        folds.keys() - {target},
        key=lambda other: (other[:1] != target[:1], abs(len(other) - len(target))),
    )
    alike = [target, *difflib.get_close_matches(target, sorted(likely), n=max(limit, 1))]
    matches = [candidate for spelling in alike for candidate in folds.get(spelling, ())]
    return tuple(matches[:limit])


_cached_fold = functools.lru_cache(maxsize=8_192)(fold)
