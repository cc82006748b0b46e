"""Blocks as Markdown, for a pipe, a file or an agent. Every word of an agent is tamed or escaped before it is here."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, assert_never

from retinue.contract.sanitize import printable
from retinue.contract.table import Cell, Chart, Column, Table
from retinue.orchestration.present.blocks import (
    Block,
    Heading,
    Item,
    Listing,
    Prose,
    Sources,
    as_code,
    as_line,
    as_prose,
)
from retinue.orchestration.present.numbers import figure, head_of

__all__ = ["TITLES", "as_markdown", "first_of", "unshown"]

TITLES: Final = {"not_answered": "Not answered", "failures": "What went wrong", "questions": "Questions"}
"""What stands above each kind of listing, in every medium."""

_ROWS: Final = 50
_COLUMNS: Final = 20
_SOURCES: Final = 8
_CELL: Final = 300


def as_markdown(blocks: Iterable[Block], *, in_ascii: bool = False) -> str:
    """`blocks` as one Markdown text.

    Args:
        blocks: What to draw.
        in_ascii: Draw charts with ASCII, for a stream that can carry nothing else.
    """
    return "\n\n".join(drawn for block in blocks if (drawn := _drawn(block, in_ascii=in_ascii)))


def unshown(table: Table, *, rows: int, columns: int) -> str:
    """What a drawing of the first `rows` and `columns` leaves out, and what a reader must know; one line or none."""
    total = max(table.total_rows or 0, len(table.rows))
    said: list[str] = []
    if total > rows:
        said.append(f"and {total - rows:,} more {'row' if total - rows == 1 else 'rows'}")
    if len(table.columns) > columns:
        said.append(f"{len(table.columns) - columns:,} more columns")
    return " and ".join(said)


def _drawn(block: Block, *, in_ascii: bool) -> str:
    match block:
        case Heading():
            return f"## {as_line(block.text)}"
        case Prose():
            return block.text
        case Table():
            return _table(block)
        case Chart():
            return _chart(block, in_ascii=in_ascii)
        case Sources():
            return _sources(block)
        case Listing():
            return _listing(block)
        case _:
            assert_never(block)


def _table(table: Table) -> str:
    columns = table.columns[:_COLUMNS]
    rows = [
        f"| {' | '.join(_cell(cell, column) for cell, column in zip(row, columns, strict=False))} |"
        for row in table.rows[:_ROWS]
    ]
    rules = " | ".join("---:" if column.kind == "number" else "---" for column in columns)
    head = f"| {' | '.join(as_line(head_of(column)) for column in columns)} |"
    more = unshown(table, rows=min(len(table.rows), _ROWS), columns=_COLUMNS)
    after = " ".join(filter(None, (f"… {more}." if more else "", as_prose(table.note))))
    title = f"**{as_line(table.title)}**" if table.title.strip() else ""
    return "\n\n".join(filter(None, (title, "\n".join([head, f"| {rules} |", *rows]), after)))


def _cell(cell: Cell, column: Column) -> str:
    text = figure(cell)
    text = text if len(text) <= _CELL else f"{text[:_CELL]}…"
    if column.kind == "source" and text.strip():
        # Inside of a table a bar divides cells even in code.
        return as_code(text).replace("|", "\\|")
    return as_line(text)


def _chart(chart: Chart, *, in_ascii: bool) -> str:
    from retinue.orchestration.present.text_chart import chart_text  # noqa: PLC0415 - takes rich

    drawn = chart_text(chart, in_ascii=in_ascii)
    # A label cannot end the fence: it is longer than any row of backticks in the picture.
    fence = "`" * max(3, *(len(run) + 1 for run in _runs(drawn)), 3)
    title = f"**{as_line(chart.title)}**\n\n" if chart.title.strip() else ""
    return f"{title}{fence}text\n{printable(drawn)}\n{fence}"


def _runs(text: str) -> Iterator[str]:
    """The rows of backticks in `text`."""
    return (run for run in "".join(one if one == "`" else " " for one in text).split())


def _sources(sources: Sources) -> str:
    if sources.repeated:
        return "Sources: as above"
    return f"Sources: {first_of([as_code(place) for place in sources.places], _SOURCES)}"


def first_of(items: Sequence[str], most: int) -> str:
    """The first `most` of `items` in a row, and how many more there are."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return f"{', '.join(items[:most])}{more}"


def _listing(listing: Listing) -> str:
    return f"## {TITLES[listing.kind]}\n\n" + "\n".join(f"- {_item(item)}" for item in listing.items)


def _item(item: Item) -> str:
    about = as_line(item.about).rstrip(".?! ") if item.about and not item.agent else as_line(item.about)
    agent = f" ({as_code(item.agent)})" if item.agent else ""
    return f"{about}{agent}: {as_prose(item.said)}" if item.about or item.agent else as_prose(item.said)
