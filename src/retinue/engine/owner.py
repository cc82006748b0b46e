"""Who works on a run, and whether they are still alive, told by file locks.

Each owner holds a lock on a file of its own; the system lets go of it when the process dies, however it dies. Process
ids would not do: they are reused, and mean nothing in another container.
"""

import fcntl
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import IO

__all__ = ["Owner", "is_alive"]


class Owner:
    """A name that is alive as long as this object is, or until `release`.

    Args:
        folder: Where the lock files lie; made when missing.

    Raises:
        OSError: The file cannot be made or locked.
    """

    __slots__ = ("_file", "_path", "name")

    def __init__(self, folder: Path) -> None:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        self.name = f"{os.getpid()}-{secrets.token_hex(6)}"
        self._path = folder / self.name
        # Locked under another name first, so that nobody ever sees it free.
        making = folder / f".{self.name}"
        self._file: IO[bytes] = os.fdopen(os.open(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        making.rename(self._path)
        for path in folder.iterdir():
            is_alive(folder, path.name)  # sweeps away what dead ones have left

    def release(self) -> None:
        """Be dead from now on."""
        self._path.unlink(missing_ok=True)
        self._file.close()


def is_alive(folder: Path, name: str) -> bool:
    """Whether the owner called `name` still lives. The lock file of a dead one is removed."""
    if not name or "/" in name or name.startswith("."):
        return False
    path = folder / name
    try:
        file = path.open("rb")
    except OSError:
        return False
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        with suppress(OSError):
            path.unlink()
        return False
