"""Ending asyncio tasks, also those that will not end."""

import asyncio
import inspect
import time
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any, Final, cast

__all__ = ["GRACE_S", "gone", "is_unborn", "throw_out"]

GRACE_S: Final = 5.0
"""How long something may go on after it was told to stop. Then it is thrown out."""


def is_unborn(task: "asyncio.Task[None]") -> bool:
    """Whether `task` has not taken its first step. Cancelled now it never will, so nothing in it can say so."""
    return inspect.getcoroutinestate(_coroutine(task)) == inspect.CORO_CREATED


def throw_out(task: "asyncio.Task[None]") -> None:
    """End a task that swallows being cancelled."""
    with suppress(RuntimeError):  # it swallows even this
        _coroutine(task).close()
    task.cancel()


async def gone(tasks: Sequence["asyncio.Task[None]"], timeout_s: float | None) -> None:
    """Wait for `tasks` to end, whoever wants to interrupt that: they are stopping already."""
    end = None if timeout_s is None else time.monotonic() + timeout_s
    while pending := [task for task in tasks if not task.done()]:
        left = None if end is None else end - time.monotonic()
        if left is not None and left <= 0:
            return
        with suppress(asyncio.CancelledError):
            await asyncio.wait(pending, timeout=left)


def _coroutine(task: "asyncio.Task[None]") -> Coroutine[Any, Any, None]:
    return cast("Coroutine[Any, Any, None]", task.get_coro())
