"""The words of a question about a table, each with what it may name: a column, a value, a figure, a day."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from retinue.contract.facts import TableFacts
from retinue.orchestration.reader.table_words import DIMENSIONS, MONTHS, NUMBERS, PHRASES, STOP_WORDS, WEEKDAYS, Kind
from retinue.orchestration.reader.words import slip_of

__all__ = ["YEARS", "Item", "ItemIndex", "tokens_of", "words_of"]

_TOKEN: Final = re.compile(
    r"[\"“”][^\"“”]+[\"“”]|`[^`]+`|(?<!\w)'[^']+'(?!\w)|\d{4}-\d{2}-\d{2}|\d+[A-Za-z]+\b"
    r"|[$€£]?-?\d[\d,]*(?:\.\d+)?"
    r"|[<>!=]=|<>|\w+(?:['\u2019.&/_-]\w+)*|\S"
)
_IS: Final = re.compile(r"\b(what|who|where|that|there|it)['\u2019]s\b", re.IGNORECASE)
_EMPHASIS: Final = re.compile(r"\*{1,2}(\w[^*]*)\*{1,2}")
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")
_DAY: Final = re.compile(r"\d{1,2}(?:st|nd|rd|th)?")
_ISO_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
_YEAR: Final = re.compile(r"\d{4}")
_QUARTER: Final = re.compile(r"q[1-4]")
_NUMBER: Final = re.compile(r"[$€£]?(-?\d[\d,]*(?:\.\d+)?)")
_SCALES: Final = {"k": 1e3, "m": 1e6, "thousand": 1e3, "million": 1e6, "billion": 1e9}
YEARS: Final = range(1500, 2200)
_LONGEST: Final = 8
"""Words in the longest name or value that is looked for."""
_DIGITS: Final = 30
"""Characters of the longest number."""
_INITIALS: Final = 3
"""Words of the shortest name that may be called by its initials: "mpg"."""
_ENDINGS: Final = ("n", "an", "ian", "ean", "ese", "ish", "y", "s")
"""What makes an adjective or a plural of a name: "Japanese", "rainy"."""
_CONTAINED: Final = 4
"""Letters of the shortest word that is looked for inside of values."""


@dataclass(slots=True)
class Item:
    """One word or phrase, and what it may be."""

    text: str
    kind: Kind
    payload: str = ""
    columns: tuple[str, ...] = ()
    values: tuple[tuple[str, str], ...] = ()
    number: float = 0
    months: tuple[int, ...] = ()
    days: tuple[date, date] | None = None
    is_used: bool = False

    @property
    def is_open(self) -> bool:
        """Whether it must still go into the query."""
        return not self.is_used and self.kind not in ("stop", "mark", "verb", "which", "list", "comparison")


def tokens_of(question: str) -> list[str]:
    """The words, numbers, quotations and marks of `question`; what only stresses a word is left out."""
    return _TOKEN.findall(_EMPHASIS.sub(r"\1", _IS.sub(r"\1 is", question)))


class ItemIndex:
    """What words may name in one table."""

    def __init__(self, table: TableFacts, meanings: Mapping[str, str]) -> None:
        self.note = ""
        self._meanings = meanings
        self._names = {one.name.casefold(): one.name for one in table.columns}
        self._by_word: dict[str, tuple[str, ...]] = {}
        self._whole: dict[str, tuple[str, ...]] = {}
        for column in table.columns:
            if column.is_derived:
                continue
            words = words_of(column.name)
            _append(self._whole, "".join(words), column.name)
            for word in dict.fromkeys(words):
                _append(self._by_word, word, column.name)
            if len(words) >= _INITIALS:
                _append(self._by_word, "".join(word[0] for word in words), column.name)
        stem = re.split(r"[^\w]", table.path.rpartition("/")[2])[0]
        self._rows = {*words_of(stem), *table.row_nouns}
        self._values: dict[str, list[tuple[str, str]]] = {}
        for column in table.columns:
            for text in column.values:
                self._values.setdefault(" ".join(_TOKEN.findall(text.casefold())), []).append((column.name, text))
        self._spelled = [*self._by_word, *(one for one in self._values if len(one) >= _CONTAINED), *(
            " ".join(one) for one in PHRASES if len(one) == 1)]  # fmt: skip
        self._table = table

    def whole(self, text: str) -> tuple[str, ...]:
        """The columns whose whole name `text` is."""
        return self._whole.get("".join(words_of(text)), ())

    def item(self, tokens: list[str], at: int) -> tuple[Item, int]:  # noqa: PLR0911 - one for each reading, best first
        """What begins at `at`, and how many tokens it takes."""
        self.note = ""
        token = tokens[at]
        if token[0] in "\"“”`'" and len(token) > 1:
            return self._quoted(token[1:-1]), 1
        number = self._number(tokens, at)
        value, width = self._value(tokens, at)
        if value is not None and (width > 1 or self._is_exact(value, token)):
            return value, width
        phrase, length = self._phrase(tokens, at)
        if number is not None and (length < 2 or phrase is None):
            return number
        name, span = self._column(tokens, at)
        is_rows = bool(words_of(token)) and self._rows.issuperset(words_of(token))
        if is_rows and not (name and span > 1):
            return Item(token, "rows"), 1
        is_named = phrase is not None and (
            phrase.kind == "unit" or (phrase.kind == "stop" and len(token) >= _CONTAINED and bool(self.whole(token)))
        )
        if name is not None and (span > length or is_named):
            return name, span
        if phrase is not None:
            return phrase, length
        timed = _time_item(tokens, at)
        if timed is not None and not (name and len(name.columns) == 1 and timed[0].kind == "month"):
            return timed
        if name is not None:
            return name, span
        if value is not None:
            return value, width
        return self._other(token), 1

    def _quoted(self, text: str) -> Item:
        if text.casefold() in self._names:
            return Item(text, "column", columns=(self._names[text.casefold()],))
        if len(text) < _DIGITS and _NUMBER.fullmatch(text):
            return Item(text, "number", number=float(text.replace(",", "")))
        key = " ".join(_TOKEN.findall(text.casefold()))
        found = self._values.get(key) or self._containing(text)
        return Item(
            text, "value" if found else "unknown", "" if key in self._values else "contains", values=tuple(found)
        )

    @staticmethod
    def _is_exact(value: Item, token: str) -> bool:
        """Whether a word that may mean something else too is a value: it is written like one in capitals."""
        is_common = (token.casefold(),) in PHRASES or (len(token) < _CONTAINED and token.casefold() in STOP_WORDS)
        return any(text == token for _, text in value.values) and (
            not is_common or (token.isupper() and len(token) > 1)
        )

    def _value(self, tokens: list[str], at: int) -> tuple[Item | None, int]:
        for width in range(min(_LONGEST, len(tokens) - at), 0, -1):
            text = " ".join(tokens[at : at + width])
            keys = [text.casefold(), *(_stems(text.casefold()) if width == 1 else ())]
            for key in keys:
                if (found := self._values.get(key)) and not key.replace(".", "").isdecimal():
                    return Item(text, "value", values=tuple(found)), width
        return None, 0

    def _containing(self, text: str) -> list[tuple[str, str]]:
        """Columns of which some value has `text` in it as a word."""
        found: dict[str, str] = {}
        if len(text) >= _CONTAINED:
            pattern = re.compile(rf"\b{re.escape(text)}\b", re.IGNORECASE)
            for column in self._table.columns:
                if any(pattern.search(value) for value in column.values):
                    found[column.name] = text
        return list(found.items())

    @staticmethod
    def _phrase(tokens: list[str], at: int) -> tuple[Item | None, int]:
        for width in range(5, 0, -1):
            words = tuple(token.casefold() for token in tokens[at : at + width])
            if len(words) == width and (known := PHRASES.get(words)) is not None:
                if words[-2:] in (("maximum", "of"), ("minimum", "of")) and not _is_digit(tokens, at + width):
                    continue  # "a maximum of 5" compares; without a number it is a figure
                return Item(" ".join(tokens[at : at + width]), known[0], known[1]), width
        word = tokens[at].casefold()
        if word.endswith(("n't", "n\u2019t")):
            return Item(tokens[at], "not"), 1
        following = tokens[at + 1].casefold() if at + 1 < len(tokens) else ""
        if following == "than" and word in DIMENSIONS:
            return Item(f"{word} than", "compare", ">" if DIMENSIONS[word][0][1] == "max" else "<"), 2
        return (Item(tokens[at], "stop"), 1) if word in STOP_WORDS else (None, 0)

    def _column(self, tokens: list[str], at: int) -> tuple[Item | None, int]:
        """The longest run of words that is a column's whole name; else one word that several may have."""
        for width in range(min(_LONGEST, len(tokens) - at), 0, -1):
            parts = ["".join(words_of(token)) for token in tokens[at : at + width]]
            joined = "".join(parts)
            if all(parts) and (found := self._whole.get(joined)):
                return Item(" ".join(tokens[at : at + width]), "column", columns=found), width
        if at + 1 < len(tokens):
            joined = "".join((*words_of(tokens[at]), *words_of(tokens[at + 1])))
            short = [known for known in self._whole if len(known) > _CONTAINED and joined.startswith(known)]
            if len(short) == 1 and len("".join(words_of(tokens[at]))) < len(short[0]):
                return Item(f"{tokens[at]} {tokens[at + 1]}", "column", columns=self._whole[short[0]]), 2
        token = tokens[at]
        found = self._meant(token) or next((self._by_word[one] for one in words_of(token) if one in self._by_word), ())
        return (Item(token, "column", columns=found), 1) if found else (None, 0)

    def _meant(self, token: str) -> tuple[str, ...]:
        name = self._meanings.get(token.casefold(), "")
        return (name,) if name.casefold() in self._names else ()

    @staticmethod
    def _number(tokens: list[str], at: int) -> tuple[Item, int] | None:
        token = tokens[at]
        match = _NUMBER.fullmatch(token) if len(token) < _DIGITS else None
        if match is not None:
            scale = _SCALES.get(tokens[at + 1].casefold(), 0) if at + 1 < len(tokens) else 0
            value = float(match[1].replace(",", ""))
            days = None
            if _YEAR.fullmatch(token) and int(token) in YEARS:
                days = (date(int(token), 1, 1), date(int(token), 12, 31))
            timed = _time_item(tokens, at)
            if timed is not None:
                return timed
            payload = "money" if token[0] in "$€£" else ""
            return Item(token, "number", payload, number=value * (scale or 1), days=days), 2 if scale else 1
        ordinal = re.fullmatch(r"(\d+)(?:st|nd|rd|th)", token)
        following = tokens[at + 1].casefold() if at + 1 < len(tokens) else ""
        is_point = ordinal is not None and any(one.casefold().startswith("percentile") for one in tokens[at:])
        if is_point or re.fullmatch(r"p\d{1,2}", token):
            width = 2 if following.startswith("percentile") else 1
            return Item(token, "percentile", number=float(token.strip("pstndrh"))), width
        scaled = re.fullmatch(r"(\d[\d.]*)([km])", token.casefold())
        if scaled is not None:
            return Item(token, "number", number=float(scaled[1]) * _SCALES[scaled[2]]), 1
        if token.casefold() in NUMBERS and (token.casefold() != "one"):
            return Item(token, "number", number=NUMBERS[token.casefold()]), 1
        return _time_item(tokens, at) if re.match(r"\d{4}-\d\d-\d\d", token) else None

    def _other(self, token: str) -> Item:
        """A word that names nothing: short for a column's word, inside of values, or misspelled by one slip."""
        word = token.casefold()
        short = [
            name
            for known, names in self._by_word.items()
            if (len(known) >= 3 and word.startswith(known)) or (len(word) >= _CONTAINED and known.startswith(word))
            for name in names
        ]
        if short and token.isalpha():
            return Item(token, "column", columns=tuple(dict.fromkeys(short)))
        if token[0].isupper() and (found := self._containing(token)):
            return Item(token, "value", "contains", values=tuple(found))
        meant = slip_of(word, self._spelled) or slip_of(words_of(token)[0] if words_of(token) else "", self._spelled)
        if meant is not None and word not in DIMENSIONS and token.isalpha():
            if (meant,) in PHRASES:
                item = Item(token, *PHRASES[meant,])
            else:
                columns, values = self._by_word.get(meant, ()), self._values.get(meant, ())
                item = Item(token, "column" if columns else "value", columns=columns, values=tuple(values))
            self.note = f"“{token}” is read as “{meant}”."
            return item
        return Item(token, "unknown" if token[0].isalnum() else "stop")


