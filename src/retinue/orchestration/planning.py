"""Who made a plan, by which move and why (P20): facts that ride in the plan, for the run and its record to tell.

What the planner decided is read here and nowhere else. A plan that an agent answered with cannot speak for the
orchestrator: `without_planning` takes such facts out before it is walked.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, TypeAlias

from pydantic import Field, ValidationError

from retinue.contract.definition import Definition
from retinue.contract.event import Decision
from retinue.contract.json import as_mapping, dumps
from retinue.contract.model import Count, JsonMapping, Model
from retinue.contract.plan import Plan
from retinue.contract.result import Usage
from retinue.llm.allocation import Allocation, allocate
from retinue.llm.models import DEFAULT_TIERS, Models

PlanningMove: TypeAlias = Literal["delegate", "respond_directly", "clarify", "cannot_handle"]

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
    if entry is None:
        return None
    try:
        return Planning.model_validate_json(dumps(entry))
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


Allocator: TypeAlias = "Callable[[Definition, str], Allocation]"
"""Which model an agent gets for an instruction."""

_ALLOCATION_KEY: Final = "allocation"


def allocate_models(plan: Plan, definitions: Mapping[str, Definition], allocate: Allocator) -> Plan:
    """`plan` with a model, or a tier, on every node that thinks with one."""
    nodes = list(plan.nodes)
    notes: JsonMapping = {}
    for place, node in enumerate(nodes):
        definition = definitions.get(node.agent)
        skill = None if definition is None else definition.skill_for(node.skill)
        if definition is None or skill is None or skill.thinks == "never":
            continue
        if node.model is not None:
            notes[node.id] = {"model": node.model, "why": "the plan names it"}
            continue
        # Its plan is not made yet, and whom it will ask gets a model then.
        if skill.thinks == "by_others":
            continue
        allocation = allocate(definition, node.instruction)
        choice = allocation.model or allocation.tier
        if choice is not None:
            nodes[place] = node.model_copy(update={"model": choice})
            facts = {name: getattr(allocation, name) for name in ("model", "tier", "why", "score")}
            facts["reasons"] = list(allocation.reasons)
            notes[node.id] = {name: value for name, value in facts.items() if value not in (None, [])}
    if not notes:
        return plan
    return plan.model_copy(update={"nodes": tuple(nodes), "extras": {**plan.extras, _ALLOCATION_KEY: notes}})


def default_allocator(models: Models | None) -> Allocator:
    """The rules of `llm.allocation`, with the tiers and the default that are configured."""
    tiers = models.tiers if models is not None else DEFAULT_TIERS
    default = models.default if models is not None else ""

    return lambda definition, instruction: allocate(definition, instruction=instruction, default=default, tiers=tiers)


def allocations_of(plan: Plan) -> Mapping[str, JsonMapping]:
    """What `allocate_models` noted, by node; nothing where a plan was made by hand."""
    notes = as_mapping(plan.extras.get(_ALLOCATION_KEY))
    return {name: facts for name in notes if (facts := as_mapping(notes[name]))}


def by_name(definitions: Iterable[Definition]) -> dict[str, Definition]:
    """The definitions by their names; of two majors the oldest, which answers to the bare name."""
    oldest: dict[str, Definition] = {}
    for definition in definitions:
        oldest.setdefault(definition.name, definition)
    return oldest
