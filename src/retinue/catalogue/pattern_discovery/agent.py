"""The agent itself: reads a task, has the tree read, gives a reply. What it finds out stands in the modules beside."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from retinue.agents.port import Reply, RunContext
from retinue.catalogue._definitions import load_definition, no_such_skill
from retinue.catalogue._watch import Watch, in_watched_thread
from retinue.contract.definition import Definition
from retinue.contract.event import Progress
from retinue.contract.task import Task

if TYPE_CHECKING:
    from os import PathLike

    from retinue.catalogue.pattern_discovery.focus import Domain
    from retinue.catalogue.pattern_discovery.gather import Gathered

__all__ = ["PatternDiscovery"]

_SIMILAR: Final = 3
_MATCHES: Final = 5


class PatternDiscovery:
    """Takes stock of what a project has that new tests and code can build on, each with its file and line.

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
        """Do one of its skills.

        Raises:
            AccessDenied: There is no workspace, or a target lies outside of it.
            InvalidInput: A target can be no path.
            MissingFile: A target is not there.
            UnknownName: The skill is none of its own.
        """
        from retinue.catalogue.pattern_discovery.gather import gather  # noqa: PLC0415 - when it is needed

        work = _WORK.get(task.skill or "")
        if work is None:
            raise no_such_skill(self.definition, task.skill, _WORK)
        if task.skill in _LIMITED and (folder := _folder(task)):
            place = run.workspace.relative(run.workspace.resolve(folder))
            task = task.model_copy(update={"parameters": {**task.parameters, "target": place}})
        run.emit(Progress("listing files"))
        gathered = await gather(run, workspace=run.workspace, cache_dir=self._cache_dir)
        run.emit(Progress("connecting what was read", "", len(gathered.facts), len(gathered.facts)))
        watch = Watch(run)
        return await in_watched_thread(watch, work, task, gathered, watch)


def _full_survey(task: Task, gathered: "Gathered", watch: Watch) -> Reply:
    from retinue.catalogue.pattern_discovery.answers import answer  # noqa: PLC0415 - when it is needed
    from retinue.catalogue.pattern_discovery.focus import narrow  # noqa: PLC0415
    from retinue.catalogue.pattern_discovery.inventory import take  # noqa: PLC0415
    from retinue.catalogue.pattern_discovery.question import read_question  # noqa: PLC0415
    from retinue.catalogue.pattern_discovery.report import Report  # noqa: PLC0415
    from retinue.catalogue.pattern_discovery.reuse import of_survey  # noqa: PLC0415
    from retinue.catalogue.pattern_discovery.rows import counts_of, lists_of, note_cuts  # noqa: PLC0415
    from retinue.catalogue.pattern_discovery.similar import find_similar, source_asked_for  # noqa: PLC0415

    whole, asked = take(gathered.facts, check=watch.check), read_question(_question(task))
    folder = _folder(task) or (source_asked_for(whole, asked, "") if asked.wish == "fixtures" else "")
    report, found = Report(gathered, folder=folder), narrow(whole, None, folder)
    reuse = of_survey(found)
    report.figures = {**lists_of(found), **reuse.data(), "counts": counts_of(found, gathered)}
    if not (found.fixtures or found.tests or found.steps or found.helpers or found.rules):
        if not gathered.left:
            report.reject(
                "Nothing to build on was found: no tests, fixtures, steps, helpers or documented prohibitions.",
                hint="Name a folder with Python code, feature files or documents.",
            )
        return report.reply()
    if asked.wish == "tested":
        find_similar(found, asked, "", report, limit=_SIMILAR)
    if asked.wish != "tested" or report.unanswered:
        report.unanswered = None
        answer(found, asked, report)
    if reuse.score is not None and asked.wish == "overview":
        report.note(f"Reuse score {reuse.score} of 10 ({reuse.band}).")
    note_cuts(found, report)
    return report.reply()


def _focused_domain(task: Task, gathered: "Gathered", watch: Watch) -> Reply:
    from retinue.catalogue._prose import one_line  # noqa: PLC0415 - as above
    from retinue.catalogue.pattern_discovery.answers import answer  # noqa: PLC0415 - as above
    from retinue.catalogue.pattern_discovery.focus import narrow, say_relevant  # noqa: PLC0415
    from retinue.catalogue.pattern_discovery.inventory import take  # noqa: PLC0415
    from retinue.catalogue.pattern_discovery.question import read_question  # noqa: PLC0415
    from retinue.catalogue.pattern_discovery.report import Report  # noqa: PLC0415
    from retinue.catalogue.pattern_discovery.rows import counts_of, note_cuts  # noqa: PLC0415

    folder = _folder(task)
    report, question = Report(gathered, folder=folder), _question(task)
    domain = cast("Domain", task.parameters.get("domain", "unit-testing"))
    context = str(task.parameters.get("context") or "") or question
    found = narrow(take(gathered.facts, check=watch.check), domain, folder)
    report.figures = {"domain": domain, "counts": counts_of(found, gathered), "reuse_basis": "no context was stated"}
    fits = say_relevant(found, context, report)
    if not (found.fixtures or found.tests or found.steps or found.helpers or found.rules):
        if not gathered.left:
            where = f" in `{one_line(folder)}`" if folder else ""
            report.reject(
                f"Nothing of {domain} was found{where}.", hint="Ask for another domain, or for a full survey."
            )
    elif not fits:
        answer(found, read_question(question), report)
    note_cuts(found, report)
    return report.reply()


def _fixture_lookup(task: Task, gathered: "Gathered", watch: Watch) -> Reply:
    from retinue.catalogue.pattern_discovery.inventory import take  # noqa: PLC0415 - as above
    from retinue.catalogue.pattern_discovery.lookup import look_up  # noqa: PLC0415
    from retinue.catalogue.pattern_discovery.question import read_question  # noqa: PLC0415
    from retinue.catalogue.pattern_discovery.report import Report  # noqa: PLC0415

    report = Report(gathered)
    limit = int(task.parameters.get("limit", _MATCHES))
    look_up(take(gathered.facts, check=watch.check), read_question(_question(task)), report, limit=limit)
    return report.reply()


def _test_pattern_search(task: Task, gathered: "Gathered", watch: Watch) -> Reply:
    from retinue.catalogue.pattern_discovery.inventory import take  # noqa: PLC0415 - as above
    from retinue.catalogue.pattern_discovery.question import read_question  # noqa: PLC0415
    from retinue.catalogue.pattern_discovery.report import Report  # noqa: PLC0415
    from retinue.catalogue.pattern_discovery.similar import find_similar  # noqa: PLC0415

    report = Report(gathered)
    target = str(task.parameters.get("target") or "")
    limit = int(task.parameters.get("limit", _SIMILAR))
    report.figures = find_similar(
        take(gathered.facts, check=watch.check), read_question(_question(task)), target, report, limit=limit
    )
    return report.reply()


def _folder(task: Task) -> str:
    """The folder or file that a task is limited to; empty for the whole tree."""
    folder = str(task.parameters.get("target") or "").removeprefix("./").rstrip("/")
    return "" if folder == "." else folder


def _question(task: Task) -> str:
    return str(task.parameters.get("question") or task.instruction)


_LIMITED: Final = frozenset({"full_survey", "focused_domain"})
"""The skills whose target is a place to stay in."""

_WORK: Final[Mapping[str, Callable[[Task, "Gathered", Watch], Reply]]] = {
    "full_survey": _full_survey,
    "focused_domain": _focused_domain,
    "fixture_lookup": _fixture_lookup,
    "test_pattern_search": _test_pattern_search,
}
