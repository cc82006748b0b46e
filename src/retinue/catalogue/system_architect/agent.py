"""The agent itself: which work a task asks for. What is found out stands in the modules beside."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from retinue.agents.port import Reply, RunContext
from retinue.catalogue._definitions import load_definition, no_such_skill
from retinue.contract.definition import Definition
from retinue.contract.event import Progress
from retinue.contract.task import Task

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["SystemArchitect"]

_SKILLS: Final = ("dependencies", "cycles", "layers", "hotspots", "overview", "assess")


class SystemArchitect:
    """Says what a project is made of and where change is hard, each with its file and line.

    Args:
        cache_dir: Where what was read of a tree is kept between runs; None keeps nothing.
    """

    def __init__(self, *, cache_dir: "str | PathLike[str] | None" = None) -> None:
        self._cache_dir = None if cache_dir is None else Path(cache_dir)

    @property
    def definition(self) -> Definition:
        """What it says of itself."""
        return load_definition(__package__ or "")

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Do one of its skills; `assess` answers with a plan.

        Raises:
            AccessDenied: There is no workspace.
            InvalidInput: A component is not there, or a date is none.
            UnknownName: The skill is none of its own.
        """
        if task.skill == "assess":
            from retinue.catalogue.system_architect.assess import assessment  # noqa: PLC0415 - when it is needed

            return Reply(plan=assessment(task))
        if task.skill not in _SKILLS:
            raise no_such_skill(self.definition, task.skill, _SKILLS)
        from retinue.catalogue._watch import Watch, in_watched_thread  # noqa: PLC0415 - when it is needed
        from retinue.catalogue.system_architect.work import work  # noqa: PLC0415

        run.emit(Progress("reading the project", task.skill))
        watch = Watch(run)
        return await in_watched_thread(watch, work, task, run.workspace, watch, cache_dir=self._cache_dir)
