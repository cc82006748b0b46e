"""Agents that have nothing to do with a goal hardly ever change who is called for it."""

from typing import Any, Final

import pytest

from retinue.catalogue import agents
from retinue.contract.definition import Definition, Skill
from retinue.contract.plan import Plan
from retinue.orchestration.reader.planner import Planner
from tests.orchestration.test_fresh_goals import ALL, around, planner

STRANGERS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "cook": (
        "Bakes, fries and boils. Use it for recipes and what goes into a dish. Returns a recipe.",
        ("bake a cheesecake", "how do I fry an egg", "which spice goes with rice", "how much flour is in it",
         "what can I cook with leeks", "how long does rice boil", "who invented the croissant", "peel the potatoes"),
    ),
    "banker": (
        "Pays bills and looks after accounts. Use it for money in the bank. Returns a receipt.",
        ("pay my phone bill", "what is my balance", "freeze my card", "how many points have I on the card",
         "who cashed the cheque", "when is the rent due", "is my salary in", "block the stolen card"),
    ),
    "traveller": (
        "Books flights, trains and hotels. Use it before a journey. Returns a ticket.",
        ("book a flight to Rome", "which hotel has a pool", "when does the ferry sail", "where is my luggage",
         "do I need a visa for Peru", "how far is the airport", "cancel the hotel", "is the ferry late"),
    ),
    "gardener": (
        "Waters, prunes and sows. Use it for plants and lawns. Returns what was sown where.",
        ("water the lawn", "prune the roses", "which bulbs flower in spring", "why are the leaves yellow",
         "how often do I mow", "what eats my lettuce"),
    ),
    "silent": ("Tunes pianos and violins.", ()),
}  # fmt: skip


def stranger(name: str, description: str, examples: tuple[str, ...]) -> Definition:
    skill = Skill(name=f"ask_{name}", description=description, input_schema={"type": "object"}, examples=examples)
    return Definition(name=name, description=description, skills=(skill,))


def shape(plan: Plan) -> list[Any]:
    """Who is called, and what waits for what."""
    return [(node.agent, node.skill, node.needs) for node in plan.nodes]


@pytest.mark.slow
@pytest.mark.requirement("G17")
def test_a_plan_nearly_always_calls_the_same_whoever_else_joins():
    strangers = [stranger(name, *said) for name, said in STRANGERS.items()]
    crowd = Planner([*strangers[:2], *(agent.definition for agent in agents()), *strangers[2:]])
    changed: list[str] = []
    taken = 0
    for goal in ALL["goals"]:
        alone, among = (each.plan(goal["goal"], environment=around(goal["repo"])) for each in (planner(), crowd))
        if any(node.agent in STRANGERS for node in among.nodes):
            taken += 1
        elif shape(alone) != shape(among):
            changed.append(goal["goal"])
    assert len(changed) <= len(ALL["goals"]) // 20, "how rare a word is, is counted among all skills"
    assert taken <= len(ALL["goals"]) // 20, "these strangers have little to do with a repository"
