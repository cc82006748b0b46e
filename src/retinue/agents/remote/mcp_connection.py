"""One MCP server while a run lasts: started, asked, started once more when it has died, and ended with the run.

The SDK wants to be entered and left in one and the same task, while tools are used from many; so each connection lives
in a task of its own. What the answers mean is the business of `mcp_tools`.
"""

import asyncio
import importlib
import logging
import os
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Final, cast

from retinue.agents.remote.mcp_servers import McpServer, StdioServer, expand_variables, referenced_variables
from retinue.agents.remote.mcp_transport import HttpTransport, StdioTransport
from retinue.contract.credentials import Cleaner
from retinue.contract.model import JsonMapping
from retinue.contract.sanitize import printable
from retinue.errors import (
    DeadlineExceeded,
    InvalidInput,
    NetworkError,
    NotInstalled,
    OutputInvalid,
    RetinueError,
    TheirError,
    Unauthenticated,
    Unavailable,
)
from retinue.processes.child import MAX_LINE

if TYPE_CHECKING:  # the SDK is optional
    from mcp import types
    from mcp.client import Client
    from mcp.client.session import ElicitationFnT
    from mcp.shared.dispatcher import ProgressFnT
    from pydantic import TypeAdapter

MAX_TOOLS: Final = 200
"""Tools of one server that are looked at."""

_MOST_PAGES: Final = 50
_CLOSE_S: Final = 8.0
_LONGEST: Final = 10_000
"""Characters of a server's error message that are read."""


@cache
def _call_result() -> "TypeAdapter[types.CallToolResult | types.InputRequiredResult]":
    """Reads the result of a call. Made once: that takes a quarter of the time of a call."""
    from mcp import types  # noqa: PLC0415 - optional
    from pydantic import TypeAdapter  # noqa: PLC0415 - as late as the SDK, which needs it

    return TypeAdapter(types.CallToolResult | types.InputRequiredResult)


