"""The words of questions about data, and what each of them asks for. English only; no word belongs to any one file."""

from functools import cache
from typing import Final, Literal, TypeAlias

__all__ = ["GENERIC", "PHRASES", "STOP", "SYNONYMS", "Meaning", "Role", "known_words", "singular"]

Role: TypeAlias = Literal[
    "measure", "super", "compare", "between", "not", "group", "order", "unit", "which", "top", "null", "rows", "month",
    "weekday", "and", "share", "percentiles", "trend", "from", "to", "direction", "error", "against", "also", "is",
]  # fmt: skip
"""What a phrase does in a question."""

Meaning: TypeAlias = tuple[Role, str]

_TABLE: Final[dict[Role, dict[str, str]]] = {
    "measure": {
        "mean": (
            "average, averaged, averages, avg, mean, means, on average, in average, typical, typically, usual, "
            "usually, expected, average of, mean of"
        ),
        "sum": (
            "total, totals, totaled, sum, sum of, sum up, summed, overall sum, in total, how much, total of, "
            "altogether"
        ),
        "median": "median, medians, middle",
        "count": (
            "how many, number of, count, counts, count of, how often, how frequently, how many times, amount of, "
            "numbers of, no of, nr of, quantity of, volume of"
        ),
        "count_distinct": (
            "how many different, how many distinct, how many unique, how many kinds of, number of different, "
            "number of distinct, number of unique, distinct, unique, different, count of distinct, count of "
            "unique, count distinct, how many various, how many individual, unique number of, distinct number of"
        ),
        "max": "maximum, max, maximal, peak, at its highest",
        "min": "minimum, min, minimal",
        "stddev": (
            "standard deviation, stddev, std, std dev, stdev, standard deviation of, spread, variation, "
            "variability"
        ),
    },
    "super": {
        "desc": (
            "most, highest, largest, biggest, greatest, strongest, tallest, maximum number of, worst of all, "
            "max number of, the most, main"
        ),
        "asc": "fewest, least, lowest, smallest, weakest, minimum number of",
        "worst": "worst",
        "best": "best",
        "desc:temperature": "hottest, warmest",
        "asc:temperature": "coldest, coolest",
        "desc:duration": "slowest, longest lasting, most time consuming",
        "asc:duration": "fastest, quickest",
        "desc:length": "longest, farthest, furthest",
        "asc:length": "shortest, nearest, closest",
        "desc:price": "most expensive, dearest, priciest",
        "asc:price": "cheapest, least expensive",
        "desc:weight": "heaviest",
        "asc:weight": "lightest",
        "desc:time": "latest, newest, most recent, youngest",
        "asc:time": "oldest, earliest",
        "desc:count": (
            "busiest, most common, most frequent, most popular, commonest, most often, most frequently, most "
            "used, most active, most requested, most visited, most frequented, most called, most hit"
        ),
        "asc:count": (
            "rarest, least common, least frequent, least popular, least busy, least used, quietest, least often, "
            "least active"
        ),
    },
    "compare": {
        ">": (
            "more than, greater than, larger than, longer than, higher than, bigger than, later than, over, "
            "above, exceeding, exceeds, exceed, exceeded, beyond, older than, newer than, after, >, upwards of, "
            "heavier than, slower than, took over, in excess of"
        ),
        ">=": (
            "at least, no less than, not less than, minimum of, >=, no fewer than, not fewer than, a minimum of, "
            "or above, since, starting"
        ),
        "<": (
            "less than, fewer than, lower than, smaller than, shorter than, earlier than, under, below, before, "
            "<, cheaper than, faster than, quicker than, lighter than, younger than"
        ),
        "<=": (
            "at most, up to, no more than, not more than, maximum of, <=, a maximum of, until, no longer than, "
            "not longer than, no later than"
        ),
        "=": "exactly, equal to, equals, =, equal, precisely, ==",
        "!=": "!=, <>, not equal to, unequal to, differs from, different from, differing from",
    },
    "between": {"": "between, ranging from, in the range"},
    "not": {
        "": (
            "not, without, except, except for, excluding, exclude, excludes, excluded, not counting, not including, "
            "without counting, other than, but not, no, apart from, ignoring, "
            "ignore, outside, outside of, isn't, isnt, aren't, arent, wasn't, wasnt, weren't, werent, don't, "
            "dont, doesn't, doesnt, didn't, didnt, didn\u2019t, leaving out, leave out, minus, never, besides, "
            "nor, neither, rather than, hasn't, haven't, hadn't, did not, does not, do not, is not, are not, was "
            "not, were not, had no, has no, have no, having no"
        )
    },
    "group": {
        "": (
            "per, by, for each, for every, each, every, in each, in every, across, across all, grouped by, group "
            "by, broken down by, break down by, split by, depending on, within each, according to, by each, of "
            "each, of every, on each, from each, to each, on every, breakdown by, for all the different, for the "
            "different, separately for, separated by, for the various, at each, at every, across the, across "
            "different, distribution over, for all"
        )
    },
    "order": {"": (
        "sorted by, ordered by, sort by, order by, ranked by, rank by, in order of, sorted, ordered, rank, "
        "ranked"
    )},
    "direction": {
        "desc": "descending, desc, decreasing, largest first, highest first, most first, slowest first",
        "asc": "ascending, asc, increasing, smallest first, lowest first, least first",
    },
    "unit": {
        "second": "second, seconds",
        "minute": "minute, minutes, minutely",
        "hour": "hour, hours, hourly",
        "day": "day, days, daily, date",
        "week": "week, weeks, weekly",
        "month": "month, months, monthly",
        "quarter": "quarter, quarters, quarterly",
        "year": "year, years, yearly, annually, annual",
        "weekday": "weekday, weekdays, day of the week, day of week, days of the week, week day",
        "hour_of_day": "hour of day, hour of the day, hours of the day, time of day, time of the day",
    },
    "trend": {
        "": (
            "over time, trend, trends, over the time, develop, develops, developed, development, evolve, evolved, "
            "evolution, change over time, through time, over the course, timeline, in the course of time, time "
            "series, history"
        )
    },
    "which": {"": "which, what, who, whose, where"},
    "top": {
        "desc": "top, first, leading, upper",
        "asc": "bottom, last, lowest ranked",
    },
    "null": {
        "": (
            "null, missing, empty, blank, nulls, na, not available, undefined, unset, not recorded, no value, "
            "without a value, unrecorded"
        )
    },
    "rows": {
        "": (
            "rows, row, records, record, entries, entry, lines, items, observations, cases, data points, samples, "
            "row count, rows there"
        )
    },
    "month": {
        str(number): names
        for number, names in enumerate(
            (
                "january, jan", "february, feb", "march, mar", "april, apr", "may", "june, jun", "july, jul",
                "august, aug", "september, sept, sep", "october, oct", "november, nov", "december, dec",
            ),
            start=1,
        )
    },
    "weekday": {
        **{
            str(number): f"{name}, {name}s"
            for number, name in enumerate(
                ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"), start=1
            )
        },
        "6 7": "weekend, weekends, the weekend",
        "1 2 3 4 5": "working days, workdays, business days, working day",
    },
    "and": {"and": "and, &, as well as, plus", "or": "or", ",": "\\,", ";": ";"},
    "share": {
        "": (
            "share of, share, shares, percentage of, percentage, percent of, percent, proportion of, proportion, "
            "fraction of, fraction, ratio of, what part of, which part of, rate of, pct of, portion of, what %, "
            "rate, % of"
        )
    },
    "percentiles": {
        "": "percentiles, percentile, quantiles, quantile",
        "25 50 75": "quartiles, quartile",
        "10 20 30 40 50 60 70 80 90": "deciles",
    },
    "from": {"": (
        "from, leaving, left, leave, leaves, departing, out of, departing from, starting from, "
        "originating in, originating from"
    )},
    "to": {"": (
        "to, into, towards, toward, heading to, bound for, arriving at, arriving in, going to, destined for"
    )},
    "error": {
        "4": "errors, error, failures, failure, failed, failing, fails, erroneous, http errors, unsuccessful",
        "5": "server errors, server error, internal errors",
        "client": "client errors, client error",
        "ok": "successes, successful, succeeded",
    },
    "against": {"": (
        "compared to, compared with, versus, vs, vs., against, in comparison to, in comparison with, relative "
        "to, than"
    )},
    "also": {"": "also, too, additionally, along with, together with"},
    "is": {"": "is, are, was, were, be, being, equals to, has, have, had"},
}  # fmt: skip

