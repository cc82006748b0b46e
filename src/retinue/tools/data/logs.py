"""Reads logs: every line that is not blank stands in the table, whether or not it could be taken apart.

`line` is the number of a line and `text` the whole of it; `at` is its time as a timestamp, in UTC where the log says
how far it is from that. Which other columns there are depends on its format, one of `FORMATS`, found from a sample. A
line that does not fit keeps its text and has no values beside it; in a format whose entries may take several lines (a
traceback, a wrapped message) it belongs to the entry before it, as `continued` more lines in `text`. Of a line over
64 KiB only the beginning is taken apart.
"""

# ruff: noqa: S608
# SQL is put together here from our own words, from names that `identifier` quotes and values that `literal` quotes

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, TypeAlias

from retinue.tools.data.connection import DuckdbConnection, literal
from retinue.tools.data.json import drop_deep, is_object, table_from_objects
from retinue.tools.data.snapshot import BLANK, LoadResult, SnapshotText, table_of_lines
from retinue.tools.data.sources import identifier

_SAMPLE: Final = 200
_LEAST_JSON: Final = 0.5
_PARSED: Final = identifier("parsed lines")
_OBJECTS: Final = identifier("lines with objects")
_KEYS: Final = {
    "at": ("at", "time", "timestamp", "@timestamp", "ts", "datetime", "date", "asctime", "t"),
    "level": ("level", "lvl", "severity", "levelname", "log.level", "loglevel"),
    "message": ("message", "msg", "event", "body"),
}
_AT: Final = identifier("at")
_LONGEST: Final = 65_536
_NO_TIMES: Final = "No time stamps were recognised, so `at` is empty."


Zone: TypeAlias = Literal["utc", "unnamed", "no year", "none"]
"""What is known of the time stamps: given in UTC, without a zone, without a year, or not there."""

_LEVELS: Final = (
    "TRACE|DEBUG|INFO|INFORMATION|NOTICE|WARN|WARNING|ERR|ERROR|SEVERE|CRIT|CRITICAL|ALERT|EMERG|FATAL|PANIC"
)
_LEVEL: Final = f"(?i:{_LEVELS})"
_QUOTED: Final = r'"((?:[^"\\]|\\.)*)"'
_STAMP: Final = r"(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?) ?(Z|[+-]\d\d:?\d\d)?"
_DAY_OR_STAMP: Final = r"(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?) ?(Z|[+-]\d\d:?\d\d)?"
_ZONED: Final = (
    "CASE WHEN f.stamp = '' THEN NULL"
    " WHEN f.zone = '' THEN TRY_CAST(replace(replace(f.stamp, ',', '.'), '/', '-') AS TIMESTAMP)"
    " ELSE CAST(TRY_CAST(replace(replace(f.stamp, ',', '.'), '/', '-')"
    " || regexp_replace(f.zone, '^([+-]\\d\\d)(\\d\\d)$', '\\1:\\2') AS TIMESTAMPTZ) AS TIMESTAMP) END"
)
# `app.db - INFO - text`, `INFO app.db: text`, `[main] INFO app.db - text`, `[error] 12#0: text`
_NAMED_FIRST: Final = rf"^[-|:]? ?([\w.$/-]+) (?:- |\| )?\[?({_LEVEL})\]?(?: ?[-|:])? +(.*)$"
_LEVEL_FIRST: Final = (
    rf"^[-|:]? ?(?:\[[^\]]*\] +)?[\[<]?({_LEVEL})[\]>]?(?::| [-|])?(?: +\[?([\w.$/#-]+)\]?(?::| -| \|))?(?: +|$)(.*)$"
)
_PARTS: Final = {
    "first": f"regexp_extract(f.rest, '{_LEVEL_FIRST}', ['level', 'logger', 'message'])",
    "second": f"regexp_extract(f.rest, '{_NAMED_FIRST}', ['logger', 'level', 'message'])",
}


