"""Lines, values and fences of the text forms: how a value is written so that it reads back, and cannot forge anything.

Knows no signal and no section.
"""

import re
from typing import Final

from retinue.contract import json
from retinue.contract.finding import Finding, Severity
from retinue.contract.formatting import ensure_text
from retinue.dialects.decoding import decode_utf8, parse_error_at
from retinue.dialects.diagnostics import Diagnostics
from retinue.errors import InvalidInput

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)", re.DOTALL)
CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""What a line of plain text never holds: it moves the cursor, breaks the line, or turns the direction."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def decode_text(text: str | bytes, notes: Diagnostics) -> str:
    """Give `text` as whole Unicode characters, without a byte order mark.

    Raises:
        ParseError: It is no UTF-8, empty, too large, or holds half a character.
    """
    ensure_text(text, "message", or_bytes=True)
    content = decode_utf8(text) if isinstance(text, bytes) else text
    if content.startswith("\ufeff"):
        if notes.level == "strict":
            raise parse_error_at(
                content, 0, "byte_order_mark", "the text starts with a byte order mark", hint="Send plain UTF-8."
            )
        notes.add("repaired", "The byte order mark was taken off.", fix="Send plain UTF-8 without one.")
        content = content[1:]
    if len(content) > json.MAX_BYTES:
        raise parse_error_at(
            content, 0, "too_large", f"the text has {len(content):,} characters", hint="Send less, or name a file."
        )
    if not content or content.isspace():
        raise parse_error_at(content, 0, "empty", "there is no text", hint="Send a message.")
    half = None if content.isascii() else _SURROGATE.search(content)
    if half:
        raise parse_error_at(
            content, half.start(), "lone_surrogate", "half a character stands alone", hint="Send it whole."
        )
    return content


def ensure_writable(text: str) -> str:
    """`text`, seen to be writable.

    Raises:
        InvalidInput: It holds half a character, which no text can.
    """
    half = None if text.isascii() else _SURROGATE.search(text)
    if half:
        raise InvalidInput(
            f"A value holds half of a surrogate pair, `\\u{ord(half[0]):04x}`.", hint="Send the whole character."
        )
    return text


def strict_severity(notes: Diagnostics) -> Severity:
    """How grave it is to break a rule that only `strict` insists on."""
    return "error" if notes.level == "strict" else "warning"


def note_at(
    notes: Diagnostics,
    rule: str,
    message: str,
    *,
    line: int,
    fix: str = "",
    path: str = "",
    severity: Severity = "warning",
) -> None:
    """Note something about a line of the text."""
    rule = f"{notes.dialect}/{rule}"
    notes.extend((Finding(rule=rule, message=message, line=line, column=1, fix=fix, path=path, severity=severity),))


def one_line(value: str) -> str:
    """`value` on one line, whoever reads it: what anybody takes for a line break, or for a command, becomes a space."""
    if not value.isprintable():
        value = CONTROL.sub("\n", value)
    return " ".join(filter(None, map(str.strip, value.splitlines())))


def quote_json(value: str) -> str:
    """`value` as a JSON string.

    Raises:
        InvalidInput: It holds half a character.
    """
    return json.dumps(value)


class Fences:
    """Tells which lines of a Markdown text are code.

    Args:
        indented: A fence may be indented by up to three spaces.
    """

    def __init__(self, *, indented: bool = True) -> None:
        self._mark = ""
        self._indented = indented

    def is_code(self, line: str) -> bool:
        """Whether `line`, the next one, is part of a code block; its first and last line are."""
        content = line.lstrip(" ") if self._indented else line
        match = _FENCE.fullmatch(line) if content.startswith(("```", "~~~")) else None
        if not self._mark:
            if match and not (match[1][0] == "`" and "`" in match[2]):
                self._mark = match[1]
                return True
            return False
        if match and match[1].startswith(self._mark) and not match[2].strip():
            self._mark = ""
        return True


_QUOTES: Final = (("`", "`"), ('"', '"'), ("'", "'"), ("<", ">"), ("**", "**"))
_LINK: Final = re.compile(r"\[[^\[\]]{0,400}\]\(([^()\s]{1,4000})\)")
_NOTHING: Final = frozenset({"none", "n/a", "na", "nothing", "null", "-", "--", "\u2013", "\u2014"})


def unquote_path(value: str) -> str:
    """The path in `value`, empty where it names none."""
    link = _LINK.fullmatch(value)
    if link:
        return unquote_path(link[1])
    for start, end in _QUOTES:
        inner = value[len(start) : len(value) - len(end)]
        if inner and value.startswith(start) and value.endswith(end) and start not in inner and end not in inner:
            return unquote_path(inner.strip())
    return "" if is_nothing(value) else value


def is_nothing(value: str) -> bool:
    """Whether `value` only says that there is none."""
    return value.strip("()[]. ").lower() in _NOTHING
