"""What a tool says of itself: the noun that tools, models and permissions share. Running it is not for here."""

from typing import Annotated, TypeAlias

from pydantic import Field, StringConstraints

from retinue.contract.definition import Effect
from retinue.contract.model import JsonMapping, Model

__all__ = ["ToolName", "ToolSpec"]

ToolName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$", max_length=64)]
"""What every provider accepts as the name of a tool."""


class ToolSpec(Model):
    """A tool as a model is told of it.

    Attributes:
        name: What a model calls it: `read`, `web_fetch`, `mcp__server__tool`.
        input_schema: A JSON Schema of an object; calls that break it never reach the tool.
        effects: What it may touch outside itself. Empty means it only computes.
        timeout_s: The longest one call may take.
    """

    name: ToolName
    description: str
    input_schema: JsonMapping
    effects: tuple[Effect, ...] = ()
    timeout_s: Annotated[float, Field(gt=0)] = 60.0
