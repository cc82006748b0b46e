"""A domain at work: an intent, a domain's prompt and its tools; several steps, and a trace of each (B23, B24, G23).

A tool that raises is tried once more, and its error is then its output. What a tool says is data for the model, and
never a reason to do what was not allowed: each call passes the grants of the run.
"""

import asyncio
import contextvars
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Final

from retinue.agents.extensions import Extension, ExtensionTool, Used
from retinue.agents.port import RunContext
from retinue.agents.prompted.about import subjects
from retinue.catalogue.personal_assistant.parameters import DomainResult, DomainStatus, ToolTrace
from retinue.catalogue.personal_assistant.route import only_reads, read_prompt
from retinue.contract.event import ToolCall
from retinue.contract.fault import Fault
from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping
from retinue.contract.result import Trace
from retinue.contract.tool import ToolSpec
from retinue.errors import AccessDenied, RetinueError
from retinue.telemetry import tool_span

__all__ = ["TIMED_OUT", "Domain", "broadcast", "without_writing"]

TIMED_OUT: Final = "Timed out"


@dataclass(slots=True)
class Domain:
    """One domain that was asked.

    Attributes:
        intent: What is wanted of it.
        traces: Its tool calls, filled while it works, so that those made before a time-out are kept (B24).
        missing: Names of what somebody would have to say.
        fault: What went wrong, when it was an error.
    """

    extension: Extension
    intent: str
    run: RunContext
    output: str = ""
    status: DomainStatus = "done"
    traces: list[Trace] = field(default_factory=list[Trace])
    duration_ns: int = 0
    missing: tuple[str, ...] = ()
    fault: Fault | None = None

    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools that may be used here."""
        return tuple(spec for spec in map(_spec, self.extension.tools) if self.run.grants.offers(spec))

    async def use(self, name: str, arguments: JsonMapping) -> Used:
        """Use a tool.

        Raises:
            AccessDenied: The run may not use it, or there is none of that name.
            InvalidInput: The arguments are not what it takes.
        """
        tool = self.extension.tool(name)
        if tool is None or not self.run.grants.offers(_spec(tool)):
            there = ", ".join(spec.name for spec in self.specs()) or "none"
            raise AccessDenied(
                f"`{self.extension.name}` has no tool {name[:80]!r} to use.", hint=f"Available: {there}."
            )
        # Whoever asks an assistant to note something has allowed it; only a rule that says otherwise holds.
        verdict = self.run.grants.verdict(_spec(tool), *subjects(name, arguments))
        if verdict.word == "deny" or (verdict.word == "ask" and verdict.reason.startswith("the rule ")):
            raise AccessDenied(f"`{name}` is not used: {verdict.reason}.", hint="Do without it.")
        with tool_span(name) as span:
            used = await tool.use(arguments)
            if used.failed:
                span.fail("internal_error")  # it raised, whatever that was
        self.traces.append(used.trace)
        self.run.emit(ToolCall(name, used.duration_ns, used.failed, dumps(arguments)[:120]))
        return used

    async def use_directly(self, tool: str, arguments: JsonMapping) -> None:
        """Use the very tool that the caller named, with the caller's arguments."""
        used = await self.use(tool, arguments)
        self.output, self.status = used.output, "failed" if used.failed else "done"

    async def work_by_rules(self) -> None:
        """Do what the intent says without a model."""
        today = date.today()  # noqa: DTZ011 - the person's own day is meant
        outputs: list[str] = []
        for line in self.intent.splitlines():
            for request in await asyncio.to_thread(read_prompt, line, [self.extension], today=today):
                if request.tool is None:
                    outputs.append(f"None of the tools is for {request.clause[:200]!r}.")
                elif request.missing:
                    self.status, self.missing = "asks", request.missing
                    outputs.append(f"For `{request.tool.name}` I must know: {', '.join(request.missing)}.")
                else:
                    used = await self.use(request.tool.name, request.arguments or {})
                    self.status = "failed" if used.failed else self.status
                    outputs.append(used.output)
        self.output = "\n".join(outputs)

    async def run_timed(self, work: Callable[["Domain"], Awaitable[None]]) -> "Domain":
        """Do `work`; what goes wrong becomes the output."""
        begun = time.perf_counter_ns()
        try:
            await work(self)
        except RetinueError as error:
            self.status, self.output = "failed", " ".join(filter(None, (error.message, error.hint)))
            self.fault = Fault.from_error(error)
        finally:
            self.duration_ns = time.perf_counter_ns() - begun
        return self

    def result(self) -> DomainResult:
        """What it came to."""
        traces = tuple(
            ToolTrace(
                tool=trace.tool,
                output=trace.output,
                args=trace.args,
                duration_secs=None if trace.duration_ns is None else trace.duration_ns / 1e9,
            )
            for trace in self.traces
        )
        return DomainResult(
            name=self.extension.name,
            intent=self.intent,
            output=self.output,
            status=self.status,
            traces=traces,
            duration_secs=self.duration_ns / 1e9,
        )


def without_writing(extension: Extension) -> Extension:
    """The extension with those of its tools that change nothing: all that a question may use."""
    return replace(extension, tools=tuple(filter(only_reads, extension.tools)))


def _spec(tool: ExtensionTool) -> ToolSpec:
    """The tool as a model is told of it; whether it only reads is told by its name (B21)."""
    return tool.spec.model_copy(update={"effects": ("read",) if only_reads(tool) else ("read", "write")})


async def broadcast(
    domains: Sequence[Domain], work: Callable[[Domain], Awaitable[None]], *, in_threads: bool, timeout_s: float
) -> list[Domain]:
    """Let all of `domains` work at once under one deadline; whoever is late is "Timed out", with its traces (B24).

    In threads, each has a loop of its own, for tools that block (B10). A thread cannot be stopped: one that is late
    goes on behind, and what it still does is not waited for.
    """
    begin = _begin_in_thread if in_threads else asyncio.ensure_future
    tasks = [begin(domain.run_timed(work)) for domain in domains]
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):  # whatever ends the waiting, `gather` cancels those that are not done
            await asyncio.gather(*tasks, return_exceptions=True)
    return [
        replace(one, output=TIMED_OUT, status="timed out", traces=list(one.traces), duration_ns=int(timeout_s * 1e9))
        if task.cancelled()
        else task.result()
        for one, task in zip(domains, tasks, strict=True)
    ]


def _begin_in_thread(work: Coroutine[Any, Any, Domain]) -> "asyncio.Future[Domain]":
    future: Future[Domain] = Future()
    future.set_running_or_notify_cancel()  # before the thread begins: a future cancelled earlier would take no result
    context = contextvars.copy_context()

    def body() -> None:
        try:
            future.set_result(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits
            future.set_exception(error)

    threading.Thread(target=context.run, args=(body,), daemon=True, name="assistant-domain").start()
    return asyncio.wrap_future(future)
