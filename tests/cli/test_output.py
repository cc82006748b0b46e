"""How things are printed."""

import io
import json
import os
import sys
from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.cli import output
from retinue.cli.result_output import report_warnings, summary_line
from retinue.contract.finding import Finding
from retinue.contract.result import Cost, Result, Usage, Warned
from retinue.contract.sanitize import printable
from retinue.orchestration.present.numbers import format_duration


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@given(st.recursive(st.text() | st.none() | st.integers(), lambda inner: st.dictionaries(st.text(), inner)))
def test_json_says_the_same_with_nothing_hidden(value: Any) -> None:
    line = output.json_line(value)
    assert json.loads(line) == value
    assert printable(line) == line
    line.encode()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("agents/a b.md", "agents/a b.md"),
        ("größe.md", "größe.md"),
        ("a\nb.md", "a\\nb.md"),
        ("a  b.md", "a  b.md"),
        ("\x1b[31mred.md", "\\x1b[31mred.md"),
        ("a\u202egnp.md", "a\\u202egnp.md"),
        ("\udcff.md", "\\udcff.md"),
    ],
)
def test_a_path_stays_one_that_can_be_found(path: str, text: str) -> None:
    assert output.path_text(path) == text


def test_a_pointer_that_nobody_can_read_is_cut() -> None:
    finding = Finding(rule="x/y", message="Too deep.", path="/result" + "/0" * 200, file="a.json", line=1, column=9)
    (line,) = output.findings_text([finding]).splitlines()
    assert len(line) < 200
    assert "/0/…0/" in line


def test_safe_text_is_one_line() -> None:
    assert output.safe("a\n\tb\x1b[31m\u202e") == "a b\\u{202e}"
    assert output.safe_lines("a\n\x1b[2J") == "a\n\\u{1b}[2J"


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0 ms"),
        (40_000_000, "40 ms"),
        (99_400_000, "99 ms"),
        (99_600_000, "0.1 s"),
        (1_240_000_000, "1.2 s"),
        (59_940_000_000, "59.9 s"),
        (59_960_000_000, "1 min 00 s"),
        (185_000_000_000, "3 min 05 s"),
    ],
)
def test_times_are_said_as_people_say_them(nanoseconds: int, text: str) -> None:
    assert format_duration(nanoseconds) == text


def test_numbers_agree_with_their_noun() -> None:
    assert [output.plural(number, "file") for number in (0, 1, 2000)] == ["0 files", "1 file", "2,000 files"]


def test_lines_are_cut_and_wrapped_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "  place (string): " + "a town or village " * 10
    assert output.cut_to_screen(line) == output.wrap(line) == line
    monkeypatch.setattr(sys, "stdout", _Terminal())
    monkeypatch.setenv("COLUMNS", "40")
    assert output.cut_to_screen(line) == f"{line[:39]}…"
    assert output.cut_to_screen("short") == output.wrap("short") == "short"
    rows = output.wrap(line).split("\n")
    assert all(len(row) <= 40 for row in rows)
    assert all(row.startswith("    ") for row in rows[1:])
    assert " ".join(" ".join(rows).split()) == " ".join(line.split())
    assert output.wrap("x" * 50) == "x" * 50


def test_stdout_is_set_aside_for_data(capfd: pytest.CaptureFixture[str]) -> None:
    with open(1, "w", closefd=False, encoding="utf-8") as real, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", real)
        print("before")  # noqa: T201 - what an agent does
        with output.reserve_stdout() as data:
            print("printed")  # noqa: T201 - what an agent does
            os.write(1, b"written\n")
            data.write("data \ud800\n")
        print("after")  # noqa: T201 - what an agent does
    told = capfd.readouterr()
    assert told.out == "before\ndata \\ud800\nafter\n"
    assert set(told.err.splitlines()) == {"printed", "written"}


def test_stdout_that_is_no_file_is_set_aside_too(capsys: pytest.CaptureFixture[str]) -> None:
    with output.reserve_stdout() as data:
        print("printed")  # noqa: T201 - what an agent does
        data.write("data")
    assert capsys.readouterr() == ("data", "printed\n")


def test_the_summary_holds_what_was_measured_and_nothing_else() -> None:
    usage = Usage(tokens_in=3_120, tokens_out=410, cost=Cost(usd=0.0031, price_id="p", price_date="2026-01-01"))
    measured = Result(task_id="t", agent="o", outcome="success", usage=usage, duration_ns=1_200_000_000)
    bare = Result(task_id="t", agent="o", outcome="failed")
    assert _words(summary_line(measured, run="r1")) == [
        "answered",
        "1.2 s",
        "3,120 in, 410 out tokens",
        "$0.0031",
        "run r1",
    ]
    assert _words(summary_line(bare)) == ["failed"]
    assert _words(summary_line(Result(task_id="t", agent="o", data={"tokens": {"full": "x"}, "answer": 3}))) == [
        "waits for an answer"
    ]


def _words(line: str) -> list[str]:
    import click

    return [part for part in click.unstyle(line).replace(" - ", " · ").split(" · ") if part]


def test_what_is_missing_and_what_that_means_are_two_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    bare = Warned(type="missing_data", message="tests/ is empty", impact="Coverage was not judged", recovery="Add one")
    report_warnings(Result(task_id="t", agent="o", warnings=(bare,)))
    assert capsys.readouterr().err == "warning: tests/ is empty. Coverage was not judged\n   next: Add one\n"


def test_warnings_are_said_once_and_not_without_end(capsys: pytest.CaptureFixture[str]) -> None:
    many = tuple(Warned(type="missing_data", message=f"No {number}.", recovery="Look.") for number in range(12))
    said = Warned(type="missing_data", message="x: It broke.")
    data = {"failures": [{"message": "It broke."}]}
    report_warnings(Result(task_id="t", agent="o", data=data, warnings=(said, *many)), engine=("Disk is full.",))
    err = capsys.readouterr().err
    assert "It broke." not in err
    assert err.count("warning: ") == 11
    assert "and 2 more warnings" in err
    assert "warning: Disk is full." in err
    assert "next: Look." in err
