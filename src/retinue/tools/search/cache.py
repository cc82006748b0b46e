"""Keeps what is known of a tree's files between runs, in one file that is replaced whole.

Replacing makes it safe for any number of processes at once: each reads one complete version and the last writer wins.
A file that is damaged, of another version, of another tree or of another user is not believed: it is rebuilt. It holds
no text, only which terms (as 32-bit checksums) a file has.
"""

import json
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Final, TypeAlias
from zlib import crc32

if TYPE_CHECKING:
    from array import array

__all__ = ["CacheFile", "Known", "Terms", "digest_of"]

_MAGIC: Final = b"retinue-terms-1\n"
_HEAD: Final = len(_MAGIC) + 12
_STALE_S: Final = 3600

Terms: TypeAlias = "array[int] | memoryview[int]"
"""Sorted 32-bit checksums: an `array` of them, or a window on those of all files."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one file.

    Attributes:
        size: Its size when it was read.
        mtime_ns: When it had changed last, or 0 when that was too shortly before to trust its age.
        digest: Of its content.
        terms: The checksums of its distinct terms, sorted.
        reason: Why it is not searched; empty when it is.
    """

    size: int
    mtime_ns: int
    digest: str
    terms: Terms
    reason: str = ""


def digest_of(data: bytes) -> str:
    """What tells one content from another."""
    return blake2b(data, digest_size=16).hexdigest()


class CacheFile:
    """The cache of one tree.

    Args:
        folder: Where caches live; made when it is first written.
        root: The real path of the tree.
    """

    def __init__(self, folder: Path, root: str) -> None:
        self._folder = folder
        self._root = root
        self.path = folder / f"terms-{digest_of(os.fsencode(root))}"

    def load(self) -> tuple[dict[str, Known], str]:
        """What was known, and why it cannot be used when it cannot; the unusable file is deleted."""
        try:
            data = self._read()
        except FileNotFoundError:
            return {}, ""
        except OSError as error:
            return {}, f"the search cache {str(self.path)!r} cannot be read: {error.strerror}"
        try:
            return self._decoded(data), ""
        except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
            with suppress(OSError):
                self.path.unlink()
            return {}, f"the search cache {str(self.path)!r} was not usable and is built anew: {error}"

    def save(self, known: Mapping[str, Known]) -> str:
        """Replace the cache; gives the reason when that is not possible, which costs only time in the next run."""
        temporary = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._sweep()
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.writelines(self._encoded(known))
                temporary.replace(self.path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        except OSError as error:
            return f"the search cache {str(self.path)!r} cannot be written: {error.strerror}"
        return ""

    def _read(self) -> bytes:
        descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                return b""
            return file.read()

    def _encoded(self, known: Mapping[str, Known]) -> "Iterable[bytes | memoryview[int]]":
        rows = [
            [path, file.size, file.mtime_ns, file.digest, file.reason, len(file.terms)] for path, file in known.items()
        ]
        facts = json.dumps({"root": self._root, "files": rows}).encode("utf-8", "surrogatepass")
        body = [facts, b" " * (-len(facts) % 4), *(memoryview(file.terms).cast("B") for file in known.values())]
        check = 0
        for piece in body:
            check = crc32(piece, check)
        yield _MAGIC
        yield (len(facts) + len(body[1])).to_bytes(8, "little") + check.to_bytes(4, "little")
        yield from body

    def _decoded(self, data: bytes) -> dict[str, Known]:
        if data[: len(_MAGIC)] != _MAGIC:
            raise ValueError("it is not ours, or of another version")
        body = memoryview(data)[_HEAD:]
        width = int.from_bytes(data[len(_MAGIC) : _HEAD - 4], "little")
        if crc32(body) != int.from_bytes(data[_HEAD - 4 : _HEAD], "little"):
            raise ValueError("it is damaged")
        facts = json.loads(bytes(body[:width]))
        if facts["root"] != self._root:
            raise ValueError("it belongs to another tree")
        # Every file's terms are a window on the one block of bytes: nothing is copied.
        terms = body[width:].cast("I")
        known: dict[str, Known] = {}
        at = 0
        for path, size, mtime_ns, digest, reason, count in facts["files"]:
            known[path] = Known(size, mtime_ns, digest, terms[at : at + count], reason)
            at += count
        return known

    def _sweep(self) -> None:
        """Delete what a killed process left half-written."""
        for left in self._folder.glob(f"{self.path.name}.*.tmp"):
            with suppress(OSError):
                if left.stat().st_mtime < time() - _STALE_S:
                    left.unlink()
