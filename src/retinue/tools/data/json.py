"""Reads JSON: an array of objects, one object, or an object a line.

Each key of the outermost objects becomes a column; nested objects and lists stay what they are, as STRUCT and LIST. A
key that holds values of several kinds becomes text. Texts that are dates or times all through become such. JSON that is
no table (a number, an array of numbers) is refused, and so is one nested deeper than 128.
"""

# ruff: noqa: S608
# SQL is put together here from our own words, from names that `identifier` quotes and values that `literal` quotes

import json
import re
from collections.abc import Iterable, Sequence
from typing import Final, cast

from retinue.errors import InvalidInput, ParseError
from retinue.tools.data.connection import DuckdbConnection, literal
from retinue.tools.data.guess import guess_type, notes_of, settle_types, values_of
from retinue.tools.data.snapshot import (
    BLANK,
    SKIPPED_SHOWN,
    LoadResult,
    SnapshotText,
    clip,
    skipped_lines,
    table_of_lines,
)
from retinue.tools.data.sources import SkippedLine, identifier

_TIMES: Final = ("date", "timestamp", "time")
_WIDEST: Final = 1000
_DEEPEST: Final = 120
_ELEMENTS: Final = identifier("elements of the file")
_NO_ROWS: Final = "give an array of objects, or one object a line"


def load_lines(connection: DuckdbConnection, text: SnapshotText, table: str) -> LoadResult:
    """Make the table `table` (quoted) of a file with an object a line. A line that holds none is reported."""
    with table_of_lines(connection, text) as lines:
        connection.run(f"DELETE FROM {lines} WHERE {BLANK}")
        skipped, total = _drop_non_objects(connection, lines, reason="is not a JSON object")
        notes = table_from_objects(connection, lines, table)
    return LoadResult(text.encoding, (*text.notes, *notes), skipped, total)


def load(connection: DuckdbConnection, text: SnapshotText, table: str) -> LoadResult:
    """Make the table `table` (quoted) of a JSON document, or of lines that each are one.

    Raises:
        InvalidInput: It is not a table.
        ParseError: It is not JSON.
    """
    whole = "".join(text.pieces())
    if not connection.fetch_one("SELECT json_valid(?)", (whole,))[0]:
        first_line = whole.lstrip().partition("\n")[0]
        if connection.fetch_one(f"SELECT {is_object('$1::VARCHAR')}", (first_line,))[0]:
            return load_lines(connection, text, table)
        try:
            json.loads(whole)
        except json.JSONDecodeError as error:
            raise ParseError(
                f"The file is not JSON: {error.msg} in line {error.lineno}, column {error.colno}.",
                hint="fix it there; for one object a line, name it .jsonl",
                detail={"line": error.lineno, "column": error.colno},
            ) from None
        except RecursionError:
            raise InvalidInput("The JSON is nested too deeply.", hint=_NO_ROWS) from None
        raise InvalidInput("The file is not JSON that can be read.", hint=_NO_ROWS)
    path, notes = _rows_pointer(connection, whole)
    connection.run(
        f"CREATE TABLE {_ELEMENTS} AS SELECT row_number() OVER () AS line, text FROM (SELECT unnest("
        "CASE json_type($1, $2) WHEN 'ARRAY' THEN from_json(json_extract($1, $2), '[\"JSON\"]')"
        " ELSE [json_extract($1, $2)] END)::VARCHAR AS text)",
        (whole, path),
    )
    skipped, total = _drop_non_objects(
        connection, _ELEMENTS, reason="is not an object; the line is its place in the array"
    )
    notes += table_from_objects(connection, _ELEMENTS, table)
    connection.run(f"DROP TABLE {_ELEMENTS}")
    return LoadResult(text.encoding, (*text.notes, *notes), skipped, total)


