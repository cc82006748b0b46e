"""How hard a model is to think: modes of a task and efforts of a definition, as a request says them (H26, C43)."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from retinue.contract.definition import Definition
from retinue.contract.names import fold
from retinue.contract.task import Task, Thinking
from retinue.llm.port import Effort

__all__ = ["ANSWER_TOKENS", "EFFORTS", "THINKING", "Mind", "mind_for"]

ANSWER_TOKENS: Final = 8_192
"""Tokens for an answer when a task says how hard to think; what thinking takes comes on top."""

THINKING: Final[Mapping[Thinking, tuple[Effort | None, int]]] = MappingProxyType(
    {
        "standard": (None, 0),
        "think": ("medium", 1_000),
        "think_hard": ("high", 2_000),
        "ultrathink": ("max", 4_000),
    }
)
"""For each mode the effort, and the tokens that thinking may take (H26)."""

EFFORTS: Final[Mapping[str, Effort]] = MappingProxyType(
    {"low": "low", "medium": "medium", "high": "high", "xhigh": "max", "max": "max"}
)
"""What definitions write, and what it means."""


@dataclass(frozen=True, slots=True)
class Mind:
    """What a request says about thinking.

    Attributes:
        unsupported: What the definition asks for and nobody knows; empty when nothing.
    """

    effort: Effort | None = None
    max_tokens: int | None = None
    unsupported: str = ""


def mind_for(task: Task, definition: Definition) -> Mind:
    """How hard to think about `task`: as the task says, else as the definition does."""
    said = definition.runner.effort
    own = EFFORTS.get(fold(said)) if said else None
    unsupported = said if said and own is None else ""
    if task.thinking is None:
        return Mind(own, None, unsupported)
    effort, tokens = THINKING[task.thinking]
    return Mind(effort or own, ANSWER_TOKENS + tokens if tokens else None, unsupported)