PHRASES: Final[dict[tuple[str, ...], Meaning]] = {
    tuple(phrase.replace("\\", "").split()): (role, payload)
    for role, payloads in _TABLE.items()
    for payload, phrases in payloads.items()
    for phrase in (part.strip() for part in phrases.replace("\\,", "\0").split(","))
    for phrase in (phrase.replace("\0", ","),)
}
"""Every phrase as its words, and what it asks for."""

STOP: Final = frozenset(
    """
    a an the this that these those it its i me my we us our you your he she they them their there here s t d ll
    re ve of in on at for with as do does did done will would can could shall should may might must let lets get
    got give given gives gave tell show shows shown list lists find finds found compute calculate calculated
    determine display print draw plot chart graph diagram table report analyse analyze analysis analyzed look
    looks see need want wants know like please just only really actually exactly all any some both if then so
    than too very much many also overall entire whole complete full file files dataset data csv json parquet log
    logs figure figures value values result results statistic statistics stats summary summarize summarise about
    regarding concerning when while during within through throughout among amongst via because how why come came
    go goes going went gone make makes made take takes took taken happen happens happened occur occurs occurred
    occurring appear appears appeared exist exists existed contain contains contained containing include
    includes included including involve involved have has had having been be being am same other another
    respective corresponding up down out off one ones kind kinds type types sort sorts using use used uses based
    whether which what who whom where whose whats hows whos thats separately but alone far operate operating fly serve
    travel travels carry carries lie lies lying teh built produced
    manufactured else ever still already now currently present question answer thanks
    thank hello hi hey ok okay well basically roughly approximately approx around nearly almost interested
    interesting curious wonder wondering think help break broken split group grouped per seen recorded logged
    registered listed counted measured observed see-through set column columns field fields variable variables
    compare compared comparing comparison versus between difference differences differ distribution distributed
    depend depends flown flew fly flies flying operated operates served serves travelled traveled covered
    carried ran spent lasted sent pairs combinations handled answered responded return returns returned received
    processed requested serve itself per-se each his her hers mine yours ours more less
    """.split()  # noqa: SIM905 - a paragraph is easier to read and to keep than a list of two hundred
)
"""Words that carry no condition, so that leaving them out changes no figure."""