def table_from_objects(
    connection: DuckdbConnection, source: str, table: str, *, extra_columns: Sequence[str] = ()
) -> tuple[str, ...]:
    """Make `table` of the objects in the column `text` of `source`, a column a key, and say what was odd about it.

    Args:
        connection: Where both tables are.
        source: A table of lines, by its quoted name; each text is a JSON object.
        table: The quoted name of the table to make.
        extra_columns: Columns of `source` that stand in `table` too, before the keys.
    """
    (structure,) = connection.fetch_one(f"SELECT json_group_structure(text::JSON) FROM {source}")
    keys: object = json.loads(structure or "{}")
    if not isinstance(keys, dict) or not keys:
        raise InvalidInput("There is no object with a key in it, so there are no rows.", hint=_NO_ROWS)
    keys = cast("dict[str, object]", keys)
    names_by_key, notes = _column_names(keys, extra_columns)
    shapes = {key: "VARCHAR" if _is_odd(keys[key]) else _shape(keys[key]) for key in names_by_key}
    # Nearly always a BIGINT holds all integers of a column; a HUGEINT holds whatever DuckDB took for one.
    if not connection.try_run(_copy_sql(source, table, shapes, names_by_key, extra_columns, integer="BIGINT")):
        connection.run(_copy_sql(source, table, shapes, names_by_key, extra_columns, integer="HUGEINT"))
    odd = [name for key, name in names_by_key.items() if _is_odd(keys[key])]
    notes += tuple(f"Column {name!r} holds objects whose keys SQL cannot tell apart; it is text." for name in odd)
    mixed = [name for key, name in names_by_key.items() if keys[key] == "JSON"]
    notes += tuple(f"Column {name!r} holds values of several kinds; it is text." for name in mixed)
    # Texts that are dates or times all through become such.
    texts = [name for key, name in names_by_key.items() if keys[key] == "VARCHAR"]
    guesses = {name: guess_type(values_of(connection, table, name)) for name in texts}
    guesses = {name: one for name, one in guesses.items() if one.type in _TIMES and not one.markers}
    if not guesses:
        return notes
    times = settle_types(connection, table, guesses, types=_TIMES)
    times = {name: one for name, one in times.items() if one.type in _TIMES}
    for name, one in times.items():
        column = identifier(name)
        (sql_type,) = connection.fetch_one(f"SELECT any_value(typeof({one.value_sql(column)})) FROM {table}")
        connection.run(f"ALTER TABLE {table} ALTER {column} TYPE {sql_type} USING {one.value_sql(column)}")
    return (*notes, *notes_of(times))


def _rows_pointer(connection: DuckdbConnection, whole: str) -> tuple[str, tuple[str, ...]]:
    (kind,) = connection.fetch_one("SELECT json_type(?)", (whole,))
    if kind == "ARRAY":
        return "", ()
    if kind != "OBJECT":
        raise InvalidInput("The JSON document is a single value, so there are no rows.", hint=_NO_ROWS)
    (keys,) = connection.fetch_one("SELECT json_keys(?)", (whole,))
    pointers = {key: "/" + key.replace("~", "~0").replace("/", "~1") for key in keys[:_WIDEST]}
    lists = [
        key
        for key, place in pointers.items()
        if connection.fetch_one("SELECT json_type($1, $2 || '/0') = 'OBJECT'", (whole, place))[0]
    ]
    if len(lists) == 1:
        return pointers[lists[0]], (f"The rows are those of the list {lists[0]!r} in the document.",)
    return "", ()


def _drop_non_objects(connection: DuckdbConnection, source: str, *, reason: str) -> tuple[tuple[SkippedLine, ...], int]:
    """Leave only the objects in a table of lines; gives what was not one, or was nested too deeply to be read."""
    skipped, total = skipped_lines(connection, source, where=f"NOT {is_object('text')}", reason=reason)
    if total:
        connection.run(f"DELETE FROM {source} WHERE NOT {is_object('text')}")
    if numbers := drop_deep(connection, source):
        deep = tuple(SkippedLine(line, "is nested too deeply", text) for line, text in numbers)
        skipped = tuple(sorted((*skipped, *deep), key=lambda one: one.line)[:SKIPPED_SHOWN])
        total += len(deep)
    return skipped, total


