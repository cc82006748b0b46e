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

__all__ = ["ROWS", "Figures", "figures_in"]

ROWS: Final = 1_000
"""Most rows of a table, and most labels of a chart, that any drawing of an answer gets."""

_COLUMNS: Final = 60
_TABLES: Final = 12
_CHARTS: Final = 8
_SERIES: Final = 12

N = TypeVar("N", bound=Model)


@dataclass(frozen=True, slots=True)
class Figures:
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


def figures_in(data: object) -> Figures:
    """The tables and charts of `data`, a JSON value: its members `tables` and `charts`, cut to what can be drawn."""
    if not isinstance(data, dict):
        return Figures()
    members = cast("JsonMapping", data)
    left_out: list[str] = []
    tables = _nouns(Table, members.get("tables"), "tables", most=_TABLES, left_out=left_out)
    charts = _nouns(Chart, members.get("charts"), "charts", most=_CHARTS, left_out=left_out)
    return Figures(tuple(tables), tuple(charts), tuple(left_out))


def _nouns(noun: type[N], items: object, name: str, *, most: int, left_out: list[str]) -> list[N]:
    """Those of `items` that are one, each cut to its bounds."""
    if items is None:
        return []
    listed = cast("list[object]", items) if isinstance(items, list) else [items]
    found: list[N] = []
    for place, item in enumerate(listed[:most]):
        if isinstance(item, noun):
            item = item.to_json()  # noqa: PLW2901 - a reply made in this process may hold the noun itself
        cut = _cut(cast("JsonMapping", item), f"{name}[{place}]", left_out) if isinstance(item, dict) else item
        try:
            found.append(noun.model_validate_json(dumps(cut)))
        except (ValueError, TypeError, RecursionError, RetinueError) as error:
            left_out.append(f"`{name}[{place}]` is not a {noun.__name__.lower()} and is not shown: {_reason(error)}")
    if len(listed) > most:
        left_out.append(f"{len(listed) - most:,} more {name} are not shown.")
    return found


def _cut(item: JsonMapping, place: str, left_out: list[str]) -> JsonMapping:
    """`item` with no more columns, rows, labels and series than can be drawn."""
    cut = dict(item)
    rows, columns = _list(item, "rows"), _list(item, "columns")
    labels, series = _list(item, "labels"), _list(item, "series")
    if len(rows) > ROWS:
        cut["rows"] = rows[:ROWS]
        cut.setdefault("total_rows", len(rows))
    if len(columns) > _COLUMNS:
        cut["columns"] = columns[:_COLUMNS]
        # A row of another width is no row of this table; the noun is the one to say so.
        cut["rows"] = [_first(row, _COLUMNS, of=len(columns)) for row in _list(cut, "rows")]
        left_out.append(f"`{place}` has {len(columns):,} columns; the first {_COLUMNS} are shown.")
    if len(labels) > ROWS:
        cut["labels"] = labels[:ROWS]
        cut["series"] = [_with_first(one, of=len(labels)) for one in series]
        left_out.append(f"`{place}` has {len(labels):,} labels; the first {ROWS:,} are shown.")
    if len(series) > _SERIES:
        cut["series"] = _list(cut, "series")[:_SERIES]
        left_out.append(f"`{place}` has {len(series):,} series; the first {_SERIES} are shown.")
    return cut


def _first(row: object, most: int, *, of: int) -> object:
    if not isinstance(row, list):
        return row
    cells = cast("list[object]", row)
    return cells[:most] if len(cells) == of else cells


def _with_first(series: object, *, of: int) -> object:
    if not isinstance(series, dict):
        return series
    members = cast("JsonMapping", series)
    return {**members, "values": _first(members.get("values"), ROWS, of=of)}


def _list(item: JsonMapping, name: str) -> list[object]:
    found: object = item.get(name)
    return cast("list[object]", found) if isinstance(found, list) else []


def _reason(error: Exception) -> str:
    """The first thing that is wrong, on one line."""
    listed = getattr(error, "errors", None)
    if callable(listed) and (found := cast("list[JsonMapping]", listed())):
        said = f"{'.'.join(map(str, found[0]['loc']))}: {found[0]['msg']}"
    else:
        said = str(getattr(error, "message", "") or type(error).__name__)
    return f"{' '.join(said.split())[:160].rstrip('.')}."
