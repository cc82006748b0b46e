"""Runs a foreign program to its end, and everything it started with it: no shell, nothing left behind.

Beside `tools.process`, which runs the programs that our own tools stand on: here the program has a session of its own
and is ended with all its children, what it says can be heard as it comes, and whoever waits may let go at any time.
What its answer means is not asked here.
"""

import asyncio
import atexit
import errno
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from tempfile import TemporaryFile
from time import monotonic
from typing import IO, Final, Self, TypeAlias, cast

from retinue.engine.blocking import in_thread
from retinue.errors import AccessDenied, InvalidInput, MissingFile, NotInstalled, RetinueError

__all__ = ["Hear", "Said", "run_program"]

Hear: TypeAlias = Callable[[bytes], object]
"""Is told what the program says on stdout, as it comes, in the event loop."""

_CHUNK: Final = 65_536
_STDERR_KEPT: Final = 16_384
_LOOK_S: Final = 0.05
"""How often is looked whether it has ended, where the system does not tell."""
_LINGER_S: Final = 0.3
"""How long is listened to children that outlive their program."""
_PATIENCE_S: Final = 0.3
"""How long a program has to end by itself once it was told to."""
_GONE_S: Final = 2.0
"""How long is waited for what was killed."""


@dataclass(frozen=True, slots=True)
class Said:
    """All that a program said, and how it ended.

    Attributes:
        status: Its exit status; negative is the signal that ended it.
        stderr: The last 16 KiB of it.
        flooded: It said more than was allowed, and was ended; `stdout` is the beginning.
        outlived: Children held its output open after its end, and were ended.
    """

    status: int
    stdout: bytes
    stderr: bytes
    flooded: bool = False
    outlived: bool = False


async def run_program(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    stdin: bytes,
    max_bytes: int,
    hear: Hear | None = None,
) -> Said:
    """Run `argv` to its end. When the caller is cancelled, it is ended first, with all its children.

    Raises:
        NotInstalled: There is no such program, or what its first line asks for is missing.
        MissingFile: There is no folder `cwd`.
        AccessDenied: It may not be run.
        InvalidInput: It is nothing that the system can run.
    """
    loop = asyncio.get_running_loop()
    told = None if hear is None else partial(loop.call_soon_threadsafe, hear)
    program = _Program(argv, cwd=cwd, env=env, max_bytes=max_bytes, hear=told)
    running = asyncio.ensure_future(in_thread(program.run, stdin))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError as error:
        program.stop()
        with suppress(RetinueError):
            error.add_note(_told_to_stop(argv[0], await running))
        raise
    finally:
        program.stop()


def _told_to_stop(program: str, said: Said) -> str:
    """What it had said by then, so that it is not lost."""
    text, stderr = (output.decode("utf-8", "replace").strip() for output in (said.stdout, said.stderr))
    so_far = f"had said {len(said.stdout):,} bytes, beginning with {text[:500]!r}" if text else "had said nothing"
    at_last = f", and on stderr at last {stderr[-500:]!r}" if stderr else ""
    return f"`{Path(program).name}` was ended with all it had started; it {so_far}{at_last}."


class _Program:
    """One program, from start to end, in the thread that calls `run`; `stop` may come from any other."""

    def __init__(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], max_bytes: int, hear: Hear | None
    ) -> None:
        self._argv = argv
        self._cwd = cwd
        self._env = env
        self._max_bytes = max_bytes
        self._hear = hear
        self._lock = threading.Lock()
        self._stopping = False
        self._waker: int | None = None

    def stop(self) -> None:
        """Tell it to end. Nothing happens when it has ended."""
        with self._lock:
            if self._waker is not None and not self._stopping:
                os.write(self._waker, b"x")
            self._stopping = True

    def run(self, stdin: bytes) -> Said:
        """Start it, hear it to its end, and end whatever it leaves behind."""
        with ExitStack() as stack:
            woken = self._wakeable(stack)
            process = self._started(stdin)
            _alive.add(process.pid)
            stack.callback(_alive.discard, process.pid)
            stack.callback(_reap, process)
            listening = stack.enter_context(_Listening(process, woken, max_bytes=self._max_bytes, hear=self._hear))
            listening.to_the_end()
        status = process.poll()
        return Said(
            status=-signal.SIGKILL if status is None else status,
            stdout=bytes(listening.stdout),
            stderr=bytes(listening.stderr),
            flooded=listening.flooded,
            outlived=listening.outlived,
        )

    def _wakeable(self, stack: ExitStack) -> int:
        """A descriptor that becomes readable when `stop` is called, even if it was before."""
        woken, waker = os.pipe()
        stack.callback(os.close, woken)
        stack.callback(self._unwake, waker)
        with self._lock:
            self._waker = waker
            if self._stopping:
                os.write(waker, b"x")
        return woken

    def _unwake(self, waker: int) -> None:
        with self._lock:
            self._waker = None
            os.close(waker)

    def _started(self, stdin: bytes) -> subprocess.Popen[bytes]:
        with TemporaryFile() as source:  # a pipe would have to be fed while the outputs are drained
            source.write(stdin)
            source.seek(0)
            try:
                return subprocess.Popen(  # noqa: S603 - argument vector, no shell
                    [_in_utf8(word) for word in self._argv],
                    cwd=self._cwd,
                    env={_in_utf8(name): _in_utf8(value) for name, value in self._env.items()},
                    stdin=source,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    bufsize=0,
                    start_new_session=True,
                )
            except OSError as error:
                raise _refusal(error, self._argv[0], self._cwd) from error


