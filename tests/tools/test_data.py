"""The door: what can be asked, what is closed, how it stops, and what a file may not do to it."""

import json
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from retinue.errors import AccessDenied, BudgetExceeded, Canceled, InvalidInput, MissingFile, NotInstalled, Unavailable
from retinue.tools.data.database import Data
from retinue.tools.data.sources import DATA_SUFFIXES, DataField, QueryRows, identifier, kind_of
from retinue.tools.workspace import Workspace


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Data]:
    (tmp_path / "sales.csv").write_text("city,amount\nRome,1\nOslo,2\nRome,3\n")
    with Data(Workspace(tmp_path)) as opened:
        opened.open("sales.csv")
        yield opened


@pytest.fixture(scope="module")
def empty_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Data]:
    with Data(Workspace(tmp_path_factory.mktemp("empty"))) as opened:
        yield opened


# --- questions ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("G20")
def test_a_file_becomes_a_table_that_can_be_asked(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "Sales 2024.csv").write_text("city,amount\nRome,1\nOslo,2\nRome,3\n")
    with Data(Workspace(tmp_path)) as data:
        source = data.open("in/Sales 2024.csv")
        assert (source.path, source.table, source.kind) == ("in/Sales 2024.csv", "sales_2024", "csv")
        assert source.fields == (DataField("city", "text", "VARCHAR"), DataField("amount", "integer", "BIGINT"))
        assert (source.rows, source.bytes, source.encoding) == (3, 33, "utf-8")
        assert (source.skipped, source.skipped_total, source.notes) == ((), 0, ())
        sql = "SELECT city, sum(amount) AS total FROM sales_2024 WHERE amount > ? GROUP BY city ORDER BY city"
        assert data.query(sql, [0]) == QueryRows(
            ("city", "total"), [("Oslo", 2), ("Rome", 4)], truncated=False, sql=sql
        )


def test_more_rows_than_the_limit_are_said_to_be_missing(data: Data) -> None:
    assert data.query("SELECT amount FROM sales ORDER BY amount", limit=2).rows == [(1,), (2,)]
    assert data.query("SELECT amount FROM sales", limit=2).truncated
    assert not data.query("SELECT amount FROM sales", limit=3).truncated
    with pytest.raises(InvalidInput, match="-1 rows"):
        data.query("SELECT 1", limit=-1)


@pytest.mark.parametrize(
    ("name", "table"),
    [("2024-03.csv", "t_2024_03"), (".csv", "csv"), ("--.csv", "data"), ("Ünï.data.csv", "ünï"), ("a;b.csv", "a_b")],
)
def test_a_table_is_named_after_its_file(tmp_path: Path, name: str, table: str) -> None:
    (tmp_path / name).write_text("n\n1\n")
    with Data(Workspace(tmp_path)) as data:
        assert data.open(name).table == table
        assert data.query(f"SELECT * FROM {table}").rows == [(1,)]


