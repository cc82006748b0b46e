"""The tools at hand, by name: those that all conversations share, and those that each conversation gets anew.

What is missing here, and why, is kept: whoever asks for such a tool is told. Who may use what is decided elsewhere.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from retinue.contract.definition import ToolSpec
from retinue.errors import NotInstalled, RetinueError

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

ANY_PROGRAM: Final = ("*",)
"""The shell may run whatever is installed; whether a certain call may be made is for the permissions to say."""


@dataclass(slots=True)
class _ToolboxParts:
    """What has been put in so far."""

    tools: "dict[str, Tool]" = field(default_factory=dict)
    toolsets: list[ToolsetFactory] = field(default_factory=list[ToolsetFactory])
    closers: "list[Callable[[], Awaitable[None]]]" = field(default_factory=list)

    def add(self, tools: "Iterable[Tool]") -> None:
        """Add tools that have no memory of a conversation."""
        self.tools |= {tool.spec.name: tool for tool in tools}


_Part: TypeAlias = Callable[[_ToolboxParts], None]


def default_toolbox(
    *,
    state: Path | None = None,
    project: Path | None = None,
    programs: Collection[str] = ANY_PROGRAM,
    search: str | None = None,
    environment: Mapping[str, str] | None = None,
    language_servers: Mapping[str, tuple[str, ...]] | None = None,
) -> Toolbox:
    """All tools that are here. Close it when the last run is over.

    Args:
        state: The user's state directory, where memories are; without one there are none.
        project: The project's folder, for what is remembered about it alone.
        programs: What `shell` may run at all.
        search: The search service; the first that is configured when absent.
        environment: Where keys of search services are looked up.
        language_servers: Commands of language servers, by language.
    """
    parts: tuple[tuple[str, tuple[str, ...], _Part], ...] = (
        ("hands", ("read", "glob", "grep", "git", "write", "edit", "shell"), partial(_builtin, programs=programs)),
        ("web", ("web_fetch", "web_search"), partial(_web, search=search, environment=environment or {})),
        ("memory", ("remember", "recall", "forget"), partial(_memory, state=state, project=project)),
        ("lsp", ("lsp",), partial(_lsp, commands=language_servers)),
        ("outline", ("outline",), _outline),
    )
    contents, absent = _ToolboxParts(), dict[str, str]()
    for part, names, pack in parts:
        try:
            pack(contents)
        except (ImportError, RetinueError) as error:
            why = error.hint or error.message if isinstance(error, RetinueError) else f"{error}."
            absent |= dict.fromkeys(names, f"`{part}` is not here: {why}")
    return Toolbox(contents.tools, toolsets=contents.toolsets, absent=absent, closers=contents.closers)


def _builtin(contents: _ToolboxParts, *, programs: Collection[str]) -> None:
    from retinue.tools.builtin import builtin_tools  # noqa: PLC0415 - most processes make no toolbox; so below

    contents.toolsets.append(partial(builtin_tools, programs=tuple(programs)))


def _web(contents: _ToolboxParts, *, search: str | None, environment: Mapping[str, str]) -> None:
    from retinue.tools.web.fetch import WebFetch  # noqa: PLC0415
    from retinue.tools.web.search.tool import WebSearch  # noqa: PLC0415

    contents.add((WebFetch(), WebSearch.from_environment(search, environ=environment)))


def _memory(contents: _ToolboxParts, *, state: Path | None, project: Path | None) -> None:
    from retinue.tools.memory.tools import MemoryPlace, memory_tools  # noqa: PLC0415

    if state is None:
        raise NotInstalled("No state directory is known.", hint="Give `default_toolbox` a `state` directory.")
    contents.add(memory_tools(MemoryPlace(state, project=project)))


def _lsp(contents: _ToolboxParts, *, commands: Mapping[str, tuple[str, ...]] | None) -> None:
    from retinue.tools.lsp import LanguageServerPool, LspTool  # noqa: PLC0415

    servers = LanguageServerPool(commands)
    contents.add((LspTool(servers),))
    contents.closers.append(servers.close)


def _outline(contents: _ToolboxParts) -> None:
    from retinue.tools.outline.tool import OutlineTool  # noqa: PLC0415

    contents.add((OutlineTool(),))
