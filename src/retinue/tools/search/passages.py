"""Cuts a text into passages: paragraphs under their headings, definitions with their comments, blocks of lines.

It reads shapes (headings, indentation, blank lines), not languages: a half-written file is cut as well as a good one. A
passage is a range of lines; sentences are found in it later, only where a passage matters.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from retinue.tools.search.kinds import Kind

__all__ = ["Block", "cut", "sentences"]

_LONGEST = 60
_HEADING = re.compile(r"(#{1,6})\s+(.+)")
_UNDERLINE = re.compile(r"([=\-~^\"'*+#])\1{2,}\s*\Z")
_FENCE = re.compile(r"\s*(```+|~~~+)")
_PYTHON_DEFINITION = re.compile(r"(\s*)(?:async\s+)?(?:def|class)\s+(\w+)")
_ASSIGNMENT = re.compile(r"\s*(\w+)\s*(?::[^=]+)?=(?!=)")
_DEFINITION = re.compile(
    r"^\s*(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\([^)]*\))?|unsafe|"
    r"inline|override|open|sealed|data|const|extern|virtual)\s+)*"
    r"(?:function\*?|fn|func|def|class|struct|enum|trait|interface|type|module|namespace|impl|object|record|macro|"
    r"message|service|const|let|var|val)\s+(?:\([^)]*\)\s*)?(\w+)"
)
_ENDS = re.compile(r"(?<=[.!?])[\"')\]*_`]*\s+(?=[\"'(\[*_`]*[A-Z0-9])|(?<=[\u3002\uff01\uff1f])")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|al|dr|mr|mrs|ms|no|fig|sec|approx|resp)|\b[A-Z])\.\Z", re.IGNORECASE
)
_ITEM = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+|\s*[|>]\s?|\s*:\w[^:]*:")
_COMMENT = re.compile(r"\s*(?:#|//|/\*+|\*|--|;;|\"\"\"|''')")


@dataclass(frozen=True, slots=True)
class Block:
    """Lines `start` to `end` (from 1, both included) that belong together.

    `name` is what they define, if anything; `title` the headings they stand under, or the classes they are part of.
    """

    start: int
    end: int
    name: str = ""
    title: str = ""


def cut(path: str, kind: Kind, lines: Sequence[str]) -> Iterator[Block]:
    """The passages of a file, in order; blank lines belong to none of them."""
    if kind == "docs":
        found = _paragraphs(lines)
    elif path.endswith((".py", ".pyi", ".pyx")):
        found = _definitions(lines)
    else:
        found = _blocks(lines)
    for block in found:
        yield from _trimmed(block, lines)


def sentences(block: Block, lines: Sequence[str], kind: Kind) -> list[tuple[int, str]]:
    """The sentences of a block, each with the number of its first line; code comes line by line."""
    rows = lines[block.start - 1 : block.end]
    if kind != "docs" or _FENCE.match(rows[0]):
        return _code_sentences(block.start, rows)
    found: list[tuple[int, str]] = []
    run: list[str] = []
    skipped = _heading_length(rows)
    run_start = block.start
    for number, row in enumerate(rows[skipped:], block.start + skipped):
        if run and (_ITEM.match(row) or not row.strip()):
            found += _split(run_start, run)
            run = []
        if row.strip():
            run_start = run_start if run else number
            run.append(row)
    return found + (_split(run_start, run) if run else [])


# --- documents ------------------------------------------------------------------------------------------------------


def _paragraphs(lines: Sequence[str]) -> Iterator[Block]:
    """Paragraphs, lists and code blocks, each under the headings above it."""
    headings: list[tuple[int, str]] = []
    marks: list[str] = []
    start, text, fence = 0, False, ""  # `text`: whether the passage holds more than its heading
    for number, line in enumerate(lines, 1):
        heading = None if fence else _heading(lines, number, marks)
        if start and (heading is not None or (text and not fence and not line.strip())):
            yield Block(start, number - 1, title=_path(headings))
            start, text = 0, False
        if heading is not None:
            level, words = heading
            headings = [*(pair for pair in headings if pair[0] < level), (level, words)]
            start = number  # a heading belongs to what follows it; alone, it is a passage too
        elif line.strip():
            start = start or number
            text = text or not _is_underline(lines, number)
        fence = _fence_after(line, fence)
    if start:
        yield Block(start, len(lines), title=_path(headings))


def _heading_length(rows: Sequence[str]) -> int:
    """How many lines at the top are a heading: it is no sentence, unless there is nothing else."""
    if _HEADING.match(rows[0]):
        length = 1
    else:
        length = 2 if len(rows) > 1 and _UNDERLINE.match(rows[1]) and not _UNDERLINE.match(rows[0]) else 0
    return length if any(row.strip() for row in rows[length:]) else 0


def _is_underline(lines: Sequence[str], number: int) -> bool:
    return bool(number > 1 and lines[number - 2].strip() and _UNDERLINE.match(lines[number - 1]))


def _heading(lines: Sequence[str], number: int, marks: list[str]) -> tuple[int, str] | None:
    """The level and text of a heading at line `number`; `marks` remembers in which order underlines came."""
    line = lines[number - 1]
    if line.startswith("#"):
        found = _HEADING.match(line)
        return (len(found[1]), found[2].rstrip().rstrip("#").rstrip() or found[2]) if found else None
    below = lines[number] if number < len(lines) else ""
    if not line.strip() or not _UNDERLINE.match(below) or _UNDERLINE.match(line) or line[0] in " \t|-*":
        return None
    if len(below.strip()) < len(line.strip()) - 1 or (
        number > 1 and lines[number - 2].strip() and not _UNDERLINE.match(lines[number - 2])
    ):
        return None
    if below[0] not in marks:
        marks.append(below[0])
    return marks.index(below[0]) + 1, line.strip()


def _fence_after(line: str, fence: str) -> str:
    """The mark of the code block that is open after `line`; empty when there is none."""
    found = _FENCE.match(line)
    if not found:
        return fence
    if fence:
        return "" if found[1].startswith(fence) and not line.strip().strip(fence[0]) else fence
    return found[1]


def _path(headings: Sequence[tuple[int, str]]) -> str:
    return " > ".join(text for _, text in headings)


# --- code -----------------------------------------------------------------------------------------------------------


def _definitions(lines: Sequence[str]) -> Iterator[Block]:
    """Python's definitions with their decorators and the comment above, and the statements between them."""
    starts = list(_python_starts(lines))
    owners: list[tuple[int, str]] = []
    before = 1
    for place, (first, number, indent, name) in enumerate(starts):
        yield from _statements(lines, before, first - 1, owners)
        owners = [pair for pair in owners if pair[0] < indent]
        title = ".".join(text for _, text in owners)
        following = starts[place + 1][0] if place + 1 < len(starts) else len(lines) + 1
        end = _end_of_body(lines, number, indent, following)
        yield Block(first, end, name=name, title=title)
        owners.append((indent, name))
        before = end + 1
    yield from _statements(lines, before, len(lines), owners)


