"""Which model a ready-made agent asks: as a prompted agent finds its own, by the task, the definition, then the tier.

`Task.model` is what a person chose or the rules allotted, so it comes before all that the agent says of itself.
"""

from typing import TYPE_CHECKING

from retinue.agents.port import RunContext
from retinue.agents.prompted.delegating import PARENT_MODEL
from retinue.contract.definition import Definition
from retinue.contract.event import Decision
from retinue.contract.task import Task
from retinue.errors import Unavailable

if TYPE_CHECKING:
    from retinue.llm.models import Chosen, Models
    from retinue.orchestration.thinker import Thinker

__all__ = ["lacks_model", "model_for", "thinker_for", "without_model"]


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


def thinker_for(task: Task, models: "Models", definition: Definition, run: RunContext, *, purpose: str) -> "Thinker":
    """Whom to ask for judgement: the model that `definition` asks for `task`, within what `run` may spend.

    Raises:
        RetinueError: None is configured, or nobody knows it.
    """
    from retinue.orchestration.thinker import Thinker  # noqa: PLC0415 - most skills ask no model

    chosen = model_for(task, models, definition)
    model = models.get(chosen.name)
    run.emit(Decision("model", f"`{chosen.name}` is asked {purpose}: {chosen.why}."))
    return Thinker(model, run.purse, run.deadline_ns, task.thinking, run.now)


def lacks_model(models: "Models | None") -> str:
    """Why a skill that needs a model is unavailable, and how to get one; empty when there is one."""
    return (
        "" if models and models.configured else "needs a model: set `models.default`, or pass `--model provider:model`"
    )


def without_model(skill: str | None) -> Unavailable:
    """The error for a skill that needs a model where none is configured."""
    return Unavailable(
        f"`{skill}` needs a model, and none is configured.",
        hint="Set `models.default`, or pass `--model provider:model`.",
        detail={"retryable": False},
    )
