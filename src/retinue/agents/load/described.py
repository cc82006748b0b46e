"""Agents known by a card only: somebody else runs them, somewhere else."""

from typing import Final

from retinue.agents.port import Reply, RunContext
from retinue.contract.definition import Definition
from retinue.contract.fault import Fault
from retinue.contract.task import Task

__all__ = ["ELSEWHERE", "Described"]

ELSEWHERE: Final = "it runs elsewhere: only its card is known here, and this version calls no agent by its card"
"""What `Skill.unavailable` says of the skills on a card."""


class Described:
    """An agent read from its card. It says what it does, and cannot be asked from here."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition

    @property
    def definition(self) -> Definition:
        """What the card says of it."""
        return self._definition

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Answer that it runs elsewhere. Trying again does not help, so the fault is not retryable."""
        del run
        fault = Fault(
            code="unavailable",
            message=f"`{self._definition.name}` runs elsewhere, and only its card is known here.",
            hint="Ask it where it runs, or wrap a program that does so with `--command`.",
            retryable=False,
            operation=task.skill,
            target=task.target,
            detail={"class": "Unavailable", "missing": "connection"},
        )
        return Reply(outcome="error", fault=fault)
