"""What is asked, and what a right answer is: the form of `bench/data/goals_*.json`.

An expectation is about facts, never about what the system happens to do: correct one only when it is wrong in fact.
"""

from typing import Any, Final, Literal, TypeAlias, get_args

from pydantic import Field, TypeAdapter

from bench.goals.repository import DATA
from retinue.contract.model import Model

__all__ = ["HALVES", "Goal", "Half", "Wanted", "load"]

Half: TypeAlias = Literal["dev", "held"]
"""Goals to develop against, and goals that nobody looks at while developing."""

HALVES: Final[tuple[Half, ...]] = get_args(Half)


class Wanted(Model):
    """One node that the plan should have.

    Attributes:
        who: Acceptable skills, as `agent.skill`, best first.
        needs: The positions of the nodes it must wait for.
        parameters: What must be bound; others may be. A text that begins with `~` is a regular expression; the order
            of a list does not matter.
    """

    who: tuple[str, ...]
    needs: tuple[int, ...] = ()
    parameters: dict[str, Any] = Field(default_factory=dict[str, Any])


class Goal(Model):
    """One goal and what is expected of it. All patterns are regular expressions.

    Attributes:
        plans: Acceptable plans, best first; a plan without nodes calls nobody.
        outcome: Acceptable endings; `input_required` for a run that asks.
        facts: Each must be found in the answer.
        forbidden: False claims, and what the goal asked to leave out; none may be found in the answer.
        asks: Each must be found in the questions.
        dropped: Each must be found among what the answer says is not answered.
        proof: A shell command whose output in the repository shows each fact, and none of `forbidden`.
    """

    id: str
    repo: Literal["shop", "weather"]
    kind: str
    goal: str
    plans: tuple[tuple[Wanted, ...], ...]
    outcome: tuple[Literal["success", "partial", "rejected", "input_required"], ...]
    facts: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    proof: str = ""


def load(half: Half) -> tuple[Goal, ...]:
    """The goals of one half, in the order of the file."""
    text = (DATA / f"goals_{half}.json").read_text(encoding="utf-8")
    return TypeAdapter(tuple[Goal, ...]).validate_json(text)
