"""All domains at once under one deadline; whoever is late is "Timed out", with its traces so far (B24).

`async` runs them on one loop, `threads` gives each a thread with a loop of its own, for tools that block (B10). A
thread cannot be stopped: one that is late goes on behind, and what it still does is not waited for.
"""

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias

from .domain import DomainResult
from .settings import Mode

__all__ = ["TIMED_OUT", "Work", "broadcast"]

TIMED_OUT: Final = "Timed out"

Work: TypeAlias = Callable[[], Awaitable[DomainResult]]


async def broadcast(works: Sequence[tuple[DomainResult, Work]], *, mode: Mode, timeout_s: float) -> list[DomainResult]:
    """Do all of `works`, and give what each came to, in their order.

    Args:
        works: Each with the result that it fills.
        mode: Where they run.
        timeout_s: Seconds for all of them together.
    """
    begin = _in_thread if mode == "threads" else _on_loop
    tasks = [begin(work) for _, work in works]
    if tasks:
        _, late = await asyncio.wait(tasks, timeout=timeout_s)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
    found: list[DomainResult] = []
    for (result, _), task in zip(works, tasks, strict=True):
        if task.cancelled():
            traces = list(result.traces)  # a late thread may go on filling its own
            found.append(DomainResult(result.name, result.intent, TIMED_OUT, "timed out", traces, int(timeout_s * 1e9)))
        else:
            found.append(task.result())
    return found


def _on_loop(work: Work) -> asyncio.Future[DomainResult]:
    return asyncio.ensure_future(work())


def _in_thread(work: Work) -> asyncio.Future[DomainResult]:
    """Run `work` on a loop of its own in a thread that nobody has to wait for."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[DomainResult] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: DomainResult | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        elif result is not None:
            future.set_result(result)

    def tell(result: DomainResult | None, error: BaseException | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, error)

    async def run() -> DomainResult:
        return await work()

    def body() -> None:
        try:
            tell(asyncio.run(run()), None)
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits
            tell(None, error)

    threading.Thread(target=context.run, args=(body,), daemon=True, name="assistant-domain").start()
    return future
