"""The tools a model is given in a workspace: `read`, `glob`, `grep`, `git`, `write`, `edit`, `shell`.

They act within the workspace's fence, and ask no permission. What they bring back is data with its
origin, never instructions.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

from retinue.tools.builtin.git_tool import GitTool
from retinue.tools.builtin.read_tool import ReadTool
from retinue.tools.builtin.search_tools import GlobTool, GrepTool
from retinue.tools.builtin.shell_tool import ShellTool
from retinue.tools.builtin.support import FileSnapshots
from retinue.tools.builtin.write_tool import EditTool, WriteTool
from retinue.tools.port import Tool


def builtin_tools(
    *, programs: Collection[str] = (), environment: Mapping[str, str] | None = None, home: Path | None = None
) -> tuple[Tool, ...]:
    """All of them, made for one conversation: they remember what it has read, to notice what changed since.

    Args:
        programs: What `shell_tool` may run (see `Shell`); by default nothing.
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
