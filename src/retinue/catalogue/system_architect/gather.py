"""Reads a tree: which source files there are, what each imports, and how often each was changed.

It ends early rather than late: when time is nearly up, what was read so far is handed on and the rest is counted.
"""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from retinue.catalogue._aside import is_aside
from retinue.catalogue._watch import Watch
from retinue.catalogue.system_architect.remembered import Remembered, key_of
from retinue.errors import DeadlineExceeded, InvalidInput, RetinueError
from retinue.tools.git import Git
from retinue.tools.structure import Structure, is_source, structure_of
from retinue.tools.tree import FileEntry, list_files
from retinue.tools.workspace import Workspace

__all__ = ["MANIFESTS", "Churn", "Gathered", "gather", "read_date"]

MANIFESTS: Final = ("Cargo.toml", "go.mod")
"""Files that say what the modules of a folder are called."""

_LARGEST: Final = 2 * 1024 * 1024
_COMMITS: Final = 3000


@dataclass(slots=True)
class Churn:
    """How often each file was changed, under the name it has now, and in how many lines.

    Attributes:
        why_not: Why there are no figures; empty when there are.
        is_cut: Only the newest commits were counted.
    """

    files: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    why_not: str = ""
    is_cut: bool = False


@dataclass(slots=True)
class Gathered:
    """What was read.

    Attributes:
        files: By path, sorted; those that could be read.
        manifests: The text of each manifest, by path.
        skipped: Files that could not be read, as path, line (0 when there is none) and reason.
        parsed: How many were read in this run, and not known from an earlier one.
        left: Files that there was no time for.
    """

    files: dict[str, Structure] = field(default_factory=dict[str, Structure])
    manifests: dict[str, str] = field(default_factory=dict[str, str])
    skipped: list[tuple[str, int, str]] = field(default_factory=list[tuple[str, int, str]])
    left: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])
    parsed: int = 0
    churn: Churn | None = None


def gather(
    workspace: Workspace, watch: Watch, *, cache_dir: Path | None, tests: bool, since: datetime | None, churn: bool
) -> Gathered:
    """Read every source file of `workspace`.

    Args:
        workspace: Where.
        watch: Says when to stop.
        cache_dir: Where it is remembered between runs.
        tests: Whether tests, examples and the like count as well.
        since: Changes before this do not count.
        churn: Whether changes are counted at all.
    """
    found = Gathered()
    known = Remembered(cache_dir, str(workspace.root))
    listing = list_files(workspace)
    found.notes += [listing.note] if listing.note else []
    found.skipped += [(one.path, 0, one.reason) for one in listing.skipped if is_source(one.path)]
    waiting = [entry for entry in listing.files if not entry.is_link and (tests or not is_aside(entry.path))]
    sources = [entry for entry in waiting if is_source(entry.path)]
    for number, entry in enumerate(sources):
        try:
            watch.check()
        except DeadlineExceeded:
            found.left = [one.path for one in sources[number:]]
            break
        _read(workspace, entry, known, found)
    for entry in waiting:
        if entry.path.rpartition("/")[2] in MANIFESTS:
            found.manifests[entry.path] = _text(workspace, entry.path)
    if churn and not found.left:
        found.churn = _churn(workspace, watch, known, since)
    note = known.save()
    found.notes += [note] if note else []
    return found


def _read(workspace: Workspace, entry: FileEntry, known: Remembered, found: Gathered) -> None:
    if entry.size > _LARGEST:
        found.skipped.append((entry.path, 0, f"it holds {entry.size:,} bytes, more than {_LARGEST:,}"))
        return
    try:
        data = workspace.read_bytes(entry.path, max_bytes=_LARGEST)
    except RetinueError as error:  # it vanished, grew, or may not be read
        found.skipped.append((entry.path, 0, error.message))
        return
    key = key_of(entry.path, data)
    structure = known.structure(key)
    if structure is None:
        structure = structure_of(entry.path, data)
        found.parsed += 1
        if not structure.error:
            known.keep(key, structure)
    if structure.error:
        found.skipped.append((entry.path, structure.error_line, structure.error))
    else:
        found.files[entry.path] = structure


def _text(workspace: Workspace, path: str) -> str:
    try:
        return workspace.read_text(path, max_bytes=_LARGEST)
    except RetinueError:
        return ""


def _churn(workspace: Workspace, watch: Watch, known: Remembered, since: datetime | None) -> Churn:
    try:
        git = Git(workspace.root, timeout_s=watch.left_s() or 30.0)
        head = git.head().sha
        key = f"{head} {since.isoformat() if since else ''} {git.prefix}"
        files = known.churn(key)
        is_cut = git.count() > _COMMITS if since is None else False
        if files is None:
            files = _counted(git, watch, since)
            known.keep_churn(key, files)
    except DeadlineExceeded:
        return Churn(why_not="time was up before the history was read")
    except RetinueError as error:
        return Churn(why_not=error.message)
    if head is None:
        return Churn(why_not="the repository has no commits yet")
    return Churn(files, is_cut=is_cut)


def _counted(git: Git, watch: Watch, since: datetime | None) -> dict[str, tuple[int, int]]:
    counts: dict[str, tuple[int, int]] = {}
    now_called: dict[str, str] = {}
    for commit in git.log(limit=_COMMITS, since=since, stat=True):
        watch.check()
        for change in commit.changes or ():
            path = now_called.get(change.path, change.path)
            if change.kind == "renamed" and change.old_path is not None:
                now_called[change.old_path] = path
            commits, lines = counts.get(path, (0, 0))
            counts[path] = commits + 1, lines + (change.insertions or 0) + (change.deletions or 0)
    return counts


def read_date(text: str) -> datetime | None:
    """A day as a moment; None for none.

    Raises:
        InvalidInput: It is no date.
    """
    if not text:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"{text!r} is not a valid date", hint="write it as 2024-03-31", path="/parameters/since"
        ) from None
