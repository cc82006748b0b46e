"""The words of a question about a table, each with what it may name: a column, a value, a figure, a day.

And the words of all such questions: how many, average, by, more than, top, missing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final

from retinue.contract.facts import TableFacts
from retinue.orchestration.reader.text_tokens import correct_spelling, split_words

_PHRASES_BY_CODE: Final = {
    "f mean": "average, avg, mean, on average, mean of, average of, on the average, typical",
    "f median": "median, median of",
    "f sum": "total, sum, sum of, total of, in total, altogether, combined",
    "f stddev": "standard deviation, stddev, std",
    "f min": "minimum, min, minimum of",
    "f max": "maximum, max, maximum of",
    "c": "how many, number of, numbers of, count of, count, counts, how often, how many times, total number of",
    "d": "different, distinct, unique",
    "%": "%, % of, share, percentage, percent, proportion, fraction, share of, percentage of, percent of,"
         " proportion of",
    "b": "by, per, for each, for every, in each, of each, each, every, grouped by, broken down by, split by, across,"
         " for all, at each, from each, according to",
    "< >": "more than, over, above, greater than, higher than, larger than, bigger than, exceeding, exceeds, exceed,"
           " exceeded, >, later than",
    "< >=": "at least, no less than, no fewer than, not less than, not below, >=, a minimum of",
    "< <": "less than, under, below, fewer than, smaller than, lower than, <, earlier than",
    "< <=": "at most, no more than, not more than, up to, not above, <=, a maximum of, not over",
    "< =": "exactly, equal to, equals, =, ==", "< !=": "not equal to, !=, <>",
    "> >=": "or more, or above, or higher, or greater, or longer, or later, and above, and over, or over, or newer",
    "> <=": "or less, or fewer, or below, or lower, or under, or earlier, and below, or older",
    "B >=": "since, starting", "B >": "after", "B <": "before, prior to", "B <=": "until, till",
    "~": "between",
    "s most": "most", "s least": "least, fewest",
    "s max": "highest, largest, biggest, greatest", "s min": "lowest, smallest",
    "m": "most common, most frequent, most popular, commonest, most often, most frequently, busiest",
    "t max": "top, first", "t min": "bottom",
    "!": "not, no, without, except, excluding, other than, apart from, besides, never, neither, nor",
    "M": "missing, null, empty, blank, unknown, no value, unspecified, not known",
    "h": "contain, contains, containing, contained, include, includes, including",
    "a": "and, as well as, &, but, plus", "o": "or", "V": "vs, versus, compared to, compared with, against",
    "K": "compare, compared, comparing, comparison, comparison of",
    "l": "list, show, display, give, find, name, print", "w": "which, what, who, whose, when",
    "i": "is, are, was, were, have, has, had, did, do, does, that, where, with, having, got, be, been",
    "A asc": "ascending, alphabetical, alphabetically, increasing", "A desc": "descending, decreasing",
    "O": "sorted by, ordered by, order by, sort by, sorted, ordered, ranked by",
    "T": "over time, trend, trend of, through time, over the years, over the months, over the days, change over time",
    "p 50 90 95 99": "percentile, percentiles", "p 25 50 75": "quartile, quartiles",
    "p 10 20 30 40 50 60 70 80 90": "decile, deciles",
    "R": "row, rows, record, records, entry, entries, observation, observations",
    "u day": "day, days, daily", "u week": "week, weeks, weekly", "u month": "month, months, monthly",
    "u quarter": "quarter, quarters, quarterly", "u year": "year, years, yearly, annual, annually",
    "u hour": "hour, hours, hourly",
    "u weekday": "weekday, weekdays, day of the week, days of the week, day of week",
    "u hour_of_day": "hour of day, hour of the day, time of day",
}  # fmt: skip
"""Phrases by what they say: a letter (see `tables`), and what of it."""

PHRASES: Final[dict[tuple[str, ...], tuple[str, str]]] = {
    tuple(phrase.split()): (key[0], key[2:])
    for key, phrases in _PHRASES_BY_CODE.items()
    for phrase in phrases.split(", ")
}
_FILLER: Final = """
a an the of in on at for being there their its it this these those to from as than please can could you me i us we
tell would like want know need when how much any only just hold holds held come all data table file dataset values
value if so also then needs gets get shows reaches here about into within during made comes came he she they them our
your my will some look gave ones one seen observed recorded measured found listed reported registered happened happen
occurred occur located existing exist exists live lives lived returned return took take takes built manufactured
produced released created ever overall introduced published born sold bought placed type types kind kinds lie lies
stand stands go goes went word words called . ? ! : ; ( ) - / ' s own owns owned
"""
FILLER: Final = frozenset({*_FILLER.split(), *"\u2013\u2014\u2019"})
"""Words that name nothing and change no figure."""

SYNONYMS: Final = {
    "woman": "female", "women": "female", "man": "male", "men": "male", "girl": "female", "girls": "female",
    "boy": "male", "boys": "male",
}  # fmt: skip
_NUMBERS: Final = "two three four five six seven eight nine ten eleven twelve"
NUMBERS: Final = {word: number for number, word in enumerate(_NUMBERS.split(), start=2)} | {"zero": 0}
_MONTHS: Final = "january february march april may june july august september october november december"
MONTHS: Final = {
    name: number
    for number, month in enumerate(_MONTHS.split(), start=1)
    for name in {month, month[:3], "sept" if number == 9 else month}
}
_DAYS: Final = "monday tuesday wednesday thursday friday saturday sunday"
WEEKDAYS: Final[dict[str, tuple[int, ...]]] = {
    **{
        name: (number,)
        for number, day in enumerate(_DAYS.split(), start=1)
        for name in (day, f"{day}s")
    },
    "weekend": (6, 7), "weekends": (6, 7), "weekdays": (1, 2, 3, 4, 5),
}  # fmt: skip

_ADJECTIVES: Final = (
    ("price cost fare amount", "expensive costly priciest dearest", "cheap cheapest cheaper"),
    ("mass weight", "heavy heaviest heavier", "light lightest lighter"),
    ("height elevation altitude", "tall tallest taller high highest", "short shortest low lowest"),
    ("length duration distance seconds", "long longest longer", "short shortest shorter"),
    ("age", "old oldest older", "young youngest younger"),
    ("date time year day", "new newest newer latest recent", "early earliest earlier old oldest older"),
    ("temperature temp", "hot hottest hotter warm warmest warmer", "cold coldest colder cool coolest"),
    ("speed velocity", "fast fastest faster quickest", "slow slowest slower"),
    ("duration seconds time", "slow slowest slower", "fast fastest faster quickest"),
    ("size area", "large largest big biggest", "small smallest"),
    ("distance", "far farther farthest furthest", "near nearer nearest close closer closest"),
    ("depth", "deep deepest deeper", "shallow shallowest"),
    ("width", "wide widest wider", "narrow narrowest"),
    ("precipitation rain rainfall", "wet wettest rainiest", "dry driest"),
    ("wind force magnitude", "strong stronger strongest", "weak weaker weakest"),
    ("wind", "windy windiest", "calm calmest"),
)
SYNONYM_GROUPS: Final = tuple(frozenset(nouns.split()) for nouns, *_ in _ADJECTIVES)
"""Nouns that may be one another's names, where only one column has one of them."""
DIMENSIONS: Final[dict[str, list[tuple[str, str]]]] = {}
"""By adjective, which dimensions it may be of where no column is named, and which end of each."""
for _dimensions, *_ends in _ADJECTIVES:
    for _end, _adjectives in zip(("max", "min"), _ends, strict=True):
        for _adjective in _adjectives.split():
            DIMENSIONS.setdefault(_adjective, []).extend((word, _end) for word in _dimensions.split())