GENERIC: Final = frozenset("number numbers id ids code codes name names no nr identifier".split())  # noqa: SIM905 - as above
"""What may follow a column's name in a question without being part of it: "flight number" for `flight`."""

SYNONYMS: Final[tuple[frozenset[str], ...]] = tuple(
    frozenset(line.split())
    for line in (
        "carrier airline",
        "client ip host visitor ip_address remote_addr caller",
        "path endpoint url uri route page resource",
        "duration latency elapsed runtime seconds response_time request_time took duration_ms time_taken",
        "bytes size response_size body_bytes",
        "price cost amount",
        "revenue sales turnover income total order_total",
        "customer client buyer",
        "user account member username login",
        "level severity loglevel",
        "message msg",
        "method verb",
        "agent browser user_agent",
        "country nation",
        "city town",
        "quantity qty units",
        "department dept",
        "employee staff worker",
        "product item article",
        "salary wage pay",
        "gender sex",
        "longitude lon lng long",
        "latitude lat",
        "altitude alt elevation",
        "status status_code response_code http_status http_code code",
        "logger component module source service program process application app repo repository project",
        "tzone tz timezone time_zone",
        "temp temperature",
        "at timestamp time ts date",
        "manufacturer maker producer",
        "referer referrer",
        "tail tailnum plane aircraft",
        "dest destination",
        "dep departure",
        "arr arrival",
        "avg average",
        "qty quantity",
        "dob birthday birthdate",
    )
)
"""Words for the same thing in files of many kinds."""


@cache
def known_words() -> frozenset[str]:
    """Every single word that is understood without a file."""
    return STOP | {word for phrase in PHRASES for word in phrase}


@cache
def singular(word: str) -> str:
    """`word` without the ending of a plural."""
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes", "uses", "zes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word
