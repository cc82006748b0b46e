"""A supervisor: one worker a topic, each with a file of its own, and half of them are enough."""

import asyncio
import tempfile

import retinue


@retinue.agent(effects=["write"])
async def writer(task: retinue.Task, run: retinue.RunContext) -> retinue.Reply:
    """Writes a report on a topic. Use for research. Returns nothing but the file."""
    if task.target == "retries":
        raise FileNotFoundError("nobody wrote anything down about retries")
    report = f"# {task.target}\n\n## Overview\n\nAll about {task.target}.\n\n## Findings\n\nNone yet.\n"
    path = task.output.path or "report.md"
    run.workspace.write_bytes(path, report.encode())
    return retinue.Reply(artifacts=(retinue.Artifact(path=path),))


@retinue.agent(composes=True)
async def supervisor(topics: list[str]) -> retinue.Plan:
    """Has several topics researched at once. Use for more than one. Returns what each brought."""
    return retinue.supervise(
        topics,
        agent="writer",
        skill="writer",
        instruction="Research {topic}.",
        folder="reports",
        sections=["Overview", "Findings"],
    )


async def main() -> None:
    """Ask for three topics; about one there is nothing."""
    registry = retinue.Registry([writer, supervisor])
    with tempfile.TemporaryDirectory() as folder:
        workspace = retinue.Workspace(folder, write=["reports"])
        async with retinue.InProcessEngine(retinue.workflows(registry, workspace=workspace)) as engine:
            orchestrator = retinue.Orchestrator(registry, engine, workspace=workspace)
            result = await orchestrator.run_task("supervisor", parameters={"topics": ["caching", "retries", "limits"]})
    print(result.outcome, [artifact.path for artifact in result.artifacts])
    for warning in result.warnings:
        print("  ", warning.message)


if __name__ == "__main__":
    asyncio.run(main())
