"""Where each part of a JSON text stands, for findings that know only its JSON Pointer.

A second walk over a text that was read already, made when there is something to say about it.
"""

import json
from bisect import bisect_right

from ._repair import next_object
from ._value import pointer


def source_map(text: str) -> dict[str, tuple[int, int]]:
    """Line and column, both from 1, of every member's key and every item, by JSON Pointer; `""` is the value itself.

    The value is the object or array that `loads` would read, or the object that `repair` would take out of `text`.
    Empty when there is none.
    """
    first = text.lstrip(" \t\n\r")[:1]
    start = 0 if first in {"{", "["} else next_object(text, 0)
    if start is None:
        return {}
    scanner = _OffsetScanner(text, start)
    try:
        scanner.value()
    except (IndexError, RecursionError, ValueError):
        return {}
    starts = [0, *(offset + 1 for offset, character in enumerate(text) if character == "\n")]
    return {path: _position(starts, offset) for path, offset in scanner.offsets.items()}


def _position(starts: list[int], offset: int) -> tuple[int, int]:
    line = bisect_right(starts, offset)
    return line, offset - starts[line - 1] + 1


class _OffsetScanner:
    """One walk over a strict JSON value that notes the offset of every member's key and every item."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self._at = at
        self._path: list[str | int] = []
        self._decoder = json.JSONDecoder()
        self._peek()
        self.offsets: dict[str, int] = {"": self._at}

    def value(self) -> None:
        """Walk over the value that comes next."""
        opening = self._peek()
        if opening not in "{[":
            _, self._at = self._decoder.raw_decode(self._text, self._at)
            return
        self._at += 1
        count = 0
        while self._peek() not in "}]":
            here = self._at
            self._path.append(self._key() if opening == "{" else count)
            self.offsets[pointer(self._path)] = here
            self.value()
            self._path.pop()
            count += 1
            if self._peek() == ",":
                self._at += 1
        self._at += 1

    def _key(self) -> str:
        key, self._at = self._decoder.raw_decode(self._text, self._at)
        self._peek()
        self._at += 1  # the colon
        return str(key)

    def _peek(self) -> str:
        """Skip white space and look at the next character."""
        while self._text[self._at] in " \t\n\r":
            self._at += 1
        return self._text[self._at]
