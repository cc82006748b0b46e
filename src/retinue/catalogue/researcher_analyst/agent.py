"""The agent itself: takes parameters, searches in a thread, gives a reply. How it searches stands beside."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import retinue
from retinue.agents.port import Reply, RunContext
from retinue.catalogue.researcher_analyst.parameters import ResearchRequest
from retinue.catalogue.researcher_analyst.results import Research
from retinue.contract.definition import Sample, ThinkingBounds
from retinue.contract.task import Task

if TYPE_CHECKING:
    from os import PathLike

    from retinue.catalogue.web import Web
    from retinue.llm.models import Models

__all__ = ["ResearcherAnalyst"]

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
    when a request fails; which modules import `requests`
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
        samples=(Sample(title="Where something is defined", parameters=_WHERE, answer=_STOP),),
    )
    async def research(self, request: ResearchRequest, task: Task, run: RunContext) -> Reply:
        """Finds the passages that answer a question and quotes them with file and line.

        Use it when something is to be explained, located or looked up in the project. Returns findings, citations, and
        what was searched.
        """
        from retinue.catalogue.researcher_analyst.work import Means, research  # noqa: PLC0415 - listing stays cheap

        means = Means(self._cache_dir, self._state_dir, self._models, self._web, ResearcherAnalyst.definition)
        return await research(request, task, run, means)
