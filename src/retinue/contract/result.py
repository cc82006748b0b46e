"""What comes back from one task. A failing agent returns a result; it does not raise."""

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import Field

from retinue.contract.fault import Fault
from retinue.contract.model import Completeness, Confidence, Count, JsonMapping, Model
from retinue.contract.question import Question

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Artifact",
    "Attempt",
    "Cost",
    "Lifecycle",
    "Outcome",
    "Result",
    "Trace",
    "Usage",
    "Versions",
    "Warned",
    "WarningType",
]

Lifecycle: TypeAlias = Literal["submitted", "working", "input_required", "ended"]
Outcome: TypeAlias = Literal["success", "partial", "error", "failed", "canceled", "rejected"]
"""How an ended task ended (C1). `failed` is an `error` whose attempts are used up."""
WarningType: TypeAlias = Literal["missing_data", "degraded_analysis", "incomplete_context"]


class Warned(Model):
    """Something that makes a result less than whole (K4, K5).

    Attributes:
        synthetic: We wrote it because the agent owed one and gave none (C3).
    """

    type: WarningType
    message: str
    impact: str = ""
    recovery: str = ""
    synthetic: bool = False


class Artifact(Model):
    """A file an agent says it made. `size` and `sha256` are measured by the boundary, never taken on trust."""

    path: str
    type: str | None = None
    title: str | None = None
    topic: str | None = None
    status: str | None = None
    summary: str | None = None
    size: Count | None = None
    sha256: str | None = None
    media_type: str | None = None


class Trace(Model):
    """One tool call (B5). `output` is text: structured output is its canonical JSON (C8)."""

    tool: str
    output: str
    args: JsonMapping | None = None
    duration_ns: Count | None = None


class Cost(Model):
    """Money, with the price it was computed from (C18). An unknown model has no `Cost`, not a cost of 0."""

    usd: Annotated[float, Field(ge=0)]
    price_id: str
    price_date: str


class Usage(Model):
    """Tokens and money of one result. What nobody measured is absent.

    Attributes:
        tokens_total: In and out together, where whoever measured says their sum; it may hold more than the other two.
        counter: The token counter that measured, when it was not the provider.
    """

    tokens_in: Count | None = None
    tokens_out: Count | None = None
    tokens_total: Count | None = None
    tokens_cached: Count | None = None
    requests: Count | None = None
    cost: Cost | None = None
    model: str | None = None
    counter: str | None = None

    @property
    def tokens(self) -> int | None:
        """All tokens: the sum that was said, else in and out together; None when nobody counted any."""
        if self.tokens_total is not None:
            return self.tokens_total
        if self.tokens_in is None and self.tokens_out is None:
            return None
        return (self.tokens_in or 0) + (self.tokens_out or 0)

    @classmethod
    def total(cls, used: "Sequence[Usage]") -> int | None:
        """`tokens_total` of several together: there is one as soon as one of them says no more than that."""
        if all(usage.tokens_total is None for usage in used):
            return None
        return sum(usage.tokens or 0 for usage in used)


class Versions(Model):
    """Which agent and which contract made a result (C35)."""

    agent: str | None = None
    contract: str | None = None


class Attempt(Model):
    """One try at a task: how long it took and, when it failed, why."""

    number: Annotated[int, Field(ge=1)]
    duration_ns: Count
    fault: Fault | None = None
    usage: Usage | None = None


class Result(Model):
    """What one task came to.

    Attributes:
        data: The structured answer; always JSON data.
        content: The answer as text, rendered from `data` when the agent gave none (C8).
        retries: Attempts after the first.
        confidence: 0 to 1; absent when nobody computed it (C31).
        completeness: 0 to 100; absent when nobody computed it.
        questions: What the agent must know to go on; with lifecycle `input_required`.
        reasoning: For the journal only; never handed on (C9).
        native: The peer's own words, kept.
    """

    task_id: str
    agent: str
    skill: str | None = None
    versions: Versions = Versions()
    lifecycle: Lifecycle = "ended"
    outcome: Outcome | None = None
    data: Any = None
    content: str = ""
    artifacts: tuple[Artifact, ...] = ()
    warnings: tuple[Warned, ...] = ()
    fault: Fault | None = None
    traces: tuple[Trace, ...] = ()
    usage: Usage | None = None
    duration_ns: Count | None = None
    attempts: tuple[Attempt, ...] = ()
    retries: Count = 0
    confidence: Confidence | None = None
    completeness: Completeness | None = None
    files_read: tuple[str, ...] = ()
    files_written: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    reasoning: str | None = None
    native: str | None = None
    extras: JsonMapping = Field(default_factory=dict)

    @property
    def useful(self) -> bool:
        """It brought something: a whole or a partial answer."""
        return self.outcome in {"success", "partial"}
