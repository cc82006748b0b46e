"""Which folders may bring code of their own: only those that their user approved, for the files they then held.

One file in the user's state directory, never in a project. `cli/` asks the user.
"""

import contextlib
import json
import os
import secrets
import stat
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Final, Literal

from pydantic import ValidationError

from retinue.agents.code_files import Kind, digests, utf8
from retinue.agents.load.document import read_bytes
from retinue.contract import json as strict
from retinue.contract.finding import findings_of, summarise_findings
from retinue.contract.model import Model
from retinue.errors import AccessDenied, MissingFile, NotTrusted, ParseError, RetinueError

_MAX_BYTES: Final = 8 * 2**20
_HINTS: Final[Mapping[Kind, str]] = {
    "project": "Look at these files, then run `retinue trust` in the folder.",
    "tool_root": "Look at its Python files, then run `retinue trust --tool-root {folder}`.",
}
_TOOLS: Final = "tool_root:"
"""In front of the path of a tool root in the store. A real path never begins like this."""


class _Store(Model):
    """The file: folders, and the digests of their code files when they were trusted."""

    format: Literal[1]
    folders: dict[str, dict[str, str]]


def _key(folder: str, kind: Kind) -> str:
    return f"{_TOOLS}{folder}" if kind == "tool_root" else folder


class TrustStore:
    """The user's own list of trusted folders.

    A folder is known by its real path, and is trusted as a project or as a tool root: neither is the other. Trust holds
    for the code files as they were: when one changes, comes or goes, the user is asked again. A store that is damaged,
    or that others may write, trusts no folder.

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
        """Whether the user trusted `folder` and its code files are still what they were."""
        root = folder.resolve()
        try:
            trusted = self._read().get(_key(str(root), kind))
            return trusted is not None and trusted == digests(root, kind=kind)
        except RetinueError:
            return False

    def check(self, folder: Path, *, kind: Kind = "project") -> None:
        """Check that `folder` is trusted.

        Raises:
            NotTrusted: It is not; the hint says what to do, `detail["files"]` which files came, changed or went.
            InvalidInput: Its code files cannot be listed.
            AccessDenied: One of them cannot be read.
        """
        root = folder.resolve()
        try:
            trusted = self._read().get(_key(str(root), kind))
        except RetinueError as error:
            raise NotTrusted(f"No folder is trusted: {error.message}", hint=error.hint) from error
        hint = _HINTS[kind].format(folder=root)
        if trusted is None and kind == "tool_root":
            raise NotTrusted(f"The tool root {str(root)!r} is not trusted to run its code.", hint=hint)
        now = digests(root, kind=kind)
        if trusted is None:
            raise NotTrusted(
                f"{str(root)!r} is not trusted to run its own code.", hint=hint, detail={"files": sorted(now)}
            )
        changed = sorted(name for name in trusted.keys() | now.keys() if trusted.get(name) != now.get(name))
        if changed:
            names = ", ".join(map(repr, changed[:5])) + (" …" if len(changed) > 5 else "")
            raise NotTrusted(
                f"{str(root)!r} was trusted, but {len(changed)} of its code files changed since: {names}.",
                hint=hint,
                detail={"files": changed},
            )

    def trust(self, folder: Path, *, kind: Kind = "project") -> tuple[str, ...]:
        """Note that the user trusts `folder` as it is now; returns the files that this covers.

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
        """Stop trusting `folder`, which need not exist any more; false when it was not trusted."""
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
        if os.name == "posix":
            status = self._file.stat()
            if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise AccessDenied(f"The trust store {str(self._file)!r} can be written by others.", hint=hint)
        try:
            return _Store.model_validate(strict.loads(data, max_bytes=_MAX_BYTES)).folders
        except ParseError as error:
            message = f"The trust store is damaged: {error.message}"
            raise ParseError(message, hint=hint, path=error.path, detail=error.detail) from None
        except ValidationError as error:
            reasons = summarise_findings(findings_of(error, rule="trust/store"))
            raise ParseError(f"The trust store is damaged: {reasons}.", hint=hint) from None

    @contextlib.contextmanager
    def _locked_folders(self) -> Generator[dict[str, dict[str, str]]]:
        """Change the store: read, yield, write, while no other process does."""
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # A file of its own is locked: the store is replaced, and a lock would stay on the old one.
            lock = os.open(self._file.with_name("trust.lock"), os.O_RDWR | os.O_CREAT, 0o600)
            try:
                if os.name == "posix":
                    import fcntl  # noqa: PLC0415 - not on Windows, where the last writer wins

                    fcntl.flock(lock, fcntl.LOCK_EX)
                try:
                    folders = self._read()
                except RetinueError:
                    self._file.replace(self._file.with_name(f"trust.damaged-{secrets.token_hex(4)}.json"))
                    folders = {}
                yield folders
                _write(self._file, json.dumps({"format": 1, "folders": folders}, indent=2, sort_keys=True))
            finally:
                os.close(lock)
        except OSError as error:
            raise AccessDenied(
                f"The trust store {str(self._file)!r} cannot be written: {error}.", hint="Check its folder."
            ) from error


def _write(file: Path, text: str) -> None:
    """Replace `file` at once, readable by its owner only."""
    temporary = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(handle, "w", encoding="utf-8") as stream:  # noqa: PTH123 - a descriptor made with its mode
            stream.write(text)
            stream.flush()
            # Before the rename: after a power failure the new name could else stand for an empty file.
            os.fsync(handle)
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
