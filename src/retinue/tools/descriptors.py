"""Opens and replaces files step by step below one folder, following no link on the way.

This is what makes the fence of `Workspace` hold while somebody else changes the tree: a path is checked first and then
walked with `openat`, so that a component that has become a link meanwhile raises `MetLink` instead of leading astray.
It decides nothing about what is allowed.
"""

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress

from retinue.errors import InvalidInput

__all__ = ["MetLink", "open_regular", "replace"]

# `O_PATH` needs no read permission on the folders above a file, as usual; where it is missing, reading must do.
_FOLDER_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_FILE_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_KINDS = (
    (stat.S_ISDIR, "folder"),
    (stat.S_ISFIFO, "FIFO"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "device"),
    (stat.S_ISBLK, "device"),
)


class MetLink(Exception):
    """A component of the path is a link. Never seen outside of tools."""


def open_regular(root: str, parts: tuple[str, ...]) -> int:
    """A read-only descriptor of the regular file at `parts` below `root`.

    Raises:
        MetLink: One of `parts` is a link.
        InvalidInput: It is a folder, FIFO, socket or device; none of them is ever opened.
        OSError: The system refuses.
    """
    if not parts:
        raise InvalidInput("the workspace itself is a folder, not a file", hint="name a file in it")
    with _folder(root, parts[:-1]) as folder:
        # Looked at before it is opened: opening a device or a FIFO can already do something.
        _check_regular(os.stat(parts[-1], dir_fd=folder, follow_symlinks=False), parts)
        descriptor = _opened(parts[-1], os.O_RDONLY | _FILE_FLAGS, folder)
    try:
        _check_regular(os.fstat(descriptor), parts)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def replace(root: str, parts: tuple[str, ...], data: bytes) -> None:
    """Put `data` in place of the file at `parts` below `root` in one move, making the folders above it.

    Raises:
        MetLink: One of `parts` is a link.
        InvalidInput: Something that is no regular file is there.
        OSError: The system refuses.
    """
    from secrets import token_hex  # noqa: PLC0415 - only writing needs it

    temporary = f".{token_hex(8)}.tmp"
    with _folder(root, parts[:-1], create=True) as folder:
        with suppress(FileNotFoundError):
            _check_regular(os.stat(parts[-1], dir_fd=folder, follow_symlinks=False), parts)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE_FLAGS, 0o666, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            os.replace(temporary, parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(temporary, dir_fd=folder)
            raise


@contextmanager
def _folder(root: str, parts: tuple[str, ...], *, create: bool = False) -> Generator[int]:
    """A descriptor of the folder at `parts`, reached step by step and closed at the end."""
    descriptor = os.open(root, _FOLDER_FLAGS)
    try:
        for part in parts:
            if create:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=descriptor)
            inner = _opened(part, _FOLDER_FLAGS, descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _opened(name: str, flags: int, folder: int) -> int:
    try:
        return os.open(name, flags | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        # `O_DIRECTORY | O_NOFOLLOW` reports a link as "not a directory", plain `O_NOFOLLOW` as a loop.
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR) and _is_link(name, folder):
            raise MetLink from error
        raise


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _check_regular(found: os.stat_result, parts: tuple[str, ...]) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise MetLink
    if not stat.S_ISREG(found.st_mode):
        kind = next((name for test, name in _KINDS if test(found.st_mode)), "special file")
        raise InvalidInput(f"{'/'.join(parts)!r} is a {kind}, not a regular file", hint="name a regular file")
