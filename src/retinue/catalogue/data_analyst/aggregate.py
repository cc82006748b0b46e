"""Figures over one file: the statement is run, and its rows become sentences, a table and a chart."""

# ruff: noqa: S608
# names are quoted by `identifier` and values by `literal`, so the statements below hold nothing else of anybody's

from collections.abc import Sequence
from typing import Final

from retinue.catalogue._prose import Piece, code
from retinue.catalogue.data_analyst import sql
from retinue.catalogue.data_analyst.columns import Columns
from retinue.catalogue.data_analyst.report import Report, chart_of, table_of
from retinue.catalogue.data_analyst.shown import condition_words, measure_words, plural, shown, text_of
from retinue.contract.table import Cell
from retinue.contract.table_query import Condition, Measure, TableQuery
from retinue.tools.data import Data, Rows, Source

__all__ = ["aggregate", "describe", "explain", "filters", "unit_of", "where"]

_ROWS: Final = 1_000
_LIST: Final = 10
_NAMED: Final = 5
_BARS: Final = 30
_POINTS: Final = 500
_LEAST_EXTREMES: Final = 3
_TIED: Final = 50
"""Rows beyond a limit that are shown when they are equal to its last one."""


def aggregate(data: Data, columns: Columns, query: TableQuery, report: Report) -> None:
    """Answer `query`, into `report`."""
    matched, gaps = _facts(data, columns, query)
    report.matched_rows = matched
    report.about |= query.named_columns
    explain(query, report)
    if not query.limit and (query.select or _is_long(data, columns, query)):
        query = query.model_copy(update={"limit": _LIST})
    query = _with_ties(data, columns, query, report)
    statement = sql.select(query, columns)
    report.sql.append(sql.stated(statement, columns))
    is_count = not query.group_by and not query.select and all(one.function == "count" for one in query.measures)
    if not matched and not is_count:
        _nothing(columns, query, report)
        return
    rows = data.query(statement, limit=_ROWS)
    if query.select:
        _list(rows, columns, query, report, matched)
    elif query.group_by and not query.averaged:
        _groups(data, rows, columns, query, report)
    else:
        _figures(rows, columns, query, report, matched)
    _say_gaps(gaps, matched, report, whole={one.column for one in query.within})
    if rows.truncated:
        report.warn(
            "incomplete_context",
            f"Only the first {len(rows.rows):,} rows of the answer are given.",
            impact="Later rows are not shown.",
            recovery="Ask for the top few, or put more rows together.",
        )


def _is_long(data: Data, columns: Columns, query: TableQuery) -> bool:
    """Whether a superlative is asked about more groups than anybody reads: the first ones are the answer."""
    if not query.group_by or query.averaged or query.order is None:
        return False
    return _count_groups(data, columns, query) > _BARS


def _with_ties(data: Data, columns: Columns, query: TableQuery, report: Report) -> TableQuery:
    """`query` with a limit that parts no tie: of several with the same figure none is named as the one."""
    order, limit = query.order, query.limit
    if not limit or order is None or not (query.select or query.group_by):
        return query
    wider = query.model_copy(update={"limit": limit + _TIED})
    rows = data.query(sql.select(wider, columns), limit=limit + _TIED)
    if len(rows.rows) <= limit:
        return query
    if query.select and order.by not in rows.columns:
        return query
    at = rows.columns.index(order.by) if query.select else sql.place_of_order(query, order)
    figures = [row[at] for row in rows.rows]
    end = next((place for place in range(limit, len(figures)) if figures[place] != figures[limit - 1]), len(figures))
    if end == limit:
        return query
    first = figures.index(figures[limit - 1])
    more = " or more" if end == limit + _TIED else ""
    report.note(f"From place {first + 1} on {end - first}{more} are equal, so that {end} are shown and not {limit}.")
    return query.model_copy(update={"limit": end})


def describe(measure: Measure) -> tuple[str, list[Piece]]:
    """A measure as a noun, and the pieces for its `{}`."""
    return measure_words(measure), [] if not measure.column else [code(measure.column)]


def where(conditions: Sequence[Condition]) -> tuple[str, list[Piece]]:
    """The conditions as the end of a sentence (" where … and …"), and the pieces for its `{}`."""
    said = [condition_words(one) for one in conditions]
    template = " and ".join(words for words, _ in said)
    return (f" where {template}" if said else ""), [piece for _, pieces in said for piece in pieces]


