"""What reading one file came to."""

from dataclasses import dataclass
from typing import Final

from retinue.agents.port import Agent, Reply, RunContext
from retinue.contract.definition import CallSite, Definition
from retinue.contract.fault import Fault
from retinue.contract.finding import Finding
from retinue.contract.task import Task


@dataclass(frozen=True, slots=True)
class LoadedAgents:
    """The agents of one file, and everything there is to say about it.

    Attributes:
        agents: Those without an error; the others are in `findings` only.
        calls: Whom the file calls in its turn, when it is a skill or a command (K23).
    """

    agents: tuple[Agent, ...] = ()
    findings: tuple[Finding, ...] = ()
    calls: tuple[CallSite, ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that left something out."""
        return tuple(finding for finding in self.findings if finding.severity == "error")


class UnavailableAgent:
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


NEEDS_MODEL: Final = "needs a model: set `models.default`, or pass `--model provider:model`"
"""What `Skill.unavailable` says of a prompted agent's skills while no model is configured."""


class InstructionsAgent(UnavailableAgent):
    """An agent read from data."""

    def __init__(self, definition: Definition) -> None:
        super().__init__(
            definition,
            why="is instructions only, and no language model is configured to follow them.",
            missing="model",
            hint="Set `models.default` or pass `--model provider:model`, or ask an agent that works without one.",
        )


RUNS_ELSEWHERE: Final = (
    "it runs elsewhere: run `retinue trust` to call it by its card, or name its URL in `remote.urls`"
)
"""What `Skill.unavailable` says of the skills on a card."""


class CardAgent(UnavailableAgent):
    """An agent read from its card."""

    def __init__(self, definition: Definition) -> None:
        super().__init__(
            definition,
            why="runs elsewhere, and only its card is known here.",
            missing="connection",
            hint="Run `retinue trust` to call it by its card, or name its URL in `remote.urls`.",
        )
