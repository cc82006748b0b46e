"""How a run compares with the targets of the practice: figures that were measured, beside figures to aim at (H28).

What a run did not do has no figure: without expected files there is no share of them, and one branch alone is no
quicker than itself. Nothing follows from these; they are told.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from retinue.contract.model import JsonMapping
from retinue.contract.plan import Plan
from retinue.contract.result import Result
from retinue.orchestration.condense import Savings

__all__ = ["TARGETS", "Target", "against_targets"]

_BRANCHES: Final = 2


@dataclass(frozen=True, slots=True)
class Target:
    """A share to reach, and one that it should not fall below, 0 to 1."""

    aim: float
    critical: float


TARGETS: Final[Mapping[str, Target]] = MappingProxyType(
    {
        "delegation": Target(0.90, 0.50),
        "files": Target(1.00, 0.80),
        "reduction": Target(0.90, 0.50),
        "speed_up": Target(0.40, 0.20),
    }
)
"""Of the goal's requests those that went to agents; of the expected files those that are there; of all tokens that
could have been handed on those that were not; of the time that the branches took one by one, what side by side
spared."""


def against_targets(
    plan: Plan, results: Mapping[str, Result], *, savings: Savings, duration_ns: int | None
) -> JsonMapping:
    """The measured figures of a run, each with its target, and whether it is met.

    Args:
        plan: What was to be done.
        results: What its nodes came to.
        savings: What hand-offs spared.
        duration_ns: How long the whole took.
    """
    figures = {
        "delegation": _delegation(plan),
        "files": _files(plan, results),
        "reduction": 1 - savings.handed_on / savings.full if savings.full else None,
        "speed_up": _speed_up(results, duration_ns),
    }
    return {
        name: {
            "measured": round(figure, 4),
            "target": TARGETS[name].aim,
            "critical": TARGETS[name].critical,
            "verdict": _verdict(figure, TARGETS[name]),
        }
        for name, figure in figures.items()
        if figure is not None
    }


def _verdict(figure: float, target: Target) -> str:
    return "met" if figure >= target.aim else "critical" if figure < target.critical else "below"


def _delegation(plan: Plan) -> float | None:
    asked = len(plan.nodes) + sum(dropped.wanted for dropped in plan.dropped)
    return len(plan.nodes) / asked if asked else None


def _files(plan: Plan, results: Mapping[str, Result]) -> float | None:
    wanted = [(node.id, expected.path) for node in plan.nodes for expected in node.expects]
    if not wanted:
        return None
    there = {
        (name, artifact.path) for name, result in results.items() for artifact in result.artifacts if artifact.size
    }
    return sum(one in there for one in wanted) / len(wanted)


def _speed_up(results: Mapping[str, Result], duration_ns: int | None) -> float | None:
    took = [result.duration_ns for result in results.values() if result.duration_ns]
    if len(took) < _BRANCHES or not duration_ns:
        return None
    return 1 - duration_ns / sum(took)
