"""The programs that our own tools use, run from a thread: a clean environment, a time limit and an output limit."""

import os
import signal
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from tempfile import TemporaryFile
from time import monotonic
from typing import IO, cast

from retinue.errors import DeadlineExceeded, LimitReached

from .start import spawn

_CHUNK = 65_536
_STDERR_CAP = 65_536


@dataclass(frozen=True, slots=True)
class ProcessOutput:
    """A program that has ended: its exit code (negative: the signal), its output, and the head of its stderr."""

    code: int
    stdout: bytes
    stderr: str


def describe_exit(status: int) -> str:
    """How a program ended, as the end of a sentence. A negative status is a signal."""
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def run(
    argv: Sequence[str], *, cwd: str, env: Mapping[str, str], timeout_s: float, max_bytes: int, stdin: bytes = b""
) -> ProcessOutput:
    """Run `argv` to its end and return its output.

    Raises:
        NotInstalled: There is no such program.
        AccessDenied: It may not be run.
        DeadlineExceeded: It took longer than `timeout_s` seconds, and was killed.
        LimitReached: It printed more than `max_bytes`, and was killed.
    """
    parts: list[bytes] = []
    chunks = stream(argv, cwd=cwd, env=env, timeout_s=timeout_s, max_bytes=max_bytes, stdin=stdin)
    while True:
        try:
            parts.append(next(chunks))
        except StopIteration as end:
            return replace(end.value, stdout=b"".join(parts))


def stream(
    argv: Sequence[str], *, cwd: str, env: Mapping[str, str], timeout_s: float, max_bytes: int, stdin: bytes = b""
) -> Generator[bytes, None, ProcessOutput]:
    """Run `argv` and yield its stdout in chunks as they come; what it returns has none of that.

    Closing the generator kills the program.

    Raises: as `run`.
    """
    deadline, name = monotonic() + timeout_s, Path(argv[0]).name
    with ExitStack() as stack:
        source: int | IO[bytes] = subprocess.DEVNULL
        if stdin:  # a file, because a pipe would have to be fed while the outputs are read
            source = stack.enter_context(TemporaryFile())
            source.write(stdin)
            source.seek(0)
        # No new session: Ctrl-C in the terminal must reach the child as well.
        process = stack.enter_context(spawn(argv, cwd=cwd, env=env, stdin=source, new_session=False))
        # Called before the process is waited for: the stack is unwound from its end.
        stack.callback(process.kill)
        try:
            stderr = yield from _read_outputs(process, name, deadline=deadline, max_bytes=max_bytes)
            code = process.wait(timeout=max(0.0, deadline - monotonic()))
        except (subprocess.TimeoutExpired, TimeoutError):
            raise DeadlineExceeded(
                f"`{name}` took longer than {timeout_s:g} seconds and was killed",
                hint="narrow the question, or allow more time",
                detail={"bound": "process_timeout"},
            ) from None
    return ProcessOutput(code, b"", stderr.decode("utf-8", "replace"))


def _read_outputs(
    process: "subprocess.Popen[bytes]", name: str, *, deadline: float, max_bytes: int
) -> Generator[bytes, None, bytes]:
    """Yield stdout until both outputs have ended; returns the head of stderr."""
    size, stderr = 0, bytearray()
    with DefaultSelector() as selector:
        for pipe in (process.stdout, process.stderr):
            selector.register(cast("IO[bytes]", pipe), EVENT_READ)
        while selector.get_map():
            remaining = deadline - monotonic()
            if remaining <= 0:
                raise TimeoutError
            for key, _ in selector.select(remaining):
                # Not through the file object, which would wait for a whole chunk.
                chunk = os.read(key.fd, _CHUNK)
                if not chunk:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stderr:
                    stderr += chunk[: _STDERR_CAP - len(stderr)]
                else:
                    size += len(chunk)
                    # Counted before it is handed on, so that no caller gets more than the limit.
                    if size > max_bytes:
                        raise LimitReached(
                            f"`{name}` printed more than {max_bytes} bytes and was killed",
                            hint="narrow the question: fewer commits, fewer paths, or a smaller range",
                        )
                    yield chunk
    return bytes(stderr)
