"""One language server: started, spoken to, and gone again with all it started.

Its life is one task. Whatever ends that task (`close`, the end of the loop, the server's own end) kills the process
group and collects it, so a forgotten server does not outlive the loop; when this process is killed, the server's input
ends and it ends too. What is asked of it is the business of `navigator`.
"""

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from retinue.contract.json import JsonObject, JsonValue
from retinue.errors import RetinueError, Unavailable
from retinue.processes.child import Child
from retinue.processes.start import clean_environment
from retinue.tools.workspace import Workspace

from .commands import command_for
from .connection import LspConnection
from .documents import Documents

_CLOSE_S: Final = 1.0
_DRAIN_S: Final = 2.0

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
    """

    def __init__(self, child: Child, name: str) -> None:
        self._child = child
        self._connection = LspConnection(reader=child.stdout, writer=child.stdin, name=name)
        self.name = name
        self.capabilities: JsonObject = {}
        self.encoding = "utf-16"
        self._task = asyncio.create_task(self._run(), name=f"language server {name}")

    @classmethod
    async def start(cls, argv: tuple[str, ...], root: Path, *, timeout_s: float) -> "LanguageServer":
        """Start `argv` for the project at `root`, in the folder above it, and be introduced.

        Raises:
            NotInstalled: The program cannot be started.
            Unavailable: It ended, or refuses.
            DeadlineExceeded: It did not answer in time.
            OutputInvalid: What it sends is not LSP.
        """
        # Not among the code: `python -m` would import from there.
        child = await Child.start(argv, cwd=str(root.parent), env=clean_environment({}))
        server = cls(child, Path(argv[0]).name)
        try:
            await server._initialize(root, timeout_s)
        except BaseException:
            await server._stop()
            raise
        return server

    @property
    def is_alive(self) -> bool:
        """Whether it can still be asked."""
        return self._connection.failure is None and self._child.status is None

    async def request(self, method: str, params: JsonValue, *, timeout_s: float) -> JsonValue:
        """Ask it something; raises as `Connection.request`."""
        try:
            return await self._connection.request(method, params, timeout_s=timeout_s)
        except RetinueError as error:
            if error is self._connection.failure and (stderr := self._child.stderr_tail[-500:]):
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
        try:
            await self._connection.listen()
        finally:
            await self._child.stop(leave_s=0, term_s=0, drain_s=_DRAIN_S)

    async def _stop(self) -> None:
        if self._connection.failure is None:  # else it is being collected already, and must not be disturbed
            self._task.cancel()
        await asyncio.wait({self._task})


_Key = tuple[str, tuple[str, ...], bool]


class LanguageServerPool:
    """Servers at hand. Leave it as an async context, or `close` it; the end of the loop ends them as well.

    Args:
        commands: The argument vector of the server for a language (`go`, `rust`, `typescript`), from the user's own
            settings or a trusted project. Python has `ty server` when none is given.
        start_timeout_s: Seconds that a server may take to introduce itself.
        timeout_s: Seconds that one answer may take.
    """

    def __init__(
        self,
        commands: Mapping[str, tuple[str, ...]] | None = None,
        *,
        start_timeout_s: float = 20.0,
        timeout_s: float = 20.0,
    ) -> None:
        self._commands = dict(commands or {})
        self._start_timeout_s = start_timeout_s
        self.timeout_s = timeout_s
        self._loop: asyncio.AbstractEventLoop | None = None
        self._running: dict[_Key, tuple[LanguageServer, Documents]] = {}
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def get(self, workspace: Workspace, language: str) -> tuple[LanguageServer, Documents]:
        """The server for `language`, started when there is none that lives.

        Raises:
            NotInstalled: There is no such server here.
            RetinueError: It cannot be started (see `Server.start`).
        """
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # what ran in another loop ended with it
            self._loop, self._running, self._lock = loop, {}, asyncio.Lock()
        argv = command_for(language, self._commands)
        # By what may be read of the workspace: the server knows nothing else.
        key = (repr(workspace), argv, language == "python")
        async with self._lock:
            entry = self._running.get(key)
            if entry is not None and entry[0].is_alive:
                return entry
            if entry is not None:
                await entry[0].close()
            documents = await asyncio.to_thread(Documents, workspace, language)
            server = await LanguageServer.start(argv, documents.root, timeout_s=self._start_timeout_s)
            documents.notify = server.notify
            self._running[key] = (server, documents)
            return server, documents

    async def close(self) -> None:
        """End them all."""
        if self._loop is asyncio.get_running_loop():
            running, self._running = self._running, {}
            await asyncio.gather(*(server.close() for server, _ in running.values()))
