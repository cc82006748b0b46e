"""The toolbox that agents get unless somebody packs another: files, programs, web, memory, code.

Each part is imported when a toolbox is made; one that cannot be is left out, and the reason kept.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from retinue.errors import NotInstalled, RetinueError

from .toolbox import Toolbox, ToolsetFactory

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from retinue.tools.port import Tool

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
    from retinue.tools.outline.builder import OutlineTool  # noqa: PLC0415

    contents.add((OutlineTool(),))
