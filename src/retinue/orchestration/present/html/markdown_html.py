"""Markdown as HTML, as much of it as answers hold: paragraphs, headings, lists, tables, quotations, code, links.

No parser of all of CommonMark: what it does not know is shown as text. Nothing in the Markdown can become a tag, an
attribute, or an address but of the web; whatever the text, the tags it gives are balanced.
"""

import re
from collections.abc import Iterator, Sequence
from html import unescape
from typing import Final

from retinue.orchestration.present.html.markup import element, link, text

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


def markdown_to_html(markdown: str) -> str:
    """`markdown` as the markup of a section."""
    return "\n".join(_blocks(markdown.replace("\t", "    ").split("\n"), 0))


def _blocks(lines: Sequence[str], depth: int) -> Iterator[str]:
    """The blocks in `lines`; each reader gives its markup and where the next block begins."""
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
        elif match := _FENCE.match(line):
            inside, at = _read_fence(lines, at, match["fence"])
            yield element("pre", element("code", text(inside)))
        elif match := _HEADING.match(line):
            yield element("h3", _inline_html(match["title"].rstrip().rstrip("#").rstrip()))
            at += 1
        elif _RULE.match(line):
            yield "<hr>"
            at += 1
        elif depth < _DEEPEST and line.lstrip().startswith(">"):
            quotation, at = _read_quotation(lines, at)
            yield element("blockquote", "\n".join(_blocks(quotation, depth + 1)))
        elif depth < _DEEPEST and _ITEM.match(line):
            markup, at = _read_list(lines, at, depth)
            yield markup
        elif _begins_table(lines, at):
            markup, at = _read_table(lines, at)
            yield markup
        else:
            end = at + 1
            while end < len(lines) and lines[end].strip() and not _interrupts(lines, end, depth):
                end += 1
            paragraph, at = "\n".join(line.lstrip() for line in lines[at:end]), end
            yield element("p", _inline_html(paragraph))


def _read_fence(lines: Sequence[str], at: int, fence: str) -> tuple[str, int]:
    closing = re.compile(rf" {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}\s*\Z")
    end = next((place for place in range(at + 1, len(lines)) if closing.match(lines[place])), len(lines))
    return "\n".join(lines[at + 1 : end]), end + 1


def _read_quotation(lines: Sequence[str], at: int) -> tuple[list[str], int]:
    end = at
    while end < len(lines) and lines[end].lstrip().startswith(">"):
        end += 1
    return [line.lstrip()[1:].removeprefix(" ") for line in lines[at:end]], end


def _read_list(lines: Sequence[str], at: int, depth: int) -> tuple[str, int]:
    items: list[str] = []
    first = _ITEM.match(lines[at])
    numbered = first is not None and first["mark"][0].isdigit()
    while at < len(lines) and (match := _ITEM.match(lines[at])) and match["mark"][0].isdigit() == numbered:
        inside = min(match.end(), len(match["indent"]) + len(match["mark"]) + 4)
        end = at + 1
        while end < len(lines) and _continues_item(lines, end, inside):
            end += 1
        own = [
            lines[at][match.end() :],
            *(line[min(len(line) - len(line.lstrip(" ")), inside) :] for line in lines[at + 1 : end]),
        ]
        items.append(element("li", _item_html(own, depth + 1)))
        at = end
    return element("ol" if numbered else "ul", "\n".join(items)), at


def _continues_item(lines: Sequence[str], at: int, inside: int) -> bool:
    """Whether a line goes on with a list item: it is indented, or a blank before a line that is, or goes on lazily."""
    line = lines[at]
    if not line.strip():
        return at + 1 < len(lines) and lines[at + 1].startswith(" " * min(inside, 2)) and bool(lines[at + 1].strip())
    lazy = bool(lines[at - 1].strip()) and not (_ITEM.match(line) or _FENCE.match(line) or _HEADING.match(line))
    return line.startswith(" " * min(inside, 2)) or lazy


def _item_html(lines: Sequence[str], depth: int) -> str:
    """The inside of one item; a single paragraph stands there without its tag."""
    blocks = list(_blocks(lines, depth))
    if blocks and blocks[0].startswith("<p>"):
        blocks[0] = blocks[0].removeprefix("<p>").removesuffix("</p>")
    return "\n".join(blocks)


def _begins_table(lines: Sequence[str], at: int) -> bool:
    return "|" in lines[at] and at + 1 < len(lines) and "-" in lines[at + 1] and bool(_ALIGN.match(lines[at + 1]))


def _read_table(lines: Sequence[str], at: int) -> tuple[str, int]:
    heads = _cells(lines[at])
    end = at + 2
    while end < len(lines) and "|" in lines[end]:
        end += 1
    head = "".join(element("th", _inline_html(cell), scope="col") for cell in heads)
    rows = [
        element("tr", "".join(element("td", _inline_html(cell)) for cell in _cells(line)[: len(heads)]))
        for line in lines[at + 2 : end]
    ]
    body = element("tbody", "\n".join(rows)) if rows else ""
    return element("table", element("thead", element("tr", head)) + body), end


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(line.strip().removeprefix("|").removesuffix("|"))]


def _interrupts(lines: Sequence[str], at: int, depth: int) -> bool:
    line = lines[at]
    if _FENCE.match(line) or _HEADING.match(line) or _RULE.match(line) or _begins_table(lines, at):
        return True
    return depth < _DEEPEST and (line.lstrip().startswith(">") or _ITEM.match(line) is not None)


# Within a line.


def _inline_html(markdown: str, depth: int = 0) -> str:
    if depth > _DEEPEST:
        return text(markdown)
    parts: list[str] = []
    at = 0
    for match in _INLINE.finditer(markdown):
        parts.append(_text_html(markdown[at : match.start()]))
        parts.append(_markup_html(match, depth + 1))
        at = match.end()
    parts.append(_text_html(markdown[at:]))
    return "".join(parts)


def _text_html(markdown: str) -> str:
    return text(unescape(markdown.rstrip(" ") if markdown.endswith("  ") else markdown))


def _markup_html(match: re.Match[str], depth: int) -> str:
    if match["escaped"]:
        return text(match["escaped"])
    if match["code"]:
        return element("code", text(_code_text(match["code"])))
    if match["words"]:
        return link(match["target"], _inline_html(match["words"], depth))
    if match["strong"]:
        return element("strong", _inline_html(match["strong"], depth))
    return element("em", _inline_html(match["stressed"] or match["slanted"], depth))


def _code_text(inside: str) -> str:
    line = inside.replace("\n", " ")
    is_padded = line.startswith(" ") and line.endswith(" ") and line.strip()
    return line[1:-1] if is_padded else line
