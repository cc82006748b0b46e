"""Reads the tables and charts that an agent put into its data, as nouns; what is none of them is left out, and said.

Lenient on purpose: one odd table must not cost an answer. Nothing is lost by it, because the agent's data stays as
it is; but what is handed on from here is bounded.
"""

from dataclasses import dataclass
from typing import Final, TypeVar, cast

from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping, Model
from retinue.contract.table import Chart, Table
from retinue.errors import RetinueError

MAX_ROWS: Final = 1_000
"""Most rows of a table, and most labels of a chart, that any drawing of an answer gets."""

_MAX_COLUMNS: Final = 60
_MAX_TABLES: Final = 12
_MAX_CHARTS: Final = 8
_MAX_SERIES: Final = 12

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class AnswerFigures:
    """What there is to look at.

    Attributes:
        left_out: Sentences that say what was cut or could not be read.
    """

    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    left_out: tuple[str, ...] = ()

    def to_json(self) -> JsonMapping:
        """Those of the fields that hold something."""
        whole: JsonMapping = {
            "tables": [table.to_json() for table in self.tables],
            "charts": [chart.to_json() for chart in self.charts],
            "left_out": list(self.left_out),
        }
        return {name: value for name, value in whole.items() if value}


def figures_in(data: object) -> AnswerFigures:
    """The tables and charts of `data`, a JSON value: its members `tables` and `charts`, cut to what can be drawn."""
    if not isinstance(data, dict):
        return AnswerFigures()
    members = cast("JsonMapping", data)
    left_out: list[str] = []
    tables = _parse_models(Table, members.get("tables"), "tables", limit=_MAX_TABLES, left_out=left_out)
    charts = _parse_models(Chart, members.get("charts"), "charts", limit=_MAX_CHARTS, left_out=left_out)
    return AnswerFigures(tuple(tables), tuple(charts), tuple(left_out))


def _parse_models(model: type[M], items: object, name: str, *, limit: int, left_out: list[str]) -> list[M]:
    """Those of `items` that are one, each cut to its bounds."""
    if items is None:
        return []
    candidates = cast("list[object]", items) if isinstance(items, list) else [items]
    models: list[M] = []
    for place, item in enumerate(candidates[:limit]):
        if isinstance(item, model):
            item = item.to_json()  # noqa: PLW2901 - a reply made in this process may hold the noun itself
        truncated = (
            _truncate(cast("JsonMapping", item), f"{name}[{place}]", left_out) if isinstance(item, dict) else item
        )
        try:
            models.append(model.model_validate_json(dumps(truncated)))
        except (ValueError, TypeError, RecursionError, RetinueError) as error:
            left_out.append(f"`{name}[{place}]` is not a {model.__name__.lower()} and is not shown: {_reason(error)}")
    if len(candidates) > limit:
        left_out.append(f"{len(candidates) - limit:,} more {name} are not shown.")
    return models


def _truncate(item: JsonMapping, place: str, left_out: list[str]) -> JsonMapping:
    """`item` with no more columns, rows, labels and series than can be drawn."""
    truncated = dict(item)
    rows, columns = _list_of(item, "rows"), _list_of(item, "columns")
    labels, series = _list_of(item, "labels"), _list_of(item, "series")
    if len(rows) > MAX_ROWS:
        truncated["rows"] = rows[:MAX_ROWS]
        truncated.setdefault("total_rows", len(rows))
    if len(columns) > _MAX_COLUMNS:
        truncated["columns"] = columns[:_MAX_COLUMNS]
        # A row of another width is no row of this table; the noun is the one to say so.
        truncated["rows"] = [_first_cells(row, _MAX_COLUMNS, width=len(columns)) for row in _list_of(truncated, "rows")]
        left_out.append(f"`{place}` has {len(columns):,} columns; the first {_MAX_COLUMNS} are shown.")
    if len(labels) > MAX_ROWS:
        truncated["labels"] = labels[:MAX_ROWS]
        truncated["series"] = [_truncate_values(one, width=len(labels)) for one in series]
        left_out.append(f"`{place}` has {len(labels):,} labels; the first {MAX_ROWS:,} are shown.")
    if len(series) > _MAX_SERIES:
        truncated["series"] = _list_of(truncated, "series")[:_MAX_SERIES]
        left_out.append(f"`{place}` has {len(series):,} series; the first {_MAX_SERIES} are shown.")
    return truncated


def _first_cells(row: object, limit: int, *, width: int) -> object:
    if not isinstance(row, list):
        return row
    cells = cast("list[object]", row)
    return cells[:limit] if len(cells) == width else cells


def _truncate_values(series: object, *, width: int) -> object:
    if not isinstance(series, dict):
        return series
    members = cast("JsonMapping", series)
    return {**members, "values": _first_cells(members.get("values"), MAX_ROWS, width=width)}


def _list_of(item: JsonMapping, name: str) -> list[object]:
    value: object = item.get(name)
    return cast("list[object]", value) if isinstance(value, list) else []


def _reason(error: Exception) -> str:
    """The first thing that is wrong, on one line."""
    list_errors = getattr(error, "errors", None)
    if callable(list_errors) and (details := cast("list[JsonMapping]", list_errors())):
        text = f"{'.'.join(map(str, details[0]['loc']))}: {details[0]['msg']}"
    else:
        text = str(getattr(error, "message", "") or type(error).__name__)
    return f"{' '.join(text.split())[:160].rstrip('.')}."
