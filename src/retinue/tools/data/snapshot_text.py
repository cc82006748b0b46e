"""The text of a snapshot: in which encoding it stands, and its lines, in whole pieces or as a table with their numbers.

Lines end at LF or CRLF (at CR in a file that has no other line end) and come out with LF. What is neither UTF-8 nor
marked as UTF-16 or UTF-32 is read line by line, so that a file which several programs wrote keeps its good lines; the
others are read as Latin-1, and counted. JSON lines and logs are read from the table; what any reader hands back is
`LoadResult`.
"""

# ruff: noqa: S608
# SQL is put together here from our own words, from names that `identifier` quotes and values that `literal` quotes

import codecs
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from retinue.errors import InvalidInput
from retinue.tools.data.connection import DuckdbConnection
from retinue.tools.data.snapshot import Snapshot
from retinue.tools.data.sources import SkippedLine, identifier
from retinue.tools.encoding import encoding_of

_SNIFF_BYTES: Final = 8192
_LEAST_TEXT: Final = 0.98
# The controls that no text holds: all but tab, line ends, bell, backspace, form feed and escape.
_NO_TEXT: Final = bytes({*range(32)} - {*range(7, 14), 27})


class SnapshotText:
    """The text of `snapshot`. `encoding` and `notes` are complete once it has been read to its end.

    Raises:
        InvalidInput: It is empty, or no text.
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
        parts: list[bytes] = []
        for chunk in self._utf8_chunks():
            end = chunk.rfind(b"\n") + 1
            if not end:
                parts.append(chunk)
                continue
            yield self._decode(b"".join((*parts, chunk[:end])))
            parts = [chunk[end:]]
        if rest := b"".join(parts):
            yield self._decode(rest)

    def file(self, other: Path) -> Path:
        """A file that holds the text as UTF-8 with LF: the snapshot itself where it does, else `other`, written now."""
        if self._is_utf8_lf():
            return self._snapshot.path
        with other.open("w", encoding="utf-8", newline="") as copy:
            for piece in self.pieces():
                copy.write(piece)
        return other

    def _is_utf8_lf(self) -> bool:
        if self._bom_encoding is not None:
            return False
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            for chunk in self._snapshot.chunks(self._check):
                if b"\r" in chunk or b"\0" in chunk:
                    return False
                if not chunk.isascii() or decoder.getstate()[0]:
                    decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
        return True

    def _utf8_chunks(self) -> Iterator[bytes]:
        """The bytes as UTF-8 without a mark, as far as they claim to be text of one encoding."""
        chunks = self._snapshot.chunks(self._check)
        if self._bom_encoding not in (None, "utf-8-sig"):
            decoder = codecs.getincrementaldecoder(self._bom_encoding)(errors="replace")
            chunks = (decoder.decode(chunk).encode("utf-8") for chunk in chunks)
        elif self._bom_encoding:
            first = next(chunks)
            yield first.removeprefix(codecs.BOM_UTF8)
        if self._ends_in_carriage_returns:
            chunks = (chunk.replace(b"\r", b"\n") for chunk in chunks)
        yield from chunks

    def _decode(self, lines: bytes) -> str:
        try:
            text = lines.decode("utf-8")
        except UnicodeDecodeError:
            text = "".join(self._decode_line(line) for line in lines.splitlines(keepends=True))
        if "\r" in text:
            text = text.replace("\r\n", "\n")
        if "\0" in text:
            self._nuls += text.count("\0")
            text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
        return text

    def _decode_line(self, line: bytes) -> str:
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            self._latin_lines += 1
            return line.decode("latin-1")
        self._utf8_lines += not line.isascii()
        return text


SKIPPED_SHOWN: Final = 20
_CLIP_LENGTH: Final = 200

BLANK: Final = r"(text < '!' AND regexp_full_match(text, '\s*'))"
"""The SQL of whether a line is empty or white space; nearly all lines are told by their first character."""


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What the reader of one kind of file knows of it beside the table; see `Source`."""

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
