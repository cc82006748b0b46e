"""The language servers of a run: one for a root and a language, started on first use and kept warm until `close`."""

import asyncio
from collections.abc import Mapping
from typing import Self

from retinue.tools.workspace import Workspace

from .commands import command_for
from .documents import Documents
from .server import LanguageServer

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
            documents.server = server
            self._running[key] = (server, documents)
            return server, documents

    async def close(self) -> None:
        """End them all."""
        if self._loop is asyncio.get_running_loop():
            running, self._running = self._running, {}
            await asyncio.gather(*(server.close() for server, _ in running.values()))
