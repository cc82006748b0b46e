"""What the skills give, as types (G9 to G12)."""

from typing import Annotated, Literal

from pydantic import Field

from retinue.contract.model import Count, Many, Model
from retinue.contract.table import Chart, Table

__all__ = [
    "BranchCommits", "BranchFiles", "BranchStatus", "Commands", "CommitAnalysis", "CommitAuthor", "CommitDescription",
    "CommitScope", "CommitSizes", "CommitSubject", "CommittedFiles", "DriftDetection", "DriftSummary", "FileCommits",
    "FormatCompliance", "LargestCommit", "Period", "ProposedEdit", "Rename", "RepositoryState", "Statement",
    "TaskReferences", "TaskValidation", "TaskVerdict", "UncommittedFiles", "ValidationSummary",
]  # fmt: skip


class Statement(Model):
    """One sentence of the answer, with its source."""

    topic: str
    content: str
    source: str


class Commands(Model):
    """What was run."""

    git_commands_run: Many[str]


class _Answer(Model):
    answer: str = Field(description="The answer in plain text, every sentence with its source.")
    findings: Many[Statement]
    notes: Annotated[Many[str], Field(description="How the parameters were read, and what bounds the figures.")]
    metadata: Commands
    tables: Annotated[Many[Table], Field(description="Counts and commits as rows.")] = ()
    charts: Annotated[Many[Chart], Field(description="Counts as series.")] = ()
    subjects: Annotated[
        Many[str], Field(max_length=50, description="What the rows are about, in order: people, files or releases.")
    ] = ()


class CommitDescription(Model):
    """One commit."""

    sha: str
    author: str
    email: str
    date: str
    subject: str
    body: str
    task_references: Many[str]


# `branch_status`


class BranchCommits(Model):
    """What the branch has that its base has not; all its commits when there is no base."""

    total: Count
    shas: Many[str]
    messages: Many[CommitDescription]


class Rename(Model):
    """A file that has another name."""

    old: str = Field(alias="from")
    new: str = Field(alias="to")


class CommittedFiles(Model):
    """What the commits change."""

    modified: Many[str]
    added: Many[str]
    deleted: Many[str]
    stat: str
    renamed: Many[Rename] | None = None


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


# `commit_analysis`


class CommitSubject(Model):
    """A commit, in short."""

    sha: str
    subject: str


class FormatCompliance(Model):
    """How many messages keep the form."""

    correct_format: Count
    incorrect_format: Count
    format_pattern: str
    violations: Many[CommitSubject]
    merges: Annotated[
        Count, Field(description="Merge commits; git writes their messages, so their form is not judged.")
    ]


class TaskReferences(Model):
    """How many messages name a ticket or issue."""

    commits_with_refs: Count
    commits_without_refs: Count
    referenced_tasks: Many[str]
    unreferenced_commits: Many[str]


class LargestCommit(CommitSubject):
    """The commit with the most lines."""

    author: str
    date: str
    files: Count
    lines: Count


class CommitSizes(Model):
    """How large commits are."""

    average_files: Annotated[float, Field(ge=0)] | None = None
    average_lines: Annotated[float, Field(ge=0)] | None = None
    largest_commit: LargestCommit | None = None
    measured: Annotated[Count, Field(description="How many of the newest commits the sizes are of.")]


class CommitAuthor(Model):
    """Who committed; lines only where every commit was measured."""

    name: str
    email: str
    commits: Count
    first: str
    last: str
    insertions: Count | None = None
    deletions: Count | None = None


class Period(Model):
    """The dates of the first and last commit."""

    first: str | None = None
    last: str | None = None


class FileCommits(Model):
    """How often a file was changed; lines only where every commit was measured."""

    path: str
    commits: Count
    insertions: Count | None = None
    deletions: Count | None = None


class CommitScope(Model):
    """Which commits were counted."""

    revision: str
    paths: Many[str]
    since: str | None = None
    until: str | None = None
    author: str | None = None
    task: str | None = None
    subject_words: Many[str] | None = None
    text: Annotated[str, Field(description="Only commits that add or remove this text in a file.")] | None = None
    merges: Annotated[bool, Field(description="False when merges were not to be counted.")] | None = None
    not_by: Annotated[Many[str], Field(description="Whose commits were not to be counted.")] | None = None


class CommitAnalysis(_Answer):
    """Who committed what and when (G12)."""

    commit_count: Count
    format_compliance: FormatCompliance
    task_references: TaskReferences
    commit_size_analysis: CommitSizes
    recommendations: Many[str]
    authors: Many[CommitAuthor]
    latest: Many[CommitDescription]
    period: Period
    hot_files: Many[FileCommits]
    scope: CommitScope


# What comes with the ticket model


class TaskVerdict(Model):
    """What became of one task."""

    task_id: str
    ticket_status: str
    verdict: Literal["accurate", "ticket_ahead_of_reality", "reality_ahead_of_ticket"]


class ValidationSummary(Model):
    """How many tasks are as their ticket says."""

    total_tasks: Count
    accurate: Count
    ticket_ahead: Count
    reality_ahead: Count
    drift_count: Count


class TaskValidation(Model):
    """What tickets say of their tasks, against the commits (G10)."""

    validated_tasks: Many[TaskVerdict]
    summary: ValidationSummary


class DriftSummary(Model):
    """How far tickets and history have drifted apart."""

    total_drift_items: Count
    high_severity: Count
    medium_severity: Count
    low_severity: Count
    fixable: Count
    not_fixable: Count


class ProposedEdit(Model):
    """One change of a ticket's file."""

    file: str
    edit_type: str
    old: str
    new: str
    reason: str


class DriftDetection(Model):
    """Where tickets and history have drifted apart, with edits (G11)."""

    summary: DriftSummary
    proposed_edits: Many[ProposedEdit]
