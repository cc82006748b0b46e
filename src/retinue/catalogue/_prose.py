"""Sentences that hold foreign text, as plain text and as Markdown from the same pieces.

A file name, a person's name or a commit's subject is data: it is made printable for both, and cannot become markup in
the second.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, assert_never

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
_SPAN: Final = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_MAX_LINE: Final = 300


@dataclass(frozen=True, slots=True)
class ExternalText:
    """Foreign text: `code` (a path, a word), `name` (of a person), `title` (of a commit), or `quote` (of a text)."""

    text: str
    form: Literal["code", "name", "title", "quote"]

    def to_text(self) -> str:
        """As it stands in plain text."""
        match self.form:
            case "code":
                return f"`{self.text}`"
            case "name" | "quote":
                return self.text
            case "title":
                return f"“{self.text}”"
            case _:
                assert_never(self.form)

    def to_markdown(self) -> str:
        """As it stands in Markdown. A code span needs no backslashes, so that it reads well unrendered too."""
        match self.form:
            case "code" | "title":
                return code_span(self.text)
            case "name":
                return escape_line(self.text)
            case "quote":
                # What its author marked as code stays so.
                parts = _SPAN.split(self.text)
                return "".join(code_span(part) if place % 2 else escape_line(part) for place, part in enumerate(parts))
            case _:
                assert_never(self.form)


@dataclass(frozen=True, slots=True)
class Prose:
    """A sentence of ours, or a part of one, with `{}` where foreign pieces and other parts stand."""

    template: str
    pieces: "tuple[ExternalText | Prose | str, ...]" = ()

    def to_text(self) -> str:
        """The sentence as plain text."""
        return self.template.format(*(one if isinstance(one, str) else one.to_text() for one in self.pieces))

    def to_markdown(self) -> str:
        """The sentence as Markdown."""
        return self.template.format(*(one if isinstance(one, str) else one.to_markdown() for one in self.pieces))


def code(text: str) -> ExternalText:
    """A path, an identifier, a word that was asked for."""
    return ExternalText(one_line(text), "code")


def first_of(
    pieces: Iterable[ExternalText | Prose | str],
    limit: int | None = None,
    *,
    more: str = " and {:,} more",
    separator: str = ", ",
) -> Prose:
    """The first of some, and how many more there are."""
    items = tuple(pieces)
    first = items[:limit]
    remaining = len(items) - len(first)
    return Prose(separator.join(["{}"] * len(first)) + (more.format(remaining) if remaining else ""), first)


def phrases(text: str) -> tuple[str, ...]:
    """The phrases of a text that parts them by `;`, such as the examples of a skill."""
    return tuple(" ".join(phrase.split()) for phrase in text.split(";"))


def name(text: str) -> ExternalText:
    """A person's name."""
    return ExternalText(one_line(text) or "(no name)", "name")


def title(text: str) -> ExternalText:
    """The subject of a commit."""
    return ExternalText(one_line(text) or "(no subject)", "title")


def quote(text: str, *, limit: int = _MAX_LINE) -> ExternalText:
    """A sentence out of a file."""
    return ExternalText(one_line(text, limit=limit), "quote")


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
