"""Foreign code, run once: it hangs, swallows, blocks, exits, lies about being awaitable."""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from retinue.agents.boundary.call import AttemptResult, attempt

GRACE = 0.02
QUICK = 0.02


def tried(start: Callable[[], Awaitable[object]], *, seconds: float | None = QUICK) -> AttemptResult:
    async def main() -> AttemptResult:
        ended = await attempt(start, seconds=seconds, grace_s=GRACE)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        return ended

    return asyncio.run(main())


async def nothing() -> None:
    await asyncio.sleep(100)


async def swallow() -> None:
    """Go on after the first cancellation. The second one is the test's own loop, shutting down."""
    try:
        await asyncio.sleep(100)
    except asyncio.CancelledError:
        await asyncio.sleep(100)


def test_a_reply_comes_back_from_code_that_waits_and_code_that_does_not() -> None:
    async def at_once() -> int:
        return 1

    async def later() -> int:
        await asyncio.sleep(0)
        return 2

    assert tried(at_once).reply == 1
    assert tried(later, seconds=None).reply == 2
    assert tried(lambda: asyncio.create_task(at_once())).reply == 1


@pytest.mark.parametrize(
    "error",
    [ValueError("x"), SystemExit(3), GeneratorExit(), asyncio.CancelledError(), MemoryError()],
)
@pytest.mark.parametrize("waits", [False, True])
def test_whatever_is_raised_is_a_value(error: BaseException, waits: bool) -> None:
    async def fail() -> None:
        if waits:
            await asyncio.sleep(0)
        raise error

    ended = tried(fail)
    assert ended.error is error
    assert not ended.timed_out
    assert not ended.canceled


@pytest.mark.parametrize("start", [lambda: 5, lambda: None, lambda: 1 / 0])
def test_what_cannot_be_awaited_is_a_value_too(start: Callable[[], Any]) -> None:
    assert isinstance(tried(start).error, (AttributeError, ZeroDivisionError))


def test_what_cannot_be_waited_for_is_refused_in_the_code_that_gave_it() -> None:
    class Strange:
        def __await__(self) -> Any:
            yield "a text is nothing to wait for"

    async def wait() -> None:
        await Strange()

    assert isinstance(tried(wait).error, RuntimeError)


def test_a_hanging_agent_is_stopped() -> None:
    ended = tried(nothing)
    assert ended.timed_out
    assert not ended.closed
    assert isinstance(ended.error, asyncio.CancelledError)


def test_what_is_handed_back_in_the_grace_period_is_kept() -> None:
    async def tidy() -> str:
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            await asyncio.sleep(0)
        return "half"

    ended = tried(tidy)
    assert ended.timed_out
    assert ended.reply == "half"
    assert ended.error is None


@pytest.mark.parametrize("inside", ["itself", "a task", "a gathering", "a group"])
def test_an_agent_that_swallows_its_cancellation_is_closed(inside: str) -> None:
    async def stubborn() -> None:
        match inside:
            case "itself":
                await swallow()
            case "a task":
                await asyncio.create_task(swallow())
            case "a gathering":
                await asyncio.gather(swallow(), swallow())
            case _:
                async with asyncio.TaskGroup() as group:
                    group.create_task(swallow())

    ended = tried(stubborn)
    assert ended.timed_out
    assert ended.closed


def test_an_agent_that_cannot_even_be_closed_is_left() -> None:
    async def undying() -> None:
        for _ in range(2):  # the cancellation, and the closing
            try:
                await asyncio.sleep(100)
            except BaseException:  # noqa: BLE001 - that is what it does
                continue
        await asyncio.sleep(100)

    ended = tried(undying)
    assert ended.timed_out
    assert ended.closed
    assert isinstance(ended.error, RuntimeError)


def test_time_outs_of_the_agents_own_work_as_ever() -> None:
    async def careful() -> list[str]:
        said: list[str] = []
        for wait in (nothing, lambda: asyncio.gather(nothing()), lambda: asyncio.create_task(nothing())):
            try:
                async with asyncio.timeout(0.001):
                    await wait()
            except TimeoutError:
                said.append("timed out")
        await asyncio.sleep(GRACE * 2)  # longer than the grace period, and nobody has cancelled it
        return said

    ended = tried(careful, seconds=10)
    assert ended.reply == ["timed out"] * 3
    assert not ended.timed_out


