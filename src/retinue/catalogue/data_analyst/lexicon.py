"""What words may mean in one file: its columns, by name or by what a name is short for, and its values."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from retinue.catalogue.data_analyst.columns import Columns
from retinue.catalogue.data_analyst.vocabulary import GENERIC, SYNONYMS, known_words, singular
from retinue.contract.names import fold

__all__ = ["Hit", "Lexicon"]

_LEAST_PREFIX: Final = 3
_MOST_VALUES: Final = 20_000
_ROW_NOUNS_OF_LOGS: Final = ("request", "response", "hit", "call", "event", "access")
_STANDS_FOR: Final = {"late": "delay", "lateness": "delay", "tardiness": "delay"}
_MEASURED_ENDS: Final = frozenset(
    {"ms", "s", "sec", "secs", "seconds", "bytes", "pct", "percent", "usd", "eur", "gbp", "kb", "mb", "gb", "km"}
)


@dataclass(frozen=True, slots=True)
class Hit:
    """The columns that some words may mean; the lower `quality`, the surer."""

    columns: tuple[str, ...]
    quality: int


@dataclass(frozen=True, slots=True)
class _Named:
    name: str
    folded: str
    parts: tuple[str, ...]

    @property
    def plain(self) -> str:
        return self.folded.replace("_", "")


class Lexicon:
    """The words of one file."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self._named = [_named(column.name) for column in columns]
        self._exact: dict[str, list[str]] = {}
        self._by_letter: dict[str, list[_Named]] = {}
        self._by_part: dict[str, list[_Named]] = {}
        for one in self._named:
            for spelling in {one.folded, one.name.casefold(), "_".join(map(singular, one.parts)), one.plain}:
                self._exact.setdefault(spelling, []).append(one.name)
            self._by_letter.setdefault(one.folded[:1], []).append(one)
            for part in set(one.parts):
                self._by_part.setdefault(part[:1], []).append(one)
        stem = fold(columns.source.path.rpartition("/")[2].partition(".")[0])
        self.row_nouns = {singular(stem.rpartition("_")[2]), stem} - {""}
        if columns.source.kind == "log":
            self.row_nouns |= set(_ROW_NOUNS_OF_LOGS)

    def column(self, words: Sequence[str]) -> Hit | None:
        """The columns that exactly these words may mean."""
        if not words or not all(words):
            return None
        joined = fold("_".join(words))
        singulars = tuple(singular(part) for word in words for part in fold(word).split("_") if part)
        if not singulars:
            return None
        for quality, spelling in enumerate((joined, "_".join(singulars), "".join(singulars))):
            if found := self._exact.get(spelling):
                return Hit(tuple(dict.fromkeys(found)), min(quality, 1))
        for quality, found in (
            (2, self._shortened(singulars)),
            (3, self._synonyms(joined, singulars)),
            (4, self._without_generic(words)),
            (5, self._parts(singulars)),
        ):
            if found:
                return Hit(tuple(dict.fromkeys(found)), quality)
        return None

    def values_of(self, text: str) -> tuple[tuple[str, str], ...]:
        """The columns that hold `text`, case apart, and how each writes it."""
        return self._values.get(text.casefold(), ())

    def known(self, word: str) -> bool:
        """Whether a single word means something here, or everywhere."""
        single = singular(word)
        if word in known_words() or single in known_words() or single in self.row_nouns or word in self._value_words:
            return True
        return single in self._value_words or self.column((word,)) is not None or single in self._synonym_words

    @cached_property
    def spellings(self) -> frozenset[str]:
        """Every word towards which a misspelling may be set right."""
        parts = {part for one in self._named for part in one.parts}
        plurals = {f"{word}s" for word in parts | self.row_nouns}
        return frozenset(known_words() | parts | plurals | self.row_nouns | self._value_words | self._synonym_words)

    @cached_property
    def _values(self) -> dict[str, tuple[tuple[str, str], ...]]:
        found: dict[str, list[tuple[str, str]]] = {}
        for column, texts in self.columns.values.items():
            for text in texts:
                if len(found) < _MOST_VALUES:
                    found.setdefault(text.casefold().strip(), []).append((column, text))
        return {key: tuple(places) for key, places in found.items()}

    @cached_property
    def _value_words(self) -> frozenset[str]:
        return frozenset(word for text in self._values for word in text.split() if word.isalpha())

    @cached_property
    def _synonym_words(self) -> frozenset[str]:
        """Words that stand for a column that is here."""
        parts = {part for one in self._named for part in (one.folded, *one.parts)}
        return frozenset(part for group in SYNONYMS if group & parts for word in group for part in word.split("_"))

    def _shortened(self, words: tuple[str, ...]) -> list[str]:
        """Names whose parts are beginnings of the words, in order: `dep_delay` for "departure delay"."""
        return [
            one.name
            for one in self._by_letter.get(words[0][:1], ())
            if _are_beginnings(one.parts, words) or _is_made_of_beginnings(one.plain, words)
        ]

    def _synonyms(self, joined: str, words: tuple[str, ...]) -> list[str]:
        alike = {joined, "_".join(words)}
        groups = [group for group in SYNONYMS if alike & group]
        return [
            one.name
            for one in self._named
            if any(one.folded in group or _without_unit(one) in group for group in groups)
        ]

    def _without_generic(self, words: Sequence[str]) -> list[str]:
        """Leave out what "flight number" has beside `flight`, when the rest is a name by itself."""
        if len(words) < 2 or words[-1] not in GENERIC:
            return []
        hit = self.column(words[:-1])
        return list(hit.columns) if hit is not None and hit.quality <= 3 else []

    def _parts(self, words: tuple[str, ...]) -> list[str]:
        """Names of which the words are some parts: "delay" for `dep_delay` and `arr_delay`."""
        if any(word in GENERIC for word in words):
            return []
        words = tuple(_STANDS_FOR.get(word, word) for word in words)
        letters = self._by_part.get(words[0][:1], ())
        direct = [one.name for one in letters if len(one.parts) > 1 and _in_order(one.parts, words, derived=False)]
        return direct or [
            one.name for one in letters if len(one.parts) > 1 and _in_order(one.parts, words, derived=True)
        ]


