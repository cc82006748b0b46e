"""What the skills take and give, as types (G9 to G12); choices are described in the words that people use."""

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from retinue.agents.python import Choices, FromFacts
from retinue.catalogue._report import ReportData
from retinue.catalogue.tickets import IssueSeverity
from retinue.catalogue.tickets.proposed_edit import ProposedEdit
from retinue.contract.model import Count, Many, Model

DEFAULT_LIMIT: Final = 10

_Show: TypeAlias = Literal[
    "overview", "latest_change", "first_change", "log", "count", "people", "hot_files", "largest", "message_form",
    "release_dates",
]  # fmt: skip
_Question = Annotated[
    str,
    Field(
        max_length=10_000, description="The question in plain words, for the reader that fills in the other parameters."
    ),
]
_LEADS = Field(json_schema_extra={"default": "overview"}, description="What leads the answer.")
"""It is filled in before a skill is called; required stays what decides everything else."""
_Words = Annotated[str, Field(max_length=200)]
_Day = Annotated[str, Field(max_length=40)]
_Branch = Annotated[str, Field(max_length=250), FromFacts("branch")]
_Author = Annotated[str, Field(min_length=1, max_length=200), FromFacts("author")]
_Path = Annotated[str, Field(min_length=1, max_length=1000), FromFacts("path")]
_Tag = Annotated[str, Field(min_length=1, max_length=250), FromFacts("tag")]


class BranchQuery(Model):
    """Which branch is looked at, and what leads the answer."""

    question: _Question = ""
    branch: _Branch = Field(default="", description="Which branch to look at; empty means the one that is checked out.")
    base: _Branch = Field(
        default="",
        description="What the branch is measured against (ahead of, behind, merged into, between): another branch;"
        " empty means the remote's main branch, or what the branch tracks.",
    )
    show: Annotated[
        Literal["overview", "work_tree", "commits"],
        Choices(
            overview="state of the repository: which branch am I on, branch status, git status, checked out, detached",
            work_tree="what is not committed: is the work tree clean or dirty, uncommitted changes, unstaged, staged,"
            " untracked, modified files, not in git yet, left to commit",
            commits="commits that differ: ahead, behind, unpushed, not pushed, pull, diverged, in sync with the remote,"
            " merged into main, not merged yet, difference between branches, what is on this branch and not on main,"
            " that the other branch does not have, who works on the branch, work on the branch",
        ),
    ] = _LEADS


class CommitQuery(Model):
    """Which commits are looked at, and what leads the answer."""

    question: _Question = ""
    show: Annotated[
        _Show,
        Choices(
            overview="the history in short: summarise, summary, overview of the project",
            latest_change="who changed it last and when: most recently changed, touched, edited, modified, updated,"
            " fixed, removed, last change, latest change, last commit, broke it",
            first_change="who added it first and when: introduced, created, originally written, initially, started,"
            " began, first commit, initial commit, oldest, earliest, how old",
            log="list of commits: what changed, changes, git log, changelog, what happened, new, done, worked on,"
            " landed, merged, deployed, history, activity, show the last commits, commits that mention,"
            " compare releases",
            count="how many commits: number, count, how often, frequently, how many times it was changed",
            people="who wrote most, who changed it most: authors, contributors, contributed, developers, maintainers,"
            " maintains, owners, owns, most active, knows, responsible, commits by person",
            hot_files="which files change most often: hot spots, churn, changed most often, most edited files, most"
            " edited folders, most edited modules",
            largest="largest commits: biggest, most lines",
            message_form="form of commit messages: conventional, format, style, quality, name tasks, tickets",
            release_dates="releases and tags: when was the last release, newest version, latest tag, released, first"
            " release, previous release, next release",
        ),
    ] = _LEADS
    paths: Many[_Path] = Field(
        default=(),
        max_length=100,
        description="Only commits that touch any of these files or folders; an empty list means all.",
    )
    author: Annotated[_Words, FromFacts("author")] = Field(
        default="",
        description="Only commits by this author: whose name or address holds this text; empty means everybody.",
    )
    not_by: Many[_Author] = Field(
        default=(),
        max_length=20,
        description="Whose commits do not count: everybody except, excluding, other than these.",
    )
    since: _Day = Field(
        default="",
        description="Only commits of this date or later, as an ISO day or moment in UTC; empty means from the first"
        " one.",
    )
    until: _Day = Field(
        default="",
        description="Only commits of this date or earlier, as an ISO day or moment in UTC; empty means to the last"
        " one.",
    )
    range: str = Field(
        default="",
        max_length=500,
        description="Only commits in this range of revisions, such as main..HEAD; empty means everything HEAD reaches.",
    )
    tags: Many[_Tag] = Field(
        default=(),
        max_length=2,
        description="Releases that bound the commits: with two, what is between them; with one, see `tag_scope`.",
    )
    tag_scope: Annotated[
        Literal["since", "within", "until"],
        Choices(
            since="after the release: since the version, after the tag",
            within="in the release: part of it, contained in, included in, released with",
            until="up to the release: before the version, until the tag",
        ),
    ] = Field(default="since", description="What one release bounds.")
    text: Annotated[_Words, FromFacts("identifier")] = Field(
        default="", description="Only commits that add or remove this text or name in a file, such as MAX_RETRIES."
    )
    subject: _Words = Field(default="", description="Only commits whose subject line mentions all of these words.")
    task: str = Field(
        default="",
        max_length=100,
        pattern=r"^(|#[0-9]{1,9}|(STORY|TASK|EPIC|INIT|BUG)-[0-9]+([.][0-9]+)*)$",
        description="Only commits whose message names this ticket or issue, such as TASK-0001 or #12.",
    )
    merges: Annotated[bool, Field(description="Whether merge commits count.")] = True
    by: Annotated[
        Literal["none", "year", "month", "week", "day", "author", "file"],
        Choices(
            none="",
            year="per year: by year, yearly, each year, annual, over the years",
            month="per month: by month, monthly, each month",
            week="per week: by week, weekly, each week",
            day="per day: by day, daily, each day",
            author="per author: by author, for each developer, per person",
            file="per file: by file, for each file",
        ),
    ] = Field(default="none", description="What the commits are counted by, in a table.")
    order: Annotated[
        Literal["newest", "oldest"],
        Choices(newest="newest, latest", oldest="oldest, earliest, first"),
    ] = Field(default="newest", description="Which commits or releases are named first.")
    limit: int = Field(
        default=DEFAULT_LIMIT,
        ge=1,
        le=100,
        description="How many commits, people, files or releases are named one by one.",
    )