def test_failures_of_futures_reach_the_agent() -> None:
    async def fails() -> None:
        raise LookupError

    async def curious() -> list[str]:
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_exception, ValueError())
        seen: list[str] = []
        for wait in (future, asyncio.gather(fails()), asyncio.create_task(fails())):
            try:
                await wait
            except (ValueError, LookupError) as error:
                seen.append(type(error).__name__)
        return seen

    assert tried(curious).reply == ["ValueError", "LookupError", "LookupError"]


@pytest.mark.parametrize("code", [nothing, lambda: asyncio.gather(nothing()), swallow])
def test_a_cancellation_from_outside_is_told(code: Callable[[], Awaitable[object]]) -> None:
    async def main() -> AttemptResult:
        task = asyncio.create_task(attempt(code, seconds=None, grace_s=GRACE))
        await asyncio.sleep(0)
        task.cancel()
        return await task

    assert asyncio.run(main()).canceled


def test_a_cancellation_beats_a_deadline_that_passed_meanwhile() -> None:
    async def main() -> AttemptResult:
        task = asyncio.create_task(attempt(swallow, seconds=GRACE / 2, grace_s=GRACE))
        await asyncio.sleep(0)
        task.cancel()
        return await task

    ended = asyncio.run(main())
    assert ended.canceled
    assert not ended.timed_out


def test_blocking_is_measured() -> None:
    async def block() -> int:
        await asyncio.sleep(0)
        time.sleep(0.03)  # noqa: ASYNC251 - that is what it does
        return 7

    ended = tried(block)
    assert ended.reply == 7
    assert ended.blocked_ns >= 30_000_000
    assert not ended.timed_out


def test_ctrl_c_is_not_the_agents_doing() -> None:
    async def struck() -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    async def main() -> None:
        await attempt(struck, seconds=10, grace_s=GRACE)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    loop = asyncio.new_event_loop()
    try:
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(main())
    finally:
        loop.close()


def test_the_first_ctrl_c_cancels_even_before_the_agent_has_waited() -> None:
    async def struck() -> None:
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(0)

    seen: list[AttemptResult] = []

    async def main() -> None:
        seen.append(await attempt(struck, seconds=10, grace_s=GRACE))
        if seen[0].canceled:
            raise asyncio.CancelledError

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    assert seen[0].canceled


async def soon(error: Exception) -> None:
    await asyncio.sleep(0.001)
    raise error


async def catches(*, inside: bool = False) -> str:
    """Go on after a child of its own group has failed: while the group is left, or while its body still waits."""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(soon(ValueError("no")))
            group.create_task(nothing())
            if inside:
                await nothing()
    except* ValueError:
        pass
    await asyncio.sleep(0.001)
    return "well"


async def nested() -> str:
    async with asyncio.TaskGroup() as group:
        one, other = group.create_task(catches()), group.create_task(catches(inside=True))
    return one.result() + other.result() + await catches() + await catches(inside=True)


@pytest.mark.parametrize("inside", [False, True])
def test_an_agent_that_catches_what_its_own_group_raises_is_not_cancelled(inside: bool) -> None:
    ended = tried(lambda: catches(inside=inside), seconds=5)
    assert (ended.reply, ended.canceled, ended.error) == ("well", False, None)


def test_groups_within_groups_and_one_after_the_other_leave_no_mark() -> None:
    ended = tried(nested, seconds=5)
    assert (ended.reply, ended.canceled) == ("wellwellwellwell", False)


def test_a_group_whose_error_is_not_caught_is_the_agents_failure() -> None:
    async def fails() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(soon(ValueError("no")))

    ended = tried(fails, seconds=5)
    assert isinstance(ended.error, ExceptionGroup)
    assert not ended.canceled


def test_a_cancellation_from_outside_is_told_also_from_within_a_group() -> None:
    async def waits() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(nothing())

    async def main() -> AttemptResult:
        call = asyncio.create_task(attempt(waits, seconds=5, grace_s=GRACE))
        await asyncio.sleep(0.001)
        call.cancel()
        return await call

    assert asyncio.run(main()).canceled


def test_a_cancellation_from_outside_beats_a_failure_in_the_group() -> None:
    async def stubborn() -> None:
        try:
            await nothing()
        finally:
            raise ValueError("no")

    async def both() -> str:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(stubborn())
        except* ValueError:
            pass
        return "well"

    async def main() -> AttemptResult:
        call = asyncio.create_task(attempt(both, seconds=5, grace_s=GRACE))
        await asyncio.sleep(0.001)
        call.cancel()
        return await call

    assert asyncio.run(main()).canceled
