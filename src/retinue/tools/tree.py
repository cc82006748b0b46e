"""Which files a workspace holds, and which of them a pattern names.

In a git repository git says which files are ignored; elsewhere a walk leaves out what is not meant (`.git`,
`node_modules`, caches). It opens no file and never follows a link to a folder, so that no loop can catch it.
"""

# ruff: noqa: PTH118
# names are bytes here, which `Path` does not take

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from retinue.errors import InvalidInput, RetinueError
from retinue.tools import paths
from retinue.tools.workspace import Workspace

_IGNORED_FOLDERS = frozenset(
    {
        ".cache", ".eggs", ".git", ".hg", ".hypothesis", ".mypy_cache", ".nox", ".pytest_cache", ".retinue",
        ".ruff_cache", ".svn", ".tox", ".venv", "__pycache__", "bower_components", "node_modules", "site-packages",
        "venv",
    }
)  # fmt: skip
"""Folders that a walk leaves out where there is no git to ask."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A regular file of the workspace, or a link to one inside it; `path` is relative, with `/`."""

    path: str
    size: int
    mtime_ns: int
    is_link: bool = False


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that was left out, and why; `path` is quoted where it could not be shown as it is."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class FileListing:
    """The files of a workspace, sorted by path.

    Attributes:
        files: What was found.
        skipped: What was found and cannot be used, with the reason.
        source: Whether git or a walk found them.
        note: Why git was not asked although it could have been expected to; empty otherwise.
        hidden_paths: The paths of those that the workspace hides; of what stands in them nothing may be told.
    """

    files: tuple[FileEntry, ...]
    skipped: tuple[SkippedFile, ...]
    source: Literal["git", "walk"]
    note: str = ""
    hidden_paths: tuple[str, ...] = ()


def list_files(workspace: Workspace, *, limit: int = 200_000, with_ignored: bool = False) -> FileListing:
    """Every file of the workspace that may be read and is not ignored, sorted by path.

    Args:
        workspace: Whose files.
        limit: How many at most.
        with_ignored: Do not ask git, and walk instead.

    Raises:
        InvalidInput: There are more than `limit`.
    """
    names: Iterable[bytes] | None = None
    source: Literal["git", "walk"] = "walk"
    note = ""
    # Looked for first, because starting git costs more: folders above count, as they do for git.
    folders = () if with_ignored else (workspace.root, *workspace.root.parents)
    if any(os.path.lexists(folder / ".git") for folder in folders):
        from retinue.tools.git.repository import Git  # noqa: PLC0415 - only a repository has need of it

        try:
            names, source = Git(workspace.root).list_files(), "git"
        except RetinueError as error:
            note = f"git could not list the files, so ignored files may be among them: {error.message}"
    files: list[FileEntry] = []
    skipped: list[SkippedFile] = []
    hidden_paths: list[str] = []
    for name in _walk(os.fsencode(workspace.root)) if names is None else names:
        # Also what git names is looked at: it lists deleted files, links and folders of submodules.
        item = _entry(workspace, name, hidden_paths)
        if isinstance(item, FileEntry):
            files.append(item)
        elif item is not None:
            skipped.append(item)
        if len(files) > limit:
            raise InvalidInput(
                f"the workspace holds more than {limit} files", hint="choose a smaller folder, or ignore what is built"
            )
    files.sort(key=lambda entry: entry.path)
    skipped.sort(key=lambda entry: entry.path)
    return FileListing(tuple(files), tuple(skipped), source, note, tuple(sorted(hidden_paths)))


def glob(workspace: Workspace, patterns: str | Iterable[str], *, limit: int = 10_000) -> list[str]:
    """The paths of the files that any of `patterns` names, sorted; at most `limit`.

    A pattern without `/` is tried on the file's name at any depth (`*.md`); one with `/` on the whole path, where `**`
    stands for any number of folders. A pattern that ends with `/` means all below.

    Raises:
        InvalidInput: A pattern is empty, absolute, too long, or has `..` as a component.
    """
    is_match = matcher(patterns)
    matches = [entry.path for entry in list_files(workspace).files if is_match(entry.path)]
    return matches[:limit]


def matcher(patterns: str | Iterable[str]) -> Callable[[str], bool]:
    """A test of relative paths against `patterns` (see `glob`); no patterns at all accept every path.

    Raises:
        InvalidInput: as `glob`.
    """
    whole = (patterns,) if isinstance(patterns, str) else tuple(patterns)
    if not whole:
        return lambda _: True
    compiled = [_compile_pattern(pattern) for pattern in whole]
    return lambda path: any(_matches_pattern(path.split("/"), pattern) for pattern in compiled)


