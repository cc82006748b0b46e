"""JSON documents, JSON lines and Parquet: what becomes a row, a column and a type, and what is refused."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pytest
from hypothesis import given, settings, strategies as st

from retinue.contract.table import Cell
from retinue.errors import BudgetExceeded, InvalidInput, ParseError, RetinueError
from retinue.tools.data.database import Data
from retinue.tools.data.sources import DataField, DataSource, identifier
from retinue.tools.workspace import Workspace
from tests.examples import examples

Read: TypeAlias = Callable[..., tuple[DataSource, list[tuple[Cell, ...]]]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def reading(content: str | bytes, name: str = "x.json", memory_mb: int = 1024) -> Any:
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        with Data(Workspace(tmp_path), memory_mb=memory_mb) as data:
            source = data.open(name)
            return source, data.query(f"SELECT * FROM {identifier(source.table)}").rows

    return reading


# --- documents ----------------------------------------------------------------------------------------------------------


def test_an_array_of_objects_is_a_table(read: Read) -> None:
    source, rows = read('[{"a": 1, "d": "2024-03-01", "s": {"k": [1]}, "l": ["x"]}, {"a": -2.5, "t": "x"}]')
    assert source.fields == (
        DataField("a", "number", "DOUBLE"),
        DataField("d", "date", "DATE"),
        DataField("s", "other", "STRUCT(k UBIGINT[])"),
        DataField("l", "list", "VARCHAR[]"),
        DataField("t", "text", "VARCHAR"),
    )
    assert rows == [(1.0, "2024-03-01", '{"k":[1]}', '["x"]', None), (-2.5, None, None, None, "x")]


def test_what_holds_several_kinds_is_text_and_said(read: Read) -> None:
    source, rows = read('[{"a": 1}, {"a": "x"}, {"a": {"b": 2}}]')
    assert rows == [("1",), ("x",), ('{"b":2}',)]
    assert source.notes == ("Column 'a' holds values of several kinds; it is text.",)


def test_texts_of_digits_stay_texts_and_large_numbers_whole(read: Read) -> None:
    source, rows = read('[{"code": "5", "n": 18446744073709551615, "m": 1, "mixed": "2024-03-01"}, {"mixed": "soon"}]')
    assert [field.sql_type for field in source.fields] == ["VARCHAR", "HUGEINT", "HUGEINT", "VARCHAR"]
    assert rows[0] == ("5", 18446744073709551615, 1, "2024-03-01")


def test_unsigned_numbers_can_be_subtracted(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('[{"a": 1, "b": 2}]')
    with Data(Workspace(tmp_path)) as data:
        data.open("x.json")
        assert data.query("SELECT a - b FROM x").rows == [(-1,)]


def test_one_object_is_one_row_and_a_list_in_it_is_rows(read: Read) -> None:
    assert read('{"a": 1}')[1] == [(1,)]
    source, rows = read('{"count": 2, "a/b~c": [{"id": 1}, {"id": 2}], "tags": ["x"]}')
    assert rows == [(1,), (2,)]
    assert source.notes == ("The rows are those of the list 'a/b~c' in the document.",)
    assert read('{"a": [{"x": 1}], "b": [{"x": 1}]}')[0].rows == 1


def test_lines_in_a_document_are_read_as_lines(read: Read) -> None:
    assert read('\n{"a": 1}\n{"a": 2}\n')[1] == [(1,), (2,)]


def test_keys_that_sql_cannot_tell_apart_are_left_out_and_said(read: Read) -> None:
    source, rows = read('[{"a": 1, "A": 2, "": 3, "x\'y": 4, "z\\"": 5}]')
    assert [field.name for field in source.fields] == ["a", "x'y", 'z"']
    assert rows == [(1, 4, 5)]
    assert "'A', ''" in source.notes[0]
    source, rows = read('[{"n": {"a": 1, "A": 2}}, {"n": {"": 1}}]')
    assert json.loads(str(rows[0][0])) == {"a": 1, "A": 2}
    assert source.notes == ("Column 'n' holds objects whose keys SQL cannot tell apart; it is text.",)


def test_elements_that_are_no_objects_are_reported_with_their_place(read: Read) -> None:
    source, rows = read('[{"a": 1}, 5, {"a": 2}, "x"]')
    assert rows == [(1,), (2,)]
    assert [(one.line, one.text) for one in source.skipped] == [(2, "5"), (4, '"x"')]


@pytest.mark.parametrize("content", ["42", '"x"', "null", "[]", "{}", "[1, 2]", "[[1], [2]]", "[{}]"])
def test_json_that_is_no_table_is_refused(read: Read, content: str) -> None:
    with pytest.raises(InvalidInput, match="no rows") as caught:
        read(content)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("content", "line", "column"),
    [('{"a": 1,', 1, 9), ('[\n{"a": 1},\n{"a" 2}]', 3, 6), ("nothing", 1, 1)],
)
def test_what_is_no_json_says_where(read: Read, content: str, line: int, column: int) -> None:
    with pytest.raises(ParseError) as caught:
        read(content)
    assert caught.value.detail == {"line": line, "column": column}


@pytest.mark.parametrize("content", ["[" * 100_000 + "]" * 100_000, '{"a":' * 200 + "1" + "}" * 200, "[" * 100_000])
def test_deep_json_is_refused(read: Read, content: str) -> None:
    with pytest.raises(InvalidInput):
        read(content)


def test_what_python_reads_and_duckdb_does_not_is_refused(read: Read) -> None:
    with pytest.raises(RetinueError):
        read('[{"a": Infinityy}]')


# --- lines --------------------------------------------------------------------------------------------------------------


def test_a_bad_line_is_skipped_with_its_number(read: Read) -> None:
    deep = '{"a": ' + "[" * 300 + "]" * 300 + "}"
    source, rows = read('{"a": 1}\n{bad\n\n[1]\n{"a": 2}\n' + deep + "\n", "x.jsonl")
    assert rows == [(1,), (2,)]
    assert [(one.line, one.reason) for one in source.skipped] == [
        (2, "is not a JSON object"),
        (4, "is not a JSON object"),
        (6, "is nested too deeply"),
    ]
    assert source.skipped_total == 3


def test_many_brackets_that_are_not_deep_are_read(read: Read) -> None:
    line = json.dumps({"a": [[number] for number in range(200)], "b": "[" * 200})
    assert read(line + "\n", "x.ndjson")[0].rows == 1


def test_lines_of_which_none_is_an_object_are_refused(read: Read) -> None:
    with pytest.raises(InvalidInput, match="no rows"):
        read("nothing\n1\n", "x.jsonl")


def test_times_become_times(read: Read) -> None:
    source, rows = read('{"t": "2024-03-01T10:00:00Z"}\n{"t": null}\n{"t": "2024-03-01T10:00:00+02:00"}\n', "x.jsonl")
    assert [field.type for field in source.fields] == ["timestamp"]
    assert rows == [("2024-03-01T10:00:00",), (None,), ("2024-03-01T08:00:00",)]
    assert source.notes == ("The times of column 't' are given in UTC.",)


def test_more_than_a_thousand_keys_are_read_in_part(read: Read) -> None:
    source, _ = read(json.dumps({f"k{number}": number for number in range(1200)}) + "\n", "x.jsonl")
    assert len(source.fields) == 1000
    assert source.notes[0].startswith("200 keys were not read")


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@settings(max_examples=examples(40))
@given(rows=st.lists(st.dictionaries(st.text(alphabet="abAB \"'.$", max_size=3), _JSON, max_size=4), max_size=4))
def test_any_objects_become_a_table_or_a_refusal(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, object]]
) -> None:
    folder = tmp_path_factory.mktemp("json")
    (folder / "x.json").write_text(json.dumps(rows))
    with Data(Workspace(folder), threads=1) as data:
        try:
            source = data.open("x.json")
        except InvalidInput:
            assert not any(key for row in rows for key in row)
            return
        assert source.rows == len(rows)
        json.dumps(data.query("SELECT * FROM x").rows, allow_nan=False)


# --- Parquet ------------------------------------------------------------------------------------------------------------


def _parquet(path: Path, select: str, options: str = "") -> None:
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet{options})")


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    _parquet(tmp_path / "x.parquet", "SELECT 1 AS a, DATE '2024-03-01' AS d, [1] AS l, 1.5::DECIMAL(4, 1) AS n")
    with Data(Workspace(tmp_path)) as data:
        source = data.open("x.parquet")
        assert [(field.name, field.type) for field in source.fields] == [
            ("a", "integer"), ("d", "date"), ("l", "list"), ("n", "number"),
        ]  # fmt: skip
        assert (source.rows, source.encoding, source.notes) == (1, "", ())
        assert data.query("SELECT * FROM x").rows == [(1, "2024-03-01", "[1]", 1.5)]


@pytest.mark.slow
def test_a_parquet_bomb_is_a_spent_budget(tmp_path: Path) -> None:
    _parquet(tmp_path / "x.parquet", "SELECT repeat('x', 2000) AS a, i FROM range(1000000) t(i)", ", COMPRESSION zstd")
    assert (tmp_path / "x.parquet").stat().st_size < 8_000_000
    with Data(Workspace(tmp_path), memory_mb=64) as data:
        with pytest.raises(BudgetExceeded, match="64 MiB"):
            data.open("x.parquet")
        assert data.query("SELECT count(*) FROM duckdb_tables()").rows == [(0,)]


@pytest.mark.parametrize("content", [b"", b"no parquet", b"PAR1PAR1", b"PAR1" + b"\xff" * 100 + b"\x10\0\0\0PAR1"])
def test_what_is_no_parquet_is_refused(read: Read, content: bytes) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(content, "x.parquet")
    assert "/tmp" not in str(caught.value)


@pytest.mark.slow
@settings(max_examples=examples(40))
@given(place=st.integers(0, 10_000), byte=st.integers(0, 255), length=st.integers(0, 10_000))
def test_a_damaged_parquet_file_is_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory, place: int, byte: int, length: int
) -> None:
    folder = tmp_path_factory.mktemp("parquet")
    _parquet(folder / "x.parquet", "SELECT i, i::VARCHAR AS s, [i] AS l FROM range(50) t(i)")
    content = bytearray((folder / "x.parquet").read_bytes())
    content[place % len(content)] = byte
    (folder / "x.parquet").write_bytes(content if length % 2 else content[: length % len(content)])
    with Data(Workspace(folder), memory_mb=64, threads=1) as data, suppress(RetinueError):
        assert data.open("x.parquet").rows >= 0
