"""Functions in threads: what comes back, and what is left behind."""

import asyncio
import contextvars
import subprocess
import sys
import threading

import pytest

from retinue.engine import blocking
from retinue.engine.blocking import ThreadCall, in_thread, orphaned_calls, retire_idle_threads
from retinue.errors import InternalError, Unavailable

COLOUR: contextvars.ContextVar[str] = contextvars.ContextVar("colour")


def fails(error: BaseException) -> None:
    raise error


def test_what_a_function_returns_comes_back() -> None:
    async def main() -> None:
        assert await in_thread(int, "11", base=2) == 3
        assert await in_thread(threading.current_thread) is not threading.current_thread()

    asyncio.run(main())


def test_context_variables_are_seen_and_changes_stay_inside() -> None:
    def paints() -> str:
        seen = COLOUR.get()
        COLOUR.set("blue")
        return seen

    async def main() -> None:
        COLOUR.set("red")
        assert await in_thread(paints) == "red"
        assert COLOUR.get() == "red"

    asyncio.run(main())


def test_an_exception_comes_back_as_it_was() -> None:
    async def main() -> None:
        with pytest.raises(ValueError, match="seven"):
            await in_thread(fails, ValueError("seven"))

    asyncio.run(main())


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), StopIteration(2)], ids=repr)
def test_what_would_end_the_program_or_the_loop_is_an_error(error: BaseException) -> None:
    async def main() -> None:
        with pytest.raises(InternalError, match=type(error).__name__):
            await in_thread(fails, error)

    asyncio.run(main())


def test_a_thread_left_behind_is_reported_until_it_ends() -> None:
    gate, began = threading.Event(), threading.Event()

    def hangs() -> None:
        began.set()
        gate.wait()

    async def main() -> None:
        call = ThreadCall(hangs)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await call
        await asyncio.to_thread(began.wait)
        assert call.is_orphaned
        assert orphaned_calls() == (call.name,)
        gate.set()
        while call.is_orphaned:  # noqa: ASYNC110 - nobody waits for it any more, so nobody is told
            await asyncio.sleep(0)
        assert orphaned_calls() == ()
        assert await in_thread(int, 5) == 5

    asyncio.run(main())


def test_a_call_is_awaited_once() -> None:
    async def main() -> None:
        call = ThreadCall(int)
        assert await call == 0
        assert not call.is_orphaned
        with pytest.raises(InternalError, match="twice"):
            await call

    asyncio.run(main())


def test_more_calls_than_threads_take_turns_and_hung_ones_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocking, "_MAX_THREADS", 2)
    gate = threading.Event()

    async def main() -> None:
        hung = [asyncio.create_task(in_thread(gate.wait)) for _ in range(2)]
        waiting = asyncio.create_task(in_thread(int, 1))
        given_up = asyncio.create_task(in_thread(int, 2))
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        assert not waiting.done()
        hung[0].cancel()
        assert await waiting == 1
        assert await asyncio.gather(*(in_thread(int, n) for n in range(20))) == list(range(20))
        hung[1].cancel()
        await asyncio.gather(*hung, return_exceptions=True)
        assert len(orphaned_calls()) == 2
        gate.set()
        while orphaned_calls():  # noqa: ASYNC110 - as above
            await asyncio.sleep(0)

    asyncio.run(main())


def test_when_the_system_gives_no_thread_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    retire_idle_threads()

    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def main() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", start)
            with pytest.raises(Unavailable, match="No thread"):
                await in_thread(int)
        assert await in_thread(int) == 0

    asyncio.run(main())


def test_idle_threads_end_when_told_or_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    retire_idle_threads()
    before = threading.active_count()
    asyncio.run(in_thread(int))
    assert threading.active_count() == before + 1
    retire_idle_threads()
    assert threading.active_count() == before
    monkeypatch.setattr(blocking, "_IDLE_S", 0.001)
    thread = asyncio.run(in_thread(threading.current_thread))
    thread.join()
    assert asyncio.run(in_thread(int)) == 0
    retire_idle_threads()


def test_a_hung_thread_does_not_hold_up_the_end_of_the_program() -> None:
    code = (
        "import asyncio, threading\n"
        "from retinue.engine.blocking import in_thread\n"
        "async def main():\n"
        "    task = asyncio.create_task(in_thread(threading.Event().wait))\n"
        "    await in_thread(int)\n"
        "asyncio.run(main()); print('ended')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "ended\n"
    assert "Traceback" not in done.stderr


def test_an_outcome_for_a_closed_loop_is_dropped() -> None:
    gate = threading.Event()
    call = ThreadCall(gate.wait)

    async def main() -> None:
        async def waits() -> None:
            await call

        task = asyncio.create_task(waits())
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(main())
    gate.set()
    while call.is_orphaned:
        pass
    assert call.finished
