"""What a log says: its span, levels and answers, the commonest paths and messages, errors, the slowest, bursts."""

# ruff: noqa: S608
# names are quoted by `identifier` and values by `literal`, so the statements below hold nothing else of anybody's

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from retinue.catalogue._prose import code, quote
from retinue.catalogue.data_analyst import sql
from retinue.catalogue.data_analyst.aggregate import filters, where
from retinue.catalogue.data_analyst.columns import Columns
from retinue.catalogue.data_analyst.report import Report, chart_of, table_of
from retinue.catalogue.data_analyst.shown import plural, shown, text_of
from retinue.contract.table import Cell
from retinue.contract.table_query import Condition, Grouping
from retinue.tools.data import Data, Rows, identifier

__all__ = ["log_parse"]

_TOP: Final = 10
_BURSTS: Final = 5
_BURST: Final = 3.0
_LEAST_BURST: Final = 20
_LEAST_SLOW: Final = 5
_DURATIONS: Final = ("duration_ms", "seconds", "duration")
_BAD: Final = "('ERROR', 'ERR', 'CRITICAL', 'CRIT', 'FATAL', 'SEVERE', 'ALERT', 'EMERG', 'PANIC')"
_NUMBERS: Final = r"regexp_replace({}, '0x[0-9a-fA-F]+|[0-9a-fA-F-]{{32,}}|[0-9]+', '#', 'g')"


@dataclass(slots=True)
class _Log:
    data: Data
    columns: Columns
    report: Report
    where: str
    conditions: Sequence[Condition]

    def rows(self, statement: str, *, limit: int = 1_000) -> Rows:
        """Run a statement and keep it."""
        self.report.sql.append(sql.stated(statement, self.columns))
        return self.data.query(statement, limit=limit)

    @property
    def source(self) -> str:
        return self.columns.source.path

    def place(self, line: Cell) -> str:
        """A line as a source."""
        return f"{self.source}:{line}" if isinstance(line, int) else self.source


def log_parse(data: Data, columns: Columns, report: Report, *, conditions: Sequence[Condition] = ()) -> None:
    """Summarise the log of `columns`, of the entries that fulfil `conditions`, into `report`."""
    log = _Log(data, columns, report, f"FROM {columns.table}\nWHERE {sql.every(conditions, columns)}", conditions)
    if conditions:
        report.understood["filter"] = filters(conditions)
    if not _span(log):
        return
    error = _error(columns)
    if "level" in columns:
        _levels(log)
    if "status" in columns:
        _statuses(log)
    if error is not None:
        _errors(log, error)
    if "path" in columns:
        _paths(log, error)
    elif "message" in columns:
        _messages(log, error)
    if "at" in columns:
        _over_time(log, error)
        _bursts(log)


def _span(log: _Log) -> bool:
    """How many entries there are, and from when to when."""
    times = 'min("at"), max("at"), count("at")' if "at" in log.columns else "NULL, NULL, 0"
    entries, first, last, timed = log.rows(f"SELECT count(*), {times}\n{log.where}").rows[0]
    count = entries if isinstance(entries, int) else 0
    log.report.matched_rows = count
    words, pieces = where(log.conditions)
    log.report.metrics["entries"] = count
    if not count:
        log.report.say(
            "entries",
            f"No entry fits: of {log.columns.source.rows:,} entries of {{}} there is none{words}.",
            code(log.source),
            *pieces,
            source=log.source,
        )
        log.report.reject(f"No entry of {log.source} fits.", hint="Ask with fewer conditions.")
        return False
    if timed:
        log.report.say(
            "span",
            f"{{}} has {plural(count, 'entry', 'entries')}{words}, from {{}} to {{}}.",
            code(log.source),
            *pieces,
            text_of(first),
            text_of(last),
            source=log.source,
        )
    else:
        log.report.say(
            "span",
            f"{{}} has {plural(count, 'entry', 'entries')}{words}, without time stamps.",
            code(log.source),
            *pieces,
            source=log.source,
        )
    return True


def _error(columns: Columns) -> str | None:
    """What an error is here, in SQL: by level, else by status from 400 on."""
    if "level" in columns:
        return f"upper(level) IN {_BAD}"
    return "status >= 400" if "status" in columns else None


