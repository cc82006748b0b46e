"""The agent itself: takes parameters, searches in a thread, gives a reply. How it searches stands beside."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import retinue
from retinue.agents.port import Reply, RunContext
from retinue.catalogue._watch import Watch, in_watched_thread
from retinue.catalogue.researcher_analyst.parameters import (
    DEPTHS,
    SOURCES,
    Depth,
    DepthChoice,
    Focus,
    Format,
    Paths,
    Source,
    Sources,
    TaskText,
)
from retinue.catalogue.researcher_analyst.results import Research
from retinue.contract.definition import Sample, ThinkingBounds
from retinue.contract.event import Progress
from retinue.contract.fault import Fault
from retinue.contract.task import Task
from retinue.errors import RetinueError

if TYPE_CHECKING:
    from os import PathLike

    from retinue.catalogue.researcher_analyst.answer import OtherSources, Revisions
    from retinue.catalogue.researcher_analyst.quotations import Query
    from retinue.catalogue.researcher_analyst.search import SearchOutcome
    from retinue.catalogue.researcher_analyst.texts import SourceText, WebReading
    from retinue.catalogue.web import Web
    from retinue.llm.models import Models
    from retinue.orchestration.citing import Summary
    from retinue.tools.workspace import Workspace

__all__ = ["ResearcherAnalyst"]

_SKILL: Final = "research"
_NO_PATHS: Final[list[str]] = []
_BY_DEFAULT: Final[list[Source]] = list(SOURCES)

_EXAMPLES: Final = """
    how does the parser work; how do uploads work; what does the boundary check before it calls an agent; where
    is the retry policy defined; explain how sessions are stored; explain what the decorator does; summarise
    docs/guide.md; give me a summary of the README; list all settings; which versions of Python are supported;
    what is said about uploads in docs/guide.md; how many workers are started; how often does the scheduler run;
    how much memory does the cache take; how long is the retry delay; which events are sent; when is a message
    delivered; what happens if I rename the class; find the documentation about configuration; show what is
    written about the cache; which files mention the cache; why is the journal written in one transaction; what
    is a blueprint; how do I register an error handler; where are environment variables read; what does the
    function load_config do; what does parse_args return; which modules use the registry; what happens when a
    request times out; describe the architecture of the project; what are the rules for naming things; how is
    the index kept up to date; what is this project about; what do the docs say about testing; what does the
    README say about installation; what does the CHANGES file say for 2.1.0; what is DEFAULT_LIMIT for; list all
    TODOs in the code; why does the import take so long; can I use it with async code; does it support plugins;
    what is the default timeout; which licence is used; are there limits on the size of a file; what is the
    difference between a command and a group; what does the word fixture mean; what is meant by a session; when
    does the session expire; when is the cache invalidated; how is the total price computed; how are missing
    values handled; who is responsible for releases; is the upload endpoint documented; in which unit is the
    duration given; why should I choose it; what do we promise about response times; which errors can the client
    raise; what must be set before a deployment; where is the order stored; how is the app started; what counts
    as an error; which port does the server use; above which size is an upload refused; how long does a token
    live; what is the name of the package; who may sign in; what is this project; what does this project do; how
    do I write a plugin of my own; how do I run the tests; which examples ship with this project; what happens
    when a request fails