@dataclass(frozen=True, slots=True)
class Format:
    """A form that the lines of a log can have.

    Attributes:
        name: What it is called in notes.
        pattern: What a line of it looks like.
        groups: The names of its groups; the first of them is never empty in a line that fits.
        inner: Structs made of `f`, the groups of a line, by the name under which `columns` see them.
        columns: The SQL of each column, over `f` and `inner`.
        optional: Those of them that are left out when no line has a value there.
        zone: What is known of the time stamps; a format that may name a zone has a group `zone` for it.
        entry: Whether an entry is one line, or goes on until the next line that fits.
        min_share: Which share of the lines must fit.
    """

    name: str
    pattern: str
    groups: tuple[str, ...]
    columns: dict[str, str]
    inner: dict[str, str] = field(default_factory=dict[str, str])
    optional: tuple[str, ...] = ()
    zone: Zone = "unnamed"
    entry: Literal["line", "block"] = "line"
    min_share: float = 0.5


_REQUEST: Final = r"^([A-Z]+) ([^ ?]*)(?:\?([^ ]*))?(?: HTTP/[0-9.]+)?$"
_TRAILING: Final = r'^(?: "[^"]*")*(?: -)* "?(?:(\d+\.\d+)s?|(\d+(?:\.\d+)?) ?ms|(\d+))"?(?: |$)'
_REQUEST_TIME: Final = r'\b(?:rt|request_time)="?(\d+(?:\.\d+)?)(?:"|s| |$)'

_ACCESS: Final = Format(
    name="access",
    pattern=(
        rf"^(?:[^ ]+:\d+ )?([^ ]+) ([^ ]+) ([^\[]+) \[([^\]]+)\] {_QUOTED} (\d{{3}}|-) (\d+|-)"
        rf"(?: {_QUOTED} {_QUOTED})?(.*)$"
    ),
    groups=("client", "ident", "user", "stamp", "request", "status", "bytes", "referer", "agent", "rest"),
    inner={
        "r": f"regexp_extract(f.request, '{_REQUEST}', ['method', 'path', 'query'])",
        "t": f"regexp_extract(f.rest, '{_TRAILING}', ['seconds', 'duration_ms', 'duration'])",
        "named": f"CASE WHEN contains(f.rest, '=') THEN regexp_extract(f.rest, '{_REQUEST_TIME}', ['seconds']) END",
    },
    columns={
        "client": "nullif(f.client, '')",
        "user": "nullif(nullif(f.user, '-'), '')",
        "at": "CAST(try_strptime(f.stamp, '%d/%b/%Y:%H:%M:%S %z') AS TIMESTAMP)",
        "method": "nullif(r.method, '')",
        "path": "nullif(r.path, '')",
        "query": "nullif(r.query, '')",
        "status": "TRY_CAST(f.status AS INTEGER)",
        "bytes": "TRY_CAST(f.bytes AS BIGINT)",
        "referer": "nullif(nullif(f.referer, '-'), '')",
        "agent": "nullif(nullif(f.agent, '-'), '')",
        "seconds": "TRY_CAST(coalesce(nullif(t.seconds, ''), nullif(named.seconds, '')) AS DOUBLE)",
        "duration_ms": "TRY_CAST(t.duration_ms AS DOUBLE)",
        "duration": "TRY_CAST(t.duration AS BIGINT)",
    },
    optional=("user", "seconds", "duration_ms", "duration"),
    zone="utc",
)

_SYSLOG: Final = Format(
    name="syslog",
    pattern=r"^(?:<\d+>)?([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) ([^ ]+) ([^ :\[]+)(?:\[(\d+)\])?: ?(.*)$",
    groups=("stamp", "host", "program", "pid", "message"),
    columns={
        "at": (
            "CASE WHEN try_strptime('{year} ' || f.stamp, '%Y %b %d %H:%M:%S')"
            " <= TIMESTAMP '{changed}' + INTERVAL 1 DAY THEN try_strptime('{year} ' || f.stamp, '%Y %b %d %H:%M:%S')"
            " ELSE try_strptime('{year_before} ' || f.stamp, '%Y %b %d %H:%M:%S') END"
        ),
        "host": "nullif(f.host, '')",
        "program": "nullif(f.program, '')",
        "pid": "TRY_CAST(f.pid AS BIGINT)",
        "message": "nullif(f.message, '')",
    },
    zone="no year",
)

