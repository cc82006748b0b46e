"""Which operations a text says an agent has: its own file, a document about several, a registry (C27).

Reads only what is plainly a list: `**Operation:** {a | b}`, sections on operations, a table with a column of them, a
dictionary called `…OPERATIONS`. A sentence that mentions one is none. The operations that an agent's own instructions
list are skills of it when it is used; its file, and what is written of it, stay as they are.
"""

import ast
import re
import warnings
from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Final

from retinue.contract import json
from retinue.contract.definition import Definition, Source
from retinue.contract.lint import Operation, OperationListing
from retinue.contract.names import canonical_name, fold

from .command import COMMAND
from .document import Document

_TOKEN: Final = r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*"  # noqa: S105 - the form of a name, no secret
_CHOICES: Final = re.compile(
    rf"\*\*Operation(?::\*\*|\*\*:)[ \t]*[{{<(\[]\s*((?:{_TOKEN}\s*\|\s*)+{_TOKEN})\s*[}}>)\]]"
)
_WORD: Final = re.compile(_TOKEN)
_LABELLED: Final = re.compile(rf"(?:[0-9]+[.)]\s+|Operation:?\s+)?`({_TOKEN})`")
_COMPOUND_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)+")
_ABOUT: Final = re.compile(r"(?:supported |available )?operations?|\w+ types|operation types", re.IGNORECASE)
_OPERATIONS_KEY: Final = re.compile(r"(?:supported |available )?operations?", re.IGNORECASE)
_OPERATION_LIST: Final = re.compile(
    r"^ {0,3}#{1,6}[ \t]+(?:supported |available )?operations?\b|\*\*operation", re.IGNORECASE | re.MULTILINE
)
_PROSE: Final = re.compile(r"(?:[-*+][ \t]+)?(?=[A-Za-z\"'(])")
_ITEM: Final = re.compile(rf"[ \t]*[-*+]\s+(?:\*\*)?`({_TOKEN})`")
_MAX_SECTIONS: Final = 20
"""So many sections on operations are looked into: each costs a walk over all headings."""
_MAX_SKILLS: Final = 100
_MAX_DESCRIPTION: Final = 300
_REGISTRY: Final = re.compile(r"\w*_OPERATIONS")
_CELL: Final = re.compile(r"(?<!\\)\|")


def with_operations(definition: Definition) -> Definition:
    """`definition` with a skill for each operation that its instructions list, beside the one named like the agent."""
    own, text = definition.skills[0], definition.instructions or ""
    alone = len(definition.skills) == 1 and own.name == definition.name
    if not alone or not _OPERATION_LIST.search(text) or COMMAND in definition.extras:
        return definition
    document = parse_outline(text)
    skills = {own.name: own}
    for operation in find_own_operations(document, file="", own={definition.name, *map(fold, definition.aliases)}):
        name = canonical_name(operation.name)
        if name[:1].isalpha() and len(skills) <= _MAX_SKILLS:
            about = _describe(document, operation.source.line or 1) or f"Operation `{operation.name}`."
            input_schema = {key: value for key, value in own.input_schema.items() if key != "required"}
            skills.setdefault(
                name, own.model_copy(update={"name": name, "description": about, "input_schema": input_schema})
            )
    return definition.model_copy(update={"skills": tuple(skills.values())}) if len(skills) > 1 else definition


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


