"""The available tools, by name: those that all conversations share, and those that each conversation gets anew.

For tools that are not available here the reason is kept, for whoever asks for one. Permissions are checked elsewhere.
"""

from collections.abc import Awaitable, Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from retinue.contract.definition import ToolSpec
from retinue.contract.old_names import with_old_names
from retinue.errors import NotInstalled, RetinueError
from retinue.tools.port import Tool

ToolsetFactory: TypeAlias = Callable[[], Iterable[Tool]]
"""Makes tools that remember what one conversation has seen."""


@with_old_names(opened="open_tools")
class Toolbox:
    """Tools that agents may be given.

    Args:
        tools: Tools that have no memory of a conversation, by name.
        toolsets: Make the tools that have.
        absent: Names of tools that are not there, with the reason.
        closers: What must be closed in the end: language servers, connections.

    Attributes:
        absent: As given.
        is_stateful: Whether some of its tools remember what one conversation has seen.
    """

    def __init__(
        self,
        tools: Mapping[str, Tool] | None = None,
        *,
        toolsets: Sequence[ToolsetFactory] = (),
        absent: Mapping[str, str] | None = None,
        closers: Sequence[Callable[[], Awaitable[None]]] = (),
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

    def open_tools(self) -> dict[str, Tool]:
        """All tools, ready for one conversation."""
        return self._shared | _by_name(tool for factory in self._toolsets for tool in factory())

    def with_tools(self, tools: Iterable[Tool]) -> "Toolbox":
        """The same tools and more; of two with one name the later is taken."""
        return Toolbox(
            self._shared | _by_name(tools), toolsets=self._toolsets, absent=self.absent, closers=self._closers
        )

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
"""The shell may run every installed program; permissions decide about each call."""


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
    tools, toolsets = dict[str, Tool](), list[ToolsetFactory]()
    closers, absent = list[Callable[[], Awaitable[None]]](), dict[str, str]()

    @contextmanager
    def part(label: str, *names: str) -> Generator[None]:
        """Leave out a part that cannot be made here, and keep the reason."""
        try:
            yield
        except (ImportError, RetinueError) as error:
            why = error.hint or error.message if isinstance(error, RetinueError) else f"{error}."
            absent.update(dict.fromkeys(names, f"`{label}` is not available: {why}"))

    # Imported here, because most processes make no toolbox.
    with part("builtin", "read", "glob", "grep", "git", "write", "edit", "shell"):
        from retinue.tools.builtin import builtin_tools  # noqa: PLC0415

        toolsets.append(partial(builtin_tools, programs=tuple(programs)))
    with part("web", "web_fetch", "web_search"):
        from retinue.tools.web.fetch import WebFetch  # noqa: PLC0415
        from retinue.tools.web.search import WebSearch  # noqa: PLC0415

        tools |= _by_name((WebFetch(), WebSearch.from_environment(search, environ=environment or {})))
    with part("memory", "remember", "recall", "forget"):
        from retinue.tools.memory import MemoryPlace, memory_tools  # noqa: PLC0415

        if state is None:
            raise NotInstalled("No state directory is known.", hint="Give `default_toolbox` a `state` directory.")
        tools |= _by_name(memory_tools(MemoryPlace(state, project=project)))
    with part("lsp", "lsp"):
        from retinue.tools.lsp.server import LanguageServerPool  # noqa: PLC0415
        from retinue.tools.lsp.tool import LspTool  # noqa: PLC0415

        servers = LanguageServerPool(language_servers)
        tools |= _by_name((LspTool(servers),))
        closers.append(servers.close)
    with part("outline", "outline"):
        from retinue.tools.outline import OutlineTool  # noqa: PLC0415

        tools |= _by_name((OutlineTool(),))
    return Toolbox(tools, toolsets=toolsets, absent=absent, closers=closers)


def _by_name(tools: Iterable[Tool]) -> dict[str, Tool]:
    return {tool.spec.name: tool for tool in tools}
