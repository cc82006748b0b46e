"""A question as items: each stretch of words with what it may be: a column, a value, a number, a turn of phrase.

Nothing is decided about the whole yet; `reading` does that.
"""

import re
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Final, Literal, TypeAlias

from retinue.catalogue.data_analyst.lexicon import Hit, Lexicon
from retinue.catalogue.data_analyst.vocabulary import PHRASES, STOP, Role, known_words, singular
from retinue.catalogue.data_analyst.words import Word, nearest_word, split

__all__ = ["Item", "ItemRole", "items_of"]

ItemRole: TypeAlias = Role | Literal["column", "value", "number", "date", "stop", "word", "end"]

_LONGEST_PHRASE: Final = max(map(len, PHRASES))
_LONGEST_NAME: Final = 4
_LONGEST_VALUE: Final = 6
_NUMBER: Final = re.compile(r"(?P<number>\d[\d,]*(?:\.\d+)?|\.\d+)(?P<unit>%|[a-z]{1,10})?", re.IGNORECASE)
_CLASS: Final = re.compile(r"([1-5])xx", re.IGNORECASE)
_SCALES: Final = {"k": 1e3, "m": 1e6, "thousand": 1e3, "million": 1e6, "billion": 1e9, "hundred": 1e2}
_NUMBER_WORDS: Final = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "dozen": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "fifty": 50, "hundred": 100,
}  # fmt: skip
_NEVER_NAMES: Final = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "in",
        "on",
        "at",
        "to",
        "for",
        "is",
        "are",
        "was",
        "were",
        "by",
        "per",
        "and",
        "or",
        "not",
        "no",
        "as",
        "with",
        "from",
        "than",
        "how",
        "what",
        "which",
        "who",
        "it",
        "be",
        "do",
    ]
)
_PERCENTILE: Final = re.compile(r"(?:p|perc|pct|percentile)(\d{1,2}(?:\.\d+)?)", re.IGNORECASE)
_ORDINAL: Final = re.compile(r"(\d{1,2}(?:\.\d+)?)(?:st|nd|rd|th)(-percentiles?)?", re.IGNORECASE)
_AUXILIARIES: Final = frozenset({"been", "being", "in", "on", "at", "there", "all", "the", "a"})
_QUARTER: Final = re.compile(r"q[1-4]", re.IGNORECASE)
_ORDINALS: Final = {
    "first": "1", "1st": "1", "second": "2", "2nd": "2", "third": "3", "3rd": "3", "fourth": "4", "4th": "4",
}  # fmt: skip
_MONTHS_IN: Final = {"quarter": 3, "half": 6}
_SURE: Final = frozenset(known_words())


@dataclass(slots=True)
class Item:
    """Some words that belong together.

    Attributes:
        payload: What the turn of phrase stands for.
        columns: The columns it may name, the same likelihood each.
        sure: It is the column's own name, as written or in another number.
        values: The columns that hold this text, and how each writes it.
        days: The first and the last day it names.
        used: It has gone into the statement, or carries nothing.
    """

    role: ItemRole
    text: str
    payload: str = ""
    columns: tuple[str, ...] = ()
    sure: bool = False
    values: tuple[tuple[str, str], ...] = ()
    number: float | None = None
    unit: str = ""
    days: tuple[str, str] | None = None
    used: bool = False
    quoted: bool = False
    plural: bool = False
    words: tuple[str, ...] = field(default=())

    def is_a(self, *roles: ItemRole) -> bool:
        """Whether it plays one of these roles."""
        return self.role in roles


def items_of(question: str, lexicon: Lexicon, files: tuple[str, ...]) -> tuple[list[Item], list[tuple[str, str]]]:
    """The items of `question`, and the words that were set right: as written, as read."""
    names = {name.casefold() for path in files for name in (path, path.rpartition("/")[2])}
    words = [word for word in split(question) if word.low.rstrip(".") not in names]
    mended = _mend(words, lexicon)
    found: list[Item] = []
    place = 0
    while place < len(words):
        item, length = _item_at(words, place, lexicon, found)
        item.words = tuple(word.low for word in words[place : place + length])
        found.append(item)
        place += length
    return found, mended


def _mend(words: list[Word], lexicon: Lexicon) -> list[tuple[str, str]]:
    mended: list[tuple[str, str]] = []
    for word in words:
        if word.quoted or lexicon.known(word.low) or word.low in _NUMBER_WORDS or lexicon.values_of(word.text):
            continue
        right = nearest_word(word.low, lexicon.spellings, _SURE)
        if right is not None:
            mended.append((word.text, right))
            word.low = right
            word.text = right
    return mended


def _item_at(words: list[Word], place: int, lexicon: Lexicon, before: list[Item]) -> tuple[Item, int]:
    word = words[place]
    if word.quoted:
        return _quoted(word, lexicon), 1
    return (
        _date_at(words, place)
        or _quarter_at(words, place)
        or _percentile_at(words, place)
        or _longest_at(words, place, lexicon, before)
    )