UNIT_SIZES: Final[dict[str, tuple[str, float]]] = {
    name: (dimension, size)
    for dimension, sizes in {
        "time": {"ms millisecond milliseconds": 0.001, "s sec second seconds": 1, "min mins minute minutes": 60,
                 "h hour hours": 3600, "day days": 86_400},
        "mass": {"g gram grams": 1, "kg kilo kilos kilogram kilograms": 1000, "lb lbs pound pounds": 453.59237},
        "length": {"mm millimeters millimetres": 0.001, "cm centimeters centimetres": 0.01,
                   "m meter meters metre metres": 1, "km kilometers kilometres": 1000, "mile miles": 1609.344,
                   "ft foot feet": 0.3048},
        "bytes": {"byte bytes b": 1, "kb": 1000, "mb": 1e6, "gb": 1e9},
        "money": {"$ \u20ac \u00a3 dollar dollars euro euros usd eur": 1},
        "share": {"% percent": 1},
    }.items()
    for names, size in sizes.items()
    for name in names.split()
}  # fmt: skip

_TOKEN: Final = re.compile(
    r"[\"“”][^\"“”]+[\"“”]|`[^`]+`|(?<!\w)'[^']+'(?!\w)|\d{4}-\d{2}-\d{2}|\d+[A-Za-z]+\b"
    r"|[$€£]?-?\d[\d,]*(?:\.\d+)?|[<>!=]=|<>|\w+(?:['\u2019.&/_-]\w+)*|\S"
)
_CONTRACTED_IS: Final = re.compile(r"\b(what|who|where|that|there|it)['\u2019]s\b", re.IGNORECASE)
_PATH: Final = re.compile(r"/|\.[a-z]{1,5}$")
_DECADE: Final = re.compile(r"\b(\d{3})0s\b")
_HYPHEN: Final = re.compile(r"(?<=\b\d)-(?=[a-z])")
_EMPHASIS: Final = re.compile(r"\*{1,2}(\w[^*]*)\*{1,2}")
_NUMBER: Final = re.compile(r"[$€£]?(-?\d[\d,]{0,28}(?:\.\d{1,20})?)([km]?)")
_POINT: Final = re.compile(r"p(\d{1,2})|(\d{1,2})(?:st|nd|rd|th)")
_ORDINAL: Final = re.compile(r"(\d{1,3})(?:st|nd|rd|th)")
_DAY: Final = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")
_SCALES: Final = {"k": 1e3, "m": 1e6, "hundred": 100, "thousand": 1e3, "million": 1e6, "billion": 1e9}
_YEARS: Final = range(1500, 2200)
_LEADS: Final = "in of for during from to year the since after before until between and or vs"
_BEFORE_YEARS: Final = frozenset(_LEADS.split())
_ENDINGS: Final = ("n", "an", "ian", "ean", "ese", "ish", "y", "s")
"""What makes an adjective or a plural of a value: "Japanese", "rainy"."""
_MAX_WORDS: Final = 8
"""Words of the longest name or value that is looked for."""
_MIN_LETTERS: Final = 3
"""Letters of the shortest word that stands for a longer one, or of a name's initials."""


