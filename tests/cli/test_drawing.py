"""An answer on a terminal: as wide as it is, with links to what is there."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from retinue.cli import drawing
from retinue.cli.drawing import draw_blocks, target_of
from retinue.contract.table import Chart, Series, Table, TableColumn
from retinue.orchestration.present.blocks import Block, Heading, MarkdownBlock, Sources
from tests.cli.shell import Terminal
from tests.cli.test_format import studio, trusting

__all__ = ["studio", "trusting"]

Screen = Callable[..., str]


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Screen:
    """Draws on a terminal of that width, and gives what is on it."""

    def draw(*blocks: Block, width: int = 60, root: Path | None = None) -> str:
        def console() -> Console:
            return Console(force_terminal=True, width=width, color_system="standard", highlight=False, emoji=False)

        monkeypatch.setattr(drawing, "console", console)
        draw_blocks(blocks, root=root)
        return capsys.readouterr().out

    return draw


def plain(text: str) -> list[str]:
    return [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\", "", text).splitlines()]


def test_numbers_stand_right_and_have_commas(screen: Screen) -> None:
    columns = (
        TableColumn(name="day"),
        TableColumn(name="count", kind="number", unit="ms"),
        TableColumn(name="year", kind="number"),
    )
    lines = plain(screen(Table(title="Days", columns=columns, rows=(("Mon", 12345, 2013), ("Tue", 3, None)))))
    assert lines[0].strip() == "Days"
    assert lines[1].split() == ["day", "count", "(ms)", "year"]
    assert lines[3].split() == ["Mon", "12,345", "2013"]
    assert lines[3].index("5") == lines[4].index("3")


def test_columns_without_room_are_named_instead(screen: Screen) -> None:
    columns = tuple(TableColumn(name=f"column{place}", kind="number") for place in range(12))
    drawn = screen(Table(columns=columns, rows=((123456,) * 12,) * 60), width=40)
    lines = plain(drawn)
    assert max(map(len, lines)) <= 40
    assert "and 10 more rows and 8 more columns" in " ".join(lines)
    assert "column4" in " ".join(lines)


def test_nothing_foreign_obeys_the_terminal(screen: Screen) -> None:
    evil = "\x1b]8;;http://evil\x07[red]x\u202e\n\x1b[2J"
    chart = Chart(title=evil, labels=(evil,), series=(Series(name=evil, values=(1,)),), unit=evil)
    table = Table(title=evil, columns=(TableColumn(name=evil),), rows=((evil,),), note=evil)
    drawn = screen(Heading(evil), MarkdownBlock("said"), chart, table, Sources((evil,)))
    assert "\x1b]8" not in drawn
    assert "\x1b[2J" not in drawn
    assert "\x07" not in drawn
    assert "\u202e" not in drawn
    assert "[red]" in drawn


def test_a_source_that_is_there_is_a_link_and_others_are_words(screen: Screen, tmp_path: Path) -> None:
    (tmp_path / "a b%.md").write_text("x")
    drawn = screen(Sources(("a b%.md:3", "gone.md:1", "commit abc")), root=tmp_path)
    assert f"{tmp_path.as_uri()}/a%20b%25.md\x1b\\" in drawn
    assert drawn.count("\x1b]8;id=") == 1
    assert "a b%.md:3, gone.md:1, commit abc" in " ".join(plain(drawn))


def test_only_files_inside_of_the_workspace_are_linked(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.md").write_text("x")
    (tmp_path / "outside.md").write_text("x")
    (root / "link.md").symlink_to(tmp_path / "outside.md")
    assert target_of("a.md:3", root) == target_of("a.md", root) == (root / "a.md").as_uri()
    for odd in ("../outside.md", "link.md:1", str(tmp_path / "outside.md"), "", ".", "a\0b", "x" * 5000, "commit abc"):
        assert target_of(odd, root) == ""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are a matter of POSIX")
def test_a_person_sees_a_table_a_chart_and_links(home: Path, trusting: Path) -> None:
    with Terminal(home, trusting, "run", "draw a coloured chart") as terminal:
        code, told = terminal.ended()
    assert code == 0
    assert "12,345" in told
    assert "████" in told
    assert "\x1b]8;id=" in told
    assert f"{trusting.as_uri()}/notes.md" in told
    assert "| Mon" not in told
    assert "outside.md\x1b\\" not in told


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are a matter of POSIX")
def test_no_color_is_drawn_without_colour_and_fits_the_screen(home: Path, trusting: Path) -> None:
    with Terminal(home, trusting, "run", "draw a coloured chart", width=40, NO_COLOR="1") as terminal:
        _, told = terminal.ended()
    assert "████" in told
    assert "| Tue | 3 |" not in told
    assert "\x1b[3" not in told
    answer = re.sub(r"\x1b\[[?0-9;]*[A-Za-z]|\x1b\]8;[^\x1b]*\x1b\\", "", told.rpartition("\x1b[?25h")[2])
    assert [line for line in answer.splitlines() if len(line) > 40 and "answered" not in line] == []
