"""The agent: searches the web where it is named, then files and memories in a thread; then a model may write (B25).

The model sees only what was found, as data, and holds no tools. What it writes and does not hold against the findings
it cites is dropped; when nothing holds, or there is no model, no budget or no time, the quotations are the answer.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import retinue
from retinue.agents.port import Reply, RunContext
from retinue.catalogue._model_choice import structured_model_for
from retinue.catalogue._run_deadline import RunDeadline, in_cancellable_thread
from retinue.catalogue.web import Web
from retinue.contract.definition import Sample, ThinkingBounds
from retinue.contract.fault import Fault
from retinue.contract.task import Task
from retinue.errors import AccessDenied, RetinueError
from retinue.orchestration.cited_summary import CitedSummary, Evidence, EvidencePiece, verify_summary, write_claims
from retinue.tools.git import Git
from retinue.tools.memory import Memory, MemoryEntry, MemoryPlace, Recall, Scope, memory_file
from retinue.tools.search import Index
from retinue.tools.workspace import Workspace

from .browse import browse
from .parameters import Research, ResearchRequest
from .quotations import Query
from .research_report import reply_of
from .search import Search, SourceText

if TYPE_CHECKING:
    from retinue.llm.models import Models

_SCOPES: Final[tuple[Scope, ...]] = ("project", "global")
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
    when a request fails; what is in `README.md`; which modules import `requests`
"""
_WHERE: Final = {"task": "Where is Engine.stop defined?", "depth": "quick_scan", "focus": "define"}
_STOP: Final[dict[str, Any]] = {
    "answer": "`Engine.stop` is defined in `src/engine.py`: `def stop(self)`. Stop at once. (src/engine.py:12)",
    "findings": [{
        "topic": "Engine.stop", "kind": "definition", "source": "src/engine.py:12", "confidence": 1.0,
        "content": "`Engine.stop` is defined in `src/engine.py`: `def stop(self)`. Stop at once.",
        "path": "src/engine.py", "line_start": 12, "line_end": 15,
    }],
    "citations": [{
        "source": "src/engine.py:12", "origin": "code", "path": "src/engine.py", "line": 12, "accessed": "2026-01-06",
    }],
    "searched": {"docs": {"files": 3, "passages": 2}, "code": {"files": 9, "passages": 14}}, "not_searched": [],
    "confidence_basis": "The share of the question's words that the passage has.", "terms": ["Engine.stop"],
}  # fmt: skip


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
        cache_dir: str | PathLike[str] | None = None,
        state_dir: str | PathLike[str] | None = None,
        models: "Models | None" = None,
        web: Web | None = None,
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
        self._web = web or Web()

    @retinue.skill(
        output=Research,
        instruction_field="task",
        defaults={"depth": "quick_scan", "output_format": "summary"},
        effects=("read",),
        timeout_s=1800,
        thinks="can",
        thinks_within=ThinkingBounds(requests=6, tokens_in=6_000, tokens_out=3_000),
        examples=tuple(" ".join(one.split()) for one in _EXAMPLES.split(";")),
        samples=(Sample(title="Where something is defined", parameters=_WHERE, answer=_STOP),),
    )
    async def research(self, request: ResearchRequest, task: Task, run: RunContext) -> Reply:
        """Finds the passages that answer a question and quotes them with file and line.

        Use it when something is to be explained, located or looked up in the project. Returns findings, citations, and
        what was searched.
        """
        deadline = RunDeadline(run, seconds=request.bounds.seconds)
        web_reading = await browse(request, run, deadline, self._web) if request.names_web else None
        if web_reading is not None and web_reading.error is not None and not request.local:
            fault, others = Fault.from_error(web_reading.error), ("docs", "code", "memory")
            hint = f"{fault.hint} Or ask for the sources docs, code or memory.".strip()
            fault = fault.model_copy(update={"hint": hint, "suggestions": fault.suggestions or others})
            return Reply(outcome="error", fault=fault, traces=tuple(web_reading.traces))
        search = Search(request, Query.of(request), run, deadline, web=web_reading)
        await in_cancellable_thread(deadline, self._search, search, task.context.memory)
        is_list = request.focus == "files" and search.places
        summary = await self._write_summary(search, task) if search.evidence and not is_list else None
        return reply_of(search, summary)

    def _search(self, search: Search, caller_memory: str) -> None:
        """Search all that is here, and what the web gave."""
        texts = search.web.pages if search.web else []
        if "memory" in search.request.local:
            texts = [*texts, *_memory_texts(search, caller_memory, self._state_dir)]
        search.texts = {text.path: text for text in texts}
        if not search.request.local:
            search.execute()
            return
        workspace = search.run.workspace
        with Index(workspace, cache_dir=self._cache_dir) as search.index:
            search.execute()
        if not search.timed_out:
            search.revisions = _revisions(workspace, (one.path for one in search.evidence))

    async def _write_summary(self, search: Search, task: Task) -> CitedSummary | None:
        """What of a model's answer holds against what was found; None where no model is configured."""
        if self._models is None or not self._models.configured:
            return None
        try:
            definition, run = ResearcherAnalyst.definition, search.run
            thinker = structured_model_for(task, self._models, definition, run, purpose="to write the answer")
        except RetinueError as error:
            return CitedSummary(refusal=error.message)
        numbered = enumerate(search.evidence, 1)
        evidence = Evidence(
            tuple(EvidencePiece(f"f{number}", one.source, one.plain_text(), one.place) for number, one in numbered)
        )
        return verify_summary(evidence, await write_claims(search.query.text, evidence, thinker, task=task.id))


def _memory_texts(search: Search, caller_memory: str, state: Path | None) -> Iterator[SourceText]:
    """What the caller remembers, and of what earlier runs did what fits; no file is made where there is none."""
    if caller_memory.strip():
        yield SourceText("memory", "context.memory", caller_memory)
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
        search.memory_error = error


def _text_of(entry: MemoryEntry) -> SourceText:
    source = entry.source
    saved_on = datetime.fromtimestamp(entry.at_ns // 10**9, UTC).date().isoformat()
    provenance = {
        "scope": entry.scope,
        "remembered": saved_on,
        "by": source.by,
        "run": source.run,
        "origin": source.origin,
    }
    facts = {"memory": {name: fact for name, fact in provenance.items() if fact}}
    return SourceText("memory", f"memory:{entry.scope}/{entry.id}", entry.text, facts=facts)


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
    changed_paths = {one.path for one in (*status.staged, *status.unstaged, *status.unmerged, *status.untracked)}
    return {path: head for path in paths if path not in changed_paths}