class McpConnection:
    """A connection to one server.

    Args:
        server: How it is reached.
        environ: Where the variables that it names are looked up.
        start_timeout_s: Seconds it may take to start and say what it offers.
        on_elicit: Answers what it asks during a call; it is not told that it may ask when absent.

    Attributes:
        name: The server's.
    """

    def __init__(
        self,
        server: McpServer,
        *,
        environ: Mapping[str, str] | None = None,
        start_timeout_s: float = 30.0,
        on_elicit: "ElicitationFnT | None" = None,
    ) -> None:
        self.name = server.name
        self._server = server
        self._environ = os.environ if environ is None else environ
        self._start_timeout_s = start_timeout_s
        self._on_elicit = on_elicit
        self._transport: StdioTransport | HttpTransport | None = None
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._starting = asyncio.Lock()
        self._deaths = 0

    async def start(self) -> None:
        """Start the server, or reach it.

        Raises:
            NotInstalled: The extra `mcp`, or the program, is missing.
            Unavailable: It did not start, or a variable it needs is not set.
            RetinueError: As `call`.
        """
        try:  # the SDK takes half a second
            importlib.import_module("mcp.client")
        except ImportError as error:
            raise NotInstalled(
                f"The package `mcp` is not installed, and the MCP server {self.name!r} needs it.",
                hint="install `retinue[mcp]`",
            ) from error
        # What it logs are a stranger's words; without a listener Python would print them on the terminal.
        log = logging.getLogger("mcp")
        if not log.handlers:
            log.addHandler(logging.NullHandler())
        self._transport = self._make_transport()
        self._closing = asyncio.Event()
        ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(self._transport, ready, self._closing), name=f"mcp {self.name}")
        try:
            async with asyncio.timeout(self._start_timeout_s):
                # Shielded: the end of time would else cancel the future, which the task may still set.
                self._client = await asyncio.shield(ready)
        except Exception as error:
            await self.aclose()
            raise self._failure(error, operation="its start", timeout_s=self._start_timeout_s) from error
        except BaseException:
            ready.cancel()
            await self.aclose()
            raise

    async def tools(self) -> "list[types.Tool]":
        """What the server offers, at most `MAX_TOOLS` and one.

        Raises:
            RetinueError: As `call`.
        """
        from mcp import types  # noqa: PLC0415 - optional

        tools: list[types.Tool] = []
        cursor: str | None = None
        try:
            async with asyncio.timeout(self._start_timeout_s):
                for _ in range(_MOST_PAGES):
                    params = types.PaginatedRequestParams(cursor=cursor)
                    page = await self._require_client().session.list_tools(params=params)
                    tools += page.tools
                    cursor = page.next_cursor
                    if cursor is None or len(tools) > MAX_TOOLS:
                        break
        except Exception as error:
            raise self._failure(error, operation="the list of its tools", timeout_s=self._start_timeout_s) from error
        return tools[: MAX_TOOLS + 1]

    @property
    def title(self) -> str:
        """What the server calls itself; empty when it does not say."""
        info = None if self._client is None else self._client.server_info
        return "" if info is None else printable(info.name)[:100]

    async def call(
        self,
        tool: str,
        arguments: JsonMapping,
        *,
        timeout_s: float,
        answers: "types.InputResponses | None" = None,
        state: str | None = None,
        on_progress: "ProgressFnT | None" = None,
    ) -> "types.CallToolResult | types.InputRequiredResult":
        """Use one of its tools. A server that has died before is started once more.

        Args:
            tool: Its name there.
            arguments: What it is given.
            timeout_s: Seconds it may take.
            answers: To what it has asked instead of a result, by its own keys.
            state: What it wants back with them.
            on_progress: Is told how far it is.

        Raises:
            NetworkError: It died, or cannot be reached. It may have done what it was asked to.
            DeadlineExceeded: `timeout_s` is over.
            InvalidInput: It refuses the arguments, or knows no such tool.
            OutputInvalid: What it answered is no answer.
            Unauthenticated: It wants to know who asks.
            TheirError: It failed.
        """
        from mcp import types  # noqa: PLC0415 - optional

        async with self._starting:
            is_closed = isinstance(self._transport, StdioTransport) and self._transport.closed.is_set()
            has_died = self._task is not None and (is_closed or self._client is None or self._task.done())
            self._deaths += has_died
            # Once: a server that dies again and again would do again and again what it was asked to.
            if has_died and self._deaths > 1:
                raise NetworkError(f"The MCP server {self.name!r} has died twice.", hint="Go on without its tools.")
            if has_died or self._task is None:
                await self.aclose()
                await self.start()
        request = types.CallToolRequest(
            params=types.CallToolRequestParams(
                name=tool, arguments=arguments, input_responses=answers, request_state=state
            )
        )
        try:
            # Not `call_tool`: it would check the answer by patterns of the server's that can take for ever.
            return await self._require_client().session.send_request(
                request, _call_result(), request_read_timeout_seconds=timeout_s, progress_callback=on_progress
            )
        except Exception as error:
            raise self._failure(error, operation=f"`{tool}`", timeout_s=timeout_s, during_call=True) from error

    async def aclose(self) -> None:
        """Take leave; a program is ended with all it started."""
        # Taken first: whoever calls this again while it waits finds nothing left to end.
        task, self._task = self._task, None
        was_connected, self._client = self._client is not None, None
        if task is None:
            return
        self._closing.set()
        try:
            if was_connected:
                await asyncio.wait({task}, timeout=_CLOSE_S)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(
        self, transport: StdioTransport | HttpTransport, ready: "asyncio.Future[Client]", closing: asyncio.Event
    ) -> None:
        """Be connected until told to leave."""
        from mcp.client import Client  # noqa: PLC0415 - optional

        try:
            async with Client(
                transport.streams(),
                cache=None,
                read_timeout_seconds=self._start_timeout_s,
                elicitation_callback=self._on_elicit,
            ) as client:
                ready.set_result(client)
                await closing.wait()
        except Exception as error:  # noqa: BLE001 - whoever waits is told; afterwards there is nobody to tell
            if not ready.done():
                ready.set_exception(error)
        finally:
            if not ready.done():
                ready.cancel()

    def _make_transport(self) -> StdioTransport | HttpTransport:
        def expand(text: str) -> str:
            return expand_variables(text, environ=self._environ, server=self.name)

        server = self._server
        if isinstance(server, StdioServer):
            env = {name: expand(value) for name, value in server.env.items()}
            return StdioTransport((expand(server.command), *map(expand, server.args)), cwd=server.cwd, env=env)
        return HttpTransport(
            expand(server.url), headers={name: expand(value) for name, value in server.headers.items()}
        )

    def _require_client(self) -> "Client":
        if self._client is None:
            raise NetworkError(f"The MCP server {self.name!r} is not connected.", hint="Go on without its tools.")
        return self._client

    def _failure(
        self, error: Exception, *, operation: str, timeout_s: float, during_call: bool = False
    ) -> RetinueError:
        """The error of ours for `error`, which came during `operation`."""
        from mcp import types  # noqa: PLC0415 - optional
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415 - optional
        from pydantic import ValidationError  # noqa: PLC0415 - as late as the SDK, which needs it

        server = f"The MCP server {self.name!r}"
        tail = (
            self._clean(self._transport.stderr_tail[-_LONGEST:]) if isinstance(self._transport, StdioTransport) else ""
        )
        stderr_note = f" Its stderr ended with: {tail[-500:]!r}." if tail else ""
        late = DeadlineExceeded(
            f"{server} took longer than {timeout_s:.3g} seconds for {operation}.{stderr_note}",
            hint="Ask for less, or go on without it.",
            detail={"bound": "tool"},
        )
        first: BaseException = error
        while isinstance(first, BaseExceptionGroup):
            first = cast("BaseExceptionGroup[BaseException]", first).exceptions[0]
        match first:
            case RetinueError():
                return first
            case TimeoutError():
                return late
            case ValidationError():
                return OutputInvalid(
                    f"{server} answered {operation} with something that is not an answer of MCP.",
                    hint="Go on without it.",
                )
            case MCPError() if (refusal := self._transport_error(server, operation)) is not None:
                return refusal
            case MCPError(code=types.REQUEST_TIMEOUT):
                return late
            case MCPError(code=types.CONNECTION_CLOSED):
                hint = "It may have done it all the same: check before you ask again."
                return NetworkError(
                    f"{server} ended during {operation}.{stderr_note}",
                    hint=hint if during_call else "Make sure that it runs.",
                )
            case MCPError(code=types.INVALID_PARAMS | types.METHOD_NOT_FOUND):
                reason = self._clean(first.message)[:1_000]
                return InvalidInput(f"{server} refuses {operation}: {reason}.", hint="Ask in another way.")
            case MCPError():
                reason = self._clean(first.message)[:1_000]
                return TheirError(
                    f"{server} failed with {operation}: {reason}.", hint="Ask in another way, or without it."
                )
            case _:
                return NetworkError(
                    f"{server} cannot be reached: {self._clean(str(first)) or type(first).__name__}.{stderr_note}",
                    hint="Check that it runs, or go on without its tools.",
                )

    def _transport_error(self, server: str, operation: str) -> RetinueError | None:
        """The error that the transport explains, whatever the protocol makes of it."""
        if isinstance(self._transport, StdioTransport):
            if not self._transport.flooded:
                return None
            return OutputInvalid(
                f"{server} answered {operation} with a message longer than {MAX_LINE} bytes, and was ended.",
                hint="Ask for less.",
            )
        status = 0 if self._transport is None else self._transport.status
        if status in {401, 403}:
            return Unauthenticated(
                f"{server} rejects the credentials (status {status}).", hint="Correct its `headers`."
            )
        if status in {429, 503}:
            return Unavailable(f"{server} is not available now (status {status}).", hint="Ask again later.")
        return None

    def _clean(self, text: str) -> str:
        """A server's words as they may be shown: without the keys it was given or invisible characters, on one line."""
        settings = self._server.env if isinstance(self._server, StdioServer) else self._server.headers
        cleaner = Cleaner({**settings, **self._environ}, variables=referenced_variables(self._server))
        return " ".join(printable(cleaner.text(text[:_LONGEST])).split()).rstrip(".")
