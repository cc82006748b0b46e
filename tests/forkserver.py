"""`python -m retinue` for tests, forked from a process that has imported it: most of what a command costs is imports.

`Popen` and `run` are those of `subprocess`. What is not `python -m retinue`, or sets its interpreter up in another way,
is executed as always; so is everything while coverage is measured, which only sees processes that start as such.
"""

import atexit
import gc
import importlib
import os
import pickle
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, Final

__all__ = ["Popen", "run", "stop"]

_COMMAND: Final = [sys.executable, "-m", "retinue"]
_PACKAGES: Final = ("cli", "catalogue", "dialects", "orchestration", "tools")
"""What is imported before the first command, with all that they import in turn."""
_OTHERS: Final = ("rapidfuzz.fuzz",)
_MODELS: Final = (
    "anyio._backends._asyncio", "genai_prices.data", "genai_prices.validation", "openai.resources.chat",
    "opentelemetry.propagate", "pydantic_ai.models.anthropic", "pydantic_ai.models.openai",
    "pydantic_ai.providers.openai_compatible", "rapidfuzz.process", "retinue.agents.prompted.toolbox",
    "retinue.llm.providers", "retinue.llm.pydantic_ai_model",
)  # fmt: skip
"""What a server of its own imports for commands that have a model."""
_GOAL: Final = "Which tests are missing, and which files change most often?"
"""What a server plans once: the schemas, words and patterns of the ready-made agents are read before a command needs them."""
_READ_AT_START: Final = ("PYTHON", "LC_", "LANG", "LD_")
"""Variables that an interpreter reads when it starts: where one differs, a command cannot be forked."""
_NOT_FORKED: Final = ("COVERAGE_", "TESTS_EXECUTE")
_EXECUTED: Final[Any] = subprocess.Popen
_AT_EXIT: Final[Any] = atexit
_THREADS: Final[Any] = threading
"""As things whose insides have no types."""
_servers: dict[tuple[str, ...], "_Server"] = {}
_starting = threading.Lock()


class Popen(subprocess.Popen[Any]):
    """A process that the server starts and waits for, if it can; all else is as in `subprocess`."""

    _status: int | None = None
    """The pipe that says how it ended."""

    def _execute_child(self, *given: Any) -> None:
        command, preexec, pass_fds, cwd, environment = (given[place] for place in (0, 2, 4, 5, 6))
        stdin, _, _, stdout, _, stderr = given[10:16]
        own_session, group = given[-2:]
        words = [] if isinstance(command, str) else [str(word) for word in command]
        plain = preexec is None and not pass_fds and group == -1 and words[:3] == _COMMAND
        server = _server_for(environment) if plain and environment is not None else None
        if server is None:
            _EXECUTED._execute_child(self, *given)
            return
        self._status, theirs = os.pipe()
        request = (words, str(cwd or Path.cwd()), environment, own_session)
        streams = [number if fd == -1 else fd for number, fd in enumerate((stdin, stdout, stderr))]
        server.send(request, [*streams, theirs])
        os.close(theirs)
        self.pid = int.from_bytes(os.read(self._status, 4), "big")
        self._child_created = True
        _EXECUTED._close_pipe_fds(self, *given[10:16])

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if self._status is None:
            return _EXECUTED._try_wait(self, wait_flags)
        if wait_flags and not select.select([self._status], [], [], 0)[0]:
            return 0, 0
        status = os.read(self._status, 4)
        os.close(self._status)
        return self.pid, int.from_bytes(status, "big") if status else signal.SIGKILL  # the server has gone

    def _internal_poll(self, *given: Any, **named: Any) -> int | None:
        if self._status is None:
            return _EXECUTED._internal_poll(self, *given, **named)
        if self.returncode is None and (ended := self._try_wait(os.WNOHANG))[0]:
            self.returncode = os.waitstatus_to_exitcode(ended[1])
        return self.returncode


def run(
    command: list[str], *, stdin: Any = None, timeout: float, execute: bool = False, **how: Any
) -> "subprocess.CompletedProcess[Any]":
    """What a command tells, to its end; if that does not come in time, it is killed with all that it started.

    Args:
        command: Its words.
        stdin: What it can read; None: nothing.
        timeout: In seconds.
        execute: Never fork: for tests of how a process starts and ends.
        how: As for `subprocess.Popen`.
    """
    how |= {"stdin": subprocess.DEVNULL if stdin is None else subprocess.PIPE, "start_new_session": True}
    start: type[subprocess.Popen[Any]] = subprocess.Popen if execute else Popen
    with start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how) as process:
        try:
            out, err = process.communicate(stdin, timeout=timeout)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def stop() -> None:
    """End the servers of this process, and whatever they still run."""
    while _servers:
        _servers.popitem()[1].stop()


