"""The words of questions about tables: how many, average, by, more than, top, missing."""

from typing import Final, Literal, TypeAlias

__all__ = ["DIMENSIONS", "MONTHS", "NUMBERS", "PHRASES", "STOP_WORDS", "UNIT_SIZES", "WEEKDAYS", "Kind"]

Kind: TypeAlias = Literal[
    "and", "average", "between", "boundary", "by", "column", "common", "compare", "comparison", "count", "date",
    "direction",
    "distinct", "function", "list", "missing", "mark", "month", "not", "number", "or", "order", "percentile", "post",
    "rows", "share", "stop", "superlative", "top", "trend", "unit", "unknown", "value", "verb", "versus", "weekday",
    "which",
]  # fmt: skip

_TABLE: Final[dict[Kind, dict[str, str]]] = {
    "function": {
        "mean": "average, avg, mean, on average, mean of, average of", "median": "median, median of",
        "sum": "total, sum, sum of, total of, in total, altogether, combined",
        "stddev": "standard deviation, stddev, std",
        "min": "minimum, min", "max": "maximum, max",
    },
    "count": {"": "how many, number of, numbers of, count of, count, counts, how often, how many times"},
    "distinct": {"": "different, distinct, unique"},
    "share": {"": "share, percentage, percent, proportion, fraction"},
    "by": {"": "by, per, for each, for every, in each, of each, each, every, grouped by, broken down by, split by,"
               " across, for all"},
    "compare": {
        ">": "more than, over, above, greater than, higher than, larger than, longer than, bigger than, exceeding,"
             " exceeds, exceed, exceeded, heavier than, taller than, >, later than, newer than, wider than",
        ">=": "at least, no less than, no fewer than, not less than, not below, >=, a minimum of, minimum of",
        "<": "less than, under, below, fewer than, smaller than, lower than, shorter than, cheaper than, lighter than,"
             " <, earlier than, older than, narrower than",
        "<=": "at most, no more than, not more than, up to, not above, <=, a maximum of, maximum of, not over",
        "=": "exactly, equal to, equals, =, ==", "!=": "not equal to, !=, <>",
    },
    "post": {">=": "or more, or above, or higher, or greater, or longer, or later, and above, and over, or over",
             "<=": "or less, or fewer, or below, or lower, or under, or earlier, and below"},
    "boundary": {">=": "since, starting", ">": "after", "<": "before, prior to", "<=": "until, till"},
    "between": {"": "between"},
    "superlative": {"most": "most", "least": "least, fewest",
                    "max": "highest, largest, biggest, greatest, top", "min": "lowest, smallest, bottom"},
    "common": {"": "most common, most frequent, most popular, commonest, most often, most frequently, busiest"},
    "top": {"max": "top, first", "min": "bottom"},
    "not": {"": "not, no, without, except, excluding, other than, apart from, besides, never, neither, nor"},
    "missing": {"": "missing, null, empty, blank, unknown, no value, unspecified"},
    "and": {"": "and, as well as, &, but"}, "or": {"": "or"},
    "versus": {"": "vs, versus, compared to, compared with, against"},
    "comparison": {"": "compare, compared, comparing, comparison, comparison of"},
    "list": {"": "list, show, display, give, find, name, print"},
    "which": {"": "which, what, who, whose"},
    "verb": {"": "is, are, was, were, have, has, had, did, do, does, that, where, whose, with, having, got, who"},
    "direction": {"asc": "ascending, alphabetical, alphabetically, increasing", "desc": "descending, decreasing"},
    "order": {"": "sorted by, ordered by, order by, sort by, sorted, ordered, ranked by"},
    "trend": {"": "over time, trend, trend of, through time"},
    "percentile": {"50 90 95 99": "percentile, percentiles", "25 50 75": "quartile, quartiles",
                   "10 20 30 40 50 60 70 80 90": "decile, deciles"},
    "rows": {"": "row, rows, record, records, entry, entries, observation, observations"},
    "unit": {
        "day": "day, days, daily", "week": "week, weeks, weekly", "month": "month, months, monthly",
        "quarter": "quarter, quarters, quarterly", "year": "year, years, yearly, annual, annually",
        "hour": "hour, hours, hourly", "weekday": "weekday, weekdays, day of the week, days of the week, day of week",
        "hour_of_day": "hour of day, hour of the day, time of day",
    },
}  # fmt: skip

