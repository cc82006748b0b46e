"""The tools at hand, by name: those that all conversations share, and those that each conversation gets anew.

What is missing here, and why, is kept: whoever asks for such a tool is told. Who may use what is decided elsewhere.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from retinue.contract.definition import ToolSpec

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from retinue.tools.port import Tool

ToolsetFactory: TypeAlias = "Callable[[], Iterable[Tool]]"
"""Makes tools that remember what one conversation has seen."""


class Toolbox:
    """Tools that agents may be given.

    Args:
        tools: Tools that have no memory of a conversation, by name.
        toolsets: Make the tools that have.
        absent: Names of tools that are not there, with the reason.
        closers: What must be closed in the end: language servers, connections.

    Attributes:
        absent: As given.
        remembers: Whether some of its tools remember what one conversation has seen.
    """

    def __init__(
        self,
        tools: "Mapping[str, Tool] | None" = None,
        *,
        toolsets: Sequence[ToolsetFactory] = (),
        absent: Mapping[str, str] | None = None,
        closers: "Sequence[Callable[[], Awaitable[None]]]" = (),
    ) -> None:
        self.absent: Mapping[str, str] = MappingProxyType(dict(absent or {}))
        self._shared: dict[str, Tool] = dict(tools or {})
        self._toolsets = tuple(toolsets)
        self.is_stateful = bool(self._toolsets)
        self._closers = tuple(closers)
        self._specs: Mapping[str, ToolSpec] | None = None

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        """What every tool says of itself, by name."""
        if self._specs is None:
            self._specs = MappingProxyType({name: tool.spec for name, tool in self.open_tools().items()})
        return self._specs

    def open_tools(self) -> "dict[str, Tool]":
        """All tools, ready for one conversation."""
        return {**self._shared, **{tool.spec.name: tool for factory in self._toolsets for tool in factory()}}

    def with_tools(self, tools: "Iterable[Tool]") -> "Toolbox":
        """The same tools and more; of two with one name the later is taken."""
        more = {**self._shared, **{tool.spec.name: tool for tool in tools}}
        return Toolbox(more, toolsets=self._toolsets, absent=self.absent, closers=self._closers)

    async def aclose(self) -> None:
        """Close what was opened: language servers, connections. All of them, also when one fails to."""
        failed: list[Exception] = []
        for close in self._closers:
            try:
                await close()
            except Exception as error:  # noqa: BLE001 - the others must be closed all the same
                failed.append(error)
        if failed:
            raise ExceptionGroup("Some tools could not be closed.", failed)


EMPTY: Final = Toolbox()
"""No tools at all."""
