"""The agent itself: reads a task, searches in a thread, gives a reply. How it searches stands in the modules beside."""

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Final, cast

from retinue.agents.port import Reply, RunContext
from retinue.catalogue._definitions import load_definition
from retinue.catalogue._watch import Watch, in_watched_thread
from retinue.catalogue.researcher_analyst.depth import DEPTHS, DepthName
from retinue.contract.definition import Definition
from retinue.contract.event import Progress
from retinue.contract.fault import Fault
from retinue.contract.question import Question
from retinue.contract.task import Task
from retinue.errors import RetinueError
from retinue.tools.workspace import Workspace

if TYPE_CHECKING:
    from os import PathLike

    from retinue.catalogue.researcher_analyst.telling import Revisions, Style
    from retinue.tools.search import Index

__all__ = ["ResearcherAnalyst"]

_FILE: Final = "which_file"
_CHOICES: Final = 10
_INDEXES: Final = 4
"""Trees whose index stays in memory between tasks."""


class ResearcherAnalyst:
    """Answers questions from a project's documents, code and memory, every finding with its file and line.

    Args:
        cache_dir: Where the search index of a tree is kept between runs; None keeps it in memory only.
    """

    def __init__(self, *, cache_dir: "str | PathLike[str] | None" = None) -> None:
        self._cache_dir = cache_dir
        self._indexes: OrderedDict[str, Index] = OrderedDict()
        self._lock = Lock()

    @property
    def definition(self) -> Definition:
        """What it says of itself."""
        return load_definition(__package__ or "")

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Do `research`. When only the web is asked for, the reply is a fault: no provider is configured.

        Raises:
            AccessDenied: There is no workspace.
        """
        depth = cast("DepthName", task.parameters.get("depth", "quick_scan"))
        watch = Watch(run, seconds=DEPTHS[depth].seconds)
        return await in_watched_thread(watch, self._research, task, run, run.workspace, watch)

    def _research(self, task: Task, run: RunContext, workspace: Workspace, watch: Watch) -> Reply:
        from retinue.catalogue.researcher_analyst.gather import gather  # noqa: PLC0415 - when it is needed
        from retinue.catalogue.researcher_analyst.question import read_question  # noqa: PLC0415
        from retinue.catalogue.researcher_analyst.sources import SOURCES, local_of, named  # noqa: PLC0415
        from retinue.catalogue.researcher_analyst.telling import Revisions, tell  # noqa: PLC0415

        parameters = task.parameters
        sources = named(parameters.get("sources") or SOURCES)
        local = local_of(sources)
        if not local:
            return Reply(outcome="error", fault=_no_web())
        # The boundary fills in the default, which is all four: only another list names the web on purpose.
        wanted = "web" in sources and list(parameters.get("sources") or SOURCES) != list(SOURCES)
        asked = read_question(_with_answer(str(parameters.get("task") or task.instruction), task))
        gathered = gather(
            asked,
            workspace=workspace,
            index=self._index(workspace),
            sources=local,
            depth=DEPTHS[cast("DepthName", parameters.get("depth", "quick_scan"))],
            memory=task.context.memory,
            watch=watch,
            progress=lambda phase, done, total: run.emit(Progress(phase, "", done, total)),
        )
        if gathered.alike:
            return Reply(content=_which(gathered.alike).text, questions=(_which(gathered.alike),))
        told = tell(
            gathered,
            asked,
            style=cast("Style", parameters.get("output_format", "summary")),
            sources=sources,
            web_is_wanted=wanted,
            revisions=Revisions() if gathered.late else _revisions(workspace),
            now_ns=run.now(),
        )
        nothing = None if gathered.evidence or gathered.late else _nothing(str(told.data["answer"]))
        return Reply(
            data=told.data,
            outcome="rejected" if nothing else "partial" if told.warnings else "success",
            fault=nothing,
            content=told.content,
            warnings=tuple(told.warnings),
            confidence=told.confidence,
            files_read=told.files,
        )

    def _index(self, workspace: Workspace) -> "Index":
        from retinue.tools.search import Index  # noqa: PLC0415 - when it is needed

        # A workspace is known by what may be read of it, and an index holds on to the one it was made for.
        key = repr(workspace)
        with self._lock:
            found = self._indexes.pop(key, None) or Index(workspace, cache_dir=self._cache_dir)
            self._indexes[key] = found
            while len(self._indexes) > _INDEXES:
                self._indexes.popitem(last=False)
            return found


def _which(paths: tuple[str, ...]) -> Question:
    shown = paths[:_CHOICES]
    more = f" and {len(paths) - _CHOICES} more" if len(paths) > _CHOICES else ""
    return Question(id=_FILE, text=f"Which file? There is: {', '.join(shown)}{more}.", kind="choice", options=shown)


def _with_answer(question: str, task: Task) -> str:
    """`question` with the file that was answered to "which?" in place of the name that several have."""
    for said in task.context.constraints:
        asked, _, path = said.partition(": ")
        if asked.rpartition(".")[2] == _FILE and path:
            name = path.rpartition("/")[2]
            return question.replace(name, path, 1) if path not in question else question
    return question


def _nothing(answer: str) -> Fault:
    return Fault(
        code="missing_file",
        message=" ".join(answer.split()),
        hint="Ask with words that the project itself uses, or name a file or identifier.",
        retryable=False,
    )


def _no_web() -> Fault:
    # Not raised as `Unavailable`, which says "not now": asking again would change nothing.
    return Fault(
        code="unavailable",
        message="The web cannot be searched: no search provider is configured.",
        hint="Ask for the sources docs, code or memory, or configure a web search provider.",
        suggestions=("docs", "code", "memory"),
        retryable=False,
    )


def _revisions(workspace: Workspace) -> "Revisions":
    """The commit that citations name; nothing where there is no repository, or none that may be used."""
    from retinue.catalogue.researcher_analyst.telling import Revisions  # noqa: PLC0415 - when it is needed
    from retinue.tools.git import Git  # noqa: PLC0415

    try:
        git = Git(workspace.root, timeout_s=10.0)
        head = git.head().sha
        if head is None or git.is_bare():
            return Revisions()
        status = git.status()
    except RetinueError:
        return Revisions()
    changes = (*status.staged, *status.unstaged, *status.unmerged, *status.untracked)
    return Revisions(head, frozenset(change.path for change in changes))
