"""The words of questions about tables: how many, average, by, more than, top, missing."""

from typing import Final

__all__ = ["ALIKE", "DIMENSIONS", "FILLER", "MONTHS", "NUMBERS", "PHRASES", "SYNONYMS", "UNIT_SIZES", "WEEKDAYS"]

_TABLE: Final = {
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
    tuple(phrase.split()): (key[0], key[2:]) for key, phrases in _TABLE.items() for phrase in phrases.split(", ")
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
    ("wind", "windy windiest", "calm calmest"),
)
ALIKE: Final = tuple(frozenset(nouns.split()) for nouns, *_ in _ADJECTIVES)
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
