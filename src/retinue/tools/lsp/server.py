"""One language server: started, spoken to, and gone again with all it started.

Its life is one task. Whatever ends that task (`close`, the end of the loop, the server's own end) kills the process
group and collects it, so a forgotten server does not outlive the loop; when this process is killed, the server's input
ends and it ends too. What is asked of it is the business of `navigator`.
"""

import asyncio
import atexit
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final

from retinue.contract.json import JsonObject, JsonValue
from retinue.errors import AccessDenied, NotInstalled, RetinueError, Unavailable
from retinue.tools.process import clean_environment

from .connection import LspConnection

_STDERR_KEPT: Final = 4_096
_CLOSE_S: Final = 1.0
_GONE_S: Final = 2.0

_CAPABILITIES: Final[JsonObject] = {
    "general": {"positionEncodings": ["utf-8", "utf-16", "utf-32"]},
    "textDocument": {
        "synchronization": {"didSave": False},
        "definition": {"linkSupport": True},
        "implementation": {"linkSupport": True},
        "references": {},
        "hover": {"contentFormat": ["plaintext", "markdown"]},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "callHierarchy": {},
        "rename": {"prepareSupport": True},
    },
    "workspace": {
        "configuration": True,
        "symbol": {},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "workspaceEdit": {"documentChanges": True},
        "workspaceFolders": True,
    },
}


class LanguageServer:
    """A running server.

    Attributes:
        name: The program's name, for messages.
        capabilities: What it says it can do.
        encoding: What a position counts: `utf-8` bytes, `utf-16` units or `utf-32` characters.
        loop: The event loop it lives in.
    """

    def __init__(self, process: asyncio.subprocess.Process, name: str) -> None:
        assert process.stdin is not None  # noqa: S101 - all three were asked for
        assert process.stdout is not None  # noqa: S101
        self._process = process
        self._stderr = bytearray()
        self._connection = LspConnection(reader=process.stdout, writer=process.stdin, name=name)
        self.name = name
        self.capabilities: JsonObject = {}
        self.encoding = "utf-16"
        self.loop = asyncio.get_running_loop()
        _live_groups.add(process.pid)
        self._task = self.loop.create_task(self._run(), name=f"language server {name}")

    @classmethod
    async def start(cls, argv: tuple[str, ...], root: Path, *, timeout_s: float) -> "LanguageServer":
        """Start `argv` for the project at `root`, in the folder above it, and be introduced.

        Raises:
            NotInstalled: The program cannot be started.
            Unavailable: It ended, or does not want.
            DeadlineExceeded: It did not answer in time.
            OutputInvalid: What it sends is no LSP.
        """
        if os.name != "posix":  # pragma: no cover - process groups are not there
            raise NotInstalled("Language servers are run on Linux and macOS only.", hint="Read outlines instead.")
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                cwd=root.parent,  # not among the code: `python -m` would import from there
                env=clean_environment({}),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise NotInstalled(f"The program {argv[0]!r} is not here.", hint="Install it, or name another.") from error
        except OSError as error:
            raise AccessDenied(f"The program {argv[0]!r} cannot be run: {error.strerror}.") from error
        server = cls(process, Path(argv[0]).name)
        try:
            await server._initialize(root, timeout_s)
        except BaseException:
            await server._stop()
            raise
        return server

    @property
    def is_alive(self) -> bool:
        """Whether it can still be asked."""
        return self._connection.failure is None and self._process.returncode is None

    async def request(self, method: str, params: JsonValue, *, timeout_s: float) -> JsonValue:
        """Ask it something; raises as `Connection.request`."""
        try:
            return await self._connection.request(method, params, timeout_s=timeout_s)
        except RetinueError as error:
            if error is self._connection.failure and (stderr := self._stderr.decode("utf-8", "replace").strip()[-500:]):
                error.detail["stderr"] = stderr
            raise

    def notify(self, method: str, params: JsonValue) -> None:
        """Tell it something; raises when it is gone."""
        self._connection.notify(method, params)

    def can(self, capability: str) -> bool:
        """Whether it offers `capability`, such as `hoverProvider`."""
        return self.capabilities.get(capability) not in (None, False)

    async def close(self) -> None:
        """Ask it to end, wait a moment, and end it. Safe to call twice."""
        if self.is_alive:
            with suppress(RetinueError):
                await self._connection.request("shutdown", None, timeout_s=_CLOSE_S)
                self._connection.notify("exit", None)
                await asyncio.wait({self._task}, timeout=_CLOSE_S)
        await self._stop()

    async def _initialize(self, root: Path, timeout_s: float) -> None:
        uri = root.as_uri()
        answer = await self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "clientInfo": {"name": "retinue"},
                "rootUri": uri,
                "workspaceFolders": [{"uri": uri, "name": root.name}],
                "capabilities": _CAPABILITIES,
            },
            timeout_s=timeout_s,
        )
        capabilities = answer.get("capabilities") if isinstance(answer, dict) else None
        if not isinstance(capabilities, dict):
            raise Unavailable(f"`{self.name}` does not say what it can do.", hint="Configure another language server.")
        self.capabilities = capabilities
        encoding = capabilities.get("positionEncoding")
        self.encoding = encoding if isinstance(encoding, str) else "utf-16"
        self.notify("initialized", {})

    async def _run(self) -> None:
        stderr_reader = asyncio.create_task(self._drain())
        try:
            await self._connection.listen()
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            try:
                await asyncio.wait({asyncio.create_task(self._process.wait()), stderr_reader}, timeout=_GONE_S)
            finally:
                _live_groups.discard(self._process.pid)
                # The pipes stay open while a grandchild in a session of its own holds them; nobody reads them any more.
                self._process._transport.close()  # noqa: SLF001  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue] - no public way

    async def _drain(self) -> None:
        """Read stderr, so that the server never waits for us, and keep its end."""
        assert self._process.stderr is not None  # noqa: S101 - it was asked for
        while chunk := await self._process.stderr.read(65_536):
            self._stderr += chunk
            del self._stderr[:-_STDERR_KEPT]

    async def _stop(self) -> None:
        if self._connection.failure is None:  # else it is being collected already, and must not be disturbed
            self._task.cancel()
        await asyncio.wait({self._task})


_live_groups: set[int] = set()
"""The process groups of the servers that run right now."""


@atexit.register
def _kill_all() -> None:
    """Leave no server behind when the program ends before its loop could."""
    for group in tuple(_live_groups):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
