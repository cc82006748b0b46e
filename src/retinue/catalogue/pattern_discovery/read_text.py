"""Reads documents for what they forbid: sentences that tell the reader never to do, or not to do, something.

A description ("it never blocks") is none, nor is a reassurance ("you do not need to"): only what is said to the reader
as an order, or with `must not`, `should not` and the like.
"""

import re
from collections.abc import Iterator
from typing import Final

from retinue.catalogue.pattern_discovery.facts import Rule

__all__ = ["is_ruled", "rules_of"]

_LONGEST: Final = 300
_MOST: Final = 200
_FENCE: Final = re.compile(r"\s*(```+|~~~+)")
_ITEM: Final = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+|\s*>\s?")
_HEADING: Final = re.compile(r"\s*#{1,6}\s|\s*\|")
_UNDERLINE: Final = re.compile(r"\s*([=\-~^\"'*+#])\1{2,}\s*\Z")
_ENDS: Final = re.compile(r"(?<=[.!?])[\"')\]*_`]*\s+(?=[\"'(\[*_`:]*[A-Z]|:\w+:`)")
_CODE_BLOCK: Final = re.compile(r"\s*\.\. (?:code(?:-block)?|sourcecode|parsed-literal|prompt)::")
_DIRECTIVE: Final = re.compile(r"\s*\.\. (?:[\w-]+::|[^:]*:)\s*")
_ORDER: Final = re.compile(
    r"""(?:\A|[,;:\u2013\u2014]\s+|\b(?:then|please|instead|otherwise|must|should)\s+)
        [*_"'(]*(?:
            (?:do\ not|don['\u2019]t|never)[*_]*\ +
            (?!need|have\ to|want|worry|know|mind|care|think|see|require|forget|the\b|an?\b|\w+ed\b|even\b|be\ afraid)
            [*_`]*\w
          | avoid\b(?!\ (?:this|that)\b\W)
        )
      | \b(?:must|shall)(?:\ not|n['\u2019]t|\ never)\b(?!\ (?:have\ to|need))
      | \byou\ should(?:\ not|n['\u2019]t|\ never)\b(?!\ (?:have\ to|need))
      | \bshould(?:\ not|n['\u2019]t|\ never)\ (?:ever\ )?be\ (?!needed|necessary|required|noticeable|an?\b|any\b)\w+
      | \b(?:is|are)\ (?:strictly\ )?(?:forbidden|prohibited|not\ allowed|never\ allowed|not\ permitted)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_LITERAL: Final = re.compile(r"``([^`]+)``")
_HINTS: Final = ("avoid", "forbid", "n't", "n\u2019t", "never", "not", "prohibit")
"""What every order holds; looked for first, because it is quick."""
_PAST: Final = re.compile(
    r"(?:\A|/)(?:announce(?:ments)?/|(?:change(?:s|log)?|history|news|release[-_ ]?(?:notes?|v?\d[\w.]*)|licen[sc]es?"
    r"|copying|authors)\b)",
    re.IGNORECASE,
)


def is_ruled(path: str) -> bool:
    """Whether a document may say what holds now: a changelog tells of the past, a licence of the law."""
    return _PAST.search(path) is None


def rules_of(text: str) -> Iterator[Rule]:
    """What a document forbids, with the line on which each sentence begins."""
    found = 0
    for paragraph in _paragraphs(text):
        whole = " ".join(line for _, line in paragraph)
        low = whole.lower()
        if not any(hint in low for hint in _HINTS):
            continue
        for start, sentence in _sentences(whole):
            if _ORDER.search(sentence) and not sentence.endswith("?"):
                yield Rule(_cut(sentence.strip("*_ ")), _line_at(paragraph, start))
                found += 1
                if found == _MOST:
                    return


def _paragraphs(text: str) -> Iterator[list[tuple[int, str]]]:
    """Runs of lines that belong together, each with its number; code is left out, and an item begins a new run."""
    current: list[tuple[int, str]] = []
    for number, line in _lines(text):
        begin = _ITEM.match(line) or _DIRECTIVE.match(line)
        silent = not line.strip() or _HEADING.match(line) or _UNDERLINE.match(line)
        if (begin or silent) and current:
            yield current
            current = []
        said = "" if silent else (line[begin.end() :] if begin else line).strip()
        if said:
            current.append((number, said))
    if current:
        yield current


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a document with those of its code blank: between fences, and indented below a `::`."""
    fence, code_indent = "", -1
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        indent = len(line) - len(line.lstrip())
        if code_indent >= 0 and (not stripped or indent > code_indent):
            yield number, ""
            continue
        code_indent = -1
        mark = _FENCE.match(line)
        if fence or mark:
            closes = fence and mark and mark[1].startswith(fence)
            fence = "" if closes else fence or (mark[1] if mark else "")
            yield number, ""
            continue
        if _CODE_BLOCK.match(line) or (stripped.endswith("::") and not stripped.startswith("..")):
            code_indent = indent
        yield number, "" if _CODE_BLOCK.match(line) else line


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for end in _ENDS.finditer(text):
        yield start, text[start : end.start()]
        start = end.end()
    yield start, text[start:]


def _line_at(paragraph: list[tuple[int, str]], offset: int) -> int:
    for number, line in paragraph:
        if offset <= len(line):
            return number
        offset -= len(line) + 1
    return paragraph[-1][0]


def _cut(text: str) -> str:
    text = _LITERAL.sub(r"`\1`", text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip()}…"
