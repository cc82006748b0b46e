"""Figures over one file: the statement is run, and its rows become sentences, a table and a chart."""

# ruff: noqa: S608
# names are quoted by `identifier` and values by `literal`, so the statements below hold nothing else of anybody's

from collections.abc import Sequence
from typing import Final

from retinue.catalogue._prose import Prose, code
from retinue.catalogue._report import plural
from retinue.catalogue.data_analyst import sql
from retinue.catalogue.data_analyst.columns import Columns
from retinue.catalogue.data_analyst.findings import Findings, chart_of, table_of
from retinue.catalogue.data_analyst.words import describe, listed, rows_counted, shown, text_of, understood, where
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
    matched, gaps = _facts(columns, query)
    findings.matched_rows = matched
    findings.columns |= query.named_columns
    findings.understood |= understood(query)
    if not query.limit and (query.select or _is_long(columns, query)):
        query = query.model_copy(update={"limit": _LIST})
    query = _with_ties(columns, query, findings)
    statement = sql.select(query, columns)
    is_count = not query.group_by and not query.select and all(one.function == "count" for one in query.measures)
    rows = findings.run(statement, columns)
    if not (matched or is_count) or (query.group_by and not query.averaged and not rows.rows):
        _say_nothing(columns, query, findings)
        return
    if query.select:
        _list(rows, columns, query, findings, matched)
    elif query.group_by and not query.averaged:
        _groups(rows, columns, query, findings)
    else:
        _figures(rows, columns, query, findings, matched)
    whole = {one.column for one in query.within}
    for name, empty in gaps.items():
        if empty and matched:  # no figure counts these rows, but a share is of them too
            so = "they are part of the whole" if name in whole else "its figures leave them out"
            findings.note(f"`{name}` has no value in {empty:,} of {plural(matched, 'row')}; {so}.")
    if rows.truncated:
        findings.report.warn(
            "incomplete_context",
            f"Only the first {len(rows.rows):,} rows of the answer are given.",
            impact="Later rows are not shown.",
            recovery="Ask for the top few, or put more rows together.",
        )


def _is_long(columns: Columns, query: TableQuery) -> bool:
    """Whether a superlative is asked about more groups than anybody reads: the first ones are the answer."""
    is_ranking = query.group_by and not query.averaged and query.order is not None
    return bool(is_ranking) and _count_groups(columns, query) > _BARS


def _with_ties(columns: Columns, query: TableQuery, findings: Findings) -> TableQuery:
    """`query` with a limit that parts no tie: of several with the same figure none is named as the one."""
    order, limit = query.order, query.limit
    if not limit or order is None or not (query.select or query.group_by):
        return query
    wider = query.model_copy(update={"limit": limit + _TIED})
    rows = columns.query(sql.select(wider, columns), limit=limit + _TIED)
    if len(rows.rows) <= limit or (query.select and order.by not in rows.columns):
        return query
    at = rows.columns.index(order.by) if query.select else sql.place_of_order(query, order)
    figures = [row[at] for row in rows.rows]
    end = next((place for place in range(limit, len(figures)) if figures[place] != figures[limit - 1]), len(figures))
    if end == limit:
        return query
    first = figures.index(figures[limit - 1])
    more = " or more" if end == limit + _TIED else ""
    findings.note(f"From place {first + 1} on {end - first}{more} are equal, so that {end} are shown and not {limit}.")
    return query.model_copy(update={"limit": end})


def _facts(columns: Columns, query: TableQuery) -> tuple[int, dict[str, int]]:
    """How many rows fulfil the conditions, and in how many of them a measured column is empty."""
    within = [one.column for one in query.within if one.op not in ("is_null", "not_null")]
    measured = list(dict.fromkeys(filter(None, [*(one.column for one in query.measures), *within])))
    counts = ["count(*)", *(f"count(*) - count({columns.expression(name)})" for name in measured)]
    row = columns.row(counts, where=sql.every(query.where, columns))
    numbers = [int(value) if isinstance(value, int | float) else 0 for value in row]
    return numbers[0], dict(zip(measured, numbers[1:], strict=True))


