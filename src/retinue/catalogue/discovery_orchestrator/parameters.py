"""What the skills give, as types (G16). What an agent did not say is absent."""

from typing import Annotated, Literal

from pydantic import Field

from retinue.catalogue._report import ReportData
from retinue.contract.model import Count, JsonMapping, Model

Agents = Annotated[tuple[str, ...], Field(description="Who says so.")]


class DiscoveryGap(Model):
    """Something that is missing, or not ready, in one ticket; each ticket and type once."""

    type: str = Field("incomplete_detail", description="Such as missing_ticket, incomplete_detail or prerequisite.")
    ticket_id: str | None = None
    missing_tickets: tuple[str, ...] = ()
    priority: Literal["P0", "P1", "P2", "P3"] | None = None
    ready: bool | None = Field(None, description="Whether it can be written now; absent where nobody says.")
    blocked_by: tuple[str, ...] = ()
    blocking: tuple[str, ...] = ()
    location: str | None = None
    completeness: float | None = None
    missing: tuple[str, ...] = Field((), description="Criteria or parts that are missing.")
    effort_hours: float | None = None
    description: str | None = None
    impact: str | None = None
    fix: str | None = None
    agents: Agents = ()

    @property
    def is_blocked(self) -> bool:
        """Whether something else must come first."""
        return self.ready is False or bool(self.blocked_by)


class DiscoverySuggestion(Model):
    """Something that exists already and could be used."""

    kind: str = ""
    name: str = ""
    path: str | None = None
    line: Count | None = None
    relevance: float | None = None
    reason: str | None = None
    agents: Agents = ()


class DiscoveryIssue(Model):
    """Something in a ticket that should be mended: it is too large, or not clear."""

    ticket_id: str | None = None
    category: str = ""
    severity: str | None = None
    priority: str | None = None
    location: str | None = None
    term: str | None = None
    context: str | None = None
    current: str | None = None
    description: str | None = None
    evidence: str | JsonMapping | None = None
    problem: str | None = None
    recommendation: str | None = None
    fix: str | JsonMapping | None = None
    impact: str | None = None
    agents: Agents = ()


class DiscoverySummary(Model):
    """How much was found."""

    total_gaps: Count
    ready_to_write: Count = Field(description="Gaps that can be written now.")
    blocked: Count = Field(description="Gaps that wait for something else; the others say neither.")
    overengineering_flags: Count


class DiscoveryMetadata(Model):
    """Who was asked, and who of these brought nothing."""

    agents_invoked: tuple[str, ...]
    agents_failed: tuple[str, ...]


class Discovery(ReportData):
    """What several agents found to be missing, too much or unclear in a ticket and below it."""

    summary: DiscoverySummary
    gaps: tuple[DiscoveryGap, ...]
    pattern_suggestions: tuple[DiscoverySuggestion, ...]
    complexity_flags: tuple[DiscoveryIssue, ...]
    quality_issues: tuple[DiscoveryIssue, ...]
    metadata: DiscoveryMetadata
