"""The process that serves a local model: started, told what to serve, ended. `_server_main` is what runs in it."""

import contextlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any, Final, cast

from retinue.contract.credentials import holds_secret
from retinue.contract.sanitize import printable
from retinue.errors import InvalidInput, RetinueError, Unavailable

_READY_S: Final = 300.0
"""Seconds to load a model: large ones are read from slow disks."""

_END_S: Final = 5.0
_MAX_MESSAGE: Final = 300
"""Characters of the process's own complaint that are passed on."""


class ServerProcess:
    """A process that is up and answers.

    Args:
        path: The GGUF file.
        name: What it calls itself in its answers.
        threads: Processor threads.
        context: Tokens of a conversation; 0 for as many as the model was made for.

    Attributes:
        base_url: Where it answers, on loopback.
        key: What it wants to be shown, so that no other user of this machine can ask it.

    Raises:
        InvalidInput: llama.cpp cannot load the file.
        Unavailable: The process died, or did not get ready in time.
    """

    def __init__(self, path: str, *, name: str, threads: int, context: int) -> None:
        self.key = secrets.token_urlsafe(32)
        options = {"path": path, "name": name, "threads": threads, "context": context, "key": self.key}
        with tempfile.TemporaryFile() as complaints:
            process = subprocess.Popen(  # noqa: S603 - argument vector, no shell
                [sys.executable, "-P", str(Path(__file__).with_name("_server_main.py"))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                env={name: value for name, value in os.environ.items() if not holds_secret(name)},
                start_new_session=True,  # Ctrl-C is for us; it ends when its standard input does
            )
            self._process = process
            self._end = weakref.finalize(self, _end, process)
            answer = _handshake(process, options)
            if "address" not in answer:
                self.close()
                complaints.seek(0)
                raise _startup_error(path, process.returncode, answer.get("error", ""), complaints.read())
        self.base_url = f"{answer['address']}/v1"

    @property
    def is_running(self) -> bool:
        """Whether the process still lives."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End the process at once, as if the system had."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End the process."""
        self._end()


def _handshake(process: "subprocess.Popen[bytes]", options: dict[str, Any]) -> dict[str, str]:
    """Tell the process what to serve and hear where; nothing when it dies before, or takes too long."""
    late = threading.Timer(_READY_S, process.kill)
    late.daemon = True
    late.start()
    try:
        if process.stdin is None or process.stdout is None:
            return {}
        process.stdin.write(json.dumps(options).encode() + b"\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except OSError:
        return {}
    finally:
        late.cancel()
    return cast("dict[str, str]", json.loads(line)) if line.endswith(b"\n") else {}


def _startup_error(path: str, status: int, error: str, complaints: bytes) -> RetinueError:
    """Why there is no server: its own first words about it, as text of a stranger."""
    lines = complaints.decode(errors="replace").splitlines()
    cause = next((line.partition("error loading model: ")[2] for line in lines if "error loading model: " in line), "")
    message = printable(cause or (lines[-1] if lines else error))[:_MAX_MESSAGE].strip().rstrip(".")
    because = f": {message}" if message else ""
    if error:
        return InvalidInput(
            f"llama.cpp cannot load {path!r}{because}.",
            hint="Make sure that the file is whole, and of a kind that this version of llama.cpp knows.",
            path=path,
            detail={"error": error[:_MAX_MESSAGE]},
        )
    return Unavailable(
        f"The process that should serve {path!r} ended with status {status}{because}.",
        hint="Make sure that the file is whole and fits into memory.",
        path=path,
        detail={"status": status},
    )


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End `process` by the end of its standard input, or by force."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
