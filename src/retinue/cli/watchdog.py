"""Runs what a command does in an event loop, and sees that it comes to an end: by Ctrl-C, by the system, or by force.

`asyncio.run` would do but for three things. It hears SIGINT only, and not where that is ignored, as in a background
job of a script. It waits for ever for tasks that swallow their cancellation. And an agent that keeps the event loop to
itself keeps the command. Code of this process cannot be stopped from outside, only interrupted, wherever it is; where
it swallows that too, the process is ended.
"""

import asyncio
import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType
from typing import Any, Final, NoReturn, TypeVar

import retinue.cli
from retinue.cli.app import Exit
from retinue.errors import DeadlineExceeded

T = TypeVar("T")

_SIGNALS: Final = ("SIGINT", "SIGTERM", "SIGHUP")
"""Ctrl-C, the system's request, the terminal that was closed. Not every system has all."""
_BEAT_S: Final = 0.5
_CHECK_S: Final = 1.0
_GRACE_S: Final = 3.0
_SHUTDOWN_S: Final = 5.0
"""How long tasks have to end once they are cancelled: a wrapped program may take more than two seconds of it."""
_MOST_STRIKES: Final = 3

_orphans: list[object] = []
"""What agents have left running in this process; it can only be ended with it."""


class Watchdog:
    """Runs one coroutine in the main thread, and ends it when it does not end by itself.

    Args:
        limit_s: How long an agent may take; the loop may stand still a little longer than that. None: for ever, until
            the coroutine has ended.
        on_kill: Called when the process has to be ended at once, in another thread: to say so and to write what is
            left.

    Attributes:
        bitten: An agent kept the loop to itself and was interrupted.
        run_id: Which run it watches; empty before it has begun, and when nothing of it is kept.
    """

    def __init__(self, limit_s: float | None = None, *, on_kill: Callable[["Watchdog"], object] | None = None) -> None:
        self.has_struck = False
        self.run_id = ""
        self._limit_s = self._allowed_s = limit_s
        self._shutting_down = False
        self._on_kill = on_kill
        self._main: asyncio.Task[Any] | None = None
        self._interrupts = 0
        self._strikes = 0
        self._last_beat = time.monotonic()
        self._over = threading.Event()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` to its end; the first signal cancels it, the second does not wait for that.

        What is ignored stays ignored: `nohup retinue run …` goes on when its terminal has gone.

        Raises:
            KeyboardInterrupt: It was interrupted, and did not end otherwise.
        """
        loop = asyncio.new_event_loop()
        executor = ThreadPoolExecutor(thread_name_prefix="asyncio")
        loop.set_default_executor(executor)
        self._main = loop.create_task(work)
        with self._signals() as numbers:
            if numbers:
                arguments = (threading.get_ident(), numbers[0])
                threading.Thread(target=self._watch, args=arguments, daemon=True, name="watchdog").start()
            self._beat(loop)
            try:
                return loop.run_until_complete(self._main)
            except asyncio.CancelledError:
                if self._interrupts:
                    raise KeyboardInterrupt from None
                raise
            finally:
                try:
                    self._shut_down(loop, executor)
                finally:  # whatever went wrong: nobody may be interrupted once this is over
                    self._over.set()

    def error(self) -> DeadlineExceeded:
        """What to say when it has struck."""
        advice = "nothing was saved"
        if self.run_id:
            advice = f"finished work is kept: see `retinue runs show {self.run_id} --events`; "
            advice += f"`retinue runs resume {self.run_id}` continues"
        return DeadlineExceeded(
            f"An agent blocked the event loop for more than {self._limit_s or 0:g} s, so the process was ended.",
            hint=f"Use `await`, or do blocking work in `run.offload`; {advice}.",
            detail={"bound": "watchdog", "seconds": self._limit_s or 0},
        )

    @contextmanager
    def _signals(self) -> Generator[tuple[int, ...]]:
        """Handle the signals that are not ignored; gives their numbers, none outside the main thread."""
        numbers = [number for name in _SIGNALS if (number := getattr(signal, name, None)) is not None]
        handled_signals = tuple(number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN)
        try:
            before = {number: signal.signal(number, self._interrupt) for number in handled_signals}
        except (OSError, ValueError):  # not here, or not in this thread
            yield ()
            return
        try:
            yield handled_signals
        finally:
            for number, handler in before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self._interrupts += 1
        task = self._main
        if self._interrupts > 1 or self.has_struck or task is None or task.done():
            raise KeyboardInterrupt
        task.get_loop().call_soon_threadsafe(task.cancel)

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        self._last_beat = time.monotonic()
        loop.call_later(_BEAT_S, self._beat, loop)

    def _watch(self, thread: int, number: int) -> None:
        while not self._over.wait(_CHECK_S):
            if self._allowed_s is None or time.monotonic() - self._last_beat <= self._allowed_s + _GRACE_S:
                continue
            # A program that called `main` goes on after it, and is not ours to end.
            if not retinue.cli.is_program and (self._shutting_down or self._strikes == _MOST_STRIKES):
                return
            if self._strikes == _MOST_STRIKES:  # the agent swallows them, and keeps the main thread for good
                if self._on_kill is not None:
                    _run_bounded(partial(self._on_kill, self))
                _end(Exit.LIMIT)
            self._strikes += 1
            self.has_struck = self.has_struck or not self._shutting_down
            signal.pthread_kill(thread, number)

    def _shut_down(self, loop: asyncio.AbstractEventLoop, executor: ThreadPoolExecutor) -> None:
        """Cancel what still runs and close the loop. What does not end in time is left behind."""
        self._shutting_down, self._allowed_s, self._strikes, self._last_beat = True, 0.0, 0, time.monotonic()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        with suppress(KeyboardInterrupt, TimeoutError):
            if tasks:
                loop.run_until_complete(asyncio.wait(tasks, timeout=_SHUTDOWN_S))
            loop.run_until_complete(asyncio.wait_for(loop.shutdown_asyncgens(), _SHUTDOWN_S))
        is_shut_down = _run_bounded(executor.shutdown)
        for task in tasks:
            if task.done() and not task.cancelled():
                task.exception()  # asked for, or it is logged as forgotten
        if is_shut_down and all(task.done() for task in tasks):
            loop.close()
        else:
            _orphans.append((loop, tasks))


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` as `asyncio.run` would, and come to an end as `Watchdog.run` does; it may take as long as it wants."""
    return Watchdog().run(work)


def exit_process(code: int) -> int:
    """See that this process ends with `code` soon, whatever agents have left running in it; gives `code` back.

    A thread, or what is done at exit, has three seconds to end by itself.
    """
    if _orphans:
        _end(code)

    def end_late() -> None:
        time.sleep(_GRACE_S)
        _end(code)

    threading.Thread(target=end_late, daemon=True, name="exit").start()
    return code


def _end(code: int) -> NoReturn:
    """End this process at once: programs that agents have started are ended, the history is written."""
    _run_bounded(atexit._run_exitfuncs)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the only way to them before `_exit`
    for stream in (sys.stdout, sys.stderr):
        _run_bounded(stream.flush)
    os._exit(code)


def _run_bounded(work: Callable[[], object]) -> bool:
    """Do `work`, and tell whether it has ended in time; if not, it goes on in its thread."""

    def run_quietly() -> None:
        with suppress(Exception):
            work()

    thread = threading.Thread(target=run_quietly, daemon=True)
    thread.start()
    thread.join(_GRACE_S)
    return not thread.is_alive()
