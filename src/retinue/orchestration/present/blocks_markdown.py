"""Blocks as Markdown, for a pipe, a file or an agent. Agents' text is sanitized or escaped before."""

import re
from collections.abc import Iterable, Sequence
from typing import Final, assert_never

from retinue.contract.sanitize import printable
from retinue.contract.table import Chart, Table
from retinue.orchestration.present.blocks import (
    Block,
    Heading,
    MarkdownBlock,
    OpenIssues,
    Sources,
    as_code,
    as_line,
    as_prose,
)
from retinue.orchestration.present.numbers import column_heading, format_figure

ISSUE_TITLES: Final = {"not_answered": "Not answered", "failures": "What went wrong", "questions": "Questions"}
"""What stands above each kind of listing, in every medium."""

_MAX_ROWS: Final = 50
_MAX_COLUMNS: Final = 20
_MAX_SOURCES: Final = 8
_MAX_CELL: Final = 300


def blocks_to_markdown(blocks: Iterable[Block], *, is_ascii: bool = False) -> str:
    """`blocks` as one Markdown text.

    Args:
        blocks: What to draw.
        is_ascii: Draw charts with ASCII, for a stream that can carry nothing else.
    """
    return "\n\n".join(text for block in blocks if (text := _block_markdown(block, is_ascii=is_ascii)))


def omission_note(table: Table, *, rows: int, columns: int) -> str:
    """What a drawing of the first `rows` and `columns` leaves out, and what a reader must know; one line or none."""
    total = max(table.total_rows or 0, len(table.rows))
    parts: list[str] = []
    if total > rows:
        parts.append(f"and {total - rows:,} more {'row' if total - rows == 1 else 'rows'}")
    if len(table.columns) > columns:
        parts.append(f"{len(table.columns) - columns:,} more columns")
    return " and ".join(parts)


def _block_markdown(block: Block, *, is_ascii: bool) -> str:
    match block:
        case Heading():
            return f"## {as_line(block.text)}"
        case MarkdownBlock():
            return block.text
        case Table():
            columns = block.columns[:_MAX_COLUMNS]
            rows: list[str] = []
            for row in block.rows[:_MAX_ROWS]:
                cells: list[str] = []
                for cell, column in zip(row, columns, strict=False):
                    figure = format_figure(cell)
                    figure = figure if len(figure) <= _MAX_CELL else f"{figure[:_MAX_CELL]}…"
                    is_source = column.kind == "source" and figure.strip()
                    # Inside of a table a bar divides cells even in code.
                    cells.append(as_code(figure).replace("|", "\\|") if is_source else as_line(figure))
                rows.append(f"| {' | '.join(cells)} |")
            rules = " | ".join("---:" if column.kind == "number" else "---" for column in columns)
            head = f"| {' | '.join(as_line(column_heading(column)) for column in columns)} |"
            more = omission_note(block, rows=min(len(block.rows), _MAX_ROWS), columns=_MAX_COLUMNS)
            after = " ".join(filter(None, (f"… {more}." if more else "", as_prose(block.note))))
            heading = f"**{as_line(block.title)}**" if block.title.strip() else ""
            return "\n\n".join(filter(None, (heading, "\n".join([head, f"| {rules} |", *rows]), after)))
        case Chart():
            from retinue.orchestration.present.text_chart import chart_text  # noqa: PLC0415 - takes rich

            picture = printable(chart_text(block, is_ascii=is_ascii))
            # No label can end the fence: it is longer than any run of backticks in the picture.
            fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", picture)), 3)
            title = f"**{as_line(block.title)}**\n\n" if block.title.strip() else ""
            return f"{title}{fence}text\n{picture}\n{fence}"
        case Sources(is_repeated=True):
            return "Sources: as above"
        case Sources(places):
            return f"Sources: {first_of([as_code(place) for place in places], _MAX_SOURCES)}"
        case OpenIssues():
            lines: list[str] = []
            for item in block.items:
                about = as_line(item.about).rstrip("" if item.agent else ".?! ")
                agent = f" ({as_code(item.agent)})" if item.agent else ""
                lines.append(
                    f"- {about}{agent}: {as_prose(item.text)}"
                    if item.about or item.agent
                    else f"- {as_prose(item.text)}"
                )
            return "\n".join([f"## {ISSUE_TITLES[block.kind]}\n", *lines])
        case _:
            assert_never(block)


def first_of(items: Sequence[str], most: int) -> str:
    """The first `most` of `items` in a row, and how many more there are."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return f"{', '.join(items[:most])}{more}"