def _longest_at(words: list[Word], place: int, lexicon: Lexicon, before: list[Item]) -> tuple[Item, int]:
    """What the most words are: a value, a column or a turn of phrase; one word by itself when they are none."""
    phrase, phrase_length = _phrase_at(words, place)
    column, column_length = _column_at(words, place, lexicon)
    value, value_length = _value_at(words, place, lexicon, before)
    if phrase is not None and phrase[1] == "count" and _is_certain(column) and words[place + 1 : place + 2]:
        phrase, phrase_length = (None, 0) if phrase_length == column_length + 1 else (phrase, phrase_length)
    longest = max(phrase_length, column_length, value_length)
    said = _said(words, place, longest)
    if longest and longest == value_length and (not _is_certain(column) or column_length < longest):
        return Item("value", said, values=value), longest
    if column is not None and column_length == longest and (phrase is None or phrase_length < longest):
        if column_length == 1 and singular(words[place].low) in lexicon.row_nouns:
            return Item("rows", said, columns=column.columns, sure=not column.quality), 1
        return _column(words, place, column_length, column), column_length
    if phrase is None or phrase_length < longest:
        return _plain(words[place], lexicon), 1
    role, payload = phrase
    certain = column if column_length == longest and _is_certain(column) else None
    names = certain.columns if certain is not None else ()
    return Item(role, said, payload=payload, columns=names, sure=certain is not None), longest


def _plain(word: Word, lexicon: Lexicon) -> Item:
    if singular(word.low) in lexicon.row_nouns or word.low in lexicon.row_nouns:
        return Item("rows", word.text)
    if found := _CLASS.fullmatch(word.low):
        return Item("number", word.text, number=float(found[1]) * 100, unit="xx")
    if found := _NUMBER.fullmatch(word.low):
        unit = (found["unit"] or "").lower()
        number = float(found["number"].replace(",", "")) * _SCALES.get(unit, 1)
        return Item("number", word.text, number=number, unit="" if unit in _SCALES else unit)
    if word.low in _NUMBER_WORDS:
        return Item("number", word.text, number=float(_NUMBER_WORDS[word.low]))
    if word.low in STOP or not any(letter.isalnum() for letter in word.low):
        return Item("stop", word.text, used=True)
    return Item("word", word.text)


def _quoted(word: Word, lexicon: Lexicon) -> Item:
    column = lexicon.columns.get(word.text)
    hit = None if column else lexicon.column((word.low,))
    if column is not None or (hit is not None and hit.quality <= 1):
        names = (word.text,) if column is not None else hit.columns if hit is not None else ()
        return Item("column", word.text, columns=names, sure=True, quoted=True)
    return Item("value", word.text, values=lexicon.values_of(word.text), quoted=True)


def _phrase_at(words: list[Word], place: int) -> tuple[tuple[Role, str] | None, int]:
    for length in range(min(_LONGEST_PHRASE, len(words) - place), 0, -1):
        part = words[place : place + length]
        if not any(word.quoted for word in part):
            found = PHRASES.get(tuple(word.low for word in part))
            if found is not None:
                return found, length
    return None, 0


def _column_at(words: list[Word], place: int, lexicon: Lexicon) -> tuple[Hit | None, int]:
    for length in range(min(_LONGEST_NAME, len(words) - place), 0, -1):
        part = words[place : place + length]
        lows = tuple(word.low for word in part)
        if (
            any(word.quoted or not word.low[0].isalnum() for word in part)
            or lows[0] in _NEVER_NAMES
            or lows[-1] in _NEVER_NAMES
        ):
            continue
        hit = lexicon.column(lows)
        if hit is None or (length == 1 and lows[0] in STOP and hit.quality > 1):
            continue
        if length > 1 and hit.quality > 1 and any(low in STOP or (low,) in PHRASES for low in (lows[0], lows[-1])):
            continue
        return hit, length
    return None, 0


def _value_at(
    words: list[Word], place: int, lexicon: Lexicon, before: list[Item]
) -> tuple[tuple[tuple[str, str], ...], int]:
    for length in range(min(_LONGEST_VALUE, len(words) - place), 0, -1):
        part = words[place : place + length]
        if any(word.quoted for word in part):
            continue
        said = " ".join(word.text for word in part)
        found = lexicon.values_of(said)
        if not found and length == 1 and len(said) > 3:
            found = lexicon.values_of(singular(part[0].low))
        if not found or (length == 1 and not _may_be_value(part[0], found, before)):
            continue
        return found, length
    return (), 0


