"""Agents that are known by their definition only, and cannot be asked from here."""

from retinue.agents.port import Reply, RunContext
from retinue.contract.definition import Definition
from retinue.contract.fault import Fault
from retinue.contract.task import Task

__all__ = ["DefinitionOnly"]


class DefinitionOnly:
    """An agent that never pretends: whatever it is asked, its answer is the fault `unavailable`.

    Args:
        definition: What it says of itself.
        why: What keeps it from answering, as a sentence that goes on after its name.
        missing: The same as one word, for programs.
        hint: What to do about it.
    """

    def __init__(self, definition: Definition, *, why: str, missing: str, hint: str) -> None:
        self._definition = definition
        self._why = why
        self._missing = missing
        self._hint = hint

    @property
    def definition(self) -> Definition:
        """What it says of itself."""
        return self._definition

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Answer with the fault. Trying again does not help, so it is not retryable."""
        del run
        fault = Fault(
            code="unavailable",
            message=f"`{self._definition.name}` {self._why}",
            hint=self._hint,
            retryable=False,
            operation=task.skill,
            target=task.target,
            detail={"class": "Unavailable", "missing": self._missing},
        )
        return Reply(outcome="error", fault=fault)
