"""The time an agent has left."""

import asyncio
import threading
from typing import Any, cast

import pytest

from retinue.agents.local import LocalContext
from retinue.catalogue._run_limits import RunDeadline, in_cancellable_thread
from retinue.engine.base import Outside
from retinue.errors import Canceled, DeadlineExceeded

SECOND = 1_000_000_000


class Clock:
    def __init__(self) -> None:
        self.now = 0

    def context(self, deadline_ns: int | None = None) -> LocalContext:
        return LocalContext(outside=Outside(clock=lambda: self.now), deadline_ns=deadline_ns)


def test_without_a_bound_there_is_no_end() -> None:
    clock = Clock()
    watch = RunDeadline(clock.context())
    clock.now = 10**18
    watch.check()
    assert watch.remaining_s() is None


@pytest.mark.requirement("C21")
def test_the_tighter_bound_ends_it_with_time_kept_back_to_answer() -> None:
    clock = Clock()
    watch = RunDeadline(clock.context(10 * SECOND), seconds=300)
    assert watch.remaining_s() == 9.0
    clock.now = 9 * SECOND
    with pytest.raises(DeadlineExceeded):
        watch.check()
    assert watch.remaining_s() == 0
    own = RunDeadline(clock.context(10_000 * SECOND), seconds=1)
    assert own.remaining_s() == 1.0


def test_a_cancelled_caller_ends_the_thread_at_its_next_check() -> None:
    watch = RunDeadline(Clock().context())
    ended = threading.Event()

    def work() -> None:
        try:
            while True:
                watch.check()
        except Canceled:
            ended.set()

    async def main() -> None:
        started = asyncio.Event()
        loop = asyncio.get_running_loop()

        def begin() -> None:
            loop.call_soon_threadsafe(started.set)
            work()

        task = asyncio.create_task(cast("Any", in_cancellable_thread(watch, begin)))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert ended.wait(10)