def _say_nothing(columns: Columns, query: TableQuery, findings: Findings) -> None:
    path, rows = columns.source.path, columns.source.rows
    if not rows:
        findings.say("rows", "{} holds no rows.", code(path))
        findings.report.reject(f"{path} holds no rows.", hint="Name a file with rows.")
        return
    findings.say("rows", f"No row fits: of {rows:,} rows of {{}} there is none{{}}.", code(path), where(query.where))
    hint = "Ask with fewer conditions; `understood` says how they were read."
    findings.report.reject(f"No row of {path} fits the conditions.", hint=hint)


def _figures(rows: Rows, columns: Columns, query: TableQuery, findings: Findings, matched: int) -> None:
    """One row of figures: a sentence each."""
    path, fitting, row = code(columns.source.path), where(query.where), rows.rows[0]
    for measure, name, value in zip(query.measures, rows.columns, row, strict=False):
        if isinstance(value, int | float) and not isinstance(value, bool):
            findings.metrics[name] = value
        figure, of_rows = shown(value, columns.unit_of(measure)), Prose(f"{plural(matched, 'row')} of {{}}", (path,))
        if query.averaged:
            groups = listed(code(group.label) for group in query.group_by)
            template = "The mean {} per {} is {}{}, over {} groups."
            findings.say(name, template, describe(measure), groups, figure, fitting, shown(row[-1]))
        elif measure.function == "count" and not measure.column:
            of_all = f" (of {columns.source.rows:,})" if query.where and matched != columns.source.rows else ""
            findings.say(name, f"{{}} of {{}}{of_all}{{}}.", rows_counted(value), path, fitting)
        elif measure.function == "share" and query.within:
            whole = Prose(f"{plural(matched, 'row')}{{}}", (fitting,)) if query.where else of_rows
            inner = where(query.within)
            if measure.column:
                template = "{} of the total of {} in the {} is of those{}."
                findings.say(name, template, figure, code(measure.column), whole, inner)
            else:
                counted = f"({round(value * matched / 100):,}) " if isinstance(value, int | float) else ""
                findings.say(name, f"{{}} {counted}of the {{}} are those{{}}.", figure, whole, inner)
        else:
            findings.say(name, "The {} is {} in {}{}.", describe(measure), figure, of_rows, fitting)
    findings.show(table_of(rows, title=columns.source.path, units=_units(rows, query, columns, offset=0)))


def _units(rows: Rows, query: TableQuery, columns: Columns, *, offset: int) -> dict[str, str | None]:
    return {
        name: columns.unit_of(measure) for name, measure in zip(rows.columns[offset:], query.measures, strict=False)
    }


def _groups(rows: Rows, columns: Columns, query: TableQuery, findings: Findings) -> None:
    """A row for each group: the first ones in a sentence, all of them in a table and a chart."""
    width, order = len(query.group_by), query.order
    total = _count_groups(columns, query) if query.limit or rows.truncated else len(rows.rows)
    at = max(0, sql.place_of_order(query, order) - width) if order is not None else 0
    lead = query.measures[at]
    labels = [" / ".join(map(text_of, row[:width])) for row in rows.rows]
    is_cut = len(labels) != total
    kept = f" ({len(labels)} of {total:,} groups)" if is_cut else ""
    groups = listed(code(group.label) for group in query.group_by)
    few = _few(labels, rows, columns, lead, width + at)
    findings.say(lead.label, f"The {{}} by {{}}{{}}{kept}: {{}}.", describe(lead), groups, where(query.where), few)
    if not query.having and lead.function in ("count", "sum"):
        _say_whole(columns, query, findings, lead, over=f", over all {total:,} groups" if is_cut else "")
    values = [row[width + at] for row in rows.rows]
    if not is_cut and not rows.truncated and len(query.measures) == 1 and order is None:
        _say_extremes(labels, values, findings, topic=lead.label, unit=columns.unit_of(lead))
    for place, other in enumerate(query.measures[:_NAMED]):
        if place != at and other.column:
            findings.say(other.label, "The {}: {}.", describe(other), _few(labels, rows, columns, other, width + place))
    findings.metrics["groups"] = total
    title = f"{lead.label} by {', '.join(group.label for group in query.group_by)}"
    is_line = width == 1 and order is None and sql.is_serial(query.group_by[0], columns)
    is_drawn = 2 <= len(labels) <= (_POINTS if is_line else _BARS)
    chart = chart_of(labels, values, title=title, line=is_line, unit=columns.unit_of(lead)) if is_drawn else None
    units = _units(rows, query, columns, offset=width)
    findings.show(table_of(rows, title=title, units=units, total=total), chart, subjects=[row[0] for row in rows.rows])