def _statements(lines: Sequence[str], first: int, last: int, owners: Sequence[tuple[int, str]]) -> Iterator[Block]:
    """What stands between definitions, named by what it assigns; a `def` in it is part of a text."""
    for block in _blocks(lines, first, last):
        line = lines[block.start - 1]
        owner = ".".join(name for depth, name in owners if depth < _indent(line))
        yield Block(block.start, block.end, "" if _PYTHON_DEFINITION.match(line) else block.name, owner)


def _python_starts(lines: Sequence[str]) -> Iterator[tuple[int, int, int, str]]:
    """For each definition: its first line with decorators and comments, the line of its `def`, indentation, name."""
    quote = ""
    for number, line in enumerate(lines, 1):
        if not quote and ("def " in line or "class " in line) and (found := _PYTHON_DEFINITION.match(line)):
            first = number
            while first > 1 and lines[first - 2].strip()[:1] in ("@", "#") and lines[first - 2].strip():
                first -= 1
            yield first, number, len(found[1]), found[2]
        if '"""' in line or "'''" in line:
            quote = _quote_after(line, quote)


def _quote_after(line: str, quote: str) -> str:
    """The triple quote that is open after `line`; empty when there is none."""
    for mark in re.findall(r'"""|\'\'\'', line):
        if not quote:
            quote = mark
        elif mark == quote:
            quote = ""
    return quote


def _end_of_body(lines: Sequence[str], number: int, indent: int, following: int) -> int:
    """The last line of the definition at `number`, before the next one starts."""
    end = number
    for line in range(number + 1, following):
        text = lines[line - 1]
        bare = text.lstrip()
        if bare and len(text) - len(bare) <= indent and bare[0] not in ")]}\"'":
            break
        if bare:
            end = line
    return end


def _blocks(lines: Sequence[str], first: int = 1, last: int | None = None) -> Iterator[Block]:
    """Runs of lines between blank lines, joined while a definition's body goes on."""
    last = len(lines) if last is None else last
    start = 0
    for number in range(first, last + 2):
        line = lines[number - 1] if number <= last else ""
        if line.strip():
            start = start or number
        elif start and not _goes_on(lines, start, number, last):
            yield Block(start, number - 1, name=_defined(lines[start - 1 : number - 1]))
            start = 0


def _goes_on(lines: Sequence[str], start: int, blank: int, last: int) -> bool:
    """Whether the block that began at `start` continues after the blank line: its next line is indented deeper."""
    following = next((line for line in lines[blank : min(last, blank + 3)] if line.strip()), "")
    if not following or blank - start >= _LONGEST:
        return False
    return _indent(following) > _indent(lines[start - 1])


def _defined(rows: Sequence[str]) -> str:
    for row in rows[:20]:
        if found := _DEFINITION.match(row) or _ASSIGNMENT.match(row):
            return found[1]
        if not _COMMENT.match(row):
            return ""
    return ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


# --- both -----------------------------------------------------------------------------------------------------------


def _trimmed(block: Block, lines: Sequence[str]) -> Iterator[Block]:
    """`block` without blank lines around it, in pieces when it is too long to be one passage."""
    start, end = block.start, block.end
    while start <= end and not lines[start - 1].strip():
        start += 1
    while end >= start and not lines[end - 1].strip():
        end -= 1
    for first in range(start, end + 1, _LONGEST):
        name = block.name if first == start else ""
        title = block.title if first == start or not block.name else f"{block.title}.{block.name}".lstrip(".")
        yield Block(first, min(end, first + _LONGEST - 1), name=name, title=title)


def _split(start: int, rows: Sequence[str]) -> list[tuple[int, str]]:
    """The sentences of lines that run on, each with its line."""
    text = "\n".join(rows)
    found: list[tuple[int, str]] = []
    begin = 0
    for stop in [*_stops(text), len(text)]:
        piece = text[begin:stop]
        if piece.strip():
            lead = len(piece) - len(piece.lstrip())
            found.append((start + text.count("\n", 0, begin + lead), " ".join(piece.split())))
        begin = stop
    return found


def _stops(text: str) -> Iterator[int]:
    for found in _ENDS.finditer(text):
        if not _ABBREVIATION.search(text, max(0, found.start() - 8), found.start()):
            yield found.end()


def _code_sentences(start: int, rows: Sequence[str]) -> list[tuple[int, str]]:
    return [(number, row.strip()) for number, row in enumerate(rows, start) if row.strip()]
