"""A skill with typed parameters, asked in plain words: choices by what they mean, names by the facts of a workspace."""

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel

import retinue

CELLAR = {"Zweigelt": {"red": 6, "rosé": 2}, "Veltliner": {"white": 12}}


class Bottles(BaseModel):
    """What `bottles` answers."""

    answer: str


def read_wines(workspace: retinue.Workspace) -> retinue.Facts:
    """The wines in this cellar, which `wine` can name."""
    return retinue.Facts(names={"wine": tuple(json.loads(workspace.read_text("cellar.json")))})


@retinue.agent(facts=read_wines, examples=["how many bottles of `Zweigelt` are left", "list the bottles of wine"])
async def bottles(
    run: retinue.RunContext,
    wine: Annotated[str, retinue.FromFacts("wine")] = "",
    show: Annotated[
        Literal["list", "count"],
        retinue.Choices(list="which bottles there are: list, name them", count="how many are left: number, count"),
    ] = "list",
) -> Bottles:
    """Counts and lists the bottles in a wine cellar. Use when somebody asks what is left. Returns a sentence.

    Args:
        wine: Only this wine; empty for all.
        show: What leads the answer.
    """
    cellar = json.loads(run.workspace.read_text("cellar.json"))
    chosen = {name: kinds for name, kinds in cellar.items() if wine in {"", name}}
    if show == "count":
        return Bottles(answer=f"{sum(sum(kinds.values()) for kinds in chosen.values())} bottles are left.")
    return Bottles(answer=f"There are {', '.join(sorted(chosen))}.")


async def main(workspace: retinue.Workspace) -> None:
    """Ask in words; the third time for a wine that is not there."""
    registry = retinue.Registry([bottles])
    async with retinue.InProcessEngine(retinue.workflows(registry, workspace=workspace)) as engine:
        orchestrator = retinue.Orchestrator(registry, engine, workspace=workspace)
        for goal in ("how many bottles of veltliner are left?", "list the bottles", "how many bottles of Merlot?"):
            plan = orchestrator.plan(goal)
            print(goal, *(node.parameters for node in plan.nodes))
            print((await orchestrator.run_plan(plan)).content)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "cellar.json").write_text(json.dumps(CELLAR), encoding="utf-8")
        asyncio.run(main(retinue.Workspace(folder)))
