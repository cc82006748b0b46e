"""CPU-heavy functions in worker processes that are kept, reused, and killed when time is up.

Not `multiprocessing`: its pools wait for a hung worker, its fork is unsafe beside threads and its spawn runs the main
module again. A worker is a plain Python process with one socket; see `worker`. Not for blocking calls, which a thread
serves more cheaply (`blocking`).
"""

import asyncio
import json
import os
import pickle  # between this process and its own workers only
import socket
import sys
from collections.abc import Callable
from typing import Any, Final, Self, TypeVar, cast

from retinue.engine.blocking import in_thread
from retinue.engine.worker_main import HEADER, Failure, to_error
from retinue.errors import DeadlineExceeded, InternalError, InvalidInput, RetinueError, Unavailable
from retinue.processes.orphans import kill_group
from retinue.processes.start import spawn
from retinue.processes.tool_program import describe_exit

T = TypeVar("T")

# `-P` keeps the working directory off the path until the path is set: a `json.py` lying there must not be imported.
_BOOT: Final = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[2]); "
    "from retinue.engine.worker_main import main; main(int(sys.argv[1]))"
)


class Pool:
    """At most `workers` processes, started when needed. Leave it as an async context, or `close` it.

    Args:
        workers: How many; as many as there are processors when absent.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._max_workers = max(1, workers or os.cpu_count() or 1)
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._reaping: set[asyncio.Task[int]] = set()
        self._turn = asyncio.Semaphore(self._max_workers)
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def run(self, function: Callable[..., T], /, *args: Any, timeout_s: float | None = None, **kwargs: Any) -> T:
        """Run `function` in a worker and give what it returns. Cancelling kills that worker, and only that one.

        Args:
            function: Importable by name.
            args: Plain data, or whatever pickles.
            kwargs: The same.
            timeout_s: Seconds from now, waiting for a free worker included.

        Raises:
            DeadlineExceeded: Time ran out; the worker was killed.
            InvalidInput: The function or its arguments cannot be sent to another process.
            InternalError: The function raised something that is not ours, or its worker died.
            RetinueError: The function raised it.
            Unavailable: The pool is closed, or no process can be started.
        """
        name: str = getattr(function, "__qualname__", None) or type(function).__qualname__
        message = _pack(name, function, args, kwargs)
        try:
            async with asyncio.timeout(timeout_s), self._turn:
                worker = self._acquire()
                try:
                    answer = await worker.exchange(message)
                except BaseException:
                    self._discard(worker)
                    raise
                if answer is None:
                    status = await self._discard(worker)
                    if self._closed:
                        raise _closed_error()
                    raise InternalError(
                        f"The worker of `{name}` {describe_exit(status)} before it had answered.",
                        hint="The system may have run out of memory: give it less to do." if status == -9 else "",
                        detail={"status": status},
                    )
                self._busy.discard(worker)
                self._idle.append(worker)
        except TimeoutError:
            raise DeadlineExceeded(
                f"`{name}` did not end within {timeout_s:g} s; its worker was killed.",
                hint="Allow more time or give it less to do.",
                detail={"bound": "timeout_s"},
            ) from None
        try:
            good, value = pickle.loads(answer)  # noqa: S301 - from our own worker, by a socket no other process has
        except Exception as error:  # unpickling runs foreign code
            raise InternalError(
                f"What `{name}` returned cannot be read here: `{type(error).__name__}`: {error}",
                hint="Return plain data.",
            ) from error
        if not good:
            raise to_error(cast("Failure", value))
        return cast("T", value)

    async def close(self) -> None:
        """Kill every worker and wait until they are gone."""
        self._closed = True
        for worker in self._idle:
            worker.close()
        for worker in (*self._idle, *self._busy):  # a busy one's caller sees its line end
            self._kill(worker)
        self._idle.clear()
        while self._reaping:
            await asyncio.wait(self._reaping)

    def _acquire(self) -> "_Worker":
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                self._busy.add(worker)
                return worker
            self._discard(worker)
        if self._closed:
            raise _closed_error()
        worker = _Worker()
        self._busy.add(worker)
        return worker

    def _discard(self, worker: "_Worker") -> "asyncio.Task[int]":
        self._busy.discard(worker)
        worker.close()
        return self._kill(worker)

    def _kill(self, worker: "_Worker") -> "asyncio.Task[int]":
        worker.kill()
        # Shielded by being a task of its own: a process that is not waited for stays behind as a zombie.
        task = asyncio.get_running_loop().create_task(in_thread(worker.process.wait))
        self._reaping.add(task)
        task.add_done_callback(self._reaping.discard)
        return task


class _Worker:
    """One process and our end of its socket."""

    __slots__ = ("_killed", "_line", "process")

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        command = [sys.executable, "-P", "-c", _BOOT, str(theirs.fileno()), json.dumps(sys.path)]
        try:
            self.process = spawn(command, env=os.environ, stdout=None, stderr=None, pass_fds=(theirs.fileno(),))
        except RetinueError as error:
            ours.close()
            raise Unavailable(
                f"No worker process can be started: {error.message}", hint="Free memory or processes."
            ) from error
        finally:
            theirs.close()
        self._line = ours
        self._killed = False

    @property
    def alive(self) -> bool:
        """Its end of the line is open. The process itself is not polled: that would free its id for another."""
        try:
            return bool(self._line.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return True
        except OSError:
            return False

    async def exchange(self, message: bytes) -> bytearray | None:
        """Send a call and wait for its answer; None when the process ended first."""
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_sendall(self._line, HEADER.pack(len(message)) + message)
            head = await self._read(HEADER.size)
            return None if head is None else await self._read(HEADER.unpack(head)[0])
        except ConnectionError:
            return None

    async def _read(self, size: int) -> bytearray | None:
        loop = asyncio.get_running_loop()
        data = bytearray(size)
        view = memoryview(data)
        while view:
            count = await loop.sock_recv_into(self._line, view)
            if not count:
                return None
            view = view[count:]
        return data

    def kill(self) -> None:
        """End the process and whatever it has started. Only before anybody waits for it: then its id may be reused."""
        if not self._killed:
            self._killed = True
            kill_group(self.process.pid)

    def close(self) -> None:
        """Close our end of the line. Only when no task reads from it."""
        self._line.close()


def _closed_error() -> Unavailable:
    return Unavailable("The pool of worker processes is closed.", hint="Start a new one.")


def _pack(name: str, function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]) -> bytes:
    if getattr(function, "__module__", None) == "__main__":
        raise InvalidInput(
            f"`{name}` stands in the main script, which a worker process cannot import.",
            hint="Move the function into a module and import it from there.",
        )
    try:
        return pickle.dumps((name, pickle.dumps((function, args, kwargs))))
    except Exception as error:  # pickling runs foreign code
        raise InvalidInput(
            f"`{name}` and its arguments cannot be sent to a worker: `{type(error).__name__}`: {error}",
            hint="Use a function at the top of a module, and plain data as arguments.",
        ) from error
