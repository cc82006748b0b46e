"""One request under way: the web where it is named, then files and memories in a thread, then a model's words (B25).

The model sees only what was found, as data, and holds no tools. What it writes and does not hold against the findings
it cites is dropped; when nothing holds, or there is no model, no budget or no time, the quotations are the answer.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple

from retinue.agents.port import Reply, RunContext
from retinue.catalogue._choosing import model_for
from retinue.catalogue._watch import Watch, in_watched_thread
from retinue.catalogue.researcher_analyst.answer import reply_of
from retinue.catalogue.researcher_analyst.browse import browse
from retinue.catalogue.researcher_analyst.parameters import ResearchRequest
from retinue.catalogue.researcher_analyst.quotations import Query
from retinue.catalogue.researcher_analyst.search import Search, SourceText
from retinue.catalogue.web import Web
from retinue.contract.definition import Definition
from retinue.contract.event import Decision
from retinue.contract.fault import Fault
from retinue.contract.task import Task
from retinue.errors import AccessDenied, RetinueError
from retinue.llm.models import Models
from retinue.orchestration.citing import Evidence, Piece, Summary, held, written
from retinue.orchestration.thinker import Thinker
from retinue.tools.git import Git
from retinue.tools.memory.entry import Entry, Scope
from retinue.tools.memory.file import memory_file
from retinue.tools.memory.store import Memory
from retinue.tools.memory.tools import MemoryPlace, Recall
from retinue.tools.search import Index
from retinue.tools.workspace import Workspace

__all__ = ["Means", "research"]

_SCOPES: Final[tuple[Scope, ...]] = ("project", "global")


class Means(NamedTuple):
    """With what a request is answered, as the agent was made."""

    cache_dir: str | PathLike[str] | None
    state_dir: Path | None
    models: Models | None
    web: Web | None
    definition: Definition


async def research(request: ResearchRequest, task: Task, run: RunContext, means: Means) -> Reply:
    """Answer a request; an error only where nothing but the web was asked for, and it cannot be searched."""
    watch = Watch(run, seconds=request.bounds.seconds)
    browsed = await browse(request, run, watch, means.web or Web()) if request.names_web else None
    if browsed is not None and browsed.refused is not None and not request.local:
        return Reply(outcome="error", fault=_no_web(browsed.refused), traces=tuple(browsed.traces))
    search = Search(request, Query.of(request), run, watch, web=browsed)
    await in_watched_thread(watch, _search, search, task, means)
    is_list = request.focus == "files" and search.places
    if means.models is None or not means.models.configured or not search.evidence or is_list:
        return reply_of(search, None)
    return reply_of(search, await _written(search, task, means.models, means.definition))


def _search(search: Search, task: Task, means: Means) -> None:
    texts = search.web.pages if search.web else []
    if "memory" in search.request.local:
        texts = [*texts, *_remembered(search, task.context.memory, means.state_dir)]
    search.texts = {text.path: text for text in texts}
    if not search.request.local:
        search.look()
        return
    workspace = search.run.workspace
    with Index(workspace, cache_dir=means.cache_dir) as search.index:
        search.look()
    if not search.late:
        search.revisions = _revisions(workspace, (one.path for one in search.evidence))


def _remembered(search: Search, told: str, state: Path | None) -> Iterator[SourceText]:
    """What the caller remembers, and of what earlier runs did what fits; no file is made where there is none."""
    if told.strip():
        yield SourceText("memory", "context.memory", told)
    if state is None:
        return
    run, words = search.run, " ".join(search.query.words.values()) or search.query.text
    project = run.workspace.root
    verdict = run.grants.verdict(Recall(MemoryPlace(state, project=project)).spec, words)
    try:
        if verdict.word != "allow":
            raise AccessDenied(f"`recall` may not be used: {verdict.reason}.", hint="Allow `recall`, or do without.")
        for scope in _SCOPES:
            if memory_file(state, scope, project=project).exists():
                with Memory(state, scope, project=project) as memory:
                    yield from [_text_of(hit.entry) for hit in memory.search(words, limit=20)]
    except RetinueError as error:
        search.not_recalled = error


def _text_of(entry: Entry) -> SourceText:
    source = entry.source
    remembered = datetime.fromtimestamp(entry.at_ns // 10**9, UTC).date().isoformat()
    told = {"scope": entry.scope, "remembered": remembered, "by": source.by, "run": source.run, "origin": source.origin}
    facts = {"memory": {name: fact for name, fact in told.items() if fact}}
    return SourceText("memory", f"memory:{entry.scope}/{entry.id}", entry.text, facts=facts)


async def _written(search: Search, task: Task, models: Models, definition: Definition) -> Summary:
    """What of a model's answer holds against what was found."""
    pieces = (Piece(f"f{number}", one.source, one.plain(), one.place) for number, one in enumerate(search.evidence, 1))
    evidence, run = Evidence(tuple(pieces)), search.run
    try:
        chosen = model_for(task, models, definition)
        model = models.get(chosen.name)
    except RetinueError as error:
        return Summary(refused=error.message)
    run.emit(Decision("model", f"`{chosen.name}` is asked to write the answer: {chosen.why}."))
    thinker = Thinker(model, run.purse, run.deadline_ns, task.thinking, run.now)
    return held(evidence, await written(search.query.text, evidence, thinker, task=task.id))


def _no_web(error: RetinueError) -> Fault:
    fault = Fault.from_error(error)
    hint = f"{fault.hint} Or ask for the sources docs, code or memory.".strip()
    return fault.model_copy(update={"hint": hint, "suggestions": fault.suggestions or ("docs", "code", "memory")})


def _revisions(workspace: Workspace, paths: Iterable[str]) -> dict[str, str]:
    """The commit at which each of `paths` is as it was read; none outside of a repository, or where a file differs."""
    try:
        git = Git(workspace.root, timeout_s=10.0)
        head = git.head().sha
        if head is None or git.is_bare():
            return {}
        status = git.status()
    except RetinueError:
        return {}
    differing = {one.path for one in (*status.staged, *status.unstaged, *status.unmerged, *status.untracked)}
    return {path: head for path in paths if path not in differing}
