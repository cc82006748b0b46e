"""Keeps what `git log` printed: of given commits it prints the same every time, and a long history takes seconds."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final
from zlib import crc32

from retinue.tools.kept import read_kept, write_kept

__all__ = ["LogCache"]

_HEAD: Final = b"retinue-git-log-1 %08x\n"
_MOST_BYTES: Final = 64 * 1024 * 1024
_MOST_FILES: Final = 64


class LogCache:
    """Outputs of `git log`, a file each; those that were written last stay.

    Args:
        folder: Where they are kept; made when the first one is.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, key: Iterable[object]) -> bytes | None:
        """What was printed for `key`; None when it is not known, or damaged."""
        found = read_kept(self._path(key), most_bytes=_MOST_BYTES)
        body = found[len(_HEAD % 0) :]
        return body if found and found.startswith(_HEAD % crc32(body)) else None

    def keep(self, key: Iterable[object], output: Iterator[bytes]) -> Generator[bytes]:
        """`output` as it comes; kept when it came to its end, and is not too large."""
        size, pieces = 0, list[bytes]()
        for piece in output:
            size += len(piece)
            if size < _MOST_BYTES:
                pieces.append(piece)
            else:
                pieces.clear()
            yield piece
        if size < _MOST_BYTES:
            self._sweep()
            checksum = 0
            for piece in pieces:
                checksum = crc32(piece, checksum)
            write_kept(self._path(key), [_HEAD % checksum, *pieces])

    def _path(self, key: Iterable[object]) -> Path:
        return self._folder / blake2b(repr(tuple(key)).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def _sweep(self) -> None:
        """Make room for one more."""
        with suppress(OSError):
            kept = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime)
            for path in kept[: max(0, len(kept) + 1 - _MOST_FILES)]:
                path.unlink()
