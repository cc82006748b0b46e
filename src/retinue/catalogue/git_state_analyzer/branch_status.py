"""`branch_status`: where a branch stands against its base, its upstream and the work tree (G9)."""

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from retinue.agents.port import Reply, RunContext
from retinue.catalogue._prose import Prose, code, listed
from retinue.catalogue._report import Report, plural
from retinue.catalogue._watch import Watch
from retinue.catalogue.git_state_analyzer.parameters import BranchQuery
from retinue.catalogue.git_state_analyzer.repository import by, commit_source, day_of, described, examine, short
from retinue.contract.model import JsonMapping
from retinue.tools.git import Change, FileChange, Git, Head, Status

__all__ = ["branch_status"]

_LISTED: Final = 100
_NAMED: Final = 8
_STATES: Final = ("staged", "changed and not staged", "in conflict", "untracked")


class _Other(NamedTuple):
    """What a branch is compared with. `start` is where they part; None when they share no commit."""

    name: str
    sha: str
    start: str | None
    ahead: int
    behind: int


async def branch_status(run: RunContext, query: BranchQuery) -> Reply:
    """Look at a branch (default: the one checked out) against a base (default: the remote's or usual main branch)."""
    return await examine(run, "branch_status", partial(_look, query=query))


def _look(git: Git, head: Head, report: Report, watch: Watch, *, query: BranchQuery) -> None:
    branch = _spelled(git, query.branch, report)
    side = head if branch in ("", head.branch) else Head(branch, git.resolve(branch))
    upstream = _compared(git, side, _tracked_by(git, side))
    name = _spelled(git, query.base, report) or git.default_base()
    base = _compared(git, side, name) if name and (query.base or name != side.branch) else upstream
    watch.check()
    status = None if git.is_bare() else git.status()
    tree = status if side is head else None
    commits = _commits(git, side, base, report)
    changed = git.diff_files(base.start or base.sha, side.sha) if base and side.sha else []
    figures: JsonMapping = {
        "branch": side.branch,
        "head_sha": side.sha,
        "commits": commits,
        "files": {"committed": _files(changed), "uncommitted": _uncommitted(git, head, tree)},
        **({"base": base.name, "base_sha": base.sha, "merge_base": base.start} if base else {}),
        **({"upstream": upstream.name, "ahead": upstream.ahead, "behind": upstream.behind} if upstream else {}),
        "repository": {
            "bare": git.is_bare(),
            "shallow": git.is_shallow(),
            "detached": bool(head.sha and head.branch is None),
            "empty": head.sha is None,
            **({"clean": status.is_clean} if status else {}),
        },
    }
    report.figures = {name: figure for name, figure in figures.items() if figure is not None}
    if base and commits["total"] > 1:  # the last one is told in a sentence
        rows = [(short(one["sha"]), day_of(one["date"]), one["author"], one["subject"]) for one in commits["messages"]]
        title, kinds = f"Commits that {base.name} has not", {"commit": "source", "date": "time"}
        report.table(title, ("commit", "date", "author", "subject"), rows, kinds=kinds)
    if status and not tree:
        text = "The work tree is on {}, so what is uncommitted there is not told of {}."
        report.note(text, code(head.branch or "a detached HEAD"), code(branch))
    if query.show == "work_tree":
        _say_tree(report, tree, is_bare=git.is_bare())
    _say_branch(report, side, upstream, base)
    if query.show != "work_tree":
        _say_commits(git, report, side, base, changed)
        _say_tree(report, tree, is_bare=git.is_bare())


# What is compared.


def _spelled(git: Git, name: str, report: Report) -> str:
    """`name` as git knows it: a branch that only a remote has may be called by its last part, too."""
    branches = git.branches() if name else []
    remote = [one.name for one in branches if one.is_remote and one.name.partition("/")[2] == name]
    if len(remote) != 1 or any(one.name == name for one in (*branches, *git.tags())):
        return name
    report.note("Read {} as {}.", code(name), code(remote[0]))
    return remote[0]


def _tracked_by(git: Git, side: Head) -> str | None:
    branches = git.branches()
    tracked = next((one.upstream for one in branches if one.name == side.branch and not one.is_remote), None)
    return tracked if any(one.name == tracked for one in branches) else None


def _compared(git: Git, side: Head, name: str | None) -> _Other | None:
    if not name or side.sha is None:
        return None
    sha = git.resolve(name)
    ahead, behind = git.count(f"{sha}..{side.sha}"), git.count(f"{side.sha}..{sha}")
    return _Other(name, sha, git.merge_base(sha, side.sha), ahead, behind)


