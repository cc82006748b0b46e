"""How many goals that are nobody's business are refused, and how many that are somebody's are kept.

Sixty everyday goals and sixty that can be answered, over the two repositories of `bench.goals` and this one, each
asked end to end. `python -m bench.offtopic` prints the goals that went wrong as well.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.goals.run import BUILDERS, TODAY
from bench.table import Row, markdown
from retinue.agents.registry import Registry
from retinue.catalogue import agents
from retinue.engine.inprocess import InProcessEngine
from retinue.orchestration.orchestrator import Orchestrator, workflows
from retinue.tools.workspace import Workspace

__all__ = ["measure"]

_HERE: Final = Path(__file__).resolve().parent
_WARM_UP: Final = "How does it work?"


@dataclass(frozen=True, slots=True)
class _Ending:
    """How one goal ended.

    Attributes:
        refused_by: The reader, or the agents that it asked; empty when something was answered.
        skills: Who was asked.
    """

    goal: str
    answerable: bool
    refused_by: str
    skills: tuple[str, ...]
    seconds: float


def _endings() -> list[_Ending]:
    goals = [json.loads(line) for line in (_HERE / "data" / "offtopic.jsonl").read_text(encoding="utf-8").splitlines()]
    found: list[_Ending] = []
    with tempfile.TemporaryDirectory(prefix="retinue-offtopic-") as place:
        for name in dict.fromkeys(one["repo"] for one in goals):
            root = _HERE.parent if name == "retinue" else Path(place, name)
            if name in BUILDERS:
                root.mkdir()
                BUILDERS[name](root)
            asked = [one for one in goals if one["repo"] == name]
            found += asyncio.run(_ask(asked, root=root, cache=Path(place, f"{name}-cache")))
    return found


async def _ask(goals: Sequence[dict[str, Any]], *, root: Path, cache: Path) -> list[_Ending]:
    workspace = Workspace(root)
    registry = Registry(agents(cache_dir=cache))
    async with InProcessEngine(workflows(registry, workspace=workspace)) as engine:
        orchestrator = Orchestrator(registry, engine, workspace=workspace, today=TODAY)
        await orchestrator.run_goal(_WARM_UP)
        return [await _ending(orchestrator, one["goal"], answerable=one["answerable"]) for one in goals]


async def _ending(orchestrator: Orchestrator, goal: str, *, answerable: bool) -> _Ending:
    begun = time.perf_counter()
    plan = orchestrator.plan(goal)
    result = await orchestrator.run_plan(plan)
    answered = result.outcome in {"success", "partial"} and bool(plan.nodes)
    by = "" if answered else "agents" if plan.nodes else "reader"
    skills = tuple(f"{node.agent}.{node.skill}" for node in plan.nodes)
    return _Ending(goal, answerable, by, skills, time.perf_counter() - begun)


def _rows(endings: Sequence[_Ending]) -> list[Row]:
    off = [one for one in endings if not one.answerable]
    kept = [one for one in endings if one.answerable]
    by_reader = sum(one.refused_by == "reader" for one in off)
    refused = [one for one in off if one.refused_by]
    answered = sum(not one.refused_by for one in kept)
    slowest = max((one.seconds for one in endings if one.refused_by), default=0.0)
    return [
        Row(
            "off-topic goals refused", len(refused) / len(off), "share", goal=0.95, at_least=True,
            note=f"{by_reader} of {len(off)} by the reader",
        ),
        Row("answerable goals kept", answered / len(kept), "share", goal=0.9, at_least=True),
        Row("the slowest refusal", slowest, "s", goal=2.0),
    ]  # fmt: skip


def measure() -> list[Row]:
    return _rows(_endings())


if __name__ == "__main__":
    endings = _endings()
    print(markdown(_rows(endings)))
    for one in endings:
        if one.answerable == bool(one.refused_by):
            wrong = f"refused by the {one.refused_by}" if one.answerable else "answered"
            print(f"{wrong}: {one.goal} ({', '.join(one.skills) or 'nobody'}, {one.seconds:.1f} s)")
    sys.exit(0)
