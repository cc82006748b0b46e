"""The words of a passage that a person would quote: sentences of documents, docstrings and comments; signatures.

It cuts and cleans; what it gives stands in the file, but for markup that only a renderer needs.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import dedent
from typing import Final

from retinue.tools.search import Kind
from retinue.tools.search.passages import Block, sentences

__all__ = ["Sentence", "block_below", "prose_of", "signature_of"]

_ROLE: Final = re.compile(r"(?::[\w:+-]+:|\{[\w:+-]+\})`~?([^`<]*?)(?:\s*<[^`>]*>)?`")
_LITERAL: Final = re.compile(r"``([^`]+)``")
_LINK: Final = re.compile(r"!?\[([^\[\]\n]*)\]\([^)\s]*(?:\s\"[^\"]*\")?\)|`([^`<\n]+?)\s*<[^`>\n]*>`__?")
_NAMED_LINK: Final = re.compile(r"`([^`\n]+)`__?(?!\w)")
_REFERENCE: Final = re.compile(r"(?<![\w\])])\[([A-Za-z][^\[\]`]{0,60})\](?:\[[^\]]*\])?(?![\w(:])")
_LEAD: Final = re.compile(r"\A(?:(?:[-*+•]|\d+[.)]|#{1,6}|>|\|)\s+|\.\.\s+[\w:-]+::\s*)")
_EMPHASIS: Final = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_TRIPLE: Final = re.compile(r'[rRbBuUfF]{0,2}("""|\'\'\')')
_COMMENT: Final = re.compile(r"\s*(?:#+[!:]?|//[/!]?|--|;+|/\*+|\*+(?!/))\s?")
_DIRECTIVE: Final = re.compile(
    r"\s*(?:\.\. [\w:-]+::|\.\. _|\([\w-]+\)=\s*\Z"
    r"|:[\w-]+:(?:\s|\Z)|:(?:param|type|return|rtype|raises?)\b|@\w+\b|<[/!a-zA-Z])"
)
_FENCE: Final = re.compile(r"\s*(```+|~~~+)")
_CODE_BLOCK: Final = re.compile(r"\s*\.\. (?:code|code-block|sourcecode|literalinclude|parsed-literal)::")
_CODE: Final = re.compile(r"[={}();]|^\s*(?:def|class|import|from|return|if|for|with|@|\$|>>>|#|<)(?:\W|\Z)|\w\(")
_SECTION: Final = re.compile(
    r"\s*(?:Args|Arguments|Attributes|Examples?|Keyword Args|Parameters|Raises|Returns|Yields|Warns):\s*\Z"
)
_FIELD: Final = re.compile(r"(\s+)[\w*`.,]+(?: \([^)]*\))?: \S")
_UNDERLINE: Final = re.compile(r"\s*([=\-~^\"'*+#`])\1{2,}\s*\Z")
_DEFINITION: Final = re.compile(r"\s*(?:async\s+def|def|class)\s+\w+")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_LONGEST_SIGNATURE: Final = 160
_BLOCK_ROWS: Final = 30
_INDENTED: Final = re.compile(r"(?: {3}|\t)\s*\S")
_PART: Final = re.compile(r"\s*(?:[-*+|]|\d+[.)])|(?: {3}|\t)\s*\S")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence.

    Attributes:
        line: Where it begins, from 1 in its file.
        is_code: It is a line of code.
        is_comment: It stands beside code, not in a docstring or document.
    """

    line: int
    text: str
    is_code: bool = False
    is_comment: bool = False


def prose_of(path: str, kind: Kind, text: str, start: int) -> list[Sentence]:
    """What a passage says in words, in order; in code those are its docstrings and comments."""
    rows = text.split("\n")
    if kind == "docs":
        return list(_said(rows, start, kind="docs"))
    found: list[Sentence] = []
    is_python = path.endswith((".py", ".pyi", ".pyx"))
    for first, run in _python_prose(rows) if is_python else _comments(rows):
        is_comment = is_python and rows[first].lstrip().startswith("#")
        found += [replace(one, is_comment=is_comment) for one in _said(run, start + first, kind="docs")]
    return found


def signature_of(text: str) -> str:
    """The head of the definition that a passage of Python begins with, on one line; empty when it does not."""
    rows = text.split("\n")
    for first, row in enumerate(rows):
        if _DEFINITION.match(row):
            head = ""
            for part in rows[first : first + 12]:
                code = part.partition("  #")[0].strip()
                head += f"{code} "
                if code.endswith(":"):
                    break
            head = re.sub(r"\(\s+", "(", re.sub(r",?\s+\)", ")", " ".join(head.split()))).removesuffix(":")
            return head if len(head) <= _LONGEST_SIGNATURE else f"{head[: _LONGEST_SIGNATURE - 1]}…"
        if row.strip() and not row.lstrip().startswith(("@", "#")):
            break
    return ""


def block_below(rows: Sequence[str], line: int, *, code_only: bool = False) -> str:
    """The code, list or table right below the paragraph that has `line`, from 1; empty when another text follows."""
    place = line - 1
    while place + 1 < len(rows) and rows[place + 1].strip() and not _FENCE.match(rows[place + 1]):
        place += 1
    below = next((at for at in range(place + 1, len(rows)) if rows[at].strip()), None)
    if below is None:
        return ""
    if fence := _FENCE.match(rows[below]):
        end = next((at for at in range(below + 1, len(rows)) if rows[at].strip().startswith(fence[1])), len(rows))
        kept = rows[below + 1 : end]
    else:
        first = below + 1 if _CODE_BLOCK.match(rows[below]) else below
        part = _INDENTED if code_only or first > below else _PART
        end = next((at for at in range(first, len(rows)) if rows[at].strip() and not part.match(rows[at])), len(rows))
        kept = rows[first:end]
    return dedent("\n".join(row.rstrip() for row in kept[:_BLOCK_ROWS])).strip("\n")


def _said(rows: Sequence[str], start: int, *, kind: Kind) -> Iterator[Sentence]:
    words = _without_code([_without_roles(row) for row in _with_items(rows)])
    kept = ["" if _says_nothing(words, place) else row for place, row in enumerate(words)]
    if not any(row.strip() for row in kept):
        return
    for line, sentence in sentences(Block(1, len(kept)), kept, kind):
        clean = _clean(sentence)
        if clean.endswith("?"):
            continue  # it asks, as the question does
        words = len(_WORD.findall(clean))
        if words >= 3 or (words == 2 and clean.endswith(".")):
            yield Sentence(start + line - 1, clean)


def _with_items(rows: Sequence[str]) -> list[str]:
    """`rows` with what must not run together marked as items: the fields of a docstring, the rows of a table."""
    kept: list[str] = []
    in_fields = False
    for row in rows:
        if _SECTION.match(row):
            in_fields = True
            kept.append("")
        elif in_fields and (found := _FIELD.match(row)):
            kept.append(f"{found[1]}- {row.strip()}")
        elif row.lstrip().startswith("|") and row.rstrip().endswith("|"):
            cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
            kept.append("" if all(set(cell) <= set(":- ") for cell in cells) else f"- {'; '.join(filter(None, cells))}")
        else:
            in_fields = in_fields and (not row.strip() or row[:1].isspace())
            kept.append(row)
    return kept


def _says_nothing(rows: Sequence[str], place: int) -> bool:
    """Whether a row is a heading, its underline, a directive, a field or HTML."""
    row, below = rows[place], rows[place + 1] if place + 1 < len(rows) else ""
    if _DIRECTIVE.match(row) or _UNDERLINE.match(row) or re.match(r"#{1,6}\s", row):
        return True
    return bool(row.strip()) and _UNDERLINE.match(below) is not None and len(below.strip()) >= len(row.strip()) - 1


def _without_roles(row: str) -> str:
    """`row` without the roles of reStructuredText, which at a line's beginning look like a field."""
    return _ROLE.sub(lambda found: f"`{found[1].lstrip('~.')}`", row)