def _few(labels: Sequence[str], rows: Rows, columns: Columns, measure: Measure, place: int) -> Prose:
    """The first groups with their figures."""
    pairs = zip(labels[:_NAMED], rows.rows, strict=False)
    unit = columns.unit_of(measure)
    each = (Prose("{}: {}", (code(label), shown(row[place], unit))) for label, row in pairs)
    return listed(each, more=", …" if len(labels) > _NAMED else "")


def _say_whole(columns: Columns, query: TableQuery, findings: Findings, lead: Measure, *, over: str) -> None:
    """What counts and totals come to over all groups, so that nobody takes those shown for all."""
    whole = query.model_copy(update={"measures": (lead,), "group_by": (), "order": None, "limit": 0})
    statement = sql.select(whole, columns)
    value = findings.run(statement, columns).rows[0][0]
    if isinstance(value, int | float):
        findings.metrics[f"all {lead.label}"] = value
    figure = shown(value, columns.unit_of(lead)) if lead.column else rows_counted(value)
    findings.say(f"all {lead.label}", f"All together{over}: {{}}.", figure)


def _say_extremes(
    labels: Sequence[str], values: Sequence[Cell], findings: Findings, *, topic: str, unit: str | None
) -> None:
    """Where groups stand in the order of time, which is the highest and which the lowest is said."""
    numbers = [(value, label) for value, label in zip(values, labels, strict=True) if isinstance(value, int | float)]
    if len(numbers) < _LEAST_EXTREMES or len({value for value, _ in numbers}) < 2:
        return
    ends: list[Prose | str] = []
    for bound in (max(numbers)[0], min(numbers)[0]):
        tied = [code(label) for value, label in numbers if value == bound]
        more = f" and {len(tied) - _NAMED} more" if len(tied) > _NAMED else ""
        names = tuple(tied[:_NAMED])
        ends += [Prose(" and ".join(["{}"] * len(names)) + more, names), shown(bound, unit)]
    findings.say(f"extremes of {topic}", "The highest is {} with {}, the lowest {} with {}.", *ends)


def _count_groups(columns: Columns, query: TableQuery) -> int:
    inner = sql.select(query.model_copy(update={"limit": 0, "order": None}), columns)
    count = columns.query(f"SELECT count(*) FROM ({inner})", limit=1).rows[0][0]
    return count if isinstance(count, int) else 0


def _list(rows: Rows, columns: Columns, query: TableQuery, findings: Findings, matched: int) -> None:
    """The rows themselves, in order."""
    path, order = code(columns.source.path), query.order
    if order is not None and order.by in rows.columns:
        place, key = rows.columns.index(order.by), columns.key
        at = rows.columns.index(key) if key in rows.columns and key != order.by else None
        unit = columns.named(order.by).unit
        few = listed(
            (
                Prose("{}", (shown(row[place], unit),))
                if at is None
                else Prose("{} with {}", (code(text_of(row[at])), shown(row[place], unit)))
                for row in rows.rows[:_NAMED]
            ),
            more=", …" if len(rows.rows) > _NAMED else "",
        )
        way = "largest" if order.descending else "smallest"
        template = f"The {plural(len(rows.rows), 'row')} of {{}} with the {way} {{}}{{}}: {{}}."
        findings.say(order.by, template, path, code(order.by), where(query.where), few)
    else:
        counted = f"{len(rows.rows):,} of {plural(matched, 'row')}"
        findings.say("rows", f"{counted} of {{}}{{}}.", path, where(query.where))
    findings.show(table_of(rows, title=columns.source.path, total=matched))
