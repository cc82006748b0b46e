"""The outline of a Markdown text: its sections and its code blocks, each with where it stands.

Reads headings and fences, nothing else of Markdown; linear in the text. What a block says is the business of others.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_HEADING: Final = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_FENCE: Final = re.compile(r"([ \t]*(?:>[ \t]?)?)(`{3,}|~{3,})[ \t]*+([^`\s]*+)[^`]*+")
_DASHES: Final = "---"


@dataclass(frozen=True, slots=True)
class MarkdownSection:
    """A heading with what stands below it.

    Attributes:
        heading: Its text; empty for what stands before the first heading.
        level: 1 to 6; 0 before the first heading.
        line: The line of the heading, from 1.
        end: The last line before the next heading of any level.
        whole_end: The last line before the next heading that is not below this one.
    """

    heading: str
    level: int
    line: int
    end: int
    whole_end: int


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A code block.

    Attributes:
        kind: The word after the fence, in small letters: `json`.
        text: What stands inside, without the indentation of the fence.
        line: The line of the file on which `text` begins.
        column: The column in which its lines begin.
    """

    kind: str
    text: str
    line: int
    column: int

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column in the file of a character of `text`."""
        before = self.text[:offset]
        return self.line + before.count("\n"), self.column + offset - (before.rfind("\n") + 1)


@dataclass(frozen=True, slots=True)
class MarkdownOutline:
    """A text by its parts.

    Attributes:
        lines: All lines, line breaks left out; line 1 is `lines[0]`.
        body: The first line after the front matter; 1 when there is none.
        code: For each line, whether it belongs to a code block, its fences included.
    """

    lines: tuple[str, ...]
    body: int
    sections: tuple[MarkdownSection, ...]
    code_blocks: tuple[CodeBlock, ...]
    code: tuple[bool, ...]

    def section_at(self, line: int) -> MarkdownSection:
        """The section in which `line` stands."""
        return self.sections[max(bisect_right(self.sections, line, key=lambda section: section.line) - 1, 0)]

    def text_of(self, section: MarkdownSection, *, whole: bool = False) -> str:
        """What stands below the heading; with `whole`, the sections below it too."""
        return "\n".join(self.lines[section.line : section.whole_end if whole else section.end])

    def prose(self) -> Iterator[tuple[int, str]]:
        """Every line of the body that is no code, with its number."""
        for number in range(self.body, len(self.lines) + 1):
            if not self.code[number - 1]:
                yield number, self.lines[number - 1]


def parse_outline(text: str) -> MarkdownOutline:
    """Take a Markdown text apart."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    body = _body(lines)
    fences, code = _fences(lines, body)
    return MarkdownOutline(tuple(lines), body, tuple(_sections(lines, code, body)), tuple(fences), tuple(code))


def _body(lines: list[str]) -> int:
    """The first line after the front matter."""
    if lines[0].rstrip() == _DASHES:
        for number, line in enumerate(lines[1:], start=2):
            if line.rstrip() in {_DASHES, "..."}:
                return number + 1
    return 1


def _fences(lines: list[str], body: int) -> tuple[list[CodeBlock], list[bool]]:
    fences: list[CodeBlock] = []
    code = [False] * len(lines)
    opened: tuple[str, str, str, int] | None = None  # indentation, fence, kind, line
    for number, line in enumerate(lines[body - 1 :], start=body):
        match = _FENCE.fullmatch(line) if "```" in line or "~~~" in line else None
        if opened is None:
            if match:
                opened = (match[1], match[2], match[3].lower(), number)
                code[number - 1] = True
            continue
        code[number - 1] = True
        if match and match[2].startswith(opened[1]) and not match[3]:
            fences.append(_fence(lines, opened, number))
            opened = None
    if opened:  # never closed: it goes on to the end
        fences.append(_fence(lines, opened, len(lines) + 1))
    return fences, code


def _fence(lines: list[str], opened: tuple[str, str, str, int], end: int) -> CodeBlock:
    indent, _, kind, start = opened
    inside = [line.removeprefix(indent) if indent else line for line in lines[start : end - 1]]
    return CodeBlock(kind=kind, text="\n".join(inside), line=start + 1, column=len(indent) + 1)


def _sections(lines: list[str], code: list[bool], body: int) -> Iterator[MarkdownSection]:
    heads = [(0, "", body - 1)]
    for number, line in enumerate(lines[body - 1 :], start=body):
        match = None if code[number - 1] else _HEADING.fullmatch(line)
        if match:
            heads.append((len(match[1]), match[2].rstrip().rstrip("#").rstrip(), number))
    ends = [line - 1 for _, _, line in heads[1:]] + [len(lines)]
    wholes = _whole_ends([level for level, _, _ in heads], ends)
    for (level, heading, line), end, whole_end in zip(heads, ends, wholes, strict=True):
        yield MarkdownSection(heading, level, line, end, whole_end)


def _whole_ends(levels: list[int], ends: list[int]) -> list[int]:
    """Where each section ends with all that is below it."""
    wholes = list(ends)
    open_sections: list[int] = []
    for index, level in enumerate(levels):
        while open_sections and levels[open_sections[-1]] >= level > 0:
            wholes[open_sections.pop()] = ends[index - 1]
        open_sections.append(index)
    for index in open_sections:
        wholes[index] = ends[-1] if levels[index] else ends[index]
    return wholes
