"""How a run compares with the targets of the practice: figures that were measured, beside figures to aim at (H28).

What a run did not do has no figure: without expected files there is no share of them, and one branch alone is no
quicker than itself. A child run hands its figures up in its extras, as parts and wholes, so that those of the run above
count what happened below a supervisor too. Nothing follows from these; they are told.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, cast

from retinue.contract.model import JsonMapping
from retinue.contract.plan import Plan
from retinue.contract.result import Result
from retinue.orchestration.handoff import Savings

_BRANCHES: Final = 2


@dataclass(frozen=True, slots=True)
class RunTarget:
    """A share to reach, and one that it should not fall below, 0 to 1."""

    aim: float
    critical: float


TARGETS: Final[Mapping[str, RunTarget]] = MappingProxyType(
    {
        "delegation": RunTarget(0.90, 0.50),
        "files": RunTarget(1.00, 0.80),
        "reduction": RunTarget(0.90, 0.50),
        "speed_up": RunTarget(0.40, 0.20),
    }
)
"""Of the goal's requests those that went to agents; of the expected files those that are there; of all tokens that
could have been handed on those that were not; of the time that the branches took one by one, what side by side
spared."""


def compare_to_targets(
    plan: Plan, results: Mapping[str, Result], *, savings: Savings, duration_ns: int | None
) -> JsonMapping:
    """The measured figures of a run, each with its target, and whether it is met.

    Args:
        plan: What was to be done.
        results: What its nodes came to.
        savings: What hand-offs spared.
        duration_ns: How long the whole took.
    """
    below = [result.extras.get("targets") for result in results.values()]
    durations = [
        (_figure(result.extras.get("targets"), "speed_up")[1] or result.duration_ns or 0) for result in results.values()
    ]
    branches = sum(map(bool, durations)) + sum(_figure(each, "speed_up")[1] > 0 for each in below)
    figures = {
        "delegation": _sum_figures(_delegation(plan), below, "delegation"),
        "files": _sum_figures(_files(plan, results), below, "files"),
        "reduction": _sum_figures((savings.full - savings.handed_on, savings.full), below, "reduction"),
        "speed_up": (sum(durations) - duration_ns, sum(durations)) if duration_ns and branches >= _BRANCHES else (0, 0),
    }
    return {
        name: {
            "measured": round(part / whole, 4),
            "part": part,
            "whole": whole,
            "target": TARGETS[name].aim,
            "critical": TARGETS[name].critical,
            "verdict": _verdict(part / whole, TARGETS[name]),
        }
        for name, (part, whole) in figures.items()
        if whole
    }


def _verdict(figure: float, target: RunTarget) -> str:
    return "met" if figure >= target.aim else "critical" if figure < target.critical else "below"


def _sum_figures(own: tuple[int, int], below: Iterable[object], name: str) -> tuple[int, int]:
    """Part and whole of a run and of the runs below it."""
    parts, wholes = zip(own, *(_figure(each, name) for each in below), strict=True)
    return sum(parts), sum(wholes)


def _figure(targets: object, name: str) -> tuple[int, int]:
    """Part and whole as a child run gave them; an agent that fills its extras with something else gave none."""
    figures = cast("JsonMapping", targets) if isinstance(targets, dict) else {}
    figure: object = figures.get(name)
    if isinstance(figure, dict):
        part, whole = (cast("JsonMapping", figure).get(key) for key in ("part", "whole"))
        if isinstance(part, int) and isinstance(whole, int) and part <= whole > 0:
            return part, whole
    return 0, 0


def _delegation(plan: Plan) -> tuple[int, int]:
    return len(plan.nodes), len(plan.nodes) + sum(dropped.wanted for dropped in plan.dropped)


def _files(plan: Plan, results: Mapping[str, Result]) -> tuple[int, int]:
    expected_paths = [(node.id, expected.path) for node in plan.nodes for expected in node.expects]
    there = {
        (name, artifact.path) for name, result in results.items() for artifact in result.artifacts if artifact.size
    }
    return sum(one in there for one in expected_paths), len(expected_paths)
