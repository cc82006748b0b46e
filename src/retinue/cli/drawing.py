"""An answer on a terminal: tables as wide as the screen, bars in colour, sources that can be clicked.

Only on a terminal: a pipe and a dumb terminal get Markdown (see `result_output`). With `NO_COLOR` it is drawn without
colour.
"""

import asyncio
import contextlib
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from rich import box
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.live import Live
from rich.markdown import Markdown
from rich.style import Style
from rich.table import Table as Grid
from rich.text import Text

from retinue.cli.output import console, safe, safe_lines
from retinue.cli.screen import Screen
from retinue.contract.table import Cell, Chart, Table, TableColumn
from retinue.orchestration.present.blocks import Block, Sources
from retinue.orchestration.present.blocks_markdown import blocks_to_markdown, omission_note
from retinue.orchestration.present.numbers import (
    column_heading,
    format_duration,
    format_exact,
    format_grouped,
    is_quantity,
)
from retinue.orchestration.present.text_chart import chart_text
from retinue.orchestration.run_nodes import NodeState, RunNodes

_ROWS: Final = 50
_SOURCES: Final = 8
_CELL: Final = 200
_NARROWEST: Final = 12
"""Columns of the screen below which a column of words is no longer read."""
_BETWEEN: Final = 3
_BARS: Final = "[▁-▐▕]+"


def draw_blocks(blocks: Sequence[Block], *, root: Path | None = None) -> None:
    """Draw an answer on stdout.

    Args:
        blocks: What to draw.
        root: The workspace: sources that are files in it become links.
    """
    screen = console()
    for place, renderable in enumerate(_renderables(blocks, screen, root)):
        if place:
            screen.print()
        screen.print(renderable)


def target_of(source: str, root: Path) -> str:
    """The address (`file://…`) of the file that a source names; empty when it names none inside of `root`."""
    path, _, line = source.rpartition(":")
    name = path if path and line.isdigit() else source
    try:
        file = (root / name).resolve()
        inside = file.is_relative_to(root.resolve()) and file.is_file()
    except (OSError, ValueError, RuntimeError):  # no such name can exist
        return ""
    return file.as_uri() if inside else ""


def _renderables(blocks: Iterable[Block], screen: Console, root: Path | None) -> Iterator[RenderableType]:
    """Each block as something to print; what is words is put together, since Markdown spaces itself."""
    words: list[Block] = []
    for block in blocks:
        if not isinstance(block, Table | Chart | Sources) or (isinstance(block, Sources) and block.is_repeated):
            words.append(block)
            continue
        if words:
            yield _prose(words)
            words = []
        match block:
            case Table():
                yield from _table(block, screen)
            case Chart():
                yield _chart(block, screen)
            case Sources():
                yield _sources(block, root)
    if words:
        yield _prose(words)


def _prose(blocks: Sequence[Block]) -> RenderableType:
    # Addresses are shown beside their words, not hidden behind them.
    return Markdown(safe_lines(blocks_to_markdown(blocks)), hyperlinks=False, code_theme="ansi_dark")


# Tables.


def _table(table: Table, screen: Console) -> Iterator[RenderableType]:
    rows = table.rows[:_ROWS]
    texts = [[_text(cell, column) for cell, column in zip(row, table.columns, strict=True)] for row in rows]
    column_count = _count_fitting_columns(table.columns, texts, screen.width)
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", safe_box=True)
    if table.title.strip():
        grid.title, grid.title_justify, grid.title_style = Text(safe(table.title)), "left", "bold"
    for column in table.columns[:column_count]:
        number = column.kind == "number"
        head = Text(safe(column_heading(column)))
        grid.add_column(head, justify="right" if number else "left", no_wrap=number, overflow="fold")
    for row in texts:
        styles = ("cyan" if column.kind == "source" else "" for column in table.columns)
        grid.add_row(*(Text(text, style=style) for text, style in zip(row[:column_count], styles, strict=False)))
    yield grid
    more = omission_note(table, rows=len(rows), columns=column_count)
    if hidden_columns := table.columns[column_count:]:
        names = ", ".join(safe(column.name) for column in hidden_columns[:_SOURCES])
        more += f" ({names}{' …' if len(hidden_columns) > _SOURCES else ''})"
    notes = [f"… {more}." if more else "", safe(table.note)]
    if any(notes):
        yield Text(" ".join(filter(None, notes)), style="dim")


def _text(cell: Cell, column: TableColumn) -> str:
    text = safe(format_grouped(cell) if is_quantity(column) else format_exact(cell))
    return text if len(text) <= _CELL else f"{text[:_CELL]}…"


def _count_fitting_columns(columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], width: int) -> int:
    """How many of the columns the screen has room for; one at least."""
    used = 0
    for place, column in enumerate(columns):
        widest = max([cell_len(safe(column_heading(column))), *(cell_len(row[place]) for row in rows)])
        used += (widest if column.kind in {"number", "time"} else min(widest, _NARROWEST)) + (_BETWEEN if place else 0)
        if used > width and place:
            return place
    return len(columns)


# Charts and sources.


