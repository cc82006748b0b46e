"""What the skills give, as types (G9 to G12)."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from retinue.catalogue._report import ReportData
from retinue.contract.model import Count, Many, Model

__all__ = [
    "BranchCommits", "BranchFiles", "BranchStatus", "Commands", "CommitAnalysis", "CommitDescription", "CommitSizes",
    "CommitSubject", "CommittedFiles", "DriftDetection", "FormatCompliance", "LargestCommit", "ProposedEdit",
    "RepositoryState", "TaskReferences", "TaskValidation", "TaskVerdict", "UncommittedFiles",
]  # fmt: skip


class Commands(Model):
    """What was run."""

    git_commands_run: Many[str]


class _Answer(ReportData):
    metadata: Commands


class CommitSubject(Model):
    """A commit, in short."""

    sha: str
    subject: str


class CommitDescription(CommitSubject):
    """One commit."""

    author: str
    email: str
    date: str
    body: str
    task_references: Many[str]


class BranchCommits(Model):
    """What the branch has that its base has not; all its commits when there is no base."""

    total: Count
    shas: Many[str]
    messages: Many[CommitDescription]


class CommittedFiles(Model):
    """What the commits change."""

    modified: Many[str]
    added: Many[str]
    deleted: Many[str]
    stat: str


class UncommittedFiles(CommittedFiles):
    """What differs from HEAD."""

    untracked: Many[str]
    staged: Many[str]
    unmerged: Many[str]


class BranchFiles(Model):
    """Files, committed or not."""

    committed: CommittedFiles
    uncommitted: UncommittedFiles


class RepositoryState(Model):
    """What kind of repository it is."""

    bare: bool
    shallow: bool
    detached: bool
    empty: bool
    clean: bool | None = None


class BranchStatus(_Answer):
    """Where a branch stands (G9)."""

    branch: str | None = None
    head_sha: str | None = None
    commits: BranchCommits
    files: BranchFiles
    base: str | None = None
    base_sha: str | None = None
    merge_base: str | None = None
    upstream: str | None = None
    ahead: Count | None = None
    behind: Count | None = None
    repository: RepositoryState


class FormatCompliance(Model):
    """How many messages keep the form; those of merges, which git writes, are not judged."""

    correct_format: Count
    incorrect_format: Count
    format_pattern: str
    violations: Many[CommitSubject]
    merges: Count


class TaskReferences(Model):
    """How many messages name a ticket or issue."""

    commits_with_refs: Count
    commits_without_refs: Count
    referenced_tasks: Many[str]
    unreferenced_commits: Many[str]


class LargestCommit(CommitDescription):
    """The commit with the most lines."""

    files: Count
    lines: Count


class CommitSizes(Model):
    """How large commits are."""

    average_files: Annotated[float, Field(ge=0)] | None = None
    average_lines: Annotated[float, Field(ge=0)] | None = None
    largest_commit: LargestCommit | None = None
    measured: Annotated[Count, Field(description="How many of the newest commits the sizes are of.")]


class CommitAnalysis(_Answer):
    """Who committed what and when (G12)."""

    commit_count: Count
    format_compliance: FormatCompliance
    task_references: TaskReferences
    commit_size_analysis: CommitSizes
    recommendations: Many[str]
    latest: Many[CommitDescription]


class TaskVerdict(Model):
    """What became of one task."""

    task_id: str
    ticket_status: str
    verdict: Literal["accurate", "ticket_ahead_of_reality", "reality_ahead_of_ticket"]


class TaskValidation(Model):
    """What tickets say of their tasks, against the commits (G10)."""

    validated_tasks: Many[TaskVerdict]
    summary: dict[Literal["total_tasks", "accurate", "ticket_ahead", "reality_ahead", "drift_count"], Count]


class ProposedEdit(Model):
    """One change of a ticket's file."""

    file: str
    edit_type: str
    old: str
    new: str
    reason: str


_DriftCount: TypeAlias = Literal[
    "total_drift_items", "high_severity", "medium_severity", "low_severity", "fixable", "not_fixable"
]


class DriftDetection(Model):
    """Where tickets and history have drifted apart, with edits (G11)."""

    summary: dict[_DriftCount, Count]
    proposed_edits: Many[ProposedEdit]
