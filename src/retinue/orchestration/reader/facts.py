"""Asks skills what their parameters can be in a workspace, each source once; and what else is known there."""

import logging
from datetime import date
from typing import TYPE_CHECKING, Final

from retinue.agents.grants import Grants
from retinue.agents.registry import Registry
from retinue.contract.facts import Facts
from retinue.orchestration.reader.parameters import Surroundings
from retinue.orchestration.reader.places import exists_in, find_in
from retinue.tools.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FactsReader", "surroundings"]

_LOGGER: Final = logging.getLogger(__name__)


class FactsReader:
    """The facts of one workspace, by agent and skill. Skills that share their source of facts share what it says.

    Args:
        registry: Whose skills.
        workspace: Where.
    """

    def __init__(self, registry: Registry, workspace: Workspace) -> None:
        self._registry = registry
        self._workspace = workspace
        self._read: dict[object, Facts | None] = {}

    def __call__(self, agent: str, skill: str) -> Facts | None:
        """The facts of a skill; None when it says none, or they cannot be read."""
        try:
            source_of: Callable[[str], Callable[[Workspace], Facts] | None] | None
            source_of = getattr(self._registry.get(agent), "facts", None)
            source = None if source_of is None else source_of(skill)
            if source is None:
                return None
            if source not in self._read:
                self._read[source] = None
                self._read[source] = source(self._workspace)
            return self._read[source]
        except Exception as error:  # noqa: BLE001 - what facts there are is said by anybody's code
            _LOGGER.warning("the facts of %s.%s cannot be read: %s: %s", agent, skill, type(error).__name__, error)
            return None


def surroundings(
    registry: Registry, workspace: Workspace | None, today: date | None = None, *, grants: Grants
) -> Surroundings:
    """What may be known beside the words of a request to agents of `registry`: nothing of files that `grants` hide."""
    workspace = None if workspace is None else grants.fenced(workspace)
    facts = None if workspace is None else FactsReader(registry, workspace)
    return Surroundings(today=today, exists=exists_in(workspace), find=find_in(workspace), facts=facts)