@dataclass(frozen=True)
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

    def json_place(self, path: str) -> tuple[int, int]:
        """Line and column in the file of what `path` points to, or of its nearest parent, in `text` that is JSON."""
        line, column = self._document.position(path)
        return self.line + line - 1, self.column + column - 1

    @cached_property
    def _document(self) -> Document:
        return Document(file="", value=None, locate=partial(json.source_map, self.text))


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
    closing = (number for number, line in enumerate(lines[1:], start=2) if line.rstrip() in {_DASHES, "..."})
    body = next(closing, 0) + 1 if lines[0].rstrip() == _DASHES else 1
    fences, code = _fences(lines, body)
    heads = [(0, "", body - 1)]
    for number, line in enumerate(lines[body - 1 :], start=body):
        match = None if code[number - 1] else _HEADING.fullmatch(line)
        if match:
            heads.append((len(match[1]), match[2].rstrip().rstrip("#").rstrip(), number))
    ends = [line - 1 for _, _, line in heads[1:]] + [len(lines)]
    sections: list[MarkdownSection] = []
    for at, (level, heading, line) in enumerate(heads):
        # There are six levels, so no heading is passed more than six times.
        following = (other for other in range(at + 1, len(heads)) if heads[other][0] <= level)
        whole_end = ends[next(following, len(heads)) - 1] if level else ends[at]
        sections.append(MarkdownSection(heading, level, line, ends[at], whole_end))
    return MarkdownOutline(tuple(lines), body, tuple(sections), tuple(fences), tuple(code))


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
        # CommonMark: it is closed by a fence of the same sign, at least as long, with nothing behind it.
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


def _describe(outline: MarkdownOutline, line: int) -> str:
    """What is said of the operation that is listed on `line`: behind its name, else in the first lines below it."""
    item = _ITEM.match(outline.lines[line - 1])
    if item:
        text = outline.lines[line - 1][item.end() :]
    elif any(each.line == line for each in outline.sections):
        below = range(line, outline.section_at(line).end)
        prose = (outline.lines[at].strip() for at in below if not outline.code[at])
        text = next((each[mark.end() :] for each in prose if (mark := _PROSE.match(each))), "")
    else:
        return ""
    return text.strip("*: -\u2013\u2014").partition(". ")[0][:_MAX_DESCRIPTION].strip()


def find_own_operations(outline: MarkdownOutline, *, file: str, own: Collection[str] = ()) -> tuple[Operation, ...]:
    """The operations that an agent's own file says it has: its input block, else its section on operations.

    Args:
        outline: The text.
        file: What it is called.
        own: Folded names of the agent. With them only what is plainly its own counts: no block for another agent, and
            no section on "analysis types" or the like, which may list anything.
    """
    for line, operations in _choice_lists(outline, file=file):
        agent = _agent_beside(outline, line) if own else None
        if agent is None or fold(agent) in own:
            return operations
    return tuple(_documented_operations(outline, file=file, pattern=_OPERATIONS_KEY if own else _ABOUT))


def find_listings(
    outline: MarkdownOutline, *, file: str, agents: Collection[str], own: str | None = None
) -> Iterator[OperationListing]:
    """Every place in a text that says which operations an agent has.

    Args:
        outline: The text.
        file: What it is called.
        agents: Folded names of all agents, to know what a heading is about.
        own: The agent whose file this is; what it documents is held against its own input block.
    """
    if own is not None:
        documented = tuple(_documented_operations(outline, file=file))
        if documented and next(_choice_lists(outline, file=file), None):
            yield OperationListing(own, documented, documented[0].source, complete=True)
    else:
        for line, operations in _choice_lists(outline, file=file):
            # The agent that is named beside the line, else by the nearest heading that names one.
            words = re.findall(_TOKEN, outline.section_at(line).heading.removesuffix(".md"))
            agent = _agent_beside(outline, line) or next((word for word in words if fold(word) in agents), None)
            if agent:
                yield OperationListing(agent, operations, operations[0].source, complete=True)
    yield from _tables(outline, file=file)


def _choice_lists(outline: MarkdownOutline, *, file: str) -> Iterator[tuple[int, tuple[Operation, ...]]]:
    """Each `**Operation:** {a | b}`, with its line."""
    for number, line in enumerate(outline.lines[outline.body - 1 :], start=outline.body):
        match = _CHOICES.search(line) if "**Operation" in line else None
        if match:
            words = _WORD.finditer(line, match.start(1), match.end(1))
            yield number, tuple(Operation(word[0], _source(file, number, word.start())) for word in words)


def _documented_operations(
    outline: MarkdownOutline, *, file: str, pattern: re.Pattern[str] = _ABOUT
) -> Iterator[Operation]:
    """The headings, else the items, of the first section on operations that has any."""
    about = (each for each in outline.sections if each.level and pattern.fullmatch(each.heading.rstrip(":")))
    for section in islice(about, _MAX_SECTIONS):
        operations = list(_operations_below(outline, section, file=file))
        if operations:
            yield from operations
            return


