"""A time limit that costs nothing where nothing waits: what a script or a recording answers is there at once.

A timer is set only when the code has begun to wait for something.
"""

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")


async def in_time(work: Coroutine[Any, Any, T], seconds: float) -> tuple[T | None, bool]:
    """Await `work` for so many seconds at most: what it gave, and whether it was in time.

    A `TimeoutError` of its own passes.
    """
    ends = asyncio.get_running_loop().time() + seconds
    steps = work.__await__()
    try:
        waits_for = steps.send(None)
    except StopIteration as end:
        return end.value, True
    timer = asyncio.timeout_at(ends)
    try:
        async with timer:
            return await _Continuation(steps, waits_for), True
    except TimeoutError:
        if not timer.expired():
            raise
        return None, False


class _Continuation:
    """What is left of a coroutine that has begun: awaiting this goes on where it waits."""

    __slots__ = ("_steps", "_waits_for")

    def __init__(self, steps: Generator[Any, Any, Any], waits_for: object) -> None:
        self._steps = steps
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, Any]:
        steps, waits_for = self._steps, self._waits_for
        while True:
            thrown: BaseException | None = None
            try:
                yield waits_for
            except GeneratorExit:
                steps.close()
                raise
            except BaseException as error:  # noqa: BLE001 - a cancellation, most likely: it is for the code
                thrown = error
            try:
                waits_for = steps.send(None) if thrown is None else steps.throw(thrown)
            except StopIteration as end:
                return end.value
