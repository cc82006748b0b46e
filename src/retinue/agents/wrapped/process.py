"""Runs a foreign program to its end, and everything it started with it: no shell, nothing left behind.

Beside `tools.process`, which runs the programs that our own tools stand on: here the program has a session of its own
and is ended with all its children, what it says can be heard as it comes, and whoever waits may let go at any time.
What its answer means is not asked here.
"""

import asyncio
import atexit
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, cast

from retinue.engine.blocking import in_thread
from retinue.errors import NotInstalled, RetinueError

from ._output_reader import KILL_WAIT_S, OnOutput, OutputReader, signal_group
from .orphans import find_marked, kill_marked, marked_environment, new_mark
from .start_errors import start_error


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """All that a program said, and how it ended.

    Attributes:
        status: Its exit status; negative is the signal that ended it.
        stderr: The last 16 KiB of it.
        flooded: It said more than was allowed, and was ended; `stdout` is the beginning.
        had_orphans: Children held its output open after its end, and were ended.
        background_pids: Processes that let go of its outputs, parted from it and run on after it ended by itself.
    """

    status: int
    stdout: bytes
    stderr: bytes
    flooded: bool = False
    had_orphans: bool = False
    background_pids: tuple[int, ...] = ()


async def run_program(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    stdin: bytes,
    max_bytes: int,
    on_output: OnOutput | None = None,
) -> ProgramResult:
    """Run `argv` to its end. When the caller is cancelled, it is ended first, with all its children.

    Raises:
        NotInstalled: There is no such program, or what its first line asks for is missing, or this is Windows.
        MissingFile: There is no folder `cwd`.
        AccessDenied: It may not be run.
        InvalidInput: It is nothing that the system can run.
    """
    if os.name != "posix":  # pragma: no cover - sessions, signals and waiting on pipes are not there
        raise NotInstalled("Programs are run on Linux and macOS only.", hint="Wrap a Python function instead.")
    program = _ProcessRunner(argv, cwd=cwd, env=env, max_bytes=max_bytes, on_output=on_output)
    running = asyncio.ensure_future(in_thread(program.run, stdin))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError as error:
        program.stop()
        if not program.has_started:  # it still waits for its turn, which may take longer than anybody has patience
            running.cancel()
        with suppress(RetinueError):
            error.add_note(_stop_note(argv[0], await running))
        raise
    finally:
        program.stop()


def _stop_note(program: str, result: ProgramResult) -> str:
    """What it had said by then, so that it is not lost."""
    text, stderr = (output.decode("utf-8", "replace").strip() for output in (result.stdout, result.stderr))
    so_far = f"had said {len(result.stdout):,} bytes, beginning with {text[:500]!r}" if text else "had said nothing"
    at_last = f", and on stderr at last {stderr[-500:]!r}" if stderr else ""
    return f"`{Path(program).name}` was ended with all it had started; it {so_far}{at_last}."


