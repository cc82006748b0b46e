"""Who made a plan, by which move and why (P20): facts that ride in the plan, for the run and its record to tell.

What the planner decided is read here and nowhere else. A plan that an agent answered with cannot speak for the
orchestrator: `without_planning` takes such facts out before it is walked.
"""

from typing import Final, Literal, TypeAlias, cast

from pydantic import Field, ValidationError

from retinue.contract.event import Decision
from retinue.contract.json import dumps
from retinue.contract.model import Count, Model
from retinue.contract.plan import Plan
from retinue.contract.result import Usage

PlanningMove: TypeAlias = Literal["delegate", "respond_directly", "clarify", "cannot_handle"]

MOVES: Final[tuple[PlanningMove, ...]] = ("delegate", "respond_directly", "clarify", "cannot_handle")

_KEY: Final = "planning"


class Planning(Model):
    """How a plan came about.

    Attributes:
        by: Who made it: the rules, or a model.
        model: The model that was asked, also when the rules made the plan in the end.
        reason: Why this move; or why the rules made the plan although a model was asked.
        text: The answer of `respond_directly`, the question of `clarify`.
        corrections: How often the model's draft was sent back.
        refused: What the last findings were when it was sent back too often.
        usage: What the model took for it.
        duration_ns: How long it took, without the time in which a person was asked.
    """

    by: Literal["rules", "model"] = "rules"
    model: str | None = None
    move: PlanningMove = "delegate"
    reason: str = ""
    text: str = ""
    corrections: Count = 0
    refused: tuple[str, ...] = ()
    usage: Usage | None = Field(default=None)
    duration_ns: Count = 0

    @property
    def fell_back(self) -> bool:
        """A model was asked, and the rules made the plan."""
        return self.by == "rules" and self.model is not None


def with_planning(plan: Plan, planning: Planning) -> Plan:
    """`plan` with this in it."""
    return plan.model_copy(update={"extras": {**plan.extras, _KEY: planning.to_json()}})


def planning_of(plan: Plan) -> Planning | None:
    """What `plan` says of how it came about; None when it says nothing that can be read."""
    entry: object = plan.extras.get(_KEY)
    if not isinstance(entry, dict):
        return None
    try:
        return Planning.model_validate_json(dumps(cast("object", entry)))
    except ValidationError:
        return None


def without_planning(plan: Plan, *, only_usage: bool = False) -> Plan:
    """`plan` without it; or without what it cost in money and time, when that was paid by another run already."""
    if _KEY not in plan.extras:
        return plan
    extras = {name: value for name, value in plan.extras.items() if name != _KEY}
    planning = planning_of(plan) if only_usage else None
    if planning is not None:
        extras[_KEY] = planning.model_copy(update={"usage": None, "duration_ns": 0}).to_json()
    return plan.model_copy(update={"extras": extras})


def decision_of(planning: Planning) -> Decision:
    """How the plan came about, for the record."""
    facts: dict[str, object] = {"by": planning.by, "move": planning.move}
    if planning.model is not None:
        facts["model"] = planning.model
    if planning.corrections:
        facts["corrections"] = planning.corrections
    if planning.refused:
        facts["refused"] = list(planning.refused)
    return Decision("plan_by_rules" if planning.by == "rules" else f"plan_{planning.move}", planning.reason, facts)
