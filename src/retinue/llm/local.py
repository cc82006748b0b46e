"""A model in a GGUF file, run on this machine: no key, no network, no price.

llama.cpp (through xllamacpp) runs as a server on loopback in a process of its own, started when the model is first
asked and ended with this process, whatever becomes of it. It is spoken to like any other OpenAI-compatible endpoint.
Its grammar holds answers to the form of a schema but not to the bounds of its numbers: whoever asks validates again.
"""

import asyncio
import importlib.util
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast

from retinue.contract.credentials import holds_secret
from retinue.contract.sanitize import printable
from retinue.errors import AccessDenied, InvalidInput, MissingFile, NotInstalled, RetinueError, Unavailable
from retinue.processes.start import spawn

from .failures import timeout_error
from .port import OnText, Request, Response
from .pydantic_ai_model import PydanticAIModel, openai_model

CONTEXT: Final = 4_096
"""Tokens of a conversation, the answer included, unless the caller says otherwise."""

_MAGIC: Final = b"GGUF"
_READY_S: Final = 300.0
"""Seconds to load a model: large ones are read from slow disks."""
_END_S: Final = 5.0
_MAX_MESSAGE: Final = 300
"""Characters of the process's own error message that are passed on."""


def open_local(path: str | os.PathLike[str], *, threads: int = 1, context: int = CONTEXT) -> "LocalModel":
    """The model in the GGUF file `path`. It is loaded when it is first asked.

    Args:
        path: A GGUF file.
        threads: Processor threads it may use.
        context: Tokens of a conversation, the answer included; 0 for as many as the model was made for.

    Raises:
        MissingFile: There is no such file.
        AccessDenied: It cannot be read.
        InvalidInput: It is no GGUF file, or an option does not fit.
        NotInstalled: The extra `local` is missing.
    """
    return LocalModel(path, threads=threads, context=context)


class LocalModel:
    """A language model in a file, with the process that runs it. `open_local` says what it takes.

    Attributes:
        name: `local:` and the path.
        max_output: All of the context; None when the model decides.
    """

    def __init__(self, path: str | os.PathLike[str], *, threads: int = 1, context: int = CONTEXT) -> None:
        if threads < 1 or context < 0:
            raise InvalidInput(
                f"A local model cannot run with {threads!r} threads and a context of {context!r} tokens.",
                hint="Use at least one thread; a context of 0 is as large as the model was made for.",
            )
        self._path = Path(path).expanduser().absolute()
        _check_gguf(self._path)
        if any(importlib.util.find_spec(part) is None for part in ("xllamacpp", "pydantic_ai", "openai")):
            raise NotInstalled("Local models need an optional part.", hint="Install `retinue[local]`.")
        self.name = f"local:{os.fspath(path)}"
        self.max_output = context or None
        self._threads, self._context = threads, context
        self._starting = threading.Lock()
        self._process: _ServerProcess | None = None
        self._endpoint: PydanticAIModel | None = None

    async def respond(self, request: Request, *, on_text: OnText | None = None) -> Response:
        """Answer once. The first time, and after it died, its process is started before.

        Raises:
            InvalidInput: llama.cpp cannot load the file.
            Unavailable: The process does not come up.
            DeadlineExceeded: `timeout_s` is over, loading included.
            RetinueError: As of any model.
        """
        endpoint = self._running_endpoint() or await self._ensure_started(request.timeout_s)
        return await endpoint.respond(request, on_text=on_text)

    def price(self, *, tokens_in: int, tokens_out: int) -> float | None:  # noqa: ARG002 - the port names them
        """None: nobody charges for it, and nobody measured what it costs."""
        return None

    async def close(self) -> None:
        """End its process. Asking again starts it anew."""
        if self._endpoint is not None:
            await self._endpoint.close()
        await asyncio.to_thread(self._end)

    def _end(self) -> None:
        with self._starting:
            if self._process is not None:
                self._process.close()
            self._process = self._endpoint = None

    async def _ensure_started(self, seconds: float | None) -> PydanticAIModel:
        """The door, once the process is up; it goes on loading when nobody waits any longer."""
        if self._endpoint is not None:  # the process behind it died
            await self._endpoint.close()
        timer = asyncio.timeout(seconds)
        try:
            async with timer:
                return await asyncio.to_thread(self._start)
        except TimeoutError as error:
            if seconds is None or not timer.expired():
                raise
            raise timeout_error(self.name, seconds) from error

    def _running_endpoint(self) -> PydanticAIModel | None:
        """The door to the process, while it lives."""
        return self._endpoint if self._process is not None and self._process.is_running else None

    def _start(self) -> PydanticAIModel:
        """Start the process, unless another thread just did."""
        with self._starting:
            endpoint = self._running_endpoint()
            if endpoint is None:
                if self._process is not None:
                    self._process.close()
                self._process = _ServerProcess(
                    str(self._path), name=self.name, threads=self._threads, context=self._context
                )
                url = self._process.base_url
                served = openai_model(self.name, "local", base_url=url, key=self._process.key)
                endpoint = self._endpoint = PydanticAIModel(served, name=self.name, address=url)
            return endpoint


def _check_gguf(path: Path) -> None:
    """See that the file is there and begins as a GGUF file does: native code need not be the first to look."""
    try:
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
    except FileNotFoundError:
        raise MissingFile(
            f"There is no model file {str(path)!r}.", hint="Name a GGUF file that is there.", path=str(path)
        ) from None
    except OSError as error:
        raise AccessDenied(
            f"The model file {str(path)!r} cannot be read: {error.strerror or error}.",
            hint="Name a GGUF file that you may read.",
            path=str(path),
        ) from error
    if start != _MAGIC:
        raise InvalidInput(
            f"{str(path)!r} is not a GGUF file: it begins with {start.decode('latin-1')!r}.",
            hint="Use a model in the GGUF format.",
            path=str(path),
        )


class _ServerProcess:
    """llm/_server_main.py in a process that is up and answers, on `base_url` and to those who show its `key`.

    Raises:
        InvalidInput: llama.cpp cannot load the file.
        Unavailable: The process died, or did not get ready in time.
    """

    def __init__(self, path: str, *, name: str, threads: int, context: int) -> None:
        self.key = secrets.token_urlsafe(32)  # so that no other user of this machine can ask it
        options = {"path": path, "name": name, "threads": threads, "context": context, "key": self.key}
        with tempfile.TemporaryFile() as stderr:
            process = self._process = spawn(
                [sys.executable, "-P", str(Path(__file__).with_name("_server_main.py"))],
                env={name: value for name, value in os.environ.items() if not holds_secret(name)},
                stdin=subprocess.PIPE,
                stderr=stderr,
            )
            self._stop = weakref.finalize(self, _stop, process)
            answer = _handshake(process, options)
            if "address" not in answer:
                self.close()
                stderr.seek(0)
                raise _startup_error(path, process.returncode, answer.get("error", ""), stderr.read())
        self.base_url = f"{answer['address']}/v1"

    @property
    def is_running(self) -> bool:
        """Whether the process still lives."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Kill the process, as if the system had."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End the process."""
        self._stop()


def _handshake(process: "subprocess.Popen[bytes]", options: dict[str, Any]) -> dict[str, str]:
    """Tell the process what to serve, and read where; empty when it dies before, or takes too long."""
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


def _startup_error(path: str, status: int, error: str, stderr: bytes) -> RetinueError:
    """Why there is no server: llama.cpp's own first words about it, escaped."""
    lines = stderr.decode(errors="replace").splitlines()
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


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """End `process` by the end of its standard input, or by force."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