@dataclass(slots=True)
class Lexeme:
    """One word or phrase, and what it may be.

    Attributes:
        code: The letter of its kind, as in `tables`; `x` when it names nothing.
        detail: What of it: which function, which comparison, which day of a month; `part` of a column whose
            other words must stand beside it.
        columns: The columns that it may name.
        values: The values that it may name, each with its column.
        number: Its number, in `unit`.
        months: The months that it names.
        days: The first and the last day of the stretch of time that it names.
        lead: The filling words before it.
    """

    text: str
    code: str
    detail: str = ""
    columns: tuple[str, ...] = ()
    values: tuple[tuple[str, str], ...] = ()
    number: float = 0
    unit: str = ""
    months: tuple[int, ...] = ()
    days: tuple[date, date] | None = None
    lead: str = ""


class Lexer:
    """What words may name in one table.

    Attributes:
        notes: How words were read that are no name as they stand.
    """

    def __init__(self, table: TableFacts, meanings: Mapping[str, str]) -> None:
        self.notes: list[str] = []
        self._table, self._meanings = table, meanings
        self._by_word: dict[str, tuple[str, ...]] = {}
        self._by_name: dict[str, tuple[str, ...]] = {}
        for column in table.columns:
            if column.is_derived:
                continue
            words = name_words(column.name)
            initials = ("".join(word[0] for word in words),) if len(words) >= _MIN_LETTERS else ()
            self._by_name["".join(words)] = (*self._by_name.get("".join(words), ()), column.name)
            for other in column.other_names:
                self._by_name["".join(name_words(other))] = (column.name,)
            for word in dict.fromkeys((*words, *initials)):
                self._by_word[word] = (*self._by_word.get(word, ()), column.name)
        stem = table.path.rpartition("/")[2].partition(".")[0]
        self._rows = {*name_words(stem), *table.row_nouns} - {*self._by_name}
        self._values: dict[tuple[str, ...], tuple[tuple[str, str], ...]] = {}
        for column in table.columns:
            for text in column.values:
                key = _value_key(_TOKEN.findall(text))
                self._values[key] = (*self._values.get(key, ()), (column.name, text))
        # What a misspelled word may have meant: short words are one slip away from too many others.
        singles = (key[0] for key in self._values if len(key) == 1 and len(key[0]) > _MIN_LETTERS)
        self._spellings = [
            *self._by_word,
            *singles,
            *(one for one, *more in PHRASES if not more and len(one) > _MIN_LETTERS + 1),
        ]

    def whole_columns(self, text: str) -> tuple[str, ...]:
        """The columns whose whole name `text` is."""
        return self._by_name.get("".join(name_words(text)), ())

    def items(self, question: str) -> list[Lexeme]:
        """What the words of `question` may be; words that say nothing are left out."""
        text = _HYPHEN.sub(" ", _CONTRACTED_IS.sub(r"\1 is", question))  # "4-cylinder", "what's"
        text = _DECADE.sub(r"from \g<1>0 to \g<1>9", text)
        tokens = _TOKEN.findall(_EMPHASIS.sub(r"\1", text))
        lexemes: list[Lexeme] = []
        at, lead = 0, ""
        while at < len(tokens):
            width, item = self._read_lexeme(tokens, at)
            if item is None:
                lead = f"{lead} {tokens[at].casefold()}".strip()
            else:
                lexemes.append(replace(item, lead=lead))
                lead = ""
            at += width
        return lexemes

    def _read_lexeme(self, tokens: list[str], at: int) -> tuple[int, Lexeme | None]:
        """The longest reading of what begins at `at`; of equally long ones, the surest."""
        token = tokens[at]
        if token[0] in "\"“”`'" and len(token) > 1:
            text = token[1:-1]
            same_name = (one for one in self._table.columns if one.name.casefold() == text.casefold())
            if (column := self._table.column(text) or next(same_name, None)) is not None:
                return 1, Lexeme(text, "C", columns=(column.name,))
            if number := _NUMBER.fullmatch(text):
                return 1, Lexeme(text, "n", number=float(number[1].replace(",", "")))
            exact = self._values.get(_value_key(_TOKEN.findall(text)), ())
            values = exact or self._values_containing(text)
            return 1, Lexeme(text, "v" if values else "x", "" if exact else "contains", values=values)
        # The longest wins; of the same length a time or number (9), a value as it is written (8), the rows (7), a sure
        # column (6.5), a phrase (6), filling (5), a doubtful column (4), a doubtful value (2).
        readings: list[tuple[int, float, Lexeme | None]] = [
            *((width, 9, item) for width, item in self._read_times_and_numbers(tokens, at)),
            *((width, 8 if is_exact else 2, item) for width, is_exact, item in self._read_value(tokens, at)),
            *((width, rank, item) for width, rank, item in self._read_column(tokens, at)),
            *((width, 6, item) for width, item in self._read_phrase(tokens, at)),
        ]
        is_unit = PHRASES.get((token.casefold(),), "-")[0] == "u" and at > 0
        is_group = is_unit and PHRASES.get((tokens[at - 1].casefold(),), "-")[0] == "b"  # "per month"
        if self._rows.issuperset(name_words(token)) and name_words(token) and not is_group:
            readings.append((1, 7, Lexeme(token, "R")))
        if token.casefold() in FILLER:
            readings.append((1, 5, None))
        if readings:
            width, _, item = max(readings, key=lambda one: one[:2])
            return width, item
        return 1, self._read_fallback(token)

    def _read_times_and_numbers(self, tokens: list[str], at: int) -> Iterator[tuple[int, Lexeme]]:
        token, word = tokens[at], tokens[at].casefold()
        rest = [one.casefold() for one in tokens[at + 1 : at + 3]] + ["", ""]
        if word in WEEKDAYS:
            yield 1, Lexeme(token, "D")
        elif (dated := _read_date(tokens, at)) is not None:
            yield dated
        elif (point := _POINT.fullmatch(word)) and (
            word.startswith("p") or any(one.casefold().startswith("percentile") for one in tokens[at:])
        ):
            yield (
                2 if rest[0].startswith("percentile") else 1,
                Lexeme(token, "p", "point", number=float(point[1] or point[2])),
            )
        elif (number := _NUMBER.fullmatch(word)) and not (word[0] == "0" and len(word) > 1 and (word,) in self._values):
            value = float(number[1].replace(",", "")) * _SCALES.get(number[2], 1) * _SCALES.get(rest[0], 1)
            width = 2 if rest[0] in _SCALES else 1
            is_year = word.isdecimal() and len(word) == 4 and int(word) in _YEARS
            before = tokens[at - 1].casefold() if at else ""
            if is_year and before in _BEFORE_YEARS and width == 1:
                year = int(word)
                yield 1, Lexeme(token, "D", number=value, days=(date(year, 1, 1), date(year, 12, 31)))
            else:
                unit = token[0] if token[0] in "$€£" else ""
                after = tokens[at + width].casefold() if at + width < len(tokens) else ""
                name_width = next((wide for wide, *_ in self._read_column(tokens, at + width)), 0) if after else 0
                is_name = name_width > 1 or _singular(after) in {*self._by_name, *self._rows}  # "30 miles per gallon"
                if after in UNIT_SIZES and not unit and not is_name:
                    unit, width = after, width + 1
                yield width, Lexeme(token, "n", number=value, unit=unit)
        elif (ordinal := _ORDINAL.fullmatch(word)) and (word,) not in self._values:
            yield 1, Lexeme(token, "n", number=float(ordinal[1]))
        elif word in ("a", "one") and rest[0] in _SCALES:
            yield 2, Lexeme(token, "n", number=_SCALES[rest[0]])
        elif word in NUMBERS:
            yield 1, Lexeme(token, "n", number=NUMBERS[word])

    def _read_value(self, tokens: list[str], at: int) -> Iterator[tuple[int, bool, Lexeme]]:
        """Values that the tokens spell; several words, or one as it is written in the table, are surely one."""
        for width in range(min(_MAX_WORDS, len(tokens) - at), 0, -1):
            text = " ".join(tokens[at : at + width])
            word = text.casefold()
            keys = [_value_key(tokens[at : at + width])]
            if width == 1:
                keys += [(stem,) for stem in (*_stems(word), _singular(word), SYNONYMS.get(word, word))]
            matching_key = next((key for key in keys if key in self._values), None)
            values = self._values[matching_key] if matching_key else ()
            if matching_key not in (None, keys[0]) and set(name_words(text)) & self._by_word.keys():
                continue  # "deaths" is a kind of row here, and a word of `death_date`: it may be neither
            if values and (not text.replace(".", "").isdecimal() or (text[0] == "0" and len(text) > 1)):
                is_common = (word,) in PHRASES or (len(word) <= _MIN_LETTERS and word in FILLER)
                is_exact = any(text == value for _, value in values) and (not is_common or text.isupper())
                yield (
                    width,
                    width > 1 or (is_exact and len(text) > 1) or not is_common,
                    Lexeme(text, "v", values=values),
                )
                return

    def _values_containing(self, text: str) -> tuple[tuple[str, str], ...]:
        """Columns of which some value has `text` in it as a word."""
        if len(text) <= _MIN_LETTERS:
            return ()
        pattern = re.compile(rf"\b{re.escape(text)}\b", re.IGNORECASE)
        return tuple((one.name, text) for one in self._table.columns if any(map(pattern.search, one.values)))

    def _read_phrase(self, tokens: list[str], at: int) -> Iterator[tuple[int, Lexeme]]:
        words = [token.casefold() for token in tokens[at : at + 5]]
        for width in range(len(words), 0, -1):
            if (phrase := PHRASES.get(tuple(words[:width]))) is not None:
                text = " ".join(tokens[at : at + width])
                is_bound = phrase[0] == "<" and words[width - 1] == "of"
                if is_bound and not "".join(tokens[at + width : at + width + 1])[:1].isdigit():
                    continue  # "a maximum of 5" compares; without a number it is a figure
                yield width, Lexeme(text, phrase[0], phrase[1])
                break
        first, *rest = words
        following = rest[0] if rest else ""
        if first in DIMENSIONS and following == "than":
            yield 2, Lexeme(f"{first} than", "<", ">" if DIMENSIONS[first][0][1] == "max" else "<")
        elif first in DIMENSIONS and first.endswith(("st", "recent")) and (first,) not in PHRASES:
            yield 1, Lexeme(tokens[at], "s", DIMENSIONS[first][0][1])
        elif first in ("most", "least") and following in DIMENSIONS:
            yield 2, Lexeme(following, "s", DIMENSIONS[following][0][1])
        elif first == "how" and following in DIMENSIONS:
            nouns = {dimension for dimension, _ in DIMENSIONS[following]}
            columns = tuple(one.name for one in self._table.columns if nouns.intersection(name_words(one.name)))
            if columns:
                yield 2, Lexeme(following, "C", columns=columns)
        elif first.endswith(("n't", "n\u2019t")):
            yield 1, Lexeme(tokens[at], "!")

    def _read_column(self, tokens: list[str], at: int) -> Iterator[tuple[int, float, Lexeme]]:
        """A column's whole name, or a word that one or several have."""
        parts = ["".join(name_words(token)) for token in tokens[at : at + _MAX_WORDS]]
        for width in range(len(parts), 0, -1):
            if all(parts[:width]) and (columns := self._by_name.get("".join(parts[:width]))):
                phrase = PHRASES.get((tokens[at].casefold(),), ("", ""))[0]
                is_sure = width > 1 or phrase in ("u", "") or tokens[at].casefold() in FILLER
                # "order total" is a column, and "total price" a figure of another
                yield (
                    width,
                    6.5 if is_sure and len(parts[0]) > _MIN_LETTERS - 1 else 4,
                    Lexeme(" ".join(tokens[at : at + width]), "C", columns=columns),
                )
                return
        for width in range(min(4, len(parts)), 1, -1):
            words = parts[:width] if self._by_name.keys().isdisjoint(parts[:width]) else [""]
            short = [candidate for candidate in self._by_name if all(words) and _abbreviates(candidate, words)]
            if len(short) == 1:  # "tail number" is `tailnum`, "GDP per capita" `gdpPercap`, "body weight" `bodywt`
                yield width, 4, Lexeme(" ".join(tokens[at : at + width]), "C", columns=self._by_name[short[0]])
                break
        name = self._table.column(self._meanings.get(tokens[at].casefold(), ""))
        words = () if _PATH.search(tokens[at]) else name_words(tokens[at])
        columns_of_word = next((self._by_word[one] for one in words if one in self._by_word), ())
        if name or columns_of_word:
            yield 1, 4, Lexeme(tokens[at], "C", columns=(name.name,) if name else columns_of_word)

    def _read_fallback(self, token: str) -> Lexeme | None:
        """A word that names nothing as it stands: short, inflected, inside of values, or misspelled by one slip."""
        word = token.casefold()
        if not token[0].isalnum():
            return Lexeme(token, ",") if word == "," else None
        stems = {word}
        for ending in ("ing", "ed", "d"):
            stem = word.removesuffix(ending)
            if stem != word and len(stem) >= _MIN_LETTERS:
                stems |= {stem, f"{stem}e"}
        exact = {one: names for one, names in self._by_word.items() if one in stems}
        abbreviated = {
            one: names
            for one, names in self._by_word.items()
            if (len(one) >= _MIN_LETTERS and word.startswith(one))
            or (len(word) > _MIN_LETTERS and one.startswith(word))
        }
        short = tuple(dict.fromkeys(name for names in (exact or abbreviated).values() for name in names))
        if short and token.isalpha():
            is_long = all(abs(len(one) - len(word)) > 1 for one in abbreviated)  # "weigh" is `weight` all the same
            is_part = not exact and is_long and all(one not in self._by_name for one in abbreviated)
            return Lexeme(token, "C", "part" if is_part else "", columns=short)
        if token[0].isupper() and (values := self._values_containing(token)):
            return Lexeme(token, "v", "contains", values=values)
        # It may be another word: of the same dimension, or one slip away.
        word, first = token.casefold(), next(iter(name_words(token)), "")
        synonyms = {
            one for group in SYNONYM_GROUPS if word in group for one in group if len(self._by_word.get(one, ())) == 1
        }
        guess = correct_spelling(word, self._spellings, shortest=4) or correct_spelling(first, self._spellings)
        if guess and len(word) <= _MIN_LETTERS + 1 and sorted(guess) != sorted(word):
            guess = None  # "port" is no "post"
        prefixes = [
            key[0] for key in self._values if len(key) == 1 and len(key[0]) > _MIN_LETTERS and word.startswith(key[0])
        ]
        if not guess and len(prefixes) == 1:
            guess = prefixes[0]  # "herbivores", where `herbi` stands
        guess = min(synonyms) if len(synonyms) == 1 else guess
        if guess is None or word in DIMENSIONS or not token.isalpha():
            return Lexeme(token, "x")
        self.notes.append(f"“{token}” is read as “{guess}”.")
        if (guess,) in PHRASES:
            code, detail = PHRASES[guess,]
            return Lexeme(token, code, detail)
        columns = self._by_word.get(guess, ())
        return Lexeme(token, "C" if columns else "v", columns=columns, values=self._values.get((guess,), ()))


