"""Which model each delegation of a plan gets, and why, noted in the plan (A16, A31).

The rules stand in `llm.allocation`; here they are applied to the nodes whose skills ask a model, or can. What a node
says already is kept, and a skill that asks none gets none. One that has others think (`by_others`) gets none either:
the agents of its plan are known when it has made one, and each goes by its own rules.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from retinue.contract.definition import Definition
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Plan

if TYPE_CHECKING:
    from retinue.llm.allocation import Allocation
    from retinue.llm.models import Models

Allocator: TypeAlias = "Callable[[Definition, str], Allocation]"
"""Which model an agent gets for an instruction."""

_KEY: Final = "allocation"


def allocate_models(plan: Plan, definitions: Mapping[str, Definition], allocate: Allocator) -> Plan:
    """`plan` with a model, or a tier, on every node that thinks with one.

    Args:
        plan: What is to be done.
        definitions: Who there is, by name.
        allocate: The rules.
    """
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
        if skill.thinks == "by_others":
            continue
        allocation = allocate(definition, node.instruction)
        choice = allocation.model or allocation.tier
        if choice is not None:
            nodes[place] = node.model_copy(update={"model": choice})
            facts: JsonMapping = {
                "model": allocation.model,
                "tier": allocation.tier,
                "why": allocation.why,
                "score": allocation.score,
            }
            facts["reasons"] = list(allocation.reasons)
            notes[node.id] = {name: value for name, value in facts.items() if value not in (None, [])}
    if not notes:
        return plan
    return plan.model_copy(update={"nodes": tuple(nodes), "extras": {**plan.extras, _KEY: notes}})


def default_allocator(models: "Models | None") -> Allocator:
    """The rules of `llm.allocation`, with the tiers and the default that are configured."""
    from retinue.llm.allocation import allocate  # noqa: PLC0415 - plans without models need none
    from retinue.llm.models import DEFAULT_TIERS  # noqa: PLC0415 - as above

    tiers = models.tiers if models is not None else DEFAULT_TIERS
    default = models.default if models is not None else ""

    def by_rules(definition: Definition, instruction: str) -> "Allocation":
        return allocate(definition, instruction=instruction, default=default, tiers=tiers)

    return by_rules


def allocations_of(plan: Plan) -> Mapping[str, JsonMapping]:
    """What `allocate_models` noted, by node; nothing where a plan was made by hand."""
    entry: object = plan.extras.get(_KEY)
    if not isinstance(entry, dict):
        return {}
    notes = cast("Mapping[str, object]", entry)
    return {name: cast("JsonMapping", facts) for name, facts in notes.items() if isinstance(facts, dict)}
