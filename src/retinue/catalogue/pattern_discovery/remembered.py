"""Keeps the facts of files between runs, by the SHA-256 of their content, so that a second run reads no syntax again.

One file for a tree, replaced whole: any number of processes may use it at once, and the last writer wins. Each line
holds one entry with its own checksum, so that a damaged line costs one file's work and no more. Only what the tree
still has is kept, up to a bound in bytes.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Final
from zlib import crc32

from retinue.catalogue._kept import read_kept, write_kept
from retinue.catalogue.pattern_discovery.facts import VERSION, FileFacts

__all__ = ["Remembered"]

_HEAD: Final = f"retinue-patterns-{VERSION}\n".encode()
_MOST_BYTES: Final = 128 * 1024 * 1024
_KEY: Final = 64
_START: Final = _KEY + 10


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
        return write_kept(self.path, _bounded(lines))

    def _load(self) -> dict[str, bytes]:
        if self.path is None:
            return {}
        head, _, body = read_kept(self.path, most_bytes=_MOST_BYTES).partition(b"\n")
        if head + b"\n" != _HEAD:
            return {}
        return {line[:_KEY].decode("ascii", "replace"): line for line in body.split(b"\n") if len(line) > _START}


def _bounded(lines: Mapping[str, bytes]) -> Iterator[bytes]:
    """The head and as many lines as may be kept."""
    yield _HEAD
    left = _MOST_BYTES - len(_HEAD)
    for line in lines.values():
        left -= len(line) + 1
        if left < 0:
            return
        yield line + b"\n"


def _line(key: str, facts: FileFacts) -> bytes:
    body = json.dumps(facts, separators=(",", ":")).encode("ascii")
    return b"%b %08x %b" % (key.encode("ascii"), crc32(body), body)
