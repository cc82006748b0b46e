"""One language server: started, spoken to, and gone again with all it started.

Its life is one task. Whatever ends that task (`close`, the end of the loop, the server's own end) kills the process
group and collects it, so a forgotten server does not outlive the loop; when this process is killed, the server's input
ends and it ends too. Below it, JSON-RPC: requests are paired with answers, and the server's own are answered. What is
asked of it is the business of `navigator`.
"""

import asyncio
import os
import re
import sys
from asyncio import IncompleteReadError, LimitOverrunError, StreamReader
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Final, Self

from retinue.contract import json
from retinue.contract.json import JsonObject, JsonValue
from retinue.errors import DeadlineExceeded, NotInstalled, OutputInvalid, ParseError, RetinueError, Unavailable
from retinue.processes.child import Child
from retinue.processes.start import clean_environment, find_program
from retinue.tools.workspace import Workspace

from .locations import Documents

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
            uri = root.as_uri()
            params: JsonObject = {
                "processId": os.getpid(),
                "clientInfo": {"name": "retinue"},
                "rootUri": uri,
                "workspaceFolders": [{"uri": uri, "name": root.name}],
                "capabilities": _CAPABILITIES,
            }
            answer = await server.request("initialize", params, timeout_s=timeout_s)
            capabilities = answer.get("capabilities") if isinstance(answer, dict) else None
            if not isinstance(capabilities, dict):
                raise Unavailable(
                    f"`{server.name}` does not say what it can do.", hint="Configure another language server."
                )
            server.capabilities = capabilities
            # A server that names no encoding counts UTF-16 units, as all did before LSP 3.17.
            encoding = capabilities.get("positionEncoding")
            server.encoding = encoding if isinstance(encoding, str) else "utf-16"
            server.notify("initialized", {})
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
        # A server is read by a task of the loop that started it, and cannot be asked from another.
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


_FAMILIES: Final[Mapping[str, str]] = MappingProxyType(
    {"javascriptreact": "javascript", "typescriptreact": "typescript", "typescript": "javascript", "cpp": "c"}
)
"""Whose server is taken where a language has none of its own."""


