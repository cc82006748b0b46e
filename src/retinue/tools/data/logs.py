"""Reads logs: every line that is not blank stands in the table, whether or not it could be taken apart.

`line` is the number of a line and `text` the whole of it; `at` is its time as a timestamp, in UTC where the log says
how far it is from that. Which other columns there are depends on the format (see `formats`), which is found from a
sample. A line that does not fit keeps its text and has no values beside it; in a format whose entries may take several
lines (a traceback, a wrapped message) it belongs to the entry before it, as `continued` more lines in `text`. Of a line
over 64 KiB only the beginning is taken apart.
"""

# ruff: noqa: S608
# SQL is put together here from our own words, from names that `identifier` quotes and values that `literal` quotes

from datetime import datetime
from typing import Final

from retinue.tools.data.connection import DuckdbConnection, literal
from retinue.tools.data.formats import FORMATS, PLAIN_TEXT, Format
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
        form = _detect_format(connection, lines)
        if form is None:
            notes = _load_objects(connection, lines, table)
        else:
            notes = _load_lines(connection, lines, table, form, changed)
    return LoadResult(text.encoding, (*text.notes, *notes))


def _detect_format(connection: DuckdbConnection, lines: str) -> Format | None:
    fits = [f"regexp_matches(text, {literal(form.pattern)})" for form in FORMATS]
    (total,) = connection.fetch_one(f"SELECT count(*) FROM {lines}")
    step = max(1, total // _SAMPLE)
    sample = (
        f"SELECT left(text, 4000) AS text FROM (SELECT text, row_number() OVER () AS place FROM {lines})"
        f" WHERE place <= {_SAMPLE} OR place % {step} = 0"
    )
    count_list = ", ".join(f"count(*) FILTER (WHERE {one})" for one in (is_object("text"), *fits))
    sample_size, objects, *counts = connection.fetch_one(f"SELECT count(*), {count_list} FROM ({sample})")
    if sample_size and objects >= _LEAST_JSON * sample_size:
        return None
    good = [
        (count, form)
        for form, count in zip(FORMATS, counts, strict=True)
        if count and count >= form.min_share * sample_size
    ]
    # A format of single lines says more of each than one that takes every other line for a continuation.
    of_lines = [one for one in good if one[1].entry == "line"]
    return max(of_lines or good, key=lambda one: one[0], default=(0, PLAIN_TEXT))[1]


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
