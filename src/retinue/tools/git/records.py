"""What the verbs of `Git` give back: plain values, safe to show.

A path is relative to the workspace's root (`../` when it lies above, in a repository that is larger than the
workspace) and quoted as git quotes it when it holds control characters or bytes that are not UTF-8; `raw` holds the
real bytes. Dates are ISO 8601 with their offset, as the author or committer wrote them.
"""

from collections.abc import Sequence
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


def find_tag(name: str, tags: Sequence[Tag]) -> Tag | None:
    """The tag that a version is called, with or without a `v`, or a last `.0` that is left out."""
    by_name = {tag.name: tag for tag in tags}
    number = name.removeprefix("v")
    choices = (name, number, f"v{number}", f"{number}.0", f"v{number}.0")
    return next((by_name[choice] for choice in choices if choice in by_name), None)


def _version(tag: Tag) -> tuple[str, tuple[int, ...]]:
    """What stands before the numbers at the end of a tag's name, and those numbers: `v1.10` is `v` and 1, 10."""
    kind = tag.name.rstrip("0123456789.")
    return kind, tuple(int(part[:9]) for part in tag.name[len(kind) :].split(".") if part)


def is_older(first: Tag, second: Tag, tags: Sequence[Tag]) -> bool:
    """Whether the first of two tags is the older release."""
    (kind, numbers), (other_kind, other_numbers) = _version(first), _version(second)
    if kind == other_kind and numbers != other_numbers:
        return numbers < other_numbers
    return tags.index(first) > tags.index(second)


def adjacent_tags(tag: Tag, tags: Sequence[Tag]) -> tuple[Tag | None, Tag | None]:
    """The release before a tag, and the one after it: among versions of its kind, else among all tags."""
    kind, numbers = _version(tag)
    alike = [one for one in tags if numbers and _version(one)[0] == kind and _version(one)[1]] or list(tags)
    ordered = sorted(alike, key=lambda one: (_version(one)[1] if numbers else (), -tags.index(one)))
    place = ordered.index(tag)
    return ordered[place - 1] if place else None, next(iter(ordered[place + 1 :]), None)
