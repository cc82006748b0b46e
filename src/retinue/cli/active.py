"""The module that `ACTIVE_AGENT_PATH` names (B17): the user's own word, so it is loaded wherever they stand.

`ask` puts its request to it when nobody else is named; for a goal it is one agent more.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retinue.cli.project import Project

MODULE_VARIABLE = "ACTIVE_AGENT_PATH"


def active_path() -> str:
    """The module's path, from the root of the repository; empty when none is named."""
    return os.environ.get(MODULE_VARIABLE, "")


def with_module(project: "Project", path: str) -> "tuple[Project, str]":
    """`project` with the agent in the module at `path`, and that agent's name.

    Raises:
        RetinueError: There is no such module in the folder, or it is no agent, or its name is taken.
    """
    from retinue.agents.module import load_module

    agent = load_module(Path(path), root=project.root)
    project.registry.add(agent)
    return project, agent.definition.name


def with_active(project: "Project", *, quiet: bool) -> "tuple[Project, str]":
    """`project` with the module that the environment names, and its path; without one, and told why, when it is none.

    The variable may be set for another folder, so what is wrong with it here does not end a command.
    """
    from retinue.errors import RetinueError

    path = active_path()
    if not path:
        return project, ""
    try:
        return with_module(project, path)[0], path
    except RetinueError as error:
        if not quiet:
            from retinue.cli.output import echo_err, safe

            echo_err(f"{MODULE_VARIABLE} does not give an agent: {safe(error.message)} {safe(error.hint)}")
        return project, ""
