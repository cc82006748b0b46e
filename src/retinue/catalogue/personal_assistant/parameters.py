"""What the assistant takes and gives, as types: the keys of spec 001 (B6)."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

from retinue.agents.python import FromFacts
from retinue.contract.model import JsonMapping, Many, Model
from retinue.dialects.run_agent import ToolTraceMinimal

DomainStatus = Literal["done", "failed", "asks", "timed out"]
_Value = str | int | float | bool


class AssistRequest(Model):
    """What a person says, and how it is answered."""

    prompt: Annotated[str, Field(min_length=1, max_length=10_000, description="What the person says.")]
    only_domains: Many[Annotated[str, Field(min_length=1, max_length=100)]] = Field(
        default=(),
        max_length=100,
        json_schema_extra={"uniqueItems": True},
        description="The only domains that may be asked; none named means all.",
    )
    execution_mode: Literal["usual", "async", "threads"] = Field(
        default="usual",
        description="Where the domains run: on one loop, or a thread each; as set elsewhere unless said.",
    )
    domain_timeout_secs: float = Field(
        default=0, ge=0, le=3600, description="Seconds that all domains have together; 0 leaves it to the settings."
    )
    tool: Annotated[str, FromFacts("tool")] = Field(
        default="",
        max_length=64,
        pattern="^([A-Za-z][A-Za-z0-9]*_[A-Za-z0-9_]+)?$",
        description="The very tool to use, as `retinue assistant domains` lists it; then nothing is routed.",
    )
    arguments: Annotated[
        dict[str, _Value | Many[_Value]],
        Field(max_length=50, json_schema_extra={"default": {}}, description="The arguments of that tool, by name."),
    ] = Field(default_factory=dict[str, Any])


class Target(Model):
    """A domain that is asked, and what is wanted of it. Never a tool: those are the domain's to pick (B22)."""

    extension: str
    intent: Annotated[str, Field(min_length=1)]


class RoutingAnswer(Model):
    """What the router says: where a prompt goes, or an answer of its own."""

    targets: Annotated[Many[Target], Field(max_length=12)] = ()
    direct_text: Annotated[str, Field(max_length=8_000)] = ""

    @model_validator(mode="after")
    def _says_one_of_both(self) -> Self:
        if bool(self.targets) == bool(self.direct_text.strip()):
            both = "both where to go and what to answer" if self.targets else "neither where to go nor what to answer"
            raise ValueError(f"It says {both}.")
        return self


class DomainResult(BaseModel):
    """What one domain came to."""

    name: str
    intent: str
    output: str
    status: DomainStatus
    traces: tuple[ToolTraceMinimal, ...]
    duration_secs: Annotated[float, Field(ge=0)]


class AssistantAnswer(BaseModel):
    """The answer, and how it came about."""

    content: str = Field(description="The answer.")
    direct_text: str | None = Field(
        default=None, description="What the router answered itself; then no agent was asked."
    )
    targets: tuple[Target, ...] = Field(description="The domains that were asked, and what was wanted of each.")
    results: tuple[DomainResult, ...] = Field(description="What each domain came to.")
    timings: dict[str, float] = Field(description="Seconds by domain.")
    models: dict[str, str] = Field(description="The model of each role that thought.")

    def to_data(self) -> JsonMapping:
        """The same as data."""
        return self.model_dump(mode="json", exclude_none=True)
