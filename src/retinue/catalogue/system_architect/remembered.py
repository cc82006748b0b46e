"""Keeps what was read of a tree between runs: structures by the SHA-256 of their files, churn by the commit.

One JSON file for a tree, replaced whole; the last writer wins. A damaged or foreign one counts as none.
"""

import json
import os
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any, Final

from retinue.tools.kept import read_kept, write_kept
from retinue.tools.structure import Structure

__all__ = ["Remembered", "key_of"]

_FORMAT: Final = 1
_MOST_BYTES: Final = 64 * 1024 * 1024


def key_of(path: str, data: bytes) -> str:
    """What a file's structure is remembered by: its content, and the suffix that says how it is read."""
    return sha256(path.rpartition(".")[2].encode() + b"\0" + data).hexdigest()


class Remembered:
    """What earlier runs left of one tree.

    Args:
        folder: Where caches live, made when first written; None remembers nothing.
        root: The real path of the tree.
    """

    def __init__(self, folder: Path | None, root: str) -> None:
        name = blake2b(os.fsencode(root), digest_size=16).hexdigest()
        self._path = None if folder is None else folder / f"structure-{name}.json"
        known = self._load()
        self._files: dict[str, Any] = known.get("files", {})
        self._churn: dict[str, Any] = known.get("churn", {})
        self._used: dict[str, Any] = {}
        self._is_new = False

    def structure(self, key: str) -> Structure | None:
        """The structure of the file with this key; None when there is none, or it is damaged."""
        row = self._files.get(key)
        if row is None:
            return None
        try:
            found = Structure.from_row(row)
        except (TypeError, ValueError):
            return None
        self._used[key] = row
        return found

    def keep(self, key: str, structure: Structure) -> None:
        """Remember a structure."""
        self._used[key] = structure
        self._is_new = True

    def churn(self, key: str) -> dict[str, tuple[int, int]] | None:
        """How often files were changed, and in how many lines; None when that is not known."""
        try:
            return {str(path): (int(one), int(two)) for path, (one, two) in self._churn[key].items()}
        except (AttributeError, KeyError, TypeError, ValueError):
            return None

    def keep_churn(self, key: str, churn: dict[str, tuple[int, int]]) -> None:
        """Remember how often files were changed; only the last such answer is kept."""
        self._churn = {key: churn}
        self._is_new = True

    def save(self) -> str:
        """Write what was used; gives the reason when that is not possible."""
        if self._path is None or not (self._is_new or len(self._used) != len(self._files)):
            return ""
        known = {"format": _FORMAT, "files": self._used, "churn": self._churn}
        text = json.dumps(known, separators=(",", ":")).encode("ascii")
        if len(text) > _MOST_BYTES:
            return "what was read is too much to be kept"
        return write_kept(self._path, (text,))

    def _load(self) -> dict[str, Any]:
        if self._path is None:
            return {}
        try:
            known: Any = json.loads(read_kept(self._path, most_bytes=_MOST_BYTES))
        except (ValueError, RecursionError):
            return {}
        if not isinstance(known, dict):
            return {}
        said: dict[str, Any] = {str(name): value for name, value in known.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
        parts = (said.get("files"), said.get("churn"))
        return said if said.get("format") == _FORMAT and all(isinstance(one, dict) for one in parts) else {}