def command_for(language: str, configured: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The argument vector of the server for `language`.

    Raises:
        NotInstalled: There is none, or its program is not here.
    """
    name: str | None = language
    while name is not None:
        if argv := configured.get(name):
            program = argv[0] if Path(argv[0]).is_absolute() else find_program(argv[0])
            if program is None or not os.access(program, os.X_OK):
                raise NotInstalled(
                    f"The language server {argv[0]!r} is not here.", hint=f"Install `{Path(argv[0]).name}`."
                )
            return (program, *argv[1:])
        name = _FAMILIES.get(name)
    if language == "python":
        venv_program = Path(sys.executable).parent / "ty"
        program = str(venv_program) if os.access(venv_program, os.X_OK) else find_program("ty")
        if program is None:
            raise NotInstalled("The language server `ty` is not here.", hint="install `retinue[code]`")
        return (program, "server")
    raise NotInstalled(
        f"No language server is configured for `{language}`.",
        hint=f"Configure one for `{language}` by its argument vector, or read the file's outline.",
    )


_METHOD_NOT_FOUND: Final = -32601
_RETRYABLE: Final = frozenset({-32801, -32802})
"""`ContentModified` and `ServerCancelled`: the same question is answered when it is asked again."""
_ATTEMPTS: Final = 4

_ANSWERS: Final[Mapping[str, JsonValue]] = MappingProxyType(
    {
        "client/registerCapability": None,
        "client/unregisterCapability": None,
        "window/showMessageRequest": None,
        "window/workDoneProgress/create": None,
        "workspace/applyEdit": {"applied": False},
        "workspace/codeLens/refresh": None,
        "workspace/diagnostic/refresh": None,
        "workspace/inlayHint/refresh": None,
        "workspace/semanticTokens/refresh": None,
        "workspace/workspaceFolders": None,
    }
)
"""What a server may ask of its client, and our answers: we have no settings, and let it edit nothing."""


class LspConnection:
    """One conversation with a server.

    Args:
        reader: The server's output.
        writer: The server's input.
        name: The server's name, for messages.

    Attributes:
        failure: Why it cannot be used any more; None while it can.
    """

    def __init__(self, *, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, name: str) -> None:
        self._reader = reader
        self._writer = writer
        self._name = name
        self._numbers = count(1)
        self._pending: dict[int, asyncio.Future[JsonObject]] = {}
        self.failure: RetinueError | None = None

    async def listen(self) -> None:
        """Read what the server sends until it ends or breaks the protocol; requests under way then fail."""
        try:
            while (message := await read_message(self._reader)) is not None:
                number, method = message.get("id"), message.get("method")
                if not isinstance(method, str):
                    if isinstance(number, int) and (future := self._pending.get(number)) and not future.done():
                        future.set_result(message)
                elif number is not None:
                    answer: JsonObject = {"error": {"code": _METHOD_NOT_FOUND, "message": "not supported"}}
                    if method == "workspace/configuration":
                        params = message.get("params")
                        items = params.get("items") if isinstance(params, dict) else None
                        settings: list[JsonValue] = [None for _ in items] if isinstance(items, list) else []
                        answer = {"result": settings}
                    elif method in _ANSWERS:
                        answer = {"result": _ANSWERS[method]}
                    self._send({"jsonrpc": "2.0", "id": number, **answer})
            self.failure = self._unavailable("has ended.")
        except OutputInvalid as error:
            self.failure = error
        except OSError as error:
            self.failure = self._unavailable(f"cannot be read: {error}.")
        finally:
            self.failure = self.failure or self._unavailable("was stopped.")
            for waiting in self._pending.values():
                if not waiting.done():
                    waiting.set_exception(self.failure)

    async def request(self, method: str, params: JsonValue, *, timeout_s: float) -> JsonValue:
        """Ask, and await the answer.

        Raises:
            DeadlineExceeded: No answer came in time; the request is cancelled.
            Unavailable: It does not know the method, or says that it cannot.
            OutputInvalid: What it sends cannot be understood.
        """
        number = next(self._numbers)
        try:
            async with asyncio.timeout(timeout_s):
                return await self._exchange(number, method, params)
        except TimeoutError:
            self._cancel(number)
            raise DeadlineExceeded(
                f"`{self._name}` did not answer `{method}` within {timeout_s:g} seconds.",
                hint="Ask again when it has read the project, or ask for less.",
                detail={"bound": "language_server"},
            ) from None
        except asyncio.CancelledError:
            self._cancel(number)
            raise
        finally:
            self._pending.pop(number, None)

    def notify(self, method: str, params: JsonValue) -> None:
        """Tell the server something."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def _exchange(self, number: int, method: str, params: JsonValue) -> JsonValue:
        for attempt in range(_ATTEMPTS):
            future: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
            self._pending[number] = future
            self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            try:
                await self._writer.drain()
            except OSError as error:
                raise self.failure or self._unavailable("has ended.") from error
            answer = await future
            failure = answer.get("error")
            if failure is None:
                return answer.get("result")
            details = failure if isinstance(failure, dict) else {}
            if details.get("code") == _METHOD_NOT_FOUND:
                raise Unavailable(
                    f"`{self._name}` does not support `{method}`.",
                    hint="Configure a language server that does.",
                    detail={"retryable": False},
                )
            if details.get("code") not in _RETRYABLE or attempt == _ATTEMPTS - 1:
                message = details.get("message")
                reason = message[:300] if isinstance(message, str) else "no reason was given"
                raise Unavailable(
                    f"`{self._name}` failed at `{method}`: {reason}", hint="Make sure that the place exists."
                )
        raise AssertionError  # pragma: no cover - the last attempt raises

    def _send(self, message: JsonObject) -> None:
        if self.failure is not None or self._writer.is_closing():
            raise self.failure or self._unavailable("has ended.")
        self._writer.write(frame(message))

    def _cancel(self, number: int) -> None:
        if self.failure is None and not self._writer.is_closing():
            self.notify("$/cancelRequest", {"id": number})

    def _unavailable(self, reason: str) -> Unavailable:
        return Unavailable(f"The language server `{self._name}` {reason}", detail={"ended": True})


def is_server_gone(error: RetinueError) -> bool:
    """Whether `error` says that the server has ended, or can no longer be read."""
    return error.detail.get("ended") is True


MAX_MESSAGE: Final = 64 * 2**20
"""The longest message that is read, in bytes."""

_FIELD: Final = re.compile(rb"([A-Za-z][A-Za-z-]{0,63}):[ \t]*([^\r\n]{0,512})\r?\n")
_MAX_FIELDS: Final = 16
_MAX_DEPTH: Final = 512


def frame(message: JsonObject) -> bytes:
    """`message` as it goes over the wire."""
    # The length counts bytes, not characters.
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


async def read_message(stream: StreamReader, *, max_bytes: int = MAX_MESSAGE) -> JsonObject | None:
    """The next message; None when the stream has ended between two.

    A peer that breaks the form is an error at once: reading never continues at a guessed place.

    Raises:
        OutputInvalid: The header is invalid, the length is missing or too large, the body is cut, or is not a JSON
            object.
    """
    size: int | None = None
    for number in range(_MAX_FIELDS):
        try:
            line = await stream.readuntil(b"\n")
        except IncompleteReadError as error:
            if not number and not error.partial:
                return None
            raise _protocol_error("half a header, and then ended") from None
        except LimitOverrunError:
            raise _protocol_error("a header without an end") from None
        if line in (b"\r\n", b"\n"):
            break
        field = _FIELD.fullmatch(line)
        if field is None:
            raise _protocol_error(f"{line[:80]!r} in place of a header")
        if field[1].lower() == b"content-length":
            text = field[2].strip()
            if not text.isdigit() or len(text) > 12:
                raise _protocol_error(f"the length {text[:40]!r}")
            size = int(text)
    else:
        raise _protocol_error("a header without an end")
    if size is None:
        raise _protocol_error("a header without `Content-Length`")
    if size > max_bytes:
        raise _protocol_error(f"a message of {size} bytes, and {max_bytes} are allowed")
    try:
        message = json.loads(await stream.readexactly(size), max_bytes=max_bytes, max_depth=_MAX_DEPTH)
    except IncompleteReadError as error:
        raise _protocol_error(f"{len(error.partial)} of {size} promised bytes, and then ended") from None
    except ParseError as error:
        raise _protocol_error(f"a message that is not JSON: {error.message}") from error
    if not isinstance(message, dict):
        raise _protocol_error("a message that is not an object")
    return message


def _protocol_error(what: str) -> OutputInvalid:
    return OutputInvalid(
        f"The language server sent {what}.", hint="Make sure that the program that is started speaks LSP on its stdout."
    )