def _setup(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_READ_AT_START)}


def _server_for(environment: Mapping[str, str]) -> "_Server | None":
    usual = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    usual |= {name: environment[name] for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONWARNINGS") if name in environment}
    if _setup(environment) != _setup(usual) or any(name.startswith(_NOT_FORKED) for name in os.environ):
        return None
    has_model = any(name.startswith("RETINUE_MODELS_") or name.endswith("_API_KEY") for name in environment)
    key = (
        usual.get("PYTHONDONTWRITEBYTECODE", ""),
        usual.get("PYTHONWARNINGS", ""),
        *(_MODELS if has_model else _OTHERS),
    )
    with _starting:
        if key not in _servers:
            _servers[key] = _Server(key[2:], usual)
        return _servers[key]


class _Server:
    def __init__(self, modules: tuple[str, ...], environment: dict[str, str]) -> None:
        self._ours, theirs = socket.socketpair()
        one = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # a process with threads cannot be forked safely
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno()), *modules],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment | one, pass_fds=[theirs.fileno()],
        )  # fmt: skip
        theirs.close()
        self._sending = threading.Lock()

    def send(self, request: object, streams: list[int]) -> None:
        data = pickle.dumps(request)
        with self._sending:
            socket.send_fds(self._ours, [len(data).to_bytes(8, "big")], streams)
            self._ours.sendall(data)

    def stop(self) -> None:
        self._ours.close()
        self._process.wait()


# What the server does


def _serve(control: socket.socket) -> tuple[list[str], str, dict[str, str], bool] | None:
    """Fork for each request; returns it in the new process, and None in the server when nobody asks any more."""
    children: dict[int, int] = {}
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, _wake)
    while True:
        ready = select.select([control, ended], [], [])[0]
        if ended in ready:
            os.read(ended, 4096)
            for process in list(children):
                if (status := os.waitpid(process, os.WNOHANG))[0]:
                    with os.fdopen(children.pop(process), "wb") as pipe:
                        pipe.write(status[1].to_bytes(4, "big"))
        if control in ready:
            head, streams, *_ = socket.recv_fds(control, 8, 4)
            if not head:
                for process in children:
                    has_own_session = os.getsid(process) == process
                    os.kill(-process if has_own_session else process, signal.SIGKILL)
                return None
            data = bytearray()
            while len(data) < int.from_bytes(head, "big"):
                data += control.recv(1 << 20)
            *streams, status_pipe = streams
            if process := os.fork():
                children[process] = status_pipe
                os.write(status_pipe, process.to_bytes(4, "big"))
                for stream in streams:
                    os.close(stream)
                continue
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            for fd in (ended, wake, control.detach(), status_pipe, *streams, *children.values()):
                os.close(fd)
            return pickle.loads(data)


def _wake(_number: int, _frame: FrameType | None) -> None:
    """Python writes to the pipe only for signals that have a handler."""


def _become(words: list[str], folder: str, environment: dict[str, str], own_session: bool) -> None:
    """Make this process what `python -m retinue` would find."""
    if own_session:
        os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.argv, sys.orig_argv, sys.path[0] = ["", *words[3:]], words, str(Path.cwd())
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        new = open(number, "w" if number else "r", encoding=old.encoding, errors=old.errors, closefd=False)  # noqa: SIM115
        if number == 2:
            new.reconfigure(line_buffering=True)
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


def _end(code: int) -> None:
    """End as an interpreter does, but for taking everything apart that was imported: that takes longer than a command."""
    _THREADS._shutdown()
    _AT_EXIT._run_exitfuncs()
    gc.collect()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.flush()
    os._exit(code)


def _main(control: int, *modules: str) -> None:
    for folder in _PACKAGES:
        package = importlib.import_module(f"retinue.{folder}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    for name in modules:
        importlib.import_module(name)
    definitions = [agent.definition for agent in importlib.import_module("retinue.catalogue").agents()]
    importlib.import_module("retinue.orchestration.reader.planner").Planner(definitions).plan(_GOAL)
    assert threading.active_count() == 1
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=control) as requests:
        request = _serve(requests)
    if request:
        _become(*request)
        try:
            runpy.run_module("retinue", run_name="__main__", alter_sys=True)
        except SystemExit as ended:
            if isinstance(ended.code, int):
                with suppress(OSError, ValueError):  # a stream that takes nothing: the interpreter says so
                    _end(ended.code)
            raise


if __name__ == "__main__":
    _main(int(sys.argv[1]), *sys.argv[2:])
