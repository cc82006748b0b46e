"""What a skill touches is held against the grants of whoever calls it, by the boundary and so for every call."""

import asyncio
from pathlib import Path

import pytest

from retinue.agents.boundary import Boundary
from retinue.agents.grants import ALL, READ_ONLY, Grants
from retinue.agents.local import LocalContext
from retinue.agents.port import Agent
from retinue.agents.python import agent
from retinue.agents.registry import Registry
from retinue.catalogue import agents as ready_made
from retinue.contract.result import Result
from retinue.contract.task import Task
from retinue.tools.workspace import Workspace


@agent(description="Says nothing of what it touches.")
def silent(task: str) -> dict[str, str]:
    """Answer."""
    return {"answer": task}


@agent(description="Only computes.", effects=[])
def computes(task: str) -> dict[str, str]:
    """Answer."""
    return {"answer": task}


@agent(description="Reads.", effects=["read"])
def reads(task: str) -> dict[str, str]:
    """Answer."""
    return {"answer": task}


def called(agent: Agent, grants: Grants, folder: Path | None = None, instruction: str = "") -> Result:
    async def main() -> Result:
        workspace = None if folder is None else Workspace(folder, write=(".",))
        task = Task(
            id="t", agent=agent.definition.name, instruction=instruction, parameters={} if folder else {"task": "x"}
        )
        async with LocalContext(grants=grants, workspace=workspace) as run:
            return await Boundary(Registry()).call_agent(agent, task, run)

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("grants", "answers"),
    [
        (ALL, ["silent", "computes", "reads"]),
        (READ_ONLY, ["computes", "reads"]),
        (Grants(mode="plan"), ["computes", "reads"]),
        (Grants(effects=frozenset()).within(ALL), ["computes"]),
    ],
)
def test_what_touches_more_than_was_granted_is_not_called(grants: Grants, answers: list[str]) -> None:
    results = {each.definition.name: called(each, grants) for each in (silent, computes, reads)}
    assert [name for name, result in results.items() if result.outcome == "success"] == answers
    refused = [result.fault for name, result in results.items() if name not in answers]
    assert {fault.code for fault in refused if fault} <= {"access_denied"}
    assert all(fault and "this call may not do all of that" in fault.message for fault in refused)


def test_the_assistant_writes_nothing_on_behalf_of_somebody_who_may_only_read(tmp_path: Path) -> None:
    (assistant,) = (each for each in ready_made(state_dir=tmp_path / "state") if "assist" in each.definition.name)
    result = called(assistant, READ_ONLY, tmp_path, "Add a note: buy milk")
    assert (result.outcome, result.fault and result.fault.code) == ("error", "access_denied")
    assert list(tmp_path.rglob("*.db")) == []
