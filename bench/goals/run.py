"""Asks the goals, end to end and in this process: planned, walked by the in-process engine, merged.

The day is fixed, so that "last week" stays the same week. Each repository has one registry and one cache, as a project
has; so most goals find a warm index.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.goals.goal import Goal
from bench.goals.repository import Fixture
from bench.goals.score import Came, Score, Sources, judge
from bench.goals.shop import plant_shop
from bench.goals.weather import plant_weather
from retinue.agents.registry import Registry
from retinue.catalogue import agents
from retinue.engine.inprocess import InProcessEngine
from retinue.orchestration.orchestrator import Orchestrator, workflows
from retinue.tools.workspace import Workspace

if TYPE_CHECKING:
    from retinue.contract.plan import Plan

__all__ = ["BUILDERS", "TODAY", "ask_all"]

TODAY: Final = date(2026, 3, 10)
_PATIENCE_S: Final = 60.0

BUILDERS: Final[Mapping[str, Callable[[Path], Fixture]]] = {"shop": plant_shop, "weather": plant_weather}


def ask_all(goals: Iterable[Goal]) -> list[Score]:
    """Plant the repositories in a temporary folder, ask every goal, and judge what came; in the order of `goals`."""
    goals = list(goals)
    scores: dict[str, Score] = {}
    with tempfile.TemporaryDirectory(prefix="retinue-goals-") as place:
        for name, build in BUILDERS.items():
            root = Path(place, name)
            root.mkdir()
            build(root)
            asked = [goal for goal in goals if goal.repo == name]
            sources = Sources(root)
            for goal, came in asyncio.run(_ask(asked, root=root, cache=Path(place, f"{name}-cache"))):
                scores[goal.id] = judge(goal, came, sources)
    return [scores[goal.id] for goal in goals]


async def _ask(goals: Iterable[Goal], *, root: Path, cache: Path) -> list[tuple[Goal, Came]]:
    workspace = Workspace(root)
    registry = Registry(agents(cache_dir=cache))
    async with InProcessEngine(workflows(registry, workspace=workspace)) as engine:
        orchestrator = Orchestrator(registry, engine, workspace=workspace, today=TODAY)
        return [(goal, await _answer(orchestrator, goal.goal)) for goal in goals]


async def _answer(orchestrator: Orchestrator, goal: str) -> Came:
    begun = time.perf_counter()
    plan: Plan | None = None
    try:
        async with asyncio.timeout(_PATIENCE_S):
            plan = orchestrator.plan(goal)
            result = await orchestrator.run_plan(plan)
    except Exception as error:  # noqa: BLE001 - whatever is raised is a wrong answer, and the next goal is asked
        return Came(plan=plan, result=None, seconds=time.perf_counter() - begun, error=repr(error))
    return Came(plan=plan, result=result, seconds=time.perf_counter() - begun)