class _ProcessRunner:
    """One program, from start to end, in the thread that calls `run`; `stop` may come from any other.

    Attributes:
        begun: A thread has taken it.
    """

    def __init__(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], max_bytes: int, on_output: OnOutput | None
    ) -> None:
        self._argv = argv
        self._cwd = cwd
        self._env = env
        self._max_bytes = max_bytes
        self._on_output = on_output
        self.has_started = False
        self._lock = threading.Lock()
        self._stopping = False
        self._waker: int | None = None

    def stop(self) -> None:
        """Tell it to end. Nothing happens when it has ended."""
        with self._lock:
            if self._waker is not None and not self._stopping:
                os.write(self._waker, b"x")
            self._stopping = True

    def run(self, stdin: bytes) -> ProgramResult:
        """Start it, hear it to its end, and end whatever it leaves behind."""
        self.has_started = True
        if self._stopping:
            return ProgramResult(-signal.SIGTERM, b"", b"")
        with ExitStack() as stack:
            # A descriptor that becomes readable when `stop` is called, even if it was before.
            wake_fd, waker = os.pipe()
            stack.callback(os.close, wake_fd)
            stack.callback(self._close_waker, waker)
            with self._lock:
                self._waker = waker
                if self._stopping:
                    os.write(waker, b"x")
            mark = new_mark()
            guard = _Guard()
            stack.callback(guard.close)
            process = self._spawn(stdin, mark)
            guard.watch(process.pid)
            _alive[process.pid] = mark
            stack.callback(_alive.pop, process.pid)
            stack.callback(_reap, process)
            reader = stack.enter_context(
                OutputReader(process, wake_fd, max_bytes=self._max_bytes, on_output=self._on_output)
            )
            reader.read_all()
            is_ended = not (self._stopping or reader.flooded or reader.had_orphans)
            if not is_ended:  # a daemon that parted well may live on
                signal_group(process.pid, signal.SIGKILL)
                kill_marked(mark)
        status = process.poll()
        return ProgramResult(
            status=-signal.SIGKILL if status is None else status,
            stdout=bytes(reader.stdout),
            stderr=bytes(reader.stderr),
            flooded=reader.flooded,
            had_orphans=reader.had_orphans,
            background_pids=find_marked(mark, apart_from=process.pid) if is_ended else (),
        )

    def _close_waker(self, waker: int) -> None:
        with self._lock:
            self._waker = None
            os.close(waker)

    def _spawn(self, stdin: bytes, mark: str) -> subprocess.Popen[bytes]:
        environment = marked_environment(self._env, mark)
        with TemporaryFile() as source:  # a pipe would have to be fed while the outputs are drained
            source.write(stdin)
            source.seek(0)
            try:
                return subprocess.Popen(  # noqa: S603 - argument vector, no shell
                    [_in_utf8(word) for word in self._argv],
                    cwd=self._cwd,
                    env={_in_utf8(name): _in_utf8(value) for name, value in environment.items()},
                    stdin=source,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    bufsize=0,
                    start_new_session=True,
                )
            except OSError as error:
                raise start_error(error, self._argv[0], self._cwd) from error


class _Guard:
    """Ends a process group even when this process is killed, and can do nothing any more.

    A shell reads the group's number, then waits for a line that never comes: when this process is gone, so is the other
    end of its pipe. Linux alone has a signal for that, and it is sent when the thread ends that started the program.
    It is started before the program, which might have parted already by the time that it is there.
    """

    def __init__(self) -> None:
        self._shell = None
        with suppress(OSError):  # no shell, or no room for a process: then without
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", 'read -r group && { read -r _; kill -KILL "-$group"; }'],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                env={},
                start_new_session=True,
            )

    def watch(self, group: int) -> None:
        """End this group when this process is gone."""
        if self._shell is not None:
            with suppress(OSError):  # somebody has ended it
                cast("IO[bytes]", self._shell.stdin).write(b"%d\n" % group)

    def close(self) -> None:
        """Nothing is to be ended any more."""
        if self._shell is not None:
            self._shell.kill()  # before its pipe is closed
            self._shell.wait()
            cast("IO[bytes]", self._shell.stdin).close()


def _reap(process: subprocess.Popen[bytes]) -> None:
    """End whatever is left of a program and of what it started."""
    signal_group(process.pid, signal.SIGKILL)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(KILL_WAIT_S)


def _in_utf8(text: str) -> str:
    """What has to be said for `text` to arrive as UTF-8, whatever the locale."""
    return os.fsdecode(text.encode("utf-8", "surrogateescape"))


_alive: dict[int, str] = {}
"""The sessions that run right now, and the marks of their programs."""


@atexit.register
def _end_all() -> None:
    """Leave no program behind when this one ends before its calls do."""
    for group, mark in tuple(_alive.items()):
        signal_group(group, signal.SIGKILL)
        kill_marked(mark)
