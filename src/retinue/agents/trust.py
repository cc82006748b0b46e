"""Which folders may bring code of their own: only those that their user approved, for the files they then held.

One file in the user's state directory, never in a project. `cli/` asks the user.
"""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from retinue.agents.code_files import Kind, digests, utf8
from retinue.agents.private_file import PrivateFile
from retinue.contract.model import Model
from retinue.errors import MissingFile, NotTrusted, RetinueError

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

    Attributes:
        path: Its file.
    """

    def __init__(self, state: Path) -> None:
        empty, self.path = _Store(format=1, folders={}), state / "trust.json"
        self._file = PrivateFile(self.path, empty, name="trust store", command="retinue trust")

    @property
    def problem(self) -> RetinueError | None:
        """What is wrong with the store, when it cannot be relied on."""
        try:
            self._file.read()
        except RetinueError as error:
            return error
        return None

    def folders(self, *, kind: Kind = "project") -> tuple[Path, ...]:
        """The folders that were trusted as this; whether they still are, `is_trusted` says."""
        with contextlib.suppress(RetinueError):
            mark = _key("", kind)
            names = sorted(self._file.read().folders)
            return tuple(Path(name.removeprefix(mark)) for name in names if name.startswith(_TOOLS) == bool(mark))
        return ()

    def is_trusted(self, folder: Path, *, kind: Kind = "project") -> bool:
        """Whether the user trusted `folder` and its code files are still what they were."""
        root = folder.resolve()
        try:
            trusted = self._file.read().folders.get(_key(str(root), kind))
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
            trusted = self._file.read().folders.get(_key(str(root), kind))
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
        with self._file.change() as store:
            store.folders[_key(utf8(str(root)), kind)] = files
        return tuple(sorted(files))

    def revoke(self, folder: Path, *, kind: Kind = "project") -> bool:
        """Stop trusting `folder`, which need not exist any more; false when it was not trusted."""
        with self._file.change() as store:
            return store.folders.pop(_key(str(folder.resolve()), kind), None) is not None
