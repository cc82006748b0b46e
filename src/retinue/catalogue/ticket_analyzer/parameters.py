"""What the skills take and give, as types (G1 to G4). A `location` is `path:line`."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from retinue.agents.python import Choices
from retinue.catalogue._report import ReportData
from retinue.catalogue.tickets import IssueSeverity, RubricName
from retinue.catalogue.tickets.ticket_checks import BlockerKind
from retinue.catalogue.tickets.ticket_work import TicketTarget
from retinue.contract.model import Completeness, Count, Many, Model

GapType: TypeAlias = Literal[
    "missing_ticket", "incomplete_detail", "undocumented_addition", "broken_link", "out_of_sync"
]
_Scope: TypeAlias = Literal["full-hierarchy", "single-ticket", "story-and-tasks", "epic-and-stories"]
_Mode: TypeAlias = Literal["by-status", "pre-work", "in-progress"]
_SCOPES = {
    "single-ticket": "the ticket alone: only this ticket, without its children",
    "story-and-tasks": "stories and tasks only",
    "epic-and-stories": "epics and stories only",
}
_MODES = {
    "pre-work": "before work begins: not started yet, planning",
    "in-progress": "while work goes on: already started, ongoing",
}


class TicketScope(Model):
    """How far to look, and at which time of the work."""

    question: str = Field(default="", max_length=10_000, description="The question in plain words.")
    scope: Annotated[_Scope, Choices(**_SCOPES)] = Field(
        default="full-hierarchy",
        description="Which kinds of tickets at and below the target count, where a skill looks at several.",
    )
    mode: Annotated[_Mode, Choices(**_MODES)] = Field(
        default="by-status", description="Whether the work has begun; by default what the ticket's status says."
    )


class TicketQuery(TicketScope):
    """One ticket."""

    # By the pattern a reader of plain words knows an id when it sees one.
    target: TicketTarget


class HierarchyQuery(TicketScope):
    """Tickets with what is below them."""

    target: str = Field(
        json_schema_extra={"default": ""}, max_length=400, pattern=r"^$|[0-9/\\.]",
        description="A ticket with what is below it, or a folder such as docs/tickets/; empty means all tickets.",
    )  # fmt: skip


class TicketIssue(Model):
    """What is wrong with a ticket: `type` is the id of the criterion or rule."""

    type: str
    priority: IssueSeverity
    location: str
    current: str
    problem: str
    fix: str
    impact: str


class StoryProgress(Model):
    """What a story says of its progress, and what its tasks say; absent where nothing is said."""

    stated: str | None = None
    actual: str | None = None
    accurate: bool | None = None
    tasks_complete: Count
    tasks_total: Count


class ScoredTicket(Model):
    """A ticket with its score; `basis` says over how many criteria that is."""

    id: str
    path: str
    status: str | None = None
    completeness_score: Completeness
    completeness_breakdown: dict[str, bool]
    basis: str
    not_judged: Many[str]
    issues: Many[TicketIssue]
    progress: StoryProgress | None = None
    estimated_hours: float | None = None
    actual_hours: float | None = None


class StoryPlace(Model):
    """Where a story stands; alignments rest on what `alignment_basis` says."""

    parent_epic: str | None = None
    parent_initiative: str | None = None
    epic_alignment: bool | None = None
    initiative_alignment: bool | None = None
    alignment_basis: Many[str]
    sibling_stories: Many[str]
    conflicts: Many[TicketIssue]


class RubricAnswer(ReportData):
    """What every answer says of its rubric (C38); `not_judged` are criteria that count neither for nor against."""

    rubric: RubricName
    not_judged: Many[str]


class StoryDeep(RubricAnswer):
    """A story, its tasks and its place (G1)."""

    story: ScoredTicket
    tasks: Many[ScoredTicket]
    hierarchy: StoryPlace


class MissingCriterion(Model):
    """A criterion that a ticket does not meet."""

    criterion: str
    description: str
    impact: str
    fix: str
    priority: IssueSeverity
    problem: str
    location: str


class TicketCompleteness(RubricAnswer):
    """How complete one ticket is (G2)."""

    ticket_id: str
    ticket_type: str
    path: str
    completeness_score: Completeness
    score_breakdown: dict[str, bool]
    missing_criteria: Many[MissingCriterion]
    quality_level: str
    basis: str


class HierarchyGap(Model):
    """What is missing or wrong in the tree; `gap_id` stays the same as long as the gap does."""

    gap_id: str = ""
    type: GapType
    description: str
    ticket_id: str | None = None
    missing_tickets: Many[str] | None = None
    priority: Literal["P0", "P1", "P2", "P3"]
    ready: bool
    blocking: Many[str]
    blocked_by: Many[str]
    completeness: Completeness | None = None
    missing: Many[str] | None = None
    impact: str
    fix: str
    location: str


class HierarchyGaps(RubricAnswer):
    """What a tree of tickets lacks (G3); `gaps` has the most urgent first."""

    scope: str
    total_tickets: Count
    gaps_found: Count
    gaps: Many[HierarchyGap]
    priority_rule: str


class BlockingIssue(Model):
    """What keeps a task from being started."""

    type: BlockerKind
    description: str
    current_status: str | None = None
    required_status: str | None = None
    expected_file: str | None = None
    is_there: bool | None = Field(default=None, alias="found")
    location: str


class TaskStart(RubricAnswer):
    """Whether a task may be started (G4); the score is the share of conditions that `basis` counts."""

    task_id: str
    ready: bool
    blocking_issues: Many[BlockingIssue]
    readiness_score: Completeness
    basis: str
    recommendations: Many[str]
