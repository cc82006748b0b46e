"""How a budget of tokens is shared out over a run before it starts (H26).

Of 100,000 tokens the orchestrator gets 30,000, a supervisor 20,000, and 10,000 stay in reserve; what is left is for the
workers: 10,000 each when there are four. Any other budget is shared in the same proportions. A share bounds one node;
the budget itself binds all of them together, and is kept by the purse.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from retinue.contract.definition import Definition
from retinue.contract.plan import Plan
from retinue.contract.task import Thinking

EXTRA_TOKENS: Final[Mapping[Thinking, int]] = MappingProxyType(
    {"standard": 0, "think": 1_000, "think_hard": 2_000, "ultrathink": 4_000}
)
"""What each mode adds to the budget of a node (H26)."""

MODE_LABELS: Final[Mapping[Thinking, str]] = MappingProxyType(
    {"standard": "standard", "think": "think", "think_hard": "think hard", "ultrathink": "ultrathink"}
)
"""As the dialects and people write them."""

_ORDER: Final[tuple[Thinking, ...]] = tuple(EXTRA_TOKENS)

_ULTRA: Final = re.compile(r"(?<![\w-])ultra-?think(?:[ \t]+(?:about|on|through))?(?![\w-])[:,.]?", re.IGNORECASE)
_THINK: Final = re.compile(
    r"(?P<before>\A|[.;:!?,\n][ \t]*|\b(?:please|and|then|but|so)[ \t]+)"
    r"think"
    r"(?:[ \t]+(?:it[ \t]+|this[ \t]+)?(?:very[ \t]+|really[ \t]+|extra[ \t]+)?"
    r"(?P<hard>hard(?:er)?|deep(?:ly)?|deeper|intensely|thoroughly|carefully))?"
    r"(?P<link>[ \t]+(?:about|on|through|over)(?:[ \t]+(?:it|this)(?![\w-]))?)?"
    r"(?P<end>[ \t]*[:,.!]|(?=[ \t\n])|\Z)",
    re.IGNORECASE,
)
_NOT_AN_ORDER: Final = re.compile(r"[ \t]*(?:of|that|so|tank|twice|again|like)\b", re.IGNORECASE)


def thinking_in(goal: str) -> tuple[Thinking | None, str]:
    """The mode that `goal` asks for, None when it asks for none, and the goal without the words that say so."""
    if "think" not in goal and "hink" not in goal.lower():
        return None, goal
    if _ULTRA.search(goal):
        return "ultrathink", _without(goal, [match.span() for match in _ULTRA.finditer(goal)])
    mode: Thinking | None = None
    spans: list[tuple[int, int]] = []
    for match in _THINK.finditer(goal):
        marker = match["hard"] or match["link"] or match["end"].strip() or match.end() == len(goal)
        if not marker or _NOT_AN_ORDER.match(goal, match.end()):
            continue
        mode = harder(mode, "think_hard" if match["hard"] else "think")
        spans.append((match.end("before"), match.end()))
    return mode, _without(goal, spans) if spans else goal


def harder(first: Thinking | None, second: Thinking | None) -> Thinking | None:
    """The harder of two modes; one that nobody asked for is no mode."""
    if first is None or second is None:
        return first or second
    return first if _ORDER.index(first) > _ORDER.index(second) else second


def with_thinking(plan: Plan, mode: Thinking | None) -> Plan:
    """`plan` with this mode on the nodes that have none of their own."""
    if mode is None or not plan.nodes:
        return plan
    nodes = [node if node.thinking else node.model_copy(update={"thinking": mode}) for node in plan.nodes]
    return plan.model_copy(update={"nodes": tuple(nodes)})


def _without(goal: str, spans: list[tuple[int, int]]) -> str:
    """`goal` without these parts; all of it when nothing would be left."""
    parts: list[str] = []
    place = 0
    for start, end in spans:
        parts.append(goal[place:start])
        place = end
    rest = re.sub(r"[ \t]{2,}", " ", " ".join((*parts, goal[place:]))).strip(" \t\n,;:")
    return rest if any(character.isalnum() for character in rest) else goal


@dataclass(frozen=True, slots=True)
class BudgetShares:
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


DEFAULT_SHARES: Final = BudgetShares()


def allocate_tokens(
    plan: Plan, tokens: int | None, definitions: Mapping[str, Definition], *, shares: BudgetShares = DEFAULT_SHARES
) -> Plan:
    """`plan` with a bound of tokens on every node that may ask a model and has none yet.

    A single delegation has the whole budget: there is nobody to share it with.

    Args:
        plan: What is to be done.
        tokens: The budget of the run; without one nothing is bounded.
        definitions: Who there is, by name.
        shares: How it is shared out.
    """
    definition_by_node = {node.id: definitions[node.agent] for node in plan.nodes if node.agent in definitions}
    model_nodes = [
        node
        for node in plan.nodes
        if node.id in definition_by_node and definition_by_node[node.id].uses_model(node.skill)
    ]
    if tokens is None or not model_nodes or len(plan.nodes) == 1:
        return plan
    supervisors = [node.id for node in model_nodes if _supervises(definition_by_node[node.id], node.skill)]
    overhead = shares.orchestrator + shares.reserve + (shares.supervisor if supervisors else 0.0)
    workers = len(model_nodes) - len(supervisors)
    each = round(tokens * max(1.0 - overhead, 0.0) / workers) if workers else 0
    tokens_by_node = {node.id: each for node in model_nodes}
    tokens_by_node |= {name: round(tokens * shares.supervisor / len(supervisors)) for name in supervisors}
    nodes = [
        node
        if node.id not in tokens_by_node or node.limits.tokens is not None
        else node.model_copy(
            update={
                "limits": node.limits.model_copy(
                    update={"tokens": max(tokens_by_node[node.id], 1) + EXTRA_TOKENS[node.thinking or "standard"]}
                )
            }
        )
        for node in plan.nodes
    ]
    return plan.model_copy(update={"nodes": tuple(nodes)})


def _supervises(definition: Definition, name: str | None) -> bool:
    """Whether a skill answers with a plan: where an agent tells its skills apart in this, those that say so."""
    skill = definition.skill_for(name)
    told_apart = any(each.thinks == "by_others" for each in definition.skills)
    return skill is not None and skill.thinks == "by_others" if told_apart else definition.composes
