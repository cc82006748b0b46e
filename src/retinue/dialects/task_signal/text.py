"""Lines, values and fences of the text forms: how a value is written so that it reads back, and cannot forge anything.

Knows no signal and no section.
"""

import re
import unicodedata
from typing import Final

from retinue.contract import json
from retinue.contract.finding import Finding, Severity
from retinue.dialects.reading import Notes
from retinue.errors import InvalidInput, ParseError

__all__ = ["Fences", "bearable", "cut", "decoded", "note_at", "one_line", "quoted", "unquoted", "writable"]

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)", re.DOTALL)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def decoded(text: str | bytes, notes: Notes) -> str:
    """Give `text` as whole Unicode characters, without a byte order mark.

    Raises:
        ParseError: It is no UTF-8, empty, too large, or holds half a character.
    """
    said = _from_utf8(text) if isinstance(text, bytes) else text
    if said.startswith("\ufeff"):
        if notes.level == "strict":
            raise _refusal(said, 0, "byte_order_mark", "The text starts with a byte order mark", "Send plain UTF-8.")
        notes.add("repaired", "The byte order mark was taken off.", fix="Send plain UTF-8 without one.")
        said = said[1:]
    if len(said) > json.MAX_BYTES:
        raise _refusal(said, 0, "too_large", f"The text has {len(said):,} characters", "Send less, or name a file.")
    if not said or said.isspace():
        raise _refusal(said, 0, "empty", "There is no text", "Send a message.")
    half = None if said.isascii() else _SURROGATE.search(said)
    if half:
        raise _refusal(said, half.start(), "lone_surrogate", "Half a character stands alone", "Send it whole.")
    return said


def _from_utf8(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _refusal("", 0, "encoding", "The text is UTF-16, not UTF-8", "Send the text as UTF-8.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        good = data[: error.start].decode("utf-8")
        what = f"The byte 0x{data[error.start]:02x} is not UTF-8 here"
        raise _refusal(good, len(good), "encoding", what, "Send the text as UTF-8.") from None


def _refusal(text: str, offset: int, reason: str, what: str, hint: str) -> ParseError:
    line, column = text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
    detail = {"line": line, "column": column, "offset": offset, "reason": reason}
    return ParseError(f"{what} (line {line}, column {column}).", hint=hint, detail=detail)


def writable(text: str) -> str:
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


def bearable(notes: Notes) -> Severity:
    """How grave it is to break a rule that only `strict` insists on."""
    return "error" if notes.level == "strict" else "warning"


def note_at(
    notes: Notes, rule: str, message: str, *, line: int, fix: str = "", path: str = "", severity: Severity = "warning"
) -> None:
    """Note something about a line of the text."""
    rule = f"{notes.dialect}/{rule}"
    notes.take((Finding(rule=rule, message=message, line=line, column=1, fix=fix, path=path, severity=severity),))


def one_line(value: str) -> str:
    """`value` on one line, whoever reads it: whatever anybody takes for a line break becomes a space."""
    return " ".join(filter(None, map(str.strip, value.splitlines())))


def cut(line: str, limit: int) -> str:
    """The beginning of `line`, at most `limit` Unicode characters, cut at a word's edge where there is one (C24)."""
    if len(line) <= limit:
        return line
    end = limit
    if not line[end].isspace():
        space = line.rfind(" ", 0, end)
        end = space if space > 0 else _character_edge(line, limit)
    return line[:end].rstrip()


def _character_edge(line: str, end: int) -> int:
    """The last place up to `end` that does not part a letter from its marks."""
    start = end
    while end > 1 and (unicodedata.combining(line[end]) or "\u200d" in line[end - 1 : end + 1]):
        end -= 1
    return end if end > 1 else start


def quoted(value: str) -> str:
    """`value` as a JSON string.

    Raises:
        InvalidInput: It holds half a character.
    """
    return json.dumps(value)


def unquoted(text: str) -> str | None:
    """The text that a JSON string says; None when `text` is none."""
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return None
    try:
        value = json.loads(text)
    except ParseError:
        return None
    return value if isinstance(value, str) else None


class Fences:
    """Tells which lines of a Markdown text are code.

    Args:
        indented: A fence may be indented by up to three spaces.
    """

    def __init__(self, *, indented: bool = True) -> None:
        self._mark = ""
        self._indented = indented

    def hold(self, line: str) -> bool:
        """Whether `line`, the next one, is part of a code block; its first and last line are."""
        bare = line.lstrip(" ") if self._indented else line
        found = _FENCE.fullmatch(line) if bare.startswith(("```", "~~~")) else None
        if not self._mark:
            if found and not (found[1][0] == "`" and "`" in found[2]):
                self._mark = found[1]
                return True
            return False
        if found and found[1].startswith(self._mark) and not found[2].strip():
            self._mark = ""
        return True
