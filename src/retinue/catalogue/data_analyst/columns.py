"""The data files of a workspace, and the columns of an opened one: kinds, values, and what text hides.

Words that stand for "no value" among a file's numbers (`NA`, `null`, `-`) do so among its texts, and that is said. What
the files hold, for a reader that turns words into a query, is read of a few of them within two seconds, and kept
between runs: a file is read again only when it has changed.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Final

from retinue.catalogue._content_cache import ContentCache, content_key
from retinue.catalogue._names import is_test_or_vendored
from retinue.contract.facts import ColumnFacts, ColumnKind, Facts, TableFacts
from retinue.contract.names import nearest
from retinue.contract.table import Cell
from retinue.contract.table_query import Measure, TimeUnit
from retinue.errors import BudgetExceeded, DeadlineExceeded, InvalidInput, MissingFile, UnknownName, YourError
from retinue.tools.data.connection import literal
from retinue.tools.data.database import Data
from retinue.tools.data.sources import DATA_SUFFIXES, DataSource, FieldType, QueryRows, identifier, kind_of
from retinue.tools.tree import list_files
from retinue.tools.workspace import Workspace

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
"""Whole numbers of which a column has at most so many are listed: they may be codes."""
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
        # The reader says in a note which words it took for no value among numbers; among texts nobody looked for them.
        words = {note.removesuffix(_READ_SO).rpartition("'")[2] for note in source.notes if note.endswith(_READ_SO)}
        self._empty_words = tuple(sorted(words))
        usable = [field for field in source.fields if field.name and "\0" not in field.name]
        texts = [field.name for field in usable if field.type == "text"][:_MAX_INSPECTED] if words else []
        among = f"IN ({', '.join(map(literal, self._empty_words))})"
        counts = self.row([f"count(*) FILTER (WHERE {identifier(name)} {among})" for name in texts]) if texts else ()
        emptied_columns = {name for name, count in zip(texts, counts, strict=True) if count}
        columns: dict[str, DataColumn] = {}
        for one in usable:
            empty_words, value = self._empty_words if one.name in emptied_columns else (), identifier(one.name)
            if one.type in ("timestamp", "date") and "TIME ZONE" in one.sql_type.upper():
                value = f"({value} AT TIME ZONE 'UTC')"
            for word in empty_words:
                value = f"nullif({value}, {literal(word)})"
            is_place = source.kind == "log" and one.name == "line"
            kind = "other" if is_place else _KINDS.get(one.type, "other")
            columns[one.name] = DataColumn(one.name, kind, value, one.type == "integer", empty_words)
        super().__init__(columns)

    def resolve(self, name: str, *, path: str = "") -> DataColumn:
        """The column that `name` spells, case apart; the day of each row is one too.

        Raises:
            UnknownName: There is no such column; the nearest are suggested.
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
        # `try`, because a row may say 30 February: that is no day, and no reason to fail.
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


_MAX_FILES: Final = 8
_MAX_DATA_FILES: Final = 40
"""Where there are more, they are a program's own data (settings, cases of tests), not tables to ask about."""
_MAX_LISTED: Final = 20_000  # where there are more files, data that git ignores is not looked for
_MAX_BYTES: Final = 64 * 1024 * 1024
_SECONDS: Final = 2.0
_VERSION: Final = 7
"""Of what is kept; raised when `columns` reads something else in the same file."""
_UNREADABLE: Final = TableFacts(path="-")
"""What is kept of a file that cannot be read as a table."""

_PREFERRED_KINDS: Final = ("csv", "parquet", "log", "jsonl")
_QUOTES: Final = '`"\u201c\u201d'
_MARKS: Final = ",;()[]{}<>=|*"