def explain(query: TableQuery, report: Report) -> None:
    """How the words were read, for `understood`."""
    found: dict[str, list[str]] = {
        "measure": ["the rows themselves"] if query.select else [_plain(*describe(one)) for one in query.measures],
        "group": [one.label for one in query.group_by],
        "filter": filters((*query.where, *query.within)),
        "having": [f"{one.measure.label} {one.op} {one.value:g}" for one in query.having],
    }
    if query.order is not None:
        by = query.order.by or (query.measures[0].label if query.measures else "")
        found["order"] = [f"{by}, {'largest first' if query.order.descending else 'smallest first'}"]
    report.understood |= {key: lines for key, lines in found.items() if lines}


def filters(conditions: Sequence[Condition]) -> list[str]:
    """Each condition in words."""
    return [_plain(*condition_words(one)) for one in conditions]


def _plain(template: str, pieces: list[Piece]) -> str:
    return template.format(*(piece.plain() for piece in pieces))


def _facts(data: Data, columns: Columns, query: TableQuery) -> tuple[int, dict[str, int]]:
    """How many rows fulfil the conditions, and in how many of them a measured column is empty."""
    within = [one.column for one in query.within if one.op not in ("is_null", "not_null")]
    named = [*(one.column for one in query.measures), *within]
    measured = list(dict.fromkeys(filter(None, named)))
    counts = ", ".join(["count(*)", *(f"count(*) - count({columns.expression(name)})" for name in measured)])
    row = data.query(f"SELECT {counts} FROM {columns.table} WHERE {sql.every(query.where, columns)}").rows[0]
    numbers = [int(value) if isinstance(value, int | float) else 0 for value in row]
    return numbers[0], dict(zip(measured, numbers[1:], strict=True))


def _nothing(columns: Columns, query: TableQuery, report: Report) -> None:
    words, pieces = where(query.where)
    path = columns.source.path
    if not columns.source.rows:
        report.say("rows", "{} holds no rows.", code(path), source=path)
        report.reject(f"{path} holds no rows.", hint="Name a file with rows.")
        return
    report.say(
        "rows",
        f"No row fits: of {columns.source.rows:,} rows of {{}} there is none{words}.",
        code(path),
        *pieces,
        source=path,
    )
    report.reject(
        f"No row of {path} fits the conditions.",
        hint="Ask with fewer conditions; `understood` says how they were read.",
    )


def _figures(rows: Rows, columns: Columns, query: TableQuery, report: Report, matched: int) -> None:
    """One row of figures: a sentence each."""
    source = columns.source
    row = rows.rows[0]
    words, pieces = where(query.where)
    for measure, name, value in zip(query.measures, rows.columns, row, strict=False):
        number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
        if number is not None:
            report.metrics[name] = number
        unit = unit_of(measure, columns)
        said, said_pieces = describe(measure)
        if query.averaged:
            per = ", ".join(["{}"] * len(query.group_by))
            report.say(
                name,
                f"The mean {said} per {per} is {{}}{words}, over {{}} groups.",
                *said_pieces,
                *(code(group.label) for group in query.group_by),
                shown(value, unit),
                *pieces,
                shown(row[-1]),
                source=source.path,
            )
        elif measure.function == "count" and not measure.column:
            report.say(
                name,
                f"{{}} of {{}}{_of_all(matched, source, query)}{words}.",
                _rows_counted(value),
                code(source.path),
                *pieces,
                source=source.path,
            )
        elif measure.function == "share" and query.within:
            inner, inner_pieces = where(query.within)
            base = f"{plural(matched, 'row')}{words}" if query.where else f"{plural(matched, 'row')} of {{}}"
            base_pieces = pieces if query.where else [code(source.path)]
            whole = "" if not measure.column else "total of {} in the "
            counted = [] if whole or number is None else [f"{round(number * matched / 100):,}"]
            report.say(
                name,
                f"{{}} {'({}) ' if counted else ''}of the {whole}{base} {'is of' if whole else 'are'} those{inner}.",
                shown(value, "%"),
                *counted,
                *([code(measure.column)] if measure.column else []),
                *base_pieces,
                *inner_pieces,
                source=source.path,
            )
        else:
            of_rows = f" in {plural(matched, 'row')} of {{}}"
            report.say(
                name,
                f"The {said} is {{}}{of_rows}{words}.",
                *said_pieces,
                shown(value, unit),
                code(source.path),
                *pieces,
                source=source.path,
            )
    report.show(table_of(rows, title=source.path, units=_units(rows, query, columns, offset=0)))


