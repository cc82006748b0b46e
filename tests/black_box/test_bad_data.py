"""Everything that can be wrong with a data file and with a question about one, as a user meets it.

Whatever is in a cell, a column name or a file name is text: it is no SQL, no markup and no order to a terminal. What
cannot be read is said with its place, and no figure counts it.
"""

import gzip
import itertools
import json
import os
import re
import resource
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.black_box.shown import harmless, inert, outside_code
from tests.black_box.user import Done, answered, make, refused, run, snapshot

pytest.importorskip("duckdb", reason="needs the extra `data`")

_SALES = "city,price\nRome,10\nBern,20\nRome,30\n"
_SQL = '"; DROP TABLE sales; --'
_EVIL = "\x1b[31mred \u202eevil <script>alert(1)</script> <img src=x onerror=alert(1)> [x](javascript:alert(1)) a|b `c`"
_EVIL_CSV = f'place,"n{_SQL.replace(chr(34), chr(34) * 2)}","{_EVIL}"\n"{_EVIL}",1,2\nRome,3,4\n'


def _parquet(rows: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import duckdb

        with duckdb.connect() as database:
            name = str(path).replace("'", "''")
            database.execute(f"COPY (SELECT {rows}) TO '{name}' (FORMAT parquet, COMPRESSION zstd)")

    return write


def _packed(piece: bytes, times: int) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with gzip.open(path, "wb", compresslevel=1) as file:
            for _ in range(times):
                file.write(piece)

    return write


_FILES: dict[str, str | bytes | Callable[[Path], None]] = {
    "sales.csv": _SALES,
    "evil.csv": _EVIL_CSV,
    "empty.csv": "",
    "header.csv": "a,b\n",
    "binary.csv": b"\x7fELF\0\0\0\0" * 1_000,
    "nul.csv": b"a,b\nx\0y,1\n",
    "open.csv": 'a,b\n1,2\n3,4\n"never closed,5\n',
    "ragged.csv": "a,b\n1,2\n3\n4,5,6,7\n8,9\n",
    "mixed.csv": "name,n\ncafé,1\n".encode() + "naïve,2\n".encode("latin-1") + "日本,3\n".encode(),
    "wide.csv": "\n".join(",".join(f"{row}{column}" for column in range(10_000)) for row in ("c", 1, 2)) + "\n",
    "long.csv": "a,b\n" + "x" * 5_000_000 + ",1\n",
    "twice.csv": "a,a,A,\n1,2,3,4\n",
    "deep.json": "[" * 100_000,
    "cut.json": '[{"a": 1}, {"a": 2',
    "scalar.json": "7",
    "lines.jsonl": '{"a": 1}\n{"a":\n[1]\n{"a": 3}\n',
    "nan.json": '[{"a": 1}, {"a": NaN}, {"a": 3}]',
    "junk.parquet": b"PAR1" + bytes(range(256)) * 4 + b"PAR1",
    "prose.parquet": "I am no Parquet file.",
    "prose.csv.gz": "I am not packed.",
    "bomb.parquet": _parquet("repeat('x', 1000000) AS a FROM range(3000)"),
    "rows.parquet": _parquet("0::BIGINT AS a FROM range(160000000)"),
    "bomb.csv.gz": _packed(b"1,2\n" * 262_144, 300),
    "plain.log": "The server started.\nERROR it broke\nIt goes on.\n" * 20,
    "long.log": "x" * 20_000_000,
    "it's; DROP TABLE x.csv": _SALES,
    "<img src=x onerror=alert(1)>.csv": _SALES,
    "\x1b[31mred.csv": _SALES,
    "\u202eright.csv": _SALES,
    "folder.csv": lambda path: path.mkdir(),
    "pipe.csv": os.mkfifo,
    "outside.csv": lambda path: path.symlink_to("/etc/passwd"),
    "endless.csv": lambda path: path.symlink_to("/dev/zero"),
    "circle.csv": lambda path: path.symlink_to("circle.csv"),
}


@pytest.fixture
def tables(home: Path) -> Path:
    """A folder of files that can be read: what is odd is asked of them."""
    root = make(home / "tables")
    for name in ("sales.csv", "evil.csv", "nan.json"):
        (root / name).write_text(str(_FILES[name]), encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def heap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of files that are wrong in every way. No question changes any of them."""
    root = tmp_path_factory.mktemp("heap")
    for name, content in _FILES.items():
        if isinstance(content, str | bytes):
            (root / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        else:
            content(root / name)
    before = snapshot(root)
    yield root
    assert snapshot(root) == before


def ask(home: Path, folder: Path, skill: str, *words: str) -> Done:
    return run(home, folder, "ask", "data_analyst", skill, *words)


def asked(home: Path, folder: Path, skill: str, question: str, **parameters: Any) -> tuple[int, dict[str, Any]]:
    """The exit code, and the result as a program gets it."""
    words = ["--params", json.dumps(parameters)] if parameters else []
    done = ask(home, folder, skill, question, *words, "--json")
    harmless(done.stdout + done.stderr)
    return done.returncode, json.loads(done.stdout)


# Files that are no data


@pytest.mark.parametrize(
    ("name", "exits", "said"),
    [
        ("empty.csv", 5, "is empty"),
        ("binary.csv", 5, "binary"),
        ("nul.csv", 5, "binary"),
        ("deep.json", 5, "nested too deeply"),
        ("cut.json", 5, "cut.json"),
        ("scalar.json", 5, "scalar.json"),
        ("junk.parquet", 5, "junk.parquet"),
        ("prose.parquet", 5, "not a Parquet file"),
        ("prose.csv.gz", 5, "not a gzip file"),
        ("folder.csv", 5, "is a folder"),
        ("pipe.csv", 5, "FIFO"),
        ("outside.csv", 5, "outside the workspace"),
        ("endless.csv", 5, "outside the workspace"),
        ("circle.csv", 5, "circle.csv"),
        ("../heap.csv", 5, "../heap.csv"),
        ("no-such-file.csv", 5, "no-such-file.csv"),
        ("/etc/passwd", 2, "/parameters/files/0"),
        ("", 2, "/parameters/files/0"),
    ],
)
def test_a_file_that_is_no_data_is_a_fault_with_its_name(
    home: Path, heap: Path, name: str, exits: int, said: str
) -> None:
    code, result = asked(home, heap, "profile", "what is in it?", files=[name])
    fault = result["fault"]
    assert (code, result["outcome"] in {"error", "failed"}) == (exits, True)
    assert said in fault["message"]
    assert fault["hint"]
    assert fault["code"] not in {"internal_error", "output_invalid"}
    assert "/tmp" not in fault["message"].replace(str(heap), "")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bomb.parquet", "rows.parquet", "bomb.csv.gz"])
def test_a_small_file_that_unfolds_into_a_huge_one_is_over_the_budget(home: Path, heap: Path, name: str) -> None:
    assert (heap / name).stat().st_size < 10_000_000
    words = ("ask", "data_analyst", "profile", f"what is in {name}?", "--timeout", "100")
    done = run(home, heap, *words, execute=True)  # only what is executed here is measured here
    refused(done, 7, "of memory that are granted")
    if sys.platform == "linux":  # elsewhere the unit is another
        assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 2 * 2**20


# Files that are data in part


@pytest.mark.parametrize(
    ("name", "rows", "said"),
    [
        ("open.csv", 2, "open.csv:4"),
        ("ragged.csv", 2, "ragged.csv:3"),
        ("lines.jsonl", 2, "lines.jsonl:2"),
    ],
)
def test_lines_that_cannot_be_read_are_named_and_no_figure_counts_them(
    home: Path, heap: Path, name: str, rows: int, said: str
) -> None:
    code, result = asked(home, heap, "profile", f"what is in {name}?")
    assert (code, result["outcome"]) == (0, "partial")
    assert f"has {rows} rows" in result["content"]
    assert said in json.dumps(result["warnings"])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("header.csv", "holds no rows"),
        ("mixed.csv", "were read as Latin-1: 1"),
        ("twice.csv", "without a name of their own (3)"),
        ("wide.csv", "The file has 10,000 columns; the first 1,000 were read."),
        ("plain.log", "No time stamps were recognised"),
        ("long.log", "No time stamps were recognised"),
        ("long.csv", "1 row"),
        ("nan.json", "3 rows"),
    ],
)
def test_what_is_odd_about_a_file_is_said_beside_its_profile(home: Path, heap: Path, name: str, said: str) -> None:
    done = ask(home, heap, "profile", f"what is in {name}?")
    answered(done, said)
    assert len(done.stdout) < 200_000


def test_a_log_without_time_stamps_has_entries_and_no_hours(home: Path, heap: Path) -> None:
    code, result = asked(home, heap, "log_parse", "errors per hour in plain.log")
    assert code == 0
    assert "without time stamps" in result["content"]
    assert "No time stamps were recognised" in json.dumps(result["data"]["notes"])
    assert result["data"].get("charts", []) == [
        chart for chart in result["data"].get("charts", []) if chart["kind"] != "line"
    ]


def test_no_number_that_is_none_reaches_json(home: Path, tables: Path) -> None:
    for question in ("mean of a in nan.json", "largest a in nan.json", "what is in nan.json?"):
        done = run(home, tables, "run", question, "--json")
        assert done.returncode in {0, 1, 9}
        json.loads(done.stdout, parse_constant=pytest.fail)


# Words that are SQL


@pytest.mark.parametrize(
    "question",
    [
        "'; drop table sales; -- in sales.csv",
        "select * from read_csv('/etc/passwd') in sales.csv",
        "mean price by city in sales.csv; COPY (SELECT 1) TO 'marker'",
        "mean of `price\"); ATTACH 'marker'; --` in sales.csv",
        "how many rows of sales.csv where city = 'Rome' OR 1=1; --",
        "sum of price in sales.csv; INSTALL httpfs; LOAD httpfs; SELECT * FROM 'http://127.0.0.1:9/'",
        "PRAGMA database_list in sales.csv",
    ],
)
def test_sql_in_a_question_is_only_words(home: Path, tables: Path, question: str) -> None:
    done = run(home, tables, "ask", "data_analyst", "aggregate", question)
    assert done.returncode in {0, 5, 9}
    assert "root:" not in done.stdout + done.stderr
    assert "our mistake" not in done.stderr
    assert list(tables.glob("marker*")) == []


def test_sql_in_parameters_is_only_values(home: Path, tables: Path) -> None:
    where = [{"column": "city", "op": "=", "value": "Rome' OR '1'='1"}]
    count = [{"function": "count"}]
    code, result = asked(home, tables, "aggregate", "how many", files=["sales.csv"], measures=count, where=where)
    assert (code, result["data"]["tables"][0]["rows"]) == (0, [[0]])
    column = {"function": "mean", "column": f"price{_SQL}"}
    code, result = asked(home, tables, "aggregate", "mean", files=["sales.csv"], measures=[column])
    assert (code, result["fault"]["code"]) == (5, "invalid_input")
    assert "city, price" in result["fault"]["hint"]
    code, result = asked(home, tables, "aggregate", "mean", files=["sales.csv"], measures=[{"function": "system"}])
    assert (code, result["fault"]["path"]) == (2, "/parameters/measures/0/function")


def test_a_column_whose_name_is_sql_is_a_column(home: Path, tables: Path) -> None:
    measure = {"function": "sum", "column": f"n{_SQL}"}
    code, result = asked(home, tables, "aggregate", "sum", files=["evil.csv"], measures=[measure])
    assert (code, result["data"]["tables"][0]["rows"][0][0]) == (0, 4)
    assert f'"n{_SQL.replace(chr(34), chr(34) * 2)}"' in json.dumps(result["data"]).encode().decode("unicode_escape")


@pytest.mark.parametrize("name", ["it's; DROP TABLE x.csv", "<img src=x onerror=alert(1)>.csv", "\u202eright.csv"])
def test_a_file_name_that_is_sql_or_markup_is_a_name(home: Path, heap: Path, name: str) -> None:
    code, result = asked(
        home, heap, "aggregate", "sum", files=[name], measures=[{"function": "sum", "column": "price"}]
    )
    assert (code, result["data"]["tables"][0]["rows"][0][0]) == (0, 60)


# Cells and names that are markup


@pytest.mark.parametrize("words", [("profile", "what is in evil.csv?"), ("aggregate", "rows by place in evil.csv")])
@pytest.mark.parametrize("form", ["md", "html"])
def test_markup_in_cells_and_names_is_shown_and_not_obeyed(
    home: Path, tables: Path, words: tuple[str, str], form: str
) -> None:
    done = ask(home, tables, *words, "--format", form)
    answered(done, "alert(1)", "Rome")
    harmless(done.stdout + done.stderr)
    if form == "html":
        inert(done.stdout)
        return
    bare = outside_code(done.stdout)
    assert re.search(r"(?<!\\)<(script|img)", bare) is None
    assert re.search(r"(?<!\\)\]\(javascript", bare) is None
    table = [line for line in bare.splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table}) == 1, "no cell makes a column"


@pytest.mark.parametrize("name", ["<img src=x onerror=alert(1)>.csv", "\u202eright.csv"])
@pytest.mark.parametrize("form", ["md", "html"])
def test_markup_in_file_names_is_shown_and_not_obeyed(home: Path, heap: Path, name: str, form: str) -> None:
    done = ask(home, heap, "profile", "what is it?", "--params", json.dumps({"files": [name]}), "--format", form)
    answered(done, "price")
    harmless(done.stdout + done.stderr)
    if form == "html":
        inert(done.stdout)


# Questions


@pytest.mark.parametrize(
    ("question", "exits"),
    [
        ("mean of nothing that is there in sales.csv", {5, 9}),
        ("\U0001f4a5 in sales.csv", {0, 5, 9}),
        ("mean price by " + "city and " * 500 + "city in sales.csv", {0, 2, 5, 9}),
        ("price " * 1_600 + "in sales.csv", {0, 2, 5, 9}),
    ],
    ids=range(4),
)
def test_a_question_that_no_column_answers_is_asked_back_or_refused(
    home: Path, tables: Path, question: str, exits: set[int]
) -> None:
    done = ask(home, tables, "aggregate", question, "--timeout", "20")
    assert done.returncode in exits
    assert "our mistake" not in done.stderr
    harmless(done.stdout + done.stderr)


def test_one_file_that_cannot_be_read_does_not_hide_the_one_that_is_meant(home: Path) -> None:
    root = make(home / "folder")
    (root / "a.csv").write_bytes(b"\0" * 100)
    (root / "b.csv").write_text(_SALES)
    (root / "c.parquet").write_bytes(b"PAR1 nothing PAR1")
    done = ask(home, root, "aggregate", "mean price by city")
    answered(done, "`Rome`: 20", "b.csv")


# Files that change


def test_a_file_that_is_replaced_between_two_questions_is_read_anew(home: Path) -> None:
    root = make(home / "folder")
    (root / "sales.csv").write_text(_SALES)
    answered(ask(home, root, "aggregate", "sum of price in sales.csv"), "60")
    (root / "new.csv").write_text("city,price\nOslo,7\n")
    (root / "new.csv").replace(root / "sales.csv")
    answered(ask(home, root, "aggregate", "sum of price in sales.csv"), "7")
    (root / "sales.csv").unlink()
    refused(ask(home, root, "aggregate", "sum of price in sales.csv"), 5, "sales.csv")


@pytest.mark.slow
def test_a_file_that_is_replaced_all_the_time_is_one_of_those_that_it_was(home: Path) -> None:
    root = make(home / "folder")
    file = root / "sales.csv"
    ended = threading.Event()

    def replace() -> None:
        for price in itertools.cycle((1, 2)):
            if ended.is_set():
                break
            (home / "new.csv").write_text("city,price\n" + f"Rome,{price}\n" * 50_000)
            (home / "new.csv").replace(file)

    file.write_text("city,price\n" + "Rome,1\n" * 50_000)
    writer = threading.Thread(target=replace)
    writer.start()
    try:
        code, result = asked(home, root, "aggregate", "sum of price in sales.csv")
    finally:
        ended.set()
        writer.join()
    assert (code, result["outcome"]) == (0, "success")
    assert result["data"]["tables"][0]["rows"][0][0] in {50_000, 100_000}
