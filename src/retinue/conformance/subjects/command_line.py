"""A command as a subject: the request on its stdin, the answer on its stdout, one process a request, no shell."""

import asyncio
import errno
import os
import shlex
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from retinue.agents.wrapped import split_command
from retinue.conformance.port import Probe, ProbeExchange
from retinue.errors import RetinueError
from retinue.processes.program import ProgramResult, run_program
from retinue.processes.start import clean_environment, find_program, missing_program_error, start_error

_MOST_BYTES: Final = 16_000_000
_STDERR: Final = 4_000


class CommandSubject:
    """Judges a command by what it prints. It gets a clean environment, as an agent that is asked does.

    Args:
        words: The command: a list, or a line that is split as a shell would split it, with nothing expanded.
        cwd: Where it runs.
        environment: Names of the variables it may see beside the usual ones, such as a key it needs.

    Raises:
        InvalidInput: There is no command in it.
        NotInstalled: There is no such program.
        AccessDenied: It may not be run.
    """

    is_isolated = True

    def __init__(self, words: str | Sequence[str], *, cwd: Path | None = None, environment: Sequence[str] = ()) -> None:
        self._argv = split_command(words) if isinstance(words, str) else tuple(words)
        self._cwd = str(cwd or Path.cwd())
        self._program = _program(self._argv[0], self._cwd)
        variables = {name: os.environ[name] for name in environment if name in os.environ}
        self._env = clean_environment({"LC_ALL": "C.UTF-8", **variables})

    @property
    def name(self) -> str:
        """The command, as a line."""
        return shlex.join(self._argv)

    async def send(self, probe: Probe, request: str, *, timeout_s: float) -> ProbeExchange:
        """Run the command with `request` on its stdin, and bring back what it printed, or why it did not."""
        began_ns = time.perf_counter_ns()
        exchange = ProbeExchange(probe, request)
        ending = "\n" if probe.text is None and not request.endswith("\n") else ""  # as an agent that is asked gets it
        stdin = f"{request}{ending}".encode("utf-8", "surrogatepass")
        try:
            async with asyncio.timeout(timeout_s):
                output = await run_program(
                    [self._program, *self._argv[1:]], cwd=self._cwd, env=self._env, stdin=stdin, max_bytes=_MOST_BYTES
                )
        except TimeoutError:
            exchange = replace(exchange, error=f"There was no answer within {timeout_s:g} s.", late=True)
        except (RetinueError, OSError, ValueError) as error:
            exchange = replace(exchange, error=f"It could not be run: {error}")
        else:
            printed = output.stderr.decode("utf-8", "replace")[-_STDERR:]
            exchange = replace(exchange, status=output.status, stderr=printed)
            exchange = replace(exchange, **_answer_of(output, last_line=printed.strip().rpartition("\n")[2][:200]))
        return replace(exchange, duration_ns=time.perf_counter_ns() - began_ns)

    def close(self) -> None:
        """Nothing is held between requests."""


def _program(name: str, cwd: str) -> str:
    """The program's path. A bare name is looked up where programs are, and never in the folder itself."""
    path = str(Path(cwd, Path(name).expanduser())) if "/" in name else find_program(name)
    if path is None or not Path(path).exists():
        raise missing_program_error(name if path is None else path, cwd)
    if Path(path).is_dir() or not os.access(path, os.X_OK):
        raise start_error(PermissionError(errno.EACCES, os.strerror(errno.EACCES)), path, cwd)
    return path


def _answer_of(output: ProgramResult, *, last_line: str) -> dict[str, str]:
    """What the command printed as the `text` of its answer, or the `error` in its place."""
    if output.flooded:
        return {"error": f"It printed more than {_MOST_BYTES:,} bytes."}
    if not output.stdout:
        how = f"exit code {output.status}" if output.status >= 0 else f"signal {-output.status}"
        return {"error": f"It printed nothing, and ended with {how}{f': {last_line}' if last_line else ''}."}
    try:
        return {"text": output.stdout.decode("utf-8")}
    except UnicodeDecodeError as error:
        return {"error": f"It printed what is not UTF-8 from byte {error.start + 1:,} on."}
