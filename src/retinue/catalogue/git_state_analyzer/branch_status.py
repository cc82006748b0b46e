"""`branch_status`: where a branch stands against its base, its upstream and the work tree (G9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from retinue.catalogue._prose import Piece, code
from retinue.catalogue._report import Report, plural
from retinue.catalogue._watch import Watch
from retinue.catalogue.git_state_analyzer.parameters import BranchQuery
from retinue.catalogue.git_state_analyzer.repository import (
    by,
    commit_source,
    day_of,
    described,
    head_of,
    short,
    with_commands,
)
from retinue.contract.model import JsonMapping
from retinue.tools.git import FileChange, Git, Head, Status

__all__ = ["branch_status"]

_LISTED: Final = 100
_SHAS: Final = 1000
_NAMED: Final = 8
_STATES: Final = ("staged", "changed and not staged", "in conflict", "untracked")


@dataclass(frozen=True, slots=True)
class _Side:
    """A branch to look at: `name` is None for a detached HEAD, `sha` before the first commit."""

    name: str | None
    sha: str | None
    is_current: bool


@dataclass(frozen=True, slots=True)
class _Base:
    """What a branch is compared with. `start` is where it left it; None when they share no commit."""

    name: str
    sha: str
    start: str | None


def branch_status(git: Git, watch: Watch, query: BranchQuery) -> Report:
    """Look at a branch (default: the one checked out) against a base (default: the remote's or usual main branch)."""
    report = Report()
    head = head_of(git, report)
    side = _side(git, head, _spelled(git, query.branch, report))
    tracked = _tracked_by(git, side)
    base = _base(git, side, _spelled(git, query.base, report), tracked)
    watch.check()
    status = None if git.is_bare() else git.status()
    commits = _commits(git, side, base, report)
    watch.check()
    changed = git.diff_files(base.start or base.sha, side.sha) if base and side.sha else []
    report.figures = {
        **({"branch": side.name} if side.name else {}),
        **({"head_sha": side.sha} if side.sha else {}),
        "commits": commits,
        "files": {"committed": _files(changed), "uncommitted": _uncommitted(git, head, side, status)},
        **({"base": base.name, "base_sha": base.sha} if base else {}),
        **({"merge_base": base.start} if base and base.start else {}),
        **_upstream(git, side, status, tracked),
        "repository": {
            "bare": git.is_bare(),
            "shallow": git.is_shallow(),
            "detached": bool(head.sha and head.branch is None),
            "empty": head.sha is None,
            **({"clean": status.is_clean} if status else {}),
        },
    }
    if base and commits["total"] > 1:  # the last one is told in a sentence
        rows = [(short(one["sha"]), day_of(one["date"]), one["author"], one["subject"]) for one in commits["messages"]]
        title, kinds = f"Commits that {base.name} has not", {"commit": "source", "date": "time"}
        report.table(title, ("commit", "date", "author", "subject"), rows, kinds=kinds)
    if status and not side.is_current:
        report.note(
            "The work tree is on {}, so what is uncommitted there is not told of {}.",
            code(head.branch or "a detached HEAD"),
            code(side.name or ""),
        )
    if query.show == "work_tree":
        _say_tree(report, side, status)
        _say_branch(git, report, side, base)
    else:
        _say_branch(git, report, side, base)
        _say_commits(git, report, side, base, changed)
        _say_tree(report, side, status)
    return with_commands(report, git)


# What is compared.


def _spelled(git: Git, name: str, report: Report) -> str:
    """`name` as git knows it: a branch that only a remote has may be called by its last part, too."""
    branches = git.branches() if name else []
    remote = [one.name for one in branches if one.is_remote and one.name.partition("/")[2] == name]
    if len(remote) != 1 or any(one.name == name for one in (*branches, *git.tags())):
        return name
    report.note("Read {} as {}.", code(name), code(remote[0]))
    return remote[0]


def _side(git: Git, head: Head, branch: str) -> _Side:
    if not branch or branch == head.branch:
        return _Side(head.branch, head.sha, is_current=True)
    return _Side(branch, git.resolve(branch), is_current=False)


def _base(git: Git, side: _Side, name: str, tracked: str) -> _Base | None:
    """What is named, else the usual base; for the base branch itself what it tracks."""
    if not name:
        default = git.default_base()
        name = default if default is not None and default != side.name else tracked
    if not name or side.sha is None:
        return None
    sha = git.resolve(name)
    return _Base(name, sha, git.merge_base(sha, side.sha))


def _tracked_by(git: Git, side: _Side) -> str:
    branches = git.branches()
    tracked = next((one.upstream for one in branches if one.name == side.name and not one.is_remote), None)
    return tracked if tracked and any(one.name == tracked for one in branches) else ""


def _upstream(git: Git, side: _Side, status: Status | None, upstream: str) -> JsonMapping:
    if not upstream or not side.sha:
        return {}
    if status and side.is_current and status.ahead is not None and status.behind is not None:
        return {"upstream": upstream, "ahead": status.ahead, "behind": status.behind}
    ahead, behind = git.count(f"{upstream}..{side.sha}"), git.count(f"{side.sha}..{upstream}")
    return {"upstream": upstream, "ahead": ahead, "behind": behind}


def _commits(git: Git, side: _Side, base: _Base | None, report: Report) -> JsonMapping:
    if side.sha is None:
        return {"total": 0, "shas": [], "messages": []}
    revisions = f"{base.sha}..{side.sha}" if base else side.sha
    total, most = git.count(revisions), _SHAS if base else _LISTED
    found = list(islice(git.log(revisions, limit=most), most))
    if total > _LISTED:
        report.note("Of {} the newest {} are described.", plural(total, "commit"), f"{_LISTED}")
    messages = [described(commit) for commit in found[:_LISTED]]
    return {"total": total, "shas": [commit.sha for commit in found], "messages": messages}


# Files.


def _files(changes: Sequence[FileChange]) -> JsonMapping:
    """Changes as G9 sorts them: a rename is the old name deleted and the new one added, and told as such too."""
    renamed = [{"from": one.old_path, "to": one.path} for one in changes if one.kind == "renamed" and one.old_path]
    return {
        "modified": [one.path for one in changes if one.kind in {"modified", "type_changed", "unmerged", "unknown"}],
        "added": [one.path for one in changes if one.kind in {"added", "copied", "renamed"}],
        "deleted": [
            one.old_path if one.kind == "renamed" and one.old_path else one.path
            for one in changes
            if one.kind in {"deleted", "renamed"}
        ],
        "stat": _stat(changes),
        **({"renamed": renamed} if renamed else {}),
    }


def _stat(changes: Sequence[FileChange]) -> str:
    """The sum, in git's own words."""
    added = sum(one.insertions or 0 for one in changes)
    removed = sum(one.deletions or 0 for one in changes)
    counts = [f"{plural(len(changes), 'file')} changed"] if changes else []
    counts += [f"{plural(added, 'insertion')}(+)"] if added else []
    counts += [f"{plural(removed, 'deletion')}(-)"] if removed else []
    return ", ".join(counts)


def _uncommitted(git: Git, head: Head, side: _Side, status: Status | None) -> JsonMapping:
    """What differs from HEAD; a file git does not track yet counts as added, and is named apart as well."""
    if status is None or not side.is_current:
        return {**_files(()), "untracked": [], "staged": [], "unmerged": []}
    if head.sha:
        is_changed = status.staged or status.unstaged or status.unmerged
        found: JsonMapping = _files(git.diff_files("HEAD") if is_changed else ())
    else:  # before the first commit there is nothing to compare with
        found = {
            kind: list(dict.fromkeys(one.path for one in (*status.staged, *status.unstaged) if one.kind == kind))
            for kind in ("modified", "added", "deleted")
        } | {"stat": ""}
    untracked = [one.path for one in status.untracked]
    return {
        **found,
        "added": [*found["added"], *untracked],
        "untracked": untracked,
        "staged": [one.path for one in status.staged],
        "unmerged": [one.path for one in status.unmerged],
    }


# The answer.


def _say_branch(git: Git, report: Report, side: _Side, base: _Base | None) -> None:
    if side.sha is None:
        text = "The repository has no commits yet; its branch will be {}."
        report.say("branch", text, code(side.name or "?"), source="git status")
        return
    parts, pieces = list[str](), list[Piece | str]()
    figures, total = report.figures, report.figures["commits"]["total"]
    if upstream := figures.get("upstream"):
        parts.append(f"{_distance(figures['ahead'], figures['behind'])} {{}}")
        pieces.append(code(upstream))
    if base and base.name != upstream:
        parts.append(f"{_distance(total, git.count(f'{side.sha}..{base.sha}'))} {{}}")
        pieces.append(code(base.name))
    count = plural(total, "commit")
    text = f"is {' and '.join(parts)}" if parts else f"has {count}, and there is no other branch to compare it with"
    where = code(side.name) if side.name else "A detached HEAD"
    report.say("branch", f"{{}} {text}.", where, *pieces, source=f"git rev-list {short(side.sha)}")


def _distance(ahead: int, behind: int) -> str:
    if not ahead and not behind:
        return "level with"
    if not behind:
        return f"{plural(ahead, 'commit')} ahead of"
    return f"{ahead:,} ahead of and {behind:,} behind" if ahead else f"{plural(behind, 'commit')} behind"


def _say_commits(git: Git, report: Report, side: _Side, base: _Base | None, changed: Sequence[FileChange]) -> None:
    if side.sha is None:
        return
    head = next(git.log(side.sha, limit=1))
    report.say("last commit", "Its last commit is by {} on {}: {}.", *by(head), source=commit_source(head))
    if base and changed:
        slots, pieces = _listed([one.path for one in changed])
        source = f"git diff {short(base.start or base.sha)} {short(side.sha)}"
        report.say("changes", f"Its commits change {slots}: {_stat(changed)}.", *pieces, source=source)


def _say_tree(report: Report, side: _Side, status: Status | None) -> None:
    if status is None:
        text = "The repository is bare: it has no work tree, and nothing can be uncommitted."
        report.say("work tree", text, source="git rev-parse")
    elif side.is_current and status.is_clean:
        report.say("work tree", "The work tree is clean: nothing is uncommitted.", source="git status")
    elif side.is_current:
        groups = (status.staged, status.unstaged, status.unmerged, status.untracked)
        for state, changes in zip(_STATES, groups, strict=True):
            if changes:
                slots, pieces = _listed([one.path for one in changes])
                text = f"{plural(len(changes), 'file is', 'files are')} {state}: {slots}."
                report.say("work tree", text, *pieces, source="git status")


def _listed(paths: Sequence[str]) -> tuple[str, list[Piece]]:
    """The first of some paths, and how many more there are, for a sentence."""
    more = f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else ""
    return f"{', '.join(['{}'] * len(paths[:_NAMED]))}{more}", [code(path) for path in paths[:_NAMED]]
