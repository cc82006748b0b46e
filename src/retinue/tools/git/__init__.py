"""A repository's history and state, read by the `git` binary, also when the repository is hostile.

It only reads: nothing here commits, checks out, fetches or writes a configuration. What is done against hostile
repositories stands in `runner`; how git's output is read, in `parse`; the verbs, in `repository`; an
index, so that a history is walked only once, in `commit_index`.
"""

from retinue.tools.git.records import (
    BlameLine,
    Branch,
    ChangeKind,
    Commit,
    FileChange,
    HeadRef,
    Status,
    Tag,
    TreeEntry,
    WorktreeChange,
)
from retinue.tools.git.repository import Git

__all__ = [
    "BlameLine",
    "Branch",
    "ChangeKind",
    "Commit",
    "FileChange",
    "Git",
    "HeadRef",
    "Status",
    "Tag",
    "TreeEntry",
    "WorktreeChange",
]
