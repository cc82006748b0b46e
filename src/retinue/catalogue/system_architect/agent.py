"""The agent itself: which work a task asks for. What is found out stands in the modules beside."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from retinue.agents.port import Reply, RunContext
from retinue.catalogue._definitions import load_definition, no_such_skill, with_model, without_model
from retinue.contract.definition import Definition
from retinue.contract.event import Progress
from retinue.contract.task import Task

if TYPE_CHECKING:
    from os import PathLike

    from retinue.llm.models import Models

__all__ = ["SystemArchitect"]

_SKILLS: Final = ("dependencies", "cycles", "layers", "hotspots", "overview", "options", "assess")


class SystemArchitect:
    """Says what a project is made of and where change is hard, each with its file and line.

    Args:
        models: Who is asked for options; without them that skill is not available.
        cache_dir: Where what was read of a tree is kept between runs; None keeps nothing.
    """

    def __init__(self, models: "Models | None" = None, *, cache_dir: "str | PathLike[str] | None" = None) -> None:
        self._models = models
        self._cache_dir = None if cache_dir is None else Path(cache_dir)

    @property
    def definition(self) -> Definition:
        """What it says of itself; without a model one skill says what it needs."""
        thinks = self._models is not None and self._models.configured
        return with_model(__package__ or "") if thinks else load_definition(__package__ or "")

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Do one of its skills; `assess` answers with a plan.

        Raises:
            AccessDenied: There is no workspace.
            InvalidInput: A component is not there, or a date is none.
            UnknownName: The skill is none of its own.
            Unavailable: It needs a model, and none is configured.
        """
        if task.skill == "assess":
            from retinue.catalogue.system_architect.assess import assessment  # noqa: PLC0415 - when it is needed

            return Reply(plan=assessment(task))
        if task.skill not in _SKILLS:
            raise no_such_skill(self.definition, task.skill, _SKILLS)
        models = self._thinking(task) if task.skill == "options" else None
        from retinue.catalogue._watch import Watch, in_watched_thread  # noqa: PLC0415 - when it is needed
        from retinue.catalogue.system_architect.work import work  # noqa: PLC0415

        run.emit(Progress("reading the project", task.skill))
        watch = Watch(run)
        facts = await in_watched_thread(watch, work, task, run.workspace, watch, cache_dir=self._cache_dir)
        if models is None:
            return facts
        from retinue.catalogue.system_architect.options import with_options  # noqa: PLC0415

        return await with_options(facts, models, definition=self.definition, task=task, run=run)

    def _thinking(self, task: Task) -> "Models":
        if self._models is None or not self._models.configured:
            raise without_model(task.skill)
        return self._models
