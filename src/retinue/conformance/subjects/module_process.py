"""Something in a module as a subject, in a process of its own: one that ends it, crashes it or holds it harms nobody.

The process serves all requests, several at a time, so that what they share is shared; a new one takes over from one
that ended. What it does with a request is `callable_subject`'s matter, over there.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Final, cast

from retinue.agents.wrapped.orphans import kill_marked, marked_environment, new_mark
from retinue.conformance.port import Probe, ProbeExchange
from retinue.conformance.subjects.subject_info import SubjectInfo
from retinue.contract.definition import Definition
from retinue.contract.fault import Fault
from retinue.engine.blocking import in_thread
from retinue.errors import DeadlineExceeded, InvalidDefinition

_WORKER: Final = "retinue.conformance.subjects.module_worker"
_IMPORTING_S: Final = 120.0
_STDERR: Final = 4_000
_GRACE_S: Final = 5.0
"""How much longer than the subject's own time is waited for word from its process."""


async def isolated_module(words: str, *, dialect: str | None = None, cwd: Path | None = None) -> SubjectInfo:
    """What `words` names in a module, imported in a process of its own; otherwise as `module_named`.

    Raises:
        RetinueError: As `module_named`; or importing it ended the process, or took too long.
    """
    subject = ModuleSubject(words, dialect=dialect, cwd=cwd)
    try:
        greeting = await in_thread(subject.start)
    except BaseException:
        subject.close()
        raise
    definition = (
        None if greeting["definition"] is None else Definition.model_validate_json(json.dumps(greeting["definition"]))
    )
    return SubjectInfo(subject, greeting["name"], greeting["dialect"], definition)


class ModuleSubject:
    """Judges what a module holds, in a process of its own.

    Args:
        words: What is asked, as `module_named` reads it.
        dialect: What an agent of Retinue is to speak.
        cwd: Where the process runs.
    """

    is_isolated = False

    def __init__(self, words: str, *, dialect: str | None = None, cwd: Path | None = None) -> None:
        self._words = words
        self._argv = [sys.executable, "-P", "-m", _WORKER, words, dialect or ""]
        self._cwd = cwd
        self._lock = threading.Lock()
        self._process: _Process | None = None

    @property
    def name(self) -> str:
        """What is asked, as it was named."""
        return self._words

    def start(self) -> Mapping[str, Any]:
        """Start the process, and give what it says of the subject.

        Raises:
            RetinueError: There is no such subject.
            InvalidDefinition: Importing it ended the process.
            DeadlineExceeded: Importing it took too long.
        """
        with self._lock:
            if self._process is None or self._process.has_ended:
                self._process = _Process(self._argv, self._cwd)
            process = self._process
        try:
            greeting = process.greeting.result(timeout=_IMPORTING_S)
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

    async def send(self, probe: Probe, request: str, *, timeout_s: float) -> ProbeExchange:
        """Put `request` to the subject over there, and bring back what it returned, or why it did not."""
        exchange = ProbeExchange(probe, request)
        try:
            async with asyncio.timeout(timeout_s + _GRACE_S):
                await in_thread(self.start)
                reply = await self._request(request, timeout_s)
        except TimeoutError:
            self.close()  # the process itself is held: the next request gets a new one
            return replace(exchange, error=f"There was no answer within {timeout_s:g} s.", late=True)
        except Exception as error:  # noqa: BLE001 - whatever ended the process is what the subject is judged by
            return replace(exchange, error=f"It ended its process: {error}")
        process = self._process
        return replace(exchange, **reply, stderr="" if process is None else process.take_stderr())

    async def _request(self, request: str, timeout_s: float) -> dict[str, Any]:
        process = cast("_Process", self._process)
        future = await in_thread(process.ask, {"sent": request, "timeout_s": timeout_s})
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """End the process, with all that it has started."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.end()


class _ProcessEndedError(Exception):
    """The process ended before it had answered."""


class _Process:
    """One process, and the thread that hears it."""

    def __init__(self, argv: list[str], cwd: Path | None) -> None:
        self.greeting: Future[dict[str, Any]] = Future()
        self.has_ended = False
        self._pending: dict[int, Future[dict[str, Any]]] = {}
        self._count = 0
        self._lock = threading.Lock()
        self._mark = new_mark()
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter, and no shell
            argv,
            cwd=cwd,
            env=marked_environment(os.environ, self._mark),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._stderr = bytearray()
        self._stderr_thread = threading.Thread(target=self._read_stderr, name="retinue-subject-stderr", daemon=True)
        self._stderr_thread.start()
        self._thread = threading.Thread(target=self._read_stdout, name="retinue-subject", daemon=True)
        self._thread.start()

    def ask(self, request: Mapping[str, Any]) -> Future[dict[str, Any]]:
        """Send a request. The future brings what came of it."""
        future: Future[dict[str, Any]] = Future()
        with self._lock:
            if self.has_ended:
                raise _ProcessEndedError(self._exit_text())
            self._count += 1
            self._pending[self._count] = future
            line = json.dumps({"id": self._count, **request}).encode() + b"\n"
            with suppress(BrokenPipeError):  # then its end is heard as well
                pipe = cast("IO[bytes]", self._process.stdin)
                pipe.write(line)
                pipe.flush()
        return future

    def take_stderr(self) -> str:
        """The last of what came on stderr since this was asked before."""
        with self._lock:
            text = self._stderr.decode("utf-8", "replace")
            self._stderr.clear()
        return text

    def end(self) -> None:
        """Kill it, and everything it has started."""
        with suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._process.kill()
            else:
                os.killpg(self._process.pid, signal.SIGKILL)
        kill_marked(self._mark)
        self._thread.join(timeout=_GRACE_S)

    def _read_stdout(self) -> None:
        pipe = cast("IO[bytes]", self._process.stdout)
        for line in pipe:
            message = json.loads(line)
            future = self._pending.pop(message.pop("id"), None) if "id" in message else self.greeting
            if future is not None:
                _resolve(future, message)
        self._process.wait()
        kill_marked(self._mark)
        self._stderr_thread.join(timeout=_GRACE_S)
        self._fail_pending()

    def _read_stderr(self) -> None:
        """Keep the last of it: it is neither ours to print, nor may the pipe fill up."""
        with cast("IO[bytes]", self._process.stderr) as pipe:
            while chunk := os.read(pipe.fileno(), 65_536):
                with self._lock:
                    self._stderr += chunk
                    del self._stderr[:-_STDERR]

    def _fail_pending(self) -> None:
        """It has ended: whoever still waits is told so."""
        with self._lock:
            self.has_ended = True
            pending = [self.greeting, *self._pending.values()]
            self._pending.clear()
            for pipe in (self._process.stdin, self._process.stdout):
                with suppress(OSError):
                    cast("IO[bytes]", pipe).close()
        for future in pending:
            _resolve(future, _ProcessEndedError(self._exit_text()))

    def _exit_text(self) -> str:
        code = self._process.returncode
        how = f"exit code {code}" if code is None or code >= 0 else f"signal {-code}"
        last = self._stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
        return f"{how}: {last}" if last else how


def _resolve(future: Future[dict[str, Any]], outcome: dict[str, Any] | Exception) -> None:
    with suppress(InvalidStateError):  # nobody waits any more
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
