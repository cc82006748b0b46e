"""Logs: every format that is recognised, and that no line is lost whatever it looks like."""

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings, strategies as st

from retinue.contract.table import Cell
from retinue.errors import InvalidInput
from retinue.tools.data.database import Data
from retinue.tools.data.sources import DataSource, identifier
from retinue.tools.workspace import Workspace
from tests.examples import examples

Read: TypeAlias = Callable[..., tuple[DataSource, list[dict[str, Cell]]]]

ACCESS = '10.0.0.1 - bob [01/Mar/2024:10:00:00 +0200] "GET /a/b?x=1 HTTP/1.1" 200 12 "-" "curl/8 \\"q\\""'
NO_ZONE = "The time stamps name no zone; they are given as they stand."
NO_TIMES = "No time stamps were recognised, so `at` is empty."


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def reading(content: str | bytes, name: str = "x.log", changed: float | None = None) -> Any:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if changed is not None:
            os.utime(path, (changed, changed))
        with Data(Workspace(tmp_path)) as data:
            source = data.open(name)
            found = data.query(f"SELECT * FROM {identifier(source.table)} ORDER BY line")
        return source, [dict(zip(found.columns, row, strict=True)) for row in found.rows]

    return reading


def _without_text(row: dict[str, Cell]) -> dict[str, Cell]:
    return {name: cell for name, cell in row.items() if name not in ("line", "text") and cell is not None}


@pytest.mark.requirement("G20")
def test_an_access_log_is_taken_apart(read: Read) -> None:
    source, rows = read(
        (ACCESS + "\n") * 3 + 'not a line\n9.9.9.9 - - [01/Mar/2024:10:00:01 +0200] "\\x16" 400 - "-" "-"\n'
    )
    assert [field.name for field in source.fields] == [
        "line", "at", "client", "user", "method", "path", "query", "status", "bytes", "referer", "agent", "text",
    ]  # fmt: skip
    assert rows[0] == {
        "line": 1,
        "at": "2024-03-01T08:00:00",
        "client": "10.0.0.1",
        "user": "bob",
        "method": "GET",
        "path": "/a/b",
        "query": "x=1",
        "status": 200,
        "bytes": 12,
        "referer": None,
        "agent": 'curl/8 \\"q\\"',
        "text": ACCESS,
    }
    assert _without_text(rows[3]) == {}
    assert (rows[3]["line"], rows[3]["text"]) == (4, "not a line")
    assert _without_text(rows[4]) == {"at": "2024-03-01T08:00:01", "client": "9.9.9.9", "status": 400}
    assert source.notes == ("Lines that fit no known format, and have their text only: 1.", "Times are given in UTC.")


@pytest.mark.parametrize(
    ("rest", "name", "value"),
    [
        (" 0.123", "seconds", 0.123),
        (" 0.004 0.003 .", "seconds", 0.004),
        (' "10.1.1.1" 0.250', "seconds", 0.25),
        (' "-" "0.5"', "seconds", 0.5),
        (' rt=0.5 uct="0.1"', "seconds", 0.5),
        (" request_time=2", "seconds", 2.0),
        (" 12ms", "duration_ms", 12.0),
        (" 4512", "duration", 4512),
    ],
)
def test_a_time_at_the_end_of_a_line_is_named_after_its_unit(read: Read, rest: str, name: str, value: Cell) -> None:
    source, rows = read((ACCESS + rest + "\n") * 3)
    assert rows[0][name] == value
    assert {"seconds", "duration_ms", "duration"}.intersection(field.name for field in source.fields) == {name}


