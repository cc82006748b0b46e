"""Searches the web for a question and reads the best pages, each step with leave: by the rules, or from a person.

Only the question leaves the machine. What comes back is data: nothing here follows it, and whatever it says, no other
page is read than those that a search gave and somebody allowed.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from retinue.agents.grants import PermissionSubject
from retinue.agents.port import RunContext
from retinue.catalogue._permission import ensure_allowed
from retinue.catalogue._prose import one_line
from retinue.catalogue._run_deadline import RunDeadline
from retinue.catalogue.web import Web
from retinue.contract.event import Progress, ToolCallEvent
from retinue.contract.model import JsonMapping
from retinue.contract.result import Trace
from retinue.contract.sanitize import printable
from retinue.errors import AccessDenied, Canceled, RetinueError
from retinue.telemetry import tool_span
from retinue.tools.port import Tool, ToolContext, ToolOutput
from retinue.tools.web.url import MAX_URL

from .parameters import ResearchRequest
from .search import SourceText, WebReading

_AGENT: Final = "researcher_analyst"
_QUERY: Final = 400
_PAGE: Final = 200_000
_TRACED: Final = 2_000
_SPARE: Final = 2
"""So many times as many pages are asked leave for as are read: some cannot be."""
_MEMO: Final = "web_results"


async def browse(request: ResearchRequest, run: RunContext, deadline: RunDeadline, web: Web) -> WebReading:
    """Search for the question and read the best pages of what is found. What fails is told in what is given.

    Raises:
        Canceled: A person must be asked first, and the run waits for the answer.
    """
    steps = _WebSession(" ".join(request.task.split())[:_QUERY], run, deadline)
    try:
        steps.reading.service, search, fetch = web.open_tools(clock=run.now)
        urls = await steps.search(search)
        await steps.read(fetch, urls, request.bounds.pages)
    except Canceled:
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
            self.run.checkpoint[_MEMO] = previous
        urls = cast("list[str]", previous["urls"])
        self.reading.results = len(urls)
        return urls

    async def read(self, tool: Tool, urls: Sequence[str], most: int) -> None:
        """Read the first `most` pages that may be read and can be."""
        remaining = await self._readable_urls(tool, urls[: most * _SPARE], most)
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

    async def _readable_urls(self, tool: Tool, urls: Sequence[str], most: int) -> list[str]:
        """Those of `urls` that may be read. A person is asked about all at once that no rule speaks of."""
        verdicts = {url: self.run.grants.verdict(tool.spec, url) for url in urls}
        self.reading.skipped += [(url, f"{each.reason}.") for url, each in verdicts.items() if each.word == "deny"]
        undecided = [url for url, each in verdicts.items() if each.word == "ask"]
        if undecided:
            url_list = ", ".join(one_line(url, limit=MAX_URL) for url in undecided)
            try:
                await self._ensure_allowed(tool, undecided, f"read up to {most} of these pages: {url_list}")
            except AccessDenied:
                self.reading.skipped += [(url, "nobody approved reading it.") for url in undecided]
                return [url for url, each in verdicts.items() if each.word == "allow"]
        return [url for url, each in verdicts.items() if each.word != "deny"]

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
        return f"it has moved to {one_line(url, limit=200)}, which nobody allowed."

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