def read_facts(workspace: Workspace, cache_dir: Path | None = None) -> Facts:
    """The tables of the first few data files that can be read.

    Args:
        workspace: Where they lie.
        cache_dir: Where it is kept what they hold; None keeps nothing.
    """
    try:
        paths = [path for path in data_files(workspace) if not is_test_or_vendored(path)]
    except MissingFile:
        paths = []
    if len(paths) > _MAX_DATA_FILES:
        return Facts(is_complete=False)
    tracked_paths = frozenset(paths)
    with suppress(InvalidInput):  # there are too many
        paths_here = (entry.path for entry in list_files(workspace, limit=_MAX_LISTED, with_ignored=True).files)
        ignored = {path for path in paths_here if kind_of(path) is not None and "/." not in f"/{path}"}
        paths += sorted(ignored - tracked_paths)[:_MAX_FILES]
    end, root = time.monotonic() + _SECONDS, str(workspace.root)

    def check() -> None:
        if time.monotonic() > end:
            raise DeadlineExceeded("Reading the columns took too long.", hint="Name the file.")

    decode, encode = TableFacts.model_validate, TableFacts.to_json
    cache = ContentCache(cache_dir, root, prefix="tables", version=_VERSION, decode=decode, encode=encode)
    new: dict[str, TableFacts] = {}
    tables_by_key: dict[str, TableFacts] = {}
    for path in paths[:_MAX_FILES]:
        try:
            stat = workspace.resolve(path).stat()
            if stat.st_size > _MAX_BYTES:
                continue
            # Size, time and inode stand for the content: hashing a large file would take longer than reading its
            # columns.
            key = content_key("table", repr((path, stat.st_size, stat.st_mtime_ns, stat.st_ino)).encode())
            table = cache.get(key)
            if table is None:
                try:
                    with Data(workspace, check=check) as data:
                        table = Columns(data, data.open(path), check=check).facts()
                except (YourError, BudgetExceeded):  # it is said of the file when it is asked about
                    table = _UNREADABLE
                new[key] = table
            tables_by_key[key] = table.model_copy(update={"is_aside": path not in tracked_paths})
        except (DeadlineExceeded, OSError):
            break
    cache.save(new, tables_by_key)
    tables = tuple(table for table in tables_by_key.values() if table.path != _UNREADABLE.path)
    return Facts(tables=tables, is_complete=len(tables) == len(paths))


def data_files(workspace: Workspace, *, only: str = "") -> list[str]:
    """The data files that lie in `workspace`; of one kind, when `only` names it.

    Raises:
        MissingFile: There is no data file.
    """
    paths = (entry.path for entry in list_files(workspace).files if not entry.path.startswith("."))
    matches = [path for path in paths if (kind := kind_of(path)) is not None and only in ("", kind)]
    if not matches:
        raise MissingFile(
            "There is no data file in the workspace.", hint=f"Name a file that ends in {', '.join(DATA_SUFFIXES[:7])}."
        )
    return [path for path in matches if kind_of(path) in _PREFERRED_KINDS] or matches


def files_in_question(workspace: Workspace, question: str) -> tuple[list[str], str]:
    """The data files that `question` names, and its text without them. A path with spaces stands between quotes."""
    parts = question.translate(dict.fromkeys(map(ord, _QUOTES), "\n")).split("\n")
    names = [part for part in parts if " " in part and kind_of(part) is not None and workspace.readable(part)]
    rest = question
    for part in names:
        rest = rest.replace(part, " ")
    for word in rest.translate(dict.fromkeys(map(ord, _QUOTES + _MARKS), " ")).split():
        path = word.partition("'s")[0].strip("'.:!?")
        if kind_of(path) is not None and path.partition(".")[0] and path in rest:
            names.append(path)
            rest = rest.replace(f"{path}'s", " ").replace(path, " ")
    return locate_files(workspace, list(dict.fromkeys(names))), rest


def locate_files(workspace: Workspace, names: Sequence[str]) -> list[str]:
    """The paths of what is `names`: a name that is no path from the root may be a file further down.

    Data is often what git is told to ignore: if it is named, such a file may be read as well.
    """
    matches_by_name: dict[str, list[str]] = {path: [] for path in names if not workspace.readable(path)}
    for with_ignored in (False, True):
        if not all(matches_by_name.values()):
            with suppress(InvalidInput):  # there are too many
                paths = [entry.path for entry in list_files(workspace, with_ignored=with_ignored).files]
                matches_by_name = {
                    name: there or [one for one in paths if one.rpartition("/")[2] == name]
                    for name, there in matches_by_name.items()
                }
    return [matches_by_name[path][0] if len(matches_by_name.get(path, ())) == 1 else path for path in names]
