"""Agents that are instructions only: a definition without code. Running one takes a model."""

from typing import Final

from retinue.agents.port import Reply, RunContext
from retinue.contract.definition import Definition
from retinue.contract.fault import Fault
from retinue.contract.task import Task

__all__ = ["NEEDS_MODEL", "Prompted"]

NEEDS_MODEL: Final = "needs a language model: install retinue[llm] and configure one"
"""What `Skill.unavailable` says of a prompted agent's skills while no model is configured."""


class Prompted:
    """An agent read from data. It never pretends: without a model its answer is the fault `unavailable`."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition

    @property
    def definition(self) -> Definition:
        """What the file says of it."""
        return self._definition

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Answer that a model is needed. Trying again does not help, so the fault is not retryable."""
        del run
        name = self._definition.name
        fault = Fault(
            code="unavailable",
            message=f"`{name}` is instructions only, and no language model is configured to follow them.",
            hint="Install `retinue[llm]` and configure a model, or ask an agent that works without one.",
            retryable=False,
            operation=task.skill,
            target=task.target,
            detail={"class": "Unavailable", "missing": "model"},
        )
        return Reply(outcome="error", fault=fault)
