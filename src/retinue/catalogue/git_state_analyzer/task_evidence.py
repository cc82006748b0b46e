"""What the history shows of each task, and `task_validation`: what tickets say of their tasks, against that (G10).

A commit is evidence for the tickets that its subject names, or a list in its body, as a squash makes; without any,
for those that its body names, or else the merge that brought it. Commits that only plan are none: they touch tickets,
or beside them Markdown that the ticket does not name.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple, get_args

from retinue.catalogue._prose import code, first_of, one_line, quote
from retinue.catalogue._report import SkillReport, plural
from retinue.catalogue._run_limits import RunDeadline
from retinue.catalogue.tickets import Ticket, TicketTree, TicketVocabulary
from retinue.catalogue.tickets.ticket_work import tickets_below
from retinue.catalogue.tickets.vocabulary import TicketStatus
from retinue.errors import AccessDenied, MissingFile, NotInstalled, Unavailable
from retinue.tools.git.commit_index import CommitIndex, Selection
from retinue.tools.git.repository import Git
from retinue.tools.workspace import Workspace

from .parameters import DriftQuery, GitEvidence, TaskQuery, TaskVerdict, Verdict
from .repository import commands_run, open_repository, parse_bound, short_sha

_SQUASH_LINE: Final = re.compile(r"(?:\* |[*-] (?=[a-z]{1,12}\())(?:(?P<type>[a-z]{1,12})\()?")
"""What a subject stands behind in the body of a squash."""
_PLANNING: Final = frozenset({"docs", "plan", "chore", "style"})
"""Types of commits that do not do what the tickets say that they name in passing."""
_TYPE: Final = re.compile(r"[a-z]{1,12}(?=[(:!])")
_PIECES: Final = re.compile(r"[\s/'\"(\[:,]+")
_CUT_OFF: Final = {"time": "time was up before all was read", "cap": "there are too many to keep"}
_ENOUGH: Final = 0.5
_MAX_STATED: Final = 20
_MAX_LISTED: Final = 50
BASIS: Final = (
    "The share of the rules of evidence that say the same as the verdict: a commit names the task, the files that it"
    " names were touched, its actual hours are recorded, the base has its commits (tests are assumed to pass then)."
)


class NamedCommit(NamedTuple):
    """A commit, what it touched, and whether the base has it."""

    sha: str
    subject: str
    paths: tuple[str, ...]
    is_merged: bool


@dataclass(frozen=True, slots=True)
class TicketCommits:
    """The commits that a revision reaches, newest first, merges left out."""

    by_ticket: Mapping[str, Sequence[NamedCommit]] = field(default_factory=dict[str, Sequence[NamedCommit]])
    subjects: Mapping[str, str] = field(default_factory=dict[str, str])  # by id, of those since the moment asked about
    cut_off: str = "there is no repository"  # why older ones are missing; empty when none are

    def is_merged(self, ticket_id: str) -> bool:
        """Whether the base has every commit that names a ticket."""
        return all(one.is_merged for one in self.by_ticket.get(ticket_id, ()))


def ids_in(subject: str, body: str, words: TicketVocabulary) -> tuple[str, ...]:
    """The tickets that a message says a commit is for: those of its subject, and the tasks that a squash lists."""
    ids = [match[0] for match in words.reference.finditer(subject)]
    tops, own_type = set(ids), _TYPE.match(subject)
    if own_type is None or own_type[0] not in _PLANNING:
        for row in body.splitlines():
            start = _SQUASH_LINE.match(row)
            if start and start["type"] not in _PLANNING and (match := words.reference.match(row, start.end())):
                place: str | None = match[0]
                while tops and place and place not in tops:  # of a story, only its own tasks
                    place = words.parent_id(place)
                ids += [match[0]] if place else []
    if not ids:
        ids = [match[0] for match in words.reference.finditer(body)]
    return tuple(dict.fromkeys(ids))


def _branch_ids(subject: str, words: TicketVocabulary) -> tuple[str, ...]:
    """The tickets that the branches are named by in the message of a merge."""
    matches = (words.name_start.match(piece) for piece in _PIECES.split(subject))
    return tuple(dict.fromkeys(match[0] for match in matches if match))


def _brought_by(parents: Mapping[str, Sequence[str]], head: str) -> dict[str, str]:
    """The commit of the first-parent line that brought each commit into it: itself, or a merge."""
    line = [head]
    while above := parents.get(line[-1]):
        line.append(above[0])
    owner: dict[str, str] = {}
    for merge in reversed(line):
        owner[merge] = merge
        stack = list(parents.get(merge, ())[1:])
        while stack:
            sha = stack.pop()
            if sha not in owner and sha in parents:
                owner[sha] = merge
                stack += parents[sha]
    return owner


def read_commits(
    index: CommitIndex, git: Git, tree: TicketTree, *, revision: str, base: str, since: datetime | None
) -> TicketCommits:
    """The commits of `revision`, by the tickets of `tree` that they name."""
    reason = index.refresh()
    cut_off = _CUT_OFF[reason] if reason else "the clone is shallow" if git.is_shallow() else ""
    index.select(Selection(revision=revision))
    rows = [(sha, parents.split(), subject, body) for sha, parents, subject, body in index.history()]
    if not rows:
        return TicketCommits(cut_off="there are no commits")
    unmerged = set(git.shas(f"{base}..{revision}")) if base else set[str]()
    owner = _brought_by({sha: parents for sha, parents, _, _ in rows}, rows[0][0])
    words = tree.vocabulary
    heads = {re.split("[#*]", pattern)[0] for pattern in words.ids.values()}
    ids: dict[str, tuple[str, ...]] = {}
    for sha, parents, subject, body in rows:
        if any(head in subject or head in body for head in heads):  # far quicker than to look for ids
            ids_here = _branch_ids(subject, words) if len(parents) > 1 else ids_in(subject, body, words)
            ids |= {sha: ids_here} if ids_here else {}
    ids |= {sha: ids[owner[sha]] for sha, *_ in rows if sha not in ids and owner.get(sha) in ids}
    touched = index.touched_paths(sha for sha, *_ in rows if sha in ids)
    by_ticket: dict[str, list[NamedCommit]] = {}
    subjects = {sha: subject for sha, parents, subject, _ in rows if len(parents) < 2}
    for sha, subject in subjects.items():
        one = NamedCommit(sha, subject, tuple(touched.get(sha, ())), sha not in unmerged)
        for ticket_id in ids.get(sha, ()):
            by_ticket.setdefault(ticket_id, []).append(one)
    if since is not None:
        index.select(Selection(revision=revision, since=since))
        subjects = {sha: subjects[sha] for sha, *_ in index.history() if sha in subjects}
    return TicketCommits(by_ticket, subjects, cut_off)


@dataclass
class TaskEvidence:
    """Holds `tickets` of a tree against commits; `has_path` says whether any ever touched a file or folder."""

    tree: TicketTree
    tickets: Sequence[Ticket]
    commits: TicketCommits = field(default_factory=TicketCommits)
    has_path: Callable[[str], bool] = lambda _: False

    @cached_property
    def ticket_paths(self) -> frozenset[str]:
        """Where the tickets lie."""
        return frozenset(ticket.path for ticket in self.tree.tickets)

    def is_ticket_path(self, path: str) -> bool:
        """Whether a ticket lies or lay there; or it is the submodule that they lie in."""
        words = self.tree.vocabulary
        if path in self.ticket_paths or path == ".gitmodules":
            return True
        if any(f"{path}/".startswith(f"{folder}/") for folder in words.folders):
            return True
        return path.endswith(".md") and words.name_start.match(words.place_name(path)) is not None

    def expected_files(self, ticket: Ticket) -> list[str]:
        """The files and folders that a ticket names, tickets and what lies outside of the repository left out."""
        return [
            name
            for name in (one.target for one in ticket.targets("file"))
            if name[0] not in "~/" and not name.startswith("../") and set("*[]{}<>$").isdisjoint(name)
            if (name.endswith("/") or "." in posixpath.basename(name)) and not self.is_ticket_path(name)
        ]

    def work_on(self, ticket_id: str, expected: Sequence[str]) -> list[NamedCommit]:
        """The commits that name a ticket and do more than plan: Markdown alone counts where it is `expected`."""

        def is_work(commit: NamedCommit) -> bool:
            others = [path for path in commit.paths if not self.is_ticket_path(path)]
            if len(others) == len(commit.paths):
                return bool(others)
            return any(not path.endswith(".md") or _fits(path, *expected) for path in others)

        return [one for one in self.commits.by_ticket.get(ticket_id, ()) if is_work(one)]

    def evidence_of(self, ticket: Ticket) -> GitEvidence:
        """What the history has of a task."""
        expected, through = self.expected_files(ticket), None
        work = self.work_on(ticket.ticket_id, expected)
        for above in self.tree.ancestors(ticket.ticket_id)[:1] if not work else ():
            # What names only the story counts for the story; for a task of it as far as it touched the task's files.
            shared = self.work_on(above, expected)
            shared = [one for one in shared if not expected or any(_fits(path, *expected) for path in one.paths)]
            if shared and _enough_files(expected, shared) is not False:
                work, through = shared, above
        paths = dict.fromkeys(path for one in work for path in one.paths if not self.is_ticket_path(path))
        return GitEvidence(
            found=bool(work), commits=[one.sha for one in work[:_MAX_LISTED]], files_modified=[*paths],
            commit_messages=[one_line(one.subject) for one in work[:_MAX_LISTED]],
            expected_files=expected, files_match=_enough_files(expected, work), through=through,
            hours_recorded=bool(ticket.number("actual")) if "actual" in ticket.fields else None,
            merged=all(one.is_merged for one in work) if work else None,
        )  # fmt: skip

    def real_status(self, ticket: Ticket, evidence: GitEvidence, rules: Sequence[bool | None]) -> TicketStatus | None:
        """The status that the history shows a task to have, by the rules of evidence; None when it cannot be told."""
        if ticket.status == "done" and not evidence.is_found:
            expected = [name for name in evidence.expected_files if "/" in name]
            if sum(map(self.has_path, expected)) > len(expected) * _ENOUGH:
                return "done"
            claims = (_TYPE.match(one.subject) for one in self.commits.by_ticket.get(ticket.ticket_id, ()))
            is_claimed = not expected and any(claim and claim[0] not in _PLANNING for claim in claims)
            return None if is_claimed or self.commits.cut_off or not self.commits.by_ticket else "todo"
        if ticket.status in {"todo", "in_progress"} and rules[0]:
            parent = self.tree.parent(ticket.ticket_id)
            rows = parent.targets("child") if parent else ()
            is_listed = any(one.target == ticket.ticket_id and one.status == "done" for one in rows)
            is_complete = evidence.files_match is not False if is_listed else False not in rules
            return "done" if is_complete else "in_progress"
        return ticket.status

    def judge(self, ticket: Ticket) -> tuple[TaskVerdict, TicketStatus] | None:
        """The verdict on a task, and the status that the history shows; None when that cannot be told."""
        evidence, stated = self.evidence_of(ticket), ticket.status
        is_named = evidence.is_found and evidence.through is None
        rules = (is_named, evidence.files_match, evidence.hours_recorded, evidence.merged)
        real = self.real_status(ticket, evidence, rules)
        if real is None or stated is None or ticket.ticket_id in self.tree.same_id:
            return None
        share = rules.count(True) / (len(rules) - rules.count(None))
        verdict: Verdict = "accurate"
        confidence = share if stated == "done" or real != stated else None
        problem = fix = None
        if real != stated and stated == "done":
            verdict, confidence = "ticket_ahead_of_reality", 1 - share
            problem = "It says done; no commit that does more than plan names it."
            fix = "Say that it is not begun, or name it in the commit that did it."
        elif real != stated:
            verdict = "reality_ahead_of_ticket"
            first_shas = first_of(map(short_sha, evidence.commits), 3)
            naming = plural(len(evidence.commits), "commit names", "commits name")
            problem = f"It says {STATUS_WORDS[stated]}; {naming} it, and did more than plan: {first_shas}."
            fix = f"Say that it is {STATUS_WORDS[real]}."
        elif stated == "todo" and not evidence.is_found:
            confidence = 1 - share
        return TaskVerdict(
            task_id=ticket.ticket_id, path=ticket.path, line=ticket.fields["status"].line, ticket_status=stated,
            git_evidence=evidence, verdict=verdict, problem=problem, fix=fix,
            confidence=None if confidence is None else round(confidence, 2),
        ), real  # fmt: skip


STATUS_WORDS: Final[Mapping[TicketStatus, str]] = {
    "todo": "not begun", "in_progress": "in progress", "blocked": "blocked", "done": "done", "cancelled": "cancelled",
}  # fmt: skip


def _fits(path: str, *names: str) -> bool:
    """Whether `path` is a file, or in a folder, that a ticket names, from the root or by its last parts."""
    return any(f"/{name}" in f"/{path}" if name[-1] == "/" else f"/{path}".endswith(f"/{name}") for name in names)


def _enough_files(expected: Sequence[str], commits: Iterable[NamedCommit]) -> bool | None:
    """Whether `commits` touched half of what is expected; a bare name or a folder cannot lower it. None of nothing."""
    paths = {path for one in commits for path in one.paths}
    hits = {name: any(_fits(path, name) for path in paths) for name in expected}
    counts = [is_hit for name, is_hit in hits.items() if is_hit or ("/" in name and name[-1] != "/")]
    return counts.count(True) >= len(counts) * _ENOUGH if counts else None


def with_evidence(
    tree: TicketTree,
    report: SkillReport,
    deadline: RunDeadline,
    *,
    workspace: Workspace,
    query: TaskQuery,
    cache_dir: Path | None,
    work: Callable[[TaskEvidence, SkillReport], None],
) -> None:
    """Do `work` on the tickets that `query` means and the commits of HEAD, or of the branch that it names.

    Without a repository there are no commits, which the report says.

    Raises:
        RetinueError: There is no such ticket, or no such base.
    """

    def first_files(target: str) -> list[Ticket]:  # of those with one id the first counts
        return [one for one in tickets_below(tree, target) if tree.by_id.get(one.ticket_id) is one]

    try:
        git, head = open_repository(workspace, report, deadline)
        branches = {one.name for one in git.branches()}
    except (MissingFile, AccessDenied, NotInstalled, Unavailable) as error:
        message = f"There is no history to hold tickets against: {quote(error.message)}."
        impact = "No task is judged by its commits; only what tickets say of each other is compared."
        report.warn("missing_data", message, impact=impact, recovery=error.hint)
        work(TaskEvidence(tree, first_files(query.target)), report)
        report.figures["metadata"] = commands_run(None)
        return
    target = query.target.removeprefix("heads/")
    is_branch, base = target in branches, query.base or git.default_base() or ""
    with CommitIndex(git, cache_dir, check=deadline.check) as index:
        since = parse_bound(query.since, "since") if isinstance(query, DriftQuery) else None
        revision = target if is_branch and target != head.branch else "HEAD"
        commits = read_commits(index, git, tree, revision=revision, base=base, since=since)
        branch_ids = _branch_ids(target, tree.vocabulary)
        if is_branch and not branch_ids:
            tickets = [tree.by_id[key] for key in commits.by_ticket if key in tree.by_id and not commits.is_merged(key)]
        else:
            tickets = first_files(branch_ids[-1] if is_branch else target)
        if commits.cut_off and head.sha and not git.is_shallow():
            impact = "Tasks that say done, and that none of the commits read names, are not judged."
            message = f"Older commits are missing: {commits.cut_off}."
            recovery = "Allow more time, or ask again: what was read is remembered."
            report.warn("incomplete_context", message, impact=impact, recovery=recovery)
        if not base:
            report.note("There is no main branch to measure against, so every commit counts as merged.")
        _warn_of_state(git, tree, report)
        work(TaskEvidence(tree, tickets, commits, index.has_path), report)
    report.figures["metadata"] = commands_run(git)


def _warn_of_state(git: Git, tree: TicketTree, report: SkillReport) -> None:
    """Warn of tickets that are in a submodule or in conflict, and say which changes are not committed."""
    paths = {ticket.path for ticket in tree.tickets}
    above = {place for path in paths for place in Path(path).parents} - {Path()}
    submodules = sorted(place.as_posix() for place in above if (git.root / place / ".git").exists())
    if submodules:
        message = f"Tickets lie in a repository of their own: {first_of(map(code, submodules), 3)}."
        impact = "The commits of that one are not read: only those of the repository around it are evidence."
        recovery = "Ask in the work tree of each repository to have its own commits."
        report.warn("incomplete_context", message, impact=impact, recovery=recovery)
    if git.is_bare():
        return
    status, recovery = git.status(), "Resolve the conflict, then ask again."
    if unmerged := [one.path for one in status.unmerged if one.path in paths]:
        message = f"Tickets are in conflict: {first_of(map(code, unmerged), 3)}."
        impact = "What both sides say of them stands in these files, and the first counts."
        report.warn("degraded_analysis", message, impact=impact, recovery=recovery)
    if changed := {one.path for one in (*status.staged, *status.unstaged, *status.untracked)} & paths:
        report.note(f"{plural(len(changed), 'ticket has', 'tickets have')} changes that are not committed; they count.")


def report_task_validation(evidence: TaskEvidence, report: SkillReport) -> None:
    """Hold every task against the commits, and say where they differ (G10)."""
    leaf_kinds = evidence.tree.vocabulary.leaf_kinds
    results = {ticket.ticket_id: evidence.judge(ticket) for ticket in evidence.tickets if ticket.kind in leaf_kinds}
    verdicts = [one[0] for one in results.values() if one]
    left_out = [key for key, one in results.items() if one is None]
    counts = Counter(one.verdict for one in verdicts)
    right, ahead, behind = (counts[verdict] for verdict in get_args(Verdict))
    summary = {"accurate": right, "ticket_ahead": ahead, "reality_ahead": behind, "drift_count": ahead + behind}
    report.figures |= {
        "validated_tasks": [one.to_json() for one in verdicts], "confidence_basis": BASIS, "not_judged": left_out,
        "summary": {"total_tasks": len(verdicts), **summary},
    }  # fmt: skip
    report.add_subjects([one.task_id for one in verdicts if one.verdict != "accurate"])
    text = f"Of {plural(len(verdicts), 'task')} {right:,} say what the commits show"
    report.add("tasks", f"{text}, {ahead:,} say more, and {behind:,} say less.")
    for one in [one for one in verdicts if one.problem][:_MAX_STATED]:
        report.add(one.task_id, f"{code(one.task_id)}: {quote(one.problem or '')}", source=f"{one.path}:{one.line}")
    if left_out:
        why = evidence.commits.cut_off or "they say no status that is known, share their id, or no commit names one"
        report.note(f"{plural(len(left_out), 'task')} cannot be judged ({why}): {first_of(map(code, left_out), 5)}.")
    through = [one.task_id for one in verdicts if one.git_evidence.through]
    if through:
        some = first_of(map(code, through), 5)
        report.note(f"Commits name only what these are part of, and touched the files that they name: {some}.")
    every = [(one, f"{one.path}:{one.line}") for one in sorted(verdicts, key=lambda one: one.verdict == "accurate")]
    rows = [(one.task_id, one.ticket_status, one.verdict, len(one.git_evidence.commits), at) for one, at in every]
    report.add_table("Tasks", ("task", "status", "verdict", "commits", "place"), rows)