@pytest.mark.parametrize("before", ["", "example.org:80 "])
def test_the_common_form_has_no_referer(read: Read, before: str) -> None:
    _, rows = read(f'{before}10.0.0.1 - - [01/Mar/2024:10:00:00 +0000] "GET / HTTP/1.0" 304 -\n' * 2)
    assert _without_text(rows[0]) == {
        "at": "2024-03-01T10:00:00", "client": "10.0.0.1", "method": "GET", "path": "/", "status": 304,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (
            "2024-03-01 10:00:00,123 - app.db - ERROR - it failed",
            {"at": "2024-03-01T10:00:00.123", "level": "ERROR", "logger": "app.db", "message": "it failed"},
        ),
        (
            "2024-03-01T10:00:00Z INFO app.db: started",
            {"at": "2024-03-01T10:00:00", "level": "INFO", "logger": "app.db", "message": "started"},
        ),
        (
            "2024-03-01T10:00:00.5+02:00 warning something odd",
            {"at": "2024-03-01T08:00:00.5", "level": "WARNING", "message": "something odd"},
        ),
        (
            "2024-03-01 10:00:00.123 [main] DEBUG com.x.Y - hello",
            {"at": "2024-03-01T10:00:00.123", "level": "DEBUG", "logger": "com.x.Y", "message": "hello"},
        ),
        (
            "2024/03/01 10:00:00 [error] 12#0: *1 open() failed",
            {"at": "2024-03-01T10:00:00", "level": "ERROR", "logger": "12#0", "message": "*1 open() failed"},
        ),
        ("2024/03/01 10:00:00 listening on :80", {"at": "2024-03-01T10:00:00", "message": "listening on :80"}),
        ("[2024-03-01 10:00:00] INFO: fine", {"at": "2024-03-01T10:00:00", "level": "INFO", "message": "fine"}),
        (
            "2024-03-01 10:00:00 | INFO | app | m",
            {"at": "2024-03-01T10:00:00", "level": "INFO", "logger": "app", "message": "m"},
        ),
        ("INFO:root:hello", {"level": "INFO", "logger": "root", "message": "hello"}),
        ("[INFO] building", {"level": "INFO", "message": "building"}),
        ("ERROR something", {"level": "ERROR", "message": "something"}),
    ],
)
def test_the_logs_of_programs_are_taken_apart(read: Read, line: str, fields: dict[str, Cell]) -> None:
    _, rows = read(f"{line}\n{line}\n")
    assert _without_text(rows[1]) == {**fields, "continued": 0}
    assert (rows[1]["line"], rows[1]["text"]) == (2, line)


def test_lines_without_a_beginning_belong_to_the_entry_before(read: Read) -> None:
    source, rows = read(
        "loading\n2024-03-01 10:00:00 ERROR app: no\nTraceback (most recent call last):\n\n  File x\nValueError: no\n"
        "2024-03-01 10:00:01 INFO app: ok\n"
    )
    assert [(row["line"], row["continued"], row["message"]) for row in rows] == [
        (1, 0, None),
        (2, 3, "no"),
        (7, 0, "ok"),
    ]
    assert str(rows[1]["text"]).endswith("app: no\nTraceback (most recent call last):\n  File x\nValueError: no")
    assert source.notes == (
        "Lines that fit no known format, and have their text only: 1.",
        "Lines without a beginning of their own, which belong to the entry before them: 3.",
        NO_ZONE,
    )


def test_syslog_without_a_year_takes_the_last_before_the_file_was_changed(read: Read) -> None:
    april = 1_711_965_600  # 2024-04-01
    source, rows = read(
        "Dec 31 23:59:59 host kernel: foo\nMar  1 10:00:00 host sshd[12]: Accepted x\nApr 31 10:00:00 host x: y\n",
        changed=april,
    )
    assert [row["at"] for row in rows] == ["2023-12-31T23:59:59", "2024-03-01T10:00:00", None]
    assert _without_text(rows[1]) == {
        "at": "2024-03-01T10:00:00", "host": "host", "program": "sshd", "pid": 12, "message": "Accepted x",
    }  # fmt: skip
    assert "changed in April 2024" in source.notes[-1]


def test_the_newer_syslog_names_everything(read: Read) -> None:
    _, rows = read(
        "<34>1 2003-10-11T22:14:15.003Z box su 7 ID47 [a b=\"c\"] 'su root' failed\n<34>1 2003-10-11T22:14:15Z box - - - - -\n"
    )
    assert _without_text(rows[0]) == {
        "at": "2003-10-11T22:14:15.003", "host": "box", "program": "su", "pid": 7, "message": "'su root' failed",
    }  # fmt: skip


@pytest.mark.parametrize(
    "line", ["2024-03-01 10:00:00 +0200 abc1234 fix: it", "abc1234 2024-03-01 10:00:00 +0200 fix: it"]
)
def test_a_list_of_commits_is_taken_apart(read: Read, line: str) -> None:
    source, rows = read(f"{line}\n{line}\n")
    assert _without_text(rows[0]) == {"at": "2024-03-01T08:00:00", "commit": "abc1234", "message": "fix: it"}
    assert source.notes == ("Times are given in UTC.",)


