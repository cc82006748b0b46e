"""What the assistant takes and gives, as types: the keys of spec 001 (B6)."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

__all__ = [
    "ArgumentValues",
    "AssistantAnswer",
    "DomainNames",
    "DomainResult",
    "DomainStatus",
    "DomainTimeout",
    "ExecutionMode",
    "Prompt",
    "Target",
    "ToolName",
    "ToolTrace",
]

DomainStatus = Literal["done", "failed", "asks", "timed out"]
_Text = Annotated[str, Field(min_length=1, max_length=100)]
Prompt = Annotated[str, Field(min_length=1, max_length=10_000, description="What the person says.")]
DomainNames = Annotated[
    list[_Text],
    Field(
        max_length=100,
        json_schema_extra={"uniqueItems": True},
        description="The only domains that may be asked; none named means all.",
    ),
]
ExecutionMode = Annotated[
    Literal["usual", "async", "threads"],
    Field(description="Where the domains run: on one loop, or a thread each; as set elsewhere unless said."),
]
DomainTimeout = Annotated[
    float,
    Field(ge=0, le=3600, description="Seconds that all domains have together; 0 leaves it to the settings."),
]
ToolName = Annotated[
    str,
    Field(
        max_length=64,
        pattern="^([A-Za-z][A-Za-z0-9]*_[A-Za-z0-9_]+)?$",
        description="The very tool to use, as `retinue assistant domains` lists it; then nothing is routed.",
    ),
]
ArgumentValues = Annotated[
    dict[str, str | int | float | bool | list[str | int | float | bool]],
    Field(max_length=50, description="The arguments of that tool, by name."),
]


class Target(BaseModel):
    """A domain that was asked, and what was wanted of it."""

    extension: str
    intent: str


class ToolTrace(BaseModel):
    """One call of a tool."""

    tool: str
    output: str
    args: dict[str, Any] | None = None
    duration_secs: Annotated[float, Field(ge=0)] | None = None


class DomainResult(BaseModel):
    """What one domain came to."""

    name: str
    intent: str
    output: str
    status: DomainStatus
    traces: tuple[ToolTrace, ...]
    duration_secs: Annotated[float, Field(ge=0)]


class AssistantAnswer(BaseModel):
    """The answer, and how it came about."""

    content: str = Field(description="The answer.")
    direct_text: str | None = Field(default=None, description="What the router answered itself; then nobody was asked.")
    targets: tuple[Target, ...] = Field(description="The domains that were asked, and what was wanted of each.")
    results: tuple[DomainResult, ...] = Field(description="What each domain came to.")
    timings: dict[str, float] = Field(description="Seconds by domain.")
    models: dict[str, str] = Field(description="The model of each role that thought.")
