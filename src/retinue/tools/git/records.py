"""What the verbs of `Git` give back: plain values, safe to show.

A path is relative to the workspace's root (`../` when it lies above, in a repository that is larger than the
workspace) and quoted as git quotes it when it holds control characters or bytes that are no UTF-8; `raw` holds the
real bytes. Dates are ISO 8601 with their offset, as the author or committer wrote them.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

ChangeKind: TypeAlias = Literal[
    "added", "copied", "deleted", "modified", "renamed", "type_changed", "unmerged", "unknown"
]


@dataclass(frozen=True, slots=True)
class HeadRef:
    """Where HEAD points: `branch` is None when it is detached, `sha` is None before the first commit."""

    branch: str | None
    sha: str | None


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file between two states.

    Attributes:
        kind: What happened to it.
        path: Its name afterwards.
        raw: The bytes of that name, from the top of the repository.
        old_path: Its name before, when it was renamed or copied.
        insertions: Lines added; None for a binary file.
        deletions: Lines removed; None for a binary file.
    """

    kind: ChangeKind
    path: str
    raw: bytes
    old_path: str | None = None
    insertions: int | None = None
    deletions: int | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit.

    Attributes:
        changes: What it did to files; None when it was not asked for, and where git cannot know it: in a merge, and
            at the edge of a shallow clone, where the parent is missing.
    """

    sha: str
    parents: tuple[str, ...]
    author: str
    email: str
    date: str
    committer: str
    committer_date: str
    subject: str
    body: str
    changes: tuple[FileChange, ...] | None = None

    @property
    def is_merge(self) -> bool:
        """Whether it has more than one parent."""
        return len(self.parents) > 1

    @property
    def insertions(self) -> int | None:
        """Lines added in all its text files; None when its changes are not known."""
        return None if self.changes is None else sum(change.insertions or 0 for change in self.changes)

    @property
    def deletions(self) -> int | None:
        """Lines removed in all its text files; None when its changes are not known."""
        return None if self.changes is None else sum(change.deletions or 0 for change in self.changes)


@dataclass(frozen=True, slots=True)
class WorktreeChange:
    """One path that differs from HEAD or the index, without counting lines."""

    kind: ChangeKind
    path: str
    raw: bytes
    old_path: str | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a work tree. `ahead` and `behind` are None when there is no upstream to compare with."""

    head: HeadRef
    upstream: str | None
    ahead: int | None
    behind: int | None
    staged: tuple[WorktreeChange, ...]
    unstaged: tuple[WorktreeChange, ...]
    unmerged: tuple[WorktreeChange, ...]
    untracked: tuple[WorktreeChange, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing differs from HEAD and nothing is untracked."""
        return not (self.staged or self.unstaged or self.unmerged or self.untracked)


@dataclass(frozen=True, slots=True)
class BlameLine:
    """One line of a file and the commit that last touched it; `line` counts from 1."""

    line: int
    text: str
    sha: str
    author: str
    email: str
    time: int
    summary: str


@dataclass(frozen=True, slots=True)
class Branch:
    """A local or remote-tracking branch and its tip."""

    name: str
    sha: str
    is_remote: bool
    upstream: str | None
    date: str
    subject: str


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag and the commit (or other object) it names in the end."""

    name: str
    sha: str
    date: str
    subject: str


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One file of a commit, from the top of the repository."""

    path: str
    is_link: bool
