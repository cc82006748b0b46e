"""The answer as a document: `--format`, `--output`, for runs that are made and runs that are remembered."""

import json
import stat
from pathlib import Path

import pytest

from tests.cli.conftest import Give
from tests.cli.shell import run
from tests.orchestration.present.pages import read

DRAWER = '''"""An agent whose answer has rows, series and sources."""

import retinue


@retinue.agent
async def drawer(task: str) -> dict[str, object]:
    """Draws coloured charts. Use when a chart must be drawn. Returns the chart."""
    return {
        "tables": [{
            "title": "Days", "columns": [{"name": "day"}, {"name": "count", "kind": "number"}],
            "rows": [["Mon | <b>", 12345], ["Tue", 3]],
        }],
        "charts": [{"title": "Week", "labels": ["Mon", "Tue"], "series": [{"name": "n", "values": [4, 2]}]}],
        "sources": ["notes.md:2", "../outside.md"],
    }
'''


@pytest.fixture
def studio(team: Path) -> Path:
    """The team, with an agent that draws, and the file it cites."""
    (team / ".retinue" / "agents" / "drawer.py").write_text(DRAWER, encoding="utf-8")
    (team / "notes.md").write_text("a\nb\n", encoding="utf-8")
    return team


@pytest.fixture
def trusting(studio: Path, retinue: Give) -> Path:
    assert retinue("trust", "--yes").code == 0
    return studio


def test_a_page_goes_to_stdout_or_into_a_file(retinue: Give, trusting: Path) -> None:
    said = retinue("run", "draw a coloured chart", "--format", "html")
    assert said.code == 0
    assert read(said.out).unbalanced == []
    assert "12,345" in said.out
    assert "answered" in said.err
    written = retinue("run", "draw a coloured chart", "--output", "answer.html")
    assert (written.code, written.out) == (0, "")
    assert "written to answer.html" in written.err
    page = read((trusting / "answer.html").read_text("utf-8"))
    assert "Draw a coloured chart" in page.text
    assert {"svg", "table"} <= page.tags


def test_markdown_is_what_a_pipe_gets(retinue: Give, trusting: Path) -> None:
    plain = retinue("run", "draw a coloured chart")
    assert plain.out == retinue("run", "draw a coloured chart", "--format", "md").out
    assert "| Mon \\| \\<b\\> | 12345 |" in plain.out
    assert "```text\nMon  4  ████" in plain.out


def test_json_is_json_under_both_names(retinue: Give, trusting: Path) -> None:
    one = retinue("ask", "singer", "sing a song", "--json").data
    other = retinue("ask", "singer", "sing a song", "--format", "json").data
    assert one["data"] == other["data"]
    said = retinue("ask", "singer", "sing a song", "-o", "song.json")
    assert said.out == ""
    assert json.loads((trusting / "song.json").read_text("utf-8"))["data"] == one["data"]


def test_a_remembered_run_can_be_written_too(retinue: Give, trusting: Path) -> None:
    retinue("run", "draw a coloured chart")
    said = retinue("runs", "show", "--format", "html", "-o", "again.html")
    assert said.code == 0
    assert "12,345" in (trusting / "again.html").read_text("utf-8")
    assert "```text\nMon" in retinue("runs", "show", "--format", "md").out
    assert retinue("runs", "show", "--format", "json").data["result"]["outcome"] == "success"


def test_a_failed_run_has_a_page_that_says_so(retinue: Give, trusting: Path) -> None:
    said = retinue("run", "break a glass window", "--format", "html")
    assert said.code == 1
    assert "What went wrong" in read(said.out).text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--json", "--format", "html"), "are two formats"),
        (("--jsonl", "--format", "md"), "prints events"),
        (("--jsonl", "-o", "x.md"), "prints events"),
        (("-o", "answer.docx"), "Cannot tell the format of 'answer.docx'"),
        (("--format", "pdf"), "'pdf' is not one of"),
    ],
)
def test_wishes_that_do_not_go_together_are_refused(
    retinue: Give, team: Path, options: tuple[str, ...], words: str
) -> None:
    said = retinue("run", "sing a loud song", *options)
    assert (said.code, said.out) == (2, "")
    assert words in said.err


@pytest.mark.parametrize(("output", "words"), [("no/such/x.md", "No such folder: 'no/such'"), (".", "is a folder")])
def test_where_nothing_can_be_written_nothing_is_begun(retinue: Give, team: Path, output: str, words: str) -> None:
    said = retinue("run", "sing a loud song", "--format", "md", "-o", output)
    assert (said.code, said.out) == (2, "")
    assert words in said.err
    assert retinue("runs", "list", "--json").data == []


def test_a_file_is_replaced_at_once_and_keeps_its_mode(retinue: Give, team: Path) -> None:
    file = team / "answer.md"
    file.write_text("old", encoding="utf-8")
    file.chmod(0o640)
    link = team / "link.md"
    link.symlink_to(file)
    retinue("run", "sing a loud song", "-o", "link.md")
    assert file.read_text("utf-8") == "- song: sing a loud song\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert link.is_symlink()
    assert [path.name for path in team.iterdir() if path.name.startswith(".answer")] == []


def test_an_answer_that_cannot_be_written_is_not_lost(
    retinue: Give, team: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("retinue.cli.delivery.tempfile.mkstemp", full)
    said = retinue("run", "sing a loud song", "--no-journal", "-o", "answer.md")
    assert "- song: sing a loud song" in said.out
    assert "No space left on device." in said.err
    assert said.code != 0


@pytest.mark.slow
def test_a_pipe_is_written_to_and_not_replaced(home: Path, team: Path) -> None:
    done = run(home, team, "run", "sing a loud song", "--format", "md", "--output", "/dev/stdout")
    assert (done.returncode, done.stdout) == (0, "- song: sing a loud song\n")


@pytest.mark.slow
def test_a_stream_of_ascii_gets_charts_of_ascii(home: Path, studio: Path) -> None:
    assert run(home, studio, "trust", "--yes").returncode == 0
    done = run(home, studio, "run", "draw a coloured chart", encoding="ascii")
    assert "Mon  4  ####" in done.stdout
