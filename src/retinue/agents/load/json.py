"""Tool-use definitions in JSON (A4): one object, or an array of them."""

import json
from bisect import bisect_right
from functools import partial
from typing import Final

from retinue.contract import json as strict
from retinue.contract.finding import Finding
from retinue.contract.json import pointer
from retinue.errors import ParseError

from .definition import read_definition
from .document import MAX_BYTES, Document, Place, decode, finding_of
from .loaded import Loaded
from .prompted import Prompted

__all__ = ["MAX_ENTRIES", "load_json", "read_json"]

MAX_ENTRIES: Final = 1_000
"""Most definitions in one file."""

_MAX_DEPTH: Final = 64
"""A definition holds JSON Schemas, which nest deeper than front matter but not without end."""


def load_json(data: bytes, *, file: str) -> Loaded:
    """Read the definitions in `data`. What is wrong becomes findings; a definition with an error is left out (A4, A6).

    Args:
        data: The content of the file.
        file: What findings and the definitions' `source` call it.
    """
    try:
        document = read_json(data, file=file)
    except ParseError as error:
        return Loaded(findings=(finding_of(error, file=file),))
    value = document.value
    findings = list[Finding]()
    entries = value if isinstance(value, list) else [value]
    if len(entries) > MAX_ENTRIES:
        message = f"The array has {len(entries)} entries; {MAX_ENTRIES} are allowed."
        return Loaded(findings=(document.finding("load/too-many", message, fix="Split the file."),))
    if not entries:
        findings.append(document.finding("load/none", "The array is empty.", fix="Put a definition into it."))
    definitions = [
        read_definition(document, entry, path=pointer([position]) if isinstance(value, list) else "", findings=findings)
        for position, entry in enumerate(entries)
    ]
    agents = tuple(Prompted(definition) for definition in definitions if definition)
    return Loaded(agents=agents, findings=tuple(findings))


def read_json(data: bytes, *, file: str) -> Document:
    """Read one JSON text.

    Raises:
        ParseError: It is no strict JSON; `detail` has line and column.
    """
    text = decode(data)
    value = strict.loads(text, max_bytes=MAX_BYTES, max_depth=_MAX_DEPTH)
    return Document(file=file, value=value, locate=partial(_places, text))


# Places. Only wanted once something is wrong, so they are found by a second walk over a text known to be good.


class _Walk:
    """One walk over a strict JSON text that notes the offset of every member's key and every item."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._path: list[str | int] = []
        self._decoder = json.JSONDecoder()
        self.offsets: dict[str, int] = {}

    def value(self) -> None:
        """Walk over the value that comes next; its depth was capped by the strict reader."""
        opening = self._next()
        if opening not in "{[":
            _, self._at = self._decoder.raw_decode(self._text, self._at)
            return
        self._at += 1
        count = 0
        while self._next() not in "}]":
            here = self._at
            self._path.append(self._key() if opening == "{" else count)
            self.offsets[pointer(self._path)] = here
            self.value()
            self._path.pop()
            count += 1
            if self._next() == ",":
                self._at += 1
        self._at += 1

    def _key(self) -> str:
        key, self._at = self._decoder.raw_decode(self._text, self._at)
        self._next()
        self._at += 1  # the colon
        return str(key)

    def _next(self) -> str:
        """Skip white space and look at the next character."""
        while self._text[self._at] in " \t\n\r":
            self._at += 1
        return self._text[self._at]


def _places(text: str) -> dict[str, Place]:
    walk = _Walk(text)
    walk.value()
    starts = [0, *(offset + 1 for offset, character in enumerate(text) if character == "\n")]
    lines = {path: bisect_right(starts, offset) for path, offset in walk.offsets.items()}
    return {path: (line, walk.offsets[path] - starts[line - 1] + 1) for path, line in lines.items()}
