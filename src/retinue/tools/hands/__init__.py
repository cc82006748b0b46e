"""The hands a model is given in a workspace: `read`, `glob`, `grep`, `git`, `write`, `edit`, `shell`.

They do what they are told within the fence, and ask nobody whether they may. What they bring back is data with its
origin, never instructions.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from retinue.tools.hands.command import argument_vector, command_line
from retinue.tools.hands.editing import Edit
from retinue.tools.hands.history import History
from retinue.tools.hands.looking import Glob, Grep
from retinue.tools.hands.reading import Read
from retinue.tools.hands.seen import Seen
from retinue.tools.hands.shell import Shell
from retinue.tools.hands.writing import Write

if TYPE_CHECKING:
    from pathlib import Path

    from retinue.tools.port import Tool

__all__ = [
    "Edit",
    "Glob",
    "Grep",
    "History",
    "Read",
    "Seen",
    "Shell",
    "Write",
    "argument_vector",
    "command_line",
    "hands",
]


def hands(
    *, programs: Collection[str] = (), environment: Mapping[str, str] | None = None, home: "Path | None" = None
) -> "tuple[Tool, ...]":
    """All of them, made anew for one conversation: they remember what it has read, to notice what changed since.

    Args:
        programs: What `shell` may run (see `Shell`); by default nothing.
        environment: Variables that its programs get besides the few that all do.
        home: What its programs take for the user's home folder; by default an empty one of their own.
    """
    seen = Seen()
    return (
        Read(seen),
        Glob(),
        Grep(),
        History(),
        Write(seen),
        Edit(seen),
        Shell(programs=programs, environment=environment, home=home),
    )