def _chart(chart: Chart, screen: Console) -> Text:
    in_ascii = not screen.encoding.lower().startswith("utf")
    text = Text(no_wrap=True, overflow="ellipsis")
    if chart.title.strip():
        text.append(safe(chart.title), style="bold")
    bars = chart_text(chart, width=screen.width - 1, is_ascii=in_ascii)
    text.append("\n" if text else "").append(bars).highlight_regex(_BARS, "cyan")
    return text


def _sources(sources: Sources, root: Path | None) -> Text:
    text = Text("Sources: ", style="dim")
    for place, source in enumerate(sources.places[:_SOURCES]):
        target = target_of(source, root) if root is not None else ""
        text.append(", " if place else "").append(
            safe(source), style=Style(color="cyan", dim=False, link=target or None)
        )
    if len(sources.places) > _SOURCES:
        text.append(f" and {len(sources.places) - _SOURCES} more")
    return text


# A run in progress.

TICK_S: Final = 0.1
"""How often the tree changes."""
_RESERVED_ROWS: Final = 5
"""Rows of the terminal that are left to the goal and to what comes after."""
_WIDE: Final = 100
"""Columns from which on skills are named too."""
_MARKS: Final[dict[NodeState, tuple[str, str, str]]] = {
    "waiting": ("·", ".", "dim"),
    "working": ("", "", "cyan"),
    "asking": ("?", "?", "yellow"),
    "success": ("✓", "+", "green"),
    "partial": ("◐", "~", "yellow"),
    "error": ("✗", "x", "red"),
    "canceled": ("-", "-", "dim"),
}
"""Each state's mark, the same in ASCII, and its colour."""
_SPINNER: Final = ("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\")
_URGENCY: Final[dict[NodeState, int]] = {
    "asking": 0, "working": 1, "error": 2, "partial": 3, "success": 4, "canceled": 5, "waiting": 6,
}  # fmt: skip


def render_tree(nodes: RunNodes, goal: str, *, width: int, height: int, in_ascii: bool = False) -> RenderableType:
    """The tree as it is now, for a terminal of `width` columns and `height` rows."""
    rows, room = list(nodes), max(height - _RESERVED_ROWS, 3)
    more = max(0, len(rows) - room)
    if more:  # those at work first, and all in the order of the plan
        chosen = sorted(range(len(rows)), key=lambda place: _URGENCY[rows[place][1].state])[:room]
        rows = [rows[place] for place in sorted(chosen)]
    grid = Grid.grid(padding=(0, 1), expand=True)
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True, justify="right", style="dim")
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for depth, node in rows:
        *marks, style = _MARKS[node.state]
        frames = _SPINNER[in_ascii]
        mark = frames[int(time.monotonic() / TICK_S) % len(frames)] if node.state == "working" else marks[in_ascii]
        name = Text(f" {'  ' * depth}").append(f"{mark} ", style=style).append(safe(node.agent))
        if node.skill and node.skill != node.agent and width >= _WIDE:
            name.append(f".{safe(node.skill)}", style="dim")
        began = node.started_ns
        duration = "" if began is None else format_duration(max(0, (node.ended_ns or time.time_ns()) - began))
        about = Text(safe(node.title) + (" (kept)" if node.is_reused else ""), style="dim")
        if node.note and node.state != "success":
            about = Text(safe(node.note), style=style)
        grid.add_row(name, duration, about)
    if more:
        grid.add_row("", "", Text(f"and {more:,} more", style="dim"))
    whole = Grid.grid(expand=True)
    whole.add_column(no_wrap=True, overflow="ellipsis")
    whole.add_row(Text(safe(goal), style="bold"))
    whole.add_row(grid)
    return whole


class TreeScreen(Screen):
    """All delegations, redrawn in place ten times a second.

    Args:
        console: The terminal.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._nodes: RunNodes | None = None
        self._goal = ""
        self._live: Live | None = None
        self._ticking: asyncio.Task[None] | None = None
        self._in_ascii = not console.encoding.lower().startswith("utf")

    def begin(self, nodes: RunNodes, goal: str) -> None:
        """Draw the plan, and keep drawing."""
        self._nodes, self._goal = nodes, goal
        self._show(nodes)

        async def tick() -> None:
            while True:
                await asyncio.sleep(TICK_S)
                if self._live is not None:
                    self._live.refresh()

        self._ticking = asyncio.get_running_loop().create_task(tick())

    @contextlib.contextmanager
    def pause(self) -> Generator[None]:
        """Take the tree away, and draw it anew below the question."""
        if self._live is not None:
            self._live.transient = True
        self._hide()
        try:
            yield
        finally:
            if self._nodes is not None:
                self._show(self._nodes)

    def end(self, *, is_over: bool = True) -> None:
        """Leave the last picture standing."""
        if self._ticking is not None:
            self._ticking.cancel()
            self._ticking = None
        if self._nodes is not None:
            if is_over:
                self._nodes.close()
            self._hide()
            self._console.print()
            self._nodes = None

    def _show(self, nodes: RunNodes) -> None:
        def now() -> RenderableType:
            size = self._console.size
            width = min(size.width, self._console.width)
            return render_tree(nodes, self._goal, width=width, height=size.height, in_ascii=self._in_ascii)

        self._live = Live(console=self._console, auto_refresh=False, get_renderable=now)
        self._live.start(refresh=True)

    def _hide(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.stop()
