"""The port of a tool: arguments in, text out, within a fence and a time limit. A model is told its `ToolSpec`.

A tool never asks for permission: that is the caller's business. It raises our errors, one class
for each way to fail.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import time_ns
from typing import ParamSpec, Protocol, TypeVar

from retinue.contract.definition import Effect, ToolSpec
from retinue.contract.model import JsonMapping
from retinue.errors import AccessDenied, DeadlineExceeded
from retinue.tools.workspace import Workspace

P = ParamSpec("P")
T = TypeVar("T")


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
    idempotent: bool = False,
) -> ToolSpec:
    """The definition of a tool; arguments outside `properties` are refused."""
    schema: JsonMapping = {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": properties,
    }
    return ToolSpec(
        name=name,
        description=description,
        input_schema=schema,
        effects=effects,
        timeout_s=timeout_s,
        idempotent=idempotent,
    )


def require_workspace(context: ToolContext, spec: ToolSpec) -> Workspace:
    """The workspace of a call."""
    if context.workspace is None:
        raise AccessDenied(
            f"`{spec.name}` needs a workspace, and this run has none", hint="start the run in a folder, or do without"
        )
    return context.workspace


def seconds_left(spec: ToolSpec, context: ToolContext, *, requested_s: float | None = None) -> float:
    """How long a call may take: the least of the tool's limit, what was asked for, and the time until the deadline."""
    remaining = spec.timeout_s if requested_s is None else min(requested_s, spec.timeout_s)
    if context.deadline_ns is not None:
        remaining = min(remaining, (context.deadline_ns - time_ns()) / 1e9)
    if remaining <= 0:
        raise DeadlineExceeded(
            f"no time is left for `{spec.name}`", hint="answer with what is known", detail={"bound": "deadline"}
        )
    return remaining


async def run_in_thread(
    spec: ToolSpec, context: ToolContext, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
) -> T:
    """Do blocking `work` in a thread, and wait for it no longer than the call may take."""
    seconds = seconds_left(spec, context)
    try:
        async with asyncio.timeout(seconds):
            return await asyncio.to_thread(work, *args, **kwargs)
    except TimeoutError:
        raise DeadlineExceeded(
            f"`{spec.name}` took longer than {seconds:.3g} seconds",
            hint="ask for less at once",
            detail={"bound": "tool"},
        ) from None