_SYSLOG_NEW: Final = Format(
    name="syslog",
    pattern=rf"^<\d+>1 {_STAMP} ([^ ]+) ([^ ]+) ([^ ]+) [^ ]+ (?:-|(?:\[[^\]]*\])+) ?(.*)$",
    groups=("stamp", "zone", "host", "program", "pid", "message"),
    columns={
        "at": _ZONED,
        "host": "nullif(nullif(f.host, '-'), '')",
        "program": "nullif(nullif(f.program, '-'), '')",
        "pid": "TRY_CAST(f.pid AS BIGINT)",
        "message": "nullif(f.message, '')",
    },
)

_COMMITS: Final = Format(
    name="commits",
    pattern=rf"^{_DAY_OR_STAMP}[ \t|]+([0-9a-f]{{7,40}})(?:[ \t|]+(.*))?$",
    groups=("stamp", "zone", "commit", "message"),
    columns={"at": _ZONED, "commit": "nullif(f.commit, '')", "message": "nullif(f.message, '')"},
)

_COMMITS_FIRST: Final = Format(
    name="commits",
    pattern=rf"^([0-9a-f]{{7,40}})[ \t|]+{_DAY_OR_STAMP}(?:[ \t|]+(.*))?$",
    groups=("commit", "stamp", "zone", "message"),
    columns=_COMMITS.columns,
)

_STAMPED: Final = Format(
    name="stamped",
    pattern=rf"^\[?{_STAMP}\]?(?:[ \t]+(.*)|)$",
    groups=("stamp", "zone", "rest"),
    inner=_PARTS,
    columns={
        "at": _ZONED,
        "level": "upper(coalesce(nullif(first.level, ''), nullif(second.level, '')))",
        "logger": "coalesce(nullif(first.logger, ''), nullif(second.logger, ''))",
        "message": (
            "CASE WHEN first.level <> '' THEN first.message WHEN second.level <> '' THEN second.message"
            " ELSE nullif(f.rest, '') END"
        ),
    },
    entry="block",
    min_share=0.05,
)

_LEVELLED: Final = Format(
    name="levelled",
    pattern=rf"^\[?({_LEVEL})\]?(?::([\w.$/-]+):[ ]?| *[:|] +| +-? ?)(.*)$",
    groups=("level", "logger", "message"),
    columns={
        "at": "CAST(NULL AS TIMESTAMP)",
        "level": "upper(nullif(f.level, ''))",
        "logger": "nullif(f.logger, '')",
        "message": "nullif(f.message, '')",
    },
    zone="none",
    entry="block",
    min_share=0.2,
)

PLAIN_TEXT: Final = Format(
    name="plain",
    pattern="^(.+)$",
    groups=("message",),
    columns={
        "at": "CAST(NULL AS TIMESTAMP)",
        "level": rf"upper(nullif(regexp_extract(left(f.message, 100), '\b({_LEVELS})\b', 1), ''))",
        "message": "nullif(f.message, '')",
    },
    optional=("level",),
    zone="none",
)
"""A log of which nothing else is known: its words are all that is promised."""

FORMATS: Final = (_ACCESS, _SYSLOG_NEW, _SYSLOG, _COMMITS, _COMMITS_FIRST, _STAMPED, _LEVELLED)
"""What is tried; of several that fit equally many lines the first."""


