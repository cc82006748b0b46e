"""What the texts of a column are, judged by some of them; and the SQL that holds all of them to it.

Nothing is invented: a text is a number only if the number says everything the text says, so codes with leading zeros,
`+49…` and numbers of more digits than fit stay text, and so does a date whose day and month cannot be told apart. The
judgement is over a sample; `TypeGuess.value` fails on the first text that does not fit it, and `settle_types` looks at
every one before columns of text become columns of what they say.
"""

# ruff: noqa: S608
# SQL is put together here from our own words, from names that `identifier` quotes and values that `literal` quotes

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, assert_never

from retinue.tools.data.connection import DuckdbConnection
from retinue.tools.data.sources import FieldType, identifier

MARKERS: Final = frozenset(
    {"NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", "none", "nil", "\\N", "-", "--", "?", ".",
     "missing"}
)  # fmt: skip
"""What other programs write for "no value". In a column that else fits a type they are read so, with a note each."""

_INTEGER: Final = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d{0,14})?(?:\.\d+|(?<=\d)\.?)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_COMMA: Final = re.compile(r"-?(?:0|[1-9]\d{0,14}|[1-9]\d{0,2}(?:\.\d{3})+)(?:,\d+)?", re.ASCII)
_NO_THOUSANDS: Final = re.compile(r".*,(?:\d{1,2}|\d{4,})", re.ASCII)
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_STAMP: Final = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)?", re.ASCII)
_ZONED: Final = re.compile(_STAMP.pattern + r" ?(?:Z|[+-]\d\d(?::?\d\d)?)", re.ASCII)
_TIME: Final = re.compile(r"\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?", re.ASCII)
_YEAR_FIRST: Final = re.compile(r"\d{4}([/.])\d{1,2}\1\d{1,2}", re.ASCII)
_WRITTEN_DATE: Final = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2\d{4}", re.ASCII)
_NAMED_DATES: Final = (
    (re.compile(r"(?P<month>[A-Z][a-z]{2,8}) \d{1,2}(?P<sign>,?) \d{4}", re.ASCII), "{month} %d{sign} %Y"),
    (re.compile(r"\d{1,2}(?P<sign>[ -])(?P<month>[A-Z][a-z]{2,8})(?P=sign)\d{4}", re.ASCII), "%d{sign}{month}{sign}%Y"),
)
_MOST: Final = 0.8
_EXACT: Final = 1e15
"""Numbers below this have no more digits than a double holds."""


