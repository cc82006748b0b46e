"""Which folders may bring code of their own: only those whose user has said yes, for the files they then held.

One file in the user's state directory, never in a project. Who asks the user is the business of `cli/`.
"""

import contextlib
import json
import os
import secrets
import stat
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Final, cast

from retinue.agents.code_files import Kind, digests, utf8
from retinue.agents.load.document import read_bytes
from retinue.contract import json as strict
from retinue.errors import AccessDenied, MissingFile, NotTrusted, ParseError, RetinueError

_FORMAT: Final = 1
_MAX_BYTES: Final = 8 * 2**20
_HINTS: Final[Mapping[Kind, str]] = {
    "project": "Look at these files, then run `retinue trust` in the folder.",
    "tool_root": "Look at its Python files, then run `retinue trust --tool-root {folder}`.",
}
_TOOLS: Final = "tool_root:"
"""In front of the path of a tool root in the store. A real path never begins like this."""


def _key(folder: str, kind: Kind) -> str:
    return f"{_TOOLS}{folder}" if kind == "tool_root" else folder


class TrustStore:
    """The user's own list of trusted folders.

    A folder is known by its real path, and is trusted as a project or as a tool root: neither is the other. Trust holds
    for the code files as they were: when one changes, comes or goes, the user is asked again. A store that is damaged,
    or that others may write, trusts nobody.

    Args:
        state: The user's state directory; made when something is first written.
    """

    def __init__(self, state: Path) -> None:
        self._file = state / "trust.json"

    @property
    def problem(self) -> RetinueError | None:
        """What is wrong with the store, when it cannot be relied on."""
        try:
            self._read()
        except RetinueError as error:
            return error
        return None

    def folders(self, *, kind: Kind = "project") -> tuple[Path, ...]:
        """The folders that were trusted as this; whether they still are, `is_trusted` says."""
        with contextlib.suppress(RetinueError):
            mark = _key("", kind)
            names = sorted(self._read())
            return tuple(Path(name.removeprefix(mark)) for name in names if name.startswith(_TOOLS) == bool(mark))
        return ()

    def is_trusted(self, folder: Path, *, kind: Kind = "project") -> bool:
        """Whether the user said yes to `folder` and its code files are still what they were."""
        root = folder.resolve()
        try:
            trusted = self._read().get(_key(str(root), kind))
            return trusted is not None and trusted == digests(root, kind=kind)
        except RetinueError:
            return False

    def check(self, folder: Path, *, kind: Kind = "project") -> None:
        """See that `folder` is trusted.

        Raises:
            NotTrusted: It is not; the hint says what to do, `detail["files"]` which files came, changed or went.
            InvalidInput: Its code files cannot be told.
            AccessDenied: One of them cannot be read.
        """
        root = folder.resolve()
        try:
            trusted = self._read().get(_key(str(root), kind))
        except RetinueError as error:
            raise NotTrusted(f"No folder is trusted: {error.message}", hint=error.hint) from error
        hint = _HINTS[kind].format(folder=root)
        if trusted is None and kind == "tool_root":  # nobody asked us yet to walk through it
            raise NotTrusted(f"The tool root {str(root)!r} is not trusted to run its code.", hint=hint)
        now = digests(root, kind=kind)
        if trusted is None:
            raise NotTrusted(
                f"{str(root)!r} is not trusted to run its own code.", hint=hint, detail={"files": sorted(now)}
            )
        changed = sorted(name for name in trusted.keys() | now.keys() if trusted.get(name) != now.get(name))
        if changed:
            raise NotTrusted(
                f"{str(root)!r} was trusted, but {len(changed)} of its code "
                f"files changed since: {_join_names(changed)}.",
                hint=hint,
                detail={"files": changed},
            )

    def trust(self, folder: Path, *, kind: Kind = "project") -> tuple[str, ...]:
        """Note that the user said yes to `folder` as it is now; gives the files that this covers.

        Raises:
            MissingFile: There is no such folder.
            InvalidInput: A path is not UTF-8, or there are too many files.
            AccessDenied: A code file cannot be read, or the store not be written.
        """
        root = folder.resolve()
        if not root.is_dir():
            raise MissingFile(f"There is no folder {str(root)!r}.", hint="Name a folder.")
        files = digests(root, kind=kind)
        with self._locked_folders() as folders:
            folders[_key(utf8(str(root)), kind)] = files
        return tuple(sorted(files))

    def revoke(self, folder: Path, *, kind: Kind = "project") -> bool:
        """Take back the yes to `folder`, which need not exist any more; false when there was none."""
        with self._locked_folders() as folders:
            return folders.pop(_key(str(folder.resolve()), kind), None) is not None

    def _read(self) -> dict[str, dict[str, str]]:
        """Folders, and the digests of their files.

        Raises:
            ParseError: The store is damaged.
            AccessDenied: It cannot be read, or others may write it.
        """
        hint = f"Look at {str(self._file)!r}; `retinue trust` starts a new one and keeps this one beside it."
        try:
            data = read_bytes(self._file, max_bytes=_MAX_BYTES)
        except MissingFile:
            return {}
        _check_owner(self._file, hint=hint)
        try:
            # See that the store has the shape we wrote.
            value = strict.loads(data, max_bytes=_MAX_BYTES)
            if (
                not isinstance(value, dict)
                or value.get("format") != _FORMAT
                or not isinstance(value.get("folders"), dict)
            ):
                raise ParseError(f"It is not of format {_FORMAT}.")
            folders = cast("Mapping[str, object]", value["folders"])
            for files in folders.values():
                if not isinstance(files, dict) or not all(
                    isinstance(each, str) for each in cast("dict[str, object]", files).values()
                ):
                    raise ParseError("An entry is not an object of digests.")
            return {name: dict(cast("dict[str, str]", files)) for name, files in folders.items()}
        except ParseError as error:
            message = f"The trust store is damaged: {error.message}"
            raise ParseError(message, hint=hint, path=error.path, detail=error.detail) from None

    @contextlib.contextmanager
    def _locked_folders(self) -> Generator[dict[str, dict[str, str]]]:
        """Change the store: read, yield, write, while no other process does."""
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _lock(self._file.with_name("trust.lock")):
                try:
                    folders = self._read()
                except RetinueError:
                    self._file.replace(self._file.with_name(f"trust.damaged-{secrets.token_hex(4)}.json"))
                    folders = {}
                yield folders
                _write(self._file, json.dumps({"format": _FORMAT, "folders": folders}, indent=2, sort_keys=True))
        except OSError as error:
            raise AccessDenied(
                f"The trust store {str(self._file)!r} cannot be written: {error}.", hint="Check its folder."
            ) from error


def _join_names(changed: list[str]) -> str:
    return ", ".join(map(repr, changed[:5])) + (" …" if len(changed) > 5 else "")


# The store


def _check_owner(file: Path, *, hint: str) -> None:
    """Refuse a store that somebody else owns or may write."""
    if os.name != "posix":
        return
    status = file.stat()
    if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise AccessDenied(f"The trust store {str(file)!r} can be written by others.", hint=hint)


@contextlib.contextmanager
def _lock(file: Path) -> Generator[None]:
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if os.name == "posix":
            import fcntl  # noqa: PLC0415 - not on Windows, where the last writer wins

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _write(file: Path, text: str) -> None:
    """Replace `file` at once, readable by its owner only."""
    temporary = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(handle, "w", encoding="utf-8") as stream:  # noqa: PTH123 - a descriptor made with its mode
            stream.write(text)
            stream.flush()
            os.fsync(handle)
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
