"""How a budget of tokens is shared out over a run before it starts (H26).

Of 100,000 tokens the orchestrator gets 30,000, a supervisor 20,000, and 10,000 stay in reserve; what is left is for the
workers: 10,000 each when there are four. Any other budget is shared in the same proportions. A share bounds one node;
the budget itself binds all of them together, and is kept by the purse.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from retinue.contract.definition import Definition
from retinue.contract.plan import Plan
from retinue.orchestration.modes import EXTRA_TOKENS

__all__ = ["USUAL", "Shares", "shared"]


@dataclass(frozen=True, slots=True)
class Shares:
    """Parts of a budget, 0 to 1. What they leave is for the workers, in equal parts.

    Attributes:
        orchestrator: For planning, reconsidering and writing the answer.
        supervisor: For all agents that answer with a plan, together.
        reserve: For nobody in particular: retries, and thinking modes that take more.
    """

    orchestrator: float = 0.30
    supervisor: float = 0.20
    reserve: float = 0.10

    def of_orchestrator(self, tokens: int) -> int:
        """What the orchestrator itself may take of a budget."""
        return round(tokens * self.orchestrator)


USUAL: Final = Shares()


def shared(plan: Plan, tokens: int | None, definitions: Mapping[str, Definition], *, shares: Shares = USUAL) -> Plan:
    """`plan` with a bound of tokens on every node that may ask a model and has none yet.

    A single delegation has the whole budget: there is nobody to share it with.

    Args:
        plan: What is to be done.
        tokens: The budget of the run; without one nothing is bounded.
        definitions: Who there is, by name.
        shares: How it is shared out.
    """
    known = {node.id: definitions[node.agent] for node in plan.nodes if node.agent in definitions}
    thinking = [node for node in plan.nodes if node.id in known and known[node.id].thinks(node.skill)]
    if tokens is None or not thinking or len(plan.nodes) == 1:
        return plan
    above = [node.id for node in thinking if _supervises(known[node.id], node.skill)]
    kept = shares.orchestrator + shares.reserve + (shares.supervisor if above else 0.0)
    workers = len(thinking) - len(above)
    each = round(tokens * max(1.0 - kept, 0.0) / workers) if workers else 0
    of_each = {node.id: each for node in thinking}
    of_each |= {name: round(tokens * shares.supervisor / len(above)) for name in above}
    nodes = [
        node
        if node.id not in of_each or node.limits.tokens is not None
        else node.model_copy(
            update={
                "limits": node.limits.model_copy(
                    update={"tokens": max(of_each[node.id], 1) + EXTRA_TOKENS[node.thinking or "standard"]}
                )
            }
        )
        for node in plan.nodes
    ]
    return plan.model_copy(update={"nodes": tuple(nodes)})


def _supervises(definition: Definition, name: str | None) -> bool:
    """Whether a skill answers with a plan: where an agent tells its skills apart in this, those that say so."""
    skill = definition.asked(name)
    told_apart = any(each.thinks == "by_others" for each in definition.skills)
    return skill is not None and skill.thinks == "by_others" if told_apart else definition.composes
