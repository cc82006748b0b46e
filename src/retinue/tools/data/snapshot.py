"""A file of the workspace as it stood at one moment, copied to where no other program writes.

DuckDB opens files by name, and between a check and its opening a name can come to mean another file. So the bytes are
read once, through the fence, and everything afterwards reads the copy. It is unpacked on the way; what the bytes mean
is found out later.
"""

# ruff: noqa: S608
# SQL is put together here from our own words, from names that `identifier` quotes and values that `literal` quotes

import codecs
import gzip
import os
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Final, Literal

from retinue.errors import BudgetExceeded, InvalidInput, Unavailable
from retinue.tools.data.connection import DuckdbConnection
from retinue.tools.data.sources import SkippedLine, identifier
from retinue.tools.encoding import encoding_of
from retinue.tools.workspace import Workspace

CHUNK: Final = 1 << 20
"""How many bytes are read at once; between two reads the caller's check is asked."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The copy.

    Attributes:
        path: Where it lies.
        name: The file it was taken from.
        size: How many bytes that file had.
        changed: When that was last changed, as a naive time in UTC.
        has_grown: Whether it grew at its end in the meantime; the copy ends where the file first ended.
    """

    path: Path
    name: str
    size: int
    changed: datetime
    has_grown: bool

    def chunks(self, check: Callable[[], None]) -> Iterator[bytes]:
        """Its bytes, piece by piece."""
        with self.path.open("rb", buffering=0) as file:
            while chunk := file.read(CHUNK):
                check()
                yield chunk


def take_snapshot(
    workspace: Workspace,
    name: str,
    target: Path,
    *,
    packing: Literal["none", "gzip"],
    max_bytes: int,
    check: Callable[[], None],
) -> Snapshot:
    """Copy the file `name` to `target`, unpacked."""
    with workspace.open(name) as file:
        # Of what was opened, not of the name, which may mean another file by now.
        before = os.fstat(file.fileno())
        total = before.st_size if before.st_size > max_bytes else 0
        # What is appended meanwhile is not part of the moment.
        source = file if packing == "none" else gzip.GzipFile(fileobj=file, mode="rb")
        remaining = before.st_size
        with target.open("wb", buffering=0) as copy:
            try:
                while total <= max_bytes and (
                    piece := source.read(CHUNK if packing == "gzip" else min(CHUNK, remaining))
                ):
                    check()
                    total += len(piece)
                    remaining -= len(piece)
                    copy.write(piece)
            except EOFError as error:
                message = f"{name!r} ends in the middle of its gzip data."
                raise InvalidInput(message, hint="download or pack it again") from error
            except (gzip.BadGzipFile, zlib.error) as error:
                message = f"{name!r} is not a gzip file, or is damaged: {error}."
                raise InvalidInput(message, hint="pack it again") from error
        if total > max_bytes:
            raise BudgetExceeded(
                f"{name!r} holds more than the {max_bytes >> 20} MiB that may be read into memory.",
                hint="name a smaller file, or grant more memory",
                detail={"max_bytes": max_bytes},
            )
        after = os.fstat(file.fileno())
        has_grown = (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns)
        # Only growth at its end leaves the copy true to one moment.
        is_same = not has_grown
        if has_grown and packing == "none" and after.st_size > before.st_size:
            file.seek(0)
            with target.open("rb", buffering=0) as copy:
                is_same = all(file.read(len(piece)) == piece for piece in iter(lambda: copy.read(CHUNK), b""))
        if not is_same:
            raise Unavailable(
                f"{name!r} was changed while it was read.",
                hint="try again when it is not being written",
                retry_after_s=1.0,
            )
    changed = datetime.fromtimestamp(int(before.st_mtime), UTC).replace(tzinfo=None)
    return Snapshot(target, name, before.st_size, changed, has_grown)


_SNIFF_BYTES: Final = 8192
_LEAST_TEXT: Final = 0.98
# The controls that no text holds: all but tab, line ends, bell, backspace, form feed and escape.
_NO_TEXT: Final = bytes({*range(32)} - {*range(7, 14), 27})