def drop_deep(connection: DuckdbConnection, source: str) -> list[tuple[int, str]]:
    """Take the objects out of a table of lines that DuckDB must not see: it breaks off for good at 128 levels.

    Gives their lines and how they begin. What has few brackets is not even looked at.
    """
    brackets = "length(text) - length(translate(text, '[{', ''))"
    suspects = connection.run(f"SELECT line, text FROM {source} WHERE {brackets} >= {_DEEPEST}")
    too_deep: list[tuple[int, str]] = []
    for line, text in suspects:
        deepest = depth = 0
        for bracket in re.findall(r"[\[{\]}]", re.sub(r'"(?:[^"\\]|\\.)*"', "", text)):
            depth += 1 if bracket in "[{" else -1
            deepest = max(deepest, depth)
        if deepest >= _DEEPEST:
            too_deep.append((line, clip(text)))
    if too_deep:
        connection.run(f"DELETE FROM {source} WHERE line IN ({', '.join(str(line) for line, _ in too_deep)})")
    return too_deep


def is_object(text: str) -> str:
    """The SQL of whether a text is a JSON object."""
    return f"CASE WHEN json_valid({text}) THEN json_type({text}) = 'OBJECT' ELSE false END"


def _column_names(keys: Iterable[str], extra_columns: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    names_by_key: dict[str, str] = {}
    left_out: list[str] = []
    lower_keys: set[str] = set()
    for key in keys:
        if not key or "\0" in key or key.lower() in lower_keys or len(names_by_key) >= _WIDEST:
            left_out.append(key)
            continue
        lower_keys.add(key.lower())
        names_by_key[key] = f"{key}_2" if key.lower() in extra_columns else key
    if not left_out:
        return names_by_key, ()
    examples = ", ".join(repr(key[:40]) for key in left_out[:5])
    return names_by_key, (
        f"{len(left_out):,} keys were not read (unnamed, alike but for case, or too many): {examples}.",
    )


def _shape(structure: object) -> object:
    """What `from_json` shall make of a part that DuckDB described by `structure`; what is of no one kind is text."""
    if isinstance(structure, list):
        return [_shape(inner) for inner in cast("list[object]", structure)]
    if isinstance(structure, dict):
        return {key: _shape(inner) for key, inner in cast("dict[str, object]", structure).items()}
    return "VARCHAR" if structure in ("JSON", "NULL") else structure


def _is_odd(structure: object) -> bool:
    """Whether there is a key somewhere that is empty, or differs from its neighbour by case alone."""
    if isinstance(structure, list):
        return any(_is_odd(inner) for inner in cast("list[object]", structure))
    if isinstance(structure, dict):
        inside = cast("dict[str, object]", structure)
        return len(_column_names(inside, ())[0]) < len(inside) or any(_is_odd(inner) for inner in inside.values())
    return False


def _copy_sql(
    source: str,
    table: str,
    shapes: dict[str, object],
    names_by_key: dict[str, str],
    extra_columns: Sequence[str],
    *,
    integer: str,
) -> str:
    """The SQL that makes `table`. Unsigned numbers would not survive a subtraction, so none are left."""
    columns = [identifier(column) for column in extra_columns]
    for key, name in names_by_key.items():
        value = f"found.{identifier(key)}"
        columns.append(f"{f'CAST({value} AS {integer})' if shapes[key] == 'UBIGINT' else value} AS {identifier(name)}")
    shape = literal(json.dumps(shapes, ensure_ascii=False))
    parsed = f"SELECT *, from_json(text, {shape}) AS found FROM {source}"
    return f"CREATE TABLE {table} AS SELECT {', '.join(columns)} FROM ({parsed})"