def _levels(log: _Log) -> None:
    rows = log.rows(
        f"SELECT level, count(*) AS entries, min(line) AS first_line\n{log.where}\n"
        f"GROUP BY 1\nORDER BY 2 DESC, 1\nLIMIT {_TOP}"
    )
    known = [row for row in rows.rows if row[0] is not None]
    if not known:
        return
    listed = ", ".join(["{} {}"] * len(known))
    log.report.say(
        "levels",
        f"Levels: {listed}.",
        *(piece for row in known for piece in (code(str(row[0])), shown(row[1]))),
        source=log.source,
    )
    _drawn(log, rows, "Entries by level")


def _statuses(log: _Log) -> None:
    rows = log.rows(
        f"SELECT status, count(*) AS entries, min(line) AS first_line\n{log.where} AND status IS NOT NULL\n"
        "GROUP BY 1\nORDER BY 2 DESC, 1\nLIMIT 30"
    )
    if not rows.rows:
        return
    named = rows.rows[:6]
    listed = ", ".join(["{} {}"] * len(named))
    more = ", …" if len(rows.rows) > len(named) else ""
    log.report.say(
        "statuses",
        f"Answers by status: {listed}{more}.",
        *(piece for row in named for piece in (code(str(row[0])), shown(row[1]))),
        source=log.source,
    )
    _drawn(log, rows, "Entries by status")


def _errors(log: _Log, error: str) -> None:
    count, first = log.rows(f"SELECT count(*), min(line)\n{log.where} AND {error}").rows[0]
    errors = count if isinstance(count, int) else 0
    log.report.metrics["errors"] = errors
    means = "a level of ERROR or worse" if "level" in log.columns else "a status from 400 on"
    total = log.report.matched_rows or 1
    log.report.say(
        "errors",
        f"{plural(errors, 'entry', 'entries')} ({100 * errors / total:.3g} %) "
        f"{'has' if errors == 1 else 'have'} {means}.",
        source=log.place(first),
    )


def _paths(log: _Log, error: str | None) -> None:
    duration = next((name for name in _DURATIONS if name in log.columns), None)
    bad = f", count(*) FILTER (WHERE {error}) AS errors" if error else ""
    slow = (
        f", avg({duration}) AS mean_{duration}, quantile_cont({duration}, 0.95) AS p95_{duration}" if duration else ""
    )
    named = f"path, count(*) AS entries{bad}{slow}, min(line) AS first_line"
    select = f"SELECT {named}\n{log.where} AND path IS NOT NULL\nGROUP BY 1"
    rows = log.rows(f"{select}\nORDER BY 2 DESC, 1\nLIMIT {_TOP}")
    if not rows.rows:
        return
    _top(log, rows, "paths", "Most entries are for")
    _drawn(log, rows, "Most frequent paths")
    if error and (worst := [row for row in log.rows(f"{select}\nORDER BY 3 DESC, 1\nLIMIT {_TOP}").rows if row[2]]):
        named = worst[:3]
        log.report.say(
            "errors by path",
            f"Most errors are at {', '.join(['{} ({})'] * len(named))}.",
            *(piece for row in named for piece in (code(str(row[0])), shown(row[2]))),
            source=log.place(named[0][-1]),
        )
    if duration is None:
        log.report.note("The log has no times of requests, so nothing is said of slow ones.")
        return
    place = 3 if error else 2
    slowest = log.rows(
        f"{select}\nHAVING count({duration}) >= {_LEAST_SLOW}\nORDER BY {place + 1} DESC NULLS LAST, 1\nLIMIT {_TOP}"
    )
    if not slowest.rows:
        return
    unit = log.columns.named(duration).unit
    named = slowest.rows[:3]
    log.report.say(
        "slowest paths",
        f"Slowest on average: {', '.join(['{} with {} (95 % within {})'] * len(named))}.",
        *(
            piece
            for row in named
            for piece in (code(str(row[0])), shown(row[place], unit), shown(row[place + 1], unit))
        ),
        source=log.place(named[0][-1]),
    )
    log.report.note(f"Paths with fewer than {_LEAST_SLOW} timed entries are not among the slowest.")
    log.report.subjects.clear()
    log.report.name_subjects([row[0] for row in slowest.rows])
    title = f"Slowest paths (mean {duration})"
    units = {name: unit for name in (f"mean_{duration}", f"p95_{duration}") if unit}
    chart = chart_of(
        [row[0] for row in slowest.rows], [row[place] for row in slowest.rows], title=title, line=False, unit=unit
    )
    log.report.show(table_of(slowest, title=title, units=units), chart if len(slowest.rows) > 1 else None)


