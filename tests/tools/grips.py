"""Tools used as a toolbox uses them: arguments that pass the tool's own schema, in a workspace."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from retinue.contract import schema
from retinue.errors import RetinueError
from retinue.tools.builtin import builtin_tools
from retinue.tools.port import Tool, ToolContext, ToolOutput
from retinue.tools.workspace import Workspace

__all__ = ["Hands", "use"]


def use(tool: Tool, arguments: dict[str, Any], grip: ToolContext) -> ToolOutput:
    assert schema.compile(tool.spec.input_schema).findings(arguments) == []
    return asyncio.run(tool.use(arguments, grip))


@dataclass(frozen=True)
class Hands:
    """The hands of one conversation in one workspace that it may write in."""

    grip: ToolContext
    tools: dict[str, Tool]

    @classmethod
    def over(
        cls,
        root: Path,
        *,
        write: Iterable[str] = (".",),
        read: Iterable[str] = (".",),
        max_bytes: int = 1_000_000,
        output_limit: int = 30_000,
        **options: Any,
    ) -> "Hands":
        grip = ToolContext(Workspace(root, read=read, write=write, max_bytes=max_bytes), output_limit=output_limit)
        return cls(grip, {tool.spec.name: tool for tool in builtin_tools(**options)})

    def __call__(self, name: str, **arguments: Any) -> ToolOutput:
        return use(self.tools[name], arguments, self.grip)

    def refused(self, name: str, **arguments: Any) -> RetinueError:
        """The error that a call raises."""
        with pytest.raises(RetinueError) as caught:
            self(name, **arguments)
        assert caught.value.hint
        return caught.value
