"""What a person says in an interview about each kind of ticket, by the ids of questions; and who says it."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from retinue.catalogue.tickets.vocabulary import DEFAULT_VOCABULARY

SCENARIO = "Scenario: A cart is paid\n  Given a cart with two things\n  When the clerk pays it\n  Then both are sent"

PARENTS = {"initiative": "", "epic": "INIT-0001", "story": "EPIC-0001.1", "task": "STORY-0001.1.1"}
"""What each kind is put below in a tree that `retinue tickets init` makes."""

ANSWERS: Mapping[str, Mapping[str, str]] = {
    "initiative": {
        "title": "Orders without paper",
        "problem": "Clerks in the warehouse copy 300 orders a day by hand, and 4 % are wrong",
        "objective": "Every order reaches the shelf without anybody copying it",
        "why_now": "The paper form ends with the old system in March 2027",
        "audience": "About 40 clerks and 12,000 customers",
        "sponsor": "Mrs. Okafor, head of logistics",
        "key_results": "Wrong orders fall from 4 % to 0.5 % until June 2027\nA copied order takes 0 min, not 3",
        "scope": "orders of the shop\norders by telephone",
        "out_of_scope": "none",
        "epics": "orders of the shop on a screen\norders by telephone on the same screen",
        "milestones": "first shelf without paper in January 2027",
        "constraints": "none",
        "approach": "none",
        "dependencies": "none",
        "risks": "The network in hall 3 fails: then the screen keeps the last 50 orders",
        "confirm": "right",
        "notes": "none",
    },
    "epic": {
        "title": "Orders on a screen",
        "overview": "Each shelf has a screen that shows the next order and takes its confirmation",
        "problem": "Clerks lose paper slips on the way, about twice a day",
        "value": "Wrong orders fall by 2 of the 4 %",
        "users": "clerk\nshift leader",
        "journey": "A clerk stands at the shelf, sees the next order, takes the things and confirms with one touch",
        "scope": "screens in hall 1\nconfirmation by touch",
        "out_of_scope": "none",
        "acceptance_criteria": "a new order is shown within 5 s\na confirmed order leaves the screen",
        "scenarios": SCENARIO,
        "stories": "a clerk sees the next order\na clerk confirms an order",
        "points": "13",
        "quality": "none",
        "approach": "A small web page of `src/screen/` on a tablet, fed by the queue that is there",
        "dependencies": "none",
        "risks": "none",
        "confirm": "right",
        "notes": "none",
    },
    "story": {
        "title": "Pay the whole cart at once",
        "context": "Clerks wrote 40 mails in May because they pay each thing alone",
        "persona": "a clerk at the counter",
        "want": "to pay the whole cart at once",
        "benefit": "nobody waits behind me in the queue",
        "today": "I pay each thing alone and add it up by hand",
        "in_scope": "payment by card\n- payment in cash",
        "out_of_scope": "none",
        "acceptance_criteria": "a paid cart is shown as paid within 2 s\n2. a receipt goes to the clerk by mail",
        "scenarios": SCENARIO,
        "error_scenarios": "Scenario: The card is refused\n  When the card is refused\n  Then the cart stays open",
        "edge_cases": "an empty cart cannot be paid at all",
        "performance": "200 ms for a cart of 50 things",
        "security": "none",
        "approach": "One new endpoint takes the cart and pays it in one transaction",
        "components": "`src/pay.py`\n`src/cart.py`",
        "data": "none",
        "tasks": "write the endpoint and its scenarios\nsend the receipt by mail",
        "points": "3",
        "dependencies": "STORY-0001.1.1 has to be done",
        "risks": "none",
        "confirm": "right",
        "notes": "none",
    },
    "task": {
        "title": "Write the endpoint",
        "objective": "A route takes a cart and gives back whether it was paid",
        "purpose": "The scenario in which a cart is paid",
        "current_state": "none",
        "out_of_scope": "the mail with the receipt",
        "acceptance_criteria": "POST of an empty cart gives 422",
        "scenarios": "none",
        "approach": "A function `pay(cart)` is called by the route and returns a receipt",
        "files": "`src/pay.py`",
        "interfaces": "none",
        "steps": "write the scenario first\nwrite the route until it passes",
        "tests": "tests/test_pay.py pays a cart of two things",
        "errors": "a refused card gives 402 and keeps the cart",
        "hours": "4 hours",
        "dependencies": "none",
        "risks": "none",
        "confirm": "right",
        "notes": "none",
    },
}


def plant_tickets(root: Path) -> None:
    """A tree of tickets as `retinue tickets init` makes it."""
    shutil.copytree(DEFAULT_VOCABULARY.with_name("starter"), root / "docs" / "tickets", dirs_exist_ok=True)


def question_of(asked: str) -> str:
    """The question that was asked, of the id that it was asked by in a run."""
    return asked.rpartition(".")[2].rpartition("_")[0]