class SnapshotText:
    """The text of `snapshot`. `encoding` and `notes` are complete once it has been read to its end.

    Raises:
        InvalidInput: It is empty, or not text.
    """

    def __init__(self, snapshot: Snapshot, *, check: Callable[[], None]) -> None:
        self._snapshot = snapshot
        self._check = check
        self._nuls = 0
        self._latin_lines = 0
        self._utf8_lines = 0
        head = next(self._snapshot.chunks(check), b"")[:_SNIFF_BYTES]
        self._bom_encoding = encoding_of(head)
        if not head:
            raise InvalidInput(f"{snapshot.name!r} is empty.", hint="name a file with data in it")
        if self._bom_encoding is None and len(head.translate(None, _NO_TEXT)) < len(head) * _LEAST_TEXT:
            raise InvalidInput(f"{snapshot.name!r} is a binary file.", hint="name a text file, or a Parquet file")
        self._ends_in_carriage_returns = b"\r" in head and b"\n" not in head

    @property
    def encoding(self) -> str:
        """How it was read: a codec of the standard library, or two where lines differ."""
        if not self._latin_lines:
            return self._bom_encoding or "utf-8"
        return "utf-8, latin-1" if self._utf8_lines else "latin-1"

    @property
    def notes(self) -> tuple[str, ...]:
        """What was odd about it."""
        notes: list[str] = []
        if self._latin_lines:
            notes.append(f"Lines that are not UTF-8 and were read as Latin-1: {self._latin_lines:,}.")
        if self._nuls:
            notes.append(f"NUL characters, read as `\N{REPLACEMENT CHARACTER}`: {self._nuls:,}.")
        if self._snapshot.has_grown:
            notes.append("The file grew while it was read; it counts as it stood when it was opened.")
        return tuple(notes)

    def pieces(self) -> Iterator[str]:
        """The text, each piece a number of whole lines; only the last may lack its line end."""
        chunks = self._snapshot.chunks(self._check)
        if self._bom_encoding not in (None, "utf-8-sig"):
            decoder = codecs.getincrementaldecoder(self._bom_encoding)(errors="replace")
            chunks = (decoder.decode(chunk).encode("utf-8") for chunk in chunks)
        elif self._bom_encoding:
            chunks = chain([next(chunks).removeprefix(codecs.BOM_UTF8)], chunks)
        parts: list[bytes] = []
        for chunk in chunks:
            lines = chunk.replace(b"\r", b"\n") if self._ends_in_carriage_returns else chunk
            end = lines.rfind(b"\n") + 1
            if end:
                yield self._decode(b"".join((*parts, lines[:end])))
                parts = []
            parts.append(lines[end:])
        if rest := b"".join(parts):
            yield self._decode(rest)

    def file(self, other: Path) -> Path:
        """A file that holds the text as UTF-8 with LF: the snapshot itself where it does, else `other`, written now."""
        if self._bom_encoding is None:
            decoder = codecs.getincrementaldecoder("utf-8")()
            try:
                for chunk in self._snapshot.chunks(self._check):
                    if b"\r" in chunk or b"\0" in chunk:
                        break
                    if not chunk.isascii() or decoder.getstate()[0]:
                        decoder.decode(chunk)
                else:
                    decoder.decode(b"", final=True)
                    return self._snapshot.path
            except UnicodeDecodeError:
                pass
        with other.open("w", encoding="utf-8", newline="") as copy:
            for piece in self.pieces():
                copy.write(piece)
        return other

    def _decode(self, lines: bytes) -> str:
        try:
            text = lines.decode("utf-8")
        except UnicodeDecodeError:
            decoded: list[str] = []
            for line in lines.splitlines(keepends=True):
                try:
                    decoded.append(line.decode("utf-8"))
                    self._utf8_lines += not line.isascii()
                except UnicodeDecodeError:
                    decoded.append(line.decode("latin-1"))
                    self._latin_lines += 1
            text = "".join(decoded)
        if "\r" in text:
            text = text.replace("\r\n", "\n")
        if "\0" in text:
            self._nuls += text.count("\0")
            text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
        return text


SKIPPED_SHOWN: Final = 20
_CLIP_LENGTH: Final = 200

BLANK: Final = r"(text < '!' AND regexp_full_match(text, '\s*'))"
"""The SQL of whether a line is empty or white space; nearly all lines are told by their first character."""


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What the reader of one kind of file knows beside the table; see `DataSource`."""

    encoding: str
    notes: tuple[str, ...] = ()
    skipped: tuple[SkippedLine, ...] = ()
    skipped_total: int = 0


@contextmanager
def table_of_lines(connection: DuckdbConnection, text: SnapshotText) -> Generator[str]:
    """A table, for now, of the `line` (from 1) and `text` (without its end) of each line; gives its SQL name."""
    name = identifier("lines of the file")
    connection.run(f"CREATE TABLE {name} (line BIGINT, text VARCHAR)")
    count = 0
    for piece in text.pieces():
        whole = piece.removesuffix("\n")
        connection.run(
            f"INSERT INTO {name} SELECT ? + row_number() OVER (), text"
            " FROM (SELECT unnest(string_split(?, chr(10))) AS text)",
            (count, whole),
        )
        count += whole.count("\n") + 1
    try:
        yield name
    finally:
        connection.run(f"DROP TABLE IF EXISTS {name}")


def skipped_lines(
    connection: DuckdbConnection, table: str, *, where: str, reason: str
) -> tuple[tuple[SkippedLine, ...], int]:
    """The first lines of a table of lines that meet a condition in SQL, and how many do."""
    (total,) = connection.fetch_one(f"SELECT count(*) FROM {table} WHERE {where}")
    rows = (
        connection.run(
            f"SELECT line, left(text, {_CLIP_LENGTH + 1}) FROM {table} "
            f"WHERE {where} ORDER BY line LIMIT {SKIPPED_SHOWN}"
        )
        if total
        else []
    )
    return tuple(SkippedLine(line, reason, clip(text)) for line, text in rows), total


def clip(text: str) -> str:
    """`text`, or its first 200 characters."""
    return text if len(text) <= _CLIP_LENGTH else text[: _CLIP_LENGTH - 1] + "…"