def _rows_counted(value: Cell) -> str:
    """A count with its noun."""
    return plural(int(value), "row") if isinstance(value, int | float) else shown(value)


def _of_all(matched: int, source: Source, query: TableQuery) -> str:
    return f" (of {source.rows:,})" if query.where and matched != source.rows else ""


def unit_of(measure: Measure, columns: Columns) -> str | None:
    """What a measure's figure counts, when that is known."""
    if measure.function == "share":
        return "%"
    if not measure.column or measure.function in ("count", "count_distinct"):
        return None
    return columns.named(measure.column).unit


def _units(rows: Rows, query: TableQuery, columns: Columns, *, offset: int) -> dict[str, str]:
    names = rows.columns[offset : offset + len(query.measures)]
    found = {name: unit_of(measure, columns) for name, measure in zip(names, query.measures, strict=False)}
    return {name: unit for name, unit in found.items() if unit is not None}


def _groups(data: Data, rows: Rows, columns: Columns, query: TableQuery, report: Report) -> None:
    """A row for each group: the first ones in a sentence, all of them in a table and a chart."""
    source, width = columns.source, len(query.group_by)
    words, pieces = where(query.where)
    if not rows.rows:
        _nothing(columns, query, report)
        return
    total = _group_count(data, rows, columns, query)
    order = query.order
    at = max(0, sql.place_of_order(query, order) - width) if order is not None else 0
    lead = query.measures[at]
    said, said_pieces = describe(lead)
    labels = [_label(row[:width]) for row in rows.rows]
    unit = unit_of(lead, columns)
    values = [row[width + at] for row in rows.rows]
    named = ", ".join(["{}: {}"] * min(_NAMED, len(labels)))
    listed = [
        piece
        for label, value in zip(labels[:_NAMED], values, strict=False)
        for piece in (code(label), shown(value, unit))
    ]
    by = ", ".join(["{}"] * width)
    kept = "" if len(labels) == total else f" ({len(labels)} of {total:,} groups)"
    report.say(
        lead.label,
        f"The {said} by {by}{words}{kept}: {named}{', …' if len(labels) > _NAMED else ''}.",
        *said_pieces,
        *(code(group.label) for group in query.group_by),
        *pieces,
        *listed,
        source=source.path,
    )
    is_whole = len(labels) == total and not rows.truncated
    _say_all(data, columns, query, report, lead, groups=0 if len(labels) == total else total)
    if is_whole and len(query.measures) == 1 and order is None:
        _say_extremes(list(zip(labels, values, strict=True)), report, topic=lead.label, unit=unit, source=source)
    for place, other in enumerate(query.measures[:_NAMED]):
        if place != at and other.column:
            words_of, pieces_of = describe(other)
            few = [
                (code(label), shown(row[width + place], unit_of(other, columns)))
                for label, row in zip(labels[:_NAMED], rows.rows, strict=False)
            ]
            report.say(
                other.label,
                f"The {words_of}: {', '.join(['{}: {}'] * len(few))}{', …' if len(labels) > len(few) else ''}.",
                *pieces_of,
                *(piece for pair in few for piece in pair),
                source=source.path,
            )
    report.metrics |= {"groups": total}
    title = f"{lead.label} by {', '.join(group.label for group in query.group_by)}"
    units = _units(rows, query, columns, offset=width)
    line = _is_line(query, columns)
    chart = chart_of(labels, values, title=title, line=line, unit=unit) if _is_drawn(labels, line=line) else None
    report.show(table_of(rows, title=title, units=units, total=total), chart)
    report.name_subjects([row[0] for row in rows.rows])


def _say_all(data: Data, columns: Columns, query: TableQuery, report: Report, lead: Measure, *, groups: int) -> None:
    """What counts and totals come to over all groups: "how many are there, and in which year most".

    `groups` is how many there are when not all of them are shown, so that nobody takes it for the sum of these.
    """
    if query.having or lead.function not in ("count", "sum"):
        return
    whole = query.model_copy(update={"measures": (lead,), "group_by": (), "order": None, "limit": 0})
    statement = sql.select(whole, columns)
    value = data.query(statement, limit=1).rows[0][0]
    report.sql.append(sql.stated(statement, columns))
    unit = unit_of(lead, columns)
    if isinstance(value, int | float):
        report.metrics[f"all {lead.label}"] = value
    said = _rows_counted(value) if not lead.column else shown(value, unit)
    over = f", over all {groups:,} groups" if groups else ""
    report.say(f"all {lead.label}", f"All together{over}: {{}}.", said, source=columns.source.path)


