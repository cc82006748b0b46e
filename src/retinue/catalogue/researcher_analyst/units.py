"""Units of a text: a paragraph with the list, table or code that belongs to it; a definition with what it says.

Documents are read as Markdown; reStructuredText is brought into its shape first, line by line: places stay right.
"""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from re import Match
from textwrap import dedent
from typing import TYPE_CHECKING, Final

from retinue.catalogue._prose import one_line
from retinue.tools.search import PassageHit

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_LONGEST_LIST: Final = 12
"""Lines of a list or table that are shown whole; of a longer one, each item or row is a unit of its own."""

_BLOCK_LINES: Final = 30
_COMMENTS: Final = ("//", "/*", "*", "--", "# ")
"""What begins a comment in code other than Python's; without its space, `#` may begin a C directive."""
_INCLUDE: Final = "include::"
_SIGNATURE: Final = 160
_ROLE: Final = re.compile(r"(?::[\w:+-]+:|\{[\w:+-]+\})`[~.]*([^`<]*?)(?:\s*<[^`>]*>)?`")
_LINK: Final = re.compile(
    r"!?\[([^\[\]\n]*)\](?:\([^)\s]*(?:\s\"[^\"]*\")?\)|\[[^\]]*\])|`([^`<\n]+?)\s*<[^`>\n]*>`__?"
)
_REFERENCE: Final = re.compile(r"(?<![\w`])(?:`([^`\n]+)`__?|([A-Za-z0-9]+)_)(?![\w`])")
_EMPHASIS: Final = re.compile(r"\*\*(?=\S)([^*]+)(?<=\S)\*\*")
_DIRECTIVE: Final = re.compile(
    r"\s*(?:\.\. (?P<name>[\w:-]+):: ?(?P<argument>.*)|(?P<comment>\.\.)(?:\s.*)?|(?:!!!|\?\?\?\+?) .*)\Z"
)
_ITEM: Final = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+")
_NO_CODE: Final = ("{toctree", "{contents", "{currentmodule")
_OF_CODE: Final = frozenset({"code", "code-block", "sourcecode", "parsed-literal", "click:example", "click:run"})
_NO_PROSE_NAMES: Final = """
    auto contents csv-table currentmodule figure highlight image index math module only py:currentmodule py:module raw
    toctree
"""
_NO_PROSE: Final = tuple(_NO_PROSE_NAMES.split())
_ADMONITION_NAMES: Final = """
    admonition attention caution danger deprecated error hint important note rubric seealso tab tabs tip topic
    versionadded versionchanged warning
"""
_ADMONITIONS: Final = frozenset(_ADMONITION_NAMES.split())


@dataclass(frozen=True, slots=True)
class Unit:
    """What is quoted as a whole.

    Attributes:
        start: Its first line, from 1 in its file.
        text: Its prose on one line, without markup but for code; empty when there is only a block.
        block: The list, table or code below it, as Markdown; empty when there is none.
        is_code: That is code.
        signature: The head of the definition it is.
        above: What leads to it, such as the sentence above a long list.
    """

    start: int
    end: int
    text: str
    block: str = ""
    is_code: bool = False
    signature: str = ""
    above: str = ""


def units_of(hit: PassageHit, lines: Sequence[str], load_include: Callable[[str], str] = lambda _: "") -> list[Unit]:
    """The units of one passage of a file with these `lines`.

    Args:
        hit: The passage.
        lines: All lines of the file.
        load_include: The text of a file that the document includes; empty when there is none.
    """
    rows = list(lines[hit.start - 1 : hit.end])
    if hit.kind == "docs":
        return paragraphs(rows, hit.start, load_include)
    if hit.path.endswith((".py", ".pyi")):
        return [_definition(rows, hit)]
    contents = [row.strip() for row in rows]
    comments = " ".join(row.strip("/*#-! ") for row in contents if row.startswith(_COMMENTS))
    code = next((row for row in contents if hit.name and hit.name in row and not row.startswith(_COMMENTS)), "")
    return [Unit(hit.start, hit.end, _clean(comments), "\n".join(rows), True, one_line(code, limit=_SIGNATURE))]


