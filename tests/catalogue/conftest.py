"""Agents called as a run calls them: through the boundary, over real files and repositories, with the clock held."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from retinue.agents.boundary import Boundary
from retinue.agents.local import LocalContext
from retinue.agents.registry import Registry
from retinue.catalogue import agents
from retinue.contract.result import Result
from retinue.contract.task import Context, Task
from retinue.engine.base import Outside
from retinue.tools.workspace import Workspace
from tests.tools.conftest import Repository, make_repository, own_git_configuration, repository, three_commits

__all__ = ["Ask", "Repository", "make_repository", "own_git_configuration", "repository", "three_commits"]

TODAY = datetime(2024, 3, 10, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Ask:
    """Calls the ready-made agents in one folder."""

    root: Path
    boundary: Boundary

    def __call__(
        self,
        agent: str,
        skill: str,
        *,
        memory: str = "",
        now: datetime = TODAY,
        deadline_s: float | None = None,
        clock: Callable[[], int] | None = None,
        told: Context | None = None,
        **parameters: Any,
    ) -> Result:
        at_ns = int(now.timestamp()) * 1_000_000_000
        run = LocalContext(
            workspace=Workspace(self.root),
            outside=Outside(clock=clock or (lambda: at_ns)),
            deadline_ns=None if deadline_s is None else at_ns + int(deadline_s * 1e9),
        )
        task = Task(id="t", agent=agent, skill=skill, parameters=parameters, context=told or Context(memory=memory))
        return asyncio.run(self.boundary.call(task, run))

    def history(self, question: str = "", **parameters: Any) -> Result:
        return self("git_state_analyzer", "commit_analysis", question=question, **parameters)

    def branch(self, question: str = "", **parameters: Any) -> Result:
        return self("git_state_analyzer", "branch_status", question=question, **parameters)

    def research(self, task: str, depth: str = "quick_scan", **parameters: Any) -> Result:
        return self("researcher_analyst", "research", task=task, depth=depth, **parameters)


@pytest.fixture
def ask_in() -> Callable[[Path], Ask]:
    boundary = Boundary(Registry(agents()))
    return lambda root: Ask(root, boundary)


@pytest.fixture
def ask(repository: Repository, ask_in: Callable[[Path], Ask]) -> Ask:
    """Asks about the small repository."""
    return ask_in(repository.root)