@dataclass(frozen=True, slots=True)
class TypeGuess:
    """A type for a column.

    Attributes:
        type: What its values are.
        form: For a date its `strptime` format, when that is not ISO; `comma` for decimal commas; `zone` for times with
            an offset; `none` when no value was seen.
        markers: The texts that stand for "no value" beside the empty cell, with the spaces around them.
        padded: Whether spaces stand around the values.
        note: Why it is text although something else seemed near.
    """

    type: FieldType
    form: str = ""
    markers: tuple[str, ...] = ()
    padded: bool = False
    note: str = ""

    def value_sql(self, name: str) -> str:
        """The SQL of the typed value of the column `name` (quoted); it raises where a text does not fit."""
        if self.type == "text":
            return f"CASE WHEN {name} IS NULL THEN {name} ELSE error('misfit') END" if self.form == "none" else name
        typed = f"WHEN {self._fits_sql(name)} THEN {self._typed_sql(name)} ELSE error('misfit') END"
        return f"CASE WHEN {self._absent_sql(name)} THEN NULL {typed}"

    def misfit_sql(self, name: str) -> str:
        """The SQL of whether a text does not fit."""
        return f"NOT coalesce({self._absent_sql(name)} OR {self._fits_sql(name)}, false)"

    def wider(self, first: str, last: str) -> "TypeGuess | None":
        """What to try next when texts from `first` to `last` do not fit; None when nothing but text is left."""
        if first.strip() in MARKERS and last.strip() in MARKERS:
            return replace(self, markers=tuple(sorted({*self.markers, first, last})))
        if self.type == "integer":
            return replace(self, type="number")
        if self.type == "date" and not self.form:
            return replace(self, type="timestamp")
        return None

    def _absent_sql(self, name: str) -> str:
        quoted_markers = ", ".join(f"'{marker}'" for marker in self.markers)  # none of them holds a quote
        return f"({name} IS NULL OR {name} IN ({quoted_markers}))" if quoted_markers else f"{name} IS NULL"

    def _text_sql(self, name: str) -> str:
        return f"trim({name})" if self.padded else name

    def _typed_sql(self, name: str) -> str:
        text = self._text_sql(name)
        match self.type:
            case "integer":
                return f"TRY_CAST({text} AS BIGINT)"
            case "number":
                number = f"replace(replace({text}, '.', ''), ',', '.')" if self.form == "comma" else text
                return f"TRY_CAST({number} AS DOUBLE)"
            case "boolean":
                return f"(lower({text}) = 'true')"
            case "date":
                return (
                    f"CAST(try_strptime({text}, '{self.form}') AS DATE)" if self.form else f"TRY_CAST({text} AS DATE)"
                )
            case "timestamp":
                zoned = f"CAST(TRY_CAST({text} AS TIMESTAMPTZ) AS TIMESTAMP)"
                return zoned if self.form == "zone" else f"TRY_CAST({text} AS TIMESTAMP)"
            case "time":
                return f"TRY_CAST({text} AS TIME)"
            case "text" | "list" | "other":
                return "NULL"
            case _:
                assert_never(self.type)

    def _fits_sql(self, name: str) -> str:
        text, typed = self._text_sql(name), self._typed_sql(name)
        match self.type:
            case "integer":
                return f"{text} = CAST({typed} AS VARCHAR)"
            case "number" if self.form == "comma":
                return f"regexp_full_match({text}, '{_COMMA.pattern}')"
            case "number":
                # Compared as text: a zero before other digits, or a plus, would not come back as it was written.
                return (
                    f"abs({typed}) < {_EXACT:g} AND NOT ({text} BETWEEN '00' AND '09~'"
                    f" OR {text} BETWEEN '-00' AND '-09~' OR {text} BETWEEN '+' AND '+~' OR contains({text}, '_'))"
                )
            case "boolean":
                return f"lower({text}) IN ('true', 'false')"
            case "date" if not self.form:
                return f"{typed} IS NOT NULL AND strlen({text}) = 10"
            case "timestamp":
                has_zone = f"regexp_matches({text}, '(Z|:\\d\\d(\\.\\d+)? ?[+-]\\d\\d(:?\\d\\d)?)$')"
                if self.form == "zone":
                    return f"{typed} IS NOT NULL AND {has_zone}"
                # The usual form is seen by its length, which is cheaper than a pattern.
                return f"{typed} IS NOT NULL AND (strlen({text}) = 19 AND {text}[17] = ':' OR NOT {has_zone})"
            case "date" | "time":
                return f"{typed} IS NOT NULL"
            case "text" | "list" | "other":
                return "false"
            case _:
                assert_never(self.type)


def guess_type(values: Sequence[str]) -> TypeGuess:
    """What `values`, none of them empty, are."""
    if not values:
        return TypeGuess("text", form="none")
    padded = any(value != value.strip() for value in values)
    stripped = [value.strip() for value in values] if padded else list(values)
    markers = MARKERS.intersection(stripped)
    if markers:
        stripped = [value for value in stripped if value not in markers]
        if not stripped:
            return TypeGuess("text")
    result = _type_of(stripped)
    if result.type == "text":
        note, odd = result.note, [value for value in stripped if not _NUMBER.fullmatch(value)]
        has_digits_only = all(re.fullmatch(r"\+?-?[\d.]+", value, re.ASCII) for value in stripped)
        if not note and has_digits_only and any(value[0] == "0" for value in stripped):
            note = "some of its digits begin with a zero that a number would lose"
        elif not note and odd and len(stripped) - len(odd) >= _MOST * len(stripped):
            note = f"it holds numbers, but also {odd[0][:40]!r}"
        return replace(result, note=note)
    return replace(result, markers=tuple(sorted({one for one in values if one.strip() in markers})), padded=padded)


def _type_of(values: Sequence[str]) -> TypeGuess:
    def all_fit(pattern: re.Pattern[str]) -> bool:
        return all(pattern.fullmatch(value) for value in values)

    if all_fit(_INTEGER):
        return TypeGuess("integer")
    if all_fit(_NUMBER):
        exact = all(abs(float(value)) < _EXACT for value in values)
        return TypeGuess("number") if exact else TypeGuess("text", note="some of its numbers have more digits than fit")
    if all_fit(_COMMA):
        if any(_NO_THOUSANDS.fullmatch(value) for value in values):
            return TypeGuess("number", form="comma")
        return TypeGuess("text", note="its commas or points may part thousands or decimals")
    if all(value.lower() in ("true", "false") for value in values):
        return TypeGuess("boolean")
    if all_fit(_DATE):
        return TypeGuess("date")
    if all_fit(_STAMP):
        return TypeGuess("timestamp")
    if all_fit(_ZONED):
        return TypeGuess("timestamp", form="zone")
    if all_fit(_TIME):
        return TypeGuess("time")
    return _written_date(values)