class TaskQuery(Model):
    """Which tickets are held against which commits."""

    target: Annotated[
        str,
        Field(
            max_length=400,
            pattern=r"^$|[0-9/\\]",
            json_schema_extra={"default": ""},
            description="The tickets: an id such as STORY-0001.2.3 with all that is part of it, a file or folder, or a"
            " branch, whose commits then count too (`heads/NAME` if it has neither digit nor slash); empty means all.",
        ),
    ]
    base: _Branch = Field(
        default="",
        description="The branch that finished work is merged into; empty means the remote's main branch, or main.",
    )


class DriftQuery(TaskQuery):
    """The same, and since when commits are asked whether a ticket documents them."""

    since: _Day = Field(
        default="",
        description="Only commits of this date or later have to name a ticket, as an ISO day or moment in UTC; evidence"
        " of work is looked for in all.",
    )


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


Verdict: TypeAlias = Literal["accurate", "ticket_ahead_of_reality", "reality_ahead_of_ticket"]
_Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]


class GitEvidence(Model):
    """What the history has of one task.

    Attributes:
        is_found: `found` in JSON: whether commits show work on it.
        commits: Those that name it and touch more than tickets; without any, those that name what it is part of.
        through: The ticket that these commits name, when that is not the task itself.
        expected_files: The files that the ticket names.
        files_match: Whether at least half of these were touched; left out when it names none.
        hours_recorded: Whether it says how long it took; left out when it has no place for that.
        merged: Whether the base has all of these commits; tests are assumed to pass then. Left out without any.
    """

    is_found: bool = Field(alias="found")
    commits: Many[str]
    commit_messages: Many[str]
    files_modified: Many[str]
    expected_files: Many[str]
    files_match: bool | None = None
    through: str | None = None
    hours_recorded: bool | None = None
    merged: bool | None = None


class TaskVerdict(Model):
    """What became of one task.

    Attributes:
        confidence: The share of the rules of evidence that say the same as the verdict; left out where there is none.
    """

    task_id: str
    path: str
    line: int
    ticket_status: str
    git_evidence: GitEvidence
    verdict: Verdict
    confidence: _Share | None = None
    problem: str | None = None
    fix: str | None = None


class TaskValidation(_Answer):
    """What tickets say of their tasks, against the commits (G10)."""

    validated_tasks: Many[TaskVerdict]
    summary: dict[Literal["total_tasks", "accurate", "ticket_ahead", "reality_ahead", "drift_count"], Count]
    not_judged: Many[str] = ()
    confidence_basis: str


class DriftItem(Model):
    """One thing that tickets and history, or tickets among themselves, tell differently.

    Attributes:
        commits: Those that show it.
        fixable: Whether an edit of a ticket is proposed that mends it.
    """

    type: str
    severity: IssueSeverity
    problem: str
    fix: str
    fixable: bool
    ticket_id: str | None = None
    file: str | None = None
    line: int | None = None
    commits: Many[str] = ()


DriftCategory: TypeAlias = Literal["task_status", "progress_accuracy", "undocumented_changes", "commit_quality"]
_DriftCount: TypeAlias = Literal[
    "total_drift_items", "high_severity", "medium_severity", "low_severity", "fixable", "not_fixable"
]


class DriftDetection(_Answer):
    """Where tickets and history have drifted apart, with edits (G11)."""

    drift_categories: dict[DriftCategory, Many[DriftItem]]
    summary: dict[_DriftCount, Count]
    proposed_edits: Many[ProposedEdit]