def test_two_files_of_one_name_get_two_tables_and_one_file_only_one(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.csv").write_text(f"n\n{len(folder)}\n")
    with Data(Workspace(tmp_path)) as data:
        first, second = data.open("a/x.csv"), data.open("b/x.csv")
        assert (first.table, second.table) == ("x", "x_2")
        assert data.open("./a/x.csv") is first
        assert data.query("SELECT count(*) FROM x JOIN x_2 USING (n)").rows == [(1,)]


@pytest.mark.parametrize(
    ("sql", "cell"),
    [
        ("DATE '2024-03-01'", "2024-03-01"),
        ("TIME '10:00:00.5'", "10:00:00.5"),
        ("TIMESTAMP '2024-03-01 10:00:00'", "2024-03-01T10:00:00"),
        ("TIMESTAMPTZ '2024-03-01 10:00:00+02'", "2024-03-01T08:00:00+00:00"),
        ("INTERVAL 3 DAY", "3 days"),
        ("1.50::DECIMAL(5, 2)", 1.5),
        ("2.00::DECIMAL(5, 2)", 2),
        ("170141183460469231731687303715884105727::HUGEINT", 170141183460469231731687303715884105727),
        ("true", True),
        ("NULL", None),
        ("NULL::DECIMAL(5, 2)", None),
        ("NULL::TIMESTAMP", None),
        ("'é'", "é"),
        ("[1, 2]", "[1,2]"),
        ("{'a': DATE '2024-03-01'}", '{"a":"2024-03-01"}'),
        ("MAP {'a': 1}", '{"a":1}'),
        ("'ab'::BLOB", "ab"),
        ("'6ba7b810-9dad-11d1-80b4-00c04fd430c8'::UUID", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
        ("'a'::ENUM ('a', 'b')", "a"),
    ],
)
def test_every_value_comes_as_json_can_say_it(data: Data, sql: str, cell: object) -> None:
    rows = data.query(f"SELECT {sql} AS x").rows
    assert rows == [(cell,)]
    assert type(rows[0][0]) is type(cell)
    json.dumps(rows, allow_nan=False)


def test_a_number_that_is_none_is_left_out_with_a_note(data: Data) -> None:
    found = data.query("SELECT unnest(['nan'::DOUBLE, 'inf'::DOUBLE, 1.0]) AS x")
    assert found.rows == [(None,), (None,), (1.0,)]
    assert found.notes == ("Column 'x' has values that are not a finite number; they are left out.",)


@given(
    value=st.one_of(st.text(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.booleans(), st.none())
)
def test_a_parameter_comes_back_as_it_went_in(empty_data: Data, value: str | float | bool | None) -> None:
    found = empty_data.query("SELECT ? AS x", [value]).rows[0][0]
    assert found is None if isinstance(value, float) and math.isinf(value) else found == value


@pytest.mark.parametrize("name", ["a b", 'x"; DROP TABLE sales; --', "SELECT", "ä", "1", "'"])
def test_a_quoted_name_is_a_name_and_nothing_else(data: Data, name: str) -> None:
    assert data.query(f"SELECT amount AS {identifier(name)} FROM sales").columns == (name,)


@given(name=st.text(min_size=1).filter(lambda name: "\0" not in name))
def test_no_name_ends_its_own_quotes(name: str) -> None:
    inside = identifier(name)[1:-1]
    assert '"' not in inside.replace('""', "")
    assert inside.replace('""', '"') == name


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_what_sql_cannot_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="name in SQL"):
        identifier(name)


def test_kinds_are_told_by_the_name() -> None:
    kinds = {suffix: kind_of(f"in.dir/X{suffix.upper()}") for suffix in DATA_SUFFIXES}
    assert None not in kinds.values()
    assert kinds[".tsv"] == "csv"
    assert kinds[".ndjson.gz"] == "jsonl"
    assert kind_of("var/access.log.1") == kind_of("access.log-20240301.gz") == "log"
    assert kind_of("a.csv/readme.md") is None
    assert kind_of("data.parquet.gz") is None


# --- what is closed -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO sales VALUES ('x', 1)",
        "CREATE TABLE t AS SELECT 1",
        "DROP TABLE sales",
        "COPY sales TO 'x.csv'",
        "ATTACH 'x.db'",
        "SET threads = 8",
        "PRAGMA version",
        "CALL pragma_version()",
        "INSTALL httpfs",
        "LOAD httpfs",
        "EXPORT DATABASE 'x'",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE sales",
        "",
        "-- nothing",
        "SELEC 1",
        "SELECT 1 \0",
        "SELECT nothing FROM sales",
        "WITH made AS (INSERT INTO sales VALUES ('x', 1) RETURNING *) SELECT * FROM made",
    ],
)
def test_anything_but_one_select_is_refused_and_changes_nothing(data: Data, sql: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        data.query(sql)
    assert caught.value.hint
    assert data.query("SELECT count(*) FROM sales").rows == [(3,)]


@pytest.mark.parametrize(
    "sql", ["SELECT 1 AS a -- note", "SELECT 1 AS a;", "WITH x AS (SELECT 1 AS a) FROM x", "VALUES (1)"]
)
def test_every_form_of_a_select_is_run(data: Data, sql: str) -> None:
    assert data.query(sql).rows == [(1,)]


@pytest.mark.parametrize(
    "source",
    [
        "read_csv('{0}')",
        "read_text('{0}')",
        "read_text('/proc/self/environ')",
        "glob('/*')",
        "sniff_csv('{0}')",
        "'{0}'",
        "read_csv('https://127.0.0.1:1/x.csv')",
        "parquet_metadata('{0}')",
    ],
)
def test_no_file_and_no_address_is_reached_from_a_query(data: Data, tmp_path: Path, source: str) -> None:
    other = tmp_path / "other.csv"
    other.write_text("secret\n1\n")
    with pytest.raises((AccessDenied, InvalidInput)):
        data.query(f"SELECT * FROM {source.format(other)}")


def test_no_variable_of_the_program_is_reached_from_a_query(data: Data) -> None:
    secret = {"a": [1]}
    with pytest.raises(InvalidInput, match="secret"):
        data.query("SELECT * FROM secret")
    assert secret


def test_a_misspelt_name_is_answered_with_what_there_is(data: Data) -> None:
    with pytest.raises(InvalidInput) as caught:
        data.query("SELECT amont FROM sales")
    assert "amount" in caught.value.suggestions
    assert "amount" in caught.value.hint


def test_nothing_stays_behind_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    (tmp_path / "x.csv").write_text("a\n1\n")
    with Data(Workspace(tmp_path)) as data:
        data.open("x.csv")
        assert [list(folder.iterdir()) for folder in scratch.iterdir()] == [[]]
    assert list(scratch.iterdir()) == []


def test_without_duckdb_the_hint_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    with pytest.raises(NotInstalled, match="duckdb") as caught:
        Data(Workspace(tmp_path))
    assert "retinue[data]" in caught.value.hint


# --- bounds -------------------------------------------------------------------------------------------------------------

ENDLESS = "SELECT count(*) FROM range(1000000000000) a, range(1000000) b"


def test_a_query_ends_when_the_check_says_so(data: Data, tmp_path: Path) -> None:
    calls: list[int] = []

    def check() -> None:
        calls.append(threading.get_ident())
        if len(calls) > 3:
            raise Canceled("enough")

    with Data(Workspace(tmp_path), check=check) as watched, pytest.raises(Canceled, match="enough"):
        watched.query(ENDLESS)
    assert len(calls) == 4
    assert data.query("SELECT 1").rows == [(1,)]


def test_a_check_that_raises_at_once_starts_nothing(tmp_path: Path) -> None:
    def check() -> None:
        raise Canceled("never began")

    (tmp_path / "x.csv").write_text("a\n1\n")
    with Data(Workspace(tmp_path), check=check) as data:
        with pytest.raises(Canceled, match="never began"):
            data.open("x.csv")
        with pytest.raises(Canceled, match="never began"):
            data.query("SELECT 1")


def test_after_a_stop_the_next_query_works(tmp_path: Path) -> None:
    stop = threading.Event()

    def check() -> None:
        if stop.is_set():
            raise Canceled("stopped")

    with Data(Workspace(tmp_path), check=check) as data:
        timer = threading.Timer(0.1, stop.set)
        timer.start()
        with pytest.raises(Canceled):
            data.query(ENDLESS)
        timer.join()
        stop.clear()
        assert data.query("SELECT 1").rows == [(1,)]


def test_an_interrupt_from_elsewhere_is_a_cancellation(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    import duckdb

    def interrupted(*_: object, **__: object) -> None:
        raise duckdb.InterruptException("INTERRUPT Error: Interrupted!")

    monkeypatch.setattr("retinue.tools.data.database.fetch_rows", interrupted)
    with pytest.raises(Canceled, match="interrupted"):
        data.query("SELECT 1")


@pytest.mark.parametrize("error", ["FatalException", "InternalException"])
def test_a_broken_database_says_that_it_is(data: Data, monkeypatch: pytest.MonkeyPatch, error: str) -> None:
    import duckdb

    def breaking(*_: object, **__: object) -> None:
        raise getattr(duckdb, error)("FATAL Error: lost")

    monkeypatch.setattr("retinue.tools.data.database.fetch_rows", breaking)
    with pytest.raises(Unavailable, match="lost"):
        data.query("SELECT 1")


@pytest.mark.parametrize(
    "sql", ["SELECT list(i) FROM range(100000000) t(i)", "SELECT count(DISTINCT i) FROM range(100000000) t(i)"]
)
def test_a_query_that_needs_too_much_memory_is_a_spent_budget(tmp_path: Path, sql: str) -> None:
    with Data(Workspace(tmp_path), memory_mb=64) as data:
        with pytest.raises(BudgetExceeded, match="64 MiB"):
            data.query(sql)
        assert data.query("SELECT 1").rows == [(1,)]


def test_python_running_out_of_memory_is_a_spent_budget(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("retinue.tools.data.database.fetch_rows", exhausted)
    with pytest.raises(BudgetExceeded):
        data.query("SELECT 1")


# --- files that are no files, or change -----------------------------------------------------------------------------------


def test_a_missing_file_is_answered_with_similar_names(data: Data) -> None:
    with pytest.raises(MissingFile) as caught:
        data.open("sale.csv")
    assert caught.value.suggestions == ("sales.csv",)


def test_a_folder_a_strange_suffix_and_what_lies_outside_are_refused(data: Data, tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "out.csv").symlink_to("/etc/hostname")
    (tmp_path / "pipe.csv").parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / "pipe.csv")
    for name, error in {
        "folder.csv": InvalidInput,
        "pipe.csv": InvalidInput,
        "notes.txt": InvalidInput,
        "out.csv": AccessDenied,
        "../x.csv": AccessDenied,
    }.items():
        with pytest.raises(error) as caught:
            data.open(name)
        assert caught.value.hint


def test_a_link_within_the_workspace_is_read_as_what_it_leads_to(data: Data, tmp_path: Path) -> None:
    (tmp_path / "again.csv").symlink_to("sales.csv")
    assert data.open("again.csv").table == "sales"


def _changing(tmp_path: Path, change: Callable[[], object]) -> Data:
    """A `Data` in whose first look at the time, while it reads the file, `change` happens."""
    calls: list[None] = []

    def check() -> None:
        calls.append(None)
        if len(calls) == 2:  # the first one comes before the file is opened
            change()

    return Data(Workspace(tmp_path), check=check)


def _write_later(path: Path, content: bytes, *, mode: str = "r+b") -> None:
    with path.open(mode) as file:
        file.write(content)
    later = time.time_ns() + 1_000_000_000
    os.utime(path, ns=(later, later))


def test_a_file_replaced_while_it_is_read_counts_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"a\n" + b"1\n" * 1000)
    (tmp_path / "new").write_bytes(b"b\n" + b"2\n" * 10)
    with _changing(tmp_path, lambda: (tmp_path / "new").replace(path)) as data:
        source = data.open("x.csv")
        assert (source.rows, source.fields[0].name) == (1000, "a")
        assert data.query("SELECT DISTINCT a FROM x").rows == [(1,)]


@pytest.mark.parametrize("content", [b"", b"a\n2\n", b"b\n" + b"2\n" * 1000, b"b\n" + b"2\n" * 5000])
def test_a_file_rewritten_while_it_is_read_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"a\n" + b"1\n" * 1000)
    with _changing(tmp_path, lambda: _write_later(path, content, mode="wb")) as data:
        with pytest.raises(Unavailable, match="changed while it was read") as caught:
            data.open("x.csv")
        assert caught.value.retryable
        assert data.query("SELECT count(*) FROM duckdb_tables()").rows == [(0,)]


def test_a_log_that_only_grows_counts_as_it_was_when_opened(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"2024-03-01 10:00:00 INFO one\n" * 3)
    with _changing(tmp_path, lambda: _write_later(path, b"2024-03-01 10:00:01 INFO two\n", mode="ab")) as data:
        source = data.open("x.log")
    assert source.rows == 3
    assert "The file grew while it was read; it counts as it stood when it was opened." in source.notes


def test_what_failed_to_open_leaves_the_others_as_they_are(data: Data, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("[1, 2]")
    with pytest.raises(InvalidInput):
        data.open("bad.json")
    assert data.query("SELECT table_name FROM duckdb_tables()").rows == [("sales",)]
    (tmp_path / "bad.json").write_text('[{"a": 1}]')
    assert data.open("bad.json").rows == 1
