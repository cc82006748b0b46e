"""The agent: searches the web where it is named, then files and memories in a thread; then a model may write (B25).

Of the web only the question leaves the machine, and each step needs leave: by the rules, or from a person. What comes
back is data: nothing here follows it, and only pages are read that a search gave and that were allowed.

The model sees only what was found, as data, and holds no tools. What it writes and does not hold against the findings
it cites is dropped; when nothing holds, or there is no model, no budget or no time, the quotations are the answer.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any, Final, cast

import retinue
from retinue.agents.grants import PermissionSubject
from retinue.agents.port import Reply, RunContext
from retinue.catalogue._model_choice import structured_model_for
from retinue.catalogue._prose import one_line, phrases
from retinue.catalogue._run_limits import RunDeadline, ensure_allowed, in_cancellable_thread
from retinue.catalogue.web import Web
from retinue.contract.definition import Sample, ThinkingBounds
from retinue.contract.event import Progress, ToolCallEvent
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping
from retinue.contract.result import Trace
from retinue.contract.sanitize import printable
from retinue.contract.task import Task
from retinue.errors import AccessDenied, Canceled, RetinueError
from retinue.llm.models import Models
from retinue.orchestration.cited_summary import CitedSummary, Evidence, EvidencePiece, verify_summary, write_claims
from retinue.telemetry import tool_span
from retinue.tools.git.repository import Git
from retinue.tools.memory import Memory, MemoryPlace, Recall, Scope, memory_file
from retinue.tools.port import Tool, ToolContext, ToolOutput
from retinue.tools.search.index import Index
from retinue.tools.web.url import MAX_URL

from .parameters import Research, ResearchRequest
from .quotations import Query
from .research_report import reply_of
from .search import Search, SourceText, WebReading

_SCOPES: Final[tuple[Scope, ...]] = ("project", "global")
_EXAMPLES: Final = phrases("""
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
""")
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
        models: Models | None = None,
        web: Web | None = None,
    ) -> None:
        """Make it.

        Args:
            cache_dir: Where the search index of a tree is kept between runs; None keeps it in memory only.
            state_dir: The user's state directory, where earlier runs remembered things; without one none are searched.
            models: Who writes the answer from what was found; without a model it is made of quotations.
            web: How the web is searched, if it is named as a source.
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
        examples=_EXAMPLES,
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
        if is_list or not search.evidence or self._models is None or not self._models.configured:
            return reply_of(search, None)
        try:
            definition = ResearcherAnalyst.definition
            thinker = structured_model_for(task, self._models, definition, run, purpose="to write the answer")
        except RetinueError as error:
            return reply_of(search, CitedSummary(refusal=error.message))
        numbered = enumerate(search.evidence, 1)
        evidence = Evidence(
            tuple(EvidencePiece(f"f{number}", one.source, one.plain_text(), one.place) for number, one in numbered)
        )
        claims = await write_claims(search.query.text, evidence, thinker, task=task.id)
        return reply_of(search, verify_summary(evidence, claims))

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
        if search.timed_out:
            return
        # There is no revision outside of a repository, nor of a file that is not as it was committed.
        with suppress(RetinueError):
            git = Git(workspace.root, timeout_s=10.0)
            head = git.head().sha
            if head is not None and not git.is_bare():
                status = git.status()
                changes = (*status.staged, *status.unstaged, *status.unmerged, *status.untracked)
                changed_paths = {one.path for one in changes}
                search.revisions = {one.path: head for one in search.evidence if one.path not in changed_paths}


