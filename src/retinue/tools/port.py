"""The port of a tool: arguments in, text out, within a fence and a time limit. A model is told its `ToolSpec`.

A tool never asks for permission: that is the caller's business. It raises our errors, one class
for each way to fail.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from retinue.contract.definition import Effect, ToolSpec
from retinue.contract.model import JsonMapping
from retinue.tools.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may hold on to during one call.

    Attributes:
        workspace: The fenced directory; None when the run has none, and tools that need one refuse.
        deadline_ns: When the call must have ended, nanoseconds since 1970 UTC; None when only the tool's limit binds.
        output_limit: Characters that the text should not pass; a tool that has more says what it left out.
        agent: Who uses the tool, for tools that note it; empty when it is not known.
        run: Id of the run it is used in; the same.
    """

    workspace: Workspace | None = None
    deadline_ns: int | None = None
    output_limit: int = 30_000
    agent: str = ""
    run: str = ""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool brought.

    Attributes:
        text: For the model. Data, never instructions, whatever it says.
        origin: Whose words these are: `file src/app.py`, `page https://example.org/`, `memory project`, `git`; empty
            when they are the tool's own.
        data: The same as structured data, where there is any.
    """

    text: str
    origin: str = ""
    data: JsonMapping | None = None
    truncated: bool = False
    files_read: tuple[str, ...] = ()
    files_written: tuple[str, ...] = field(default=())


class Tool(Protocol):
    """A tool."""

    @property
    def spec(self) -> ToolSpec:
        """Its definition."""
        ...

    async def use(self, arguments: JsonMapping, context: ToolContext, /) -> ToolOutput:
        """Do it. `arguments` have passed the input schema.

        Raises:
            RetinueError: Whatever went wrong, with a hint that a model can act on.
        """
        ...


def tool_spec(
    name: str,
    description: str,
    properties: JsonMapping,
    *,
    required: Sequence[str] = (),
    effects: tuple[Effect, ...],
    timeout_s: float,
) -> ToolSpec:
    """The definition of a tool; arguments outside `properties` are refused."""
    schema: JsonMapping = {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": properties,
    }
    return ToolSpec(name=name, description=description, input_schema=schema, effects=effects, timeout_s=timeout_s)
