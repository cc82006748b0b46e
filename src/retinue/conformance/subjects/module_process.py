"""Something in a module as a subject, in a process of its own: one that ends it, crashes it or blocks it harms nobody.

The process serves all requests, several at a time, so that what they share is shared; a new one takes over from one
that ended. `module_worker` is what runs there.
"""

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from retinue.conformance.port import Probe, ProbeExchange
from retinue.conformance.subjects.callable_subject import LoopThread
from retinue.conformance.subjects.subject_info import SubjectInfo
from retinue.contract.definition import Definition
from retinue.contract.fault import Fault
from retinue.errors import DeadlineExceeded, InvalidDefinition
from retinue.processes.child import Child

_WORKER: Final = "retinue.conformance.subjects.module_worker"
_IMPORTING_S: Final = 120.0
_STDERR: Final = 4_000
_MAX_LINE: Final = 128 * 2**20
"""Bytes of an answer as JSON; the worker itself refuses texts that are too long."""
_GRACE_S: Final = 5.0
"""How much longer than the subject's own time its process has to answer."""


async def isolated_module(words: str, *, dialect: str | None = None, cwd: Path | None = None) -> SubjectInfo:
    """What `words` names in a module, imported in a process of its own; otherwise as `find_module`.

    Raises:
        RetinueError: As `find_module`; or importing it ended the process, or took too long.
    """
    subject = ModuleSubject(words, dialect=dialect, cwd=cwd)
    try:
        greeting = await subject.start()
    except BaseException:
        subject.close()
        raise
    value = greeting["definition"]
    definition = None if value is None else Definition.model_validate_json(json.dumps(value))
    return SubjectInfo(subject, greeting["name"], greeting["dialect"], definition)


class ModuleSubject:
    """Judges what a module holds, in a process of its own, which outlives the event loops of those who ask it.

    Args:
        words: What is asked, as `find_module` reads it.
        dialect: What an agent of Retinue is to speak.
        cwd: Where the process runs.
    """

    is_isolated = False

    def __init__(self, words: str, *, dialect: str | None = None, cwd: Path | None = None) -> None:
        self._words = words
        self._argv = [sys.executable, "-P", "-m", _WORKER, words, dialect or ""]
        self._cwd = str(cwd or Path.cwd())
        self._loop: LoopThread | None = None
        self._starting = asyncio.Lock()
        self._process: _Process | None = None

    @property
    def name(self) -> str:
        """What is asked, as it was named."""
        return self._words

    async def start(self) -> Mapping[str, Any]:
        """Start the process, and return what it says of the subject.

        Raises:
            RetinueError: There is no such subject.
            InvalidDefinition: Importing it ended the process.
            DeadlineExceeded: Importing it took too long.
        """
        return await self._run_in_loop().run(self._greeting())

    async def send(self, probe: Probe, request: str, *, timeout_s: float) -> ProbeExchange:
        """Send `request` to the subject over there, and return its answer, or why there is none."""
        exchange = ProbeExchange(probe, request)
        return replace(exchange, **await self._run_in_loop().run(self._answer(request, timeout_s)))

    def close(self) -> None:
        """End the process, with everything it has started."""
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.run_sync(self._stop(), timeout_s=_GRACE_S)
            loop.end()

    # What follows runs in the loop.

    def _run_in_loop(self) -> LoopThread:
        if self._loop is None:
            self._loop, self._starting = LoopThread(), asyncio.Lock()
        return self._loop

    async def _greeting(self) -> Mapping[str, Any]:
        async with self._starting:
            if self._process is None or self._process.has_ended:
                self._process = _Process(await Child.start(self._argv, cwd=self._cwd, env=os.environ, limit=_MAX_LINE))
            process = self._process
        try:
            greeting = await asyncio.wait_for(asyncio.shield(process.greeting), _IMPORTING_S)
        except TimeoutError:
            raise DeadlineExceeded(
                f"Importing {self._words!r} took longer than {_IMPORTING_S:g} s.",
                hint="See what it does when imported.",
            ) from None
        except _ProcessEndedError as error:
            raise InvalidDefinition(
                f"Importing {self._words!r} ended its process: {error}", hint="Run it with Python by itself."
            ) from None
        if "fault" in greeting:
            raise Fault.model_validate_json(json.dumps(greeting["fault"])).to_error()
        return greeting

    async def _answer(self, request: str, timeout_s: float) -> dict[str, Any]:
        try:
            async with asyncio.timeout(timeout_s + _GRACE_S):
                await self._greeting()
                process = self._process
                assert process is not None  # noqa: S101 - it has just said who it is
                reply = await process.request({"sent": request, "timeout_s": timeout_s})
        except TimeoutError:
            await self._stop()  # the process itself is blocked: the next request gets a new one
            return {"error": f"There was no answer within {timeout_s:g} s.", "late": True}
        except Exception as error:  # noqa: BLE001 - whatever ended the process is what the subject is judged by
            return {"error": f"It ended its process: {error}"}
        return {**reply, "stderr": process.take_stderr()}

    async def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await process.stop()


class _ProcessEndedError(Exception):
    """The process ended before it had answered."""


class _Process:
    """One process, and the task that reads its answers."""

    def __init__(self, child: Child) -> None:
        self.greeting: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.has_ended = False
        self._child = child
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._count = 0
        self._reading = asyncio.create_task(self._read())

    async def request(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request, and return its answer."""
        if self.has_ended:
            raise _ProcessEndedError(self._exit_text())
        self._count += 1
        self._pending[self._count] = future = asyncio.get_running_loop().create_future()
        await self._child.write(json.dumps({"id": self._count, **message}).encode() + b"\n")
        return await future

    def take_stderr(self) -> str:
        """The end of its stderr since this was asked before."""
        text = bytes(self._child.stderr[-_STDERR:]).decode("utf-8", "replace")
        self._child.stderr.clear()
        return text

    async def stop(self) -> None:
        """Kill it, and everything it has started."""
        await self._child.stop(leave_s=0, term_s=0)
        await asyncio.wait({self._reading}, timeout=_GRACE_S)

    async def _read(self) -> None:
        while line := await self._child.read_line():
            message = json.loads(line)
            _resolve(self._pending.pop(message.pop("id"), None) if "id" in message else self.greeting, message)
        await self._child.wait_exit()
        await self._child.stop(leave_s=0, term_s=0)
        self.has_ended = True
        for future in (self.greeting, *self._pending.values()):
            _resolve(future, _ProcessEndedError(self._exit_text()))
        with suppress(_ProcessEndedError):  # perhaps nobody waits for it
            await self.greeting

    def _exit_text(self) -> str:
        code = self._child.status
        how = f"exit code {code}" if code is None or code >= 0 else f"signal {-code}"
        last = self._child.stderr_tail.rpartition("\n")[2][:200]
        return f"{how}: {last}" if last else how


def _resolve(future: "asyncio.Future[dict[str, Any]] | None", outcome: dict[str, Any] | Exception) -> None:
    if future is not None and not future.done():
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
