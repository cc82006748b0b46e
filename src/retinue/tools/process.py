"""Runs a program by its argument vector: no shell, a clean environment, a time limit and an output cap.

It is what `git` and `grep` stand on. It is not the shell tool of an agent: what may be run is its caller's matter.
"""

import os
import shutil
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from tempfile import TemporaryFile
from time import monotonic
from typing import IO

from retinue.errors import AccessDenied, DeadlineExceeded, LimitReached, NotInstalled

_INHERITED_VARIABLES = ("HOME", "XDG_CONFIG_HOME", "TMPDIR", "SUDO_UID", "USER", "LOGNAME")
_CHUNK = 65_536
_STDERR_CAP = 65_536


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """How a program ended: its exit code (negative: the signal that ended it) and the head of its stderr."""

    code: int
    stderr: str


@dataclass(frozen=True, slots=True)
class ProcessOutput:
    """All that a finished program said."""

    code: int
    stdout: bytes
    stderr: str


def clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The few variables a child gets: an absolute PATH, HOME and its like, the C locale, and `extra`."""
    inherited_env = {name: os.environ[name] for name in _INHERITED_VARIABLES if name in os.environ}
    return {"PATH": _absolute_path(), "LC_ALL": "C", **inherited_env, **extra}


def find_program(name: str) -> str | None:
    """The full path of the program `name`, never looked up in the current directory."""
    return shutil.which(name, path=_absolute_path())


def run(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    timeout_s: float,
    max_bytes: int,
    stdin: bytes = b"",
) -> ProcessOutput:
    """Run `argv` to its end and give all it said.

    Raises:
        NotInstalled: There is no such program.
        DeadlineExceeded: It took longer than `timeout_s` seconds; it has been ended.
        LimitReached: It said more than `max_bytes`; it has been ended.
    """
    parts: list[bytes] = []
    lines = stream(argv, cwd=cwd, env=env, timeout_s=timeout_s, max_bytes=max_bytes, stdin=stdin)
    while True:
        try:
            parts.append(next(lines))
        except StopIteration as end:
            status: ProcessExit = end.value
            return ProcessOutput(status.code, b"".join(parts), status.stderr)


def stream(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    timeout_s: float,
    max_bytes: int,
    stdin: bytes = b"",
) -> Generator[bytes, None, ProcessExit]:
    """Run `argv` and yield its stdout in chunks as they come; a closed generator ends the program.

    Raises: as `run`.
    """
    deadline = monotonic() + timeout_s
    with _input(stdin) as source, _start(argv, cwd=cwd, env=env, stdin=source) as process:
        try:
            stderr = yield from _pump(process, argv[0], deadline=deadline, timeout_s=timeout_s, max_bytes=max_bytes)
            code = process.wait(timeout=max(0.0, deadline - monotonic()))
        except subprocess.TimeoutExpired:
            raise _timeout_error(argv[0], timeout_s) from None
        finally:
            process.kill()
    return ProcessExit(code, stderr.decode("utf-8", "replace"))


@contextmanager
def _input(data: bytes) -> Generator[int]:
    """A descriptor to read `data` from: a file, because a pipe would have to be fed while outputs are drained."""
    if not data:
        yield subprocess.DEVNULL
        return
    with TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        yield file.fileno()


def _start(argv: Sequence[str], *, cwd: str, env: Mapping[str, str], stdin: int) -> subprocess.Popen[bytes]:
    # No new session: Ctrl-C in the terminal must reach the child as well.
    try:
        return subprocess.Popen(  # noqa: S603 - argument vector, no shell
            [_in_utf8(word) for word in argv],
            cwd=cwd,
            env={_in_utf8(name): _in_utf8(value) for name, value in env.items()},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
    except FileNotFoundError as error:
        raise NotInstalled(
            f"the program {argv[0]!r} cannot be started: {error.strerror}",
            hint=f"install `{Path(argv[0]).name}`, or check that the folder {cwd!r} exists",
        ) from error
    except PermissionError as error:
        raise AccessDenied(f"the program {argv[0]!r} may not be run in {cwd!r}", hint="check its mode bits") from error


def _in_utf8(text: str) -> str:
    """What has to be said for `text` to arrive as UTF-8, whatever the locale: what programs say is read so as well."""
    return os.fsdecode(text.encode("utf-8", "surrogateescape"))


def _pump(
    process: subprocess.Popen[bytes], name: str, *, deadline: float, timeout_s: float, max_bytes: int
) -> Generator[bytes, None, bytes]:
    """Yield stdout until both outputs have ended; gives the head of stderr back."""
    stdout_size, stderr = 0, bytearray()
    with DefaultSelector() as selector:
        for pipe in (process.stdout, process.stderr):
            selector.register(_require_pipe(pipe), EVENT_READ)
        while selector.get_map():
            remaining = deadline - monotonic()
            if remaining <= 0:
                raise _timeout_error(name, timeout_s)
            for key, _ in selector.select(remaining):
                chunk = os.read(key.fd, _CHUNK)
                if not chunk:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stderr:
                    stderr += chunk[: _STDERR_CAP - len(stderr)]
                else:
                    stdout_size += len(chunk)
                    if stdout_size > max_bytes:
                        raise _output_limit_error(name, max_bytes)
                    yield chunk
    return bytes(stderr)


def _require_pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # noqa: S101 - both pipes were asked for
    return pipe


def _absolute_path() -> str:
    # A relative or empty entry would let the repository under study bring its own `git`.
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if Path(entry).is_absolute())


def _timeout_error(name: str, timeout_s: float) -> DeadlineExceeded:
    return DeadlineExceeded(
        f"`{Path(name).name}` took longer than {timeout_s:g} seconds and was ended",
        hint="narrow the question, or allow more time",
        detail={"bound": "process_timeout"},
    )


def _output_limit_error(name: str, max_bytes: int) -> LimitReached:
    return LimitReached(
        f"`{Path(name).name}` gave more than {max_bytes} bytes and was ended",
        hint="narrow the question: fewer commits, fewer paths, or a smaller range",
    )
