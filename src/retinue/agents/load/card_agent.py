"""Agents known by a card only: somebody else runs them, somewhere else."""

from typing import Final

from retinue.contract.definition import Definition

from .unavailable import UnavailableAgent

ELSEWHERE: Final = "it runs elsewhere: only its card is known here, and this version calls no agent by its card"
"""What `Skill.unavailable` says of the skills on a card."""


class CardAgent(UnavailableAgent):
    """An agent read from its card."""

    def __init__(self, definition: Definition) -> None:
        super().__init__(
            definition,
            why="runs elsewhere, and only its card is known here.",
            missing="connection",
            hint="Ask it where it runs, or wrap a program that does so with `--command`.",
        )
