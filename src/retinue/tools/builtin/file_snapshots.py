"""What one conversation has seen of the files it changes, so that nobody else's work is overwritten unseen."""

from hashlib import sha256
from threading import Lock
from typing import Final

from retinue.errors import InvalidInput

_HINT: Final = "read the file again, then repeat the change with what it says now"


class FileSnapshots:
    """The content, as a hash, that each file had when it was last read or written here. Threads may share it."""

    def __init__(self) -> None:
        self._digests: dict[str, bytes] = {}
        self._lock = Lock()

    def record(self, path: str, data: bytes) -> None:
        """Remember that `path` (relative, resolved) holds `data`."""
        digest = sha256(data).digest()
        with self._lock:
            self._digests[path] = digest

    def contains(self, path: str) -> bool:
        """Whether the file was read or written here."""
        with self._lock:
            return path in self._digests

    def check(self, path: str, data: bytes) -> None:
        """Make sure that a file that was seen still says what it said.

        Raises:
            InvalidInput: It has changed since.
        """
        with self._lock:
            digest = self._digests.get(path)
        if digest is not None and digest != sha256(data).digest():
            raise InvalidInput(f"{path!r} has changed since it was read", hint=_HINT, path="/path")