def load(connection: DuckdbConnection, text: SnapshotText, table: str, *, changed: datetime) -> LoadResult:
    """Make the table `table` (quoted) of a log.

    Args:
        connection: Where to make it.
        text: The log.
        table: Its quoted name.
        changed: When the file was changed last, for a format whose stamps name no year.
    """
    with table_of_lines(connection, text) as lines:
        connection.run(f"DELETE FROM {lines} WHERE {BLANK}")
        (total,) = connection.fetch_one(f"SELECT count(*) FROM {lines}")
        step = max(1, total // _SAMPLE)
        sample = (
            f"SELECT left(text, 4000) AS text FROM (SELECT text, row_number() OVER () AS place FROM {lines})"
            f" WHERE place <= {_SAMPLE} OR place % {step} = 0"
        )
        fits = [is_object("text"), *(f"regexp_matches(text, {literal(form.pattern)})" for form in FORMATS)]
        count_list = ", ".join(f"count(*) FILTER (WHERE {one})" for one in fits)
        size, objects, *counts = connection.fetch_one(f"SELECT count(*), {count_list} FROM ({sample})")
        if size and objects >= _LEAST_JSON * size:
            notes = _load_objects(connection, lines, table)
        else:
            pairs = zip(counts, FORMATS, strict=True)
            good = [(count, form) for count, form in pairs if count and count >= form.min_share * size]
            # A format of single lines says more of each than one that takes every other line for a continuation.
            of_lines = [one for one in good if one[1].entry == "line"]
            form = max(of_lines or good, key=lambda one: one[0], default=(0, PLAIN_TEXT))[1]
            notes = _load_lines(connection, lines, table, form, changed)
    return LoadResult(text.encoding, (*text.notes, *notes))


def _load_lines(
    connection: DuckdbConnection, lines: str, table: str, form: Format, changed: datetime
) -> tuple[str, ...]:
    groups = ", ".join(literal(group) for group in form.groups)
    inner = "".join(f", {sql} AS {name}" for name, sql in form.inner.items())
    # The year that the stamps do not name is the last one in which they are not in the future.
    years = {"year": changed.year, "year_before": changed.year - 1, "changed": changed.isoformat(sep=" ")}
    columns = ", ".join(
        f"{sql.format(**years) if '{changed}' in sql else sql} AS {identifier(name)}"
        for name, sql in form.columns.items()
    )
    head = f"CASE WHEN strlen(text) > {_LONGEST} THEN left(text, {_LONGEST}) ELSE text END"
    zone = "f.zone <> ''" if "zone" in form.groups else str(form.zone == "utc").lower()
    connection.run(
        f"CREATE TABLE {_PARSED} AS SELECT line, f.{form.groups[0]} <> '' AS fits, {zone} AS zoned, {columns}, text"
        f" FROM (SELECT *{inner} FROM"
        f" (SELECT line, text, regexp_extract({head}, {literal(form.pattern)}, [{groups}]) AS f FROM {lines}))"
    )
    counts = ", ".join(f"count({identifier(name)})" for name in form.optional)
    values = connection.fetch_one(f"SELECT {counts} FROM {_PARSED}") if counts else ()
    empty = {name for name, count in zip(form.optional, values, strict=True) if not count}
    names = ("at", *(name for name in form.columns if name != "at"))
    column_list = ", ".join(identifier(name) for name in names if name not in empty)
    (entries, misfits, first, zoned) = connection.fetch_one(
        f"SELECT count(*) FILTER (WHERE fits), count(*) FILTER (WHERE NOT fits), min(line) FILTER (WHERE fits), "
        f" count(*) FILTER (WHERE fits AND zoned) FROM {_PARSED}"
    )
    if form.entry == "block":  # lines that fit no format belong to the entry before them
        connection.run(
            f"CREATE TABLE {table} AS WITH placed AS (SELECT *, max(CASE WHEN fits THEN line END) OVER (ORDER BY line"
            f" ROWS UNBOUNDED PRECEDING) AS entry FROM {_PARSED}),"
            " more AS (SELECT entry, count(*) AS continued, string_agg(text, chr(10) ORDER BY line) AS more FROM placed"
            " WHERE NOT fits AND entry IS NOT NULL GROUP BY entry)"
            f" SELECT line, {column_list}, coalesce(more.continued, 0) AS continued,"
            " concat_ws(chr(10), text, more.more) AS text FROM placed LEFT JOIN more ON placed.line = more.entry"
            " WHERE fits OR placed.entry IS NULL ORDER BY line"
        )
        (before,) = connection.fetch_one(f"SELECT count(*) FROM {table} WHERE line < $1", (first or 0,))
        notes = _misfit_notes(before, misfits - before)
    else:
        connection.run(f"CREATE TABLE {table} AS SELECT line, {column_list}, text FROM {_PARSED}")
        notes = _misfit_notes(misfits, 0)
    connection.run(f"DROP TABLE {_PARSED}")
    return (*notes, _time_note(form, changed, zoned=zoned, entries=entries))


def _misfit_notes(unread: int, continued: int) -> tuple[str, ...]:
    notes: list[str] = []
    if unread:
        notes.append(f"Lines that fit no known format, and have their text only: {unread:,}.")
    if continued:
        notes.append(f"Lines without a beginning of their own, which belong to the entry before them: {continued:,}.")
    return tuple(notes)


def _time_note(form: Format, changed: datetime, *, zoned: int, entries: int) -> str:
    if zoned:
        return "Times are given in UTC" + ("." if zoned == entries else "; those without a zone as they stand.")
    if form.zone == "no year":
        until = f"the last before the file was changed in {changed:%B %Y}"
        return f"The time stamps name no year and no zone; they are taken for {until}."
    return _NO_TIMES if form.zone == "none" else "The time stamps name no zone; they are given as they stand."


def _load_objects(connection: DuckdbConnection, lines: str, table: str) -> tuple[str, ...]:
    """A log of JSON objects: a column a key, with the names that the other formats have for time, level and message."""
    connection.run(f"CREATE TABLE {_OBJECTS} AS SELECT * FROM {lines} WHERE {is_object('text')}")
    drop_deep(connection, _OBJECTS)
    notes = table_from_objects(connection, _OBJECTS, table, extra_columns=("line", "text"))
    connection.run(f"DROP TABLE {_OBJECTS}")
    others = f"FROM {lines} WHERE line NOT IN (SELECT line FROM {table})"
    (unread,) = connection.fetch_one(f"SELECT count(*) {others}")
    connection.run(f"INSERT INTO {table} (line, text) SELECT line, text {others}")
    types = {name: sql_type for name, sql_type, *_ in connection.run(f"DESCRIBE {table}")}
    for target, keys in _KEYS.items():
        accepted_types = ("TIMESTAMP", "BIGINT", "DOUBLE") if target == "at" else ("VARCHAR",)
        key = next((key for key in keys if types.get(key) in accepted_types), None)
        if key is not None and key != target and target not in types:
            connection.run(f"ALTER TABLE {table} RENAME {identifier(key)} TO {identifier(target)}")
            types[target] = types.pop(key)
    notes = (*notes, *_misfit_notes(unread, 0))
    if "at" not in types:
        connection.run(f"ALTER TABLE {table} ADD COLUMN {_AT} TIMESTAMP")
        return (*notes, _NO_TIMES)
    if types["at"] not in ("BIGINT", "DOUBLE"):
        return notes
    # Today is 1.8e9 in seconds; each finer unit has three digits more.
    sizes = "WHEN c > 1e17 THEN c / 1e3 WHEN c > 1e14 THEN c WHEN c > 1e11 THEN c * 1e3 ELSE c * 1e6"
    microseconds = f"CAST(round(CASE {sizes} END) AS BIGINT)".replace("c ", f"{_AT} ")
    connection.run(f"ALTER TABLE {table} ALTER {_AT} TYPE TIMESTAMP USING make_timestamp({microseconds})")
    return (*notes, "Times were counted since 1970 and are given in UTC.")
