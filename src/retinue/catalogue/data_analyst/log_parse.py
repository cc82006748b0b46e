"""What a log says: its span, levels and answers, the commonest paths and messages, errors, the slowest, bursts."""

# ruff: noqa: S608
# names are quoted by `identifier` and values by `literal`, so the statements below hold nothing else of anybody's

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from retinue.catalogue._prose import Prose, code, quote
from retinue.catalogue._report import plural
from retinue.catalogue.data_analyst import sql
from retinue.catalogue.data_analyst.columns import Columns
from retinue.catalogue.data_analyst.findings import Findings, chart_of, table_of
from retinue.catalogue.data_analyst.words import filters, listed, shown, text_of, where
from retinue.contract.table import Cell
from retinue.contract.table_query import Condition, Grouping
from retinue.tools.data import Rows, identifier

__all__ = ["log_parse"]

_TOP: Final = 10
_BARS: Final = 30
_BURSTS: Final = 5
_BURST: Final = 3.0
_LEAST_BURST: Final = 20
_LEAST_SLOW: Final = 5
_DURATIONS: Final = ("duration_ms", "seconds", "duration")
_BAD: Final = "('ERROR', 'ERR', 'CRITICAL', 'CRIT', 'FATAL', 'SEVERE', 'ALERT', 'EMERG', 'PANIC')"
_SHAPE: Final = "regexp_replace(left(message, 200), '0x[0-9a-fA-F]+|[0-9a-fA-F-]{32,}|[0-9]+', '#', 'g')"


@dataclass(slots=True)
class _Log:
    columns: Columns
    findings: Findings
    where: str
    conditions: Sequence[Condition]

    def rows(self, statement: str) -> Rows:
        """Run a statement and keep it."""
        return self.findings.run(statement, self.columns)

    def say(self, topic: str, template: str, *pieces: Prose | str, line: Cell = None) -> None:
        """Add a sentence, with the line that is its first example."""
        path = self.columns.source.path
        self.findings.say(topic, template, *pieces, source=f"{path}:{line}" if isinstance(line, int) else path)

    def say_top(self, topic: str, template: str, each: str, rows: Sequence[Sequence[Cell]], *, at: int = 1) -> None:
        """Name the first of some rows with a figure of each."""
        named = (Prose(each, (code(str(row[0])), shown(row[at]))) for row in rows)
        self.say(topic, template, listed(named), line=rows[0][-1])

    def show(self, rows: Rows, title: str, *, at: int = 1, line: bool = False, is_drawn: bool = True) -> None:
        """Show rows with a chart of one of their figures."""
        labels = [row[0] for row in rows.rows]
        can_be_drawn = is_drawn and len(labels) > 1 and (line or len(labels) <= _BARS)
        chart = chart_of(labels, [row[at] for row in rows.rows], title=title, line=line) if can_be_drawn else None
        self.findings.show(table_of(rows, title=title), chart)


def log_parse(columns: Columns, findings: Findings, *, conditions: Sequence[Condition] = ()) -> None:
    """Summarise the log of `columns`, of the entries that fulfil `conditions`, into `findings`."""
    log = _Log(columns, findings, f"FROM {columns.table}\nWHERE {sql.every(conditions, columns)}", conditions)
    if conditions:
        findings.understood["filter"] = filters(conditions)
    if not _span(log):
        return
    if "level" in columns:
        _commonest(log, "level", "levels", "Levels: {}.", most=_TOP)
    if "status" in columns:
        _commonest(log, "status", "statuses", "Answers by status: {}.", most=_BARS)
    error = _error(columns)
    if error is not None:
        _errors(log, error)
    if "path" in columns:
        _paths(log, error)
    elif "message" in columns:
        _messages(log, "errors", "Most frequent errors", error)
        _messages(log, "messages", "Most frequent messages", "TRUE")
    if "at" in columns:
        _over_time(log, error if findings.metrics.get("errors") else None)
        _bursts(log)


def _error(columns: Columns) -> str | None:
    """What an error is here, in SQL: by level, else by status from 400 on."""
    if "level" in columns:
        return f"upper(level) IN {_BAD}"
    return "status >= 400" if "status" in columns else None


def _span(log: _Log) -> bool:
    """How many entries there are, and from when to when."""
    times = 'min("at"), max("at"), count("at")' if "at" in log.columns else "NULL, NULL, 0"
    entries, first, last, timed = log.rows(f"SELECT count(*), {times}\n{log.where}").rows[0]
    count = entries if isinstance(entries, int) else 0
    log.findings.matched_rows = log.findings.metrics["entries"] = count
    path, fitting = Prose("{}", (code(log.columns.source.path),)), where(log.conditions)
    if not count:
        of_all = f"of {log.columns.source.rows:,} entries of {{}} there is none{{}}"
        log.say("entries", f"No entry fits: {of_all}.", path, fitting)
        log.findings.report.reject(f"No entry of {path.plain()} fits.", hint="Ask with fewer conditions.")
        return False
    counted = f"{{}} has {plural(count, 'entry', 'entries')}{{}}"
    if timed:
        log.say("span", f"{counted}, from {{}} to {{}}.", path, fitting, text_of(first), text_of(last))
    else:
        log.say("span", f"{counted}, without time stamps.", path, fitting)
    return True


def _commonest(log: _Log, column: str, topic: str, template: str, *, most: int) -> None:
    rows = log.rows(
        f"SELECT {column}, count(*) AS entries, min(line) AS first_line\n{log.where}\n"
        f"GROUP BY 1\nORDER BY 2 DESC, 1\nLIMIT {most}"
    )
    if known := [row for row in rows.rows if row[0] is not None]:
        log.say_top(topic, template, "{} {}", known[:_TOP])
        log.show(rows, f"Entries by {column}")


