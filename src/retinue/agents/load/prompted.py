"""Agents that are instructions only: a definition without code. Running one takes a model.

`agents.prompted` makes a working agent of the same definition where one is configured.
"""

from typing import Final

from retinue.contract.definition import Definition

from .definition_only import DefinitionOnly

__all__ = ["NEEDS_MODEL", "Prompted"]

NEEDS_MODEL: Final = "needs a model: set `models.default`, or pass `--model provider:model`"
"""What `Skill.unavailable` says of a prompted agent's skills while no model is configured."""


class Prompted(DefinitionOnly):
    """An agent read from data."""

    def __init__(self, definition: Definition) -> None:
        super().__init__(
            definition,
            why="is instructions only, and no language model is configured to follow them.",
            missing="model",
            hint="Set `models.default` or pass `--model provider:model`, or ask an agent that works without one.",
        )