def test_stamps_with_and_without_a_zone_are_told_apart_in_a_note(read: Read) -> None:
    source, _ = read("2024-03-01 abc1234 one\n2024-03-01 10:00:00 +0200 abc1235 two\n")
    assert source.notes == ("Times are given in UTC; those without a zone as they stand.",)


def test_json_lines_get_the_names_of_the_other_formats(read: Read) -> None:
    source, rows = read(
        '{"time": "2024-03-01T10:00:00Z", "level": "info", "msg": "hi", "n": 1}\nno json\n'
        '{"time": "2024-03-01T10:00:01Z", "level": "error", "msg": "ho", "text": "z"}\n'
    )
    assert _without_text(rows[0]) == {"at": "2024-03-01T10:00:00", "level": "info", "message": "hi", "n": 1}
    assert _without_text(rows[1]) == {}
    assert rows[2]["text_2"] == "z"
    assert "have their text only: 1." in source.notes[1]


@pytest.mark.parametrize(
    "stamp", ["1709287200", "1709287200000", "1709287200000000", "1709287200000000000", "1709287200.0"]
)
def test_times_counted_since_1970_are_times(read: Read, stamp: str) -> None:
    source, rows = read(f'{{"ts": {stamp}, "severity": "INFO"}}\n{{"ts": {stamp}}}\n')
    assert rows[0]["at"] == "2024-03-01T10:00:00"
    assert rows[0]["level"] == "INFO"
    assert source.notes == ("Times were counted since 1970 and are given in UTC.",)


def test_json_lines_without_a_time_have_an_empty_one(read: Read) -> None:
    source, rows = read('{"a": 1}\n' + '{"a": ' + "[" * 300 + "]" * 300 + "}\n")
    assert [row["at"] for row in rows] == [None, None]
    assert source.notes[-1] == NO_TIMES


def test_a_log_without_time_stamps_is_a_log(read: Read) -> None:
    source, rows = read("just words\nmore words ERROR here\n")
    assert [_without_text(row) for row in rows] == [
        {"message": "just words"},
        {"level": "ERROR", "message": "more words ERROR here"},
    ]
    assert [row["at"] for row in rows] == [None, None]
    assert source.notes == (NO_TIMES,)


def test_an_empty_log_is_refused_and_a_blank_one_has_no_rows(read: Read) -> None:
    with pytest.raises(InvalidInput, match="empty"):
        read("")
    assert read("\n \n\t\n")[1] == []


def test_a_rotated_and_packed_log_is_a_log(read: Read) -> None:
    source, rows = read(gzip.compress((ACCESS + "\r\n").encode()), "access.log.1.gz")
    assert (source.kind, source.table, rows[0]["status"]) == ("log", "access", 200)


def test_line_numbers_hold_across_pieces(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retinue.tools.data.snapshot.CHUNK", 100)
    _, rows = read("".join(f"2024-03-01 10:00:00 INFO app: {number}\n\n" for number in range(200)))
    assert [(row["line"], row["message"]) for row in rows] == [(2 * number + 1, str(number)) for number in range(200)]


def test_a_line_of_ten_megabytes_is_kept_whole(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text("2024-03-01 10:00:00 INFO " + "x" * 10_000_000 + "\n2024-03-01 10:00:01 INFO y\n")
    with Data(Workspace(tmp_path)) as data:
        data.open("x.log")
        assert data.query("SELECT length(text), level FROM x ORDER BY line").rows == [
            (10_000_025, "INFO"),
            (26, "INFO"),
        ]


_LINES = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), max_size=40),
    st.sampled_from(
        [ACCESS, "2024-03-01 10:00:00 INFO app: x", "INFO:root:x", '{"a": 1}', "Mar  1 10:00:00 h p: m", "  at x"]
    ),
)


@pytest.mark.slow
@settings(max_examples=examples(40))
@given(lines=st.lists(_LINES, min_size=1, max_size=12))
def test_no_line_is_lost(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    folder = tmp_path_factory.mktemp("logs")
    (folder / "x.log").write_bytes("\n".join([*lines, "end"]).encode())
    with Data(Workspace(folder), threads=1) as data:
        data.open("x.log")
        rows = data.query("SELECT line, text FROM x ORDER BY line").rows
    kept = [(line, text) for line, text in enumerate([*lines, "end"], start=1) if text.strip(" \t\f\v")]
    assert rows[0][0] == kept[0][0]
    assert "\n".join(str(text) for _, text in rows) == "\n".join(text for _, text in kept)