def name_words(text: str) -> tuple[str, ...]:
    """The words of a name, parted at humps and marks, in the singular."""
    return tuple(map(_singular, split_words(text)))


def _abbreviates(name: str, words: Sequence[str]) -> bool:
    """Whether `name` is made of the beginnings of `words`, or of their letters in order with the last one's last."""
    text = "".join(words)
    if not (_MIN_LETTERS < len(name) < len(text)) or name[:2] != text[:2] or len(name) <= len(text) - len(words[-1]):
        return False
    letters = iter(text)
    return text.startswith(name) or (name[-1] == text[-1] and all(letter in letters for letter in name))


def _value_key(tokens: list[str]) -> tuple[str, ...]:
    *first, last = [token.casefold() for token in tokens] or [""]
    return (*first, _singular(last) if first else last)


def _singular(word: str) -> str:
    word = word.casefold()
    if len(word) <= _MIN_LETTERS or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    is_long = word.endswith(("sses", "xes", "zzes", "ches", "shes")) or re.search(r"[^aeo]uses$", word)
    return word[:-2] if is_long else word[:-1]


def _stems(word: str) -> Iterator[str]:
    """The values that `word` may be made of: "Japanese", "European", "foggy", "females"."""
    for ending in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= _MIN_LETTERS:
            yield stem
            if ending == "y" and stem[-1] == stem[-2]:
                yield stem[:-1]
            if ending in ("an", "n"):
                yield f"{stem}e"


