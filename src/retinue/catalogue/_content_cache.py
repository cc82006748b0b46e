"""Keeps what was read of files between runs, by the SHA-256 of their content: a second run parses nothing again.

One file for a tree, replaced whole: any number of processes may use it at once, and the last writer wins. Each line
holds one entry with its own checksum, so that a damaged line costs one file's work and no more.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b, sha256
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import Any, Final, Generic, TypeVar
from zlib import crc32

from retinue.tools.cache_file import read_cache_file, write_cache_file

T = TypeVar("T")

_MAX_BYTES: Final = 128 * 1024 * 1024
_KEY: Final = 64
_START: Final = _KEY + 10


def content_key(kind: str, data: bytes) -> str:
    """What a file is remembered by: its content, and whatever else decides what is read in it."""
    return sha256(kind.encode() + b"\0" + data).hexdigest()


class ContentCache(Generic[T]):
    """What earlier runs left of one tree. Nothing is parsed before it is asked for.

    Args:
        folder: Where caches live, made when first written; None remembers nothing.
        root: The real path of the tree.
        prefix: What the file's name begins with.
        version: Which form the entries have; others count as none.
        decode: Makes an entry of its JSON form; raises `ValueError` or `TypeError` when it is not one.
        encode: Makes the JSON form of an entry; for those that are it already, none is needed.
    """

    def __init__(
        self,
        folder: Path | None,
        root: str,
        *,
        prefix: str,
        version: int,
        decode: Callable[[Any], T],
        encode: Callable[[T], object] | None = None,
    ) -> None:
        tree_digest = blake2b(os.fsencode(root), digest_size=16).hexdigest()
        self.path = None if folder is None else folder / f"{prefix}-{tree_digest}"
        self._head = f"retinue-{prefix}-{version}\n".encode()
        self._decode = decode
        self._encode = encode
        self._lines: dict[str, bytes] = {}
        if self.path is not None:
            head, _, body = read_cache_file(self.path, max_bytes=_MAX_BYTES).partition(b"\n")
            # Entries of another form, or of another cache, count as none.
            lines = body.split(b"\n") if head + b"\n" == self._head else []
            self._lines = {line[:_KEY].decode("ascii", "replace"): line for line in lines if len(line) > _START}

    def get(self, key: str) -> T | None:
        """The entry of the content with this key; None when there is none, or it is damaged."""
        line = self._lines.get(key)
        if line is None:
            return None
        try:
            body = line[_START:]
            if int(line[_KEY + 1 : _START - 1], 16) != crc32(body):
                return None
            return self._decode(json.loads(body))
        except (ValueError, TypeError, RecursionError):
            return None

    def save(self, new: Mapping[str, T], kept_keys: Iterable[str] | None = None) -> str:
        """Keep what is `new` and the `kept_keys`, up to a bound in bytes; gives the reason when that is not possible.

        Args:
            new: Entries by their keys.
            kept_keys: What the tree still has; all that was there when only a part of it was read.
        """
        if self.path is None:
            return ""
        keys = dict.fromkeys(self._lines if kept_keys is None else kept_keys)
        # Nothing was added or dropped: the file stays as it is.
        if not new and len(keys) == len(self._lines):
            return ""
        lines = {key: self._lines[key] for key in keys if key in self._lines}
        for key, entry in new.items():
            data = entry if self._encode is None else self._encode(entry)
            body = json.dumps(data, separators=(",", ":")).encode("ascii")
            lines[key] = b"%b %08x %b" % (key.encode("ascii"), crc32(body), body)
        # As many lines as may be kept.
        sizes = accumulate((len(line) + 1 for line in lines.values()), initial=len(self._head))
        kept_count = sum(size <= _MAX_BYTES for size in sizes) - 1
        return write_cache_file(
            self.path, chain([self._head], (line + b"\n" for line in islice(lines.values(), kept_count)))
        )
