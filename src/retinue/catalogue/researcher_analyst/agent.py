"""The agent itself: reads a task, searches in a thread, gives a reply. How it searches stands in the modules beside."""

from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

from retinue.agents.port import Reply, RunContext
from retinue.catalogue._definitions import load_definition
from retinue.catalogue._watch import Watch, in_watched_thread
from retinue.contract.definition import Definition
from retinue.contract.event import Progress
from retinue.contract.fault import Fault
from retinue.contract.question import Question
from retinue.contract.task import Task
from retinue.errors import RetinueError
from retinue.tools.workspace import Workspace

if TYPE_CHECKING:
    from os import PathLike

    from retinue.catalogue.researcher_analyst.brought import Brought, Browsed
    from retinue.catalogue.researcher_analyst.facts import Elsewhere, Revisions
    from retinue.catalogue.researcher_analyst.gathered import Gathered
    from retinue.catalogue.researcher_analyst.question import Asked
    from retinue.catalogue.researcher_analyst.wanted import Wanted
    from retinue.catalogue.web import Web
    from retinue.llm.models import Models
    from retinue.orchestration.citing import Summary
    from retinue.tools.search import Index

__all__ = ["ResearcherAnalyst"]

_SKILL: Final = "research"
_FILE: Final = "which_file"
_CHOICES: Final = 10
_INDEXES: Final = 4
"""Trees whose index stays in memory between tasks."""


