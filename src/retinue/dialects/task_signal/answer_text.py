"""The text of an answer: signals in its head, then whatever else it says; and the table form (H6, H15, C42).

The head is the first block of signal lines. It ends at a blank line, or at a line that is no signal, and nothing below
it is a signal, whatever it looks like. Progress and checkpoints may stand around the signals of the head, and are none.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from .wire import COLUMNS, SIGNALS, AnswerTable, Signal, SignalAnswer, TableRow

SIGNAL_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]{1,39}", re.ASCII)
"""How the name of a signal looks, one of ours or not."""

_OURS: Final = re.compile(rf"({'|'.join(SIGNALS)}):[ \t]*(.*)", re.DOTALL)
_BOLD: Final = re.compile(rf"\*\*({'|'.join(SIGNALS)})(?::\*\*|\*\*[ \t]*+:)[ \t]*+(.*)", re.DOTALL)
_OTHER: Final = re.compile(rf"({SIGNAL_NAME.pattern}):(?:[ \t]+(.*)|)", re.DOTALL)
_BULLET: Final = re.compile(r"[ \t]*[-*+][ \t]+(?:Artifacts|Status):", re.ASCII)
_PART: Final = re.compile(r"\\[|\\]|[^|\\]+|.", re.DOTALL)
_LONGEST_HEADER: Final = 1_000
_RULE: Final = re.compile(r"[ \t]*:?-+:?[ \t]*")


@dataclass(frozen=True, slots=True)
class AnswerHead:
    """An answer, and what stood in its head beside the signals.

    Attributes:
        has_events: Progress or checkpoints stood there.
        is_adjacent: The body follows without a blank line between.
        line: Where the body begins, from 1.
        bold_lines: The lines of signals with a bold name.
    """

    answer: SignalAnswer
    has_events: bool = False
    is_adjacent: bool = False
    line: int = 1
    bold_lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedTable:
    """A table, and how it is written.

    Attributes:
        columns: Their names, as they stand there.
        uneven_rows: The lines that have another number of cells, each with that number.
        line: Where it begins, from 1.
        has_rule: The line of dashes stands below the names.
    """

    columns: tuple[str, ...]
    table: AnswerTable
    uneven_rows: tuple[tuple[int, int], ...] = ()
    line: int = 1
    has_rule: bool = True


# Signals


def read_answer(text: str, *, bold: bool = False) -> AnswerHead:
    """Part the head of an answer from its body. Linear; never fails: without a head all is body.

    Args:
        text: The whole answer.
        bold: The names of our signals may be bold.
    """
    signals: list[Signal] = []
    bold_lines: list[int] = []
    has_events = in_checkpoint = False
    start, number = 0, 0
    while start < len(text):
        line, end = _line_at(text, start)
        number += 1
        is_bullet = in_checkpoint and _BULLET.match(line) is not None
        in_checkpoint = is_bullet or line.startswith("CHECKPOINT:")
        signal = None if is_bullet else _signal(line, number)
        if signal is None and bold and (match := _BOLD.fullmatch(line)):
            signal = Signal(match[1], match[2].strip(), line=number)
            bold_lines.append(number)
        if signal is not None:
            signals.append(signal)
        elif is_bullet or in_checkpoint or line.startswith("PROGRESS:"):
            has_events = True
        elif line.strip():
            body, is_adjacent = text[start:], bool(signals)
            return AnswerHead(
                SignalAnswer(tuple(signals), body),
                has_events,
                is_adjacent=is_adjacent,
                line=number,
                bold_lines=tuple(bold_lines),
            )
        elif signals:
            return AnswerHead(
                SignalAnswer(tuple(signals), text[end:]), has_events, line=number + 1, bold_lines=tuple(bold_lines)
            )
        start = end
    return AnswerHead(SignalAnswer(tuple(signals)), has_events, bold_lines=tuple(bold_lines))


def write_answer(answer: SignalAnswer) -> str:
    """The answer as text, so that `read_answer` gives it back. Its values must be single lines."""
    head = "\n".join(f"{signal.name}: {signal.value}".rstrip() for signal in answer.signals)
    return f"{head}\n\n{answer.body}" if answer.body else head


def _signal(line: str, number: int) -> Signal | None:
    if not ("A" <= line[:1] <= "Z") or line.startswith(("PROGRESS:", "CHECKPOINT:")):
        return None
    match = _OURS.fullmatch(line) or _OTHER.fullmatch(line)
    return Signal(match[1], (match[2] or "").strip(), line=number) if match else None


def _line_at(text: str, start: int) -> tuple[str, int]:
    """The line that starts there without its end, and where the next one starts."""
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    return text[start:end].removesuffix("\r"), end + 1


# The table


def is_table(text: str) -> bool:
    """Whether `text` begins as the table form: its first line has a column for the path and one for the status."""
    line, _ = _line_at(text.lstrip(), 0)
    if not line.startswith("|") or len(line) > _LONGEST_HEADER:
        return False
    names = {cell.lower() for cell in cells_of(line)}
    return {"path", "status"} <= names


def read_table(text: str) -> ParsedTable:
    """The table, and how it is written.

    Columns of other names are passed over; what stands below the table is its body. Call it for a text of which
    `is_table` holds.
    """
    offset = len(text) - len(text.lstrip())
    first = text.count("\n", 0, offset) + 1
    columns: tuple[str, ...] = ()
    rows: list[TableRow] = []
    uneven_rows: list[tuple[int, int]] = []
    body, has_rule = "", False
    for number, (line, start, end) in enumerate(lines_of(text, offset), start=first):
        if not line.lstrip(" \t").startswith("|"):
            body = text[start:] if line.strip() else text[end:]
            break
        cells = cells_of(line)
        if not columns:
            columns = tuple(cells)
        elif not all(_RULE.fullmatch(cell) for cell in cells):
            if len(cells) != len(columns):
                uneven_rows.append((number, len(cells)))
            rows.append(_row(columns, cells, number))
        elif number == first + 1:
            has_rule = bool(cells)
    return ParsedTable(columns, AnswerTable(tuple(rows), body), tuple(uneven_rows), first, has_rule)


def write_table(table: AnswerTable) -> str:
    """The table as text, so that `read_table` gives it back. Its cells must be single lines."""
    lines = [_cells(COLUMNS), _cells("-" * (len(name) + 2) for name in COLUMNS).replace(" ", "")]
    lines += [_cells((row.topic, row.status, row.path, row.summary)) for row in table.rows]
    whole = "\n".join(lines)
    return f"{whole}\n\n{table.body}" if table.body else whole


def cells_of(line: str) -> list[str]:
    r"""The cells of a line of a table; `\|` is a bar inside a cell, and `\\` a backslash."""
    cells: list[str] = []
    parts: list[str] = []
    for match in _PART.finditer(line.strip().removeprefix("|")):
        part = match[0]
        if part == "|":
            cells.append("".join(parts).strip())
            parts = []
        else:
            parts.append(part[1:] if part in {"\\|", "\\\\"} else part)
    if rest := "".join(parts).strip():
        cells.append(rest)
    return cells


def lines_of(text: str, start: int = 0) -> Iterator[tuple[str, int, int]]:
    """Each line without its end, where it starts and where the next one does."""
    while start < len(text):
        line, end = _line_at(text, start)
        yield line, start, end
        start = end


def _row(columns: tuple[str, ...], cells: list[str], number: int) -> TableRow:
    cells_by_name = {name.lower(): cell for name, cell in zip(columns, cells, strict=False)}
    return TableRow(
        topic=cells_by_name.get("topic", ""),
        status=cells_by_name.get("status", ""),
        path=cells_by_name.get("path", ""),
        summary=cells_by_name.get("summary", ""),
        line=number,
    )


def _cells(cells: Iterable[str]) -> str:
    escaped = (cell.replace("\\", "\\\\").replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"
