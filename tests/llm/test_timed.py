"""A time limit without a timer for what does not wait."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from retinue.llm._timeout import in_time


async def at_once() -> str:
    return "there"


async def for_ever(seen: list[str]) -> str:
    try:
        await asyncio.get_running_loop().create_future()
    except asyncio.CancelledError:
        seen.append("cancelled")
        raise
    return "never"


async def in_steps(seen: list[str]) -> str:
    for step in ("one", "two"):
        await asyncio.sleep(0)
        seen.append(step)
    return "done"


def timers(work: Coroutine[Any, Any, str], seconds: float = 60) -> int:
    """How many timers are set while `work` goes."""

    async def story() -> int:
        loop, count = asyncio.get_running_loop(), 0
        usual = loop.call_at

        def counted(*given: Any, **named: Any) -> asyncio.TimerHandle:
            nonlocal count
            count += 1
            return usual(*given, **named)

        loop.call_at = counted  # pyright: ignore[reportAttributeAccessIssue] - to see who sets a timer
        await in_time(work, seconds)
        return count

    return asyncio.run(story())


def test_what_never_waits_sets_no_timer() -> None:
    assert timers(at_once()) == 0
    assert timers(in_steps([])) == 1


def test_what_waits_is_awaited_to_its_end() -> None:
    seen: list[str] = []
    assert asyncio.run(in_time(at_once(), 60)) == ("there", True)
    assert asyncio.run(in_time(in_steps(seen), 60)) == ("done", True)
    assert seen == ["one", "two"]


def test_what_is_late_is_cancelled_and_told() -> None:
    seen: list[str] = []
    assert asyncio.run(in_time(for_ever(seen), 0.001)) == (None, False)
    assert seen == ["cancelled"]


def test_what_still_answers_when_its_time_is_up_is_kept() -> None:
    async def stubborn() -> str:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
        return "late"

    assert asyncio.run(in_time(stubborn(), 0.001)) == ("late", True)


def test_a_timeout_and_any_error_of_its_own_pass() -> None:
    async def fails(error: Exception, *, waits: bool) -> str:
        if waits:
            await asyncio.sleep(0)
        raise error

    for error in (TimeoutError("mine"), ValueError("mine")):
        for waits in (False, True):
            with pytest.raises(type(error), match="mine"):
                asyncio.run(in_time(fails(error, waits=waits), 60))


def test_a_cancellation_from_outside_passes_and_reaches_the_work() -> None:
    seen: list[str] = []

    async def story() -> None:
        task = asyncio.create_task(in_time(for_ever(seen), 60))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())
    assert seen == ["cancelled"]


def test_what_is_dropped_in_the_middle_is_closed() -> None:
    seen: list[str] = []

    async def waits() -> str:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            seen.append("closed")
        return "never"

    async def story() -> None:
        work = in_time(waits(), 60)
        work.send(None)
        work.close()

    asyncio.run(story())
    assert seen == ["closed"]
