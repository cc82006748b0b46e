"""A `TableQuery` held against the columns of a file, as one SELECT, and in sentences, tables and charts what it gives.

The statement is whole: values stand in it as literals, so that it can be run as shown. Names are quoted and texts are
escaped, so SQL in a column's name or in a value stays a name and a value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from retinue.catalogue._prose import code, first_of
from retinue.catalogue._report import plural
from retinue.contract.table import Cell
from retinue.contract.table_query import Condition, Grouping, Measure, Ordering, TableQuery, TimeUnit
from retinue.errors import InvalidInput
from retinue.tools.data.connection import literal
from retinue.tools.data.sources import QueryRows, identifier

from .columns import Columns
from .findings import Findings, describe_measure, describe_query, format_row_count, format_value, label_of, where_clause

_ANY_KIND: Final = ("contains", "not_contains", "is_null", "not_null")
_DEFAULT_PERCENTILES: Final = (50.0, 90.0, 95.0, 99.0)
_FUNCTIONS: Final = {"mean": "avg({})", "stddev": "stddev_samp({})", "count_distinct": "count(DISTINCT {})"}
_MAX_TIE_COLUMNS: Final = 8
_BUCKETS: Final[dict[TimeUnit, str]] = {
    "none": "{}",
    "second": "strftime(date_trunc('second', {}), '%Y-%m-%d %H:%M:%S')",
    "minute": "strftime(date_trunc('minute', {}), '%Y-%m-%d %H:%M')",
    "hour": "strftime(date_trunc('hour', {}), '%Y-%m-%d %H:00')",
    "day": "strftime({}, '%Y-%m-%d')",
    "week": "strftime(date_trunc('week', {}), '%Y-%m-%d')",
    "month": "strftime({}, '%Y-%m')",
    "quarter": "strftime({0}, '%Y') || '-Q' || quarter({0})",
    "year": "strftime({}, '%Y')",
    "weekday": "dayname({})",
    "hour_of_day": "hour({})",
}
"""Each as people write it; but for the weekdays their order is that of time. A week is named by its Monday."""


def resolve_query(query: TableQuery, columns: Columns) -> TableQuery:
    """`query` with the names of its columns as the file spells them.

    Raises:
        UnknownName: The file has no such column.
        InvalidInput: A figure or a comparison does not fit its column, or an order names nothing of the answer.
    """
    groups: list[Grouping] = []
    for at, group in enumerate(query.group_by):
        path = f"/parameters/group_by/{at}"
        column = columns.resolve(group.column, path=f"{path}/column")
        if group.unit != "none" and column.kind != "time":
            times = ", ".join(each.name for each in columns.of_kind("time")) or "none"
            message, hint = f"`{group.column}` holds no times.", f"Columns of times: {times}."
            raise InvalidInput(message, hint=hint, path=f"{path}/unit")
        groups.append(group.model_copy(update={"column": column.name}))
    parts = {
        "measures": tuple(
            _resolve_measure(one, f"/parameters/measures/{at}", columns) for at, one in enumerate(query.measures)
        ),
        "group_by": tuple(groups),
        "where": _resolve_conditions(query.where, "/parameters/where", columns),
        "having": tuple(
            one.model_copy(update={"column": _resolve_measure(one.measure, f"/parameters/having/{at}", columns).column})
            for at, one in enumerate(query.having)
        ),
        "select": tuple(
            name if name == "*" else columns.resolve(name, path=f"/parameters/select/{at}").name
            for at, name in enumerate(query.select)
        ),
        "order": None if query.order is None else _resolve_order(query.order, query, columns),
    }
    return query.model_copy(update=parts)


def _resolve_measure(one: Measure, path: str, columns: Columns) -> Measure:
    column = columns.resolve(one.column, path=f"{path}/column") if one.column else None
    if column is None and one.function not in ("count", "share"):
        names = ", ".join([*columns][:12])
        raise InvalidInput(f"`{one.function}` needs a column.", hint=f"Set `column` to one of {names}.", path=path)
    counts = one.function in ("count", "count_distinct", "min", "max")
    if column is not None and not counts and column.kind != "number":
        numbers = ", ".join(each.name for each in columns.of_kind("number")[:12]) or "none"
        raise InvalidInput(
            f"`{column.name}` holds no numbers, so `{one.function}` of it cannot be computed.",
            hint=f"Columns of numbers: {numbers}.",
            path=f"{path}/column",
        )
    where = _resolve_conditions(one.where, f"{path}/where", columns)
    return one.model_copy(update={"column": "" if column is None else column.name, "where": where})


def _resolve_conditions(conditions: Sequence[Condition], path: str, columns: Columns) -> tuple[Condition, ...]:
    resolved: list[Condition] = []
    for at, one in enumerate(conditions):
        column, values = columns.resolve(one.column, path=f"{path}/{at}/column"), one.values
        place, several = f"{path}/{at}/value", one.op in ("in", "not_in")
        if several != isinstance(one.value, tuple) or not values:
            need = "a list of values" if several else "one value"
            raise InvalidInput(f"`{one.op}` needs {need}.", hint=f"Set `value` to {need}.", path=place)
        text = next((value for value in values if isinstance(value, str)), None)
        if column.kind == "number" and text is not None and one.op not in _ANY_KIND:
            message = f"`{column.name}` holds numbers, and {text!r} is a text."
            raise InvalidInput(message, hint="Write the number without quotes.", path=place)
        if column.kind == "text":
            values = tuple(map(str, values))
        resolved.append(one.model_copy(update={"column": column.name, "value": values if several else values[0]}))
    return tuple(resolved)


def _resolve_order(order: Ordering, query: TableQuery, columns: Columns) -> Ordering:
    if not order.by or any(order.by in (one.label, one.function, one.column) for one in query.measures):
        return order
    name = columns.resolve(order.by, path="/parameters/order/by").name
    groups = [group.column for group in query.group_by]
    if not query.select and name not in groups:
        raise InvalidInput(
            f"The answer has no {order.by!r} to be ordered by.",
            hint=f"Name one of {', '.join([*(one.label for one in query.measures), *groups])}.",
            path="/parameters/order/by",
        )
    return order.model_copy(update={"by": name})


def with_percentiles(query: TableQuery, columns: Columns, points: Sequence[float]) -> TableQuery:
    """`query` with percentiles of its columns: `points`, else those it names, else 50, 90, 95 and 99.

    Raises:
        InvalidInput: No column of numbers is named, and there is not just one.
    """
    if not points and any(one.function == "percentile" for one in query.measures):
        return query
    names = dict.fromkeys(one.column for one in query.measures if one.column)
    chosen = [name for name in names if columns.resolve(name).kind == "number"]
    numbers = [one.name for one in columns.of_kind("number")]
    if not chosen and len(numbers) != 1:
        raise InvalidInput(
            "Percentiles need a column of numbers.",
            hint=f"Name one of {', '.join(numbers[:24])}." if numbers else "Name another file: this one has none.",
            path="/parameters/measures",
            suggestions=tuple(numbers[:24]),
        )
    measures = tuple(
        Measure(function="percentile", column=name, percentile=point)
        for name in chosen or numbers
        for point in points or _DEFAULT_PERCENTILES
    )
    return query.model_copy(update={"measures": measures, "select": (), "averaged": False})


def select_sql(query: TableQuery, columns: Columns) -> str:
    """The statement that answers `query`.

    Raises:
        UnknownName: The table has no such column.
    """
    where = [f"WHERE {conditions_sql(query.where, columns)}"] if query.where else []
    limit = [f"LIMIT {query.limit}"] if query.limit else []
    if query.select:
        names = () if "*" in query.select else query.select
        select_list = ", ".join(f"{columns.expression(name)} AS {_label(name)}" for name in names) or "*"
        order_by: list[str] = []
        if (order := query.order) is not None and order.by:
            # Ties are broken too, so that the same question has the same answer.
            rest = [*columns][:_MAX_TIE_COLUMNS] if columns.key is None else [columns.key]
            ties = [columns.expression(name) for name in rest if name != order.by]
            first = f"{columns.expression(order.by)} {'DESC' if order.descending else 'ASC'} NULLS LAST"
            order_by = [f"ORDER BY {', '.join([first, *ties])}"]
        return "\n".join([f"SELECT {select_list}", f"FROM {columns.table}", *where, *order_by, *limit])
    groups = [f"{bucket_sql(group, columns)} AS {_label(group.label)}" for group in query.group_by]
    figures = [f"{_measure_sql(one, columns)} AS {_label(one.label)}" for one in query.measures]
    # Each figure comes with the number of its rows, unless that is the figure.
    row_count = [] if Measure(function="count") in query.measures else ["count(*) AS rows"]
    lines = [f"SELECT {', '.join([*groups, *figures, *row_count])}", f"FROM {columns.table}", *where]
    if groups:
        lines.append(f"GROUP BY {', '.join(map(str, range(1, len(groups) + 1)))}")
    if query.having:
        having = (f"{_measure_sql(one.measure, columns)} {one.op} {literal(one.value)}" for one in query.having)
        lines.append(f"HAVING {' AND '.join(having)}")
    if query.averaged:
        inner = "\n  ".join(lines)
        means = [f"avg({_label(one.label)}) AS {_label(f'mean of {one.label}')}" for one in query.measures]
        return f"SELECT {', '.join(means)}, count(*) AS groups\nFROM (\n  {inner}\n)"
    return "\n".join([*lines, *([_group_order_sql(query, columns), *limit] if groups else [])])


def _label(name: str) -> str:
    """Any label as an SQL name."""
    return identifier(name.replace("\0", ""))


def _measure_sql(measure: Measure, columns: Columns) -> str:
    """The expression of one measure."""
    column = columns.expression(measure.column) if measure.column else ""
    if measure.function == "share":
        # `nullif` below: a total of 0 has no shares, and must not fail the whole statement.
        whole = f"sum({column})" if column else "count(*)"
        if measure.where:
            return f"100.0 * {whole} FILTER (WHERE {conditions_sql(measure.where, columns)}) / nullif({whole}, 0)"
        return f"100.0 * {whole} / sum({whole}) OVER ()"
    if measure.function == "percentile":
        return f"quantile_cont({column}, {measure.percentile / 100:.6g})"
    return _FUNCTIONS.get(measure.function, f"{measure.function}({{}})").format(column or "*")


def bucket_sql(group: Grouping, columns: Columns) -> str:
    """The expression of one group."""
    return _BUCKETS[group.unit].format(columns.expression(group.column))


def conditions_sql(conditions: Sequence[Condition], columns: Columns) -> str:
    """All conditions at once."""
    parts: list[str] = []
    for one in conditions:
        column, operator, values = columns.expression(one.column), one.op, one.values
        if one.part != "none":
            column = f"{'isodow' if one.part == 'weekday' else one.part}({column})"
        # `LIKE` would take `%` and `_` in the value as patterns.
        contains = f"contains(lower(CAST({column} AS VARCHAR)), lower({literal(str(values[0]))}))" if values else ""
        among = f"({', '.join(map(literal, values))})"
        sql = {
            "is_null": f"{column} IS NULL",
            "not_null": f"{column} IS NOT NULL",
            "in": f"{column} IN {among}",
            "not_in": f"({column} NOT IN {among} OR {column} IS NULL)",
            "contains": contains,
            "not_contains": f"({column} IS NULL OR NOT {contains})",
        }.get(operator)
        comparison = "IS DISTINCT FROM" if operator == "!=" else operator
        parts.append(f"{column} {comparison} {literal(values[0])}" if sql is None else sql)
    return " AND ".join(parts) or "TRUE"


def _group_order_sql(query: TableQuery, columns: Columns) -> str:
    """As asked; else what follows each other in that order, and other groups by the first figure, the largest first."""
    serial = next((group for group in query.group_by if is_serial(group, columns)), None)
    order = query.order or (Ordering(by=serial.column, descending=False) if serial else Ordering())
    groups, first = len(query.group_by), order_index(query, order)
    by = str(first + 1)
    if first < groups and query.group_by[first].unit == "weekday":
        by = f"min(isodow({columns.expression(query.group_by[first].column)}))"
    # Ties are broken by the groups, so that the same question has the same answer.
    ties = [str(place + 1) for place in range(groups) if place != first]
    first_by = f"{by} {'DESC' if order.descending else 'ASC'} NULLS LAST"
    return f"ORDER BY {', '.join([first_by, *ties])}"


def order_index(query: TableQuery, order: Ordering) -> int:
    """Which column of the answer groups are ordered by, from 0: a group's, or a measure's behind them."""
    groups = [group.column for group in query.group_by]
    figures = [place for place, one in enumerate(query.measures) if order.by in (one.label, one.function, one.column)]
    if not figures and order.by in groups:
        return groups.index(order.by)
    return len(groups) + (figures[0] if figures else 0)


def is_serial(group: Grouping, columns: Columns) -> bool:
    """Whether its values follow each other, as times and numbers do."""
    return group.unit != "none" or columns.resolve(group.column).kind in ("number", "time")


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
            findings.note(f"{code(name)} has no value in {empty:,} of {plural(matched, 'row')}; {effect}.")
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
            self.findings.add("rows", f"{code(path)} holds no rows.")
            self.findings.reject(f"{path} holds no rows.", hint="Name a file with rows.")
            return
        none = f"there is none{where_clause(self.query.where)}"
        self.findings.add("rows", f"No row fits: of {rows:,} rows of {code(path)} {none}.")
        hint = "Ask with fewer conditions; `understood` says how they were read."
        self.findings.reject(f"No row of {path} fits the conditions.", hint=hint)

    def report_figures(self) -> None:
        """One row of figures: a sentence each."""
        for measure, name, value in zip(self.query.measures, self.rows.columns, self.rows.rows[0], strict=False):
            if isinstance(value, int | float) and not isinstance(value, bool):
                self.findings.metrics[name] = value
            self.findings.add(name, self._figure_sentence(measure, value))
        self.findings.show(self.columns.source.path, self.rows.columns, self.rows.rows, units=self._column_units())

    def _figure_sentence(self, measure: Measure, value: Cell) -> str:
        path, filter_text, query = code(self.columns.source.path), where_clause(self.query.where), self.query
        figure = format_value(value, self.columns.unit_of(measure))
        of_rows = f"{plural(self.matched, 'row')} of {path}"
        if query.averaged:
            groups, over = first_of(code(group.label) for group in query.group_by), format_value(self.rows.rows[0][-1])
            return f"The mean {describe_measure(measure)} per {groups} is {figure}{filter_text}, over {over} groups."
        if measure.function == "count" and not measure.column:
            rows = self.columns.source.rows
            of_all = f" (of {rows:,})" if query.where and self.matched != rows else ""
            return f"{format_row_count(value)} of {path}{of_all}{filter_text}."
        if measure.function == "share" and query.share_conditions:
            whole = f"{plural(self.matched, 'row')}{filter_text}" if query.where else of_rows
            part = where_clause(query.share_conditions)
            if measure.column:
                return f"{figure} of the total of {code(measure.column)} in the {whole} is of those{part}."
            count = f"({round(value * self.matched / 100):,}) " if isinstance(value, int | float) else ""
            return f"{figure} {count}of the {whole} are those{part}."
        return f"The {describe_measure(measure)} is {figure} in {of_rows}{filter_text}."

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
        text = f"The {describe_measure(lead)} by {groups}{where_clause(query.where)}{cut_note}: {first_groups}."
        findings.add(lead.label, text)
        if not query.having and lead.function in ("count", "sum"):
            # The total over all groups, so that those shown are not taken for all of them.
            over = f", over all {total:,} groups" if is_cut else ""
            whole = query.model_copy(update={"measures": (lead,), "group_by": (), "order": None, "limit": 0})
            value = findings.run(select_sql(whole, columns), columns).rows[0][0]
            if isinstance(value, int | float):
                findings.metrics[f"all {lead.label}"] = value
            figure = format_value(value, columns.unit_of(lead)) if lead.column else format_row_count(value)
            findings.add(f"all {lead.label}", f"All together{over}: {figure}.")
        values = [row[width + at] for row in rows]
        if not is_cut and not self.rows.truncated and len(query.measures) == 1 and order is None:
            self._report_extremes(labels, values)
        for place, other in enumerate(query.measures[:_MAX_NAMED]):
            if place != at and other.column:
                findings.add(other.label, f"The {describe_measure(other)}: {self._first_groups(labels, place)}.")
        findings.metrics["groups"] = total
        title = f"{lead.label} by {', '.join(group.label for group in query.group_by)}"
        findings.show(title, self.rows.columns, rows, units=self._column_units(), total=total)
        findings.add_subjects([row[0] for row in rows])
        is_line = width == 1 and order is None and is_serial(query.group_by[0], columns)
        if 2 <= len(labels) <= (_MAX_POINTS if is_line else _MAX_BARS):
            findings.add_chart(title, labels, values, kind="line" if is_line else "bar", unit=columns.unit_of(lead))

    def _first_groups(self, labels: Sequence[str], place: int) -> str:
        """The first groups with their figures of one measure."""
        unit, column = self.columns.unit_of(self.query.measures[place]), len(self.query.group_by) + place
        pairs = zip(labels, self.rows.rows, strict=True)
        each = (f"{code(label)}: {format_value(row[column], unit)}" for label, row in pairs)
        return first_of(each, _MAX_NAMED, more=", …")

    def _report_extremes(self, labels: Sequence[str], values: Sequence[Cell]) -> None:
        """Where groups stand in the order of time, which is the highest and which the lowest is said."""
        (measure,) = self.query.measures
        numbers = [(value, name) for value, name in zip(values, labels, strict=True) if isinstance(value, int | float)]
        if len(numbers) < _MIN_EXTREMES or len({value for value, _ in numbers}) < 2:
            return
        ends: list[str] = []
        for bound in (max(numbers)[0], min(numbers)[0]):
            names = first_of((code(name) for value, name in numbers if value == bound), _MAX_NAMED, separator=" and ")
            ends.append(f"{names} with {format_value(bound, self.columns.unit_of(measure))}")
        self.findings.add(f"extremes of {measure.label}", f"The highest is {ends[0]}, the lowest {ends[1]}.")

    def report_rows(self) -> None:
        """The rows themselves, in order."""
        path, order, rows = code(self.columns.source.path), self.query.order, self.rows.rows
        filter_text, names = where_clause(self.query.where), self.rows.columns
        if order is not None and order.by in names:
            place, key, unit = names.index(order.by), self.columns.key, self.columns.resolve(order.by).unit
            at = names.index(key) if key in names and key != order.by else None
            figures = [format_value(row[place], unit) for row in rows]
            if at is not None:
                figures = [f"{code(label_of(row[at]))} with {one}" for row, one in zip(rows, figures, strict=True)]
            which = f"the {'largest' if order.descending else 'smallest'} {code(order.by)}{filter_text}"
            first_rows = first_of(figures, _MAX_NAMED, more=", …")
            self.findings.add(order.by, f"The {plural(len(rows), 'row')} of {path} with {which}: {first_rows}.")
        else:
            self.findings.add("rows", f"{len(rows):,} of {plural(self.matched, 'row')} of {path}{filter_text}.")
        self.findings.show(self.columns.source.path, names, rows, total=self.matched)