class _Listening:
    """Hears both outputs of one program until they and it have ended, or patience has."""

    def __init__(self, process: subprocess.Popen[bytes], woken: int, *, max_bytes: int, hear: Hear | None) -> None:
        self.stdout, self.stderr = bytearray(), bytearray()
        self.flooded = self.outlived = False
        self._process = process
        self._max_bytes = max_bytes
        self._hear = hear
        self._until: float | None = None
        self._killed = False
        self._selector = DefaultSelector()
        self._open: set[int] = set()
        for pipe, take in ((process.stdout, self._take), (process.stderr, self._take_stderr)):
            descriptor = cast("IO[bytes]", pipe).fileno()
            self._open.add(descriptor)
            self._selector.register(descriptor, EVENT_READ, partial(self._read, descriptor, take))
        self._selector.register(woken, EVENT_READ, partial(self._stop, woken))
        self._end = _descriptor_of_end(process.pid)
        if self._end is not None:
            self._selector.register(self._end, EVENT_READ, self._noticed)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        if self._end is not None:
            os.close(self._end)

    def to_the_end(self) -> None:
        """Listen."""
        while not self._over():
            for key, _ in self._selector.select(self._wait_s()):
                cast("Callable[[], None]", key.data)()

    def _over(self) -> bool:
        """Whether there is nothing more to hear, or nothing more to wait for."""
        ended = self._process.poll() is not None
        if ended and not self._open:
            return True
        now = monotonic()
        if ended and self._until is None:
            self._until = now + _LINGER_S
        if self._until is None or now < self._until:
            return False
        if ended or self._killed:
            self.outlived = True
            return True
        self._kill()
        return False

    def _wait_s(self) -> float | None:
        left_s = None if self._until is None else max(0.0, self._until - monotonic())
        if self._end is not None:
            return left_s
        return _LOOK_S if left_s is None else min(left_s, _LOOK_S)

    def _read(self, descriptor: int, take: Hear) -> None:
        chunk = os.read(descriptor, _CHUNK) if not self.flooded else b""
        if chunk:
            take(chunk)
        else:
            self._selector.unregister(descriptor)
            self._open.discard(descriptor)

    def _take(self, chunk: bytes) -> None:
        room = self._max_bytes - len(self.stdout)
        self.stdout += chunk[:room]
        if len(chunk) > room:
            self.flooded = True
            self._kill()
        elif self._hear is not None:
            with suppress(RuntimeError):  # the loop is closed: nobody listens any more
                self._hear(chunk)

    def _take_stderr(self, chunk: bytes) -> None:
        self.stderr += chunk
        del self.stderr[:-_STDERR_KEPT]

    def _stop(self, woken: int) -> None:
        self._selector.unregister(woken)
        self._until = monotonic() + _PATIENCE_S
        _signal(self._process.pid, signal.SIGTERM)

    def _kill(self) -> None:
        self._killed = True
        self._until = monotonic() + _GONE_S
        _signal(self._process.pid, signal.SIGKILL)

    def _noticed(self) -> None:
        if self._end is not None:
            self._selector.unregister(self._end)


def _descriptor_of_end(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends; None where the system has none."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _reap(process: subprocess.Popen[bytes]) -> None:
    """End whatever is left of a program and of what it started."""
    _signal(process.pid, signal.SIGKILL)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GONE_S)


def _signal(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # all of it is gone, or what is left has become somebody else's
        os.killpg(group, number)


def _in_utf8(text: str) -> str:
    """What has to be said for `text` to arrive as UTF-8, whatever the locale."""
    return os.fsdecode(text.encode("utf-8", "surrogateescape"))


def _refusal(error: OSError, program: str, cwd: str) -> RetinueError:
    """Why a program was not started, with what to do about it."""
    name = Path(program).name
    if not Path(cwd).is_dir():
        return MissingFile(f"There is no folder {cwd!r} for `{name}` to run in.", hint="Name one that is there.")
    code = "no interpreter" if error.errno == errno.ENOENT and Path(program).exists() else error.errno
    kind, why, hint = _REFUSALS.get(code, _UNKNOWN)
    said = why.format(program=repr(program), name=name, said=error.strerror or error)
    return kind(said, hint=hint.format(program=program))


_UNKNOWN: Final = (NotInstalled, "`{name}` cannot be started: {said}.", "See that it runs in a shell.")
_REFUSALS: Final[Mapping[object, tuple[type[RetinueError], str, str]]] = {
    errno.ENOENT: (NotInstalled, "There is no program {program}.", "Install it, or name it by its path."),
    "no interpreter": (
        NotInstalled,
        "{program} cannot be started: what its first line asks for is not here.",
        "Install what its first line names, or mend that line.",
    ),
    errno.EACCES: (AccessDenied, "{program} may not be run: {said}.", "Allow it: `chmod +x {program}`."),
    errno.EPERM: (AccessDenied, "{program} may not be run: {said}.", "Allow it: `chmod +x {program}`."),
    errno.ENOEXEC: (
        InvalidInput,
        "{program} is no program.",
        "Begin it with a line such as `#!/usr/bin/env python3`, or name its interpreter.",
    ),
    errno.E2BIG: (InvalidInput, "The words given to `{name}` are too long.", "Hand them over on its stdin."),
}


_alive: set[int] = set()
"""The sessions that run right now."""


@atexit.register
def _end_all() -> None:
    """Leave no program behind when this one ends before its calls do."""
    for group in tuple(_alive):
        _signal(group, signal.SIGKILL)