def _memory_texts(search: Search, caller_memory: str, state: Path | None) -> Iterator[SourceText]:
    """What the caller remembers, and what fits of the memory of earlier runs; no memory file is created for it."""
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
                    entries = list(memory.search(words, limit=20))
                for entry in entries:
                    source, day = entry.source, datetime.fromtimestamp(entry.at_ns // 10**9, UTC).date().isoformat()
                    provenance = {"scope": entry.scope, "remembered": day, "by": source.by, "run": source.run}
                    provenance["origin"] = source.origin
                    facts = {"memory": {name: fact for name, fact in provenance.items() if fact}}
                    yield SourceText("memory", f"memory:{entry.scope}/{entry.id}", entry.text, facts=facts)
    except RetinueError as error:
        search.memory_error = error


_AGENT: Final = "researcher_analyst"
_QUERY: Final = 400
_PAGE: Final = 200_000
_TRACED: Final = 2_000
_SPARE: Final = 2
"""So many times as many pages are asked leave for as are read: some cannot be."""
_MEMO: Final = "web_results"


async def browse(request: ResearchRequest, run: RunContext, deadline: RunDeadline, web: Web) -> WebReading:
    """Search for the question and read the best pages of what is found. What fails is part of the result.

    Raises:
        Canceled: A person must be asked first, and the run waits for the answer.
    """
    steps = _WebSession(" ".join(request.task.split())[:_QUERY], run, deadline)
    try:
        steps.reading.service, search, fetch = web.open_tools(clock=run.now)
        urls = await steps.search(search)
        await steps.read(fetch, urls, request.bounds.pages)
    except Canceled:  # the run waits for an answer of a person: no failure of the web
        raise
    except RetinueError as error:
        steps.reading.error = error
    return steps.reading


@dataclass(slots=True)
class _WebSession:
    query: str
    run: RunContext
    deadline: RunDeadline
    reading: WebReading = field(default_factory=WebReading)

    async def search(self, tool: Tool) -> list[str]:
        """The URLs of the results, best first. When the agent runs anew after a question, those it had before."""
        previous: JsonMapping = self.run.checkpoint.get(_MEMO) or {}
        if previous.get("query") != self.query:
            what = f"search the web with `{self.reading.service}` for {self.query!r}"
            await self._ensure_allowed(tool, [self.query], what)
            self.run.emit(Progress("searching the web", self.reading.service))
            output = await self._use(tool, {"query": self.query, "limit": 10}, self.query)
            results = cast("list[JsonMapping]", (output.data or {}).get("results", []))
            previous = {"query": self.query, "urls": list(dict.fromkeys(str(one["url"]) for one in results))}
            # Kept before pages are asked for: a run that waits for leave to read them does not search again.
            self.run.checkpoint[_MEMO] = previous
        urls = cast("list[str]", previous["urls"])
        self.reading.results = len(urls)
        return urls

    async def read(self, tool: Tool, urls: Sequence[str], most: int) -> None:
        """Read the first `most` pages that may be read and can be."""
        # A person is asked at once about all that no rule speaks of.
        verdicts = {url: self.run.grants.verdict(tool.spec, url) for url in urls[: most * _SPARE]}
        self.reading.skipped += [(url, f"{each.reason}.") for url, each in verdicts.items() if each.word == "deny"]
        remaining = [url for url, each in verdicts.items() if each.word != "deny"]
        if undecided := [url for url, each in verdicts.items() if each.word == "ask"]:
            url_list = ", ".join(one_line(url, limit=MAX_URL) for url in undecided)
            try:
                await self._ensure_allowed(tool, undecided, f"read up to {most} of these pages: {url_list}")
            except AccessDenied:
                self.reading.skipped += [(url, "reading it was not approved.") for url in undecided]
                remaining = [url for url, each in verdicts.items() if each.word == "allow"]
        while remaining and len(self.reading.pages) < most:
            wave, remaining = remaining[: most - len(self.reading.pages)], remaining[most - len(self.reading.pages) :]
            self.run.emit(Progress("reading pages", "", len(self.reading.pages), most))
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._page(tool, url)) for url in wave]
            for url, page in zip(wave, (task.result() for task in tasks), strict=True):
                if isinstance(page, SourceText):
                    self.reading.pages.append(page)
                else:
                    self.reading.skipped.append((url, page))

    async def _page(self, tool: Tool, url: str) -> SourceText | str:
        """The page, or why it could not be read. To another host it is followed only where a rule allows that one."""
        for _ in range(2):
            try:
                output = await self._use(tool, {"url": url}, url)
            except Canceled:
                raise
            except RetinueError as error:
                return error.message
            facts = output.data or {}
            if "moved_to" not in facts:
                title = one_line(str(facts.get("title", "")), limit=200)
                citation_facts = {"accessed": str(facts["accessed"])[:10], **({"title": title} if title else {})}
                return SourceText("web", str(facts.get("url", url)), output.text, title, citation_facts)
            url = str(facts["moved_to"])
            if self.run.grants.verdict(tool.spec, url).word != "allow":
                break
        return f"it has moved to {one_line(url, limit=200)}, which was not allowed."

    async def _ensure_allowed(self, tool: Tool, subjects: Sequence[str], what: str) -> None:
        about = [PermissionSubject(subject) for subject in subjects]
        await ensure_allowed(self.run, tool.spec, about, what, agent=_AGENT, skill="research", key=self.query)

    async def _use(self, tool: Tool, arguments: JsonMapping, about: str) -> ToolOutput:
        """Use a tool, and record that it was used: what it touches is no secret."""
        began, remaining_s = self.run.now(), self.deadline.remaining_s()
        ends = None if remaining_s is None else began + int(remaining_s * 1e9)
        text, failed = "", True
        try:
            with tool_span(tool.spec.name):
                output = await tool.use(arguments, ToolContext(None, ends, _PAGE, agent=_AGENT, run=self.run.run))
            text, failed = output.text, False
        except RetinueError as error:
            text = f"{error.code}: {error.message}"
            raise
        finally:
            duration = max(0, self.run.now() - began)
            excerpt = printable(text[:_TRACED])
            self.reading.traces.append(Trace(tool=tool.spec.name, output=excerpt, args=arguments, duration_ns=duration))
            self.run.emit(ToolCallEvent(tool.spec.name, duration, failed=failed, about=one_line(about)))
        return output