def _commits(git: Git, side: Head, base: _Other | None, report: Report) -> JsonMapping:
    revisions = f"{base.sha}..{side.sha}" if base else side.sha or "HEAD"
    total = base.ahead if base else git.count(revisions)
    found = [described(commit) for commit in git.log(revisions, limit=_LISTED)]
    if total > _LISTED:
        report.note(f"Of {plural(total, 'commit')} the newest {_LISTED} are described.")
    return {"total": total, "shas": [one["sha"] for one in found], "messages": found}


# Files.


def _files(changes: Sequence[FileChange]) -> JsonMapping:
    """Changes as G9 sorts them: a rename is the old name deleted and the new one added."""
    return {
        "modified": [one.path for one in changes if one.kind in {"modified", "type_changed", "unmerged", "unknown"}],
        "added": [one.path for one in changes if one.kind in {"added", "copied", "renamed"}],
        "deleted": [one.old_path or one.path for one in changes if one.kind in {"deleted", "renamed"}],
        "stat": _stat(changes),
    }


def _stat(changes: Sequence[FileChange]) -> str:
    """The sum, in git's own words."""
    added = sum(one.insertions or 0 for one in changes)
    removed = sum(one.deletions or 0 for one in changes)
    counts = [f"{plural(len(changes), 'file')} changed"] if changes else []
    counts += [f"{plural(added, 'insertion')}(+)"] if added else []
    counts += [f"{plural(removed, 'deletion')}(-)"] if removed else []
    return ", ".join(counts)


def _uncommitted(git: Git, head: Head, tree: Status | None) -> JsonMapping:
    """What differs from HEAD; a file git does not track yet counts as added, and is named apart as well."""
    if tree is None:
        return {**_files(()), "untracked": [], "staged": [], "unmerged": []}
    # Before the first commit there is nothing to compare with.
    changes = git.diff_files("HEAD") if head.sha else [FileChange(one.kind, one.path, one.raw) for one in tree.staged]
    found, untracked = _files(changes), [one.path for one in tree.untracked]
    return {
        **found,
        "added": [*found["added"], *untracked],
        "untracked": untracked,
        "staged": [one.path for one in tree.staged],
        "unmerged": [one.path for one in tree.unmerged],
    }


# The answer.


def _say_branch(report: Report, side: Head, upstream: _Other | None, base: _Other | None) -> None:
    if side.sha is None:
        text = "The repository has no commits yet; its branch will be {}."
        report.say("branch", text, code(side.branch or "?"), source="git status")
        return
    others = [one for one in dict.fromkeys((upstream, base)) if one]
    text = " and ".join(f"{_distance(one.ahead, one.behind)} {{}}" for one in others)
    commits = plural(report.figures["commits"]["total"], "commit")
    text = f"is {text}" if text else f"has {commits}, and there is no other branch to compare it with"
    pieces = [code(side.branch) if side.branch else "A detached HEAD", *(code(one.name) for one in others)]
    report.say("branch", f"{{}} {text}.", *pieces, source=f"git rev-list {short(side.sha)}")


def _distance(ahead: int, behind: int) -> str:
    if not ahead and not behind:
        return "level with"
    if not behind:
        return f"{plural(ahead, 'commit')} ahead of"
    return f"{ahead:,} ahead of and {behind:,} behind" if ahead else f"{plural(behind, 'commit')} behind"


def _say_commits(git: Git, report: Report, side: Head, base: _Other | None, changed: Sequence[FileChange]) -> None:
    if side.sha is None:
        return
    head = next(git.log(side.sha, limit=1))
    report.say("last commit", "Its last commit is by {} on {}: {}.", *by(head), source=commit_source(head))
    if base and changed:
        source = f"git diff {short(base.start or base.sha)} {short(side.sha)}"
        report.say("changes", f"Its commits change {{}}: {_stat(changed)}.", _paths(changed), source=source)


def _say_tree(report: Report, tree: Status | None, *, is_bare: bool) -> None:
    if is_bare:
        text = "The repository is bare: it has no work tree, and nothing can be uncommitted."
        report.say("work tree", text, source="git rev-parse")
    elif tree and tree.is_clean:
        report.say("work tree", "The work tree is clean: nothing is uncommitted.", source="git status")
    elif tree:
        groups = (tree.staged, tree.unstaged, tree.unmerged, tree.untracked)
        for state, changes in zip(_STATES, groups, strict=True):
            if changes:
                text = f"{plural(len(changes), 'file is', 'files are')} {state}: {{}}."
                report.say("work tree", text, _paths(changes), source="git status")


def _paths(changes: Sequence[Change | FileChange]) -> Prose:
    return listed([code(one.path) for one in changes], _NAMED)
