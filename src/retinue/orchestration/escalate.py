"""What to do with a node that did not bring what it should: ask, try elsewhere, or give up. A pure decision.

The boundary has retried and corrected already (A13); here the request itself is reconsidered (A14, C29, P12 to P14).
Never a blind fallback: an alternative must fit nearly as well, must be callable from what was said, must not touch
more than the first choice did, and is not tried when the reason of the failure would follow it there.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final, TypeAlias

from retinue.contract.definition import Skill
from retinue.contract.plan import Candidate, Delegation
from retinue.contract.question import Question
from retinue.contract.result import Result
from retinue.errors import FaultCode

__all__ = ["Accept", "Ask", "Elsewhere", "GiveUp", "Move", "Situation", "decide"]

_FINAL: Final[frozenset[FaultCode]] = frozenset({"access_denied", "unauthenticated", "budget_exceeded", "canceled"})
"""Faults that another agent must not be used to get round."""

_OF_THE_AGENT: Final[frozenset[FaultCode]] = frozenset({"missing_file", "network_error", "unavailable", "timeout"})
"""Faults that another skill of the same agent would share."""

_NEARLY: Final = 0.5
_ABOUT_AS_WELL: Final = 0.8
"""Who was asked first has looked and found nothing: only somebody who was nearly asked first may know better."""
_ROUNDS: Final = 3


@dataclass(frozen=True, slots=True)
class Accept:
    """The node has ended with what it has."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A person must say something first."""

    questions: tuple[Question, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Another agent or skill is asked the same."""

    candidate: Candidate
    reason: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The failure stands."""

    reason: str


Move: TypeAlias = Accept | Ask | Elsewhere | GiveUp


@dataclass(frozen=True, slots=True)
class Situation:
    """What a decision rests on beside the node and its result.

    Attributes:
        tried: Agents and skills that were asked already, the last one included.
        rounds: How often a person was asked on behalf of this node.
        skill_of: What a candidate's definition says; None when there is no such skill.
        callable_as: Whether what was said fills everything that a candidate requires.
    """

    tried: Collection[tuple[str, str | None]]
    rounds: int
    skill_of: Callable[[Candidate], Skill | None]
    callable_as: Callable[[Candidate], bool]


def decide(node: Delegation, result: Result, situation: Situation) -> Move:
    """What to do now that `node` has come to `result`."""
    if result.useful:
        return Accept()
    if result.lifecycle == "input_required":
        return _ask(result, situation.rounds)
    if result.outcome == "canceled":
        return GiveUp("It was stopped.")
    code = result.fault.code if result.fault else "internal_error"
    if code in _FINAL:
        return GiveUp(f"`{code}` is no reason to ask somebody else.")
    return _elsewhere(node, code, situation)


def _ask(result: Result, rounds: int) -> Move:
    if not result.questions:
        return GiveUp("It waits for an answer but asks nothing.")
    if rounds >= _ROUNDS:
        return GiveUp(f"A person was asked {rounds} times, and it asks again.")
    return Ask(result.questions, "It cannot go on without an answer.")


def _elsewhere(node: Delegation, code: FaultCode, situation: Situation) -> Move:
    refused: list[str] = []
    for candidate in node.alternatives:
        objection = _objection(node, candidate, code, situation)
        if objection is None:
            why = f"`{node.agent}` ended with `{code}`; {_name(candidate)} fits to {candidate.share:.2f}"
            return Elsewhere(candidate, f"{why}, and can be called from what was said.")
        refused.append(f"{_name(candidate)} {objection}")
    return GiveUp(f"`{code}`, and nobody else to ask{': ' if refused else ''}{'; '.join(refused)}.")


def _objection(node: Delegation, candidate: Candidate, code: FaultCode, situation: Situation) -> str | None:
    """Why `candidate` is no way out, or None."""
    tried = situation.tried
    if (candidate.agent, candidate.skill) in tried:
        return "was tried"
    if code in _OF_THE_AGENT and any(agent == candidate.agent for agent, _ in tried):
        return "is the same agent"
    nearly = _ABOUT_AS_WELL if code == "missing_file" else _NEARLY
    if node.chosen is not None and candidate.share < nearly * node.chosen.share:
        return "fits too badly"
    skill = situation.skill_of(candidate)
    if skill is None or skill.unavailable:
        return "is not available"
    if not set(skill.effects) <= _effects_of(node, situation):
        return "would touch more than was planned"
    return None if situation.callable_as(candidate) else "needs to know more than was said"


def _effects_of(node: Delegation, situation: Situation) -> set[str]:
    """What the planned skill may touch; without a plan's choice, what it was first put to."""
    planned = node.chosen or Candidate(agent=node.agent, skill=node.skill or node.agent, score=0, share=0)
    skill = situation.skill_of(planned)
    return set(skill.effects) if skill else set()


def _name(candidate: Candidate) -> str:
    return f"`{candidate.agent}.{candidate.skill}`"
