"""Keeps the facts of files between runs, by the SHA-256 of their content, so that a second run reads no syntax again.

One file for a tree, replaced whole: any number of processes may use it at once, and the last writer wins. Each line
holds one entry with its own checksum, so that a damaged line costs one file's work and no more. Only what the tree
still has is kept, up to a bound in bytes.
"""

import json
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from time import time
from typing import Final
from zlib import crc32

from retinue.catalogue.pattern_discovery.facts import VERSION, FileFacts

__all__ = ["Remembered"]

_HEAD: Final = f"retinue-patterns-{VERSION}\n".encode()
_MOST_BYTES: Final = 128 * 1024 * 1024
_KEY: Final = 64
_START: Final = _KEY + 10
_STALE_S: Final = 3600


class Remembered:
    """The facts that earlier runs left of one tree. Nothing is parsed before it is asked for.

    Args:
        folder: Where caches live, made when first written; None remembers nothing.
        root: The real path of the tree.
    """

    def __init__(self, folder: Path | None, root: str) -> None:
        name = blake2b(os.fsencode(root), digest_size=16).hexdigest()
        self.path = None if folder is None else folder / f"patterns-{name}"
        self._lines = self._load()

    def get(self, key: str) -> FileFacts | None:
        """The facts of the content whose SHA-256 is `key`; None when there are none, or they are damaged."""
        line = self._lines.get(key)
        if line is None:
            return None
        try:
            body = line[_START:]
            if int(line[_KEY + 1 : _START - 1], 16) != crc32(body):
                return None
            return FileFacts.from_row(json.loads(body))
        except (ValueError, TypeError, RecursionError):
            return None

    def save(self, new: Mapping[str, FileFacts], used: Iterable[str]) -> str:
        """Keep what is `new` and what was `used`; gives the reason when that is not possible."""
        if self.path is None:
            return ""
        wanted = dict.fromkeys(used)
        if not new and len(wanted) == len(self._lines):
            return ""
        lines = {key: self._lines[key] for key in wanted if key in self._lines}
        lines |= {key: _line(key, facts) for key, facts in new.items()}
        try:
            self._replace(lines)
        except OSError as error:
            return f"what was read could not be kept in {str(self.path)!r}: {error.strerror}"
        return ""

    def _load(self) -> dict[str, bytes]:
        if self.path is None:
            return {}
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
            with os.fdopen(descriptor, "rb") as file:
                found = os.fstat(descriptor)
                if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_size > _MOST_BYTES:
                    return {}
                head, _, body = file.read().partition(b"\n")
        except OSError:
            return {}
        if head + b"\n" != _HEAD:
            return {}
        return {line[:_KEY].decode("ascii", "replace"): line for line in body.split(b"\n") if len(line) > _START}

    def _replace(self, lines: Mapping[str, bytes]) -> None:
        if self.path is None:
            return
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._sweep(self.path)
        temporary = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
        temporary.unlink(missing_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(_HEAD)
                left = _MOST_BYTES - len(_HEAD)
                for line in lines.values():
                    left -= len(line) + 1
                    if left < 0:
                        break
                    file.write(line + b"\n")
            temporary.replace(self.path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def _sweep(self, path: Path) -> None:
        """Delete what a killed process left half-written."""
        for left in path.parent.glob(f"{path.name}.*.tmp"):
            with suppress(OSError):
                if left.stat().st_mtime < time() - _STALE_S:
                    left.unlink()


def _line(key: str, facts: FileFacts) -> bytes:
    body = json.dumps(facts, separators=(",", ":")).encode("ascii")
    return b"%b %08x %b" % (key.encode("ascii"), crc32(body), body)
