"""The rows of a query as values that JSON can say."""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from retinue.contract.table import Cell
from retinue.tools.data.sources import FieldType, QueryRows

if TYPE_CHECKING:
    import duckdb

_Converter: TypeAlias = Callable[[Any], Cell]

_UNCONVERTED_TYPES: Final = frozenset({"text", "integer", "number", "boolean"})
_NESTED: Final = ("list", "struct", "map", "array", "union", "variant")
_TYPES: Final[dict[str, FieldType]] = {
    "VARCHAR": "text",
    "UUID": "text",
    "BOOLEAN": "boolean",
    "FLOAT": "number",
    "DOUBLE": "number",
    "DATE": "date",
    "TIME": "time",
    "TIME_NS": "time",
    "TIME WITH TIME ZONE": "time",
    **dict.fromkeys(
        (
            "TINYINT",
            "SMALLINT",
            "INTEGER",
            "BIGINT",
            "HUGEINT",
            "UTINYINT",
            "USMALLINT",
            "UINTEGER",
            "UBIGINT",
            "UHUGEINT",
        ),
        "integer",
    ),
}


def field_type(sql_type: str) -> FieldType:
    """What can be done with the values of one of DuckDB's types."""
    if sql_type.endswith("]"):
        return "list"
    if sql_type.startswith("TIMESTAMP"):
        return "timestamp"
    if sql_type.startswith("DECIMAL"):
        return "number"
    return "text" if sql_type.startswith("ENUM") else _TYPES.get(sql_type, "other")


def fetch_rows(relation: "duckdb.DuckDBPyRelation", *, limit: int, sql: str) -> QueryRows:
    """The first `limit` rows of `relation`."""
    types = [(str(one), one.id) for one in relation.types]
    select_list = ", ".join(_select_expression(place, *one) for place, one in enumerate(types, start=1))
    raw_rows = relation.limit(limit + 1).project(select_list).fetchall()
    notes: list[str] = []
    converters = {
        place: converter
        for place, (name, _) in enumerate(types)
        if (converter := _converter(name, relation.columns[place], notes)) is not None
    }
    rows = [_convert_row(row, converters) for row in raw_rows[:limit]] if converters else raw_rows[:limit]
    return QueryRows(tuple(relation.columns), rows, len(raw_rows) > limit, sql, tuple(dict.fromkeys(notes)))


def _select_expression(place: int, sql_type: str, kind: str) -> str:
    """How a column is asked for, by its place since names may repeat: what Python or JSON cannot hold comes as text."""
    if kind in _NESTED:
        return f"CAST(to_json(#{place}) AS VARCHAR)"
    if field_type(sql_type) in _UNCONVERTED_TYPES and sql_type != "UUID":
        return f"#{place}"
    return f"CAST(#{place} AS VARCHAR)"


def _converter(sql_type: str, column: str, notes: list[str]) -> _Converter | None:
    """What is still to be done to the values of a column; None when nothing is."""
    if sql_type.startswith("TIMESTAMP"):
        return _iso
    if sql_type.startswith("DECIMAL"):
        return _number
    if sql_type not in ("FLOAT", "DOUBLE"):
        return None

    def finite(value: Any) -> Cell:
        if value is None or math.isfinite(value):
            return value
        notes.append(f"Column {column!r} has values that are not a finite number; they are left out.")
        return None

    return finite


def _convert_row(row: Sequence[Any], converters: dict[int, _Converter]) -> tuple[Cell, ...]:
    cells = list(row)
    for place, converter in converters.items():
        cells[place] = converter(cells[place])
    return tuple(cells)


def _iso(value: str | None) -> Cell:
    """`2024-03-01 10:00:00+00` as ISO 8601 has it."""
    if value is None:
        return None
    text = value.replace(" ", "T", 1)
    return f"{text}:00" if text[-3:-2] in ("+", "-") and "T" in text else text


def _number(value: Decimal | None) -> Cell:
    if value is None:
        return None
    return int(value) if value == value.to_integral_value() else float(value)