def _written_date(values: Sequence[str]) -> TypeGuess:
    """A date such as `Dec 31, 2024`, `31 December 2024`, `2024/12/31`; or `31.12.2024`, if its order can be told."""
    for pattern, form in _NAMED_DATES:
        date_matches = [match for value in values if (match := pattern.fullmatch(value))]
        if len(date_matches) == len(values) and len({match["sign"] for match in date_matches}) == 1:
            month = "%b" if all(len(match["month"]) == len("Jan") for match in date_matches) else "%B"
            return TypeGuess("date", form=form.format(month=month, sign=date_matches[0]["sign"]))
    signs = {match[1] if (match := _YEAR_FIRST.fullmatch(value)) else "" for value in values}
    if len(signs) == 1 and (sign := signs.pop()):
        return TypeGuess("date", form=f"%Y{sign}%m{sign}%d")
    matches = [match for value in values if (match := _WRITTEN_DATE.fullmatch(value))]
    signs = {match[2] for match in matches}
    if len(matches) < len(values) or len(signs) != 1:
        return TypeGuess("text")
    sign = signs.pop()
    day_first = all(int(match[3]) <= 12 for match in matches)
    month_first = all(int(match[1]) <= 12 for match in matches)
    if day_first and month_first:
        return TypeGuess("text", note="its dates do not tell the day from the month")
    if not day_first and not month_first:
        return TypeGuess("text", note="its dates are not all written in the same order")
    return TypeGuess("date", form=f"%d{sign}%m{sign}%Y" if day_first else f"%m{sign}%d{sign}%Y")


_SAMPLE: Final = 1000
ALL_TYPES: Final[Collection[FieldType]] = ("integer", "number", "boolean", "date", "timestamp", "time")


def settle_types(
    connection: DuckdbConnection, table: str, guesses: dict[str, TypeGuess], *, types: Collection[FieldType] = ALL_TYPES
) -> dict[str, TypeGuess]:
    """`guesses` held against every row of `table` (quoted), and widened or given up where a text does not fit."""
    initial = {
        name: guess_type(values_of(connection, table, name)) if one.form == "none" else one
        for name, one in guesses.items()
    }
    candidates = {name: one for name, one in initial.items() if one.type in types}
    results = {name: (one if name in candidates else _as_text(one)) for name, one in initial.items()}
    if not candidates:
        return results
    misfit_counts = ", ".join(
        f"count(*) FILTER (WHERE {one.misfit_sql(identifier(name))})" for name, one in candidates.items()
    )
    counts = connection.fetch_one(f"SELECT {misfit_counts} FROM {table}")
    for (name, one), misfits in zip(candidates.items(), counts, strict=True):
        column, fitting, remaining = identifier(name), one, misfits
        while remaining:  # try the next wider type, until all fit or nothing but text is left
            remaining, first, last = connection.fetch_one(
                f"SELECT count(*), min({column}), max({column}) FROM {table} WHERE {fitting.misfit_sql(column)}"
            )
            wider = fitting.wider(first, last) if remaining else fitting
            if wider is None:
                note = f"{remaining:,} of its values do not fit `{fitting.type}`, such as {first[:40]!r}"
                wider, remaining = replace(_as_text(fitting), note=note), 0
            fitting = wider
        results[name] = fitting
    return results


def notes_of(guesses: dict[str, TypeGuess]) -> tuple[str, ...]:
    """What a reader must know of how the columns were taken."""
    notes: list[str] = []
    for name, one in guesses.items():
        if one.note:
            notes.append(f"Column {name!r} is text: {one.note}.")
        markers = dict.fromkeys(map(str.strip, one.markers))
        notes += [f"In column {name!r}, {marker!r} is read as no value." for marker in markers]
        if one.form == "comma":
            notes.append(f"Column {name!r} is written with decimal commas.")
        if one.form == "zone":
            notes.append(f"The times of column {name!r} are given in UTC.")
        if one.form.startswith("%"):
            notes.append(f"The dates of column {name!r} are written as {one.form!r}.")
    return tuple(notes)


def values_of(connection: DuckdbConnection, table: str, name: str) -> Sequence[str]:
    """Some of the texts of a column."""
    column = identifier(name)
    return [row[0] for row in connection.run(f"SELECT {column} FROM {table} WHERE {column} <> '' LIMIT {_SAMPLE}")]


def _as_text(one: TypeGuess) -> TypeGuess:
    return TypeGuess("text", note=one.note)