PHRASES: Final[dict[tuple[str, ...], tuple[Kind, str]]] = {
    tuple(phrase.split()): (kind, payload)
    for kind, several in _TABLE.items()
    for payload, phrases in several.items()
    for phrase in phrases.split(", ")
}

_NEUTRAL: Final = """
a an the of in on at for be been being there their its it this that these those to from as than please can could you me
i us we tell would like want know need when how much any only just all data table file dataset values value if so also
then here about into within during made comes came come he she they them our your my will some look gave ones one seen
observed recorded measured found listed reported registered happened happen occurred occur located existing exist exists
live lives lived returned return took take takes built
manufactured produced released created introduced published born sold bought placed type types kind kinds
. , ? ! : ; ( ) - / ' s
"""
STOP_WORDS: Final = frozenset({*_NEUTRAL.split(), *"\u2013\u2014\u2019"})
"""Words that name nothing and change no figure."""

_ENGLISH: Final = "one two three four five six seven eight nine ten eleven twelve"
NUMBERS: Final = {word: number for number, word in enumerate(_ENGLISH.split(), start=1)}
MONTHS: Final = {
    name: number
    for number, month in enumerate(
        [
            "january",
            "february",
            "march",
            "april",
            "may",
            "june",
            "july",
            "august",
            "september",
            "october",
            "november",
            "december",
        ],
        start=1,
    )
    for name in {month, month[:3], "sept" if number == 9 else month}
}
WEEKDAYS: Final[dict[str, tuple[int, ...]]] = {
    **{
        name: (number,)
        for number, day in enumerate(
            ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"], start=1
        )
        for name in (day, f"{day}s")
    },
    "weekend": (6, 7), "weekends": (6, 7), "weekdays": (1, 2, 3, 4, 5),
}  # fmt: skip

_ADJECTIVES: Final = (
    ("price cost fare amount", "expensive costly priciest dearest", "cheap cheapest cheaper"),
    ("mass weight", "heavy heaviest heavier", "light lightest lighter"),
    ("height elevation altitude", "tall tallest taller high", "short shortest"),
    ("length duration distance seconds", "long longest longer", "short shortest shorter"),
    ("age", "old oldest older", "young youngest younger"),
    ("date time year day", "new newest newer latest recent", "early earliest earlier old oldest older"),
    ("temperature temp", "hot hottest hotter warm warmest warmer", "cold coldest colder cool coolest"),
    ("speed velocity", "fast fastest faster quickest", "slow slowest slower"),
    ("duration seconds time", "slow slowest slower", "fast fastest faster quickest"),
    ("size area", "large largest big biggest", "small smallest"),
    ("depth", "deep deepest deeper", "shallow shallowest"),
    ("width", "wide widest wider", "narrow narrowest"),
    ("precipitation rain rainfall", "wet wettest rainiest", "dry driest"),
    ("wind", "windy windiest", "calm calmest"),
)
DIMENSIONS: Final[dict[str, list[tuple[str, str]]]] = {}
"""By adjective, which dimensions it may be of where no column is named, and which end of each."""
for _dimensions, *_ends in _ADJECTIVES:
    for _direction, _adjectives in zip(("max", "min"), _ends, strict=True):
        for _adjective in _adjectives.split():
            DIMENSIONS.setdefault(_adjective, []).extend((word, _direction) for word in _dimensions.split())

UNIT_SIZES: Final[dict[str, tuple[str, float]]] = {
    name: (dimension, size)
    for dimension, sizes in {
        "time": {"ms millisecond milliseconds": 0.001, "s sec second seconds": 1, "min mins minute minutes": 60,
                 "h hour hours": 3600, "day days": 86_400},
        "mass": {"g gram grams": 1, "kg kilo kilos kilogram kilograms": 1000},
        "length": {"mm millimeters millimetres": 0.001, "cm centimeters centimetres": 0.01,
                   "m meter meters metre metres": 1, "km kilometers kilometres": 1000, "mile miles": 1609.344,
                   "ft foot feet": 0.3048},
        "bytes": {"byte bytes b": 1, "kb": 1000, "mb": 1e6, "gb": 1e9},
    }.items()
    for names, size in sizes.items()
    for name in names.split()
}  # fmt: skip
