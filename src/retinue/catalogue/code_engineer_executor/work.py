"""One request under way: the code it is about, the language server, what was found and changed, the time left (G19)."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

from retinue.agents.grants import PermissionSubject
from retinue.agents.port import Reply, RunContext
from retinue.catalogue._prose import code_block
from retinue.catalogue._report import SkillReport
from retinue.catalogue._run_limits import RunDeadline, ensure_allowed, in_cancellable_thread
from retinue.contract.definition import ToolSpec
from retinue.contract.event import Progress
from retinue.contract.fault import Fault
from retinue.contract.result import Usage
from retinue.contract.task import Task
from retinue.errors import InvalidInput
from retinue.tools.lsp.locations import LANGUAGES, Position
from retinue.tools.lsp.navigator import Navigator
from retinue.tools.lsp.server import LanguageServerPool
from retinue.tools.refactor.source import ChangeSet
from retinue.tools.workspace import Workspace

from .parameters import CodeScope

P = ParamSpec("P")
T = TypeVar("T")

_MAX_DIFF: Final = 20_000
_MAX_STEPS: Final = 500


@dataclass(slots=True)
class Work:
    """What the operations share, and what they leave behind.

    Attributes:
        cache_dir: Where what was read of files is kept between runs; None keeps nothing.
        files: Files that were analysed.
        changes: What would become of files; `files_written` are those it was made of.
        failure: Why the work failed; what it cost is reported as well.
    """

    task: Task
    run: RunContext
    target: CodeScope
    servers: LanguageServerPool
    navigator: Navigator
    deadline: RunDeadline
    cache_dir: Path | None
    report: SkillReport = field(default_factory=SkillReport)
    files: set[str] = field(default_factory=set[str])
    changes: ChangeSet = field(default_factory=lambda: ChangeSet(()))
    files_written: tuple[str, ...] = ()
    usage: Usage | None = None
    failure: Fault | None = None
    _allowed: set[str] = field(default_factory=set[str])

    @property
    def workspace(self) -> Workspace:
        """Where the code lies."""
        return self.run.workspace

    async def find_spot(self) -> Position:
        """The one place that the request is about.

        Raises:
            InvalidInput: It names none, or several have its name.
            UnknownName: What it names is not there.
        """
        name, path = self._target_symbol
        if self.target.position:
            return Position(self.workspace.relative(self.target.file), *self.target.position)
        return await self.navigator.find(name, path=path)

    async def find_spots(self) -> list[Position]:
        """The places of everything that has the name which the request is about; raises what `find_spot` does."""
        name, path = self._target_symbol
        return [await self.find_spot()] if path or self.target.position else await self.navigator.find_all(name)

    @property
    def _target_symbol(self) -> tuple[str, str]:
        """The symbol that is meant, and the source file it is in."""
        target = self.target
        if not (target.name or target.position):
            hint = "Give `symbol`, or `entry_point` with a symbol or a position."
            raise InvalidInput("No symbol is named.", hint=hint, path="/symbol")
        is_source = target.file.endswith(tuple(LANGUAGES)) and self.workspace.readable(target.file)
        return target.name, target.file if is_source else ""

    def path_filter(self, suffixes: Iterable[str]) -> Callable[[str], bool]:
        """Says of a path whether it is a source file that the request is about: its file, its folder, or all.

        Raises:
            MissingFile: What it names is not there.
        """
        folder, scope, endings = self.target.file, self.target.scope, tuple(suffixes)
        if scope == "project" or folder in ("", "."):
            return lambda path: path.endswith(endings)
        is_file = self.workspace.resolve(folder).is_file()
        folder = self.workspace.relative(folder)
        if is_file and scope != "module":
            return lambda path: path == folder and path.endswith(endings)
        prefix = f"{folder.rpartition('/')[0] if is_file else folder}/".lstrip("/")
        return lambda path: path.startswith(prefix) and path.endswith(endings)

    async def in_thread(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run something that reads files or takes long, within the time that is left."""
        return await in_cancellable_thread(self.deadline, function, *args, **kwargs)

    async def ensure_allowed(self, spec: ToolSpec, subjects: Sequence[PermissionSubject], action: str) -> None:
        """See that this may be done: by the rules, or because a person says so; asked once.

        Raises:
            AccessDenied: It may not.
        """
        agent, key = "code_engineer_executor", self.target.to_json_text()
        if action not in self._allowed:
            await ensure_allowed(self.run, spec, subjects, action, agent=agent, skill=self.task.skill, key=key)
            self._allowed.add(action)

    def reply(self) -> Reply:
        """The reply that says all of it."""
        report, steps = self.report, self.navigator.trace
        self.files |= self.navigator.files
        diff = self.changes.diff()
        report.figures = {
            "operation": self.task.skill or "",
            "changes": [
                {"file": each.path, "action": each.action, "content": each.after, "reasoning": each.reasoning}
                for each in self.changes.files
            ],
            "navigation_trace": [
                {
                    "operation": step.operation,
                    "from": step.query,
                    "to": step.result,
                    "symbol": step.symbol,
                    "execution_time_ms": round(step.duration_ns / 1e6, 3),
                }
                for step in steps[:_MAX_STEPS]
            ],
            "affected_symbols": report.subjects,
            "metadata": {
                "lsp_operations": len(steps),
                "files_analyzed": len(self.files),
                "files_modified": len(self.files_written),
            },
            **({"diff": diff} if diff else {}),
            **report.figures,
        }
        if diff:
            # As Markdown, whatever stands in it; its end is cut off where it is too long to be read.
            text = diff if len(diff) <= _MAX_DIFF else f"{diff[:_MAX_DIFF].rpartition(chr(10))[0]}\n…"
            report.appendix = code_block(text.rstrip("\n"), "diff")
        failure: dict[str, Any] = {"outcome": "error", "fault": self.failure} if self.failure else {}
        return report.reply(
            usage=self.usage, files_read=tuple(sorted(self.files)), files_written=self.files_written, **failure
        )


async def do_work(
    operation: Callable[[Work, Any], Awaitable[None]],
    target: CodeScope,
    task: Task,
    run: RunContext,
    *,
    servers: Mapping[str, tuple[str, ...]] | None,
    cache_dir: Path | None,
) -> Reply:
    """What an operation tells of `target`, with language servers that end with it."""
    run.emit(Progress("reading the code", task.skill or ""))
    async with LanguageServerPool(servers) as pool:
        work = Work(task, run, target, pool, Navigator(pool, run.workspace), RunDeadline(run), cache_dir)
        await operation(work, target)
        return work.reply()
