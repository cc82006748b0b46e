"""What is true of a file that somebody says to have made. It is read to be measured; nothing of it is told."""

import os
from dataclasses import dataclass
from typing import BinaryIO

from retinue.tools import paths
from retinue.tools.encoding import is_binary

MAX_HASHED = 256 * 2**20
"""Bytes: what a larger file holds is not read, since a sparse one of any size costs its maker nothing."""

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class ArtifactFacts:
    """What is true of a file that an agent says it made: `path` from the root, `size` in bytes, and what it is.

    Attributes:
        sha256: None for a file that is too large to be read for it.
    """

    path: str
    size: int
    sha256: str | None
    media_type: str


def measure(file: BinaryIO, path: str, *, max_hashed: int = MAX_HASHED) -> ArtifactFacts:
    """The facts of an open file. One of more than `max_hashed` bytes is not read to its end."""
    from hashlib import sha256  # noqa: PLC0415 - only artifacts need it; it costs the quick path 2 ms

    head = chunk = file.read(_CHUNK)
    kind = paths.media_type(path, is_text=not is_binary(head))
    digest, size = sha256(), 0
    while chunk:
        size += len(chunk)
        if size > max_hashed:
            return ArtifactFacts(path, os.fstat(file.fileno()).st_size, None, kind)
        digest.update(chunk)
        chunk = file.read(_CHUNK)
    return ArtifactFacts(path, size, digest.hexdigest(), kind)
