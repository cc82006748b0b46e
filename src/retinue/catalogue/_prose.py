"""Sentences that hold foreign text, as plain text and as Markdown from the same string.

A file name, a person's name or a commit's subject is data: it is made printable for both, and cannot become markup in
the second. In a sentence it stands between two control characters, behind a letter that says what it is; no printable
text holds such characters, so that none can end a piece early or begin one.
"""

import re
from collections.abc import Iterable
from typing import Final

from retinue.contract.sanitize import printable

_TICKS: Final = re.compile(r"`+")
_SPECIAL: Final = re.compile(
    r"""[\\`*\[\]<>|]                          # escapes, code, emphasis, links, HTML, tables
      | _(?<![^\W_]_)|_(?![^\W_])              # inside a word an underscore is not markup
      | ~(?=~)|(?<=~)~ | &(?=\#?\w+;)          # strikethrough, entities
      | :(?=//) | \.(?<=www\.)                 # bare links
      | @(?=\w)
      | \A(?:[-+=\#]|\d{1,9}[.)])              # what means something only where a line begins
    """,
    re.VERBOSE | re.IGNORECASE,
)
# A span that its author marked with single backticks.
_SPAN: Final = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_PIECE: Final = re.compile("\x02([cntq])([^\x02\x03]*)\x03")
_TEXT_FORMS: Final = {"c": "`{}`", "n": "{}", "t": "“{}”", "q": "{}"}
"""How each form stands in plain text."""
_MAX_LINE: Final = 300


def code(text: str) -> str:
    """A path, an identifier, a word that was asked for, as a piece of a sentence."""
    return f"\x02c{one_line(text)}\x03"


def name(text: str) -> str:
    """A person's name, as a piece of a sentence."""
    return f"\x02n{one_line(text) or '(no name)'}\x03"


def title(text: str) -> str:
    """The subject of a commit, as a piece of a sentence."""
    return f"\x02t{one_line(text) or '(no subject)'}\x03"


def quote(text: str, *, limit: int = _MAX_LINE) -> str:
    """A sentence out of a file, as a piece of another; what its author marked as code stays so in Markdown."""
    return f"\x02q{one_line(text, limit=limit)}\x03"


def plain_text(sentence: str) -> str:
    """`sentence` as plain text."""
    return _PIECE.sub(lambda piece: _TEXT_FORMS[piece[1]].format(piece[2]), sentence)


def markdown(sentence: str) -> str:
    """`sentence` as Markdown. A code span needs no backslashes, so that it reads well unrendered too."""
    return _PIECE.sub(_markdown_piece, sentence)


def _markdown_piece(match: re.Match[str]) -> str:
    form, text = match.groups()
    if form in "ct":
        return code_span(text)
    parts = _SPAN.split(text) if form == "q" else [text]
    return "".join(code_span(part) if place % 2 else escape_line(part) for place, part in enumerate(parts))


def first_of(
    pieces: Iterable[str], limit: int | None = None, *, more: str = " and {:,} more", separator: str = ", "
) -> str:
    """The first of some, and how many more there are."""
    items = list(pieces)
    remaining = len(items) - len(items[:limit])
    return separator.join(items[:limit]) + (more.format(remaining) if remaining else "")


def phrases(text: str) -> tuple[str, ...]:
    """The phrases of a text that parts them by `;`, such as the examples of a skill."""
    return tuple(" ".join(phrase.split()) for phrase in text.split(";"))


def one_line(text: str, *, limit: int = _MAX_LINE) -> str:
    """`text` printable, on one line, cut with an ellipsis."""
    line = " ".join(printable(text).split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def escape_line(text: str) -> str:
    """Escape one line so that Markdown shows it as it is, with no more backslashes than that takes.

    `sanitize.escape_markdown` is for any text at any place; here there is one line, so nothing that needs a line of
    its own (a list, a table, a setext heading) can come about behind its first character.
    """
    return _SPECIAL.sub(lambda match: f"{match[0][:-1]}\\{match[0][-1]}", text)


def code_span(text: str) -> str:
    """`text` as a Markdown code span, whatever backticks it holds."""
    runs = {len(run) for run in _TICKS.findall(text)}
    # The shortest run of backticks that the text does not have, as CommonMark asks.
    ticks = "`" * next(length for length in range(1, len(text) + 2) if length not in runs)
    pad = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def code_block(text: str, kind: str) -> str:
    """`text` as a block of code in Markdown, in a fence longer than any in it, which would end it."""
    ticks = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
    return f"{ticks}{kind}\n{text}\n{ticks}"
