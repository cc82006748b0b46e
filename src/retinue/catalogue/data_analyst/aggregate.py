"""Figures over one file: the statement is run, and its rows become sentences, a table and a chart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from retinue.catalogue._prose import Prose, code, first_of
from retinue.catalogue._report import plural
from retinue.catalogue.data_analyst.columns import Columns
from retinue.catalogue.data_analyst.findings import (
    Findings,
    describe_measure,
    describe_query,
    format_row_count,
    format_value,
    label_of,
    where_clause,
)
from retinue.catalogue.data_analyst.query import conditions_sql, is_serial, order_index, select_sql
from retinue.contract.table import Cell
from retinue.contract.table_query import Measure, TableQuery
from retinue.tools.data import QueryRows

_DEFAULT_LIMIT: Final = 10
_MAX_NAMED: Final = 5
_MAX_BARS: Final = 30
_MAX_POINTS: Final = 500
_MIN_EXTREMES: Final = 3
_MAX_TIED: Final = 50
"""Rows beyond a limit that are shown when they are equal to its last one."""


def aggregate(columns: Columns, query: TableQuery, findings: Findings) -> None:
    """Answer `query`, into `findings`."""
    within = [one.column for one in query.share_conditions if one.op not in ("is_null", "not_null")]
    measured_columns = list(dict.fromkeys(filter(None, [*(one.column for one in query.measures), *within])))
    counts = ["count(*)", *(f"count(*) - count({columns.expression(name)})" for name in measured_columns)]
    matched, *gaps = (int(count or 0) for count in columns.row(counts, where=conditions_sql(query.where, columns)))
    findings.matched_rows = matched
    findings.columns |= query.named_columns
    findings.understood |= describe_query(query)
    is_grouped = bool(query.group_by) and not query.averaged
    is_ranking = is_grouped and query.order is not None
    # Of a superlative about more groups than anybody reads the first ones are the answer.
    if not query.limit and (query.select or (is_ranking and _count_groups(columns, query) > _MAX_BARS)):
        query = query.model_copy(update={"limit": _DEFAULT_LIMIT})
    query = _with_ties(columns, query, findings)
    rows = findings.run(select_sql(query, columns), columns)
    answer = _Aggregation(columns, query, findings, rows, matched)
    is_count = not query.group_by and not query.select and all(one.function == "count" for one in query.measures)
    if not (matched or is_count) or (is_grouped and not rows.rows):
        answer.report_no_rows()
        return
    if query.select:
        answer.report_rows()
    elif is_grouped:
        answer.report_groups()
    else:
        answer.report_figures()
    whole = {one.column for one in query.share_conditions}
    for name, empty in zip(measured_columns, gaps, strict=True):
        if empty and matched:  # no figure counts these rows, but a share is of them too
            effect = "they are part of the whole" if name in whole else "its figures leave them out"
            findings.note(f"{{}} has no value in {empty:,} of {plural(matched, 'row')}; {effect}.", code(name))
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
    extended = query.model_copy(update={"limit": limit + _MAX_TIED})
    rows = columns.query(select_sql(extended, columns), limit=limit + _MAX_TIED)
    if len(rows.rows) <= limit or (query.select and order.by not in rows.columns):
        return query
    at = rows.columns.index(order.by) if query.select else order_index(query, order)
    figures = [row[at] for row in rows.rows]
    end = next((place for place in range(limit, len(figures)) if figures[place] != figures[limit - 1]), len(figures))
    if end == limit:
        return query
    first = figures.index(figures[limit - 1])
    more = " or more" if end == limit + _MAX_TIED else ""
    findings.note(f"From place {first + 1} on {end - first}{more} are equal, so that {end} are shown and not {limit}.")
    return query.model_copy(update={"limit": end})


def _count_groups(columns: Columns, query: TableQuery) -> int:
    inner = select_sql(query.model_copy(update={"limit": 0, "order": None}), columns)
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
    rows: QueryRows
    matched: int

    def report_no_rows(self) -> None:
        """Say that no row fits, which is no answer."""
        path, rows = self.columns.source.path, self.columns.source.rows
        if not rows:
            self.findings.add("rows", "{} holds no rows.", code(path))
            self.findings.reject(f"{path} holds no rows.", hint="Name a file with rows.")
            return
        template = f"No row fits: of {rows:,} rows of {{}} there is none{{}}."
        self.findings.add("rows", template, code(path), where_clause(self.query.where))
        hint = "Ask with fewer conditions; `understood` says how they were read."
        self.findings.reject(f"No row of {path} fits the conditions.", hint=hint)

    def report_figures(self) -> None:
        """One row of figures: a sentence each."""
        for measure, name, value in zip(self.query.measures, self.rows.columns, self.rows.rows[0], strict=False):
            if isinstance(value, int | float) and not isinstance(value, bool):
                self.findings.metrics[name] = value
            self._report_figure(measure, name, value)
        self.findings.show(self.columns.source.path, self.rows.columns, self.rows.rows, units=self._column_units())

    def _report_figure(self, measure: Measure, topic: str, value: Cell) -> None:
        path, filter_text, query = code(self.columns.source.path), where_clause(self.query.where), self.query
        figure = format_value(value, self.columns.unit_of(measure))
        of_rows = Prose(f"{plural(self.matched, 'row')} of {{}}", (path,))
        add = self.findings.add
        if query.averaged:
            groups = first_of(code(group.label) for group in query.group_by)
            template = "The mean {} per {} is {}{}, over {} groups."
            add(
                topic,
                template,
                describe_measure(measure),
                groups,
                figure,
                filter_text,
                format_value(self.rows.rows[0][-1]),
            )
        elif measure.function == "count" and not measure.column:
            rows = self.columns.source.rows
            of_all = f" (of {rows:,})" if query.where and self.matched != rows else ""
            add(topic, f"{{}} of {{}}{of_all}{{}}.", format_row_count(value), path, filter_text)
        elif measure.function == "share" and query.share_conditions:
            whole = Prose(f"{plural(self.matched, 'row')}{{}}", (filter_text,)) if query.where else of_rows
            if measure.column:
                template = "{} of the total of {} in the {} is of those{}."
                add(topic, template, figure, code(measure.column), whole, where_clause(query.share_conditions))
            else:
                row_text = f"({round(value * self.matched / 100):,}) " if isinstance(value, int | float) else ""
                add(
                    topic,
                    f"{{}} {row_text}of the {{}} are those{{}}.",
                    figure,
                    whole,
                    where_clause(query.share_conditions),
                )
        else:
            add(topic, "The {} is {} in {}{}.", describe_measure(measure), figure, of_rows, filter_text)

    def _column_units(self) -> dict[str, str | None]:
        names = self.rows.columns[0 if self.query.averaged else len(self.query.group_by) :]
        return {name: self.columns.unit_of(one) for name, one in zip(names, self.query.measures, strict=False)}

    def report_groups(self) -> None:
        """A row for each group: the first ones in a sentence, all of them in a table and a chart."""
        columns, query, findings, rows = self.columns, self.query, self.findings, self.rows.rows
        width, order = len(query.group_by), query.order
        total = _count_groups(columns, query) if query.limit or self.rows.truncated else len(rows)
        at = max(0, order_index(query, order) - width) if order is not None else 0
        lead = query.measures[at]
        labels = [" / ".join(map(label_of, row[:width])) for row in rows]
        is_cut = len(labels) != total
        cut_note = f" ({len(labels)} of {total:,} groups)" if is_cut else ""
        groups, first_groups = first_of(code(group.label) for group in query.group_by), self._first_groups(labels, at)
        findings.add(
            lead.label,
            f"The {{}} by {{}}{{}}{cut_note}: {{}}.",
            describe_measure(lead),
            groups,
            where_clause(query.where),
            first_groups,
        )
        if not query.having and lead.function in ("count", "sum"):
            self._report_whole(lead, over=f", over all {total:,} groups" if is_cut else "")
        values = [row[width + at] for row in rows]
        if not is_cut and not self.rows.truncated and len(query.measures) == 1 and order is None:
            self._report_extremes(labels, values)
        for place, other in enumerate(query.measures[:_MAX_NAMED]):
            if place != at and other.column:
                findings.add(other.label, "The {}: {}.", describe_measure(other), self._first_groups(labels, place))
        findings.metrics["groups"] = total
        title = f"{lead.label} by {', '.join(group.label for group in query.group_by)}"
        findings.show(title, self.rows.columns, rows, units=self._column_units(), total=total)
        findings.add_subjects([row[0] for row in rows])
        is_line = width == 1 and order is None and is_serial(query.group_by[0], columns)
        if 2 <= len(labels) <= (_MAX_POINTS if is_line else _MAX_BARS):
            findings.add_chart(title, labels, values, kind="line" if is_line else "bar", unit=columns.unit_of(lead))

    def _first_groups(self, labels: Sequence[str], place: int) -> Prose:
        """The first groups with their figures of one measure."""
        unit, column = self.columns.unit_of(self.query.measures[place]), len(self.query.group_by) + place
        pairs = zip(labels, self.rows.rows, strict=True)
        each = (Prose("{}: {}", (code(label), format_value(row[column], unit))) for label, row in pairs)
        return first_of(each, _MAX_NAMED, more=", …")

    def _report_whole(self, measure: Measure, *, over: str) -> None:
        """What counts and totals come to over all groups, so that nobody takes those shown for all."""
        whole = self.query.model_copy(update={"measures": (measure,), "group_by": (), "order": None, "limit": 0})
        value = self.findings.run(select_sql(whole, self.columns), self.columns).rows[0][0]
        if isinstance(value, int | float):
            self.findings.metrics[f"all {measure.label}"] = value
        figure = format_value(value, self.columns.unit_of(measure)) if measure.column else format_row_count(value)
        self.findings.add(f"all {measure.label}", f"All together{over}: {{}}.", figure)

    def _report_extremes(self, labels: Sequence[str], values: Sequence[Cell]) -> None:
        """Where groups stand in the order of time, which is the highest and which the lowest is said."""
        (measure,) = self.query.measures
        numbers = [(value, name) for value, name in zip(values, labels, strict=True) if isinstance(value, int | float)]
        if len(numbers) < _MIN_EXTREMES or len({value for value, _ in numbers}) < 2:
            return
        ends: list[Prose | str] = []
        for bound in (max(numbers)[0], min(numbers)[0]):
            group_names = first_of(
                (code(name) for value, name in numbers if value == bound), _MAX_NAMED, separator=" and "
            )
            ends += [group_names, format_value(bound, self.columns.unit_of(measure))]
        template = "The highest is {} with {}, the lowest {} with {}."
        self.findings.add(f"extremes of {measure.label}", template, *ends)

    def report_rows(self) -> None:
        """The rows themselves, in order."""
        path, order, rows = code(self.columns.source.path), self.query.order, self.rows.rows
        filter_text, names = where_clause(self.query.where), self.rows.columns
        if order is not None and order.by in names:
            place, key, unit = names.index(order.by), self.columns.key, self.columns.resolve(order.by).unit
            at = names.index(key) if key in names and key != order.by else None
            figures = [Prose("{}", (format_value(row[place], unit),)) for row in rows]
            if at is not None:
                figures = [
                    Prose("{} with {}", (code(label_of(row[at])), one)) for row, one in zip(rows, figures, strict=True)
                ]
            direction, first_rows = (
                "largest" if order.descending else "smallest",
                first_of(figures, _MAX_NAMED, more=", …"),
            )
            template = f"The {plural(len(rows), 'row')} of {{}} with the {direction} {{}}{{}}: {{}}."
            self.findings.add(order.by, template, path, code(order.by), filter_text, first_rows)
        else:
            template = f"{len(rows):,} of {plural(self.matched, 'row')} of {{}}{{}}."
            self.findings.add("rows", template, path, filter_text)
        self.findings.show(path.text, names, rows, total=self.matched)
