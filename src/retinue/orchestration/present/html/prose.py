"""Markdown as HTML, as much of it as answers hold: paragraphs, headings, lists, tables, quotations, code, links.

No parser of all of CommonMark: what it does not know is shown as text. Nothing in the Markdown can become a tag, an
attribute, or an address but of the web; whatever the text, the tags it gives are balanced.
"""

import re
from collections.abc import Iterator, Sequence
from html import unescape
from typing import Final

from retinue.orchestration.present.html.markup import element, link, text

__all__ = ["prose"]

_DEEPEST: Final = 6
_FENCE: Final = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})")
_HEADING: Final = re.compile(r" {0,3}#{1,6}\s+(?P<title>.*)", re.DOTALL)
_ITEM: Final = re.compile(r"(?P<indent> {0,3})(?P<mark>[-*+]|\d{1,9}[.)])(?P<gap>\s+)(?=\S)")
_RULE: Final = re.compile(r" {0,3}(?:-\s*){3,}\Z|\ {0,3}(?:\*\s*){3,}\Z|\ {0,3}(?:_\s*){3,}\Z")
_ALIGN: Final = re.compile(r"\s*+\|?\s*+:?-++:?\s*+(?:\|\s*+:?-++:?\s*+)*+\|?\s*+\Z")
_BAR: Final = re.compile(r"(?<!\\)\|")
_INLINE: Final = re.compile(
    r"""\\(?P<escaped>[!-/:-@\[-`{-~])
      | (?:(?<!`)|(?<=\\`))(?P<ticks>`++)(?P<code>.{1,2000}?)(?<!`)(?P=ticks)(?!`)
      | \[(?P<words>(?:[^\[\]\\]|\\.){1,500})\]\((?P<target>[^()\s]{1,2000})\)
      | \*\*(?=\S)(?P<strong>.{1,1000}?)(?<=\S)\*\*
      | \*(?=[^\s*])(?P<stressed>[^*]{1,500}?)(?<=\S)\*
      | (?<!\w)_(?=[^\s_])(?P<slanted>[^_]{1,500}?)(?<=\S)_(?!\w)
    """,
    re.VERBOSE | re.DOTALL,
)


def prose(markdown: str) -> str:
    """`markdown` as the markup of a section."""
    return "\n".join(_blocks(markdown.replace("\t", "    ").split("\n"), 0))


def _blocks(lines: Sequence[str], depth: int) -> Iterator[str]:
    """The blocks in `lines`; each reader gives its markup and where the next block begins."""
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
        elif found := _FENCE.match(line):
            inside, at = _fenced(lines, at, found["fence"])
            yield element("pre", element("code", text(inside)))
        elif found := _HEADING.match(line):
            yield element("h3", _inline(found["title"].rstrip().rstrip("#").rstrip()))
            at += 1
        elif _RULE.match(line):
            yield "<hr>"
            at += 1
        elif depth < _DEEPEST and line.lstrip().startswith(">"):
            quoted, at = _quoted(lines, at)
            yield element("blockquote", "\n".join(_blocks(quoted, depth + 1)))
        elif depth < _DEEPEST and _ITEM.match(line):
            made, at = _list(lines, at, depth)
            yield made
        elif _begins_table(lines, at):
            made, at = _table(lines, at)
            yield made
        else:
            paragraph, at = _paragraph(lines, at, depth)
            yield element("p", _inline(paragraph))


def _fenced(lines: Sequence[str], at: int, fence: str) -> tuple[str, int]:
    closing = re.compile(rf" {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}\s*\Z")
    end = next((place for place in range(at + 1, len(lines)) if closing.match(lines[place])), len(lines))
    return "\n".join(lines[at + 1 : end]), end + 1


def _quoted(lines: Sequence[str], at: int) -> tuple[list[str], int]:
    end = at
    while end < len(lines) and lines[end].lstrip().startswith(">"):
        end += 1
    return [line.lstrip()[1:].removeprefix(" ") for line in lines[at:end]], end


