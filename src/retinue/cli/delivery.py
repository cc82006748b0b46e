"""Where an answer goes that is not drawn: as a document to stdout, or into a file, whole or not at all."""

import contextlib
import os
import tempfile
from pathlib import Path

import click

from retinue.errors import AccessDenied, MissingFile, RetinueError


def check_output(output: Path) -> None:
    """Find out before the work begins that its answer could not be written.

    Raises:
        MissingFile: The folder is not there.
        AccessDenied: It is a folder itself, or nobody may write there.
    """
    folder = output.parent
    if not folder.is_dir():
        raise MissingFile(f"No such folder: {str(folder)!r}.", hint="Create it first.", path=str(output))
    if output.is_dir():
        raise AccessDenied(f"{str(output)!r} is a folder.", hint="Name a file in it.", path=str(output))
    if not os.access(output if output.exists() else folder, os.W_OK):
        raise _write_error(output, "permission denied")


def deliver(text: str, output: Path | None) -> None:
    """Write `text`, which ends its last line, to stdout or to `output`, replacing what is there at once.

    Raises:
        AccessDenied: It cannot be written.
    """
    if output is None:
        click.echo(text, nl=False)
        return
    deliver_bytes(text.encode("utf-8", "backslashreplace"), output)


def deliver_bytes(data: bytes, output: Path) -> None:
    """Write `data` to `output`, replacing what is there at once.

    Raises:
        AccessDenied: It cannot be written.
    """
    try:
        if output.exists() and not output.is_file():  # a pipe or a device is written to, not replaced
            output.write_bytes(data)
        else:
            _replace(Path(os.path.realpath(output)), data)
    except OSError as error:
        raise _write_error(output, error.strerror or type(error).__name__) from None


def _replace(output: Path, data: bytes) -> None:
    mode = output.stat().st_mode & 0o777 if output.exists() else 0o666 & ~_umask()
    descriptor, name = tempfile.mkstemp(prefix=f".{output.name[:100]}.", dir=output.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(name).chmod(mode)
        Path(name).replace(output)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def _umask() -> int:
    """The mask of this process, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _write_error(output: Path, why: str) -> RetinueError:
    return AccessDenied(
        f"Cannot write {str(output)!r}: {why}.",
        hint="Choose another file with `--output`, or leave it out to write to stdout.",
        path=str(output),
    )
