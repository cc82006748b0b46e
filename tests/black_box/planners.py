"""Agents that plan badly, and two that write over each other, as the text of their file."""

PLANNERS = '''"""Agents that plan badly."""

from pathlib import Path
from typing import Any

import retinue


def one(agent: str, instruction: str, name: str = "n1", **facts: Any) -> retinue.Delegation:
    return retinue.Delegation(id=name, agent=agent, skill=agent, instruction=instruction, **facts)


@retinue.agent
async def singer(task: str) -> dict[str, str]:
    """Sings loud songs. Use when a song must be sung. Returns the song."""
    return {"song": task}


@retinue.agent(composes=True)
async def mirror(task: str) -> retinue.Plan:
    """Mirrors requests. Use when a mirror is due. Returns what it was asked."""
    return retinue.Plan(nodes=(one("mirror", task),))


@retinue.agent(composes=True)
async def there(task: str) -> retinue.Plan:
    """Goes there. Use when somebody must go there. Returns the way back."""
    return retinue.Plan(nodes=(one("back", task),))


@retinue.agent(composes=True)
async def back(task: str) -> retinue.Plan:
    """Goes back. Use when somebody must go back. Returns the way there."""
    return retinue.Plan(nodes=(one("there", task),))


@retinue.agent(composes=True)
async def digger(task: str) -> retinue.Plan:
    """Digs deeper. Use when a hole must be dug. Returns a deeper hole."""
    return retinue.Plan(nodes=(one("singer", task, "song"), one("digger", task + "!", "hole")))


@retinue.agent(composes=True)
async def hoarder(task: str) -> retinue.Plan:
    """Hoards delegations. Use when there are too few. Returns too many."""
    return retinue.Plan(nodes=tuple(one("singer", task, f"n{number}") for number in range(10_001)))


@retinue.agent(composes=True)
async def circler(task: str) -> retinue.Plan:
    """Plans in circles. Use when a circle is due. Returns one."""
    return retinue.Plan(nodes=(one("singer", task, "a", needs=("b",)), one("singer", task, "b", needs=("a",))))


@retinue.agent(composes=True)
async def dangler(task: str) -> retinue.Plan:
    """Plans on nothing. Use when nothing holds. Returns a plan that hangs."""
    return retinue.Plan(nodes=(one("singer", task, needs=("gone",)),))


@retinue.agent(composes=True)
async def inventor(task: str) -> retinue.Plan:
    """Invents agents. Use when there is nobody. Returns work for nobody."""
    return retinue.Plan(nodes=(one("nobody", task), one("singer", task, "n2")))


@retinue.agent(composes=True)
async def overlapper(task: str) -> retinue.Plan:
    """Plans two reports into one file. Use when paper is short. Returns one file."""
    report = (retinue.Expected(path="report.md"),)
    return retinue.Plan(nodes=(one("left", task, "a", expects=report), one("right", task, "b", expects=report)))


def written(root: Path, text: str) -> retinue.Reply:
    (root / "shared.md").write_text(text)
    return retinue.Reply(data={"wrote": text}, artifacts=(retinue.Artifact(path="shared.md"),))


@retinue.agent(effects=["write"])
async def left(task: str, run: retinue.RunContext) -> retinue.Reply:
    """Writes with the left hand. Use when the left is asked. Returns a file."""
    return written(run.workspace.root, "left")


@retinue.agent(effects=["write"])
async def right(task: str, run: retinue.RunContext) -> retinue.Reply:
    """Writes with the right hand. Use when the right is asked. Returns a file."""
    return written(run.workspace.root, "right")
'''