def _named(name: str) -> _Named:
    folded = fold(name.replace("/", " "))
    return _Named(name, folded, tuple(singular(part) for part in folded.split("_") if part))


def _without_unit(one: _Named) -> str:
    return "_".join(one.parts[:-1]) if one.folded.rpartition("_")[2] in _MEASURED_ENDS else one.folded


def _are_beginnings(parts: tuple[str, ...], words: tuple[str, ...]) -> bool:
    if len(parts) > len(words) and parts[-1] in {singular(end) for end in _MEASURED_ENDS}:
        parts = parts[: len(words)]
    if len(parts) != len(words) or not parts:
        return False
    if len(parts) == 1:
        part, word = parts[0], words[0]
        return len(part) >= _LEAST_PREFIX and (
            part == word or (word.startswith(part) and len(word) > len(part) + 2 and word not in known_words())
        )
    return all(
        part == word or (len(part) > 1 and word.startswith(part)) for part, word in zip(parts, words, strict=True)
    )


def _is_made_of_beginnings(plain: str, words: tuple[str, ...]) -> bool:
    """`tailnum` for "tail number", `dewp` for "dew point", `tzone` for "time zone"."""
    if len(words) < 2 or not plain.startswith(words[0][: 1 if plain.endswith(words[-1]) else 2]):
        return False
    ends = {0}
    for word in words:
        ends = {
            end + length
            for end in ends
            for length in range(1, len(word) + 1)
            if plain[end : end + length] == word[:length] and (length > 1 or end + length in (1, len(plain)))
        }
    return len(plain) in ends


def _in_order(parts: Iterable[str], words: tuple[str, ...], *, derived: bool) -> bool:
    left = iter(parts)
    return all(any(_is_part(part, word, derived=derived) for part in left) for word in words)


def _is_part(part: str, word: str, *, derived: bool) -> bool:
    if part == word:
        return True
    if not derived or word in known_words():
        return False
    # "delayed" says `delay`, and "departure" is what `dep` is short for.
    return (len(part) > 3 and word in {f"{part}ed", f"{part}d", f"{part}ing"}) or (
        len(part) >= _LEAST_PREFIX and word.startswith(part)
    )
