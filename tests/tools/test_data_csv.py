"""Separated files: what their cells are taken for, and what is done with rows, names and bytes that do not fit."""

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import example, given, strategies as st

from retinue.contract.table import Cell
from retinue.errors import BudgetExceeded, InvalidInput
from retinue.tools.data.csv import layout_of
from retinue.tools.data.database import Data
from retinue.tools.data.guess import guess_type
from retinue.tools.data.sources import DataSource, SkippedLine, identifier
from retinue.tools.workspace import Workspace

Read: TypeAlias = Callable[..., tuple[DataSource, list[tuple[Cell, ...]]]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def reading(
        content: str | bytes, name: str = "x.csv", memory_mb: int = 1024
    ) -> tuple[DataSource, list[tuple[Cell, ...]]]:
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        with Data(Workspace(tmp_path), memory_mb=memory_mb) as data:
            source = data.open(name)
            return source, data.query(f"SELECT * FROM {identifier(source.table)}").rows

    return reading


def _types(source: DataSource) -> list[str]:
    return [field.sql_type for field in source.fields]


# --- types --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "sql_type", "first"),
    [
        (["0", "-5", ""], "BIGINT", 0),
        (["9223372036854775", "1"], "BIGINT", 9223372036854775),
        (["1", "2.5", "1e3", "-.5"], "DOUBLE", 1.0),
        (["true", "FALSE"], "BOOLEAN", True),
        (["2024-03-01", "2024-12-31"], "DATE", "2024-03-01"),
        (["10:00", "23:59:59.5"], "TIME", "10:00:00"),
        (["2024-03-01 10:00:00", "2024-03-01T11:00:00.25"], "TIMESTAMP", "2024-03-01T10:00:00"),
        (["2024-03-01T10:00:00+02:00", "2024-03-01T10:00:00Z"], "TIMESTAMP", "2024-03-01T08:00:00"),
        (["31.12.2024", "1.2.2024"], "DATE", "2024-12-31"),
        (["12/31/2024", "1/2/2024"], "DATE", "2024-12-31"),
        ([" 1", "2 "], "BIGINT", 1),
        (['"1,5"', '"2,25"'], "DOUBLE", 1.5),
        (['"1.234,50"', '"2,25"'], "DOUBLE", 1234.5),
    ],
)
def test_what_a_column_holds_all_through_is_its_type(read: Read, cells: list[str], sql_type: str, first: Cell) -> None:
    source, rows = read("a,b\n" + "".join(f"{cell},x\n" for cell in cells))
    assert _types(source) == [sql_type, "VARCHAR"]
    assert rows[0] == (first, "x")


@pytest.mark.parametrize(
    "cells",
    [
        ["007", "012"],
        ["-01", "5"],
        ["+49", "+50"],
        ["1", "2", "3", "4", "five"],
        ["99999999999999999999", "1"],
        ["1_000", "2_000"],
        ["1/2/2024", "3/4/2024"],
        ["1/31/2024", "31/1/2024"],
        ["1.2.2024", "1/2/2024"],
        ['"1,234"', '"5,678"'],
        ["2024-02-30", "2024-03-01"],
        ["2024-03-01T10:00:00Z", "2024-03-01T10:00:00"],
        ["yes", "no"],
        ["inf", "1"],
        ["NA", "NA"],
    ],
)
def test_what_would_lose_or_gain_something_stays_text(read: Read, cells: list[str]) -> None:
    source, rows = read("a,b\n" + "".join(f"{cell},x\n" for cell in cells))
    assert _types(source) == ["VARCHAR", "VARCHAR"]
    assert [row[0] for row in rows] == [cell.strip('"') for cell in cells]


@pytest.mark.parametrize(
    ("late", "sql_type", "note"),
    [
        ("007", "VARCHAR", "do not fit `number`"),
        ("-0.", "DOUBLE", ""),
        ("0_1", "VARCHAR", "do not fit `number`"),
        ("1e400", "VARCHAR", "do not fit `number`"),
        ("x", "VARCHAR", "1 of its values do not fit `number`, such as 'x'"),
        ("2.5", "DOUBLE", ""),
        ("NA", "BIGINT", "'NA' is read as no value"),
    ],
)
def test_a_cell_far_behind_the_sample_counts_as_much(read: Read, late: str, sql_type: str, note: str) -> None:
    source, _ = read("a,b\n" + "1,x\n" * 40_000 + f"{late},x\n")
    assert source.rows == 40_001
    assert _types(source) == [sql_type, "VARCHAR"]
    assert note in " ".join(source.notes)


