"""One task for one owner, in the background: bound to what it may touch, found again, and followed to its end."""

import asyncio

import retinue


@retinue.agent(effects=[])
async def greet(name: str, task: retinue.Task) -> str:
    """Greets somebody by name. Use when a greeting is due. Returns the greeting."""
    return f"Hello again, {name}" if task.context.history else f"Hello, {name}"


async def main() -> None:
    """Start a task, list the runs of its owner, wait for the result."""
    registry = retinue.Registry([greet])
    task = retinue.Task(
        id="t1", agent="greet", parameters={"name": "Ada"}, context=retinue.Context(history=("user: Hi",))
    )
    async with retinue.InProcessEngine(retinue.workflows(registry)) as engine:
        orchestrator = retinue.Orchestrator(registry, engine)
        run = await orchestrator.start_task(task, owner="ada", labels={"from": "web"}, effects=["read"])
        page = await engine.list(limit=20, where=retinue.RunFilter(owner="ada", labels={"from": "web"}))
        result = await engine.result(run)
        print(page[0].label, "for", page[0].owner, "→", result.data)


if __name__ == "__main__":
    asyncio.run(main())