def paragraphs(rows: Sequence[str], start: int, load_include: Callable[[str], str] = lambda _: "") -> list[Unit]:
    """The units of a piece of a document that begins in line `start`."""
    units: list[Unit] = []
    for unit in _blocks(_as_markdown(rows), start, load_include):
        if not (unit.text or unit.block):
            continue
        before = units[-1] if units and not unit.text else None
        is_short = before and (before.text.endswith(":") or before.block.count("\n") < _LONGEST_LIST)
        if before and (not before.block or (is_short and (unit.is_code or before.is_code))):
            block = f"{before.block}\n\n{unit.block}" if before.block else unit.block
            units[-1] = replace(before, end=unit.end, block=block, is_code=unit.is_code)
        else:
            units.append(unit)
    return [one for one in units if one.block or not one.text.endswith((":", "?"))]


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # noqa: PLC0415 - when it is needed

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _blocks(rows: Sequence[str], start: int, load_include: Callable[[str], str]) -> Iterator[Unit]:
    """The paragraphs, lists, tables and code blocks of Markdown, each alone."""
    tokens = _parser().parse("\n".join(rows))
    above = ""
    for place, token in enumerate(tokens):
        if token.level or token.map is None:
            continue
        first, last = token.map
        unit = Unit(start + first, start + last - 1, "")
        content = tokens[place + 1].content if token.type == "paragraph_open" else token.content
        if content.startswith(_INCLUDE):
            name = content.removeprefix(_INCLUDE)
            yield replace(unit, block=_fence(load_include(name), name.rpartition(".")[2]), is_code=True)
        elif token.type == "paragraph_open":
            above = _clean(content)
            yield replace(unit, text=above)
        elif token.type == "blockquote_open":
            yield replace(unit, text=_clean("\n".join(rows[first:last]).replace(">", " ")))
        elif token.type == "fence" and token.info.strip().strip("{}") in _ADMONITIONS:
            yield from _blocks(_as_markdown(content.split("\n")), start + first + 1, load_include)
        elif token.type in {"fence", "code_block"} and not token.info.startswith(_NO_CODE):
            yield replace(unit, block=_fence(content, token.info), is_code=True)
        elif token.type in {"bullet_list_open", "ordered_list_open", "table_open"}:
            yield from _list_units(rows, start, token, list(_parts(tokens[place + 1 :], token)), above)


def _list_units(
    rows: Sequence[str], start: int, token: "Token", parts: Sequence[tuple[int, int]], above: str
) -> Iterator[Unit]:
    """A list or table as one unit; of a long one, its items or rows."""
    first, last = token.map or [0, 0]
    lines = "\n".join(rows[first:last]).rstrip().split("\n")
    if len(lines) <= _LONGEST_LIST or len(parts) < 2:
        block = dedent("\n".join(map(_without_markup, lines[:_BLOCK_LINES])))
        yield Unit(start + first, start + last - 1, "", block)
        return
    for begin, end in parts:
        item = "\n".join(rows[begin:end])
        item = item[mark.end() :] if (mark := _ITEM.match(item)) else item
        if token.type == "table_open":
            item = "; ".join(filter(None, map(str.strip, item.strip("| \n").split("|"))))
        yield Unit(start + begin, start + end - 1, _clean(item), above=above)


def _parts(tokens: "Sequence[Token]", owner: "Token") -> Iterator[tuple[int, int]]:
    """The lines of the items of a list, or of the rows of a table below its head."""
    token_type, level = ("tr_open", 2) if owner.type == "table_open" else ("list_item_open", 1)
    end = owner.map[1] if owner.map else 0
    for token in takewhile(lambda one: one.map is None or one.map[0] < end, tokens):
        if token.map and token.type == token_type and token.level == level:
            yield token.map[0], token.map[1]


def _fence(code: str, info: str) -> str:
    """Code as a block of Markdown; empty when there is none."""
    if not code.strip():
        return ""
    lines = dedent(code.expandtabs()).strip("\n").split("\n")
    body = "\n".join(lines[:_BLOCK_LINES]).replace("```", "'''")
    language = info.split(maxsplit=1)[0] if info.split() and info.split(maxsplit=1)[0].isalnum() else "text"
    return f"```{language}\n{body}\n```"


def _as_markdown(rows: Sequence[str]) -> list[str]:
    """`rows` without headings, and with directives and admonitions as what they hold; the count of lines stays."""
    lines: list[str] = []
    fence = ""
    while len(lines) < len(rows):
        place = len(lines)
        row = rows[place]
        content = row.strip()
        if content.startswith(("```", "~~~")):
            fence = "" if fence and content.startswith(fence) else fence or content[:3]
        if fence:
            lines.append(row)
            continue
        directive = _DIRECTIVE.match(row)
        if directive or content.endswith("::"):
            below = list(_deeper(rows, place))
            lines += [row.rstrip()[:-1] if directive is None else _head(directive), *_body(directive, below)]
        elif _is_rule(content) or _is_heading(row) or (content and not row[0].isspace() and _is_title(rows, place)):
            lines.append("")
        else:
            lines.append(row.replace("#. ", "1. ", 1) if content.startswith("#. ") else row)
    return lines


