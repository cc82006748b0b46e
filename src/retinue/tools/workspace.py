"""The fence: which files of one folder may be read, and which may be written.

Every path a tool touches goes through a `Workspace`. It resolves the real path, compares by path components (never by
text prefix), and opens files component by component without following links, so that a folder swapped for a link
between check and use is refused and not followed. What a rule keeps from being read is hidden here, once for all
readers. It does not list or search: `tree` and `grep` do.
"""

# Paths are compared as text and by identity here; `Path` would hide what is asked of the system.
# ruff: noqa: PTH112, PTH116, PTH118, PTH119, PTH120, PTH208

import copy
import os
import stat
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias

from retinue.contract.names import nearest
from retinue.errors import AccessDenied, InvalidInput, MissingFile, OutputInvalid, RetinueError
from retinue.tools import descriptors, paths
from retinue.tools.encoding import decode, is_binary


@dataclass(frozen=True, slots=True)
class HidingRule:
    """One way of hiding files.

    Attributes:
        reason: Why a file may not be read, by its real path from the root; empty when it may. It always says the same.
        key: What tells this way of hiding from any other: two views of one folder are alike when it is the same.
    """

    reason: Callable[[str], str]
    key: str

    def except_for(self, visible_paths: Iterable[str]) -> "HidingRule":
        """The same, with the files at these paths shown: a person approved it."""
        visible, why = frozenset(visible_paths), self.reason
        return HidingRule(lambda path: "" if path in visible else why(path), f"{self.key}, but for {sorted(visible)}")


PathLike: TypeAlias = str | os.PathLike[str]

_Parts: TypeAlias = tuple[str, ...]

_PROTECTED = frozenset({".git", ".retinue"})

MAX_HASHED = 256 * 2**20
"""Bytes: what a larger file holds is not read, since a sparse one of any size costs its maker nothing."""

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class ArtifactFacts:
    """What is true of a file that an agent says it made: `path` from the root, `size` in bytes, and what it is.

    Attributes:
        sha256: None for a file that is too large to be read for it.
    """

    path: str
    size: int
    sha256: str | None
    media_type: str


def measure(file: BinaryIO, path: str, *, max_hashed: int = MAX_HASHED) -> ArtifactFacts:
    """The facts of an open file. One of more than `max_hashed` bytes is not read to its end."""
    from hashlib import sha256  # noqa: PLC0415 - only artifacts need it; it costs the quick path 2 ms

    head = chunk = file.read(_CHUNK)
    kind = paths.media_type(path, is_text=not is_binary(head))
    digest, size = sha256(), 0
    while chunk:
        size += len(chunk)
        if size > max_hashed:
            return ArtifactFacts(path, os.fstat(file.fileno()).st_size, None, kind)
        digest.update(chunk)
        chunk = file.read(_CHUNK)
    return ArtifactFacts(path, size, digest.hexdigest(), kind)