def _may_be_value(word: Word, found: tuple[tuple[str, str], ...], before: list[Item]) -> bool:
    """A word that asks for something by itself is a value only in the value's own capitals, or behind its column."""
    if word.low not in known_words() and singular(word.low) not in known_words() and not word.low.isdecimal():
        return len(word.low) > 1 or word.text.isupper()
    last = next((item for item in reversed(before) if item.role != "stop"), None)
    behind = last is not None and last.role == "column" and any(column in last.columns for column, _ in found)
    exact = any(value == word.text for _, value in found)
    if exact and word.low not in _AUXILIARIES and before and before[-1].role in ("is", "not"):
        return True  # "how many were returned"
    return (
        behind or (exact and word.text != word.low) or (exact and (word.low,) not in PHRASES and word.low not in STOP)
    )


def _column(words: list[Word], place: int, length: int, hit: Hit) -> Item:
    last = words[place + length - 1].low
    return Item(
        "column",
        _said(words, place, length),
        columns=hit.columns,
        sure=_is_certain(hit),
        plural=singular(last) != last,
    )


def _is_certain(hit: Hit | None) -> bool:
    return hit is not None and hit.quality <= 1


def _said(words: list[Word], place: int, length: int) -> str:
    return " ".join(word.text for word in words[place : place + length])


def _percentile_at(words: list[Word], place: int) -> tuple[Item, int] | None:
    word = words[place]
    if found := _PERCENTILE.fullmatch(word.low):
        return Item("percentiles", word.text, payload=found[1]), 1
    following = words[place + 1].low if place + 1 < len(words) else ""
    found = _ORDINAL.fullmatch(word.low)
    if found and found[2]:
        return Item("percentiles", word.text, payload=found[1]), 1
    if following in {"percentile", "percentiles"} and (found or _NUMBER.fullmatch(word.low)):
        number = found[1] if found else word.low
        return Item("percentiles", f"{word.text} {words[place + 1].text}", payload=number), 2
    if found and following in {"and", ","}:  # "the 90th and 99th percentile"
        later = [one.low for one in words[place + 1 : place + 8]]
        if any(low.startswith("percentile") for low in later):
            return Item("percentiles", word.text, payload=found[1]), 1
    return None


def _date_at(words: list[Word], place: int) -> tuple[Item, int] | None:
    """A day or a month with its year; a month alone is a turn of phrase."""
    word = words[place]
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}(?:[t ]\d{2}:\d{2}(?::\d{2})?z?)?", word.low):
        day = _day(word.low[:10])
        return None if day is None else (Item("date", word.text, days=(day, day)), 1)
    after = [one.low for one in words[place + 1 : place + 5]]
    month = _month(word.low)
    if month is not None:
        day_number = _day_number(after[0]) if after else None
        if day_number is not None:
            at = 2 if len(after) > 1 and after[1] == "," else 1
            year = after[at] if len(after) > at and re.fullmatch(r"(?:19|20)\d{2}", after[at]) else None
            if year is not None and (day := _day(f"{year}-{month:02}-{day_number:02}")) is not None:
                return Item("date", _said(words, place, at + 2), days=(day, day)), at + 2
        if after and re.fullmatch(r"(?:19|20)\d{2}", after[0]):
            return Item("date", _said(words, place, 2), days=_whole_month(int(after[0]), month)), 2
    number = _day_number(word.low)
    if number is not None and after:
        skip = 1 if after[0] == "of" and len(after) > 1 else 0
        named = _month(after[skip])
        year = after[skip + 1] if len(after) > skip + 1 else ""
        if named is not None and re.fullmatch(r"(?:19|20)\d{2}", year):
            day = _day(f"{year}-{named:02}-{number:02}")
            return None if day is None else (Item("date", _said(words, place, skip + 3), days=(day, day)), skip + 3)
    return None


def _quarter_at(words: list[Word], place: int) -> tuple[Item, int] | None:
    """Read "Q1", "the second quarter", "the first half": some months."""
    word, following = words[place].low, words[place + 1].low if place + 1 < len(words) else ""
    number, length = (word[1:], 1) if _QUARTER.fullmatch(word) else (_ORDINALS.get(word), 2)
    if number is None or (length == 2 and following not in _MONTHS_IN):
        return None
    months = _MONTHS_IN[following] if length == 2 else 3
    first = (int(number) - 1) * months + 1
    if first > 12:
        return None
    payload = " ".join(map(str, range(first, first + months)))
    return Item("month", _said(words, place, length), payload=payload), length


def _month(word: str) -> int | None:
    found = PHRASES.get((word.rstrip("."),))
    return int(found[1]) if found is not None and found[0] == "month" else None


def _day_number(word: str) -> int | None:
    found = re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th)?", word)
    return int(found[1]) if found and 1 <= int(found[1]) <= 31 else None


def _day(text: str) -> str | None:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        return None


def _whole_month(year: int, month: int) -> tuple[str, str]:
    following = date(year + month // 12, month % 12 + 1, 1)
    return date(year, month, 1).isoformat(), (following - timedelta(days=1)).isoformat()
