"""Reads documents for what they forbid: sentences that tell the reader never to do, or not to do, something.

A description ("it never blocks") is none, nor is a reassurance ("you do not need to"): only what is said to the reader
as an order, or with `must not`, `should not` and the like.
"""

import re
from collections.abc import Iterator
from typing import Final

from retinue.catalogue._prose import one_line

from .facts import RuleSentence

_BEGIN: Final = re.compile(r"(?:[-*+•]|\d+[.)])\s+|>\s?|\.\. (?:[\w-]+::|[^:]*:)\s*")
"""What begins a paragraph inside of one: a list item, a quotation, a directive of reStructuredText."""
_CODE: Final = (".. code", ".. sourcecode", ".. parsed-literal", ".. prompt")
_ENDS: Final = re.compile(r"(?<=[.!?])[\"')\]*_`]*\s+(?=[\"'(\[*_`:]*[A-Z]|:\w+:`)")
_ORDER: Final = re.compile(
    r"""(?ix)(?:\A|[,;:\u2013\u2014]\s+|\b(?:then|please|instead|otherwise|must|should)\s+)
        [*_"'(]*(?:
            (?:do\ not|don['\u2019]t|never)[*_]*\ +
            (?!need|have\ to|want|worry|know|mind|care|think|see|require|forget|the\b|an?\b|\w+ed\b|even\b|be\ afraid)
            [*_`]*\w
          | avoid\b(?!\ (?:this|that)\b\W)
        )
      | \b(?:(?:must|shall|you\ should)(?:\ not|n['\u2019]t|\ never))\b(?!\ (?:have\ to|need))
      | \bshould(?:\ not|n['\u2019]t|\ never)\ (?:ever\ )?be\ (?!needed|necessary|required|noticeable|an?\b|any\b)\w+
      | \b(?:is|are)\ (?:strictly\ )?(?:forbidden|prohibited|(?:not|never)\ (?:allowed|permitted))\b
    """
)
_PAST: Final = ("authors", "changelog", "changes", "copying", "history", "licence", "license", "news", "release")


def is_historical(path: str) -> bool:
    """Whether a document does not say what holds now: a changelog tells of the past, a licence of the law."""
    *folders, name = path.lower().split("/")
    return name.startswith(_PAST) or any(folder.startswith("announce") for folder in folders)


def rules_of(text: str) -> Iterator[RuleSentence]:
    """What a document forbids, with the line on which each sentence begins."""
    for number, paragraph in _paragraphs(text):
        whole = paragraph.replace("\n", " ")
        start = 0
        for end in [*(match.span() for match in _ENDS.finditer(whole)), (len(whole), len(whole))]:
            sentence = whole[start : end[0]]
            if _ORDER.search(sentence) and not sentence.endswith("?"):
                rule = one_line(sentence.strip("*_ ").replace("``", "`"))
                yield RuleSentence(rule, number + paragraph.count("\n", 0, start))
            start = end[1]


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Runs of lines that belong together, each with the number of its first; code and headings are left out."""
    current: list[str] = []
    fence, code_indent = "", -1
    for number, line in enumerate([*text.splitlines(), ""], 1):
        content = line.strip()
        indent = len(line) - len(line.lstrip())
        if code_indent >= 0 and (not content or indent > code_indent):
            content = ""
        else:
            code_indent = (
                indent if content.startswith(_CODE) or (content.endswith("::") and content[:2] != "..") else -1
            )
        if content[:3] in ("```", "~~~"):
            fence = "" if fence == content[:3] else fence or content[:3]
            content = ""
        if (
            fence
            or content.startswith(("#", "|", *_CODE))
            or (len(content) > 2 and content == content[0] * len(content))
        ):
            content = ""
        begin = _BEGIN.match(content)
        if (begin or not content) and current:
            yield number - len(current), "\n".join(current)
            current = []
        rest = content[begin.end() :] if begin else content
        current += [rest] if rest else []
