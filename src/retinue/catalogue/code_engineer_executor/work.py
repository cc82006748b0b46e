"""One request under way: the code it is about, the language server, the report, the time that is left."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

from retinue.agents.grants import Subject
from retinue.agents.port import RunContext
from retinue.agents.prompted.about import path_subject
from retinue.catalogue._leave import see_allowed
from retinue.catalogue._watch import Watch, in_watched_thread
from retinue.contract.task import Task
from retinue.contract.tool import ToolSpec
from retinue.errors import InvalidInput
from retinue.tools.lsp import LANGUAGES, Navigator, Servers, Spot
from retinue.tools.tree import glob
from retinue.tools.workspace import Workspace

from .asked import Asked
from .report import Report

__all__ = ["Work", "some"]

P = ParamSpec("P")
T = TypeVar("T")

_MOST_FILES: Final = 2_000
_WRITES: Final = ToolSpec(
    name="edit", description="Changes files.", input_schema={"type": "object"}, effects=("read", "write")
)
_RUNS: Final = ToolSpec(
    name="shell", description="Runs a program.", input_schema={"type": "object"}, effects=("read", "write", "network")
)


@dataclass(slots=True)
class Work:
    """What the operations share; what was read of files is kept between runs in `cache_dir`."""

    task: Task
    run: RunContext
    asked: Asked
    workspace: Workspace
    servers: Servers
    navigator: Navigator
    report: Report
    watch: Watch
    cache_dir: Path | None = None
    _allowed: set[str] = field(default_factory=set[str])

    async def spot(self) -> Spot:
        """The place that the request is about.

        Raises:
            InvalidInput: It names none.
            UnknownName: What it names is not there.
        """
        asked = self.asked
        if asked.line and asked.path:
            return await self._on_line(asked.path, asked.line, asked.column)
        if not asked.symbol:
            raise InvalidInput(
                "No symbol is named.",
                hint="Name it in backticks, or give `entry_point` a `symbol_name`, or a `line` and `character`.",
                path="/entry_point",
            )
        path = asked.path if asked.path and self.is_source(asked.path) else ""
        return await self.navigator.find(asked.symbol, path=path)

    def is_source(self, path: str) -> bool:
        """Whether a path is a source file that a language server may read."""
        return any(path.endswith(suffix) for suffix in LANGUAGES) and self.workspace.readable(path)

    def sources(self, suffixes: Iterable[str]) -> list[str]:
        """The source files that the request is about: one, those of a folder, or all. Call it in a thread.

        Raises:
            MissingFile: What it names is not there.
        """
        path, scope = self.asked.path, self.asked.scope
        endings = tuple(suffixes)
        if path and self.workspace.resolve(path).is_file():
            if scope not in ("module", "project"):
                return [self.workspace.relative(path)]
            path = path.rpartition("/")[0]
        if scope == "project":
            path = ""
        prefix = "" if path in ("", ".") else f"{self.workspace.relative(path)}/"
        found = [
            each
            for each in glob(self.workspace, [f"*{ending}" for ending in endings], limit=200_000)
            if each.startswith(prefix)
        ]
        if len(found) > _MOST_FILES:
            self.report.warn(
                "incomplete_context",
                f"Only the first {_MOST_FILES:,} of {len(found):,} files were read.",
                impact="Figures speak of these only.",
                recovery="Name a folder.",
            )
        return found[:_MOST_FILES]

    async def in_thread(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run something that reads files or takes long, within the time that is left."""
        return await in_watched_thread(self.watch, partial(function, *args, **kwargs))

    async def may_write(self, paths: Iterable[str]) -> None:
        """See that files may be written: by the rules, or because a person says so.

        Raises:
            AccessDenied: They may not.
        """
        named = tuple(paths)
        about = [path_subject(path, self.workspace) for path in named]
        await self._permitted(_WRITES, about, f"change {', '.join(named)}")

    async def may_run(self, line: str) -> None:
        """See that a program may be run; asked once.

        Raises:
            AccessDenied: It may not.
        """
        if line not in self._allowed:
            await self._permitted(_RUNS, [Subject(line)], f"run `{line}`")
            self._allowed.add(line)

    async def _permitted(self, spec: ToolSpec, about: Sequence[Subject], what: str) -> None:
        agent, key = "code_engineer_executor", self.asked.task
        await see_allowed(self.run, spec, about, what, agent=agent, skill=self.task.skill, key=key)

    async def _on_line(self, path: str, line: int, column: int) -> Spot:
        """A place by its line: without a column, the name it defines, else its first name."""
        relative = self.workspace.relative(path)
        if column:
            return Spot(relative, line, column)
        for symbol in await self.navigator.document_symbols(relative):
            if symbol.place.line == line:
                return Spot(relative, line, symbol.place.column)
        text = await asyncio.to_thread(self.workspace.read_text, relative)
        lines = text.split("\n")
        content = lines[line - 1] if line <= len(lines) else ""
        return Spot(relative, line, len(content) - len(content.lstrip()) + 1)


def some(places: Sequence[str]) -> str:
    """The first places of a list, and how many more there are."""
    more = f" and {len(places) - 10} more" if len(places) > 10 else ""
    return f"{', '.join(places[:10])}{more}"
