"""`branch_status`: where a branch stands against its base, its upstream and the work tree (G9)."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from retinue.catalogue._prose import Piece, code, one_line
from retinue.catalogue._watch import Watch
from retinue.catalogue.git_state_analyzer.branches import read_lacking, spelled
from retinue.catalogue.git_state_analyzer.form import tasks_in
from retinue.catalogue.git_state_analyzer.moments import day_of
from retinue.catalogue.git_state_analyzer.report import Report, by, commit_source, plural, short
from retinue.catalogue.git_state_analyzer.repository import Standing, standing_of
from retinue.contract.model import JsonMapping
from retinue.contract.table import Column, Table
from retinue.tools.git import Change, Commit, FileChange, Git, Status

__all__ = ["branch_status", "described", "say_state"]

_LISTED: Final = 100
_SHAS: Final = 1000
_NAMED: Final = 8
_ROWS: Final = 20
_ABOUT_FILES: Final = re.compile(
    r"\b(?:uncommitted|unstaged|staged|untracked|dirty|clean|(?:working|work) ?tree|changes)\b", re.IGNORECASE
)
_ABOUT_BRANCH: Final = re.compile(r"\b(?:branch\w*|commits?|last|latest|who)\b", re.IGNORECASE)
_ABOUT_UPSTREAM: Final = re.compile(r"\b(?:ahead|behind|unpushed|push(?:ed)?|pull|diverged?|sync)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Side:
    """A branch to look at: `name` is None for a detached HEAD, `sha` before the first commit."""

    name: str | None
    sha: str | None
    current: bool


@dataclass(frozen=True, slots=True)
class _Against:
    """What a branch is compared with. `start` is where it left it; None when they share no commit."""

    name: str
    sha: str
    start: str | None


def branch_status(git: Git, watch: Watch, *, question: str, branch: str, base: str) -> Report:
    """Look at `branch` (default: the one checked out) against `base` (default: the remote's or usual main branch)."""
    report = Report()
    standing = standing_of(git, report)
    if told := None if branch else read_lacking(question):
        branch, base = told.branch, told.base
    branch, base = spelled(git, branch, report), spelled(git, base, report)
    side = _side(git, standing, branch)
    against = _against(git, side, base)
    watch.check()
    status = None if standing.bare else git.status()
    commits = _commits(git, side, against, report)
    watch.check()
    changed = git.diff_files(against.start or against.sha, side.sha) if against and side.sha else []
    touched = git.diff_files("HEAD") if status and standing.head.sha and _tracked(status) else []
    report.figures = {
        **({"branch": side.name} if side.name else {}),
        **({"head_sha": side.sha} if side.sha else {}),
        "commits": commits,
        "files": {"committed": _files(changed), "uncommitted": _uncommitted(status, touched, side)},
        **_comparison(git, side, against, status),
        "repository": {**standing.facts(), **({"clean": status.is_clean} if status else {})},
    }
    if against and commits["total"] > 1:  # the last one is told in a sentence
        report.tables.append(_ahead(against, commits))
    if status and not side.current:
        report.note(
            "The work tree is on {}, so what is uncommitted there is not told of {}.",
            code(standing.head.branch or "a detached HEAD"),
            code(side.name or ""),
        )
    _say(git, report, question=question, side=side, standing=standing, against=against, status=status, changed=changed)
    return report


def say_state(git: Git, report: Report, standing: Standing, question: str) -> None:
    """Say where the checked-out branch stands, for a question about that in the middle of another operation."""
    side = _side(git, standing, "")
    against = _against(git, side, "")
    status = None if standing.bare else git.status()
    _say(git, report, question=question, side=side, standing=standing, against=against, status=status)


# What is compared.


def _side(git: Git, standing: Standing, branch: str) -> _Side:
    if not branch or branch == standing.head.branch:
        return _Side(standing.head.branch, standing.head.sha, current=True)
    return _Side(branch, git.resolve(branch), current=False)


def _against(git: Git, side: _Side, base: str) -> _Against | None:
    name = base or _base(git, side)
    if name is None or side.sha is None:
        return None
    sha = git.resolve(name)
    return _Against(name, sha, git.merge_base(sha, side.sha))


def _base(git: Git, side: _Side) -> str | None:
    """The usual base; for the base branch itself what it tracks."""
    default = git.default_base()
    if default is not None and default != side.name:
        return default
    return _upstream(git, side)


def _upstream(git: Git, side: _Side) -> str | None:
    branches = git.branches()
    tracked = next((one.upstream for one in branches if one.name == side.name and not one.is_remote), None)
    return tracked if any(one.name == tracked for one in branches) else None


def _commits(git: Git, side: _Side, against: _Against | None, report: Report) -> JsonMapping:
    if side.sha is None:
        return {"total": 0, "shas": [], "messages": []}
    revisions = f"{against.sha}..{side.sha}" if against else side.sha
    total = git.count(revisions)
    kept = _SHAS if against else _LISTED
    found = list(islice(git.log(revisions, limit=kept), kept))
    if total > _LISTED:
        report.note("Of {} the newest {} are described.", plural(total, "commit"), f"{_LISTED}")
    return {
        "total": total,
        "shas": [commit.sha for commit in found],
        "messages": [described(commit) for commit in found[:_LISTED]],
    }


def _ahead(against: _Against, commits: JsonMapping) -> Table:
    """What the branch has and its base has not, the newest first."""
    columns = (
        Column(name="commit", kind="source"), Column(name="date", kind="time"), Column(name="author"),
        Column(name="subject"),
    )  # fmt: skip
    rows = tuple(
        (short(one["sha"]), day_of(one["date"]), one["author"], one["subject"]) for one in commits["messages"][:_ROWS]
    )
    title = f"Commits that {one_line(against.name)} has not"
    return Table(title=title, columns=columns, rows=rows, total_rows=commits["total"])


def described(commit: Commit) -> JsonMapping:
    """A commit as G9 describes it."""
    return {
        "sha": commit.sha,
        "author": one_line(commit.author),
        "email": one_line(commit.email),
        "date": commit.date,
        "subject": one_line(commit.subject),
        "body": one_line(commit.body, longest=2000),
        "task_references": list(tasks_in(f"{commit.subject}\n{commit.body}")),
    }


def _comparison(git: Git, side: _Side, against: _Against | None, status: Status | None) -> JsonMapping:
    found: JsonMapping = {}
    if against:
        found |= {"base": against.name, "base_sha": against.sha}
        found |= {"merge_base": against.start} if against.start else {}
    upstream = _upstream(git, side)
    if upstream and side.sha:
        found["upstream"] = upstream
        if status and side.current and status.ahead is not None and status.behind is not None:
            found |= {"ahead": status.ahead, "behind": status.behind}
        else:
            found |= {
                "ahead": git.count(f"{upstream}..{side.sha}"),
                "behind": git.count(f"{side.sha}..{upstream}"),
            }
    return found


# Files.


def _files(changes: Sequence[FileChange]) -> JsonMapping:
    """Changes as G9 sorts them: a rename is the old name deleted and the new one added, and told as such too."""
    found: JsonMapping = {
        "modified": [one.path for one in changes if one.kind in {"modified", "type_changed", "unmerged", "unknown"}],
        "added": [one.path for one in changes if one.kind in {"added", "copied", "renamed"}],
        "deleted": [
            one.old_path if one.kind == "renamed" and one.old_path else one.path
            for one in changes
            if one.kind in {"deleted", "renamed"}
        ],
        "stat": _stat(changes),
    }
    renamed = [{"from": one.old_path, "to": one.path} for one in changes if one.kind == "renamed" and one.old_path]
    return {**found, **({"renamed": renamed} if renamed else {})}


def _stat(changes: Sequence[FileChange]) -> str:
    """The sum, in git's own words."""
    if not changes:
        return ""
    added = sum(one.insertions or 0 for one in changes)
    removed = sum(one.deletions or 0 for one in changes)
    words = [f"{plural(len(changes), 'file')} changed"]
    words += [f"{plural(added, 'insertion')}(+)"] if added else []
    words += [f"{plural(removed, 'deletion')}(-)"] if removed else []
    return ", ".join(words)


def _uncommitted(status: Status | None, touched: Sequence[FileChange], side: _Side) -> JsonMapping:
    """What differs from HEAD; a file git does not track yet counts as added, and is named apart as well."""
    if status is None or not side.current:
        return {"modified": [], "added": [], "deleted": [], "stat": "", "untracked": [], "staged": [], "unmerged": []}
    found = _files(touched) if touched else _plain(status)
    untracked = [one.path for one in status.untracked]
    return {
        **found,
        "added": [*found["added"], *untracked],
        "untracked": untracked,
        "staged": [one.path for one in status.staged],
        "unmerged": [one.path for one in status.unmerged],
    }


def _plain(status: Status) -> JsonMapping:
    """The changes before the first commit, when there is nothing to compare with."""

    def names(kinds: set[str]) -> list[str]:
        found: Iterable[Change] = (*status.staged, *status.unstaged)
        return list(dict.fromkeys(one.path for one in found if one.kind in kinds))

    return {"modified": names({"modified"}), "added": names({"added"}), "deleted": names({"deleted"}), "stat": ""}


def _tracked(status: Status) -> bool:
    return bool(status.staged or status.unstaged or status.unmerged)


# The answer.


def _say(
    git: Git,
    report: Report,
    *,
    question: str,
    side: _Side,
    standing: Standing,
    against: _Against | None,
    status: Status | None,
    changed: Sequence[FileChange] = (),
) -> None:
    first = len(report.statements)
    about_files = _ABOUT_FILES.search(question) is not None and not _ABOUT_UPSTREAM.search(question)
    tree_only = about_files and not _ABOUT_BRANCH.search(question)
    if side.sha is None:
        report.say(
            "branch",
            "The repository has no commits yet; its branch will be {}.",
            code(side.name or "?"),
            source="git status",
        )
    else:
        _say_branch(git, report, side, against)
        if not tree_only:
            head = next(git.log(side.sha, limit=1))
            report.say("last commit", "Its last commit is by {} on {}: {}.", *by(head), source=commit_source(head))
        if against and changed:
            named = [code(one.path) for one in changed[:_NAMED]]
            slots = f"{', '.join(['{}'] * len(named))}{_more(changed)}"
            source = f"git diff {short(against.start or against.sha)} {short(side.sha)}"
            report.say("changes", f"Its commits change {slots}: {_stat(changed)}.", *named, source=source)
    placed = len(report.statements)
    if status and side.current:
        _say_tree(report, status)
    elif standing.bare:
        report.say(
            "work tree",
            "The repository is bare: it has no work tree, and nothing can be uncommitted.",
            source="git rev-parse",
        )
    if about_files:
        report.statements[first:] = [*report.statements[placed:], *report.statements[first:placed]]


def _say_branch(git: Git, report: Report, side: _Side, against: _Against | None) -> None:
    sha = side.sha or ""
    where: tuple[Piece | str, ...] = (code(side.name),) if side.name else ("A detached HEAD",)
    facts = _comparison(git, side, None, None)
    compared: list[Piece | str] = []
    template = "{}"
    if "upstream" in facts:
        template += " is " + _distance(facts["ahead"], facts["behind"]) + " {}"
        compared.append(code(facts["upstream"]))
    if against and against.name != facts.get("upstream"):
        ahead, behind = git.count(f"{against.sha}..{sha}"), git.count(f"{sha}..{against.sha}")
        template += (" and " if compared else " is ") + _distance(ahead, behind) + " {}"
        compared.append(code(against.name))
    if not compared:
        template += " has {}, and there is no other branch to compare it with"
        compared.append(plural(git.count(sha), "commit"))
    report.say("branch", f"{template}.", *where, *compared, source=f"git rev-list {short(sha)}")


def _more(items: Sequence[object]) -> str:
    return f" and {len(items) - _NAMED:,} more" if len(items) > _NAMED else ""


def _distance(ahead: int, behind: int) -> str:
    if not ahead and not behind:
        return "level with"
    if not behind:
        return f"{plural(ahead, 'commit')} ahead of"
    if not ahead:
        return f"{plural(behind, 'commit')} behind"
    return f"{ahead:,} ahead of and {behind:,} behind"


def _say_tree(report: Report, status: Status) -> None:
    if status.is_clean:
        report.say("work tree", "The work tree is clean: nothing is uncommitted.", source="git status")
        return
    groups = (
        ("staged", status.staged),
        ("changed and not staged", status.unstaged),
        ("in conflict", status.unmerged),
        ("untracked", status.untracked),
    )
    for words, changes in groups:
        if changes:
            named = [code(one.path) for one in changes[:_NAMED]]
            slots = ", ".join(["{}"] * len(named))
            report.say(
                "work tree",
                f"{plural(len(changes), 'file is', 'files are')} {words}: {slots}{_more(changes)}.",
                *named,
                source="git status",
            )
