"""Opens, revises and replaces files step by step below one folder, following no link on the way.

This is what makes the fence of `Workspace` hold while another program changes the tree: a path is checked first and
then walked with `openat`, so that a component that has become a link meanwhile raises `SymlinkInPath`. It decides
nothing about what is allowed.
"""

import errno
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from time import monotonic, sleep

from retinue.errors import AccessDenied, InvalidInput, Unavailable

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


_LONGEST_WAIT_S = 10.0


class SymlinkInPath(Exception):
    """A component of the path is a link. Never seen outside of tools."""


def open_regular(root: str, parts: tuple[str, ...]) -> int:
    """A read-only descriptor of the regular file at `parts` below `root`.

    Raises:
        SymlinkInPath: One of `parts` is a link.
        InvalidInput: It is a folder, FIFO, socket or device; none of them is ever opened.
        OSError: The system refuses.
    """
    if not parts:
        raise InvalidInput("the workspace itself is a folder, not a file", hint="name a file in it")
    with _open_folder(root, parts[:-1]) as folder:
        return _open_regular_at(parts, folder)


def replace(root: str, parts: tuple[str, ...], data: bytes) -> None:
    """Put `data` in place of the file at `parts` below `root` in one move, making the folders above it.

    A file that is there keeps its mode.

    Raises:
        SymlinkInPath: One of `parts` is a link.
        InvalidInput: Something that is not a regular file is there.
        AccessDenied: The file that is there is write-protected.
        OSError: The system refuses.
    """
    with _open_folder(root, parts[:-1], create=True) as folder:
        _replace_file(parts, folder, data)


def revise(
    root: str, parts: tuple[str, ...], change: Callable[[bytes | None], bytes], *, max_bytes: int, create: bool
) -> None:
    """Replace the file at `parts` by what `change` makes of it, while no other `revise` works in its folder.

    Args:
        root: The folder below which everything stays.
        parts: Where the file is.
        change: Gets the content, None when there is no such file; what it raises leaves everything as it was.
        max_bytes: The largest content that is read.
        create: Whether the file may be new; its folders are then made.

    Raises:
        SymlinkInPath: One of `parts` is a link.
        InvalidInput: Something that is not a regular file is there, or it is larger than `max_bytes`.
        AccessDenied: The file is write-protected.
        Unavailable: Another process has kept the folder locked for seconds.
        OSError: The system refuses, or there is no such file and `create` is not set.
    """
    with _open_folder(root, parts[:-1], create=create) as folder, _lock_folder(folder, parts):
        before: bytes | None = None
        try:
            with os.fdopen(_open_regular_at(parts, folder), "rb") as file:
                data = file.read(max_bytes + 1)
            if len(data) > max_bytes:
                raise InvalidInput(
                    f"{'/'.join(parts)!r} holds more than the cap of {max_bytes} bytes", hint="change it by a program"
                )
            before = data
        except FileNotFoundError:
            if not create:
                raise
        after = change(before)
        if after != before:
            _replace_file(parts, folder, after)


def _open_regular_at(parts: tuple[str, ...], folder: int) -> int:
    # Looked at before it is opened: opening a device or a FIFO can already do something.
    _check_regular(os.stat(parts[-1], dir_fd=folder, follow_symlinks=False), parts)
    descriptor = _open_component(parts[-1], os.O_RDONLY | _FILE_FLAGS, folder)
    try:
        _check_regular(os.fstat(descriptor), parts)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _replace_file(parts: tuple[str, ...], folder: int, data: bytes) -> None:
    old_stat: os.stat_result | None = None
    with suppress(FileNotFoundError):
        old_stat = os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
        _check_regular(old_stat, parts)
        if not stat.S_IMODE(old_stat.st_mode) & 0o222:
            raise AccessDenied(
                f"{'/'.join(parts)!r} is write-protected", hint="give it a writable mode if it is meant to be changed"
            )
    temporary = f".{os.urandom(8).hex()}.tmp"
    descriptor = -1
    # A file without a name is gone with the process: killed while it writes, it leaves nothing half done. Linux has
    # them on most file systems; what else is wrong shows when a named one is made.
    if hasattr(os, "O_TMPFILE") and os.access("/proc/self/fd", os.F_OK):
        with suppress(OSError):
            descriptor = os.open(".", os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC, 0o666, dir_fd=folder)
    has_name = descriptor < 0
    if has_name:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE_FLAGS, 0o666, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if old_stat is not None:  # the new file gets its mode, and where the system lets us its owner
                new_stat = os.fstat(descriptor)
                if (new_stat.st_uid, new_stat.st_gid) != (old_stat.st_uid, old_stat.st_gid):
                    with suppress(PermissionError):
                        os.fchown(descriptor, old_stat.st_uid, old_stat.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(old_stat.st_mode) & 0o777)
            if not has_name:
                os.link(f"/proc/self/fd/{descriptor}", temporary, dst_dir_fd=folder, follow_symlinks=True)
                has_name = True
        os.replace(temporary, parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        if has_name:
            os.unlink(temporary, dir_fd=folder)
        raise


@contextmanager
def _lock_folder(folder: int, parts: tuple[str, ...]) -> Generator[None]:
    """Hold the folder against every other `revise`, of any process."""
    # A descriptor of its own: that of the folder may be `O_PATH`, which cannot be locked.
    descriptor = os.open(".", os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
    try:
        deadline = monotonic() + _LONGEST_WAIT_S
        while True:
            try:
                flock(descriptor, LOCK_EX | LOCK_NB)
            except BlockingIOError:
                if monotonic() > deadline:
                    raise Unavailable(
                        f"the folder of {'/'.join(parts)!r} has been locked for {_LONGEST_WAIT_S:g} seconds",
                        hint="another program is writing there; try again later",
                    ) from None
                sleep(0.002)
            else:
                break
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _open_folder(root: str, parts: tuple[str, ...], *, create: bool = False) -> Generator[int]:
    """A descriptor of the folder at `parts`, reached step by step and closed at the end."""
    descriptor = os.open(root, _FOLDER_FLAGS)
    try:
        for part in parts:
            if create:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=descriptor)
            inner = _open_component(part, _FOLDER_FLAGS, descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _open_component(name: str, flags: int, folder: int) -> int:
    try:
        return os.open(name, flags | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        # `O_DIRECTORY | O_NOFOLLOW` reports a link as "not a directory", plain `O_NOFOLLOW` as a loop.
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR):
            with suppress(OSError):
                if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                    raise SymlinkInPath from error
        raise


def _check_regular(status: os.stat_result, parts: tuple[str, ...]) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise SymlinkInPath
    if not stat.S_ISREG(status.st_mode):
        kind = next((name for test, name in _KINDS if test(status.st_mode)), "special file")
        raise InvalidInput(f"{'/'.join(parts)!r} is a {kind}, not a regular file", hint="name a regular file")
