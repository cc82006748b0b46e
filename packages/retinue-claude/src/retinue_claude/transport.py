"""Claude Code as a program beside us, in the form of the SDK's port for transports.

It stands in for the SDK's own, which gives the program every variable of its user's and leaves it behind when we are
cancelled at the wrong moment. Only messages about who asks whom for what go on to the SDK; the rest is ours to hear.
"""

from collections.abc import AsyncGenerator, Mapping
from typing import Final, Protocol, cast

from retinue.contract.json import loads
from retinue.contract.model import JsonMapping
from retinue.errors import ParseError, RetinueError
from retinue.processes.child import MAX_LINE, Child

from . import failures

_PARTS: Final = {"control_request": "request", "control_response": "response"}
"""Messages for the SDK, and the object that each must have: it looks into them without looking first."""


class MessageListener(Protocol):
    """Who hears what is not for the SDK."""

    def on_message(self, message: JsonMapping) -> None:
        """A message."""
        ...

    def on_end(self, reason: RetinueError) -> None:
        """There will be no further one."""
        ...


class ClaudeTransport:
    """One process of Claude Code.

    Args:
        argv: The program and its arguments.
        cwd: Where it runs.
        env: All the variables it gets.
        listener: Gets what is not for the SDK.
    """

    def __init__(self, argv: tuple[str, ...], *, cwd: str, env: Mapping[str, str], listener: MessageListener) -> None:
        self._argv, self._cwd, self._env, self._listener = argv, cwd, env, listener
        self._child: Child | None = None

    async def connect(self) -> None:
        """Start it."""
        self._child = await Child.start(self._argv, cwd=self._cwd, env=self._env)

    async def write(self, data: str) -> None:
        """Say something."""
        if self._child is not None:
            await self._child.write(data.encode(errors="replace"))

    async def read_messages(self) -> AsyncGenerator[JsonMapping, None]:
        """Yield what is for the SDK; the listener hears the rest."""
        unreadable, child = "", self._child
        assert child is not None  # noqa: S101 - the SDK connects first
        try:
            while line := await child.read_line():
                text = line.strip()
                if not text.startswith(b"{"):  # some of its parts talk on stdout
                    continue
                try:
                    message = loads(text, max_bytes=MAX_LINE)
                except ParseError as error:
                    unreadable = error.message
                    return
                data = cast("JsonMapping", message)
                if not str(data.get("type", "")).startswith("control_"):
                    self._listener.on_message(data)
                elif _is_valid(data):
                    yield data
            await child.wait_exit()
        finally:
            ended = failures.exit_error(child.status, child.stderr_tail, flooded=child.flooded)
            self._listener.on_end(failures.protocol_error(unreadable) if unreadable else ended)

    async def close(self) -> None:
        """End it, and whatever it has started."""
        if self._child is not None:
            await self._child.stop()

    async def stop(self) -> None:
        """End it by force: what it would do next, without us, it must not do."""
        if self._child is not None:
            await self._child.stop(leave_s=0, term_s=0)

    def is_ready(self) -> bool:
        """Whether it can be spoken to."""
        return True

    async def end_input(self) -> None:
        """Nothing: it is ended as a whole."""


def _is_valid(message: JsonMapping) -> bool:
    part = _PARTS.get(str(message["type"]))
    if part is None:
        return isinstance(message.get("request_id"), str)
    inner = message.get(part)
    if not isinstance(inner, dict):
        return False
    body = cast("JsonMapping", inner)
    id_holder = message if part == "request" else body
    return isinstance(id_holder.get("request_id"), str) and isinstance(body.get("subtype"), str)