def test_several_words_for_no_value_are_each_said(read: Read) -> None:
    source, rows = read("a,b\nNA,x\n-,x\n1,x\n")
    assert _types(source) == ["BIGINT", "VARCHAR"]
    assert [row[0] for row in rows] == [None, None, 1]
    assert source.notes == ("In column 'a', '-' is read as no value.", "In column 'a', 'NA' is read as no value.")


def test_a_column_that_is_empty_at_first_is_looked_at_where_it_is_not(read: Read) -> None:
    source, _ = read("a,b,c\n" + "1,,\n" * 40_000 + "1,2024-03-01,\n" + "1,2024-03-01 10:00,\n")
    assert _types(source) == ["BIGINT", "TIMESTAMP", "VARCHAR"]


def test_a_column_whose_only_values_come_late_may_be_text(read: Read) -> None:
    source, _ = read("a,b\n" + "x,\n" * 40_000 + "x,word\n")
    assert _types(source) == ["VARCHAR", "VARCHAR"]


def test_the_notes_say_how_columns_were_taken(read: Read) -> None:
    source, rows = read(
        "code;price;day;seen;n\n01;1,5;31.12.2024;2024-03-01T10:00:00Z;NA\n02;2;1.1.2024;2024-03-01T10:00:00Z;5\n"
    )
    assert source.notes == (
        "Column 'code' is text: some of its digits begin with a zero that a number would lose.",
        "Column 'price' is written with decimal commas.",
        "The dates of column 'day' are written as '%d.%m.%Y'.",
        "The times of column 'seen' are given in UTC.",
        "In column 'n', 'NA' is read as no value.",
    )
    assert rows[0] == ("01", 1.5, "2024-12-31", "2024-03-01T10:00:00", None)


@example(values=["1e100"])
@given(values=st.lists(st.text(alphabet="0123456789.,-+e_ NaA/:TZ", min_size=1, max_size=12), min_size=1, max_size=5))
def test_a_guess_gives_back_what_was_written(guessing: Data, values: list[str]) -> None:
    one = guess_type(values)
    if one.type not in ("integer", "number") or one.form:
        return
    for value in values:
        (cell,) = guessing.query(f"SELECT {one.value_sql('a')} FROM (SELECT ? AS a)", [value]).rows[0]
        assert (cell is None) == (value in one.markers)
        if cell is not None:
            assert isinstance(cell, int | float)
            assert cell == float(value)
            assert one.type != "integer" or str(cell) == value.strip()


@pytest.fixture(scope="module")
def guessing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Data]:
    with Data(Workspace(tmp_path_factory.mktemp("guess"))) as opened:
        yield opened


# --- layout -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_separator_and_the_line_end_are_found(read: Read, separator: str, end: str) -> None:
    lines = ["name|x".replace("|", separator), "Ann|1".replace("|", separator), "Bob|2".replace("|", separator), ""]
    source, rows = read(end.join(lines))
    assert [field.name for field in source.fields] == ["name", "x"]
    assert rows == [("Ann", 1), ("Bob", 2)]


def test_quotes_hold_separators_line_ends_and_quotes(read: Read) -> None:
    _, rows = read('a,b\n"x, ""y""","1\n2"\nz,\n')
    assert rows == [('x, "y"', "1\n2"), ("z", None)]


def test_names_that_repeat_are_empty_or_hold_sql_are_only_names(read: Read, tmp_path: Path) -> None:
    source, _ = read('a,A,,"x""; DROP TABLE x; --",select\n1,2,3,4,5\n')
    assert [field.name for field in source.fields] == ["a", "A_2", "column_3", 'x"; DROP TABLE x; --', "select"]
    assert source.notes == ("Columns without a name of their own (2) are called 'A_2', 'column_3'.",)
    with Data(Workspace(tmp_path)) as data:
        data.open("x.csv")
        column = identifier('x"; DROP TABLE x; --')
        assert data.query(f"SELECT sum({column}), count(*) FROM x").rows == [(4, 1)]


def test_many_columns_without_a_name_are_not_all_listed(read: Read) -> None:
    source, _ = read("a,,,,,,\n1,2,3,4,5,6,7\n")
    assert source.notes[0].endswith("and so on.")