def _deeper(rows: Sequence[str], place: int) -> Iterator[str]:
    """The rows below one that are blank or stand further right."""
    depth = len(rows[place]) - len(rows[place].lstrip())
    return takewhile(lambda row: not row.strip() or len(row) - len(row.lstrip()) > depth, rows[place + 1 :])


def _head(directive: Match[str]) -> str:
    name, argument = directive["name"] or "", directive["argument"] or ""
    if name.endswith("include"):
        return f"{_INCLUDE}{argument.strip()}"
    return argument if name in _ADMONITIONS else ""


def _body(directive: Match[str] | None, rows: Sequence[str]) -> list[str]:
    """What a directive holds, or what stands below `::`: prose, code, or nothing that is shown."""
    content = dedent("\n".join(rows)).split("\n") if rows else []
    name = "" if directive is None else directive["name"] or ""
    options = next((place for place, row in enumerate(content) if not row.startswith(":")), 0)
    content[:options] = [""] * options
    if directive is None or name in _OF_CODE:
        return [f"    {row}" if row.strip() else "" for row in content]
    if directive["comment"] or name.startswith(_NO_PROSE):
        return [""] * len(content)
    if name and name not in _ADMONITIONS and any(content) and not content[0]:
        first = next(place for place, row in enumerate(content) if row)
        content[first - 1] = f"`{directive['argument'].strip()}`: "  # what is described: a function, a setting
    return _as_markdown(content)


def _is_rule(content: str) -> bool:
    return len(content) > 2 and len(set(content)) == 1 and content[0] in "=-~^\"'*+#"


def _is_heading(row: str) -> bool:
    """Whether it is a heading of Markdown, or an anchor of MyST (`(name)=`)."""
    return (row.lstrip("#").startswith(" ") and row.startswith("#")) or (row.startswith("(") and row.endswith(")="))


def _is_title(rows: Sequence[str], place: int) -> bool:
    below = rows[place + 1].strip() if place + 1 < len(rows) else ""
    return _is_rule(below) and len(below) >= len(rows[place].strip()) - 1


def _without_markup(text: str) -> str:
    """`text` without roles and targets of links: they are for a renderer."""
    text = _ROLE.sub(lambda match: f"`{match[1].lstrip('~.')}`", text)
    text = _LINK.sub(lambda match: match[1] or match[2] or "", text)
    return _REFERENCE.sub(lambda match: match[1] or match[2], text).replace("``", "`")


def _clean(text: str) -> str:
    """Prose on one line, without what only a renderer needs."""
    return " ".join(_EMPHASIS.sub(r"\1", _without_markup(text)).split())


def _definition(rows: Sequence[str], hit: PassageHit) -> Unit:
    """A definition of Python: its head and what its docstring and comments say; statements are only code."""
    source = dedent("\n".join(rows))
    comments = " ".join(row.strip().lstrip("#: ") for row in rows if row.strip().startswith("#"))
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _code_unit(hit, hit.start, _clean(comments), source, rows[0])
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == hit.name:
            code, first = source.split("\n"), node.body[0]
            head = " ".join(row.partition("  #")[0].strip() for row in code[node.lineno - 1 : first.lineno - 1])
            head = head or code[node.lineno - 1][: first.col_offset].strip()
            head = head.replace("( ", "(").replace(", )", ")").replace(" )", ")").removesuffix(":")
            return _code_unit(hit, hit.start + node.lineno - 1, ast.get_docstring(node) or comments, source, head)
    line = next((number for number, row in enumerate(rows) if hit.name and row.startswith(hit.name)), None)
    head = "" if line is None else rows[line]
    return _code_unit(hit, hit.start + (line or 0), ast.get_docstring(tree) or comments, source, head)


def _code_unit(hit: PassageHit, line: int, text: str, source: str, head: str) -> Unit:
    """Code as a unit that begins in `line`."""
    return Unit(line, hit.end, text, _fence(source, "python"), True, one_line(head, limit=_SIGNATURE))
