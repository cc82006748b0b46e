"""What in a clause is a value for a parameter, by its schema type: one reader for each kind, and days by `dateparser`.

A reader gives a `Value` or None. It may be shy, never bold: a value that nobody named costs more than a question.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import lru_cache
from itertools import chain
from math import log
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from retinue.orchestration.reader.parameters import Parameter, ReaderEnvironment
from retinue.orchestration.reader.text_tokens import (
    FUNCTION_STEMS,
    NEGATIONS,
    correct_spelling,
    is_generic,
    word_set,
    word_tokens,
)

if TYPE_CHECKING:
    from dateparser.date import DateDataParser

_OBJECTS: Final = frozenset({"it", "its", "the", "a", "an"})
"""They stand for what is asked about in a phrase: "who uses it"."""
_CUES: Final = word_set("in from using use search only via through within inside")
_CONNECTIVES: Final = frozenset([",", "and", "or", "the"])
_INCLUSIONS: Final = word_set("with include including counting show only also")
_FLAG_WORDS: Final = word_set("include exclude with without is has do no allow should only")
_LIMITS: Final = word_set("top last first latest newest oldest only most least limit maximum to")
_LIMIT_NAMES: Final = ("limit", "count", "max", "top", "number", "n", "size", "most")
_NUMBERS: Final = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?|\d+")
_QUOTATION: Final = re.compile(
    r"`([^`\n]{1,200})`|\"([^\"\n]{1,200})\"|“([^”\n]{1,200})”|(?<!\w)'([^'\n]{1,200})'(?!\w)"
)
_CHUNK: Final = re.compile(r"(?<![\w/.:@-])[\w.@+~/-]{2,200}(?![\w/]|:\S)")
_PATH_LIKE: Final = re.compile(r"/|(?<=\w)\.[A-Za-z]\w{0,7}\Z|\A(?:Makefile|Dockerfile|LICENSE|README)\Z")
_IDENTIFIER: Final = re.compile(r"_*[A-Za-z]\w*(?:\.[A-Za-z_]\w*)*")
_CODE_KINDS: Final = frozenset({"identifier", "symbol"})
"""Kinds of names that are taken as they are written too, when they look like code; who is asked knows whether they are.
"""
_AMOUNT: Final = re.compile(
    rf"(?i)(?<![\w.,/:#@-])([-+]?\d{{1,3}}(?:,\d{{3}})+|[-+]?\d{{1,15}}(?:\.\d{{1,15}})?|(?:{'|'.join(_NUMBERS)})\b)"
    r"(?![\d:/]|[.,]\d)\s?(%|[A-Za-z]+)?"
)
_BOOLEANS: Final = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_MAX_MEANINGS: Final = 9


@dataclass(frozen=True, slots=True)
class Value:
    """A value, and where in the clause it was read.

    Attributes:
        shared: Other parameters may read the same words too ("since March" has a beginning and an end).
        options: All that the words may mean, when that is several: then a person has to say which.
        is_guess: A plain word, which may mean something else as well.
    """

    value: object
    start: int
    end: int
    shared: bool = False
    options: tuple[str, ...] = ()
    is_guess: bool = False


class ClauseWords:
    """A clause as words with places, and which of them a parameter has taken already."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.places = [match.span() for match in _WORD.finditer(text)]
        self.words = [text[start:end].lower().replace("\u2019", "'") for start, end in self.places]
        self.stems = [_stem(word) for word in self.words]
        self.values: list[Value] = []

    def is_free(self, start: int, end: int, *, sharing: bool = False) -> bool:
        """Whether nothing between `start` and `end` is taken; with `sharing`, what is shared counts as free."""
        return all(end <= one.start or start >= one.end or (sharing and one.shared) for one in self.values)

    def words_before(self, start: int, *, limit: int) -> list[str]:
        """Up to `limit` words right before the place `start`, nearest first."""
        return [word for word, place in zip(self.words, self.places, strict=True) if place[1] <= start][
            : -limit - 1 : -1
        ]

    def is_part(self, number: int) -> bool:
        """Whether a word is a part of an identifier or a path: `read` in `read_words`."""
        start, end = self.places[number]
        # A space at either end stands for what is before the first word and behind the last.
        padded = f" {self.text} "
        return any(one.isalnum() or one in "_/\\" for one in (padded[start], padded[end + 1]))

    def is_negated(self, start: int, *, within: int = 3) -> bool:
        """Whether what begins at `start` is to be left out: "not in the tests"."""
        return self.negation_start(start, within=within) < start and "only" not in self.words_before(
            start, limit=within
        )

    def negation_start(self, start: int, *, within: int = 3) -> int:
        """Where the "not" stands that denies what begins at `start`; `start` when nothing does."""
        near = [number for number, place in enumerate(self.places) if place[1] <= start][-within:]
        negations = (
            one for one in near if self.words[one] in NEGATIONS or self.words[one : one + 2] == ["other", "than"]
        )
        return next((self.places[one][0] for one in negations), start)

    def find(self, stems: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Where the words with these stems stand in a row and are free: index of the first, index after the last."""
        for first in range(len(self.stems) - len(stems) + 1 if stems else 0):
            last = first + len(stems)
            if self.stems[first:last] == list(stems) and self.is_free(self.places[first][0], self.places[last - 1][1]):
                yield first, last

    def value(self, value: object, first: int, last: int, *, options: tuple[str, ...] = ()) -> Value:
        """`value` as read from the words `first` up to before `last`."""
        return Value(value, self.places[first][0], self.places[last - 1][1], options=options)

    def remainder(self) -> str:
        """The text without what is taken."""
        characters = list(self.text)
        for one in self.values:
            characters[one.start : one.end] = " " * (one.end - one.start)
        return "".join(characters)


@dataclass(frozen=True, slots=True)
class SkillVocabulary:
    """What is known where the words were written, for the parameters of one skill.

    Attributes:
        names: Names among the facts of the skill, by kind.
        own_stems: Words by which the skill speaks of itself; they are no parts of names.
        name_stems: Those of its name.
        is_text: Whether the skill may be told any words, so that a name is one only as it is written.
    """

    environment: ReaderEnvironment
    names: Mapping[str, Sequence[str]]
    own_stems: frozenset[str]
    name_stems: frozenset[str]
    is_text: bool


_Reader: TypeAlias = Callable[[Parameter, ClauseWords, SkillVocabulary], Value | None]


def read_assignment(parameter: Parameter, words: ClauseWords, _vocabulary: SkillVocabulary) -> Value | None:
    """A parameter named outright: `limit=5`, "depth: deep_dive", `--since=2024-01-01`."""
    name = r"[\s_-]?".join(map(re.escape, parameter.words))
    unquoted = r"[^\s;]+" if parameter.type == "array" else r"[^\s,;]+"
    pattern = rf"(?<![\w-])-{{0,2}}{name}\s?[=:]\s?(?:\"([^\"\n]*)\"|'([^'\n]*)'|`([^`\n]*)`|({unquoted}))"
    for match in re.finditer(pattern, words.text, re.IGNORECASE) if name else ():
        text = next(group for group in match.groups() if group is not None)
        value = _decode(text.rstrip(".?!") if match[4] else text, parameter)
        if value is not None and words.is_free(*match.span()):
            return Value(value, *match.span())
    return None


def _decode(text: str, parameter: Parameter) -> object | None:
    if parameter.choices:
        return next((choice for choice in parameter.choices if word_tokens(choice) == word_tokens(text)), None)
    match parameter.type:
        case "boolean":
            return _BOOLEANS.get(text.lower())
        case "integer" | "number":
            amount = _AMOUNT.match(text)
            return None if amount is None else _number(amount[1], parameter)
        case "array":
            parts = [part.strip() for part in text.split(",") if part.strip()]
            values = [part if parameter.items is None else _decode(part, parameter.items) for part in parts]
            return values if values and None not in values else None
        case "string":
            return text or None
        case _:
            return None


def read_pattern(parameter: Parameter, words: ClauseWords, _vocabulary: SkillVocabulary) -> Value | None:
    """A word that passes the schema's pattern or format: a ticket id, an address."""
    is_shaped = "pattern" in parameter.schema or parameter.schema.get("format", "date") not in {"date", "date-time"}
    if parameter.type != "string" or parameter.choices or parameter.facts or parameter.accepts_dates or not is_shaped:
        return None
    for match in re.finditer(r"[^\s,;()\"'`]{2,200}", words.text):
        text = match.group().rstrip(".?!:")
        if not text.isalpha() and words.is_free(*match.span()) and parameter.accepts(text):
            return Value(text, match.start(), match.start() + len(text))
    return None


def read_name(parameter: Parameter, words: ClauseWords, vocabulary: SkillVocabulary) -> Value | None:
    """Names among the facts: whole, by a part, by a word that misspells a part; and paths that exist."""
    if not parameter.facts:
        return None
    several = parameter.items is not None
    inside = parameter.items or parameter
    is_exclusion = not NEGATIONS.isdisjoint(parameter.words)
    source = _match_paths if parameter.facts == "path" else _match_names
    values = [
        one
        for one in source(parameter, words, vocabulary)
        if words.is_negated(one.start) == is_exclusion and any(map(inside.accepts, one.options or (one.value,)))
    ]
    if not values:
        return None
    if not several:
        own_stems = parameter.stems - FUNCTION_STEMS
        near = (one for one in values if not own_stems.isdisjoint(map(_stem, words.words_before(one.start, limit=2))))
        return next(near, min(values, key=lambda one: one.is_guess))
    if unclear := next((one for one in values if one.options and parameter.facts == "path"), None):
        return unclear
    names = chain.from_iterable(one.options or (cast("str", one.value),) for one in values)
    is_guess = all(one.is_guess for one in values)
    start = words.negation_start(values[0].start) if is_exclusion else values[0].start  # "not by" is said with the name
    return Value(list(dict.fromkeys(names)), start, values[-1].end, is_guess=is_guess)


def _stem(word: str) -> str:
    return (word_tokens(word) or [""])[0]


def _match_names(parameter: Parameter, words: ClauseWords, vocabulary: SkillVocabulary) -> Iterator[Value]:
    is_of_code = parameter.facts in _CODE_KINDS
    whole, parts = _name_index(tuple(vocabulary.names.get(parameter.facts, ())))
    if is_of_code:
        parts = {}  # a word may be a part of many symbols; one is meant as it is written
    number = 0
    while number < len(words.stems):
        meanings, last = _match_identifier(number, words) if is_of_code else ((), 0)
        if not meanings:
            meanings, last = _match_name_at(number, words, whole, parts, vocabulary)
        if meanings and words.is_free(words.places[number][0], words.places[last - 1][1]):
            text = words.text[words.places[number][0] : words.places[last - 1][1]]
            value = words.value(meanings[0], number, last, options=meanings if len(meanings) > 1 else ())
            chunk = next((one for one in _CHUNK.finditer(words.text) if one.start() <= value.start < one.end()), None)
            path = "" if chunk is None or "/" not in chunk[0] else chunk[0].rstrip(".")
            if chunk is not None and path:
                value = replace(value, start=chunk.start(), end=max(value.end, chunk.end()))
                last = sum(start < value.end for start, _ in words.places)
            if not path or text == path or value.value in path.split("/"):  # a path to it, not another's name
                yield replace(value, is_guess=is_of_code and text.isalpha() and text.islower())
            number = last
        else:
            number += 1


def _match_identifier(first: int, words: ClauseWords) -> tuple[tuple[str, ...], int]:
    """An identifier of code that begins at a word, as it is written, and where it ends; it looks like no other word."""
    start = words.places[first][0]
    match = _IDENTIFIER.match(words.text, start)
    if match is None or re.search(r"[\w./\\-]\Z", words.text[:start].rstrip("_")):
        return (), first + 1
    text, after = match[0], words.text[match.end() :]
    is_code_like = "_" in text or "." in text or re.search("[a-z][A-Z]", text) or after.startswith(("()", "`"))
    if not is_code_like or _PATH_LIKE.search(text) or after[:1] in ("/", "-", "@"):
        return (), first + 1
    last = next((number for number, place in enumerate(words.places) if place[0] >= match.end()), len(words.places))
    return (text,), last


def _match_name_at(
    first: int,
    words: ClauseWords,
    whole: Mapping[tuple[str, ...], tuple[str, ...]],
    parts: Mapping[str, tuple[str, ...]],
    vocabulary: SkillVocabulary,
) -> tuple[tuple[str, ...], int]:
    """The names that the words from `first` on mean, and where they end."""
    for last in range(min(len(words.stems), first + 8), first, -1):
        text = words.text[words.places[first][0] : words.places[last - 1][1]]
        meanings = whole.get(tuple(words.stems[first:last]), ())
        if vocabulary.is_text:  # where any words may stand, a name is one only as it is written
            meanings = tuple(name for name in meanings if text in {name, name.rpartition(".")[2]})
        # A word of the skill is no symbol, unless it is written like one: "functions" is not `Function`.
        is_word = not parts and not (text in meanings and not (text.isalpha() and text.islower()))
        if meanings and not (is_word and not vocabulary.own_stems.isdisjoint(words.stems[first:last])):
            return meanings, last
    stem = words.stems[first]
    if vocabulary.is_text or stem in vocabulary.own_stems or stem in FUNCTION_STEMS or len(stem) < 3:
        return (), first + 1
    names = parts.get(stem) or parts.get(correct_spelling(stem, parts.keys()) or "", ())
    last = first + 1
    while last < len(words.stems) and (common := [one for one in parts.get(words.stems[last], ()) if one in names]):
        names, last = tuple(common), last + 1
    # Half of the words of a name mean it: "Priya" of Priya Nair, and not one word of a sentence.
    names = tuple(name for name in names if 2 * (last - first) >= len(_content_stems(name)))
    return (names if len(names) <= _MAX_MEANINGS else (), last)


@lru_cache(maxsize=16_384)
def _content_stems(name: str) -> frozenset[str]:
    return frozenset(word_tokens(name)) - FUNCTION_STEMS


@lru_cache(maxsize=64)
def _name_index(names: tuple[str, ...]) -> tuple[dict[tuple[str, ...], tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Names by all their words, and by each of them."""
    whole: dict[tuple[str, ...], list[str]] = {}
    parts: dict[str, list[str]] = {}
    for name in names:
        stems = word_tokens(name)
        is_version = name[:1].isdigit() and f"v{name}" in names  # "version 1.2.0" is `v1.2.0`
        if any(stem not in FUNCTION_STEMS for stem in stems) and not is_version:
            whole.setdefault(tuple(stems), []).append(name)
            if stems[0] == "v" and len(stems) > 1:
                whole.setdefault(tuple(stems[1:]), []).append(name)
        for stem in dict.fromkeys(stems):
            parts.setdefault(stem, []).append(name)
    return {key: tuple(one) for key, one in whole.items()}, {key: tuple(one) for key, one in parts.items()}


def _match_paths(_parameter: Parameter, words: ClauseWords, vocabulary: SkillVocabulary) -> Iterator[Value]:
    """Paths as they are written and, where nobody wrote one, the files that are called like a word."""
    environment = vocabulary.environment
    is_written = False
    for match in _CHUNK.finditer(words.text):
        text = match.group().rstrip(".")
        start, end = match.start(), match.start() + len(text)
        if not text or not words.is_free(start, end):
            continue
        is_path_like = _PATH_LIKE.search(text) is not None
        if (
            is_path_like
            if environment.exists is None
            else (is_path_like or _stem(text) not in vocabulary.own_stems) and environment.exists(text)
        ):
            is_written = True
            yield Value(text, start, end)
        elif is_path_like and environment.find is not None and (paths := tuple(environment.find(text))):
            is_written = True
            yield Value(paths[0], start, end, options=paths if len(paths) > 1 else ())
    if is_written or environment.find is None or vocabulary.is_text:
        return
    for number, stem in enumerate(words.stems):
        if (
            len(stem) < 3
            or stem.isdigit()
            or stem in vocabulary.own_stems | FUNCTION_STEMS
            or not words.is_free(*words.places[number])
            or words.is_part(number)
        ):
            continue
        if not is_generic(words.words[number]) and (paths := tuple(environment.find(words.words[number]))):
            yield replace(words.value(paths[0], number, number + 1), is_guess=True)


def read_days(parameter: Parameter, words: ClauseWords, vocabulary: SkillVocabulary) -> Value | None:
    """A day as `YYYY-MM-DD`, or midnight UTC where the schema wants a date with a time."""
    if not parameter.accepts_dates:
        return None
    for span in time_spans(words.text, today=vocabulary.environment.today):
        end = span.start + len(span.words)
        if parameter.name_has("since", "after", "from", "start", "begin", "first", "newer"):
            day = span.first
        elif parameter.name_has("until", "before", "to", "end", "last", "older"):
            day = span.last
        else:
            day = span.first if span.first == span.last else None
        if (
            day is not None
            and words.is_free(span.start, end, sharing=True)
            and not words.is_negated(span.start, within=1)
        ):
            with_time = parameter.schema.get("format") == "date-time"
            return Value(f"{day.isoformat()}T00:00:00Z" if with_time else day.isoformat(), span.start, end, shared=True)
    return None


def read_number(parameter: Parameter, words: ClauseWords, _vocabulary: SkillVocabulary) -> Value | None:
    """A number whose unit, or the word before it, is one of the parameter; or the only one, where one must be given."""
    if parameter.type not in {"integer", "number"}:
        return None
    amounts = [match for match in _AMOUNT.finditer(words.text) if words.is_free(*match.span(1))]
    for match in amounts:
        unit, previous = _stem(match[2] or ""), words.words_before(match.start(), limit=2)
        by_unit = len(unit) > 2 and unit in parameter.stems and unit not in FUNCTION_STEMS
        by_name = not set(previous).isdisjoint(parameter.words)
        as_limit = parameter.name_has(*_LIMIT_NAMES) and previous[:1] and previous[0] in _LIMITS
        is_time = unit in {"day", "week", "month", "quarter", "year"} and unit not in map(_stem, parameter.words)
        value = _number(match[1], parameter)
        if match[2] == "%" and value is not None and parameter.schema.get("maximum") == 1:
            return Value(value / 100, *match.span())
        if value is None or is_time or not (by_unit or by_name or as_limit):
            continue
        return Value(value, match.start(), match.end(2) if by_unit else match.end(1))
    value = _number(amounts[0][1], parameter) if len(amounts) == 1 and parameter.required else None
    return None if value is None else Value(value, *amounts[0].span(1))


def _number(text: str, parameter: Parameter) -> int | float | None:
    """The number as the parameter's type has it; None when it is no whole number and must be."""
    value = float(_NUMBERS.get(text.lower(), text.replace(",", "")))
    if value.is_integer():
        return int(value)
    return None if parameter.type == "integer" else value


def read_choice(parameter: Parameter, words: ClauseWords, vocabulary: SkillVocabulary) -> Value | None:
    """The choice of which all words of a phrase stand in the clause; for one that must be made, the nearest.

    A phrase is a choice's name, or a part of its meaning between commas. None when two choices are as near.
    """
    if not parameter.choices:
        return None
    free = {
        words.stems[number]: number
        for number, (start, end) in enumerate(words.places)
        if words.is_free(start, end) and not words.is_negated(start)
    }
    phrases, weights = _choice_phrases(tuple(parameter.meanings.items()))
    silent = FUNCTION_STEMS | vocabulary.name_stems
    scores: list[tuple[bool, float, int, frozenset[str]]] = []
    for number, choice in enumerate(phrases):
        for phrase in choice:
            shared = phrase & free.keys()
            if shared - silent and (shared == phrase or (parameter.required and shared - silent - NEGATIONS)):
                weight = sum(map(weights.__getitem__, shared))
                fit = weight / sum(map(weights.__getitem__, phrase))
                scores.append((shared == phrase, weight * fit, number, shared))
    if not scores:
        return None
    best = max(scores, key=lambda one: one[:2])
    if any(one[:2] == best[:2] and one[2] != best[2] for one in scores):
        return None
    position = free[max(best[3] - silent, key=weights.__getitem__)]
    return words.value(parameter.choices[best[2]], position, position + 1)


@lru_cache(maxsize=256)
def _choice_phrases(meanings: tuple[tuple[str, str], ...]) -> tuple[list[list[frozenset[str]]], dict[str, float]]:
    """The words of each phrase of each choice, and how much each word tells of which choice is meant."""
    phrases = [
        [frozenset(word_tokens(phrase)) - _OBJECTS for phrase in (name.replace("_", " "), *re.split("[,:;.]", meaning))]
        for name, meaning in meanings
    ]
    holders = Counter(token for choice in phrases for token in frozenset[str]().union(*choice))
    return phrases, {token: log(1 + len(phrases) / count) for token, count in holders.items()}


def read_choices(parameter: Parameter, words: ClauseWords, _vocabulary: SkillVocabulary) -> Value | None:
    """Those choices that an "in", "from" or "only" introduces, and what follows them by "and"; or all but those denied.

    A bare word is not enough to leave all other choices out: "the error code" does not mean to search code only.
    """
    inside = parameter.items
    if inside is None or not inside.choices:
        return None
    places = sorted(
        (*place, choice) for choice in inside.choices for place in words.find(word_tokens(choice.replace("_", " ")))
    )
    included_spans: list[tuple[int, int, str]] = []
    excluded_spans: list[tuple[int, int, str]] = []
    for first, last, choice in places:
        start = words.places[first][0]
        gap = words.text[words.places[included_spans[-1][1] - 1][1] : start].split() if included_spans else ["begins"]
        if words.is_negated(start):
            excluded_spans.append((first, last, choice))
        elif not _CUES.isdisjoint(words.words_before(start, limit=2)) or _CONNECTIVES.issuperset(gap):
            included_spans.append((first, last, choice))
    if included_spans:
        return words.value(
            list(dict.fromkeys(choice for *_, choice in included_spans)), included_spans[0][0], included_spans[-1][1]
        )
    others = [choice for choice in inside.choices if choice not in {one for *_, one in excluded_spans}]
    return words.value(others, excluded_spans[0][0], excluded_spans[-1][1]) if excluded_spans and others else None


def read_flag(parameter: Parameter, words: ClauseWords, _vocabulary: SkillVocabulary) -> Value | None:
    """Yes for "with tests", no for "without tests". A bare mention says yes where no is the default."""
    if parameter.type != "boolean":
        return None
    is_negative = not NEGATIONS.isdisjoint(parameter.words)
    for phrase in re.split("[,:;.]", parameter.description.partition(":")[2]):  # "never used" of what is unused
        if span := next(words.find(word_tokens(phrase)), None):
            return words.value(not is_negative, *span)
    for first, last in words.find(word_tokens(" ".join(word for word in parameter.words if word not in _FLAG_WORDS))):
        previous = words.words_before(words.places[first][0], limit=3)
        if cue := next((word for word in previous if word in NEGATIONS), None):
            return words.value(is_negative, max(0, first - 1 - previous.index(cue)), last)
        cues = _INCLUSIONS & set(previous[:2])
        if cues or (parameter.schema.get("default") is False and not is_negative and "include" not in parameter.words):
            return words.value(not is_negative, first - 1 if previous[:1] and previous[0] in cues else first, last)
    return None


def read_quoted(parameter: Parameter, words: ClauseWords, _vocabulary: SkillVocabulary) -> Value | None:
    """What is quoted right behind the parameter's own word."""
    own = set(word_tokens(" ".join(parameter.words)))
    quotes = _quoted_values(parameter, words)
    return next((one for one in quotes if not own.isdisjoint(map(_stem, words.words_before(one.start, limit=2)))), None)


def read_only_quote(parameter: Parameter, words: ClauseWords, _vocabulary: SkillVocabulary) -> Value | None:
    """The one thing in quotes that is left, for a parameter that must be given."""
    quotes = _quoted_values(parameter, words)
    return quotes[0] if parameter.required and len(quotes) == 1 else None


def _quoted_values(parameter: Parameter, words: ClauseWords) -> list[Value]:
    if parameter.type != "string" or parameter.choices or parameter.facts:
        return []
    quotations = (match for match in _QUOTATION.finditer(words.text) if words.is_free(*match.span()))
    return [Value(match[match.lastindex or 1], *match.span()) for match in quotations]


# The order is a rule: what one has read is taken from those below. First what is named outright or has a form of its
# own, last what only fits because nothing else is left.
READERS: Final[Sequence[_Reader]] = (
    read_assignment,
    read_pattern,
    read_days,
    read_name,
    read_quoted,
    read_flag,
    read_number,
    read_choices,
    read_choice,
    read_only_quote,
)

_NUMBER: Final = r"(?:\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve)"
_UNIT: Final = r"(?:day|week|month|quarter|year)s?"
_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_WEEKDAY: Final = r"(?:last )?(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_YEAR: Final = r"(?:19|20)\d\d"
_QUARTERS: Final = {"first": "q1", "second": "q2", "third": "q3", "fourth": "q4", "last": "q4"}
_ORDINAL: Final = "(?:" + "|".join(_QUARTERS) + ")"
_EXACT: Final = (
    rf"\d{{4}}-\d\d(?:-\d\d)?|{_YEAR}[- ]q[1-4]|(?:q[1-4]|{_ORDINAL} quarter) (?:of )?{_YEAR}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH},?(?: {_YEAR})?"
    rf"|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b,?(?: {_YEAR})?|{_MONTH}(?: {_YEAR})?|{_YEAR}|today|yesterday|{_WEEKDAY}"
    rf"|{_NUMBER} {_UNIT} ago|(?:this|last) {_UNIT}"
)
_SPAN: Final = re.compile(
    rf"(?i)\b(?:(?:between|from) (?P<first>{_EXACT}) (?:and|to|until|till|through) (?P<last>{_EXACT})"
    rf"|(?P<edge>since|after|before|until|till|by) (?:the )?(?P<day>{_EXACT})"
    rf"|(?:in |over |during |for |within )?(?:the )?(?:last|past|previous) (?P<back>{_NUMBER} {_UNIT}|{_UNIT})"
    rf"|(?:in|on|during|of|for) (?:the )?(?P<at>{_EXACT})"
    rf"|(?P<bare>\d{{4}}-\d\d-\d\d|today|yesterday|{_WEEKDAY}|{_NUMBER} {_UNIT} ago|(?:this|last) {_UNIT}))(?![\w-])"
)
_DAYS: Final = {"day": 1, "week": 7, "month": 30, "quarter": 91, "year": 365}


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """Some days, the last one included.

    Attributes:
        first: None when it has no beginning ("until March").
        last: None when it has no end ("since March").
        start: Where its words begin in the text.
    """

    first: date | None
    last: date | None
    words: str
    start: int


def time_spans(text: str, *, today: date | None) -> Iterator[TimeSpan]:
    """Every time that `text` speaks of, in order. Without `today` only what is not relative to it."""
    for match in _SPAN.finditer(text):
        first, last = _parse_span(match, today)
        if (first or last) and not (first and last and first > last):
            yield TimeSpan(first, last, match.group(), match.start())


def _parse_span(match: re.Match[str], today: date | None) -> tuple[date | None, date | None]:
    if match["first"]:
        year = re.search(_YEAR, match["last"])  # "from January to February 2024"
        has_own = year is None or re.search(r"\d{4}|day", match["first"])
        start_words = match["first"] if has_own or year is None else f"{match['first']} {year.group()}"
        first, last = _day_range(start_words, today), _day_range(match["last"], today)
        return (first[0], last[1]) if first and last else (None, None)
    if match["back"]:
        if today is None:
            return None, None
        back = match["back"].lower()
        number, _, unit = back.rpartition(" ")
        # "The last month" is the last 30 days, while "the last two months" begin on the day two months ago.
        if number in {"", "a", "an", "one", "1"}:
            return today - timedelta(days=_DAYS[unit.rstrip("s")]), today
        days = _day_range(f"{back} ago", today)
        return (days[0] if days else date.min), today
    days = _day_range(match["day"] or match["at"] or match["bare"], today)
    edge = (match["edge"] or "").lower()
    if days is None or not edge:
        return days or (None, None)
    if edge in {"since", "after"}:
        return (days[0] if edge == "since" else days[1] + timedelta(days=1)), None
    return None, (days[0] - timedelta(days=1) if edge == "before" else days[1])


def _day_range(words: str, today: date | None) -> tuple[date, date] | None:
    """The first and the last day that `words` name: of a day, a month, a quarter, a year."""
    words, months = words.lower().replace(" of ", " ").rstrip(".,"), 1
    words = re.sub(rf"({_ORDINAL}) quarter(?= {_YEAR})", lambda match: _QUARTERS[match[1]], words)
    if (quarter := re.search(r"q([1-4])", words)) and (year := re.search(_YEAR, words)):
        words, months = f"{year.group()}-{3 * int(quarter[1]) - 2:02}", 3
    if words.isdigit():
        return date(int(words), 1, 1), date(int(words), 12, 31)
    with suppress(ValueError):
        day = date.fromisoformat(words)
        return day, day
    if today is None and not re.search(r"\d{4}", words):
        return None
    if today is not None and words.startswith("this "):
        starts = {
            "week": today - timedelta(days=today.weekday()),
            "month": today.replace(day=1),
            "quarter": today.replace(month=(today.month - 1) // 3 * 3 + 1, day=1),
            "year": today.replace(month=1, day=1),
        }
        return starts.get(words[5:].rstrip("s"), today), today
    parsed = _parser(today or date(2000, 1, 1)).get_date_data(words)
    day = None if parsed.date_obj is None else parsed.date_obj.date()
    if day is None or parsed.period != "month" or "ago" in words or words.startswith("last "):
        return None if day is None else (day, day)
    month = day.month - 1 + months
    return day.replace(day=1), date(day.year + month // 12, month % 12 + 1, 1) - timedelta(days=1)


@lru_cache(maxsize=4)
def _parser(today: date) -> "DateDataParser":
    from dateparser.date import DateDataParser  # noqa: PLC0415 - a fifth of a second, for texts that name a day

    return DateDataParser(
        languages=["en"],
        settings={
            "RELATIVE_BASE": datetime(today.year, today.month, today.day),  # noqa: DTZ001 - a day has no zone
            "PREFER_DATES_FROM": "past",
            "PREFER_DAY_OF_MONTH": "first",
        },
    )
