"""Claude Code as a program beside us, in the form of the SDK's port for transports.

It stands in for the SDK's own, which gives the program every variable of its user's and leaves it behind when we are
cancelled at the wrong moment. Only messages about who asks whom for what go on to the SDK; the rest is ours to hear.
"""

from collections.abc import AsyncGenerator
from typing import Final, Protocol, cast

from retinue.agents.wrapped.lines import MAX_LINE, LineProgram
from retinue.contract.json import loads
from retinue.contract.model import JsonMapping
from retinue.errors import ParseError, RetinueError

from . import failures

__all__ = ["Channel", "Listener"]

_PARTS: Final = {"control_request": "request", "control_response": "response"}
"""Messages for the SDK, and the object that each must have: it looks into them without looking first."""


class Listener(Protocol):
    """Who hears what is not for the SDK."""

    def heard(self, message: JsonMapping) -> None:
        """A message."""
        ...

    def ended(self, why: RetinueError) -> None:
        """There will be no further one."""
        ...


class Channel:
    """One process of Claude Code."""

    def __init__(self, program: LineProgram, listener: Listener) -> None:
        self._program, self._listener = program, listener

    async def connect(self) -> None:
        """Start it."""
        await self._program.start()

    async def write(self, data: str) -> None:
        """Say something."""
        await self._program.tell(data.encode(errors="replace"))

    async def read_messages(self) -> AsyncGenerator[JsonMapping, None]:
        """Yield what is for the SDK; the listener hears the rest."""
        unreadable = ""
        try:
            while line := await self._program.line():
                text = line.strip()
                if not text.startswith(b"{"):  # some of its parts talk on stdout
                    continue
                try:
                    message = loads(text, max_bytes=MAX_LINE)
                except ParseError as error:
                    unreadable = error.message
                    return
                found = cast("JsonMapping", message)
                if not str(found.get("type", "")).startswith("control_"):
                    self._listener.heard(found)
                elif _is_sound(found):
                    yield found
            await self._program.left()
        finally:
            self._listener.ended(failures.unreadable(unreadable) if unreadable else self._gone())

    async def close(self) -> None:
        """End it, and whatever it has started."""
        await self._program.end()

    async def stop(self) -> None:
        """End it by force: what it would do next, without us, it must not do."""
        await self._program.end(patiently=False)

    def is_ready(self) -> bool:
        """Whether it can be spoken to."""
        return True

    async def end_input(self) -> None:
        """Nothing: it is ended as a whole."""

    def _gone(self) -> RetinueError:
        program = self._program
        return failures.gone(program.status, program.last_words, flooded=program.flooded)


def _is_sound(message: JsonMapping) -> bool:
    part = _PARTS.get(str(message["type"]))
    if part is None:
        return isinstance(message.get("request_id"), str)
    inner = message.get(part)
    if not isinstance(inner, dict):
        return False
    said = cast("JsonMapping", inner)
    named = message if part == "request" else said
    return isinstance(named.get("request_id"), str) and isinstance(said.get("subtype"), str)
