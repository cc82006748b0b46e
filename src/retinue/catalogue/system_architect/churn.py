"""How often each file was changed, under the name it has now; kept between runs by the commit it was counted from."""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from retinue.catalogue._remembered import Rows, content_key
from retinue.catalogue._watch import Watch
from retinue.errors import DeadlineExceeded, RetinueError
from retinue.tools.git import Git
from retinue.tools.workspace import Workspace

__all__ = ["MOST_COMMITS", "Churn", "count_churn"]

MOST_COMMITS: Final = 3000


@dataclass(slots=True)
class Churn:
    """In how many commits each file was changed, and how many lines.

    Attributes:
        why_not: Why there are no figures; empty when there are.
        is_cut: Only the newest commits were counted.
    """

    files: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    why_not: str = ""
    is_cut: bool = False


def count_churn(workspace: Workspace, watch: Watch, cache_dir: Path | None, since: datetime | None) -> Churn:
    """Count the changes since a moment, or all; what keeps them from being counted is said and not raised."""
    rows = TypeAdapter(Churn)
    known = Rows(
        cache_dir, str(workspace.root), name="churn", version=2, read=rows.validate_python, write=rows.dump_python
    )
    try:
        git = Git(workspace.root, timeout_s=watch.left_s() or 30.0)
        head = git.head().sha
        if head is None:
            return Churn(why_not="the repository has no commits yet")
        key = content_key("churn", f"{head} {since.isoformat() if since else ''} {git.prefix}".encode())
        churn = known.get(key)
        if churn is None:
            churn = _count(git, watch, since)
            known.save({key: churn}, [key])
    except DeadlineExceeded:
        return Churn(why_not="time was up before the history was read")
    except RetinueError as error:
        return Churn(why_not=error.message)
    return churn


def _count(git: Git, watch: Watch, since: datetime | None) -> Churn:
    churn = Churn()
    new_names: dict[str, str] = {}
    for number, commit in enumerate(git.log(limit=MOST_COMMITS + 1, since=since, stat=True)):
        watch.check()
        if number == MOST_COMMITS:
            churn.is_cut = True
            break
        for change in commit.changes or ():
            path = new_names.get(change.path, change.path)
            if change.kind == "renamed" and change.old_path is not None:
                new_names[change.old_path] = path
            commits, lines = churn.files.get(path, (0, 0))
            churn.files[path] = commits + 1, lines + (change.insertions or 0) + (change.deletions or 0)
    return churn
