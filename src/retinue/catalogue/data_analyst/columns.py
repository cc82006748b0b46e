"""The columns of an opened file as an analyst sees them: what can be counted, which values there are, what text hides.

Words that stand for "no value" among a file's numbers (`NA`, `null`, `-`) do so among its texts, and that is said.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Final

from retinue.contract.facts import ColumnFacts, ColumnKind, TableFacts
from retinue.contract.names import nearest
from retinue.contract.table import Cell
from retinue.contract.table_query import Measure, TimeUnit
from retinue.errors import UnknownName
from retinue.tools.data import Data, DataField, DataSource, FieldType, QueryRows, identifier, literal

_READ_SO: Final = "' is read as no value."
_MAX_INSPECTED: Final = 200
_MAX_KEY_COLUMNS: Final = 12
_MAX_VALUES: Final = 5_000
_KINDS: Final[dict[FieldType, ColumnKind]] = {
    "integer": "number", "number": "number", "timestamp": "time", "date": "time", "text": "text", "boolean": "boolean",
}  # fmt: skip
_ENDS: Final = {"number": "{1}({0})", "time": "{1}({0}) FILTER (WHERE year({0}) BETWEEN 1 AND 9999)"}
"""The smallest or largest value of a column; `infinity` and years of five digits are no times that ISO 8601 writes."""
_LOG_ROW_NOUNS: Final = ("request", "response", "hit", "entry", "line", "event")
_LOG_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "client": ("ip", "ip address", "visitor"), "path": ("endpoint", "page", "url", "route"),
    "status": ("status code", "response code", "http status"), "bytes": ("response size",),
    "seconds": ("response time", "latency", "duration"), "agent": ("user agent", "browser"), "referer": ("referrer",),
}  # fmt: skip
_PERSONS: Final = "person people passenger patient customer employee student player member user victim"
"""What a row may be called where it has an age, a sex or a gender."""
_MAX_CODES: Final = 50
"""Whole numbers of which a column has at most so many are told one by one: they may be codes."""
_DAY: Final = 86_400
_SPANS: Final[dict[TimeUnit, float]] = {
    "second": 120, "minute": 7_200, "hour": 3 * _DAY, "day": 62 * _DAY, "week": 190 * _DAY, "month": 2_200 * _DAY,
    "year": float("inf"),
}  # fmt: skip
_UNITS: Final = {
    "ms": "ms", "msec": "ms", "millis": "ms", "milliseconds": "ms", "s": "s", "sec": "s", "secs": "s", "seconds": "s",
    "mins": "minutes", "minutes": "minutes", "hours": "hours", "days": "days", "bytes": "bytes", "kb": "kB",
    "mb": "MB", "gb": "GB", "pct": "%", "percent": "%", "usd": "USD", "eur": "EUR", "gbp": "GBP", "km": "km",
    "miles": "miles", "kg": "kg", "celsius": "celsius", "fahrenheit": "fahrenheit",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DataColumn:
    """One column.

    Attributes:
        kind: What can be done with it: numbers are measured, times put into buckets, texts grouped.
        expression: How its values are written in SQL.
        is_whole: Its numbers are integers.
        empty_words: Words that stand for "no value" in it and are read so.
    """

    name: str
    kind: ColumnKind
    expression: str
    is_whole: bool = False
    empty_words: tuple[str, ...] = ()

    @property
    def unit(self) -> str | None:
        """What its numbers count, when its name says so."""
        *_, last = self.name.lower().replace(" ", "_").replace("-", "_").split("_")
        return _UNITS.get(last) if self.kind == "number" and self.name.lower() != "s" else None


class Columns(dict[str, DataColumn]):
    """The columns of one opened file by name, in its order.

    Attributes:
        source: The file.
        table: Its quoted SQL name.
        check: Raises when time is up.
    """

    def __init__(self, data: Data, source: DataSource, *, check: Callable[[], None]) -> None:
        self.source = source
        self.table = identifier(source.table)
        self.check = check
        self._data = data
        words = {note.removesuffix(_READ_SO).rpartition("'")[2] for note in source.notes if note.endswith(_READ_SO)}
        self._empty_words = tuple(sorted(words))
        usable = [field for field in source.fields if field.name and "\0" not in field.name]
        texts = [field.name for field in usable if field.type == "text"][:_MAX_INSPECTED] if words else []
        among = f"IN ({', '.join(map(literal, self._empty_words))})"
        counts = self.row([f"count(*) FILTER (WHERE {identifier(name)} {among})" for name in texts]) if texts else ()
        emptied_columns = {name for name, count in zip(texts, counts, strict=True) if count}
        super().__init__({one.name: self._column(one, is_emptied=one.name in emptied_columns) for one in usable})

    def _column(self, field: DataField, *, is_emptied: bool) -> DataColumn:
        words, value = self._empty_words if is_emptied else (), identifier(field.name)
        if field.type in ("timestamp", "date") and "TIME ZONE" in field.sql_type.upper():
            value = f"({value} AT TIME ZONE 'UTC')"
        for word in words:
            value = f"nullif({value}, {literal(word)})"
        is_place = self.source.kind == "log" and field.name == "line"
        kind = "other" if is_place else _KINDS.get(field.type, "other")
        return DataColumn(field.name, kind, value, is_whole=field.type == "integer", empty_words=words)

    def resolve(self, name: str, *, path: str = "") -> DataColumn:
        """The column that `name` spells, case apart; the day of each row is one too.

        Raises:
            UnknownName: There is none; the nearest are suggested.
        """
        if name in self:
            return self[name]
        if self.day is not None and name == self.day.name:
            return self.day
        matches = [column for key, column in self.items() if key.casefold() == name.casefold()]
        if len(matches) == 1:
            return matches[0]
        raise UnknownName(
            f"`{self.source.path}` has no column {name!r}.",
            hint=f"Name one of its {len(self)} columns: {', '.join([*self][:12])}.",
            path=path,
            suggestions=nearest(name, self) or tuple(self)[:5],
        )

    @cached_property
    def day(self) -> DataColumn | None:
        """The day of each row, where columns called year, month and day say it."""
        parts = [
            next((one for one in self.values() if one.name.casefold() == part), None)
            for part in ("year", "month", "day")
        ]
        date_columns = [one for one in parts if one is not None and one.kind == "number" and one.is_whole]
        if len(date_columns) != len(parts):
            return None
        numbers = ", ".join(f"TRY_CAST({one.expression} AS BIGINT)" for one in date_columns)
        return DataColumn("-".join(one.name for one in date_columns), "time", f"try(make_date({numbers}))")

    @cached_property
    def key(self) -> str | None:
        """The first column of texts in which every row has a value of its own."""
        texts = self.of_kind("text")[:_MAX_KEY_COLUMNS] if self.source.rows else []
        counts = self.row([f"count(DISTINCT {one.expression})" for one in texts]) if texts else ()
        return next((one.name for one, count in zip(texts, counts, strict=True) if count == self.source.rows), None)

    def of_kind(self, kind: ColumnKind) -> list[DataColumn]:
        """Those with which the same can be done."""
        return [column for column in self.values() if column.kind == kind]

    def expression(self, name: str) -> str:
        """The values of the column called `name`, in SQL."""
        return self.resolve(name).expression

    def query(self, statement: str, *, limit: int = 1_000) -> QueryRows:
        """What a statement over the file gives."""
        return self._data.query(statement, limit=limit)

    def row(self, figures: Sequence[str], *, where: str = "TRUE") -> tuple[Cell, ...]:
        """The only row of a SELECT of some aggregates."""
        return self.query(f"SELECT {', '.join(figures)} FROM {self.table} WHERE {where}", limit=1).rows[0]

    def distinct(self, name: str) -> int:
        """How many different values a column has."""
        (count,) = self.row([f"count(DISTINCT {self.expression(name)})"])
        return count if isinstance(count, int) else 0

    def unit_of(self, measure: Measure) -> str | None:
        """What a measure's figure counts, when that is known."""
        if measure.function == "share":
            return "%"
        is_count = not measure.column or measure.function in ("count", "count_distinct")
        return None if is_count else self.resolve(measure.column).unit

    def standalone_sql(self, statement: str) -> str:
        """`statement` so that it runs by itself: with the file, as DuckDB would read it, in place of the table.

        A log's lines must be parsed first, so its table stays.
        """
        if self.source.kind == "log":
            return statement
        file = literal(self.source.path)
        if self.source.kind == "csv" and self._empty_words:
            file = f"read_csv({file}, nullstr = ['', {', '.join(map(literal, self._empty_words))}])"
        return statement.replace(f"FROM {self.table}", f"FROM {file}").replace(f"JOIN {self.table}", f"JOIN {file}")

    @cached_property
    def texts(self) -> dict[str, tuple[str, ...]]:
        """What stands in each column of texts, 5,000 different ones at most, or of whole numbers, 50 at most."""
        values: dict[str, tuple[str, ...]] = {}
        for column in [one for one in self.values() if one.kind == "text" or one.is_whole][:_MAX_INSPECTED]:
            self.check()
            text, most = column.expression, _MAX_CODES if column.is_whole else _MAX_VALUES
            rows = self.query(f"SELECT DISTINCT {text} FROM {self.table} WHERE {text} IS NOT NULL", limit=most)
            if not rows.truncated:
                values[column.name] = tuple(sorted(str(row[0]) for row in rows.rows))
        return values

    def facts(self) -> TableFacts:
        """What a query may name: columns with their kinds, texts and ends."""
        columns = [*([] if self.day is None else [self.day]), *self.values()]
        ordered = [one for one in columns[:_MAX_INSPECTED] if one.kind in _ENDS]
        ends = [_ENDS[one.kind].format(one.expression, end) for one in ordered for end in ("min", "max")]
        row = self.row(ends or ["count(*)"])
        bounds = {one.name: row[2 * place : 2 * place + 2] for place, one in enumerate(ordered)}
        return TableFacts(
            path=self.source.path,
            row_count=self.source.rows,
            row_nouns=_LOG_ROW_NOUNS if self.source.kind == "log" else self._row_nouns(bounds),
            columns=tuple(
                ColumnFacts(
                    name=one.name,
                    kind=one.kind,
                    other_names=_LOG_NAMES.get(one.name, ()) if self.source.kind == "log" else (),
                    values=self.texts.get(one.name, ()),
                    least=_bound(bounds, one, 0),
                    most=_bound(bounds, one, 1),
                    is_whole=one.is_whole,
                    is_unique=one.name == self.key,
                    unit=one.unit or "",
                    is_derived=one is self.day,
                )
                for one in columns
            ),
        )

    def _row_nouns(self, bounds: dict[str, tuple[Cell, ...]]) -> tuple[str, ...]:
        """What a row is, where columns say it: a day, month or year, when each is there once; a person."""
        for column in (*self.of_kind("time"), *([] if self.day is None else [self.day])):
            first, last = bounds.get(column.name, (None, None))
            if isinstance(first, str) and isinstance(last, str):
                start, end = date.fromisoformat(first[:10]), date.fromisoformat(last[:10])
                days, years = (end - start).days, end.year - start.year
                months = 12 * years + end.month - start.month
                spans = {"day": days, "week": days // 7, "month": months, "year": years}
                noun = next((noun for noun, span in spans.items() if span + 1 == self.source.rows), "")
                if noun and self.distinct(column.name) == self.source.rows:
                    return (noun,)
        return tuple(_PERSONS.split()) if {"age", "sex", "gender"}.intersection(map(str.casefold, self)) else ()

    def unit_of_span(self, name: str, *, where: str = "TRUE") -> TimeUnit:
        """The stretch of time that makes a few dozen buckets of a column of times, of the rows that fulfil `where`."""
        time = self.expression(name)
        (seconds,) = self.row([f"date_diff('second', min({time}), max({time}))"], where=where)
        span = seconds if isinstance(seconds, int) else 0
        return next(unit for unit, most in _SPANS.items() if span <= most)


def _bound(bounds: dict[str, tuple[Cell, ...]], column: DataColumn, place: int) -> float | str | None:
    end = bounds.get(column.name, (None, None))[place]
    return str(end) if column.kind == "time" and end is not None else None if isinstance(end, bool | str) else end
