"""Synchronous functions in threads of our own, awaited without blocking the loop.

A thread cannot be killed. When its caller stops waiting, it is left behind and runs on; `ThreadCall.left_behind` says
so, and `orphaned_calls()` lists all of them. `concurrent.futures` is not used because it joins its threads when the
interpreter exits: one hung function and the program never ends. CPU-heavy work belongs in `offload`.
"""

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final, Generic, ParamSpec, TypeVar, cast

from retinue.errors import InternalError, Unavailable

P = ParamSpec("P")
T = TypeVar("T")

_MAX_THREADS: Final = 64
"""Threads at work at once, those left behind not counted; further calls wait their turn."""
_IDLE_S: Final = 5.0


class CallQueue:
    """Calls functions in an event loop, in the order in which any thread hands them in.

    Args:
        loop: The loop; what is handed in after it was closed is not called.
    """

    __slots__ = ("_calls", "_is_scheduled", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._calls: deque[Callable[[], None]] = deque()
        self._is_scheduled = False

    def append(self, call: Callable[[], None]) -> None:
        """Call `call` soon; to hand in many costs the loop one awakening."""
        self._calls.append(call)
        if not self._is_scheduled:
            self._is_scheduled = True
            with suppress(RuntimeError):  # it is closed: nobody waits any more
                self._loop.call_soon_threadsafe(self._drain)

    def _drain(self) -> None:
        self._is_scheduled = False
        while self._calls:
            self._calls.popleft()()


async def in_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `function` in a daemon thread, with the caller's context variables, and await what it returns.

    A loop with a true `is_simulated` has no threads: its time does not pass while one works.

    Raises:
        InternalError: The function tried to end the program (`sys.exit`): a thread cannot.
        CancelledError: The caller was cancelled; a note says so when the thread was left behind.
    """
    if getattr(asyncio.get_running_loop(), "is_simulated", False):
        return function(*args, **kwargs)
    call = ThreadCall(function, *args, **kwargs)
    try:
        return await call
    except asyncio.CancelledError as error:
        if call.is_orphaned:
            error.add_note(f"`{call.name}` still runs in a thread that was left behind.")
        raise


class ThreadCall(Generic[T]):
    """One call of a synchronous function. Await it once; afterwards `is_orphaned` tells whether it still runs.

    Attributes:
        name: What the function is called, for a message.
        started: A thread has taken it.
        settled: The function has returned or raised.
        abandoned: The caller stopped waiting before that.
    """

    __slots__ = ("_context", "_future", "_loop", "_work", "abandoned", "finished", "name", "started")

    def __init__(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> None:
        self.name: str = getattr(function, "__qualname__", None) or type(function).__qualname__
        self.started = self.finished = self.abandoned = False
        self._work: Callable[[], T] | None = lambda: function(*args, **kwargs)
        self._context = contextvars.copy_context()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._future: asyncio.Future[T] | None = None

    @property
    def is_orphaned(self) -> bool:
        """No caller waits for it any more, but its thread still runs."""
        return self.abandoned and self.started and not self.finished

    def __await__(self) -> Generator[Any, None, T]:
        """Start the function and wait for it.

        Raises:
            InternalError: It was awaited before, or the function tried to end the program.
            Unavailable: The system gives no more threads.
        """
        if self._loop is not None:
            raise InternalError(f"The call of `{self.name}` was awaited twice.", hint="Make a new `Call`.")
        self._loop = asyncio.get_running_loop()
        self._future = self._loop.create_future()
        _threads.submit(self)
        try:
            return (yield from self._future)
        finally:
            if self._future.cancelled() or not self._future.done():
                _threads.abandon(self)

    def run(self) -> Callable[[], None]:
        """Do the work, in the thread. Gives what sends its outcome to the caller."""
        work, self._work = self._work, None
        outcome: T | None = None
        failure: BaseException | None = None
        try:
            outcome = self._context.run(cast("Callable[[], T]", work))
        except StopIteration as error:  # a future refuses it: it would end the awaiting generator
            failure = InternalError(f"`{self.name}` raised `StopIteration`: {error}")
        except Exception as error:  # noqa: BLE001 - carried to the caller
            failure = error
        except BaseException as error:  # noqa: BLE001 - must not travel through the loop, where it would end everything
            failure = InternalError(f"`{self.name}` tried to end the program: `{type(error).__name__}`: {error}")
        return partial(self.send, outcome, failure)

    def send(self, outcome: T | None, failure: BaseException | None) -> None:
        """Give the outcome to the caller that waits, from any thread."""
        future = self._future

        def deliver() -> None:
            if future is None or future.done() or self.abandoned:
                return
            if failure is not None:
                future.set_exception(failure)
            else:
                future.set_result(cast("T", outcome))

        # A closed loop refuses: then no caller waits any more.
        with suppress(RuntimeError):
            cast("asyncio.AbstractEventLoop", self._loop).call_soon_threadsafe(deliver)


class _Threads:
    """Daemon threads that are kept a while for the next call."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.idle: list[_Thread] = []
        self._waiting: deque[ThreadCall[Any]] = deque()
        self._busy = 0
        self.abandoned: set[ThreadCall[Any]] = set()

    def submit(self, call: ThreadCall[Any]) -> None:
        """Give `call` to an idle thread or a new one, or let it wait for its turn."""
        with self.lock:
            self._waiting.append(call)
            following = self._next_call()
            thread = self.idle.pop() if self.idle and following else None
        if following is not None:
            self._dispatch(following, thread)

    def abandon(self, call: ThreadCall[Any]) -> None:
        """No caller waits for `call` any more: its place is free for another, whether or not its thread ever ends."""
        with self.lock:
            if call.finished:
                return
            call.abandoned = True
            if not call.started:
                self._waiting.remove(call)
                return
            self.abandoned.add(call)
            self._busy -= 1
            following = self._next_call()
        if following is not None:
            self._dispatch(following, None)

    def next(self, thread: "_Thread", finished_call: ThreadCall[Any]) -> ThreadCall[Any] | None:
        """What `thread` does after `finished_call`: another call at once, or None: wait for one."""
        with self.lock:
            finished_call.finished = True
            if finished_call in self.abandoned:
                self.abandoned.discard(finished_call)
            else:
                self._busy -= 1
            following = self._next_call()
            if following is None:
                self.idle.append(thread)
            return following

    def retire(self, thread: "_Thread") -> bool:
        """Whether `thread` may end: no call is on its way to it."""
        with self.lock:
            if thread in self.idle:
                self.idle.remove(thread)
                return True
            return False

    def _next_call(self) -> ThreadCall[Any] | None:
        if not self._waiting or self._busy >= _MAX_THREADS:
            return None
        self._busy += 1
        call = self._waiting.popleft()
        call.started = True
        return call

    def _dispatch(self, call: ThreadCall[Any], thread: "_Thread | None") -> None:
        if thread is None:
            thread = _Thread(self)
            try:
                thread.start()
            except RuntimeError as error:
                with self.lock:
                    self._busy -= 1
                    call.finished = True
                call.send(None, Unavailable(f"No thread can be started: {error}", hint="Run fewer things at once."))
                return
        thread.inbox.put(call)


class _Thread(threading.Thread):
    def __init__(self, pool: _Threads) -> None:
        super().__init__(name="retinue-blocking", daemon=True)
        self.inbox: SimpleQueue[ThreadCall[Any] | None] = SimpleQueue()
        self._pool = pool

    def run(self) -> None:
        while True:
            try:
                call = self.inbox.get(timeout=_IDLE_S)
            except Empty:
                if self._pool.retire(self):
                    return
                continue
            if call is None:
                return
            while call is not None:
                send = call.run()
                # First free, then sent: a caller that has the outcome may count on this thread being idle.
                call = self._pool.next(self, call)
                send()
                del send


_threads = _Threads()


def orphaned_calls() -> tuple[str, ...]:
    """Names of the functions that no caller waits for any more and whose threads still run."""
    with _threads.lock:
        return tuple(sorted(call.name for call in _threads.abandoned))


def retire_idle_threads() -> None:
    """End the threads that have nothing to do. Called when an engine is left, so that nothing stays behind."""
    with _threads.lock:
        idle, _threads.idle = _threads.idle, []
    for thread in idle:
        thread.inbox.put(None)
    for thread in idle:
        thread.join()
