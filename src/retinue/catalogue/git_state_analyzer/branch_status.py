"""`branch_status`: where a branch stands against its base, its upstream and the work tree (G9)."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from retinue.catalogue._prose import code, first_of
from retinue.catalogue._report import SkillReport, plural
from retinue.catalogue._run_limits import RunDeadline
from retinue.contract.model import JsonMapping
from retinue.contract.sanitize import check_branch_name
from retinue.tools.git.records import FileChange, HeadRef, Status, WorktreeChange
from retinue.tools.git.repository import Git

from .parameters import BranchQuery
from .repository import commit_data, commit_pieces, commit_source, day_of, short_sha

_MAX_COMMITS: Final = 100
_MAX_PATHS: Final = 8
_STATES: Final = ("staged", "changed and not staged", "in conflict", "untracked")


class _CompareTarget(NamedTuple):
    """What a branch is compared with. `start` is where they part; None when they share no commit."""

    name: str
    sha: str
    start: str | None
    ahead: int
    behind: int


def report_branch_status(
    git: Git, head: HeadRef, report: SkillReport, deadline: RunDeadline, *, query: BranchQuery
) -> None:
    """Look at a branch (default: the one checked out) against a base (default: the remote's or usual main branch)."""
    branch = _resolve_name(git, check_branch_name(query.branch) if query.branch else "", report)
    side = head if branch in ("", head.branch) else HeadRef(branch, git.resolve(branch))
    branches = git.branches()
    tracked = next((one.upstream for one in branches if one.name == side.branch and not one.is_remote), None)
    upstream = _compare(git, side, tracked if any(one.name == tracked for one in branches) else None)
    name = _resolve_name(git, query.base, report) or git.default_base()
    base = _compare(git, side, name) if name and (query.base or name != side.branch) else upstream
    deadline.check()
    status = None if git.is_bare() else git.status()
    tree = status if side is head else None
    revisions = f"{base.sha}..{side.sha}" if base else side.sha or "HEAD"
    total = base.ahead if base else git.count(revisions)
    descriptions = [commit_data(commit) for commit in git.log(revisions, limit=_MAX_COMMITS)]
    if total > _MAX_COMMITS:
        report.note(f"Of {plural(total, 'commit')} the newest {_MAX_COMMITS} are described.")
    changes = git.diff_files(base.start or base.sha, side.sha) if base and side.sha else []
    figures: JsonMapping = {
        "branch": side.branch,
        "head_sha": side.sha,
        "commits": {"total": total, "shas": [one["sha"] for one in descriptions], "messages": descriptions},
        "files": {"committed": _file_lists(changes), "uncommitted": _uncommitted_files(git, head, tree)},
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
    if base and total > 1:  # a single one is named in a sentence
        rows = [(short_sha(one["sha"]), day_of(one["date"]), one["author"], one["subject"]) for one in descriptions]
        title, kinds = f"Commits that {base.name} has not", {"commit": "source", "date": "time"}
        report.add_table(title, ("commit", "date", "author", "subject"), rows, kinds=kinds)
    if status and not tree:
        where = code(head.branch or "a detached HEAD")
        report.note(f"The work tree is on {where}, so what is uncommitted there is not told of {code(branch)}.")
    if query.show == "work_tree":
        _report_tree(report, tree, is_bare=git.is_bare())
    _report_branch(report, side, upstream, base)
    if query.show != "work_tree":
        if side.sha:
            last = next(git.log(side.sha, limit=1))
            who, day, subject = commit_pieces(last)
            report.add("last commit", f"Its last commit is by {who} on {day}: {subject}.", source=commit_source(last))
        if base and side.sha and changes:
            source = f"git diff {short_sha(base.start or base.sha)} {short_sha(side.sha)}"
            report.add("changes", f"Its commits change {_path_list(changes)}: {_diff_stat(changes)}.", source=source)
        _report_tree(report, tree, is_bare=git.is_bare())


def _resolve_name(git: Git, name: str, report: SkillReport) -> str:
    """`name` as git knows it: a branch that only a remote has may be called by its last part, too."""
    if not name:
        return name
    branches = git.branches()
    remote = [one.name for one in branches if one.is_remote and one.name.partition("/")[2] == name]
    if len(remote) != 1 or any(one.name == name for one in (*branches, *git.tags())):
        return name
    report.note(f"Read {code(name)} as {code(remote[0])}.")
    return remote[0]


def _compare(git: Git, side: HeadRef, name: str | None) -> _CompareTarget | None:
    if not name or side.sha is None:
        return None
    sha = git.resolve(name)
    ahead, behind = git.count(f"{sha}..{side.sha}"), git.count(f"{side.sha}..{sha}")
    return _CompareTarget(name, sha, git.merge_base(sha, side.sha), ahead, behind)


def _file_lists(changes: Sequence[FileChange]) -> JsonMapping:
    """Changes as G9 sorts them: a rename is the old name deleted and the new one added."""
    return {
        "modified": [one.path for one in changes if one.kind in {"modified", "type_changed", "unmerged", "unknown"}],
        "added": [one.path for one in changes if one.kind in {"added", "copied", "renamed"}],
        "deleted": [one.old_path or one.path for one in changes if one.kind in {"deleted", "renamed"}],
        "stat": _diff_stat(changes),
    }


def _diff_stat(changes: Sequence[FileChange]) -> str:
    """The sum, in git's own words."""
    added, removed = sum(one.insertions or 0 for one in changes), sum(one.deletions or 0 for one in changes)
    counts = ((len(changes), "file", " changed"), (added, "insertion", "(+)"), (removed, "deletion", "(-)"))
    return ", ".join(f"{plural(count, noun)}{end}" for count, noun, end in counts if count)


def _uncommitted_files(git: Git, head: HeadRef, tree: Status | None) -> JsonMapping:
    """What differs from HEAD; a file git does not track yet counts as added, and is named apart as well."""
    if tree is None:
        return {**_file_lists(()), "untracked": [], "staged": [], "unmerged": []}
    # Before the first commit there is nothing to compare with.
    changes = git.diff_files("HEAD") if head.sha else [FileChange(one.kind, one.path, one.raw) for one in tree.staged]
    groups = {"untracked": tree.untracked, "staged": tree.staged, "unmerged": tree.unmerged}
    paths = {name: [one.path for one in group] for name, group in groups.items()}
    file_lists = _file_lists(changes)
    return {**file_lists, "added": [*file_lists["added"], *paths["untracked"]], **paths}


def _report_branch(
    report: SkillReport, side: HeadRef, upstream: _CompareTarget | None, base: _CompareTarget | None
) -> None:
    if side.sha is None:
        text = f"The repository has no commits yet; its branch will be {code(side.branch or '?')}."
        report.add("branch", text, source="git status")
        return
    others = [one for one in dict.fromkeys((upstream, base)) if one]
    parts: list[str] = []
    for name, _, _, ahead, behind in others:
        sides = f"{plural(behind, 'commit')} behind" if behind else "level with"
        sides = f"{plural(ahead, 'commit')} ahead of" if ahead else sides
        sides = f"{ahead:,} ahead of and {behind:,} behind" if ahead and behind else sides
        parts.append(f"{sides} {code(name)}")
    text = " and ".join(parts)
    commits = plural(report.figures["commits"]["total"], "commit")
    text = f"is {text}" if text else f"has {commits}, and there is no other branch to compare it with"
    branch = code(side.branch) if side.branch else "A detached HEAD"
    report.add("branch", f"{branch} {text}.", source=f"git rev-list {short_sha(side.sha)}")


def _report_tree(report: SkillReport, tree: Status | None, *, is_bare: bool) -> None:
    if is_bare:
        text = "The repository is bare: it has no work tree, and nothing can be uncommitted."
        report.add("work tree", text, source="git rev-parse")
    elif tree and tree.is_clean:
        report.add("work tree", "The work tree is clean: nothing is uncommitted.", source="git status")
    elif tree:
        groups = (tree.staged, tree.unstaged, tree.unmerged, tree.untracked)
        for state, changes in zip(_STATES, groups, strict=True):
            if changes:
                text = f"{plural(len(changes), 'file is', 'files are')} {state}: {_path_list(changes)}."
                report.add("work tree", text, source="git status")


def _path_list(changes: Sequence[WorktreeChange | FileChange]) -> str:
    return first_of([code(one.path) for one in changes], _MAX_PATHS)