def _list(lines: Sequence[str], at: int, depth: int) -> tuple[str, int]:
    items: list[str] = []
    first = _ITEM.match(lines[at])
    numbered = first is not None and first["mark"][0].isdigit()
    while at < len(lines) and (found := _ITEM.match(lines[at])) and found["mark"][0].isdigit() == numbered:
        inside = min(found.end(), len(found["indent"]) + len(found["mark"]) + 4)
        end = at + 1
        while end < len(lines) and _belongs(lines, end, inside):
            end += 1
        own = [lines[at][found.end() :], *(line[_indent(line, inside) :] for line in lines[at + 1 : end])]
        items.append(element("li", _item(own, depth + 1)))
        at = end
    return element("ol" if numbered else "ul", "\n".join(items)), at


def _belongs(lines: Sequence[str], at: int, inside: int) -> bool:
    """Whether a line goes on with a list item: it is indented, or a blank before a line that is, or goes on lazily."""
    line = lines[at]
    if not line.strip():
        return at + 1 < len(lines) and lines[at + 1].startswith(" " * min(inside, 2)) and bool(lines[at + 1].strip())
    lazy = bool(lines[at - 1].strip()) and not (_ITEM.match(line) or _FENCE.match(line) or _HEADING.match(line))
    return line.startswith(" " * min(inside, 2)) or lazy


def _indent(line: str, most: int) -> int:
    return min(len(line) - len(line.lstrip(" ")), most)


def _item(lines: Sequence[str], depth: int) -> str:
    """The inside of one item; a single paragraph stands there without its tag."""
    made = list(_blocks(lines, depth))
    if made and made[0].startswith("<p>"):
        made[0] = made[0].removeprefix("<p>").removesuffix("</p>")
    return "\n".join(made)


def _begins_table(lines: Sequence[str], at: int) -> bool:
    return "|" in lines[at] and at + 1 < len(lines) and "-" in lines[at + 1] and bool(_ALIGN.match(lines[at + 1]))


def _table(lines: Sequence[str], at: int) -> tuple[str, int]:
    heads = _cells(lines[at])
    end = at + 2
    while end < len(lines) and "|" in lines[end]:
        end += 1
    head = "".join(element("th", _inline(cell), scope="col") for cell in heads)
    rows = [
        element("tr", "".join(element("td", _inline(cell)) for cell in _cells(line)[: len(heads)]))
        for line in lines[at + 2 : end]
    ]
    body = element("tbody", "\n".join(rows)) if rows else ""
    return element("table", element("thead", element("tr", head)) + body), end


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(line.strip().removeprefix("|").removesuffix("|"))]


def _paragraph(lines: Sequence[str], at: int, depth: int) -> tuple[str, int]:
    end = at + 1
    while end < len(lines) and lines[end].strip() and not _interrupts(lines, end, depth):
        end += 1
    return "\n".join(line.lstrip() for line in lines[at:end]), end


def _interrupts(lines: Sequence[str], at: int, depth: int) -> bool:
    line = lines[at]
    if _FENCE.match(line) or _HEADING.match(line) or _RULE.match(line) or _begins_table(lines, at):
        return True
    return depth < _DEEPEST and (line.lstrip().startswith(">") or _ITEM.match(line) is not None)


# Within a line.


def _inline(markdown: str, depth: int = 0) -> str:
    if depth > _DEEPEST:
        return text(markdown)
    made: list[str] = []
    at = 0
    for found in _INLINE.finditer(markdown):
        made.append(_words(markdown[at : found.start()]))
        made.append(_marked(found, depth + 1))
        at = found.end()
    made.append(_words(markdown[at:]))
    return "".join(made)


def _words(plain: str) -> str:
    return text(unescape(plain.rstrip(" ") if plain.endswith("  ") else plain))


def _marked(found: re.Match[str], depth: int) -> str:
    if found["escaped"]:
        return text(found["escaped"])
    if found["code"]:
        return element("code", text(_code(found["code"])))
    if found["words"]:
        return link(found["target"], _inline(found["words"], depth))
    if found["strong"]:
        return element("strong", _inline(found["strong"], depth))
    return element("em", _inline(found["stressed"] or found["slanted"], depth))


def _code(inside: str) -> str:
    line = inside.replace("\n", " ")
    padded = line.startswith(" ") and line.endswith(" ") and line.strip()
    return line[1:-1] if padded else line