def test_rows_that_do_not_fit_are_reported_with_their_line(read: Read) -> None:
    source, rows = read('a,b\n1,x\n2\n3,y,z\n4,"q\nr"\n5,"u" v\n6,w\n')
    assert rows == [(1, "x"), (4, "q\nr"), (6, "w")]
    assert [(one.line, one.text) for one in source.skipped] == [(3, "2"), (4, "3,y,z"), (7, '5,"u" v')]
    assert source.skipped_total == 3
    assert all(one.reason for one in source.skipped)


def test_a_name_may_hold_a_line_end(read: Read) -> None:
    source, rows = read('\n"a title\nof two lines"\n\nx,"b\nc"\n1,2\n4,5\n3\n')
    assert [field.name for field in source.fields] == ["x", "b\nc"]
    assert rows == [(1, 2), (4, 5)]
    assert [one.line for one in source.skipped] == [2, 9]


def test_rows_of_empty_cells_are_rows_below_the_header_and_nothing_above_it(read: Read) -> None:
    assert read(",,\na,b,c\n1,x,2\n,,\n")[1] == [(1, "x", 2), (None, None, None)]
    assert read(",,\n1,x,2\n")[1] == [(1, "x", 2)]


def test_only_the_first_twenty_skipped_lines_are_shown_and_all_are_counted(read: Read) -> None:
    source, _ = read("a,b\n" + "1,x\n2\n" * 50)
    assert (len(source.skipped), source.skipped_total, source.rows) == (20, 50, 50)


def test_a_quote_that_is_never_closed_costs_the_lines_it_swallows_and_no_more(read: Read) -> None:
    source, rows = read('a,b\n0,x\n1,"un\n3,y\n4,w\n')
    assert rows == [(0, "x")]
    assert (source.skipped[0].line, source.skipped_total) == (3, 3)


def test_a_title_above_the_header_is_skipped_and_said(read: Read) -> None:
    source, rows = read("Report of 2024\n\nname,age\nAnn,3\nBob,4\n")
    assert rows == [("Ann", 3), ("Bob", 4)]
    assert source.skipped == (SkippedLine(1, "stands before the header", "Report of 2024"),)


def test_where_most_rows_end_early_their_last_cells_are_empty(read: Read) -> None:
    source, rows = read('name,born,died\nAnn,1900,1980\nBob,1950\n"Cy\nd",1960\nDee,1970\nEve,1,2,3\n')
    assert rows == [("Ann", 1900, 1980), ("Bob", 1950, None), ("Cy\nd", 1960, None), ("Dee", 1970, None)]
    assert source.notes == ("Most rows are shorter than the header; their last cells are taken for empty.",)
    assert [one.line for one in source.skipped] == [7]


def test_a_file_without_a_header_keeps_its_first_row(read: Read) -> None:
    source, rows = read("1,x\n3,y\n")
    assert rows == [(1, "x"), (3, "y")]
    assert source.notes == ("The file has no header; its columns are numbered.",)
    source, rows = read("A title\n1,2\n3,4\n")
    assert rows == [(1, 2), (3, 4)]


def test_years_can_be_names_of_columns(read: Read) -> None:
    source, _ = read("country,2019,2020\nDE,1,2\nFR,3,4\n")
    assert [field.name for field in source.fields] == ["country", "2019", "2020"]


def test_a_header_alone_is_a_table_without_rows(read: Read) -> None:
    source, rows = read("a,b\n")
    assert (source.rows, rows, _types(source)) == (0, [], ["VARCHAR", "VARCHAR"])


def test_one_column_is_a_table_too(read: Read) -> None:
    assert read("name\nAnn\nBob\n")[1] == [("Ann",), ("Bob",)]


@pytest.mark.parametrize("content", ["", "\n\n", "  \n \n"])
def test_a_file_with_nothing_in_it_is_refused(read: Read, content: str) -> None:
    with pytest.raises(InvalidInput, match="empty"):
        read(content)


@given(head=st.text(alphabet='ab1;,\t|"\n ', max_size=200))
def test_no_head_breaks_the_layout(head: str) -> None:
    try:
        layout = layout_of(head)
    except InvalidInput:
        return
    assert len({name.lower() for name in layout.names}) == len(layout.names) > 0
    assert all(len(row) == len(layout.names) for row in layout.rows)
    assert 0 <= layout.skip_rows <= len(head.splitlines())


