"""How much a model should think in each thinking mode of a task (C43). Said once, for agents and for orchestration."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from retinue.contract.task import Thinking

from .port import Effort

__all__ = ["EFFORT_OF"]

EFFORT_OF: Final[Mapping[Thinking, Effort | None]] = MappingProxyType(
    {"standard": None, "think": "medium", "think_hard": "high", "ultrathink": "max"}
)
"""The effort of each mode; None leaves it to the model."""
