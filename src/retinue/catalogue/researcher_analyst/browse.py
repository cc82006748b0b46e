"""Searches the web for a question and reads the best pages, each step with leave: by the rules, or from a person.

Only the question leaves the machine. What comes back is data: nothing here follows it, and whatever it says, no other
page is read than those that a search gave and somebody allowed.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from retinue.agents.grants import Subject
from retinue.agents.port import RunContext
from retinue.catalogue._leave import see_allowed
from retinue.catalogue._prose import one_line
from retinue.catalogue._watch import Watch
from retinue.catalogue.web import Web
from retinue.contract.event import Progress, ToolCall
from retinue.contract.model import JsonMapping
from retinue.contract.result import Trace
from retinue.contract.sanitize import printable
from retinue.errors import AccessDenied, Canceled, RetinueError
from retinue.telemetry import tool_span
from retinue.tools.port import Grip, Tool, ToolOutput
from retinue.tools.web.url import MAX_URL

from .parameters import ResearchRequest
from .search import SourceText, WebReading

__all__ = ["browse"]

_AGENT: Final = "researcher_analyst"
_QUERY: Final = 400
_PAGE: Final = 200_000
_TRACED: Final = 2_000
_SPARE: Final = 2
"""So many times as many pages are asked leave for as are read: some cannot be."""
_MEMO: Final = "web_results"


async def browse(request: ResearchRequest, run: RunContext, watch: Watch, web: Web) -> WebReading:
    """Search for the question and read the best pages of what is found. What fails is told in what is given.

    Raises:
        Canceled: A person must be asked first, and the run waits for the answer.
    """
    steps = _Steps(" ".join(request.task.split())[:_QUERY], run, watch)
    try:
        steps.found.service, search, fetch = web.opened(clock=run.now)
        urls = await steps.search(search)
        await steps.read(fetch, urls, request.bounds.pages)
    except Canceled:
        raise
    except RetinueError as error:
        steps.found.refused = error
    return steps.found


@dataclass(slots=True)
class _Steps:
    query: str
    run: RunContext
    watch: Watch
    found: WebReading = field(default_factory=WebReading)

    async def search(self, tool: Tool) -> list[str]:
        """The URLs of the results, best first. When the agent runs anew after a question, those it had before."""
        known: JsonMapping = self.run.memo.get(_MEMO) or {}
        if known.get("query") != self.query:
            what = f"search the web with `{self.found.service}` for {self.query!r}"
            await self._see_allowed(tool, [self.query], what)
            self.run.emit(Progress("searching the web", self.found.service))
            output = await self._use(tool, {"query": self.query, "limit": 10}, self.query)
            results = cast("list[JsonMapping]", (output.data or {}).get("results", []))
            known = {"query": self.query, "urls": list(dict.fromkeys(str(one["url"]) for one in results))}
            self.run.memo[_MEMO] = known
        urls = cast("list[str]", known["urls"])
        self.found.results = len(urls)
        return urls

    async def read(self, tool: Tool, urls: Sequence[str], most: int) -> None:
        """Read the first `most` pages that may be read and can be."""
        left = await self._allowed(tool, urls[: most * _SPARE], most)
        while left and len(self.found.pages) < most:
            wave, left = left[: most - len(self.found.pages)], left[most - len(self.found.pages) :]
            self.run.emit(Progress("reading pages", "", len(self.found.pages), most))
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._page(tool, url)) for url in wave]
            for url, came in zip(wave, (task.result() for task in tasks), strict=True):
                if isinstance(came, SourceText):
                    self.found.pages.append(came)
                else:
                    self.found.left_out.append((url, came))

    async def _allowed(self, tool: Tool, urls: Sequence[str], most: int) -> list[str]:
        """Those of `urls` that may be read. A person is asked about all at once that no rule speaks of."""
        verdicts = {url: self.run.grants.verdict(tool.spec, url) for url in urls}
        self.found.left_out += [(url, f"{each.reason}.") for url, each in verdicts.items() if each.word == "deny"]
        asked = [url for url, each in verdicts.items() if each.word == "ask"]
        if asked:
            shown = ", ".join(one_line(url, longest=MAX_URL) for url in asked)
            try:
                await self._see_allowed(tool, asked, f"read up to {most} of these pages: {shown}")
            except AccessDenied:
                self.found.left_out += [(url, "nobody approved reading it.") for url in asked]
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
                title = one_line(str(facts.get("title", "")), longest=200)
                cited = {"accessed": str(facts["accessed"])[:10], **({"title": title} if title else {})}
                return SourceText("web", str(facts.get("url", url)), output.text, title, cited)
            url = str(facts["moved_to"])
            if self.run.grants.verdict(tool.spec, url).word != "allow":
                break
        return f"it has moved to {one_line(url, longest=200)}, which nobody allowed."

    async def _see_allowed(self, tool: Tool, tellings: Sequence[str], what: str) -> None:
        about = [Subject(telling) for telling in tellings]
        await see_allowed(self.run, tool.spec, about, what, agent=_AGENT, skill="research", key=self.query)

    async def _use(self, tool: Tool, arguments: JsonMapping, about: str) -> ToolOutput:
        """Use a tool, and record that it was used: what it touches is no secret."""
        began, left = self.run.now(), self.watch.left_s()
        ends = None if left is None else began + int(left * 1e9)
        text, failed = "", True
        try:
            with tool_span(tool.spec.name):
                found = await tool.use(arguments, Grip(None, ends, _PAGE, agent=_AGENT, run=self.run.run))
            text, failed = found.text, False
        except RetinueError as error:
            text = f"{error.code}: {error.message}"
            raise
        finally:
            took = max(0, self.run.now() - began)
            shown = printable(text[:_TRACED])
            self.found.traces.append(Trace(tool=tool.spec.name, output=shown, args=arguments, duration_ns=took))
            self.run.emit(ToolCall(tool.spec.name, took, failed=failed, about=one_line(about)))
        return found