def _operations_below(outline: MarkdownOutline, section: MarkdownSection, *, file: str) -> Iterator[Operation]:
    strict = not re.search(r"operation", section.heading, re.IGNORECASE)
    heads = [
        each
        for each in outline.sections
        if each.level == section.level + 1 and section.line < each.line <= section.whole_end
    ]
    for each in heads:
        label = _LABELLED.match(each.heading) or (None if strict else _COMPOUND_NAME.fullmatch(each.heading))
        if label:
            name = label[1] if label.re is _LABELLED else label[0]
            line = outline.lines[each.line - 1]
            yield Operation(name, _source(file, each.line, line.index(name)))
    if heads or strict:
        return
    for number in range(section.line + 1, section.end + 1):
        item = None if outline.code[number - 1] else _ITEM.match(outline.lines[number - 1])
        if item:
            yield Operation(item[1], _source(file, number, item.start(1)))


def _agent_beside(outline: MarkdownOutline, line: int) -> str | None:
    """The agent that is named in the lines just above."""
    for number in range(line - 1, max(line - 4, outline.body - 1), -1):
        match = re.match(rf"\*\*Agent(?::\*\*|\*\*:)\s*`?({_TOKEN})`?\s*$", outline.lines[number - 1])
        if match:
            return match[1]
    return None


# Tables and registries.


def _tables(outline: MarkdownOutline, *, file: str) -> Iterator[OperationListing]:
    """The rows of each table that has a column of agents and one of operations."""
    columns: tuple[int, int] | None = None
    for number, line in outline.prose():
        if not line.lstrip().startswith("|"):
            columns = None
            continue
        cells = [cell.strip().strip("*") for cell in _CELL.split(line.strip())[1:-1]]
        words = [cell.lower() for cell in cells]
        agent = next((at for at, word in enumerate(words) if word in {"agent", "agents"}), None)
        operation = next((at for at, word in enumerate(words) if word in {"operation", "operations"}), None)
        if agent is not None and operation is not None:
            columns = (agent, operation)
        elif columns and max(columns) < len(cells):
            # One agent, and words that are operations and nothing else.
            name = re.fullmatch(rf"\[?`?({_TOKEN})`?\]?(?:\([^)]*\))?", cells[columns[0]])
            text = cells[columns[1]]
            if name and re.fullmatch(rf"`?{_TOKEN}`?(?:\s*[,;/]\s*`?{_TOKEN}`?)*", text):
                start = line.index(text)
                entries = tuple(
                    Operation(word[0], _source(file, number, start + word.start())) for word in _WORD.finditer(text)
                )
                yield OperationListing(name[1], entries, _source(file, number, 0), complete=False)


def find_registries(text: str, *, file: str, fence: CodeBlock | None = None) -> Iterator[OperationListing]:
    """The dictionaries in a Python text that list operations by agent, as spec 003's own check does.

    Args:
        text: Python; what is none has no registries.
        file: Where it stands.
        fence: The code block in that file which holds it.
    """
    if "_OPERATIONS" not in text:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in somebody else's code
            tree = ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return
    line, column = (fence.line - 1, fence.column - 1) if fence else (0, 0)
    for node in ast.walk(tree):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        is_registry = any(isinstance(each, ast.Name) and _REGISTRY.fullmatch(each.id) for each in targets)
        value = getattr(node, "value", None)
        if is_registry and isinstance(value, ast.Dict):
            for key, items in zip(value.keys, value.values, strict=True):
                agent = _text_of(key)
                if key is not None and agent is not None and isinstance(items, ast.List | ast.Tuple | ast.Set):
                    operations = tuple(
                        Operation(name, _source(file, line + each.lineno, column + each.col_offset))
                        for each in items.elts
                        if (name := _text_of(each)) is not None
                    )
                    source = _source(file, line + key.lineno, column + key.col_offset)
                    yield OperationListing(agent, operations, source, complete=True, registry=True)


def _text_of(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _source(file: str, line: int, offset: int) -> Source:
    return Source(file=file, line=line, column=offset + 1)
