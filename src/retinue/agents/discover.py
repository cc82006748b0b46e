"""Finds the agents of a project and says of every file it passed over why, on which line, and what to do.

`definition_folders` says where it looks; what its files hold, `definition_files`.
"""

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from retinue.agents.definition_folders import PLACES, files_in
from retinue.agents.port import Agent
from retinue.agents.registry import Registry
from retinue.contract.sanitize import printable

if TYPE_CHECKING:
    from retinue.agents.prompted import Toolbox
    from retinue.agents.prompted.loop import Loops
    from retinue.llm.models import Models

_LOGGER: Final = logging.getLogger(__name__)


def discover(
    root: Path,
    *,
    trusted: bool,
    catalogue: Iterable[Agent] = (),
    models: "Models | None" = None,
    toolbox: "Toolbox | None" = None,
    loops: "Loops | None" = None,
    cache_dir: Path | None = None,
) -> Registry:
    """Find the agents of the project at `root` and register them before those of the catalogue.

    Nothing about a file is an exception: what is wrong with it stands in `Registry.skipped` and `Registry.findings`.
    An agent of the project takes its names from one of the catalogue. When two of the project have the same name,
    there is an error finding: a skill gives way to an agent, and of two agents neither has it.

    Args:
        root: The project's folder.
        trusted: Whether its Python files may be imported: what `TrustStore.is_trusted` said.
        catalogue: Agents that come with the installation.
        models: Where the models come from of agents that are instructions only; without it, or when none is configured,
            these say that they need one.
        toolbox: What such agents may use.
        loops: What drives their models; our own loop when absent.
        cache_dir: Where it is kept what definition files say; None keeps nothing.

    Raises:
        InvalidDefinition: Two agents of the catalogue have the same name.
    """
    registry = Registry()
    files = [(place, *file) for place in PLACES for file in files_in(root, place)]
    if files:
        from retinue.agents.definition_files import register_files  # noqa: PLC0415 - many folders have none

        register_files(
            registry,
            files,
            root=root,
            trusted=trusted,
            models=models,
            toolbox=toolbox,
            loops=loops,
            cache_dir=cache_dir,
        )
    registry.add_built_in(catalogue)
    for skipped in registry.skipped:
        _LOGGER.warning("%s is not used: %s", printable(skipped.path), printable(skipped.reason))
    return registry
