"""What the skills take, as types."""

from typing import Annotated, Literal

from pydantic import Field

from retinue.agents.python import Choices, FromFacts
from retinue.contract.model import Many, Model

__all__ = ["HotspotScope", "LayerScope", "QuestionText", "Scope"]

QuestionText = Annotated[
    str,
    Field(
        max_length=2000,
        json_schema_extra={"default": ""},
        description="The question in plain words; only `options` and `assess` read it.",
    ),
]


class Scope(Model):
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


class LayerScope(Scope):
    """A scope, and the layers that its imports should keep."""

    layers: Many[Annotated[str, Field(min_length=1, max_length=300)]] = Field(
        default=(),
        max_length=50,
        description="The layers from the top to the bottom, `a | b` for neighbours; without them the rules in the"
        " project's own files hold.",
    )


class HotspotScope(Scope):
    """A scope, and which of its hotspots are named."""

    limit: int = Field(default=10, ge=1, le=100, description="How many files to name.")
    since: str = Field(
        default="", max_length=40, description="Changes before this day do not count, as in 2024-03-31; empty for all."
    )