def _errors(log: _Log, error: str) -> None:
    count, first = log.rows(f"SELECT count(*), min(line)\n{log.where} AND {error}").rows[0]
    errors = log.findings.metrics["errors"] = count if isinstance(count, int) else 0
    share = f"{100 * errors / (log.findings.matched_rows or 1):.3g} %"
    counted = f"{plural(errors, 'entry', 'entries')} ({share}) {'has' if errors == 1 else 'have'}"
    means = "a level of ERROR or worse" if "level" in log.columns else "a status from 400 on"
    log.say("errors", f"{counted} {means}.", line=first)


def _paths(log: _Log, error: str | None) -> None:
    duration = next((name for name in _DURATIONS if name in log.columns), None)
    bad = f", count(*) FILTER (WHERE {error}) AS errors" if error else ""
    slow = (
        f", avg({duration}) AS mean_{duration}, quantile_cont({duration}, 0.95) AS p95_{duration}" if duration else ""
    )
    select = (
        f"SELECT path, count(*) AS entries{bad}{slow}, min(line) AS first_line\n"
        f"{log.where} AND path IS NOT NULL\nGROUP BY 1"
    )
    rows = log.rows(f"{select}\nORDER BY 2 DESC, 1\nLIMIT {_TOP}")
    if not rows.rows:
        return
    log.say_top("paths", "Most entries are for {}.", "{} ({})", rows.rows[:3])
    log.show(rows, "Most frequent paths")
    log.findings.report.about([str(row[0]) for row in rows.rows])
    if error and (worst := [row for row in log.rows(f"{select}\nORDER BY 3 DESC, 1\nLIMIT {_TOP}").rows if row[2]]):
        log.say_top("errors by path", "Most errors are at {}.", "{} ({})", worst[:3], at=2)
    if duration is None:
        log.findings.note("The log has no times of requests, so nothing is said of slow ones.")
        return
    at = 3 if error else 2
    least = f"HAVING count({duration}) >= {_LEAST_SLOW}"
    slowest = log.rows(f"{select}\n{least}\nORDER BY {at + 1} DESC NULLS LAST, 1\nLIMIT {_TOP}")
    if not slowest.rows:
        return
    unit = log.columns.named(duration).unit
    each = (
        Prose("{} with {} (95 % within {})", (code(str(row[0])), shown(row[at], unit), shown(row[at + 1], unit)))
        for row in slowest.rows[:3]
    )
    log.say("slowest paths", "Slowest on average: {}.", listed(each), line=slowest.rows[0][-1])
    log.findings.note(f"Paths with fewer than {_LEAST_SLOW} timed entries are not among the slowest.")
    log.findings.report.subjects = []
    log.findings.report.about([str(row[0]) for row in slowest.rows])
    log.show(slowest, f"Slowest paths (mean {duration})", at=at)


def _messages(log: _Log, topic: str, title: str, condition: str | None) -> None:
    """The commonest messages that fulfil a condition, numbers apart."""
    if condition is None:
        return
    rows = log.rows(
        f"SELECT {_SHAPE} AS message, count(*) AS entries, min(line) AS first_line, "
        f"min_by(left(message, 200), line) AS first\n{log.where} AND message IS NOT NULL AND {condition}\n"
        f"GROUP BY 1\nORDER BY 2 DESC, 1\nLIMIT {_TOP}"
    )
    for _, count, line, first in rows.rows[:3]:
        log.say(topic, f"{shown(count)} times: {{}}", Prose("{}", (quote(str(first), longest=160),)), line=line)
    if rows.rows:
        log.show(rows, title, is_drawn=False)
        log.findings.report.about([str(row[0]) for row in rows.rows])


def _over_time(log: _Log, error: str | None) -> None:
    step = log.columns.unit_of_span("at", where=sql.every(log.conditions, log.columns))
    step = "minute" if step == "second" else step
    bad = f", count(*) FILTER (WHERE {error}) AS errors" if error else ""
    bucket = sql.bucket(Grouping(column="at", unit=step), log.columns)
    rows = log.rows(
        f"SELECT {bucket} AS {identifier(step)}, count(*) AS entries{bad}\n"
        f'{log.where} AND "at" IS NOT NULL\nGROUP BY 1\nORDER BY 1'
    )
    if len(rows.rows) < 2:
        return
    what, at = ("errors", 2) if error else ("entries", 1)
    title = f"{what.capitalize()} by {step}"
    if most := max(int(row[at] or 0) for row in rows.rows):
        first, *others = (text_of(row[0]) for row in rows.rows if row[at] == most)
        as_many = f", and as many in {plural(len(others), 'other')}" if others else ""
        log.say(title.lower(), f"Most {what} in one {step}: {{}}, at {{}}{as_many}.", shown(most), first)
    log.show(rows, title, at=at, line=True)


def _bursts(log: _Log) -> None:
    """Minutes with many times the usual number of entries."""
    rows = log.rows(
        "WITH minutes AS (SELECT date_trunc('minute', \"at\") AS minute, count(*) AS entries, min(line) AS first_line "
        f'{log.where} AND "at" IS NOT NULL GROUP BY 1)\n'
        f"SELECT minute, entries, first_line, (SELECT median(entries) FROM minutes) AS usual FROM minutes\n"
        f"WHERE entries >= {_LEAST_BURST} AND entries > {_BURST} * (SELECT median(entries) FROM minutes)\n"
        f"ORDER BY entries DESC, minute LIMIT {_BURSTS}"
    )
    for minute, count, line, usual in rows.rows[:3]:
        template = "A burst at {}: {} entries in one minute, where {} are usual."
        log.say("burst", template, text_of(minute), shown(count), shown(usual), line=line)
    if rows.rows:
        log.show(rows, "Bursts", is_drawn=False)