def _is_digit(tokens: list[str], at: int) -> bool:
    return at < len(tokens) and tokens[at][0].isdigit()


def _time_item(tokens: list[str], at: int) -> tuple[Item, int] | None:  # noqa: PLR0911 - one for each form
    """A day, a month, a quarter or a weekday that begins at `at`."""
    token = tokens[at].casefold()
    if token in WEEKDAYS:
        return Item(tokens[at], "weekday"), 1
    rest = [(width, one.casefold()) for width, one in enumerate(tokens[at + 1 : at + 5], start=2) if one not in ",of"]
    try:
        if _ISO_DAY.fullmatch(token):
            day = date.fromisoformat(token)
            return Item(token, "date", days=(day, day)), 1
        (width, second), (width_of_third, third) = [*rest, (1, ""), (1, "")][:2]
        if _DAY.fullmatch(token) and second in MONTHS and _YEAR.fullmatch(third):
            day = date(int(third), MONTHS[second], int(token.rstrip("stndrh")))
            return Item(f"{token} {second} {third}", "date", days=(day, day)), width_of_third
        if token not in MONTHS and not _QUARTER.fullmatch(token):
            return None
        if token in ("may", "mar", "sep", "dec", "jan") and tokens[at].islower():
            return None  # "may" is a verb, and the others may be columns
        months = (MONTHS[token],) if token in MONTHS else tuple(range(3 * int(token[1]) - 2, 3 * int(token[1]) + 1))
        if _DAY.fullmatch(second) and _YEAR.fullmatch(third):
            day = date(int(third), months[0], int(second.rstrip("stndrh")))
            return Item(f"{token} {second} {third}", "date", days=(day, day)), width_of_third
        if not _YEAR.fullmatch(second):
            return Item(tokens[at], "month", months=months), 1
        last = date(int(second) + months[-1] // 12, months[-1] % 12 + 1, 1) - timedelta(days=1)
        days = (date(int(second), months[0], 1), last)
        return Item(f"{tokens[at]} {second}", "month", months=months, days=days), width
    except ValueError:  # 31 February, the year 0
        return None


def _stems(word: str) -> Iterator[str]:
    """The names that `word` may be made of: "Japanese", "European", "foggy", "females"."""
    for ending in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= _INITIALS:
            yield stem
            if ending == "y" and stem[-1] == stem[-2]:
                yield stem[:-1]
            if ending in ("an", "n"):
                yield f"{stem}e"


def _append(index: dict[str, tuple[str, ...]], key: str, name: str) -> None:
    index[key] = (*index.get(key, ()), name)


def words_of(text: str) -> tuple[str, ...]:
    """The words of a name, parted at humps and marks, in the singular."""
    return tuple(map(_singular, _WORD.findall(text)))


def _singular(word: str) -> str:
    word = word.casefold()
    if len(word) < _CONTAINED or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("ses", "xes", "zes", "ches", "shes")) and len(word) > _CONTAINED else word[:-1]
