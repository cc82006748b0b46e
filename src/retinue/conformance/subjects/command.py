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
from retinue.agents.wrapped.process import Said, run_program
from retinue.agents.wrapped.refusals import no_program, refusal
from retinue.conformance.port import Exchange, Probe
from retinue.errors import RetinueError
from retinue.tools.process import clean_environment, find_program

__all__ = ["CommandSubject"]

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

    apart = True

    def __init__(self, words: str | Sequence[str], *, cwd: Path | None = None, environment: Sequence[str] = ()) -> None:
        self._argv = split_command(words) if isinstance(words, str) else tuple(words)
        self._cwd = str(cwd or Path.cwd())
        self._program = _program(self._argv[0], self._cwd)
        named = {name: os.environ[name] for name in environment if name in os.environ}
        self._env = clean_environment({"LC_ALL": "C.UTF-8", **named})

    @property
    def name(self) -> str:
        """The command, as a line."""
        return shlex.join(self._argv)

    async def put(self, probe: Probe, sent: str, *, timeout_s: float) -> Exchange:
        """Run the command with `sent` on its stdin, and bring back what it printed, or why it did not."""
        began_ns = time.perf_counter_ns()
        exchange = Exchange(probe, sent)
        ending = "\n" if probe.text is None and not sent.endswith("\n") else ""  # as an agent that is asked gets it
        stdin = f"{sent}{ending}".encode("utf-8", "surrogatepass")
        try:
            async with asyncio.timeout(timeout_s):
                said = await run_program(
                    [self._program, *self._argv[1:]], cwd=self._cwd, env=self._env, stdin=stdin, max_bytes=_MOST_BYTES
                )
        except TimeoutError:
            exchange = replace(exchange, error=f"There was no answer within {timeout_s:g} s.", late=True)
        except (RetinueError, OSError, ValueError) as error:
            exchange = replace(exchange, error=f"It could not be run: {error}")
        else:
            exchange = _with(exchange, said)
        return replace(exchange, duration_ns=time.perf_counter_ns() - began_ns)

    def close(self) -> None:
        """Nothing is held between requests."""


def _program(name: str, cwd: str) -> str:
    """The program's path. A bare name is looked up where programs are, and never in the folder itself."""
    found = str(Path(cwd, Path(name).expanduser())) if "/" in name else find_program(name)
    if found is None or not Path(found).exists():
        raise no_program(name if found is None else found, cwd)
    if Path(found).is_dir() or not os.access(found, os.X_OK):
        raise refusal(PermissionError(errno.EACCES, os.strerror(errno.EACCES)), found, cwd)
    return found


def _with(exchange: Exchange, said: Said) -> Exchange:
    """`exchange` with what the command printed."""
    exchange = replace(exchange, status=said.status, stderr=said.stderr.decode("utf-8", "replace")[-_STDERR:])
    if said.flooded:
        return replace(exchange, error=f"It printed more than {_MOST_BYTES:,} bytes.")
    if not said.stdout:
        return replace(exchange, error=_silence(exchange, said.status))
    try:
        return replace(exchange, text=said.stdout.decode("utf-8"))
    except UnicodeDecodeError as error:
        return replace(exchange, error=f"It printed what is not UTF-8 from byte {error.start + 1:,} on.")


def _silence(exchange: Exchange, status: int) -> str:
    how = f"exit code {status}" if status >= 0 else f"signal {-status}"
    last = exchange.stderr.strip().rpartition("\n")[2][:200]
    return f"It printed nothing, and ended with {how}{f': {last}' if last else ''}."
