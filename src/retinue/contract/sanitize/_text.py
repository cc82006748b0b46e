"""Foreign text made safe: to keep, to put into Markdown, to print on a terminal."""

import re
from typing import Final, Literal

from retinue.contract.text import see_text
from retinue.errors import InvalidInput

__all__ = ["content", "escape_inline", "escape_markdown", "hidden", "printable"]


def content(text: str, *, max_length: int = 10_000) -> str:
    """Drop NUL and turn every line break into a line feed (K20).

    Args:
        text: What a user or agent wrote.
        max_length: Most characters, counted before anything is dropped.

    Raises:
        InvalidInput: It is longer. Nothing is cut silently.
    """
    see_text(text, "content")
    if len(text) > max_length:
        raise InvalidInput(
            f"The content has {len(text)} characters and {max_length} are allowed.",
            hint="Shorten it, or hand it over as a file.",
        )
    return text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")


_SPECIAL: Final = re.compile(
    r"""[\\`*_{}\[\]()\#+\-.!<>|~&]     # the fifteen of spec 003, and HTML, tables, strikethrough and entities
      | :(?=//) | @(?=\w)               # bare links and mail addresses
      | (?<![^\r\n])(?:[ \t]*+)=        # a line of `=` makes the line above it a heading
    """,
    re.VERBOSE,
)
_INDENT: Final = re.compile(r"(?<![^\r\n])[ \t](?=[ \t]*+[^ \t\r\n])")
_BREAK: Final = re.compile(r"[\r\n]+")


def escape_markdown(text: str, *, form: Literal["block", "line"] = "block") -> str:
    """Escape `text` so that Markdown shows it as it is: no markup, HTML, link, table, heading or code (K19, C36).

    Args:
        text: What a user or agent wrote; invisible characters pass, see `printable`.
        form: `block` keeps lines; `line` joins them by a space, for a heading or a table cell.
    """
    see_text(text, "text")
    if form == "line":
        text = " ".join(filter(None, (line.strip(" \t") for line in _BREAK.split(text))))
    escaped = _SPECIAL.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", text)
    # Four leading spaces would make code, and one a continuation of a list around us; an entity is not indentation.
    return _INDENT.sub(lambda found: f"&#{ord(found[0])};", escaped)


_NEEDLESS: Final = re.compile(r"\\([.!+\-(){}])")
_INSIDE_A_WORD: Final = re.compile(r"(?<=[^\W_])\\_(?=[^\W_])")
_MARKER: Final = re.compile(r"(?:(?:\\[-+])+|\d+\\[.)])(?= |$)")


def escape_inline(text: str) -> str:
    """Escape `text` for one line, but for what could not be markup there: dots, dashes and the like (C36)."""
    escaped = escape_markdown(text, form="line")
    marker = _MARKER.match(escaped)
    start = marker.end() if marker else 0
    return escaped[:start] + _INSIDE_A_WORD.sub("_", _NEEDLESS.sub(r"\1", escaped[start:]))


_COLOUR: Final = r"\x1b\[[0-9;:]*m"
_HIDDEN: Final = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 controls but tab and line feed; ESC starts what a terminal obeys
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e"  # drawn as nothing
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"  # bidi marks, odd line ends, fillers
    "\ud800-\udfff"  # cannot be written at all
    "\U000e0000-\U000e0fff]"  # tags: whole sentences nobody sees
)
_UNSAFE: Final = re.compile(rf"({_COLOUR}|\r(?=\n))|{_HIDDEN}")


def printable(text: str) -> str:
    r"""Make foreign text safe to print on a terminal or into a log.

    Colours (`ESC [ … m`) are dropped, since they say nothing; CRLF becomes LF. Every other control, escape,
    bidirectional or invisible character is shown as `\u{202e}`, so what was hidden can be seen. Tabs, line feeds and
    the joiners of emoji and of Indic and Persian script stay.
    """
    see_text(text, "text")
    return _UNSAFE.sub(_visible, text)


def hidden(text: str) -> str:
    r"""The first character of `text` that nobody would see, or that a terminal would obey, as in `\u{202e}`.

    Empty when there is none. A carriage return that ends a line is none.
    """
    see_text(text, "text")
    found = next((each for each in _UNSAFE.finditer(text) if each[0] != "\r"), None)
    return f"\\u{{{ord(found[0][0]):x}}}" if found else ""


def _visible(found: re.Match[str]) -> str:
    return "" if found[1] else f"\\u{{{ord(found[0]):x}}}"
