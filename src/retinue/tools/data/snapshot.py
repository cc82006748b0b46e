"""A file of the workspace as it stood at one moment, copied to where nobody else writes.

DuckDB opens files by name, and between a check and its opening a name can come to mean another file. So the bytes are
read once, through the fence, and everything afterwards reads the copy. It is unpacked on the way; what the bytes mean
is found out later.
"""

import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final, Literal

from retinue.errors import BudgetExceeded, InvalidInput, Unavailable
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
        changed: When that was changed last, in UTC and without saying so.
        has_grown: Whether that grew at its end in the meantime; the copy ends where the file ended at first.
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
    """Copy the file `name` to `target`, unpacked.

    Raises:
        InvalidInput: It is no regular file, or it is said to be packed and is not, or not to its end.
        AccessDenied: It may not be read.
        MissingFile: It is not there.
        BudgetExceeded: It holds more than `max_bytes`, packed or unpacked.
        Unavailable: It was changed while it was read.
    """
    with workspace.open(name) as file:
        before = os.fstat(file.fileno())
        if before.st_size > max_bytes:
            raise _too_large(name, max_bytes)
        pieces = _pieces(file, before.st_size, check)
        if packing == "gzip":
            pieces = _decompress(pieces, name)
        with target.open("wb", buffering=0) as copy:
            total = 0
            for piece in pieces:
                total += len(piece)
                if total > max_bytes:
                    raise _too_large(name, max_bytes)
                copy.write(piece)
        has_grown = _check_unchanged(file, before, target if packing == "none" else None, name)
    return Snapshot(
        target, name, before.st_size, datetime.fromtimestamp(int(before.st_mtime), UTC).replace(tzinfo=None), has_grown
    )


def _pieces(file: BinaryIO, size: int, check: Callable[[], None]) -> Iterator[bytes]:
    """The first `size` bytes: what is appended meanwhile is not part of the moment."""
    while size > 0 and (piece := file.read(min(CHUNK, size))):
        check()
        size -= len(piece)
        yield piece


def _decompress(pieces: Iterator[bytes], name: str) -> Iterator[bytes]:
    """The content of a gzip file of one or more members, never more than a chunk at once, however far it unfolds."""
    member = zlib.decompressobj(wbits=31)
    try:
        for piece in pieces:
            remaining = piece
            while remaining:
                if member.eof:
                    if not remaining.strip(b"\0"):
                        break  # padding behind the last member is usual
                    member = zlib.decompressobj(wbits=31)
                yield member.decompress(remaining, CHUNK)
                remaining = member.unconsumed_tail or member.unused_data
    except zlib.error as error:
        raise InvalidInput(f"{name!r} is not a gzip file, or is damaged: {error}.", hint="pack it anew") from error
    if not member.eof:
        raise InvalidInput(f"{name!r} ends in the middle of its gzip data.", hint="fetch or pack it anew")


def _check_unchanged(file: BinaryIO, before: os.stat_result, copy: Path | None, name: str) -> bool:
    """Whether the file only grew at its end since `before`; any other change is refused."""
    after = os.fstat(file.fileno())
    if (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns):
        return False
    if copy is not None and after.st_size > before.st_size and _begins_with(file, copy):
        return True
    raise Unavailable(
        f"{name!r} was changed while it was read.", hint="try again when nobody writes to it", retry_after_s=1.0
    )


def _begins_with(file: BinaryIO, copy: Path) -> bool:
    file.seek(0)
    with copy.open("rb", buffering=0) as copy_file:
        while expected := copy_file.read(CHUNK):
            actual = file.read(len(expected))
            if actual != expected:
                return False
    return True


def _too_large(name: str, max_bytes: int) -> BudgetExceeded:
    return BudgetExceeded(
        f"{name!r} holds more than the {max_bytes >> 20} MiB that may be read into memory.",
        hint="name a smaller file, or grant more memory",
        detail={"max_bytes": max_bytes},
    )