def _walk(root: bytes) -> Iterator[bytes]:
    """Names under `root`, in no order; the folders still to visit are a list, so depth costs no stack."""
    ignored = {name.encode() for name in _IGNORED_FOLDERS}
    waiting = [b""]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(os.path.join(root, folder)) as entries:
                for entry in entries:
                    name = os.path.join(folder, entry.name)
                    if not entry.is_dir(follow_symlinks=False):
                        yield name
                    elif entry.name not in ignored:
                        waiting.append(name)
        except OSError:
            continue  # it vanished or may not be read: nothing in it can be named


def _entry(workspace: Workspace, raw: bytes, hidden_paths: list[str]) -> FileEntry | SkippedFile | None:
    """What the name `raw` stands for; None for what is not there, is a folder, or may not be read."""
    try:
        path = paths.check_path(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return SkippedFile(paths.quote_name(raw), "its name is not UTF-8")
    except InvalidInput:
        return SkippedFile(
            paths.quote_name(raw), "its name holds control characters, is too long, or is not valid in this locale"
        )
    parts = tuple(path.split("/"))
    if workspace.why_hidden(parts):
        hidden_paths.append(path)
        return None
    if not workspace.covers(parts):
        return None
    try:
        status = os.lstat(f"{workspace.root}/{path}")
    except OSError:
        return None  # deleted since it was tracked
    if stat.S_ISREG(status.st_mode):
        return FileEntry(path, status.st_size, status.st_mtime_ns)
    if not stat.S_ISLNK(status.st_mode):
        return None if stat.S_ISDIR(status.st_mode) else SkippedFile(path, "it is not a regular file")
    try:
        status = workspace.resolve(path).stat()
    except (OSError, RetinueError):
        if workspace.whole.readable(path):
            return SkippedFile(path, "it is a link to a file that may not be read")
        return SkippedFile(path, "it is a link that leads out of the workspace, in a circle or nowhere")
    is_file = stat.S_ISREG(status.st_mode)
    return FileEntry(path, status.st_size, status.st_mtime_ns, is_link=True) if is_file else None


@lru_cache(maxsize=256)
def _compile_pattern(pattern: str) -> tuple[re.Pattern[str] | None, ...]:
    """One expression for each component of `pattern`; None stands for `**`."""
    text = paths.check_path(pattern).removeprefix("./")
    if len(text) > 500 or text.startswith("/") or ".." in text.split("/") or not text:
        raise InvalidInput(
            f"{paths.clip(pattern)!r} is not a pattern for files of the workspace",
            hint="write it relative to the root and without `..`, such as `src/**/*.py`",
        )
    parts = [part for part in text.split("/") if part]
    if text.endswith("/") or parts[-1] == "**":
        parts = [*parts, "**", "*"]  # all below, but not the folder itself
    elif len(parts) == 1:
        parts = ["**", *parts]
    expressions: list[re.Pattern[str] | None] = []
    for part in parts:
        first, *rest = re.split(r"\*+", part)
        # Each text between two stars is taken where it comes first and never tried again, so that no pattern is slow;
        # only the last must reach the end.
        middle = [f"(?>.*?{_characters(text)})" for text in rest[:-1]]
        last = [f".*{_characters(rest[-1])}"] if rest else []
        expression = "".join([_characters(first), *middle, *last])
        expressions.append(None if part == "**" else re.compile(expression, re.DOTALL))
    return tuple(expressions)


def _characters(text: str) -> str:
    """`text` without stars as an expression: `a-z` in a class stays a range, anything else means itself."""
    expression = ""
    for piece in re.split(r"(\?|\[!?\]?[^\]]*\])", text):
        if piece == "?":
            expression += "."
        elif piece.startswith("[") and piece.endswith("]") and len(piece) > 2 and piece != "[!]":
            negated, members = ("^", piece[2:-1]) if piece[1] == "!" else ("", piece[1:-1])
            ranges = [
                f"{re.escape(low)}-{re.escape(high)}" if low else re.escape(single)
                for low, high, single in re.findall(r"(.)-(.)|(.)", members, re.DOTALL)
                if not low or low <= high
            ]
            expression += "[" + negated + ("".join(ranges) or r"^\s\S") + "]"  # `z-a` holds nothing
        else:
            expression += re.escape(piece)
    return expression


def _matches_pattern(names: list[str], pattern: tuple[re.Pattern[str] | None, ...]) -> bool:
    """Whether components match, `None` standing for any number of them; it goes back to the last `None` at most."""
    name = part = 0
    retry_name, retry_part = 0, -1
    while name < len(names):
        expression = pattern[part] if part < len(pattern) else _NOTHING
        if expression is None:
            retry_name, retry_part = name, part
            part += 1
        elif expression.fullmatch(names[name]):
            name, part = name + 1, part + 1
        elif retry_part >= 0:
            retry_name += 1
            name, part = retry_name, retry_part + 1
        else:
            return False
    return all(rest is None for rest in pattern[part:])


_NOTHING = re.compile(r"(?!)")
