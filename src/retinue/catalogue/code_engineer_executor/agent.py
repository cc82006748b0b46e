"""The agent itself: reads a task, opens the language server, gives a reply. What it finds out stands beside."""

# what an operation needs is imported when it is asked for: listing agents must stay cheap

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from retinue.agents.port import Reply, RunContext
from retinue.catalogue._definitions import load_definition, no_such_skill, with_model, without_model
from retinue.contract.definition import Definition
from retinue.contract.event import Progress
from retinue.contract.task import Task

if TYPE_CHECKING:
    from os import PathLike

    from retinue.catalogue.code_engineer_executor.work import Work
    from retinue.llm.models import Models

__all__ = ["CodeEngineerExecutor"]


class CodeEngineerExecutor:
    """Reads and changes code: without a model by language server and syntax trees, with one by proposals it verifies.

    Args:
        models: Who is asked for fixes and features; without them those two skills are not available.
        servers: The argument vectors of language servers, by language, from the user's own settings.
        cache_dir: Where what was read of a tree is kept between runs; None keeps nothing.
    """

    def __init__(
        self,
        models: "Models | None" = None,
        *,
        servers: Mapping[str, tuple[str, ...]] | None = None,
        cache_dir: "str | PathLike[str] | None" = None,
    ) -> None:
        self._models = models
        self._servers = servers
        self._cache_dir = None if cache_dir is None else Path(cache_dir)

    @property
    def definition(self) -> Definition:
        """What it says of itself; without a model two skills say what they need."""
        thinks = self._models is not None and self._models.configured
        return with_model(__package__ or "") if thinks else load_definition(__package__ or "")

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Do one of its skills.

        Raises:
            UnknownName: The skill is none of its own, or a symbol is not there.
            InvalidInput: What it needs is not said, or cannot be done.
            AccessDenied: A file lies outside, or nobody allowed a write or a test run.
            NotInstalled: The language server or a grammar is not here.
        """
        from retinue.catalogue._watch import Watch  # noqa: PLC0415 - when it is needed
        from retinue.catalogue.code_engineer_executor.asked import read_asked  # noqa: PLC0415 - when it is needed
        from retinue.catalogue.code_engineer_executor.report import Report  # noqa: PLC0415 - when it is needed
        from retinue.catalogue.code_engineer_executor.work import Work  # noqa: PLC0415 - when it is needed
        from retinue.tools.lsp import Navigator, Servers  # noqa: PLC0415 - when it is needed

        name = task.skill or ""
        if self.definition.skill(name) is None:
            raise no_such_skill(self.definition, task.skill, [skill.name for skill in self.definition.skills])
        words = str(task.parameters.get("task") or task.instruction)
        run.emit(Progress("reading the code", name))
        async with Servers(self._servers) as servers:
            navigator = Navigator(servers, run.workspace)
            asked = read_asked(task.parameters, words)
            work = Work(task, run, asked, run.workspace, servers, navigator, Report(name), Watch(run), self._cache_dir)
            await self._doing(name)(work)
            work.report.navigated(navigator)
            return work.report.reply()

    def _doing(self, name: str) -> "Callable[[Work], Awaitable[None]]":
        """The function that does a skill, imported when it is done."""
        match name:
            case "navigate_only":
                from retinue.catalogue.code_engineer_executor.navigate import navigate  # noqa: PLC0415 - when it is needed

                return navigate
            case "analyze":
                from retinue.catalogue.code_engineer_executor.analyze import analyze  # noqa: PLC0415 - when it is needed

                return analyze
            case "review":
                from retinue.catalogue.code_engineer_executor.review import review  # noqa: PLC0415 - when it is needed

                return review
            case "docs":
                from retinue.catalogue.code_engineer_executor.document import document  # noqa: PLC0415 - when it is needed

                return document
            case "refactor":
                from retinue.catalogue.code_engineer_executor.refactor import refactor  # noqa: PLC0415 - when it is needed

                return refactor
            case _:
                return self._propose

    async def _propose(self, work: "Work") -> None:
        from retinue.catalogue.code_engineer_executor.propose import propose  # noqa: PLC0415 - when it is needed

        if self._models is None or not self._models.configured:
            raise without_model(work.task.skill)
        await propose(work, self._models, self.definition)
