"""What the three reviews give, as types (G13)."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from retinue.catalogue._report import ReportData
from retinue.catalogue.tickets import IssueSeverity, RubricName
from retinue.catalogue.tickets.ticket_work import CriterionJudgement
from retinue.contract.model import Count, Many, Model

ComplexityKind: TypeAlias = Literal[
    "unnecessary_abstraction", "premature_optimization", "overengineered_solution", "scope_creep"
]
SimplifyAction: TypeAlias = Literal["remove_task", "simplify_approach", "add_justification", "move_to_future_story"]


class DesignIssue(Model):
    """Where a ticket plans more than it needs, by `rule` of the rubric; `also_at`: more such places in the ticket."""

    rule: str
    category: ComplexityKind
    severity: IssueSeverity
    ticket: str
    location: str
    description: str
    evidence: str
    problem: str
    recommendation: str
    also_at: Many[str] = ()
    judged_by: Literal["rule", "model"] = "rule"


class ReusablePattern(Model):
    """A fixture, a helper or a file of tests that the project has."""

    name: str
    location: str
    purpose: str = ""


class PatternReuse(Model):
    """What the project has that the ticket could use; without a basis there is no score."""

    fixtures_available: Many[ReusablePattern]
    test_patterns_available: Many[ReusablePattern]
    helpers_available: Many[ReusablePattern]
    reuse_score: Annotated[float, Field(ge=0, le=10)] | None = None
    reuse_assessment: str
    violations: Many[DesignIssue]


class SimplerWay(Model):
    """What is planned, and what would do."""

    current: str
    simpler: str
    location: str


class OutOfScope(Model):
    """What no acceptance criterion asks for."""

    item: str
    reason: str
    action: SimplifyAction
    location: str


class ScopeAlignment(Model):
    """What is planned, held against what the story asks for."""

    in_scope: Many[str]
    out_of_scope: Many[OutOfScope]


class DesignAdvice(Model):
    """What to do about all issues of one rule."""

    priority: IssueSeverity
    action: SimplifyAction
    description: str
    impact: str


class PatternCount(Model):
    """How many fixtures, helpers and files of tests were looked at."""

    patterns_analyzed: Count


class DesignReview(ReportData):
    """What a review found (G13)."""

    analysis_type: Literal["story_review", "task_review", "epic_review"]
    target: str
    overall_assessment: Literal["simple_and_clean", "acceptable_complexity", "overengineered"]
    assessment_rule: str
    reviewed: Many[str]
    issues: Many[DesignIssue]
    pattern_reuse: PatternReuse
    simplification_opportunities: Many[SimplerWay]
    scope_alignment: ScopeAlignment
    recommendations: Many[DesignAdvice]
    rubric: RubricName
    judgements: Many[CriterionJudgement] = ()
    not_judged: Many[str] = ()
    metadata: PatternCount