class ResearcherAnalyst:
    """Answers questions from documents, code, memory and the web, every finding with the place where it stands.

    Args:
        cache_dir: Where the search index of a tree is kept between runs; None keeps it in memory only.
        state_dir: The user's state directory, where earlier runs remembered things; without one none are searched.
        models: Who writes the answer from what was found; without a model it is made of quotations.
        web: How the web is searched, when somebody asks for it; without it that is said.
    """

    def __init__(
        self,
        *,
        cache_dir: "str | PathLike[str] | None" = None,
        state_dir: "str | PathLike[str] | None" = None,
        models: "Models | None" = None,
        web: "Web | None" = None,
    ) -> None:
        self._cache_dir = cache_dir
        self._state_dir = None if state_dir is None else Path(state_dir)
        self._models = models
        self._web = web
        self._indexes: OrderedDict[str, Index] = OrderedDict()
        self._lock = Lock()

    @property
    def definition(self) -> Definition:
        """What it says of itself."""
        return load_definition(__package__ or "")

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Do `research`. When only the web is asked for and it cannot be searched, the reply is a fault that says why.

        Raises:
            AccessDenied: There is no workspace.
            Canceled: A person must allow the use of the web first, and the run waits for the answer.
        """
        from retinue.catalogue.researcher_analyst.wanted import read_wanted  # noqa: PLC0415 - when it is needed

        wanted = read_wanted(task)
        watch = Watch(run, seconds=wanted.depth.seconds)
        browsed = await self._browsed(wanted, run, watch) if wanted.web else None
        if browsed is not None and browsed.refused is not None and not wanted.local:
            return Reply(outcome="error", fault=_no_web(browsed.refused), traces=tuple(browsed.traces))
        found = await in_watched_thread(watch, self._found, wanted, task, run, browsed, watch)
        if found.gathered.alike:
            question = _which(found.gathered.alike)
            return Reply(content=question.text, questions=(question,))
        return _reply(wanted, found, await self._written(wanted, found, task, run), run.now())

    async def _browsed(self, wanted: "Wanted", run: RunContext, watch: Watch) -> "Browsed":
        from retinue.catalogue.researcher_analyst.browse import browse  # noqa: PLC0415 - few questions are of the web

        left = watch.left_s()
        ends = None if left is None else run.now() + int(left * 1e9)
        name = self.definition.name
        return await browse(
            wanted.question, run, web=self._web, pages=wanted.depth.pages, deadline_ns=ends, agent=name, skill=_SKILL
        )

    def _found(
        self, wanted: "Wanted", task: Task, run: RunContext, browsed: "Browsed | None", watch: Watch
    ) -> "_Found":
        from retinue.catalogue.researcher_analyst.facts import Elsewhere, Revisions  # noqa: PLC0415 - when it is needed
        from retinue.catalogue.researcher_analyst.gather import gather  # noqa: PLC0415
        from retinue.catalogue.researcher_analyst.question import read_question  # noqa: PLC0415
        from retinue.tools.search import Sections  # noqa: PLC0415

        workspace = run.workspace
        asked = read_question(_with_answer(wanted.question, task))
        texts, not_recalled = self._texts(wanted, asked.text, task, run) if "memory" in wanted.local else ([], None)
        gathered = gather(
            asked,
            workspace=workspace,
            index=self._index(workspace),
            sections=Sections(workspace, cache_dir=None if self._cache_dir is None else Path(self._cache_dir)),
            sources=wanted.local,
            depth=wanted.depth,
            texts=[*(browsed.pages if browsed else ()), *texts],
            watch=watch,
            progress=lambda phase, done, total: run.emit(Progress(phase, "", done, total)),
        )
        revisions = Revisions() if gathered.late or not wanted.local else _revisions(workspace)
        elsewhere = Elsewhere(browsed, remembers=self._state_dir is not None, not_recalled=not_recalled)
        return _Found(asked, gathered, elsewhere, revisions)

    def _texts(
        self, wanted: "Wanted", words: str, task: Task, run: RunContext
    ) -> "tuple[list[Brought], RetinueError | None]":
        """What the caller and earlier runs remember, and why the latter was not searched."""
        from retinue.catalogue.researcher_analyst.brought import said_by_caller  # noqa: PLC0415 - when it is needed

        texts = list(said_by_caller(task.context.memory))
        if self._state_dir is None:
            return texts, None
        from retinue.catalogue.researcher_analyst.remembered import recalled  # noqa: PLC0415

        try:
            return [*texts, *recalled(self._state_dir, run.workspace.root, words or wanted.question, run.grants)], None
        except RetinueError as error:
            return texts, error

    async def _written(self, wanted: "Wanted", found: "_Found", task: Task, run: RunContext) -> "Summary | None":
        """The answer in a model's words; None when no model is asked, or there is nothing to write of."""
        models, gathered = self._models, found.gathered
        listed = found.asked.wish == "files" and gathered.places
        if models is None or not models.configured or not gathered.evidence or listed:
            return None
        from retinue.catalogue.researcher_analyst.writing import in_words_of_a_model  # noqa: PLC0415 - when it is needed

        return await in_words_of_a_model(
            wanted.question, gathered.evidence, models, definition=self.definition, task=task, run=run
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


@dataclass(frozen=True, slots=True)
class _Found:
    asked: "Asked"
    gathered: "Gathered"
    elsewhere: "Elsewhere"
    revisions: "Revisions"


def _reply(wanted: "Wanted", found: _Found, summary: "Summary | None", now_ns: int) -> Reply:
    from retinue.catalogue.researcher_analyst.telling import tell  # noqa: PLC0415 - when it is needed

    gathered, browsed = found.gathered, found.elsewhere.browsed
    told = tell(
        gathered,
        found.asked,
        style=wanted.style,
        sources=wanted.sources,
        elsewhere=found.elsewhere,
        revisions=found.revisions,
        summary=summary,
        now_ns=now_ns,
    )
    nothing = (
        None if gathered.evidence or gathered.late else _nothing(str(told.data["answer"]), local=bool(wanted.local))
    )
    return Reply(
        data=told.data,
        outcome="rejected" if nothing else "partial" if told.warnings else "success",
        fault=nothing,
        content=told.content,
        warnings=tuple(told.warnings),
        traces=tuple(browsed.traces) if browsed else (),
        usage=summary.usage if summary else None,
        confidence=told.confidence,
        files_read=told.files,
    )


def _which(paths: tuple[str, ...]) -> Question:
    shown = paths[:_CHOICES]
    more = f" and {len(paths) - _CHOICES} more" if len(paths) > _CHOICES else ""
    return Question(id=_FILE, text=f"Which file? Available: {', '.join(shown)}{more}.", kind="choice", options=shown)


def _with_answer(question: str, task: Task) -> str:
    """`question` with the file that was answered to "which?" in place of the name that several have."""
    for said in task.context.constraints:
        asked, _, path = said.partition(": ")
        if asked.rpartition(".")[2] == _FILE and path:
            name = path.rpartition("/")[2]
            return question.replace(name, path, 1) if path not in question else question
    return question


def _nothing(answer: str, *, local: bool) -> Fault:
    there = "Ask with words that the project itself uses, or name a file or identifier."
    return Fault(
        code="missing_file",
        message=" ".join(answer.split()),
        hint=there if local else "Rephrase the request, or search also the sources docs, code or memory.",
        retryable=False,
    )


def _no_web(error: RetinueError) -> Fault:
    fault = Fault.from_error(error)
    hint = f"{fault.hint} Or ask for the sources docs, code or memory.".strip()
    return fault.model_copy(update={"hint": hint, "suggestions": fault.suggestions or ("docs", "code", "memory")})


def _revisions(workspace: Workspace) -> "Revisions":
    """The commit that citations name; nothing where there is no repository, or none that may be used."""
    from retinue.catalogue.researcher_analyst.facts import Revisions  # noqa: PLC0415 - when it is needed
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