"""
_STOP: Final[dict[str, Any]] = {
    "answer": "`Engine.stop` is defined in `src/engine.py`: `def stop(self)`. Stop at once. (src/engine.py:12)",
    "findings": [
        {
            "topic": "Engine.stop",
            "content": "`Engine.stop` is defined in `src/engine.py`: `def stop(self)`. Stop at once.",
            "source": "src/engine.py:12",
            "confidence": 1.0,
            "path": "src/engine.py",
            "line_start": 12,
            "line_end": 15,
            "kind": "definition",
        }
    ],
    "citations": [
        {
            "source": "src/engine.py:12",
            "origin": "code",
            "path": "src/engine.py",
            "line": 12,
            "accessed": "2026-01-06",
            "revision": "3c1f0d6a4b2e9f8d7c6b5a493827160f5e4d3c2b",
        }
    ],
    "searched": {"docs": {"files": 3, "passages": 2}, "code": {"files": 9, "passages": 14}},
    "not_searched": [],
    "notes": [],
    "confidence_basis": "The confidence is the share of the question's content words, weighted by how rare each is in "
    "these files, that the passage has together with its headings and names.",
    "terms": ["Engine.stop"],
}


@retinue.agent(
    name="researcher_analyst",
    version="1.1",
    category="research",
    aliases=("researcher",),
    tags=("research", "documentation", "code", "search", "explain"),
    tier="small",
    tools=("grep", "read", "search", "recall", "web_search", "web_fetch"),
)
class ResearcherAnalyst:
    """Searches a project's documents, code and memory files for what answers a question, and quotes it with its place.

    Use it when somebody asks how something works, where it is defined, why it is so or what the documents say; not for
    who changed what and when. Returns findings, citations and an answer made of quotations.
    """

    def __init__(
        self,
        *,
        cache_dir: "str | PathLike[str] | None" = None,
        state_dir: "str | PathLike[str] | None" = None,
        models: "Models | None" = None,
        web: "Web | None" = None,
    ) -> None:
        """Make it.

        Args:
            cache_dir: Where the search index of a tree is kept between runs; None keeps it in memory only.
            state_dir: The user's state directory, where earlier runs remembered things; without one none are searched.
            models: Who writes the answer from what was found; without a model it is made of quotations.
            web: How the web is searched, when somebody asks for it; without it that is said.
        """
        self._cache_dir = cache_dir
        self._state_dir = None if state_dir is None else Path(state_dir)
        self._models = models
        self._web = web

    @retinue.skill(
        output=Research,
        instruction_field="task",
        defaults={"depth": "quick_scan", "output_format": "summary"},
        effects=("read",),
        timeout_s=1800,
        thinks="can",
        thinks_within=ThinkingBounds(requests=6, tokens_in=6_000, tokens_out=3_000),
        examples=tuple(" ".join(one.split()) for one in _EXAMPLES.split(";")),
        samples=(
            Sample(
                title="Where something is defined",
                parameters={
                    "task": "Where is Engine.stop defined?",
                    "sources": ["docs", "code"],
                    "depth": "quick_scan",
                    "focus": "define",
                },
                answer=_STOP,
            ),
            Sample(
                title="Only the project's memory",
                parameters={
                    "task": "What is said about the engine?",
                    "sources": ["memory"],
                    "depth": "deep_dive",
                    "output_format": "bullet_points",
                },
            ),
        ),
    )
    async def research(  # noqa: PLR0917 - they are the parameters of the skill
        self,
        task: TaskText,
        depth: DepthChoice,
        given: Task,
        run: RunContext,
        sources: Sources = _BY_DEFAULT,
        output_format: Format = "summary",
        paths: Paths = _NO_PATHS,
        focus: Focus = "explain",
    ) -> Reply:
        """Finds the passages that answer a question and quotes them with file and line.

        Use it when something is to be explained, located or looked up in the project. Returns findings, citations, and
        what was searched.
        """
        from retinue.catalogue.researcher_analyst.answer import reply_of  # noqa: PLC0415 - when it is needed
        from retinue.catalogue.researcher_analyst.quotations import Query  # noqa: PLC0415

        local: tuple[Source, ...] = tuple(one for one in SOURCES if one in sources and one != "web")
        # All four are the default: only another list names the web on purpose.
        by_name = "web" in sources and len(sources) < len(SOURCES)
        bounds = DEPTHS[depth]
        watch = Watch(run, seconds=bounds.seconds)
        browsed = await self._browsed(task, bounds, run, watch) if by_name else None
        if browsed is not None and browsed.refused is not None and not local:
            return Reply(outcome="error", fault=_no_web(browsed.refused), traces=tuple(browsed.traces))
        query = Query.of(task, focus, paths)
        outcome, elsewhere, revisions = await in_watched_thread(
            watch,
            self._search,
            query,
            sources=local,
            paths=paths,
            depth=bounds,
            task=given,
            run=run,
            browsed=browsed,
            watch=watch,
        )
        return reply_of(
            outcome,
            query,
            form=output_format,
            sources=tuple(one for one in SOURCES if one in sources),
            elsewhere=elsewhere,
            revisions=revisions,
            summary=await self._written(query, outcome, given, run),
            now_ns=run.now(),
        )

    async def _browsed(self, question: str, depth: Depth, run: RunContext, watch: Watch) -> "WebReading":
        from retinue.catalogue.researcher_analyst.browse import browse  # noqa: PLC0415 - few questions are of the web

        left = watch.left_s()
        ends = None if left is None else run.now() + int(left * 1e9)
        name = ResearcherAnalyst.definition.name
        return await browse(question, run, web=self._web, pages=depth.pages, deadline_ns=ends, agent=name, skill=_SKILL)

    def _search(
        self,
        query: "Query",
        *,
        sources: tuple[Source, ...],
        paths: list[str],
        depth: Depth,
        task: Task,
        run: RunContext,
        browsed: "WebReading | None",
        watch: Watch,
    ) -> "tuple[SearchOutcome, OtherSources, Revisions]":
        from retinue.catalogue.researcher_analyst.answer import OtherSources, Revisions  # noqa: PLC0415 - when needed
        from retinue.catalogue.researcher_analyst.search import search  # noqa: PLC0415
        from retinue.tools.search import Index  # noqa: PLC0415

        workspace = run.workspace
        texts, not_recalled = self._texts(query, task, run) if "memory" in sources else ([], None)
        index = Index(workspace, cache_dir=self._cache_dir) if sources else None
        try:
            outcome = search(
                query,
                workspace=workspace,
                index=index,
                sources=sources,
                paths=paths,
                depth=depth,
                texts=[*(browsed.pages if browsed else ()), *texts],
                watch=watch,
                progress=lambda phase, done, total: run.emit(Progress(phase, "", done, total)),
            )
        finally:
            if index is not None:
                index.close()
        revisions = Revisions() if outcome.late or not sources else _revisions(workspace)
        return (
            outcome,
            OtherSources(browsed, remembers=self._state_dir is not None, not_recalled=not_recalled),
            revisions,
        )

    def _texts(self, query: "Query", task: Task, run: RunContext) -> "tuple[list[SourceText], RetinueError | None]":
        """What the caller and earlier runs remember, and why the latter was not searched."""
        from retinue.catalogue.researcher_analyst.texts import (  # noqa: PLC0415 - when it is needed
            recalled,
            texts_of_caller,
        )

        texts = list(texts_of_caller(task.context.memory))
        if self._state_dir is None:
            return texts, None
        words = " ".join(query.words.values()) or query.text
        try:
            return [*texts, *recalled(self._state_dir, run.workspace.root, words, run.grants)], None
        except RetinueError as error:
            return texts, error

    async def _written(self, query: "Query", outcome: "SearchOutcome", task: Task, run: RunContext) -> "Summary | None":
        """The answer in a model's words; None when no model is asked, or there is nothing to write of."""
        models = self._models
        is_list = query.focus == "files" and outcome.places
        if models is None or not models.configured or not outcome.evidence or is_list:
            return None
        from retinue.catalogue.researcher_analyst.writing import in_words_of_a_model  # noqa: PLC0415 - when needed

        definition = ResearcherAnalyst.definition
        return await in_words_of_a_model(
            query.text, outcome.evidence, models, definition=definition, task=task, run=run
        )


def _no_web(error: RetinueError) -> Fault:
    fault = Fault.from_error(error)
    hint = f"{fault.hint} Or ask for the sources docs, code or memory.".strip()
    return fault.model_copy(update={"hint": hint, "suggestions": fault.suggestions or ("docs", "code", "memory")})


def _revisions(workspace: "Workspace") -> "Revisions":
    """The commit that citations name; nothing where there is no repository, or none that may be used."""
    from retinue.catalogue.researcher_analyst.answer import Revisions  # noqa: PLC0415 - when it is needed
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
