"""Find the first place where a text stops being strict JSON. Slow path only: it builds no values.

Walks the text once, token by token, without recursion: each step returns the next one. So the time is linear and
200,000 open brackets cost no more stack than one.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import Final, NoReturn, TypeAlias

from retinue.contract.formatting import short_repr
from retinue.errors import ParseError

from ._write import MAX_DEPTH, MAX_DIGITS, Reason, parse_error, pointer

# All possessive: a text that is refused costs no backtracking, so that the time stays linear.
_SPACE = re.compile(r"[ \t\n\r]*+")
_STRING = re.compile(
    r"""(?: [^"\\\x00-\x1f\ud800-\udfff]++
          | \\ (?: ["\\/bfnrt]
                 | u [dD][89abAB][0-9a-fA-F]{2} \\u [dD][c-fC-F][0-9a-fA-F]{2}
                 | u (?![dD][89a-fA-F]) [0-9a-fA-F]{4} )
        )*+""",
    re.VERBOSE,
)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_SCALAR = r'(?:-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?|"[^"\\,\x00-\x1f\ud800-\udfff]*+"|true|false|null)'
_RUN = re.compile(rf"(?:[ \t\n\r]*+{_SCALAR}[ \t\n\r]*+,)++")
_MEMBER = re.compile(rf'"([^"\\\x00-\x1f\ud800-\udfff]*+)"[ \t\n\r]*+:[ \t\n\r]*+{_SCALAR}[ \t\n\r]*+(?=[,}}])')
"""Plain scalars, and the plain members of arrays and objects: most of a text is these, read in one go each."""

_WORD = re.compile(r"-?[A-Za-z_][A-Za-z_0-9]*+")
_LITERALS: Final = frozenset({"true", "false", "null"})
_NOT_NUMBERS: Final = frozenset({"NaN", "Infinity", "-Infinity"})

_Step: TypeAlias = Callable[[], "_Step | None"]


class Scanner:
    """One walk over one JSON value.

    Args:
        text: What to walk.
        start: Offset at which the value begins (white space is skipped).
        max_depth: Most containers inside each other.
        offsets: Where to note the offset of the value, and of every key and item, by JSON Pointer.
    """

    def __init__(
        self, text: str, *, start: int = 0, max_depth: int = MAX_DEPTH, offsets: dict[str, int] | None = None
    ) -> None:
        self._text = text
        self._offsets = offsets
        self._at = start
        self._max_depth = max_depth
        self._open: list[set[str] | None] = []  # per open container: the keys so far, or None for an array
        self._where: list[str | int | None] = []  # per open container: the member we are at, if one is named yet

    def value(self) -> int:
        """Walk the value and return the offset just after it.

        Raises:
            ParseError: The text is not strict JSON; `detail` and `path` say where.
        """
        step: _Step | None = self._value
        while step is not None:
            step = step()
        return self._at

    def document(self) -> None:
        """Walk the value and see that nothing but white space follows.

        Raises:
            ParseError: As `value`, or something follows.
        """
        self.value()
        self._skip()
        if self._at < len(self._text):
            if self._is_at_comment():
                self._refuse("comment", "JSON has no comments")
            self._refuse("trailing_text", f"text follows the JSON value, from {short_repr(self._text[self._at])} on")

    # Steps: each reads one token and returns the step that must follow.

    def _value(self) -> _Step:
        is_item = bool(self._open) and self._open[-1] is None
        # Of a run only the last item would have an offset.
        run = _RUN.match(self._text, self._at) if is_item and self._offsets is None else None
        if run:
            self._at = run.end() - 1
            self._advance(self._text.count(",", run.start(), self._at))
            return self._after_value
        self._skip()
        if is_item or not self._open:
            self._note_offset(self._at)
        first = self._text[self._at : self._at + 1]
        if first == '"':
            self._string()
        elif first in ("{", "["):
            if len(self._open) == self._max_depth:
                self._refuse("too_deep", f"more than {self._max_depth} containers are nested")
            self._at += 1
            self._open.append(set() if first == "{" else None)
            self._where.append(None if first == "{" else 0)
            self._skip()
            if self._close_container():
                return self._after_value
            return self._value if first == "[" else self._key
        elif number := _NUMBER.match(self._text, self._at):
            literal, digits = number.group(), number.group().lstrip("-")
            if len(digits) > MAX_DIGITS if digits.isdigit() else abs(float(literal)) == float("inf"):
                self._refuse("number_too_large", f"the number {short_repr(literal)} is beyond the range of a double")
            self._at = number.end()
        elif (word := _WORD.match(self._text, self._at)) and word.group() in _LITERALS:
            self._at = word.end()
        else:
            self._refuse_unexpected("a value")
        return self._after_value

    def _key(self) -> _Step:
        self._skip()
        start = self._at
        member = _MEMBER.match(self._text, start)
        if member:
            self._enter_key(member[1], start)
            self._at = member.end()
            return self._after_value
        if self._text[start : start + 1] != '"':
            self._refuse_unexpected("a key in double quotes")
        key = self._string()
        self._enter_key(key, start)
        self._skip()
        if self._text[self._at : self._at + 1] != ":":
            self._refuse_unexpected("a colon")
        self._at += 1
        return self._value

    def _enter_key(self, key: str, start: int) -> None:
        """Note that we are at `key`, and that the innermost object has it now."""
        self._where[-1] = key
        keys = self._open[-1]
        if keys is None or key in keys:
            self._at = start
            self._refuse("duplicate_key", f"the key {short_repr(key)} occurs twice in one object")
        keys.add(key)
        self._note_offset(start)

    def _note_offset(self, offset: int) -> None:
        if self._offsets is not None:
            self._offsets[self._path()] = offset

    def _path(self) -> str:
        return pointer(part for part in self._where if part is not None)

    def _after_value(self) -> _Step | None:
        if not self._open:
            return None
        self._skip()
        if self._close_container():
            return self._after_value
        in_object = self._open[-1] is not None
        comma = self._at
        if self._text[comma : comma + 1] != ",":
            self._refuse_unexpected("a comma or `}`" if in_object else "a comma or `]`")
        self._at += 1
        self._skip()
        if self._text[self._at : self._at + 1] in ("}", "]"):
            self._at = comma
            self._refuse("trailing_comma", "a comma stands before the closing bracket")
        self._advance(1)
        return self._key if in_object else self._value

    def _advance(self, count: int) -> None:
        """Go `count` members on: by index in an array, to a key not read yet in an object."""
        last = self._where[-1]
        self._where[-1] = last + count if isinstance(last, int) else None

    # Tokens.

    def _skip(self) -> None:
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at  # always found: the pattern matches nothing too

    def _close_container(self) -> bool:
        """Step over the bracket that ends the innermost container, if it stands here."""
        if self._text[self._at : self._at + 1] != ("]" if self._open[-1] is None else "}"):
            return False
        self._at += 1
        self._open.pop()
        self._where.pop()
        return True

    def _string(self) -> str:
        """Step over a string and return it as a key is compared: with its escapes read."""
        match = _STRING.match(self._text, self._at + 1)
        start, self._at = self._at, match.end() if match else self._at + 1
        if self._text[self._at : self._at + 1] != '"':
            if self._at >= len(self._text):
                self._refuse("truncated", "the text ends inside a string")
            character = self._text[self._at]
            escape = self._text[self._at : self._at + 6]
            if "\ud800" <= character <= "\udfff" or re.fullmatch(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}", escape):
                self._refuse("lone_surrogate", "half of a surrogate pair stands alone")
            if character == "\\":
                if self._at + len(escape) == len(self._text) and re.fullmatch(r"\\(?:u[0-9a-fA-F]{0,4})?", escape):
                    self._refuse("truncated", "the text ends inside an escape")
                self._refuse("syntax", f"{short_repr(escape[:2])} starts no JSON escape")
            self._refuse("syntax", f"the control character {short_repr(character)} must be escaped in a string")
        self._at += 1
        inside = self._text[start + 1 : self._at - 1]
        return _unescape(inside) if "\\" in inside else inside

    # Refusals.

    def _refuse(self, reason: Reason, what: str) -> NoReturn:
        raise parse_error(self._text, self._at, reason, what, path=self._path())

    def _is_at_comment(self) -> bool:
        return self._text.startswith(("//", "/*", "#"), self._at)

    def _refuse_unexpected(self, expected: str) -> NoReturn:
        if self._at >= len(self._text):
            self._refuse("truncated", f"the text ends where {expected} was expected")
        if self._is_at_comment():
            self._refuse("comment", "JSON has no comments")
        word = _WORD.match(self._text, self._at)
        if word and word.group() in _NOT_NUMBERS:
            self._refuse("not_a_number", f"`{word.group()}` is not a JSON number")
        actual = word.group() if word else self._text[self._at]
        self._refuse("syntax", f"{expected} was expected, not {short_repr(actual)}")


_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})(?:\\u([dD][c-fC-F][0-9a-fA-F]{2}))?|(.))")
_SHORT_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def _unescape(inside: str) -> str:
    """Read the escapes of a string that `_STRING` has accepted."""

    def decode(match: re.Match[str]) -> str:
        high, low, short = match.groups()
        if short is not None:
            return _SHORT_ESCAPES.get(short, short)
        if low is not None:
            return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
        return chr(int(high, 16))

    return _ESCAPE.sub(decode, inside)


_START: Final = re.compile(r'\{[ \t\n\r]*+["}]')


def next_object(text: str, offset: int) -> int | None:
    """Where the next thing that looks like a JSON object starts, from `offset` on."""
    match = _START.search(text, offset)
    return match.start() if match else None


def source_map(text: str) -> dict[str, tuple[int, int]]:
    """Line and column, both from 1, of every member's key and every item, by JSON Pointer; `""` is the value itself.

    The value is the object or array that `loads` would read, or the object that `repair` would take out of `text`.
    Empty when there is none.
    """
    first = text.lstrip(" \t\n\r")[:1]
    start = 0 if first in {"{", "["} else next_object(text, 0)
    if start is None:
        return {}
    offsets: dict[str, int] = {}
    try:
        Scanner(text, start=start, offsets=offsets).value()
    except ParseError:
        return {}
    starts = [0, *(offset + 1 for offset, character in enumerate(text) if character == "\n")]
    return {
        path: (line := bisect_right(starts, offset), offset - starts[line - 1] + 1) for path, offset in offsets.items()
    }
