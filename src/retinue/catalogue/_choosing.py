"""Which model a ready-made agent asks: as a prompted agent finds its own, by the task, the definition, then the tier.

`Task.model` is what a person chose or the rules allotted, so it comes before all that the agent says of itself.
"""

from typing import TYPE_CHECKING

from retinue.agents.prompted.delegating import PARENT_MODEL
from retinue.contract.definition import Definition
from retinue.contract.task import Task
from retinue.errors import Unavailable

if TYPE_CHECKING:
    from retinue.llm.models import Chosen, Models

__all__ = ["model_for", "without_model"]


def model_for(task: Task, models: "Models", definition: Definition, *, must: str | None = None) -> "Chosen":
    """The model that `definition` asks for `task`.

    Args:
        task: What is asked, and with which model.
        models: Those at hand.
        definition: Who is asked.
        must: A model that is set for this very part of the work.

    Raises:
        RetinueError: None is configured, or nobody knows it.
    """
    parent: object = task.extras.get(PARENT_MODEL)
    return models.choose(
        model=must or task.model,
        own=definition.model,
        tier=definition.tier,
        parent=parent if isinstance(parent, str) else None,
    )


def without_model(skill: str | None) -> Unavailable:
    """The error for a skill that needs a model where none is configured."""
    return Unavailable(
        f"`{skill}` needs a model, and none is configured.",
        hint="Set `models.default`, or pass `--model provider:model`.",
        detail={"retryable": False},
    )
