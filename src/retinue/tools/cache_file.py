"""Files in which agents keep what they read: replaced whole, and their owner's alone."""

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from time import time
from typing import Final

from retinue import __version__

_STALE_S: Final = 3600
_PACKAGE: Final = Path(__file__).parent.parent


def code_fingerprint(*folders: str) -> bytes:
    """What names the present state of the code in these folders of the package, and of the interpreter.

    What was derived by that code is kept under it, and so is derived again after an upgrade or an edit.
    """
    states = sorted(state for folder in folders for state in _file_states(_PACKAGE / folder))
    return sha256(repr((__version__, sys.version, states)).encode()).hexdigest().encode()


def _file_states(folder: Path) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _file_states(Path(entry.path))
            elif entry.name.endswith((".py", ".json", ".toml")):
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns


def read_cache_file(path: Path, *, max_bytes: int) -> bytes:
    """What `path` holds; nothing when it is no plain file of this user's, or larger than `max_bytes`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_size > max_bytes:
                return b""
            return file.read()
    except OSError:
        return b""


def write_cache_file(path: Path, pieces: Iterable[bytes]) -> str:
    """Put `pieces` in place of what `path` holds; gives the reason when that is not possible.

    Any number of processes and threads may do so at once: the last writer wins, and no reader sees a part.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}-{token_hex(4)}.tmp")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for orphan in path.parent.glob(f"{path.name}.*.tmp"):  # left half-written by a killed process
            with suppress(OSError):
                if orphan.stat().st_mtime < time() - _STALE_S:
                    orphan.unlink()
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(pieces)
        temporary.replace(path)
    except OSError as error:
        return f"what was read could not be kept in {str(path)!r}: {error.strerror}"
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return ""
