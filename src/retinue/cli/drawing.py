"""An answer on a terminal: tables as wide as the screen, bars in colour, sources that can be clicked.

Only on a terminal: a pipe and a dumb terminal get Markdown (see `result_output`). With `NO_COLOR` it is drawn without
colour.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from retinue.cli.output import console, safe, safe_lines
from retinue.contract.table import Cell, Chart, Table, TableColumn
from retinue.orchestration.present.blocks import Block, Sources
from retinue.orchestration.present.blocks_markdown import blocks_to_markdown, omission_note
from retinue.orchestration.present.numbers import column_heading, format_exact, format_grouped, is_quantity
from retinue.orchestration.present.text_chart import chart_text

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

_ROWS: Final = 50
_SOURCES: Final = 8
_CELL: Final = 200
_NARROWEST: Final = 12
"""Columns of the screen below which a column of words is no longer read."""
_BETWEEN: Final = 3
_MARKS: Final = "[▁-▐▕]+"


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


def _renderables(blocks: Iterable[Block], screen: "Console", root: Path | None) -> "Iterator[RenderableType]":
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


def _prose(blocks: Sequence[Block]) -> "RenderableType":
    from rich.markdown import Markdown

    # Addresses are shown beside their words, not hidden behind them.
    return Markdown(safe_lines(blocks_to_markdown(blocks)), hyperlinks=False, code_theme="ansi_dark")


# Tables.


def _table(table: Table, screen: "Console") -> "Iterator[RenderableType]":
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

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
    from rich.cells import cell_len

    used = 0
    for place, column in enumerate(columns):
        widest = max([cell_len(safe(column_heading(column))), *(cell_len(row[place]) for row in rows)])
        used += (widest if column.kind in {"number", "time"} else min(widest, _NARROWEST)) + (_BETWEEN if place else 0)
        if used > width and place:
            return place
    return len(columns)


# Charts and sources.


def _chart(chart: Chart, screen: "Console") -> "Text":
    from rich.text import Text

    in_ascii = not screen.encoding.lower().startswith("utf")
    text = Text(no_wrap=True, overflow="ellipsis")
    if chart.title.strip():
        text.append(safe(chart.title), style="bold")
    bars = chart_text(chart, width=screen.width - 1, is_ascii=in_ascii)
    text.append("\n" if text else "").append(bars).highlight_regex(_MARKS, "cyan")
    return text


def _sources(sources: Sources, root: Path | None) -> "Text":
    from rich.style import Style
    from rich.text import Text

    text = Text("Sources: ", style="dim")
    for place, source in enumerate(sources.places[:_SOURCES]):
        target = target_of(source, root) if root is not None else ""
        text.append(", " if place else "").append(
            safe(source), style=Style(color="cyan", dim=False, link=target or None)
        )
    if len(sources.places) > _SOURCES:
        text.append(f" and {len(sources.places) - _SOURCES} more")
    return text
