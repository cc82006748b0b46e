"""How names are folded into our own form, rendered in another, and how the nearest of several is found.

Only spelling. Whether a name is registered, and who answers to it, is the business of `agents/`.
"""

import functools
import heapq
import re
import unicodedata
from collections.abc import Iterable

__all__ = ["canonical_name", "fold", "nearest", "to_kebab"]

_LONGEST = 256
"""Names beyond this are cut before they are compared: nobody mistypes that much, and comparing takes square time."""

_COMPARED = 200
"""Among so many is looked for a misspelling: those of like length, with the same first letter before others."""

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[A-Za-z0-9]+")
_APOSTROPHE = re.compile("['\u2019]")
_BETWEEN = re.compile(r"[^a-z0-9]+")
_NAME = re.compile(r"[A-Za-z0-9 ./_-]*")


def canonical_name(name: str) -> str:
    """Fold what is to name somebody; empty where it holds anything but letters, digits, spaces and `-_./` (C10).

    Letters of other scripts look like ours, and others like nothing: folded, `admin` with a Cyrillic a would be `dmin`.
    """
    return fold(name) if len(name) <= _LONGEST and _NAME.fullmatch(_plain(name)) else ""


def fold(name: str) -> str:
    """Fold any spelling of a name into snake_case (C10, C46).

    Reads kebab-case, SCREAMING_CASE, camelCase, Title Case, and the last part of a path. Accents are dropped; what is
    still not ASCII separates words. The answer may be empty, or begin with a digit: then there is no canonical name.
    """
    plain = _plain(name.rstrip("/").rpartition("/")[2])
    # Only in a word with small letters does a capital begin a new one; `Q2Q3` is one word.
    words = _WORD.sub(
        lambda word: word[0] if word[0].isupper() else _HUMP.sub("_", word[0]), _APOSTROPHE.sub("", plain)
    )
    return _BETWEEN.sub("_", words.lower()).strip("_")


def _plain(name: str) -> str:
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

    wanted = fold(name[:_LONGEST])
    folds: dict[str, list[str]] = {}
    for known in names:
        if known != name:
            folds.setdefault(_folded(known[:_LONGEST]), []).append(known)
    likely = heapq.nsmallest(
        _COMPARED, folds.keys() - {wanted}, key=lambda other: (other[:1] != wanted[:1], abs(len(other) - len(wanted)))
    )
    alike = [wanted, *difflib.get_close_matches(wanted, sorted(likely), n=max(limit, 1))]
    found = [known for spelling in alike for known in folds.get(spelling, ())]
    return tuple(found[:limit])


_folded = functools.lru_cache(maxsize=8_192)(fold)
