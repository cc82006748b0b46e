"""What a log says: its span, levels and answers, the commonest paths and messages, errors, the slowest, bursts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from retinue.catalogue._prose import code, first_of, quote
from retinue.catalogue._report import plural
from retinue.contract.table import Cell
from retinue.contract.table_query import Condition, Grouping, TableQuery
from retinue.tools.data.sources import QueryRows, identifier

from .columns import Columns
from .findings import Findings, describe_query, format_value, label_of, where_clause
from .query import bucket_sql, conditions_sql

_MAX_TOP: Final = 10
_MAX_BARS: Final = 30
_MAX_BURSTS: Final = 5
_BURST_FACTOR: Final = 3.0
_MIN_BURST: Final = 20
_MIN_TIMED: Final = 5
_DURATIONS: Final = ("duration_ms", "seconds", "duration")
_BAD: Final = "('ERROR', 'ERR', 'CRITICAL', 'CRIT', 'FATAL', 'SEVERE', 'ALERT', 'EMERG', 'PANIC')"
# Numbers and ids are left out, so that messages that differ only in them count as one.
_SHAPE: Final = "regexp_replace(left(message, 200), '0x[0-9a-fA-F]+|[0-9a-fA-F-]{32,}|[0-9]+', '#', 'g')"


def summarise_log(columns: Columns, findings: Findings, *, conditions: Sequence[Condition] = ()) -> None:
    """Summarise the log of `columns`, of the entries that fulfil `conditions`, into `findings`."""
    log = _LogSummary(
        columns, findings, f"FROM {columns.table}\nWHERE {conditions_sql(conditions, columns)}", conditions
    )
    findings.understood |= describe_query(TableQuery(where=tuple(conditions)))
    if not log.report_span():
        return
    # An error has a level, else a status from 400 on.
    error = f"upper(level) IN {_BAD}" if "level" in columns else "status >= 400" if "status" in columns else ""
    if "level" in columns:
        log.report_commonest("level", "levels", "Levels", limit=_MAX_TOP)
    if "status" in columns:
        log.report_commonest("status", "statuses", "Answers by status", limit=_MAX_BARS)
    if error:
        log.report_errors(error)
    if "path" in columns:
        log.report_paths(error)
    elif "message" in columns:
        if error:
            log.report_messages("errors", "Most frequent errors", error)
        log.report_messages("messages", "Most frequent messages", "TRUE")
    if "at" in columns:
        log.report_times(error if findings.metrics.get("errors") else "")
        log.report_bursts()


@dataclass(slots=True)
class _LogSummary:
    columns: Columns
    findings: Findings
    where: str
    conditions: Sequence[Condition]

    def rows(self, statement: str) -> QueryRows:
        """Run a statement and keep it."""
        return self.findings.run(statement, self.columns)

    def add(self, topic: str, sentence: str, *, line: Cell = None) -> None:
        """Add a sentence, with the line that is its first example."""
        source = f"{self.columns.source.path}:{line}" if isinstance(line, int) else ""
        self.findings.add(topic, sentence, source=source)

    def report_top(self, topic: str, lead: str, rows: Sequence[Sequence[Cell]], *, at: int = 1) -> None:
        """Name the first of some rows with a figure of each."""
        entries = ", ".join(f"{code(str(row[0]))} ({format_value(row[at])})" for row in rows)
        self.add(topic, f"{lead} {entries}.", line=rows[0][-1])

    def show(self, rows: QueryRows, title: str, *, at: int = 0, line: bool = False) -> None:
        """Show rows, with a chart of one of their figures unless that is the first column."""
        self.findings.show(title, rows.columns, rows.rows)
        if at and len(rows.rows) > 1 and (line or len(rows.rows) <= _MAX_BARS):
            labels, values = [row[0] for row in rows.rows], [row[at] for row in rows.rows]
            self.findings.add_chart(title, labels, values, kind="line" if line else "bar")

    def report_span(self) -> bool:
        """How many entries there are, and from when to when; whether there are any."""
        times = 'min("at"), max("at"), count("at")' if "at" in self.columns else "NULL, NULL, 0"
        entries, first, last, timed_count = self.rows(f"SELECT count(*), {times}\n{self.where}").rows[0]
        count = int(entries or 0)
        self.findings.matched_rows = self.findings.metrics["entries"] = count
        path, filter_text = code(self.columns.source.path), where_clause(self.conditions)
        if not count:
            all_entries = f"{self.columns.source.rows:,} entries of {path}"
            self.add("entries", f"No entry fits: of {all_entries} there is none{filter_text}.")
            self.findings.reject(f"No entry of {path} fits.", hint="Ask with fewer conditions.")
            return False
        span = f"from {label_of(first)} to {label_of(last)}" if timed_count else "without time stamps"
        self.add("span", f"{path} has {plural(count, 'entry', 'entries')}{filter_text}, {span}.")
        return True

    def report_commonest(self, column: str, topic: str, lead: str, *, limit: int) -> None:
        """The commonest values of a column."""
        rows = self.rows(
            f"SELECT {column}, count(*) AS entries, min(line) AS first_line\n{self.where}\n"
            f"GROUP BY 1\nORDER BY 2 DESC, 1\nLIMIT {limit}"
        )
        if rows_with_value := [row for row in rows.rows if row[0] is not None]:
            counts = ", ".join(f"{code(str(row[0]))} {format_value(row[1])}" for row in rows_with_value[:_MAX_TOP])
            self.add(topic, f"{lead}: {counts}.", line=rows_with_value[0][-1])
            self.show(rows, f"Entries by {column}", at=1)

    def report_errors(self, error: str) -> None:
        """How many entries are errors."""
        count, first = self.rows(f"SELECT count(*), min(line)\n{self.where} AND {error}").rows[0]
        errors = self.findings.metrics["errors"] = int(count or 0)
        share = f"{100 * errors / (self.findings.matched_rows or 1):.3g} %"
        error_text = f"{plural(errors, 'entry', 'entries')} ({share}) {'has' if errors == 1 else 'have'}"
        means = "a level of ERROR or worse" if "level" in self.columns else "a status from 400 on"
        self.add("errors", f"{error_text} {means}.", line=first)

    def report_paths(self, error: str) -> None:
        """The commonest paths, those with most errors, and the slowest."""
        duration = next((name for name in _DURATIONS if name in self.columns), "")
        bad = f", count(*) FILTER (WHERE {error}) AS errors" if error else ""
        mean, late = f"avg({duration}) AS mean_{duration}", f"quantile_cont({duration}, 0.95) AS p95_{duration}"
        select = (
            f"SELECT path, count(*) AS entries{bad}{f', {mean}, {late}' if duration else ''}, min(line) AS first_line\n"
            f"{self.where} AND path IS NOT NULL\nGROUP BY 1"
        )
        rows = self.rows(f"{select}\nORDER BY 2 DESC, 1\nLIMIT {_MAX_TOP}")
        if not rows.rows:
            return
        self.report_top("paths", "Most entries are for", rows.rows[:3])
        self.show(rows, "Most frequent paths", at=1)
        self.findings.add_subjects([row[0] for row in rows.rows])
        worst = self.rows(f"{select}\nORDER BY 3 DESC, 1\nLIMIT {_MAX_TOP}").rows if error else []
        if worst and worst[0][2]:
            self.report_top("errors by path", "Most errors are at", [row for row in worst if row[2]][:3], at=2)
        if not duration:
            self.findings.note("The log has no times of requests, so nothing is said of slow ones.")
            return
        least, at = f"HAVING count({duration}) >= {_MIN_TIMED}", 3 if error else 2
        slowest = self.rows(f"{select}\n{least}\nORDER BY {at + 1} DESC NULLS LAST, 1\nLIMIT {_MAX_TOP}")
        if not slowest.rows:
            return
        unit = self.columns[duration].unit
        each = (
            f"{code(str(row[0]))} with {format_value(row[at], unit)} (95 % within {format_value(row[at + 1], unit)})"
            for row in slowest.rows[:3]
        )
        self.add("slowest paths", f"Slowest on average: {first_of(each)}.", line=slowest.rows[0][-1])
        self.findings.note(f"Paths with fewer than {_MIN_TIMED} timed entries are not among the slowest.")
        self.findings.subjects = []
        self.findings.add_subjects([row[0] for row in slowest.rows])
        self.show(slowest, f"Slowest paths (mean {duration})", at=at)

    def report_messages(self, topic: str, title: str, condition: str) -> None:
        """The commonest messages that fulfil a condition, numbers apart."""
        rows = self.rows(
            f"SELECT {_SHAPE} AS message, count(*) AS entries, min(line) AS first_line, "
            f"min_by(left(message, 200), line) AS first\n{self.where} AND message IS NOT NULL AND {condition}\n"
            f"GROUP BY 1\nORDER BY 2 DESC, 1\nLIMIT {_MAX_TOP}"
        )
        for _, count, line, first in rows.rows[:3]:
            self.add(topic, f"{format_value(count)} times: {quote(str(first), limit=160)}", line=line)
        self.show(rows, title)
        self.findings.add_subjects([row[0] for row in rows.rows])

    def report_times(self, error: str) -> None:
        """Errors over time, or entries where there are none, and when there were most."""
        step = self.columns.unit_of_span("at", where=conditions_sql(self.conditions, self.columns))
        step = "minute" if step == "second" else step
        bad = f", count(*) FILTER (WHERE {error}) AS errors" if error else ""
        rows = self.rows(
            f"SELECT {bucket_sql(Grouping(column='at', unit=step), self.columns)} AS {identifier(step)}, "
            f'count(*) AS entries{bad}\n{self.where} AND "at" IS NOT NULL\nGROUP BY 1\nORDER BY 1'
        )
        if len(rows.rows) < 2:
            return
        what, at = ("errors", 2) if error else ("entries", 1)
        title = f"{what.capitalize()} by {step}"
        if most := max(int(row[at] or 0) for row in rows.rows):
            first, *others = (label_of(row[0]) for row in rows.rows if row[at] == most)
            as_many = f", and as many in {plural(len(others), 'other')}" if others else ""
            self.add(title.lower(), f"Most {what} in one {step}: {format_value(most)}, at {first}{as_many}.")
        self.show(rows, title, at=at, line=True)

    def report_bursts(self) -> None:
        """Minutes with many times the usual number of entries."""
        rows = self.rows(
            "WITH minutes AS (SELECT date_trunc('minute', \"at\") AS minute, count(*) AS entries, min(line) AS "
            f'first_line {self.where} AND "at" IS NOT NULL GROUP BY 1)\n'
            f"SELECT minute, entries, first_line, (SELECT median(entries) FROM minutes) AS usual FROM minutes\n"
            f"WHERE entries >= {_MIN_BURST} AND entries > {_BURST_FACTOR} * (SELECT median(entries) FROM minutes)\n"
            f"ORDER BY entries DESC, minute LIMIT {_MAX_BURSTS}"
        )
        for minute, count, line, usual in rows.rows[:3]:
            text = f"{format_value(count)} entries in one minute, where {format_value(usual)} are usual"
            self.add("burst", f"A burst at {label_of(minute)}: {text}.", line=line)
        self.show(rows, "Bursts")
