"""Which model a ready-made agent asks, and what it answers: a model is found as a prompted agent finds its own.

`Task.model` is what a person chose or the rules chose, so it comes before all that the agent says of itself.
"""

from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import ValidationError

from retinue.agents.port import RunContext
from retinue.agents.prompted.delegate_tool import PARENT_MODEL
from retinue.contract import json
from retinue.contract.definition import Definition
from retinue.contract.event import Decision
from retinue.contract.finding import findings_of, summarise_findings
from retinue.contract.model import Model
from retinue.contract.task import Task
from retinue.errors import OutputInvalid, ParseError, Unavailable
from retinue.llm.models import ModelChoice, Models

if TYPE_CHECKING:
    from retinue.orchestration.structured_model import StructuredModel

T = TypeVar("T", bound=Model)

_HINT: Final = "set `models.default`, or pass `--model provider:model`"


def model_for(task: Task, models: Models, definition: Definition, *, override: str | None = None) -> ModelChoice:
    """The model that `definition` asks for `task`.

    Args:
        task: What is asked, and with which model.
        models: Those at hand.
        definition: Who is asked.
        override: A model that is set for this very part of the work.

    Raises:
        RetinueError: No model is configured, or it is unknown.
    """
    parent: object = task.extras.get(PARENT_MODEL)
    return models.choose(
        model=override or task.model,
        own=definition.model,
        tier=definition.tier,
        parent=parent if isinstance(parent, str) else None,
    )


def needs_model(agent: Any) -> str:
    """Why the skills of `agent` that need one of its `models` are not available; empty when they are."""
    models: Models | None = agent.models
    return "" if models is not None and models.configured else f"needs a model: {_HINT}"


def structured_model_for(
    task: Task, models: Models, definition: Definition, run: RunContext, *, purpose: str
) -> "StructuredModel":
    """Whom to ask for judgement: the model that `definition` asks for `task`, within what `run` may spend.

    Raises:
        RetinueError: No model is configured, or it is unknown.
    """
    from retinue.orchestration.structured_model import StructuredModel  # noqa: PLC0415 - most skills ask no model

    chosen = model_for(task, models, definition)
    model = models.get(chosen.name)
    run.emit(Decision("model", f"`{chosen.name}` is asked {purpose}: {chosen.why}."))
    return StructuredModel(model, run.budget_tracker, run.deadline_ns, task.thinking, run.now)


def no_model_error(skill: str | None) -> Unavailable:
    """The error for a skill that needs a model where none is configured."""
    return Unavailable(
        f"`{skill}` needs a model, and none is configured.",
        hint=f"{_HINT[0].upper()}{_HINT[1:]}.",
        detail={"retryable": False},
    )


def parse_answer(text: str, shape: type[T]) -> T:
    """The object that a model was asked for.

    Raises:
        OutputInvalid: The text does not hold such an object.
    """
    try:
        return shape.model_validate(json.repair(text)[0])
    except ParseError as error:
        problem = error.message
    except ValidationError as error:
        problem = summarise_findings(findings_of(error, rule="answer"))
    hint = "Answer with one JSON object that fits the schema."
    raise OutputInvalid(f"The answer of the model cannot be used: {problem.rstrip('.')}.", hint=hint)
