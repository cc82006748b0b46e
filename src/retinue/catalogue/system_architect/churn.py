"""How often each file was changed, under the name it has now; kept between runs by the commit it was counted from."""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from retinue.catalogue._remembered import Rows, content_key
from retinue.catalogue._watch import Watch
from retinue.errors import DeadlineExceeded, RetinueError
from retinue.tools.git import Git
from retinue.tools.workspace import Workspace

__all__ = ["Churn", "count_churn"]

_COMMITS: Final = 3000

_Counts = dict[str, tuple[int, int]]


@dataclass(slots=True)
class Churn:
    """In how many commits each file was changed, and how many lines.

    Attributes:
        why_not: Why there are no figures; empty when there are.
        is_cut: Only the newest commits were counted.
    """

    files: _Counts = field(default_factory=dict[str, tuple[int, int]])
    why_not: str = ""
    is_cut: bool = False


def count_churn(workspace: Workspace, watch: Watch, cache_dir: Path | None, since: datetime | None) -> Churn:
    """Count the changes since a moment, or all; what keeps them from being counted is said and not raised."""
    known = Rows(cache_dir, str(workspace.root), name="churn", version=1, read=_counts_of)
    try:
        git = Git(workspace.root, timeout_s=watch.left_s() or 30.0)
        head = git.head().sha
        if head is None:
            return Churn(why_not="the repository has no commits yet")
        key = content_key("churn", f"{head} {since.isoformat() if since else ''} {git.prefix}".encode())
        files = known.get(key)
        if files is None:
            files = _count(git, watch, since)
            known.save({key: files}, [key])
        return Churn(files, is_cut=since is None and git.count() > _COMMITS)
    except DeadlineExceeded:
        return Churn(why_not="time was up before the history was read")
    except RetinueError as error:
        return Churn(why_not=error.message)


def _counts_of(row: Any) -> _Counts:
    return {str(path): (int(commits), int(lines)) for path, (commits, lines) in dict(row).items()}


def _count(git: Git, watch: Watch, since: datetime | None) -> _Counts:
    counts: _Counts = {}
    new_names: dict[str, str] = {}
    for commit in git.log(limit=_COMMITS, since=since, stat=True):
        watch.check()
        for change in commit.changes or ():
            path = new_names.get(change.path, change.path)
            if change.kind == "renamed" and change.old_path is not None:
                new_names[change.old_path] = path
            commits, lines = counts.get(path, (0, 0))
            counts[path] = commits + 1, lines + (change.insertions or 0) + (change.deletions or 0)
    return counts
