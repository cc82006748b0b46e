"""The hands a model is given in a workspace: `read`, `glob`, `grep`, `git`, `write`, `edit`, `shell`.

They do what they are told within the fence, and ask nobody whether they may. What they bring back is data with its
origin, never instructions.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from retinue.tools.hands.command import argument_vector, command_line
from retinue.tools.hands.editing import EditTool
from retinue.tools.hands.history import GitTool
from retinue.tools.hands.looking import GlobTool, GrepTool
from retinue.tools.hands.reading import ReadTool
from retinue.tools.hands.seen import FileSnapshots
from retinue.tools.hands.shell import ShellTool
from retinue.tools.hands.writing import WriteTool

if TYPE_CHECKING:
    from pathlib import Path

    from retinue.tools.port import Tool

__all__ = [
    "EditTool",
    "GlobTool",
    "GrepTool",
    "GitTool",
    "ReadTool",
    "FileSnapshots",
    "ShellTool",
    "WriteTool",
    "argument_vector",
    "command_line",
    "builtin_tools",
]


def builtin_tools(
    *, programs: Collection[str] = (), environment: Mapping[str, str] | None = None, home: "Path | None" = None
) -> "tuple[Tool, ...]":
    """All of them, made anew for one conversation: they remember what it has read, to notice what changed since.

    Args:
        programs: What `shell` may run (see `Shell`); by default nothing.
        environment: Variables that its programs get besides the few that all do.
        home: What its programs take for the user's home folder; by default an empty one of their own.
    """
    snapshots = FileSnapshots()
    return (
        ReadTool(snapshots),
        GlobTool(),
        GrepTool(),
        GitTool(),
        WriteTool(snapshots),
        EditTool(snapshots),
        ShellTool(programs=programs, environment=environment, home=home),
    )
