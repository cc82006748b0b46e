"""Foreign words made harmless for Markdown: an agent's own Markdown tamed, a plain line escaped, a place as code."""

import re
from typing import Final

from retinue.contract.sanitize import escape_inline, printable

__all__ = ["as_code", "as_line", "as_prose", "as_sentences", "tame"]

_CODE: Final = re.compile(r"(^```.*?^```[^\n]*$|(?<![\\`])`[^`\n]+`(?!`))", re.DOTALL | re.MULTILINE)
_MARKUP: Final = re.compile(r"(?<!\\)(\\*+)(<(?=[A-Za-z/!?])|!(?=\[)|\](?=\(\s*(?!https?:|[\w./#-]*\))))")
_HEADING: Final = re.compile(r"^ {0,3}#{1,6}\s+(?=\S)", re.MULTILINE)
_UNDERLINE: Final = re.compile(r"^ {0,3}(=+|-{2,})\s*$", re.MULTILINE)
_LINKING: Final = re.compile(r"\\([:@])")
_TICKS: Final = re.compile(r"`+")


def tame(text: str) -> str:
    """An agent's own Markdown without what could do more than be read.

    HTML, images and links to anything but the web are shown as text, headings stand below ours, invisible characters
    are made visible. Code stays as it is.
    """
    parts = _CODE.split(printable(text))
    return "".join(part if place % 2 else _plain(part) for place, part in enumerate(parts)).strip()


def as_prose(text: str) -> str:
    """A sentence with code in backticks, as messages and reasons are, on one line."""
    return " ".join(tame(text).split())


def as_line(text: str) -> str:
    """Foreign words on one line, escaped, but for what could not be markup anyway; addresses may become links."""
    return _LINKING.sub(r"\1", escape_inline(printable(text)))


def as_code(text: str) -> str:
    """`text` as code on one line; one that holds backticks stands between more of them than it holds."""
    line = " ".join(printable(text).split())
    longest = max((len(run) for run in _TICKS.findall(line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def as_sentences(*texts: str) -> str:
    """`texts` as they stand one after the other: tools and agents often leave out the capital and the full stop."""
    return " ".join(_sentence(text.strip()) for text in texts if text.strip())


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?', '…')) else '.'}"


def _plain(text: str) -> str:
    # A backslash of its own in front would take ours for itself: then it is escaped already, or two of them are none.
    escaped = _MARKUP.sub(lambda match: match[0] if len(match[1]) % 2 else f"{match[1]}\\{match[2]}", text)
    return _HEADING.sub("#### ", _UNDERLINE.sub("", escaped))
