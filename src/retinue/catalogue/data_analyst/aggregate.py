"""Figures over one file: the statement is run, and its rows become sentences, a table and a chart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from retinue.catalogue._prose import Prose, code, first_of
from retinue.catalogue._report import plural
from retinue.catalogue.data_analyst.columns import Columns
from retinue.catalogue.data_analyst.findings import Findings, describe, rows_counted, shown, text_of, understood, where
from retinue.catalogue.data_analyst.query import every, is_serial, place_of_order, select
from retinue.contract.table import Cell
from retinue.contract.table_query import Measure, TableQuery
from retinue.tools.data import Rows

__all__ = ["aggregate"]

_LIST: Final = 10
_NAMED: Final = 5
_BARS: Final = 30
_POINTS: Final = 500
_LEAST_EXTREMES: Final = 3
_TIED: Final = 50
"""Rows beyond a limit that are shown when they are equal to its last one."""


def aggregate(columns: Columns, query: TableQuery, findings: Findings) -> None:
    """Answer `query`, into `findings`."""
    within = [one.column for one in query.within if one.op not in ("is_null", "not_null")]
    measured = list(dict.fromkeys(filter(None, [*(one.column for one in query.measures), *within])))
    counts = ["count(*)", *(f"count(*) - count({columns.expression(name)})" for name in measured)]
    matched, *gaps = (int(count or 0) for count in columns.row(counts, where=every(query.where, columns)))
    findings.matched_rows = matched
    findings.columns |= query.named_columns
    findings.understood |= understood(query)
    is_grouped = bool(query.group_by) and not query.averaged
    is_ranking = is_grouped and query.order is not None
    # Of a superlative about more groups than anybody reads the first ones are the answer.
    if not query.limit and (query.select or (is_ranking and _count_groups(columns, query) > _BARS)):
        query = query.model_copy(update={"limit": _LIST})
    query = _with_ties(columns, query, findings)
    rows = findings.run(select(query, columns), columns)
    answer = _Aggregation(columns, query, findings, rows, matched)
    is_count = not query.group_by and not query.select and all(one.function == "count" for one in query.measures)
    if not (matched or is_count) or (is_grouped and not rows.rows):
        answer.say_nothing()
        return
    if query.select:
        answer.say_rows()
    elif is_grouped:
        answer.say_groups()
    else:
        answer.say_figures()
    whole = {one.column for one in query.within}
    for name, empty in zip(measured, gaps, strict=True):
        if empty and matched:  # no figure counts these rows, but a share is of them too
            so = "they are part of the whole" if name in whole else "its figures leave them out"
            findings.note(f"{{}} has no value in {empty:,} of {plural(matched, 'row')}; {so}.", code(name))
    if rows.truncated:
        findings.warn(
            "incomplete_context",
            f"Only the first {len(rows.rows):,} rows of the answer are given.",
            impact="Later rows are not shown.",
            recovery="Ask for the top few, or put more rows together.",
        )


def _with_ties(columns: Columns, query: TableQuery, findings: Findings) -> TableQuery:
    """`query` with a limit that parts no tie: of several with the same figure none is named as the one."""
    order, limit = query.order, query.limit
    if not limit or order is None or not (query.select or query.group_by):
        return query
    wider = query.model_copy(update={"limit": limit + _TIED})
    rows = columns.query(select(wider, columns), limit=limit + _TIED)
    if len(rows.rows) <= limit or (query.select and order.by not in rows.columns):
        return query
    at = rows.columns.index(order.by) if query.select else place_of_order(query, order)
    figures = [row[at] for row in rows.rows]
    end = next((place for place in range(limit, len(figures)) if figures[place] != figures[limit - 1]), len(figures))
    if end == limit:
        return query
    first = figures.index(figures[limit - 1])
    more = " or more" if end == limit + _TIED else ""
    findings.note(f"From place {first + 1} on {end - first}{more} are equal, so that {end} are shown and not {limit}.")
    return query.model_copy(update={"limit": end})


def _count_groups(columns: Columns, query: TableQuery) -> int:
    inner = select(query.model_copy(update={"limit": 0, "order": None}), columns)
    count = columns.query(f"SELECT count(*) FROM ({inner})").rows[0][0]
    return count if isinstance(count, int) else 0


@dataclass(slots=True)
class _Aggregation:
    """What the rows of a statement say.

    Attributes:
        matched: How many rows of the file fulfil the conditions.
    """

    columns: Columns
    query: TableQuery
    findings: Findings
    rows: Rows
    matched: int

    def say_nothing(self) -> None:
        """Say that no row fits, which is no answer."""
        path, rows = self.columns.source.path, self.columns.source.rows
        if not rows:
            self.findings.say("rows", "{} holds no rows.", code(path))
            self.findings.reject(f"{path} holds no rows.", hint="Name a file with rows.")
            return
        template = f"No row fits: of {rows:,} rows of {{}} there is none{{}}."
        self.findings.say("rows", template, code(path), where(self.query.where))
        hint = "Ask with fewer conditions; `understood` says how they were read."
        self.findings.reject(f"No row of {path} fits the conditions.", hint=hint)

    def say_figures(self) -> None:
        """One row of figures: a sentence each."""
        for measure, name, value in zip(self.query.measures, self.rows.columns, self.rows.rows[0], strict=False):
            if isinstance(value, int | float) and not isinstance(value, bool):
                self.findings.metrics[name] = value
            self._say_figure(measure, name, value)
        self.findings.show(self.columns.source.path, self.rows.columns, self.rows.rows, units=self._units())

    def _say_figure(self, measure: Measure, topic: str, value: Cell) -> None:
        path, fitting, query = code(self.columns.source.path), where(self.query.where), self.query
        figure = shown(value, self.columns.unit_of(measure))
        of_rows = Prose(f"{plural(self.matched, 'row')} of {{}}", (path,))
        say = self.findings.say
        if query.averaged:
            groups = first_of(code(group.label) for group in query.group_by)
            template = "The mean {} per {} is {}{}, over {} groups."
            say(topic, template, describe(measure), groups, figure, fitting, shown(self.rows.rows[0][-1]))
        elif measure.function == "count" and not measure.column:
            rows = self.columns.source.rows
            of_all = f" (of {rows:,})" if query.where and self.matched != rows else ""
            say(topic, f"{{}} of {{}}{of_all}{{}}.", rows_counted(value), path, fitting)
        elif measure.function == "share" and query.within:
            whole = Prose(f"{plural(self.matched, 'row')}{{}}", (fitting,)) if query.where else of_rows
            if measure.column:
                template = "{} of the total of {} in the {} is of those{}."
                say(topic, template, figure, code(measure.column), whole, where(query.within))
            else:
                counted = f"({round(value * self.matched / 100):,}) " if isinstance(value, int | float) else ""
                say(topic, f"{{}} {counted}of the {{}} are those{{}}.", figure, whole, where(query.within))
        else:
            say(topic, "The {} is {} in {}{}.", describe(measure), figure, of_rows, fitting)

    def _units(self) -> dict[str, str | None]:
        names = self.rows.columns[0 if self.query.averaged else len(self.query.group_by) :]
        return {name: self.columns.unit_of(one) for name, one in zip(names, self.query.measures, strict=False)}

    def say_groups(self) -> None:
        """A row for each group: the first ones in a sentence, all of them in a table and a chart."""
        columns, query, findings, rows = self.columns, self.query, self.findings, self.rows.rows
        width, order = len(query.group_by), query.order
        total = _count_groups(columns, query) if query.limit or self.rows.truncated else len(rows)
        at = max(0, place_of_order(query, order) - width) if order is not None else 0
        lead = query.measures[at]
        labels = [" / ".join(map(text_of, row[:width])) for row in rows]
        is_cut = len(labels) != total
        kept = f" ({len(labels)} of {total:,} groups)" if is_cut else ""
        groups, few = first_of(code(group.label) for group in query.group_by), self._first(labels, at)
        findings.say(lead.label, f"The {{}} by {{}}{{}}{kept}: {{}}.", describe(lead), groups, where(query.where), few)
        if not query.having and lead.function in ("count", "sum"):
            self._say_whole(lead, over=f", over all {total:,} groups" if is_cut else "")
        values = [row[width + at] for row in rows]
        if not is_cut and not self.rows.truncated and len(query.measures) == 1 and order is None:
            self._say_extremes(labels, values)
        for place, other in enumerate(query.measures[:_NAMED]):
            if place != at and other.column:
                findings.say(other.label, "The {}: {}.", describe(other), self._first(labels, place))
        findings.metrics["groups"] = total
        title = f"{lead.label} by {', '.join(group.label for group in query.group_by)}"
        findings.show(title, self.rows.columns, rows, units=self._units(), total=total)
        findings.about([row[0] for row in rows])
        is_line = width == 1 and order is None and is_serial(query.group_by[0], columns)
        if 2 <= len(labels) <= (_POINTS if is_line else _BARS):
            findings.chart(title, labels, values, kind="line" if is_line else "bar", unit=columns.unit_of(lead))

    def _first(self, labels: Sequence[str], place: int) -> Prose:
        """The first groups with their figures of one measure."""
        unit, column = self.columns.unit_of(self.query.measures[place]), len(self.query.group_by) + place
        pairs = zip(labels, self.rows.rows, strict=True)
        each = (Prose("{}: {}", (code(label), shown(row[column], unit))) for label, row in pairs)
        return first_of(each, _NAMED, more=", …")

    def _say_whole(self, lead: Measure, *, over: str) -> None:
        """What counts and totals come to over all groups, so that nobody takes those shown for all."""
        whole = self.query.model_copy(update={"measures": (lead,), "group_by": (), "order": None, "limit": 0})
        value = self.findings.run(select(whole, self.columns), self.columns).rows[0][0]
        if isinstance(value, int | float):
            self.findings.metrics[f"all {lead.label}"] = value
        figure = shown(value, self.columns.unit_of(lead)) if lead.column else rows_counted(value)
        self.findings.say(f"all {lead.label}", f"All together{over}: {{}}.", figure)

    def _say_extremes(self, labels: Sequence[str], values: Sequence[Cell]) -> None:
        """Where groups stand in the order of time, which is the highest and which the lowest is said."""
        (measure,) = self.query.measures
        numbers = [(value, name) for value, name in zip(values, labels, strict=True) if isinstance(value, int | float)]
        if len(numbers) < _LEAST_EXTREMES or len({value for value, _ in numbers}) < 2:
            return
        ends: list[Prose | str] = []
        for bound in (max(numbers)[0], min(numbers)[0]):
            tied = first_of((code(name) for value, name in numbers if value == bound), _NAMED, separator=" and ")
            ends += [tied, shown(bound, self.columns.unit_of(measure))]
        template = "The highest is {} with {}, the lowest {} with {}."
        self.findings.say(f"extremes of {measure.label}", template, *ends)

    def say_rows(self) -> None:
        """The rows themselves, in order."""
        path, order, rows = code(self.columns.source.path), self.query.order, self.rows.rows
        fitting, names = where(self.query.where), self.rows.columns
        if order is not None and order.by in names:
            place, key, unit = names.index(order.by), self.columns.key, self.columns.named(order.by).unit
            at = names.index(key) if key in names and key != order.by else None
            figures = [Prose("{}", (shown(row[place], unit),)) for row in rows]
            if at is not None:
                figures = [
                    Prose("{} with {}", (code(text_of(row[at])), one)) for row, one in zip(rows, figures, strict=True)
                ]
            way, few = "largest" if order.descending else "smallest", first_of(figures, _NAMED, more=", …")
            template = f"The {plural(len(rows), 'row')} of {{}} with the {way} {{}}{{}}: {{}}."
            self.findings.say(order.by, template, path, code(order.by), fitting, few)
        else:
            template = f"{len(rows):,} of {plural(self.matched, 'row')} of {{}}{{}}."
            self.findings.say("rows", template, path, fitting)
        self.findings.show(path.text, names, rows, total=self.matched)