def _read_date(tokens: list[str], at: int) -> tuple[int, Lexeme] | None:
    """A day, a month or a quarter that begins at `at`."""
    token = tokens[at].casefold()
    later = [(width, one.casefold()) for width, one in enumerate(tokens[at + 1 : at + 5], start=2) if one not in ",of"]
    (width, second), (last, third) = [*later, (1, ""), (1, "")][:2]
    quarter = re.fullmatch(r"q([1-4])", token)
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", token):
            day = date.fromisoformat(token)
            return 1, Lexeme(token, "D", days=(day, day))
        for number, month in ((token, second), (second, token)):
            if (day_of := _DAY.fullmatch(number)) and month in MONTHS and re.fullmatch(r"\d{4}", third):
                day = date(int(third), MONTHS[month], int(day_of[1]))
                return last, Lexeme(f"{token} {second} {third}", "D", days=(day, day))
        if token not in MONTHS and not quarter:
            return None
        if token in MONTHS and re.fullmatch(r"\d{1,2}(?:st|nd|rd|th)", second):
            return width, Lexeme(f"{tokens[at]} {second}", "D", second[:-2], months=(MONTHS[token],))
        if token in ("may", "mar", "sep", "dec", "jan") and tokens[at].islower():
            return None  # "may" is a verb, and the others may be columns
        months = (MONTHS[token],) if token in MONTHS else tuple(range(3 * int(token[1]) - 2, 3 * int(token[1]) + 1))
        if not re.fullmatch(r"\d{4}", second):
            return 1, Lexeme(tokens[at], "D", months=months)
        end = date(int(second) + months[-1] // 12, months[-1] % 12 + 1, 1) - timedelta(days=1)
        return width, Lexeme(f"{tokens[at]} {second}", "D", months=months, days=(date(int(second), months[0], 1), end))
    except ValueError:  # 31 February, the year 0
        return None