def _without_code(rows: Sequence[str]) -> list[str]:
    """`rows` with the lines of code blocks left empty: fenced ones, and those indented below a `::`."""
    kept: list[str] = []
    fence, shown = "", -1
    for row in rows:
        found = _FENCE.match(row)
        indent = len(row) - len(row.lstrip())
        if fence or found:
            fence = ("" if fence and found and found[1].startswith(fence) else fence) or (
                "" if fence else found[1] if found else ""
            )
            kept.append("")
            continue
        if row.strip() and indent <= shown:
            shown = -1
        kept.append(row if shown < 0 else "")
        if shown < 0 and (row.rstrip().endswith("::") or _CODE_BLOCK.match(row)):
            shown = indent
    return [""] * len(kept) if _is_code(kept) else kept


def _is_code(rows: Sequence[str]) -> bool:
    """Whether a paragraph that is indented as a whole looks like code."""
    said = [row for row in rows if row.strip()]
    if not said or any(not row.startswith(("   ", "\t")) for row in said):
        return False
    return sum(_CODE.search(row) is not None for row in said) * 2 >= len(said)


def _clean(sentence: str) -> str:
    """`sentence` without list marks, link targets and doubled backticks."""
    text = _LEAD.sub("", sentence.strip(), count=1)
    text = _LINK.sub(lambda found: found[1] or found[2] or "", text)
    text = _LITERAL.sub(r"`\1`", text)
    text = _NAMED_LINK.sub(r"\1", text)
    text = _REFERENCE.sub(r"\1", _EMPHASIS.sub(r"\2", text))
    return " ".join(text.split()).replace("::", ":") if text.rstrip().endswith("::") else " ".join(text.split())


