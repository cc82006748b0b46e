"""A definition file as it was read: its text, its value, and where in the file each part stands.

Reads bytes from disk with a cap and nothing else; what the value means is the business of `definition_keys`.
"""

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Final, TypeAlias

from retinue.contract import json
from retinue.contract.finding import Finding, Severity
from retinue.contract.json import JsonValue
from retinue.errors import AccessDenied, MissingFile, ParseError, RetinueError

MAX_BYTES: Final = 2**20
"""Longest definition file, in bytes."""

LineColumn: TypeAlias = tuple[int, int]
"""Line and column, both from 1."""


@dataclass(frozen=True)
class Document:
    """One value with its places.

    Attributes:
        file: What findings call the file.
        locate: Finds the places, by JSON Pointer; called only when something has to be said.
    """

    file: str
    value: JsonValue
    locate: Callable[[], Mapping[str, LineColumn]]

    @cached_property
    def positions(self) -> Mapping[str, LineColumn]:
        """The place of every member and item, by JSON Pointer."""
        return self.locate()

    def position(self, path: str) -> LineColumn:
        """Where `path` stands; where its nearest parent stands, when it is not there."""
        while path not in self.positions and path:
            path = path.rpartition("/")[0]
        return self.positions.get(path, (1, 1))

    def finding(
        self, rule: str, message: str, *, path: str = "", severity: Severity | None = None, fix: str = ""
    ) -> Finding:
        """Say something about the place at `path`, as severe as the rule is when nothing else is said."""
        # The table of rules takes its time to load, and most files give no finding.
        from retinue.contract.lint.rules import make_finding  # noqa: PLC0415

        line, column = self.position(path)
        return make_finding(rule, path, message, fix, severity=severity, file=self.file, line=line, column=column)


def parse_error(message: str, *, line: int = 1, column: int = 1, hint: str) -> ParseError:
    """The error for a text that cannot be read beyond a place."""
    return ParseError(message, hint=hint, detail={"line": line, "column": column})


def finding_of(error: RetinueError, *, file: str) -> Finding:
    """What `error` says, as a finding; its place is the one in `detail`."""
    return Finding(
        rule=f"load/{error.code.replace('_', '-')}",
        message=error.message,
        path=error.path if isinstance(error, ParseError) else "",
        file=file,
        line=error.detail.get("line"),
        column=error.detail.get("column"),
        fix=error.hint,
    )


def read_bytes(path: Path, *, max_bytes: int = MAX_BYTES) -> bytes:
    """Read a regular file, at most `max_bytes` of it.

    Raises:
        MissingFile: There is none.
        AccessDenied: It may not be read, or it is no regular file (a pipe would wait for ever).
        ParseError: It is larger.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFile(f"There is no file {str(path)!r}.", hint="Check the path.") from None
    except (OSError, ValueError) as error:
        raise AccessDenied(f"{str(path)!r} cannot be opened: {error}.", hint="Check its permissions.") from None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise AccessDenied(f"{str(path)!r} is not a regular file.", hint="Point at a file.")
        # Bounded by what is read and not by what the status says: a file may grow meanwhile, and some have no size.
        with open(handle, "rb", closefd=False) as file:
            data = file.read(max_bytes + 1)
    finally:
        os.close(handle)
    if len(data) > max_bytes:
        raise parse_error(
            f"The file has {max(status.st_size, len(data)):,} bytes; {max_bytes:,} are allowed.",
            hint="Move what is not a definition elsewhere.",
        )
    return data


def decode(data: bytes) -> str:
    """Read `data` as UTF-8 text; a byte order mark in front is dropped.

    Raises:
        ParseError: It is empty, too large, not UTF-8, or holds a NUL; `detail` has line and column.
    """
    if len(data) > MAX_BYTES:
        raise parse_error(f"The text has {len(data):,} bytes; {MAX_BYTES:,} are allowed.", hint="Split the file.")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise parse_error("The text is UTF-16 or UTF-32, not UTF-8.", hint="Save the file as UTF-8.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line, column = _end_position(data[: error.start].decode("utf-8"))
        problem = f"The byte 0x{data[error.start]:02x} is not UTF-8"
        raise parse_error(
            f"{problem} on line {line}, column {column}.", line=line, column=column, hint="Save the file as UTF-8."
        ) from None
    text = text.removeprefix("\ufeff")
    if "\0" in text:
        line, column = _end_position(text[: text.index("\0")])
        raise parse_error(
            f"A NUL stands on line {line}, column {column}.", line=line, column=column, hint="Save it as plain text."
        )
    if not text or text.isspace():
        raise parse_error("The file is empty.", hint="Write a definition into it, or delete it.")
    return text


def _end_position(text: str) -> LineColumn:
    """The place just after `text`."""
    return text.count("\n") + 1, len(text) - text.rfind("\n")


_MAX_DEPTH: Final = 64
"""A definition holds JSON Schemas, which nest deeper than front matter but not without end."""


def read_json(data: bytes, *, file: str) -> Document:
    """Read one JSON text.

    Raises:
        ParseError: It is no strict JSON; `detail` has line and column.
    """
    text = decode(data)
    value = json.loads(text, max_bytes=MAX_BYTES, max_depth=_MAX_DEPTH)
    return Document(file=file, value=value, locate=partial(json.source_map, text))
