"""A domain at work: what is asked of it, a domain's prompt and its tools; steps, and a trace of each (B23, B24, G23).

A tool that raises is tried once more, and its error is then its output. What a tool says is data for the model, and
never a reason to do what was not allowed: each call passes the grants of the run.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from retinue.agents.extensions import Extension, ToolRun
from retinue.agents.port import RunContext
from retinue.agents.prompted.permission_subjects import permission_subjects
from retinue.catalogue.personal_assistant.parameters import DomainResult, DomainStatus
from retinue.catalogue.personal_assistant.route import ToolRequest, only_reads
from retinue.contract.definition import ToolSpec
from retinue.contract.event import ToolCallEvent
from retinue.contract.fault import Fault
from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping
from retinue.contract.result import Trace
from retinue.contract.task import Question
from retinue.dialects.run_agent import ToolTraceMinimal
from retinue.engine.blocking import in_thread
from retinue.errors import AccessDenied, RetinueError
from retinue.telemetry import tool_span


@dataclass(slots=True)
class Domain:
    """One domain that was asked.

    Attributes:
        requests: What is wanted of it.
        traces: Its tool calls, filled while it works, so that those made before a time-out are kept (B24).
        questions: What somebody would have to say first.
        fault: What went wrong, when it was an error.
    """

    extension: Extension
    run: RunContext
    requests: list[ToolRequest] = field(default_factory=list[ToolRequest])
    output: str = ""
    status: DomainStatus = "done"
    traces: list[Trace] = field(default_factory=list[Trace])
    duration_ns: int = 0
    questions: list[Question] = field(default_factory=list[Question])
    fault: Fault | None = None

    @property
    def intent(self) -> str:
        """What is wanted of it, as text."""
        return "\n".join(request.clause for request in self.requests)

    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools that may be used here, as a model is told of them; whether one only reads its name tells (B21)."""
        specs = [
            tool.spec.model_copy(update={"effects": ("read",) if only_reads(tool) else ("read", "write")})
            for tool in self.extension.tools
        ]
        return tuple(spec for spec in specs if self.run.grants.offers(spec))

    async def use(self, name: str, arguments: JsonMapping) -> ToolRun:
        """Use a tool.

        Raises:
            AccessDenied: The run may not use it, or there is none of that name.
            InvalidInput: The arguments are not what it takes.
        """
        specs = {spec.name: spec for spec in self.specs()}
        tool, spec = self.extension.tool(name), specs.get(name)
        if tool is None or spec is None:
            hint = f"Available: {', '.join(specs) or 'none'}."
            raise AccessDenied(f"`{self.extension.name}` has no tool {name[:80]!r} to use.", hint=hint)
        # Whoever asks an assistant to note something has allowed it; only a rule that says otherwise holds.
        verdict = self.run.grants.verdict(spec, *permission_subjects(name, arguments))
        if verdict.word == "deny" or (verdict.word == "ask" and verdict.reason.startswith("the rule ")):
            raise AccessDenied(f"`{name}` is not used: {verdict.reason}.", hint="Do without it.")
        with tool_span(name) as span:
            outcome = await tool.use(arguments)
            if outcome.failed:
                span.fail("internal_error")  # it raised, whatever that was
        self.traces.append(outcome.trace)
        self.run.emit(ToolCallEvent(name, outcome.duration_ns, outcome.failed, dumps(arguments)[:120]))
        return outcome

    async def run_requests(self) -> None:
        """Use the tools that its requests name, without a model; what one lacks is asked for."""
        outputs: list[str] = []
        for request in self.requests:
            tool = request.tool.name if request.tool else ""
            if request.missing:
                self.status = "asks"
                self.questions += [
                    Question(id=f"{self.extension.name}_{one}", text=f"What is `{one}`, for {request.clause!r}?")
                    for one in request.missing
                ]
                outputs.append(f"For `{tool}` I must know: {', '.join(request.missing)}.")
            else:
                outcome = await self.use(tool, request.arguments)
                self.status = "failed" if outcome.failed else self.status
                outputs.append(outcome.output)
        self.output = "\n".join(outputs)

    async def run_timed(self, work: Callable[["Domain"], Awaitable[None]]) -> "Domain":
        """Do `work`; what goes wrong becomes the output."""
        start_ns = time.perf_counter_ns()
        try:
            await work(self)
        except RetinueError as error:
            self.status, self.output = "failed", " ".join(filter(None, (error.message, error.hint)))
            self.fault = Fault.from_error(error)
        finally:
            self.duration_ns = time.perf_counter_ns() - start_ns
        return self

    def result(self) -> DomainResult:
        """What it came to."""
        traces = tuple(
            ToolTraceMinimal(
                tool=one.tool, output=one.output, args=one.args, duration_secs=(one.duration_ns or 0) / 1e9
            )
            for one in self.traces
        )
        return DomainResult(
            name=self.extension.name,
            intent=self.intent,
            output=self.output,
            status=self.status,
            traces=traces,
            duration_secs=self.duration_ns / 1e9,
        )


async def broadcast(
    domains: Sequence[Domain],
    work: Callable[[Domain], Awaitable[None]],
    *,
    in_threads: bool,
    timeout_s: float | None,
) -> list[Domain]:
    """Let all of `domains` work at once under one deadline; whoever is late is "Timed out", with its traces (B24).

    In threads, each has a loop of its own, for tools that block (B10). A thread cannot be stopped: one that is late
    goes on behind, and what it still does is not waited for.
    """

    async def in_own_loop(domain: Domain) -> Domain:
        return await in_thread(lambda: asyncio.run(domain.run_timed(work)))

    start_ns = time.perf_counter_ns()
    tasks = [asyncio.ensure_future(in_own_loop(domain) if in_threads else domain.run_timed(work)) for domain in domains]
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):  # whatever ends the waiting, `gather` cancels those that are not done
            await asyncio.gather(*tasks, return_exceptions=True)
    elapsed_ns = time.perf_counter_ns() - start_ns
    # A copy of who is late: what a thread of it still does changes this no more.
    return [
        replace(one, output="Timed out", status="timed out", traces=[*one.traces], duration_ns=elapsed_ns)
        if task.cancelled()
        else task.result()
        for one, task in zip(domains, tasks, strict=True)
    ]