def _messages(log: _Log, error: str | None) -> None:
    """The commonest messages, numbers apart: those of errors first."""
    for topic, title, condition in (
        ("errors", "Most frequent errors", f" AND {error}" if error else None),
        ("messages", "Most frequent messages", ""),
    ):
        if condition is None:
            continue
        shape = _NUMBERS.format("left(message, 200)")
        rows = log.rows(
            f"SELECT {shape} AS message, count(*) AS entries, min(line) AS first_line, "
            f"min_by(left(message, 200), line) AS first\n{log.where} AND message IS NOT NULL{condition}\n"
            f"GROUP BY 1\nORDER BY 2 DESC, 1\nLIMIT {_TOP}"
        )
        if not rows.rows:
            continue
        for row in rows.rows[:3]:
            log.report.say(
                topic, f"{shown(row[1])} times: {{}}", quote(str(row[3]), longest=160), source=log.place(row[2])
            )
        _drawn(log, rows, title, chart=False)
        log.report.name_subjects([row[0] for row in rows.rows])


def _over_time(log: _Log, error: str | None) -> None:
    step = log.columns.unit_of_span("at", where=sql.every(log.conditions, log.columns))
    step = "minute" if step == "second" else step
    error = error if log.report.metrics.get("errors") else None
    bad = f", count(*) FILTER (WHERE {error}) AS errors" if error else ""
    bucket = sql.bucket(Grouping(column="at", unit=step), log.columns)
    rows = log.rows(
        f"SELECT {bucket} AS {identifier(step)}, count(*) AS entries{bad}\n"
        f'{log.where} AND "at" IS NOT NULL\nGROUP BY 1\nORDER BY 1'
    )
    if len(rows.rows) < 2:
        return
    title = f"{'Errors' if error else 'Entries'} by {step}"
    place = 2 if error else 1
    most = max(int(row[place] or 0) for row in rows.rows)
    if most:
        first, *others = (text_of(row[0]) for row in rows.rows if row[place] == most)
        as_many = f", and as many in {plural(len(others), 'other')}" if others else ""
        log.report.say(
            title.lower(),
            f"Most {'errors' if error else 'entries'} in one {step}: {{}}, at {{}}{as_many}.",
            shown(most),
            first,
            source=log.source,
        )
    chart = chart_of(
        [row[0] for row in rows.rows], [row[place] for row in rows.rows], title=title, line=True, unit=None
    )
    log.report.show(table_of(rows, title=title), chart)


def _bursts(log: _Log) -> None:
    """Minutes with many times the usual number of entries."""
    rows = log.rows(
        "WITH minutes AS (SELECT date_trunc('minute', \"at\") AS minute, count(*) AS entries, min(line) AS first_line "
        f'{log.where} AND "at" IS NOT NULL GROUP BY 1)\n'
        f"SELECT minute, entries, first_line, (SELECT median(entries) FROM minutes) AS usual FROM minutes\n"
        f"WHERE entries >= {_LEAST_BURST} AND entries > {_BURST} * (SELECT median(entries) FROM minutes)\n"
        f"ORDER BY entries DESC, minute LIMIT {_BURSTS}"
    )
    for row in rows.rows[:3]:
        log.report.say(
            "burst",
            "A burst at {}: {} entries in one minute, where {} are usual.",
            text_of(row[0]),
            shown(row[1]),
            shown(row[3]),
            source=log.place(row[2]),
        )
    if rows.rows:
        log.report.show(table_of(rows, title="Bursts"))


def _top(log: _Log, rows: Rows, topic: str, lead: str) -> None:
    named = rows.rows[:3]
    log.report.say(
        topic,
        f"{lead} {', '.join(['{} ({})'] * len(named))}.",
        *(piece for row in named for piece in (code(str(row[0])), shown(row[1]))),
        source=log.place(named[0][-1]),
    )
    log.report.name_subjects([row[0] for row in rows.rows])


def _drawn(log: _Log, rows: Rows, title: str, *, chart: bool = True) -> None:
    labels: Sequence[Cell] = [row[0] for row in rows.rows]
    drawn = (
        chart_of(labels, [row[1] for row in rows.rows], title=title, line=False, unit=None)
        if chart and 2 <= len(labels) <= 30
        else None
    )
    log.report.show(table_of(rows, title=title), drawn)
