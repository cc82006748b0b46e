"""Workflows and bodies that the engine tests share."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, cast

from retinue.contract.event import Event
from retinue.contract.model import JsonMapping
from retinue.contract.result import Outcome, Result
from retinue.engine.base import Engine, Step, Workflow, WorkflowScope


def result(data: object = None, outcome: Outcome = "success", name: str = "test") -> Result:
    return Result(task_id=name, agent=name, outcome=outcome, data=data)


def gives(data: object = None, outcome: Outcome = "success") -> Step:
    """A body that ends at once."""

    async def body() -> Result:
        return result(data, outcome)

    return body


async def hangs() -> Result:
    """A body that never ends by itself."""
    await asyncio.Event().wait()
    return result()


def raises(error: BaseException) -> Step:
    async def body() -> Result:
        raise error

    return body


def fan_out(steps: Callable[[], dict[str, Step]]) -> Workflow:
    """A workflow that runs all steps at once and gives outcome by name, in the order they ended."""

    async def workflow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        bodies = steps()
        scope.reserve(bodies)
        for name, body in bodies.items():
            scope.step(name, body)
        return result([[name, done.outcome, done.data] for name, done in await collect(scope, len(bodies))])

    return workflow


async def collect(scope: WorkflowScope, count: int) -> list[tuple[str, Result]]:
    """Wait for `count` results."""
    done: list[tuple[str, Result]] = []
    while len(done) < count:
        done += await scope.completed()
    return done


async def run(engine: Engine, workflow: str = "flow", payload: JsonMapping | None = None, **names: Any) -> Result:
    """Start a run and wait for it."""
    return await engine.result(await engine.start(workflow, payload or {}, **names))


async def happened(engine: Engine, run: str, kind: str, node: str | None = None, *, after: int = 0) -> Event:
    """Wait for the first event of a kind, of those with a sequence above `after`."""
    async with aclosing(cast("AsyncGenerator[Event, None]", engine.events(run, after=after))) as events:
        async for event in events:
            if event.kind == kind and node in {None, event.node}:
                return event
    raise AssertionError(f"run {run} ended without {kind} of {node}")


async def told(engine: Engine, run: str, **options: int) -> list[str]:
    """What happened so far, as words."""
    return [f"{event.kind} {event.node}".strip() async for event in engine.events(run, follow=False, **options)]
