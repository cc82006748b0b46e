"""What a log says: its span, levels and answers, the commonest paths and messages, errors, the slowest, bursts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from retinue.catalogue._prose import Piece, Prose, code, first_of, quote
from retinue.catalogue._report import plural
from retinue.catalogue.data_analyst.columns import Columns
from retinue.catalogue.data_analyst.findings import Findings, shown, text_of, understood, where
from retinue.catalogue.data_analyst.query import bucket, every
from retinue.contract.table import Cell
from retinue.contract.table_query import Condition, Grouping, TableQuery
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


def log_parse(columns: Columns, findings: Findings, *, conditions: Sequence[Condition] = ()) -> None:
    """Summarise the log of `columns`, of the entries that fulfil `conditions`, into `findings`."""
    log = _Log(columns, findings, f"FROM {columns.table}\nWHERE {every(conditions, columns)}", conditions)
    findings.understood |= understood(TableQuery(where=tuple(conditions)))
    if not log.say_span():
        return
    # An error has a level, else a status from 400 on.
    error = f"upper(level) IN {_BAD}" if "level" in columns else "status >= 400" if "status" in columns else ""
    if "level" in columns:
        log.say_commonest("level", "levels", "Levels: {}.", most=_TOP)
    if "status" in columns:
        log.say_commonest("status", "statuses", "Answers by status: {}.", most=_BARS)
    if error:
        log.say_errors(error)
    if "path" in columns:
        log.say_paths(error)
    elif "message" in columns:
        if error:
            log.say_messages("errors", "Most frequent errors", error)
        log.say_messages("messages", "Most frequent messages", "TRUE")
    if "at" in columns:
        log.say_times(error if findings.metrics.get("errors") else "")
        log.say_bursts()


@dataclass(slots=True)
class _Log:
    columns: Columns
    findings: Findings
    where: str
    conditions: Sequence[Condition]

    def rows(self, statement: str) -> Rows:
        """Run a statement and keep it."""
        return self.findings.run(statement, self.columns)

    def say(self, topic: str, template: str, *pieces: Piece | Prose | str, line: Cell = None) -> None:
        """Add a sentence, with the line that is its first example."""
        source = f"{self.columns.source.path}:{line}" if isinstance(line, int) else ""
        self.findings.say(topic, template, *pieces, source=source)

    def say_top(self, topic: str, template: str, each: str, rows: Sequence[Sequence[Cell]], *, at: int = 1) -> None:
        """Name the first of some rows with a figure of each."""
        named = (Prose(each, (code(str(row[0])), shown(row[at]))) for row in rows)
        self.say(topic, template, first_of(named), line=rows[0][-1])

    def show(self, rows: Rows, title: str, *, at: int = 0, line: bool = False) -> None:
        """Show rows, with a chart of one of their figures unless that is the first column."""
        self.findings.show(title, rows.columns, rows.rows)
        if at and len(rows.rows) > 1 and (line or len(rows.rows) <= _BARS):
            labels, values = [row[0] for row in rows.rows], [row[at] for row in rows.rows]
            self.findings.chart(title, labels, values, kind="line" if line else "bar")

    def say_span(self) -> bool:
        """How many entries there are, and from when to when; whether there are any."""
        times = 'min("at"), max("at"), count("at")' if "at" in self.columns else "NULL, NULL, 0"
        entries, first, last, timed = self.rows(f"SELECT count(*), {times}\n{self.where}").rows[0]
        count = int(entries or 0)
        self.findings.matched_rows = self.findings.metrics["entries"] = count
        path, fitting = code(self.columns.source.path), where(self.conditions)
        if not count:
            template = f"No entry fits: of {self.columns.source.rows:,} entries of {{}} there is none{{}}."
            self.say("entries", template, path, fitting)
            self.findings.reject(f"No entry of {path.plain()} fits.", hint="Ask with fewer conditions.")
            return False
        span = (", from {} to {}.", text_of(first), text_of(last)) if timed else (", without time stamps.",)
        self.say("span", f"{{}} has {plural(count, 'entry', 'entries')}{{}}{span[0]}", path, fitting, *span[1:])
        return True

    def say_commonest(self, column: str, topic: str, template: str, *, most: int) -> None:
        """The commonest values of a column."""
        rows = self.rows(
            f"SELECT {column}, count(*) AS entries, min(line) AS first_line\n{self.where}\n"
            f"GROUP BY 1\nORDER BY 2 DESC, 1\nLIMIT {most}"
        )
        if known := [row for row in rows.rows if row[0] is not None]:
            self.say_top(topic, template, "{} {}", known[:_TOP])
            self.show(rows, f"Entries by {column}", at=1)

    def say_errors(self, error: str) -> None:
        """How many entries are errors."""
        count, first = self.rows(f"SELECT count(*), min(line)\n{self.where} AND {error}").rows[0]
        errors = self.findings.metrics["errors"] = int(count or 0)
        share = f"{100 * errors / (self.findings.matched_rows or 1):.3g} %"
        counted = f"{plural(errors, 'entry', 'entries')} ({share}) {'has' if errors == 1 else 'have'}"
        means = "a level of ERROR or worse" if "level" in self.columns else "a status from 400 on"
        self.say("errors", f"{counted} {means}.", line=first)

    def say_paths(self, error: str) -> None:
        """The commonest paths, those with most errors, and the slowest."""
        duration = next((name for name in _DURATIONS if name in self.columns), "")
        bad = f", count(*) FILTER (WHERE {error}) AS errors" if error else ""
        mean, late = f"avg({duration}) AS mean_{duration}", f"quantile_cont({duration}, 0.95) AS p95_{duration}"
        select = (
            f"SELECT path, count(*) AS entries{bad}{f', {mean}, {late}' if duration else ''}, min(line) AS first_line\n"
            f"{self.where} AND path IS NOT NULL\nGROUP BY 1"
        )
        rows = self.rows(f"{select}\nORDER BY 2 DESC, 1\nLIMIT {_TOP}")
        if not rows.rows:
            return
        self.say_top("paths", "Most entries are for {}.", "{} ({})", rows.rows[:3])
        self.show(rows, "Most frequent paths", at=1)
        self.findings.about([row[0] for row in rows.rows])
        worst = self.rows(f"{select}\nORDER BY 3 DESC, 1\nLIMIT {_TOP}").rows if error else []
        if worst and worst[0][2]:
            self.say_top(
                "errors by path", "Most errors are at {}.", "{} ({})", [row for row in worst if row[2]][:3], at=2
            )
        if duration:
            self._say_slowest(select, duration, at=3 if error else 2)
        else:
            self.findings.note("The log has no times of requests, so nothing is said of slow ones.")

    def _say_slowest(self, select: str, duration: str, *, at: int) -> None:
        least = f"HAVING count({duration}) >= {_LEAST_SLOW}"
        rows = self.rows(f"{select}\n{least}\nORDER BY {at + 1} DESC NULLS LAST, 1\nLIMIT {_TOP}")
        if not rows.rows:
            return
        unit = self.columns[duration].unit
        each = (
            Prose("{} with {} (95 % within {})", (code(str(row[0])), shown(row[at], unit), shown(row[at + 1], unit)))
            for row in rows.rows[:3]
        )
        self.say("slowest paths", "Slowest on average: {}.", first_of(each), line=rows.rows[0][-1])
        self.findings.note(f"Paths with fewer than {_LEAST_SLOW} timed entries are not among the slowest.")
        self.findings.subjects = []
        self.findings.about([row[0] for row in rows.rows])
        self.show(rows, f"Slowest paths (mean {duration})", at=at)

    def say_messages(self, topic: str, title: str, condition: str) -> None:
        """The commonest messages that fulfil a condition, numbers apart."""
        rows = self.rows(
            f"SELECT {_SHAPE} AS message, count(*) AS entries, min(line) AS first_line, "
            f"min_by(left(message, 200), line) AS first\n{self.where} AND message IS NOT NULL AND {condition}\n"
            f"GROUP BY 1\nORDER BY 2 DESC, 1\nLIMIT {_TOP}"
        )
        for _, count, line, first in rows.rows[:3]:
            self.say(topic, "{} times: {}", shown(count), quote(str(first), longest=160), line=line)
        self.show(rows, title)
        self.findings.about([row[0] for row in rows.rows])

    def say_times(self, error: str) -> None:
        """Errors over time, or entries where there are none, and when there were most."""
        step = self.columns.unit_of_span("at", where=every(self.conditions, self.columns))
        step = "minute" if step == "second" else step
        bad = f", count(*) FILTER (WHERE {error}) AS errors" if error else ""
        rows = self.rows(
            f"SELECT {bucket(Grouping(column='at', unit=step), self.columns)} AS {identifier(step)}, "
            f'count(*) AS entries{bad}\n{self.where} AND "at" IS NOT NULL\nGROUP BY 1\nORDER BY 1'
        )
        if len(rows.rows) < 2:
            return
        what, at = ("errors", 2) if error else ("entries", 1)
        title = f"{what.capitalize()} by {step}"
        if most := max(int(row[at] or 0) for row in rows.rows):
            first, *others = (text_of(row[0]) for row in rows.rows if row[at] == most)
            as_many = f", and as many in {plural(len(others), 'other')}" if others else ""
            self.say(title.lower(), f"Most {what} in one {step}: {{}}, at {{}}{as_many}.", shown(most), first)
        self.show(rows, title, at=at, line=True)

    def say_bursts(self) -> None:
        """Minutes with many times the usual number of entries."""
        rows = self.rows(
            "WITH minutes AS (SELECT date_trunc('minute', \"at\") AS minute, count(*) AS entries, min(line) AS "
            f'first_line {self.where} AND "at" IS NOT NULL GROUP BY 1)\n'
            f"SELECT minute, entries, first_line, (SELECT median(entries) FROM minutes) AS usual FROM minutes\n"
            f"WHERE entries >= {_LEAST_BURST} AND entries > {_BURST} * (SELECT median(entries) FROM minutes)\n"
            f"ORDER BY entries DESC, minute LIMIT {_BURSTS}"
        )
        for minute, count, line, usual in rows.rows[:3]:
            template = "A burst at {}: {} entries in one minute, where {} are usual."
            self.say("burst", template, text_of(minute), shown(count), shown(usual), line=line)
        self.show(rows, "Bursts")
