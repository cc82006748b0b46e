"""The rows of a query as values that JSON can say."""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from retinue.contract.table import Cell
from retinue.tools.data.records import FieldType, Rows

if TYPE_CHECKING:
    import duckdb

__all__ = ["answer", "type_of"]

_Reading: TypeAlias = Callable[[Any], Cell]

_AS_THEY_ARE: Final = frozenset({"text", "integer", "number", "boolean"})
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


def type_of(sql_type: str) -> FieldType:
    """What can be done with the values of one of DuckDB's types."""
    if sql_type.endswith("]"):
        return "list"
    if sql_type.startswith("TIMESTAMP"):
        return "timestamp"
    if sql_type.startswith("DECIMAL"):
        return "number"
    return "text" if sql_type.startswith("ENUM") else _TYPES.get(sql_type, "other")


def answer(relation: "duckdb.DuckDBPyRelation", *, limit: int, sql: str) -> Rows:
    """The first `limit` rows of `relation`."""
    types = [(str(one), one.id) for one in relation.types]
    asked = ", ".join(_asked(place, *one) for place, one in enumerate(types, start=1))
    found = relation.limit(limit + 1).project(asked).fetchall()
    notes: list[str] = []
    readings = {
        place: reading
        for place, (name, _) in enumerate(types)
        if (reading := _reading(name, relation.columns[place], notes)) is not None
    }
    rows = [_read(row, readings) for row in found[:limit]] if readings else found[:limit]
    return Rows(tuple(relation.columns), rows, len(found) > limit, sql, tuple(dict.fromkeys(notes)))


def _asked(place: int, sql_type: str, kind: str) -> str:
    """How a column is asked for, by its place since names may repeat: what Python or JSON cannot hold comes as text."""
    if kind in _NESTED:
        return f"CAST(to_json(#{place}) AS VARCHAR)"
    if type_of(sql_type) in _AS_THEY_ARE and sql_type != "UUID":
        return f"#{place}"
    return f"CAST(#{place} AS VARCHAR)"


def _reading(sql_type: str, column: str, notes: list[str]) -> _Reading | None:
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


def _read(row: Sequence[Any], readings: dict[int, _Reading]) -> tuple[Cell, ...]:
    cells = list(row)
    for place, reading in readings.items():
        cells[place] = reading(cells[place])
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