# --- bytes --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("name,n\nJörg,1\n".encode(), "utf-8"),
        ("name,n\nJörg,1\n".encode("utf-8-sig"), "utf-8-sig"),
        ("name,n\nJörg,1\n".encode("utf-16"), "utf-16"),
        ("name,n\nJörg,1\n".encode("utf-32"), "utf-32"),
        ("name,n\nJörg,1\n".encode("latin-1"), "latin-1"),
    ],
)
def test_the_encoding_is_found(read: Read, content: bytes, encoding: str) -> None:
    source, rows = read(content)
    assert rows == [("Jörg", 1)]
    assert source.fields[0].name == "name"
    assert source.encoding == encoding


def test_lines_in_two_encodings_are_both_read_and_counted(read: Read) -> None:
    source, rows = read("name\nJörg\n".encode() + "Köln\n".encode("latin-1"))
    assert rows == [("Jörg",), ("Köln",)]
    assert source.encoding == "utf-8, latin-1"
    assert source.notes == ("Lines that are not UTF-8 and were read as Latin-1: 1.",)


def test_a_character_cut_by_a_chunk_is_whole(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retinue.tools.data.snapshot.CHUNK", 1024)
    _, rows = read("name,n\n" + "äöü€,1\n" * 2000)
    assert set(rows) == {("äöü€", 1)}
    _, rows = read(("name,n\n" + "äöü€,1\n" * 2000).encode("utf-16"))
    assert set(rows) == {("äöü€", 1)}


def test_bytes_that_end_in_half_a_character_are_still_read(read: Read) -> None:
    _, rows = read(b"name\nAnn\nJ" + "ö".encode()[:1])
    assert rows == [("Ann",), ("JÃ",)]


def test_a_few_nul_bytes_are_replaced_and_said(read: Read) -> None:
    source, rows = read(b"a,b\n" + b"1,x\n" * 100 + b"2,\0y\n")
    assert rows[-1] == (2, "\N{REPLACEMENT CHARACTER}y")
    assert "NUL" in source.notes[0]


def test_a_binary_file_is_refused(read: Read) -> None:
    with pytest.raises(InvalidInput, match="binary"):
        read(bytes(range(256)) * 20)


@pytest.mark.slow
def test_ten_thousand_columns_are_read_in_part_and_said(read: Read) -> None:
    line = ",".join("7" for _ in range(10_000)) + "\n"
    source, rows = read(",".join(f"c{number}" for number in range(10_000)) + "\n" + line * 20)
    assert (len(source.fields), len(rows), set(rows[0])) == (1000, 20, {7})
    assert source.notes == ("The file has 10,000 columns; the first 1,000 were read.",)


def test_a_line_of_ten_megabytes_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1," + "x" * 10_000_000 + "\n2,y\n")
    (tmp_path / "y.csv").write_text("y" * 10_000_000)
    with Data(Workspace(tmp_path)) as data:
        data.open("x.csv")
        assert data.query("SELECT a, length(b) FROM x ORDER BY a").rows == [(1, 10_000_000), (2, 1)]
        source = data.open("y.csv")
        assert (source.rows, len(source.fields[0].name)) == (0, 200)


# --- packed -------------------------------------------------------------------------------------------------------------


def test_a_packed_file_is_read_also_of_several_members(read: Read) -> None:
    packed = gzip.compress(b"a,b\n1,2\n") + gzip.compress(b"3,4\n") + b"\0" * 100
    source, rows = read(packed, "x.csv.gz")
    assert rows == [(1, 2), (3, 4)]
    assert source.bytes == len(packed)


@pytest.mark.parametrize("content", [b"", b"no gzip at all", gzip.compress(b"a\n1\n" * 1000, mtime=0)[:-20]])
def test_a_damaged_packed_file_is_refused(read: Read, content: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"gzip|is empty"):
        read(content, "x.csv.gz")


@pytest.mark.slow
def test_a_bomb_is_stopped_before_it_unfolds(read: Read) -> None:
    bomb = gzip.compress(b"a\n" + b"1\n" * 40_000_000, compresslevel=1)
    with pytest.raises(BudgetExceeded, match="32 MiB") as caught:
        read(bomb, "x.csv.gz", memory_mb=32)
    assert caught.value.hint


def test_a_file_larger_than_the_memory_is_refused_unread(read: Read) -> None:
    with pytest.raises(BudgetExceeded, match="16 MiB"):
        read(b"a\n" + b"1\n" * (9 << 20), memory_mb=16)
