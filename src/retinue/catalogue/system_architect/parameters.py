"""What the skills take and give, as types."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from retinue.agents.python import Choices, FromFacts
from retinue.catalogue._report import ReportData
from retinue.contract.model import Count, JsonMapping, Many, Model

QuestionText = Annotated[
    str,
    Field(
        max_length=2000,
        json_schema_extra={"default": ""},
        description="The question in plain words; only `options` and `assess` read it.",
    ),
]


class ProjectScope(Model):
    """What is asked, about which part of the project, and what counts as a component of it."""

    question: QuestionText
    target: Annotated[str, FromFacts("component")] = Field(
        default="",
        max_length=500,
        description="Only this component, named by itself or by a file or folder in it; empty for all.",
    )
    detail: Annotated[
        Literal["folders", "files"],
        Choices(folders="folders, packages, modules, components", files="single files, file by file"),
    ] = Field(default="folders", description="What counts as a component: folders of the project, or single files.")
    depth: int = Field(default=1, ge=1, le=6, description="How many folders deep a component lies.")
    include_tests: bool = Field(default=False, description="Whether tests, examples and benchmarks count as well.")


class LayerScope(ProjectScope):
    """A scope, and the layers that its imports should keep."""

    layers: Many[Annotated[str, Field(min_length=1, max_length=300)]] = Field(
        default=(),
        max_length=50,
        description="The layers from the top to the bottom, `a | b` for neighbours; without them the rules in the"
        " project's own files hold.",
    )


class HotspotScope(ProjectScope):
    """A scope, and which of its hotspots are named."""

    limit: int = Field(default=10, ge=1, le=100, description="How many files to name.")
    since: str = Field(
        default="", max_length=40, description="Changes before this day do not count, as in 2024-03-31; empty for all."
    )


class ComponentFigures(Model):
    """One part of the project, in figures."""

    name: str
    files: Count
    lines: Count
    complexity: Count
    fan_in: Count
    fan_out: Count
    instability: Annotated[float, Field(ge=0, le=1)] | None = None


class ImportEdge(Model):
    """What imports what, and where."""

    source: str = Field(alias="from")
    target: str = Field(alias="to")
    place: str = Field(description="Where, as `path:line`.")


class DependencyEdge(ImportEdge):
    """One component depends on another."""

    imports: Count
    deferred: bool


class Circle(Model):
    """Components, or files, that import each other in a circle."""

    level: Literal["component", "file"]
    path: Annotated[tuple[str, ...], Field(min_length=2)]
    deferred: bool
    edges: tuple[ImportEdge, ...]


class HardestFunction(Model):
    """The most complex function of a file."""

    name: str
    line: Count
    complexity: Count


class Hotspot(Model):
    """A file that is complex and changed often."""

    file: str
    commits: Count
    complexity: Count
    score: Count
    hardest: HardestFunction


class Violation(ImportEdge):
    """An import that a layer rule does not allow."""

    rule: str
    origin: str
    reason: str


class Architecture(ReportData):
    """What was found out about a project; each skill fills its own part."""

    components: tuple[ComponentFigures, ...] = Field(description="The parts, the most depended on first.")
    edges: tuple[DependencyEdge, ...] = Field(description="Which component depends on which.")
    cycles: tuple[Circle, ...] = Field(description="Circles, the shortest first.")
    hotspots: tuple[Hotspot, ...] = Field(description="Files by commits times complexity.")
    violations: tuple[Violation, ...] = Field(description="Imports that a layer rule does not allow.")


class RestructuringOption(Model):
    """One way to mend what the figures show."""

    title: str
    change: str = Field(description="What would be done: the model's judgement.")
    why: str = Field(description="What in the figures supports it; checked against them.")
    risk: str = Field(description="What it costs or may break: the model's judgement.")
    places: tuple[str, ...]


class DroppedOption(Model):
    """One that is left out, and why."""

    title: str
    reason: str


class RestructuringOptions(Architecture):
    """The figures, with the options that rest on them."""

    options: tuple[RestructuringOption, ...] = Field(description="Those that rest on them, the first choice first.")
    dropped: tuple[DroppedOption, ...] = Field(
        default=(), description="What was proposed and does not rest on the figures."
    )
    model: str = Field(default="", description="Who proposed them.")


class Assessment(BaseModel):
    """What several agents found out, put together."""

    answer: str
    findings: tuple[JsonMapping, ...] = ()
    parts: tuple[JsonMapping, ...] = ()
    subjects: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    failures: tuple[JsonMapping, ...] = ()
    not_answered: tuple[JsonMapping, ...] = ()
    metadata: tuple[JsonMapping, ...] = ()
    tables: tuple[JsonMapping, ...] = ()
    charts: tuple[JsonMapping, ...] = ()
    summary: JsonMapping | None = Field(
        default=None, description="What a model wrote of the parts, each sentence held against what it cites."
    )
