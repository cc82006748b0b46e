"""The columns of an opened file as an analyst sees them: what can be counted, which values there are, what text hides.

Words that stand for "no value" among a file's numbers (`NA`, `null`, `-`) do so among its texts, and that is said.
"""

# ruff: noqa: S608
# names are quoted by `identifier` and values by `literal`, so the statements below hold nothing else of anybody's

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Final

from retinue.catalogue.data_analyst.sql import literal
from retinue.contract.facts import ColumnFacts, ColumnKind, TableFacts
from retinue.contract.names import nearest
from retinue.contract.table import Cell
from retinue.contract.table_query import Measure, TimeUnit
from retinue.errors import UnknownName
from retinue.tools.data import Data, Field, Rows, Source, identifier

__all__ = ["Column", "Columns", "read_columns"]

_READ_SO: Final = " is read as no value."
_INSPECTED: Final = 200
_KEYS: Final = 12
_VALUES: Final = 5_000
_ENDS: Final = {"number": "{1}({0})", "time": "{1}({0}) FILTER (WHERE year({0}) BETWEEN 1 AND 9999)"}
"""The smallest or largest value of a column; `infinity` and years of five digits are no times that ISO 8601 writes."""
_LOGGED: Final = ("request", "response", "hit", "entry", "line", "event")
_LOG_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "client": ("ip", "ip address", "visitor"), "path": ("endpoint", "page", "url", "route"),
    "status": ("status code", "response code", "http status"), "bytes": ("response size",),
    "seconds": ("response time", "latency", "duration"), "agent": ("user agent", "browser"), "referer": ("referrer",),
}  # fmt: skip
_PERSONS: Final = (
    "person", "people", "passenger", "patient", "customer", "client", "employee", "student", "player", "member", "user",
    "participant", "respondent", "subject",
)  # fmt: skip
"""What a row may be called where it has an age, a sex or a gender."""
_CODES: Final = 50
"""Whole numbers of which a column has at most so many are told one by one: they may be codes."""
_DAY: Final = 86_400
_SPANS: Final[dict[TimeUnit, int]] = {
    "second": 120, "minute": 7_200, "hour": 3 * _DAY, "day": 62 * _DAY, "week": 190 * _DAY, "month": 2_200 * _DAY,
}  # fmt: skip
_UNITS: Final = {
    "ms": "ms", "msec": "ms", "millis": "ms", "milliseconds": "ms", "s": "s", "sec": "s", "secs": "s", "seconds": "s",
    "mins": "minutes", "minutes": "minutes", "hours": "hours", "days": "days", "bytes": "bytes", "kb": "kB",
    "mb": "MB", "gb": "GB", "pct": "%", "percent": "%", "usd": "USD", "eur": "EUR", "gbp": "GBP", "km": "km",
    "miles": "miles", "kg": "kg", "celsius": "celsius", "fahrenheit": "fahrenheit",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        kind: What can be done with it: numbers are measured, times put into buckets, texts grouped.
        expression: How its values are written in SQL.
        whole: Its numbers are integers.
        empty_words: Words that stand for "no value" in it and are read so.
    """

    name: str
    kind: ColumnKind
    expression: str
    whole: bool = False
    empty_words: tuple[str, ...] = ()

    @property
    def unit(self) -> str | None:
        """What its numbers count, when its name says so."""
        *_, last = self.name.lower().replace(" ", "_").replace("-", "_").split("_")
        return _UNITS.get(last) if self.kind == "number" and self.name.lower() != "s" else None


class Columns:
    """The columns of one file.

    Attributes:
        source: The opened file.
        table: Its quoted SQL name.
    """

    def __init__(
        self,
        data: Data,
        source: Source,
        columns: tuple[Column, ...],
        *,
        nothing: tuple[str, ...],
        check: Callable[[], None],
    ) -> None:
        self.source = source
        self.table = identifier(source.table)
        self._data = data
        self._check = check
        self._nothing = nothing
        self._by_name = {column.name: column for column in columns}

    def __iter__(self) -> Iterator[Column]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def named(self, name: str, *, path: str = "") -> Column:
        """The column that `name` spells, case apart; the day of each row is one too.

        Raises:
            UnknownName: There is none; the nearest are suggested.
        """
        folded = name.casefold()
        alike = [column for key, column in self._by_name.items() if key.casefold() == folded]
        found = self._by_name.get(name) or (self.day if self.day is not None and name == self.day.name else None)
        if found is not None or len(alike) == 1:
            return found or alike[0]
        near = nearest(name, self._by_name) or tuple(self._by_name)[:5]
        raise UnknownName(
            f"`{self.source.path}` has no column {name!r}.",
            hint=f"Name one of its {len(self)} columns: {', '.join(tuple(self._by_name)[:12])}.",
            path=path,
            suggestions=near,
        )

    @cached_property
    def day(self) -> Column | None:
        """The day of each row, where columns called year, month and day say it."""
        parts = [next((one for one in self if one.name.casefold() == part), None) for part in ("year", "month", "day")]
        known = [one for one in parts if one is not None and one.kind == "number" and one.whole]
        if len(known) != len(parts):
            return None
        numbers = ", ".join(f"TRY_CAST({one.expression} AS BIGINT)" for one in known)
        return Column("-".join(one.name for one in known), "time", f"try(make_date({numbers}))")

    @cached_property
    def key(self) -> str | None:
        """The first column of texts in which every row has a value of its own."""
        texts = [one for one in self if one.kind == "text"][:_KEYS]
        if not texts or not self.source.rows:
            return None
        row = self.row([f"count(DISTINCT {one.expression})" for one in texts])
        return next((one.name for one, count in zip(texts, row, strict=True) if count == self.source.rows), None)

    def expression(self, name: str) -> str:
        """The values of the column called `name`, in SQL."""
        return self.named(name).expression

    def query(self, statement: str, *, limit: int = 1_000) -> Rows:
        """What a statement over the file gives."""
        return self._data.query(statement, limit=limit)

    def row(self, figures: Sequence[str], *, where: str = "TRUE") -> tuple[Cell, ...]:
        """The only row of a SELECT of some aggregates."""
        return self.query(f"SELECT {', '.join(figures)} FROM {self.table} WHERE {where}", limit=1).rows[0]

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in the order of the file."""
        return tuple(self._by_name)

    @property
    def numbers(self) -> tuple[Column, ...]:
        """What can be measured."""
        return tuple(column for column in self if column.kind == "number")

    @property
    def times(self) -> tuple[Column, ...]:
        """What can be put into buckets of time."""
        return tuple(column for column in self if column.kind == "time")

    def unit_of(self, measure: Measure) -> str | None:
        """What a measure's figure counts, when that is known."""
        if measure.function == "share":
            return "%"
        is_count = not measure.column or measure.function in ("count", "count_distinct")
        return None if is_count else self.named(measure.column).unit

    @property
    def file(self) -> str | None:
        """The file as DuckDB itself would read it; None for a log, whose lines must be parsed first."""
        if self.source.kind == "log":
            return None
        path = literal(self.source.path)
        if self.source.kind != "csv" or not self._nothing:
            return path
        return f"read_csv({path}, nullstr = ['', {', '.join(map(literal, self._nothing))}])"

    @property
    def notes(self) -> tuple[str, ...]:
        """How values were read that are not what they look like; a sentence for each column."""
        return tuple(
            f"In column {column.name!r}, {', '.join(map(repr, column.empty_words))} is read as no value."
            for column in self
            if column.empty_words
        )

    @cached_property
    def values(self) -> dict[str, tuple[str, ...]]:
        """What stands in each column of texts, 5,000 different ones at most, or of whole numbers, 50 at most."""
        found: dict[str, tuple[str, ...]] = {}
        for column in [one for one in self if one.kind == "text" or (one.kind == "number" and one.whole)][:_INSPECTED]:
            self._check()
            text, most = column.expression, _VALUES if column.kind == "text" else _CODES
            rows = self.query(f"SELECT DISTINCT {text} FROM {self.table} WHERE {text} IS NOT NULL", limit=most)
            if not rows.truncated:
                found[column.name] = tuple(sorted(str(row[0]) for row in rows.rows))
        return found

    def facts(self) -> TableFacts:
        """What a query may name: columns with their kinds, texts and ends."""
        columns = [*([] if self.day is None else [self.day]), *self]
        ordered = [one for one in columns[:_INSPECTED] if one.kind in _ENDS]
        ends = [_ENDS[one.kind].format(one.expression, end) for one in ordered for end in ("min", "max")]
        row = self.row(ends or ["NULL"])
        bounds = {one.name: row[2 * place : 2 * place + 2] for place, one in enumerate(ordered)}
        return TableFacts(
            path=self.source.path,
            row_count=self.source.rows,
            row_nouns=_LOGGED if self.source.kind == "log" else self._row_nouns(bounds),
            columns=tuple(
                ColumnFacts(
                    name=one.name,
                    kind=one.kind,
                    other_names=_LOG_NAMES.get(one.name, ()) if self.source.kind == "log" else (),
                    values=self.values.get(one.name, ()),
                    least=_end(bounds, one, 0),
                    most=_end(bounds, one, 1),
                    is_whole=one.whole,
                    is_unique=one.name == self.key,
                    unit=one.unit or "",
                    is_derived=one is self.day,
                )
                for one in columns
            ),
        )

    def _row_nouns(self, bounds: dict[str, tuple[Cell, ...]]) -> tuple[str, ...]:
        """What a row is, where columns say it: a day, month or year, when each is there once; a person."""
        for column in (*self.times, *([] if self.day is None else [self.day])):
            first, last = bounds.get(column.name, (None, None))
            if isinstance(first, str) and isinstance(last, str):
                begun, ended = date.fromisoformat(first[:10]), date.fromisoformat(last[:10])
                months = 12 * (ended.year - begun.year) + ended.month - begun.month + 1
                days = (ended - begun).days
                spans = {"day": days + 1, "week": days // 7 + 1, "month": months, "year": ended.year - begun.year + 1}
                noun = next((noun for noun, span in spans.items() if span == self.source.rows), "")
                if noun and self.distinct(column.name) == self.source.rows:
                    return (noun,)
        return _PERSONS if {"age", "sex", "gender"}.intersection(name.casefold() for name in self.names) else ()

    def unit_of_span(self, name: str, *, where: str = "TRUE") -> TimeUnit:
        """The stretch of time that makes a few dozen buckets of a column of times, of the rows that fulfil `where`."""
        time = self.expression(name)
        (seconds,) = self.row([f"date_diff('second', min({time}), max({time}))"], where=where)
        span = seconds if isinstance(seconds, int) else 0
        fitting: list[TimeUnit] = [unit for unit, most in _SPANS.items() if span <= most]
        return fitting[0] if fitting else "year"

    def distinct(self, name: str) -> int:
        """How many different values a column has."""
        (count,) = self.row([f"count(DISTINCT {self.expression(name)})"])
        return count if isinstance(count, int) else 0


def _end(bounds: dict[str, tuple[Cell, ...]], column: Column, place: int) -> float | str | None:
    end = bounds.get(column.name, (None, None))[place]
    return str(end) if column.kind == "time" and end is not None else None if isinstance(end, bool | str) else end


def read_columns(data: Data, source: Source, *, check: Callable[[], None]) -> Columns:
    """The columns of an opened file. What stands for "no value" among its numbers does so among its texts too."""
    usable = [one for one in source.fields if one.name and "\0" not in one.name]
    texts = [one for one in usable if one.type == "text"][:_INSPECTED]
    nothing = tuple(sorted({note.rsplit("'", 2)[1] for note in source.notes if note.endswith(f"'{_READ_SO}")}))
    emptied = _emptied_in(data, identifier(source.table), texts, nothing)
    columns = tuple(_column(field, nothing if field.name in emptied else ()) for field in usable)
    if source.kind == "log":
        columns = tuple(replace(one, kind="other") if one.name == "line" else one for one in columns)
    return Columns(data, source, columns, nothing=nothing, check=check)


def _emptied_in(data: Data, table: str, texts: list[Field], words: tuple[str, ...]) -> set[str]:
    """Which columns of texts hold such words."""
    if not words or not texts:
        return set()
    listed = ", ".join(map(literal, words))
    counts = ", ".join(f"count(*) FILTER (WHERE {identifier(one.name)} IN ({listed}))" for one in texts)
    row = data.query(f"SELECT {counts} FROM {table}").rows[0]
    return {one.name for one, count in zip(texts, row, strict=True) if count}


def _column(field: Field, emptied: tuple[str, ...]) -> Column:
    value = identifier(field.name)
    if field.type in ("integer", "number"):
        return Column(field.name, "number", value, whole=field.type == "integer")
    if field.type in ("timestamp", "date"):
        zoned = "TIME ZONE" in field.sql_type.upper()
        return Column(field.name, "time", f"({value} AT TIME ZONE 'UTC')" if zoned else value)
    if field.type == "text":
        for word in emptied:
            value = f"nullif({value}, {literal(word)})"
        return Column(field.name, "text", value, empty_words=emptied)
    return Column(field.name, "boolean" if field.type == "boolean" else "other", value)