def _python_prose(rows: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Docstrings and comments of Python, each with the index of its first row."""
    text = "\n".join(rows)
    quote = ""
    if len(_TRIPLE.findall(text)) % 2 and not (rows and _DEFINITION.match(rows[0])):
        quote = _TRIPLE.findall(text)[0]  # the passage begins in the middle of a docstring
    run: list[str] = []
    first = 0
    for number, row in enumerate(rows):
        inside, quote, ends = _of_row(row, quote)
        if inside is None or (ends and not inside.strip()):
            if run:
                yield first, _dedented(run)
            run = []
            continue
        first = number if not run else first
        run.append(inside)
        if ends:
            yield first, _dedented(run)
            run = []
    if run:
        yield first, _dedented(run)


def _dedented(run: list[str]) -> list[str]:
    """Rows of a docstring without the indentation of the code around; its first row never had any."""
    depths = [len(row) - len(row.lstrip()) for row in run[1:] if row.strip()]
    least = min(depths, default=0)
    return [run[0].strip(), *(row[least:] for row in run[1:])]


def _of_row(row: str, quote: str) -> tuple[str | None, str, bool]:
    """What of a row is prose (None: nothing), the quote open after it, and whether a docstring ends in it."""
    if quote:
        body, mark, _ = row.partition(quote)
        return body.rstrip(), "" if mark else quote, bool(mark)
    opened = _TRIPLE.search(row)
    if opened and not row[: opened.start()].strip():
        body, mark, _ = row[opened.end() :].partition(opened[1])
        return body.strip(), "" if mark else opened[1], bool(mark)
    if opened and row.count(opened[1]) % 2:
        return None, "", False
    bare = row.strip()
    if bare.startswith("#") and not bare.startswith(("#!", "# noqa", "# type:", "# pyright", "# pragma")):
        return _COMMENT.sub("", bare, count=1), "", False
    return None, "", False


def _comments(rows: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Runs of comment rows in any other language."""
    run: list[str] = []
    first = 0
    for number, row in enumerate([*rows, ""]):
        marked = _COMMENT.match(row)
        if marked and row.strip() and (not row.lstrip().startswith("*") or run):
            first = number if not run else first
            run.append(row[marked.end() :].removesuffix("*/").rstrip())
        elif run:
            yield first, run
            run = []