class Workspace:
    """One folder, with a read set and a write set granted apart (C12).

    Args:
        root: The folder. It must exist.
        read: What may be read, as paths in the folder; by default all of it.
        write: What may be written; by default nothing. `.git` and `.retinue` never are, at any depth.
        protected: Further paths in the folder that are never written, such as a state directory that lies in it.
        max_bytes: The largest file that is read whole.

    Raises:
        MissingFile: `root` is not there.
        InvalidInput: `root` is not a folder, or a granted path lies outside of it.
    """

    def __init__(
        self,
        root: PathLike,
        *,
        read: Iterable[PathLike] = (".",),
        write: Iterable[PathLike] = (),
        protected: Iterable[PathLike] = (),
        max_bytes: int = 8 * 1024 * 1024,
    ) -> None:
        self._root = os.path.realpath(paths.check_path(root))
        if not os.path.isdir(self._root):
            if os.path.lexists(self._root):
                raise InvalidInput(f"the workspace {self._root!r} is not a folder", hint="name a folder")
            raise MissingFile(f"the workspace {self._root!r} does not exist", hint="create it, or name another folder")
        self._root_path = Path(self._root)
        self._identity = _identity(os.stat(self._root))
        self._read = tuple(self._resolve_grant(path) for path in read)
        self._write = tuple(self._resolve_grant(path) for path in write)
        self._protected = tuple(_fold_parts(self._resolve_grant(path)) for path in protected)
        self.max_bytes = max_bytes
        self._hiding_rule: HidingRule | None = None

    def __repr__(self) -> str:
        return f"Workspace({self._root!r}{f', hiding {self._hiding_rule.key}' if self._hiding_rule else ''})"

    def hiding(self, hiding: HidingRule | None) -> "Workspace":
        """The same folder, but what `hiding` gives a reason for is neither listed nor opened."""
        view = copy.copy(self)
        view._hiding_rule = hiding  # noqa: SLF001 - one of us
        return view

    def showing(self, visible_paths: Collection[str]) -> "Workspace":
        """The same view, with the files at these real paths from the root shown as well: a person approved it."""
        return self.hiding(self._hiding_rule.except_for(visible_paths)) if self._hiding_rule and visible_paths else self

    @property
    def whole(self) -> "Workspace":
        """The folder with nothing hidden, for callers that show no file content."""
        return self.hiding(None) if self._hiding_rule else self

    @property
    def root(self) -> Path:
        """The real path of the folder."""
        return self._root_path

    def resolve(self, path: PathLike) -> Path:
        """The real path of something in the workspace that may be read.

        An absolute path, `..` and links are accepted when what they lead to lies inside (C12, C13).

        Raises:
            InvalidInput: `path` is empty, too long, or holds a control character, NUL, CR, LF or a lone surrogate.
            AccessDenied: It leads out of the workspace or out of the read set.
            MissingFile: It is allowed but not there.
        """
        return self._real_path(self._locate_existing(path))

    def relative(self, path: PathLike) -> str:
        """`path` from the root, resolved, with `/` between its parts; the root itself is `.`."""
        return "/".join(self._locate(path)) or "."

    def readable(self, path: PathLike) -> bool:
        """Whether `path` is there and may be read."""
        try:
            self._locate_existing(path)
        except RetinueError:
            return False
        return True

    def writable(self, path: PathLike) -> bool:
        """Whether `path`, there or not, may be written."""
        try:
            self.check_writing(path)
        except RetinueError:
            return False
        return True

    def covers(self, parts: _Parts) -> bool:
        """Whether the read set holds the place with these real path components, and it is not hidden."""
        return self._in_read_set(parts) and not self.why_hidden(parts)

    def why_hidden(self, parts: _Parts) -> str:
        """Why the place with these real path components is hidden, if it is; empty when not."""
        return self._hiding_rule.reason("/".join(parts)) if self._hiding_rule and parts else ""

    def check_writing(self, path: PathLike) -> Path:
        """The real path of something that may be written.

        Raises:
            InvalidInput: as `resolve`.
            AccessDenied: It leads out of the write set, or is protected whatever was granted.
        """
        return self._real_path(self._locate_writable(path))

    @contextmanager
    def open(self, path: PathLike) -> Generator[BinaryIO]:
        """Open a regular file for reading. Links are resolved first and never followed while opening.

        Raises:
            InvalidInput: as `resolve`; or it is a folder, FIFO, socket or device, or a loop of links.
            AccessDenied: as `resolve`; or the system refuses; or it changed into a link meanwhile.
            MissingFile: It is not there.
        """
        with self._translate_errors(path):
            parts = tuple(paths.check_path(path).split("/"))
            descriptor = None
            # A path with nothing to resolve in it can be opened as it is.
            if self.covers(parts) and not any(part in ("", ".", "..") for part in parts):
                with suppress(descriptors.SymlinkInPath):
                    descriptor = descriptors.open_regular(self._root, parts)
            if descriptor is None:
                try:
                    descriptor = descriptors.open_regular(self._root, self._locate_existing(path))
                except descriptors.SymlinkInPath:
                    raise _link_swap_error(path) from None
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            yield file

    def read_bytes(self, path: PathLike, *, max_bytes: int | None = None) -> bytes:
        """All bytes of a file of at most `max_bytes` (default: the workspace's own cap).

        Raises:
            InvalidInput: as `open`; or the file is larger.
            AccessDenied: as `open`.
            MissingFile: as `open`.
        """
        cap = self.max_bytes if max_bytes is None else max_bytes
        with self.open(path) as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(cap + 1) if size <= cap else b""
            # An unbuffered read may stop short; and the file may have grown since it was measured.
            while data and len(data) <= cap and (more := file.read(cap + 1 - len(data))):
                data += more
        if size > cap or len(data) > cap:
            raise InvalidInput(
                f"{_quote_path(path)} holds {max(size, len(data))} bytes, more than the cap of {cap}",
                hint="read a range of its lines instead",
                detail={"size": size, "max_bytes": cap},
            )
        return data

    def read_text(self, path: PathLike, *, max_bytes: int | None = None) -> str:
        """All of a text file, in whatever encoding `encoding.decode` finds.

        Raises:
            InvalidInput: as `read_bytes`; or the file is binary.
            AccessDenied: as `open`.
            MissingFile: as `open`.
        """
        data = self.read_bytes(path, max_bytes=max_bytes)
        if is_binary(data):
            raise InvalidInput(f"{_quote_path(path)} is a binary file", hint="only text can be read")
        return decode(data).text

    def write_bytes(self, path: PathLike, data: bytes) -> Path:
        """Write a whole file in one move, making the folders above it; a reader sees the old or the new, never half.

        Raises:
            InvalidInput: as `check_writing`; or something that is not a regular file is in the way.
            AccessDenied: as `check_writing`; or the system refuses.
        """
        parts = self._locate_writable(path)
        with self._translate_errors(path):
            try:
                descriptors.replace(self._root, parts, data)
            except descriptors.SymlinkInPath:
                raise _link_swap_error(path) from None
        return self._real_path(parts)

    def revise(self, path: PathLike, change: Callable[[bytes | None], bytes], *, create: bool = False) -> Path:
        """Put in place of a file what `change` makes of its content; no other `revise` runs meanwhile.

        A reader sees the old or the new, never half; what `change` raises leaves everything as it was.

        Args:
            path: The file, in both the read and the write set.
            change: Gets the content; None when there is no such file.
            create: Whether the file may be new.

        Raises:
            InvalidInput: as `check_writing`; or something that is not a regular file is in the way, or is too large.
            AccessDenied: as `check_writing`; or it may not be read, is write-protected, or the system refuses.
            MissingFile: It is not there, and `create` is not set.
            Unavailable: Its folder stays locked.
        """
        parts = self._locate_writable(path)
        if not self.covers(parts):
            raise self._read_denied(path, parts)
        with self._translate_errors(path):
            try:
                descriptors.revise(self._root, parts, change, max_bytes=self.max_bytes, create=create)
            except descriptors.SymlinkInPath:
                raise _link_swap_error(path) from None
        return self._real_path(parts)

    def check_artifact(self, path: PathLike, *, max_hashed: int = MAX_HASHED) -> ArtifactFacts:
        """The facts of a file that was said to be written: it is there, inside, a regular file and not empty.

        Args:
            path: The file.
            max_hashed: One of more bytes is measured without its hash.

        Raises:
            MissingFile: It is not there.
            AccessDenied: It lies outside.
            InvalidInput: It is not a regular file.
            OutputInvalid: It is empty.
        """
        with self.whole.open(path) as file:
            facts = measure(file, self.relative(path), max_hashed=max_hashed)
        if facts.size == 0:
            raise OutputInvalid(
                f"the artifact {_quote_path(path)} is empty", hint="write its content, or do not claim it"
            )
        return facts

    # --- places -------------------------------------------------------------------------------------------------

    def _locate(self, path: PathLike) -> _Parts:
        """The real path components below the root, there or not."""
        text = paths.check_path(path)
        real = os.path.realpath(os.path.join(self._root, text))
        if (below := paths.parts_below(real, self._root)) is not None:
            return below
        # On a system that folds case or normalises names, the same folder has several spellings: compare identities.
        trail: list[str] = []
        place = real
        while (above := os.path.dirname(place)) != place:
            trail.append(os.path.basename(place))
            place = above
            with suppress(OSError):
                if _identity(os.stat(place)) == self._identity:
                    return tuple(reversed(trail))
        raise AccessDenied(
            f"{_quote_path(path)} lies outside the workspace",
            hint="name a path inside it; links and `..` are followed only when they stay inside",
        )

    def _locate_writable(self, path: PathLike) -> _Parts:
        parts = self._locate(path)
        folded_parts = _fold_parts(parts)
        is_special = ".git" in _fold_parts(Path(self._root).parts) or not _PROTECTED.isdisjoint(folded_parts)
        if is_special or any(folded_parts[: len(place)] == place for place in self._protected):
            raise AccessDenied(f"{_quote_path(path)} is protected and never written", hint="write somewhere else")
        if not parts or not any(parts[: len(granted)] == granted for granted in self._write):
            allowed = ", ".join(repr("/".join(granted) or ".") for granted in self._write) or "nothing"
            raise AccessDenied(f"{_quote_path(path)} may not be written", hint=f"this run may write: {allowed}")
        return parts

    def _locate_existing(self, path: PathLike) -> _Parts:
        parts = self._locate(path)
        if not self.covers(parts):
            raise self._read_denied(path, parts)
        with self._translate_errors(path):
            status = os.lstat(self._real_path(parts))
        if stat.S_ISLNK(status.st_mode):
            raise InvalidInput(f"{_quote_path(path)} is a loop of links", hint="name the file itself")
        return parts

    def _in_read_set(self, parts: _Parts) -> bool:
        return any(parts[: len(granted)] == granted for granted in self._read)

    def _read_denied(self, path: PathLike, parts: _Parts) -> AccessDenied:
        if self._in_read_set(parts):
            return AccessDenied(
                f"{_quote_path(path)} may not be read: {self.why_hidden(parts)}", hint="do without this file"
            )
        allowed = ", ".join(repr("/".join(granted) or ".") for granted in self._read) or "nothing"
        return AccessDenied(f"{_quote_path(path)} may not be read", hint=f"this run may read: {allowed}")

    def _real_path(self, parts: _Parts) -> Path:
        return Path(self._root, *parts)

    def _resolve_grant(self, path: PathLike) -> _Parts:
        try:
            return self._locate(path)
        except AccessDenied as error:
            raise InvalidInput(
                f"{_quote_path(path)} cannot be granted: it lies outside the workspace {self._root!r}", hint=error.hint
            ) from error

    @contextmanager
    def _translate_errors(self, path: PathLike) -> Generator[None]:
        try:
            yield
        except FileNotFoundError as error:
            similar: tuple[str, ...] = ()
            with suppress(OSError, RetinueError, ValueError):  # outside, or the folder itself: nothing is alike
                *folder, name = self._locate(path)
                names = os.listdir(self._real_path(tuple(folder)))
                near = ((*folder, each) for each in nearest(name, names[:2000]))
                similar = tuple("/".join(parts) for parts in near if self.covers(parts))
            raise MissingFile(
                f"{_quote_path(path)} does not exist in the workspace",
                hint="check the spelling, or list the files with glob",
                suggestions=similar,
            ) from error
        except PermissionError as error:
            raise AccessDenied(
                f"the system refuses {_quote_path(path)}", hint="check the owner and the mode bits"
            ) from error
        except OSError as error:
            raise InvalidInput(
                f"{_quote_path(path)} cannot be used: {error.strerror}", hint="name a regular file"
            ) from error


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _fold_parts(parts: _Parts) -> _Parts:
    return tuple(paths.fold_name(part) for part in parts)


def _quote_path(path: PathLike) -> str:
    return repr(paths.clip(os.fspath(path)))


def _link_swap_error(path: PathLike) -> AccessDenied:
    return AccessDenied(
        f"{_quote_path(path)} turned into a link while it was used",
        hint="another program is changing the workspace; try again",
    )