def _say_extremes(
    pairs: Sequence[tuple[str, Cell]], report: Report, *, topic: str, unit: str | None, source: Source
) -> None:
    """Where groups stand in the order of time, which is the highest and which the lowest is said."""
    numbers = [(value, label) for label, value in pairs if isinstance(value, int | float)]
    if len(numbers) < _LEAST_EXTREMES:
        return
    highest, lowest = max(value for value, _ in numbers), min(value for value, _ in numbers)
    if highest != lowest:
        tops, ends = ([code(label) for value, label in numbers if value == bound] for bound in (highest, lowest))
        report.say(
            f"extremes of {topic}",
            f"The highest is {_all_of(tops)} with {{}}, the lowest {_all_of(ends)} with {{}}.",
            *tops[:_NAMED],
            shown(highest, unit),
            *ends[:_NAMED],
            shown(lowest, unit),
            source=source.path,
        )


def _all_of(tied: Sequence[Piece]) -> str:
    """Places for the names of all that share a figure; of many the first ones."""
    more = f" and {len(tied) - _NAMED} more" if len(tied) > _NAMED else ""
    return " and ".join(["{}"] * min(len(tied), _NAMED)) + more


def _group_count(data: Data, rows: Rows, columns: Columns, query: TableQuery) -> int:
    if not query.limit and not rows.truncated:
        return len(rows.rows)
    return _count_groups(data, columns, query)


def _count_groups(data: Data, columns: Columns, query: TableQuery) -> int:
    inner = sql.select(query.model_copy(update={"limit": 0, "order": None}), columns)
    count = data.query(f"SELECT count(*) FROM ({inner})", limit=1).rows[0][0]
    return count if isinstance(count, int) else 0


def _label(cells: Sequence[Cell]) -> str:
    return " / ".join(map(text_of, cells))


def _is_line(query: TableQuery, columns: Columns) -> bool:
    """Whether groups follow each other, so that a line may join them."""
    return len(query.group_by) == 1 and sql.is_serial(query.group_by[0], columns) and query.order is None


def _is_drawn(labels: Sequence[str], *, line: bool) -> bool:
    return 2 <= len(labels) <= (_POINTS if line else _BARS)


def _list(rows: Rows, columns: Columns, query: TableQuery, report: Report, matched: int) -> None:
    """The rows themselves, in order."""
    source = columns.source
    words, pieces = where(query.where)
    by = query.order.by if query.order is not None else ""
    if by in rows.columns:
        place = rows.columns.index(by)
        way = "largest" if query.order is not None and query.order.descending else "smallest"
        unit, key = columns.named(by).unit, columns.key
        at = rows.columns.index(key) if key in rows.columns and key != by else None
        figures = [
            piece
            for row in rows.rows[:_NAMED]
            for piece in ([] if at is None else [code(text_of(row[at]))], [shown(row[place], unit)])
            for piece in piece
        ]
        each = "{}" if at is None else "{} with {}"
        named = min(len(rows.rows), _NAMED)
        more = ", …" if len(rows.rows) > named else ""
        report.say(
            by,
            f"The {plural(len(rows.rows), 'row')} of {{}} with the {way} {{}}{words}: "
            f"{', '.join([each] * named)}{more}.",
            code(source.path),
            code(by),
            *pieces,
            *figures,
            source=source.path,
        )
    else:
        report.say(
            "rows",
            f"{len(rows.rows):,} of {plural(matched, 'row')} of {{}}{words}.",
            code(source.path),
            *pieces,
            source=source.path,
        )
    report.show(table_of(rows, title=source.path, total=matched))


def _say_gaps(gaps: dict[str, int], matched: int, report: Report, *, whole: set[str]) -> None:
    """In how many rows a measured column has no value: no figure counts them, but a share is of them too."""
    for name, empty in gaps.items():
        if empty and matched:
            so = "they are part of the whole" if name in whole else "its figures leave them out"
            report.note(f"`{name}` has no value in {empty:,} of {plural(matched, 'row')}; {so}.")
