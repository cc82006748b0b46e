"""What Retinue adds to a model: the same scripted model asked through us and through pydantic-ai alone.

Every subject answers one question with one call of a tool, over a `FunctionModel` that takes no time, so what is
measured is what is around the model. Subjects take turns; the figures are medians. A wrong answer ends it.
"""

import asyncio
import gc
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_graph import GraphBuilder, StepContext
from pydantic_graph.join import reduce_list_append

from bench.table import Row, peak_mb
from retinue.agents.boundary import Boundary
from retinue.agents.local import LocalContext
from retinue.agents.prompted import PromptedAgent, Toolbox
from retinue.agents.registry import Registry
from retinue.contract.definition import Definition, Skill, ToolSpec
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Delegation, Plan
from retinue.contract.task import Task
from retinue.engine.inprocess import InProcessEngine
from retinue.llm.conversation import converse
from retinue.llm.models import Models
from retinue.llm.port import Request, ToolCall, ToolResult, UserMessage
from retinue.llm.pydantic_ai_model import PydanticAIModel
from retinue.orchestration.orchestrator import workflows
from retinue.orchestration.run_request import RUN_PLAN, RunRequest
from retinue.tools.port import ToolContext, ToolOutput

__all__ = ["CROWDS", "WrongAnswer", "measure"]

_QUESTION: Final = "What is 1 + 2?"
_ANSWER: Final = "It is 3."
_INSTRUCTIONS: Final = "You add numbers. Use the tool."
_CONCURRENT: Final = 1_000
_MANY: Final = 50
_BRANCHES: Final = ((3, 20), (50, 5), (1_000, 1))
_ASKED: Final[JsonMapping] = {"type": "object", "properties": {}, "additionalProperties": False}
_SPEC: Final = ToolSpec(
    name="add",
    description="Adds two numbers.",
    input_schema={
        "type": "object",
        "properties": {"left": {"type": "integer"}, "right": {"type": "integer"}},
        "required": ["left", "right"],
        "additionalProperties": False,
    },
)


class WrongAnswer(Exception):
    """The answer is not right: how long it took is of no interest."""


def _said(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """The model: it asks for the tool, and repeats what that says."""
    for part in messages[-1].parts:
        if isinstance(part, ToolReturnPart):
            return ModelResponse([TextPart(f"It is {part.content}.")])
    return ModelResponse([ToolCallPart("add", {"left": 1, "right": 2}, tool_call_id="one")])


async def _streamed(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    """The same model, heard while it speaks: an agent of ours always is."""
    if any(isinstance(part, ToolReturnPart) for part in messages[-1].parts):
        yield _ANSWER
    else:
        yield {0: DeltaToolCall("add", '{"left": 1, "right": 2}', tool_call_id="one")}


def _see(answer: object) -> None:
    if answer != _ANSWER:
        raise WrongAnswer(repr(answer))


# The subjects: pydantic-ai alone.

_THEIRS: Final = Agent(FunctionModel(_said), instructions=_INSTRUCTIONS)


@_THEIRS.tool_plain
def add(left: int, right: int) -> str:
    """Adds two numbers."""
    return str(left + right)


async def _their_agent() -> None:
    _see((await _THEIRS.run(_QUESTION)).output)


async def _their_branches(branches: int) -> None:
    for run in await asyncio.gather(*(_THEIRS.run(_QUESTION) for _ in range(branches))):
        _see(run.output)


def _their_graph() -> Callable[[int], Awaitable[None]]:
    builder = GraphBuilder(input_type=int, output_type=list[str])

    @builder.step
    async def spread(ctx: StepContext[None, None, int]) -> list[int]:
        return list(range(ctx.inputs))

    @builder.step
    async def branch(ctx: StepContext[None, None, int]) -> str:  # noqa: ARG001 - its place and name are fixed
        return (await _THEIRS.run(_QUESTION)).output

    join = builder.join(reduce_list_append, initial_factory=list[str])
    builder.add(
        builder.edge_from(builder.start_node).to(spread),
        builder.edge_from(spread).map().to(branch),
        builder.edge_from(branch).to(join),
        builder.edge_from(join).to(builder.end_node),
    )
    graph = builder.build()

    async def once(branches: int) -> None:
        for answer in await graph.run(inputs=branches):
            _see(answer)

    return once


# The subjects: ours, from the bare loop up to orchestrations.

_MODEL: Final = PydanticAIModel(FunctionModel(_said, stream_function=_streamed), name="scripted:function")


class _Add:
    spec = _SPEC

    async def use(self, arguments: JsonMapping, grip: ToolContext, /) -> ToolOutput:  # noqa: ARG002 - the port gives it
        return ToolOutput(str(arguments["left"] + arguments["right"]))


def _ours() -> PromptedAgent:
    definition = Definition(
        name="adder",
        version="1.0",
        description="Adds numbers.",
        instructions=_INSTRUCTIONS,
        skills=(Skill(name="answer", description="Answers a question.", input_schema=_ASKED),),
        tools=("add",),
    )
    return PromptedAgent(definition, models=Models.only(_MODEL), toolbox=Toolbox({"add": _Add()}))


async def _our_loop(*, streamed: bool = False) -> None:
    async def use(wanted: ToolCall) -> ToolResult:
        numbers: Any = wanted.arguments
        return ToolResult(wanted.id, wanted.name, str(numbers["left"] + numbers["right"]))

    request = Request((UserMessage(_QUESTION),), instructions=_INSTRUCTIONS, tools=(_SPEC,))
    heard: list[str] = []
    _see((await converse(_MODEL, request, call_tool=use, on_text=heard.append if streamed else None)).text)


async def _our_streamed_loop() -> None:
    await _our_loop(streamed=True)


def _our_agent() -> Callable[[], Awaitable[None]]:
    agent, boundary = _ours(), Boundary(Registry())

    async def once() -> None:
        task = Task(id="bench", agent="adder", skill="answer", instruction=_QUESTION)
        async with LocalContext() as run:
            result = await boundary.call_agent(agent, task, run)
        if result.outcome != "success":
            raise WrongAnswer(result.to_json_text())
        _see(result.content)

    return once


def _payload(branches: int) -> JsonMapping:
    nodes = [
        Delegation(id=f"b{number}", agent="adder", skill="answer", instruction=_QUESTION) for number in range(branches)
    ]
    return RunRequest(plan=Plan(nodes=tuple(nodes)), answer="collected").to_json()


async def _orchestrated(engine: InProcessEngine, payload: JsonMapping, branches: int) -> None:
    result = await engine.result(await engine.start(RUN_PLAN, payload))
    if result.outcome != "success" or len(result.data["results"]) != branches:
        raise WrongAnswer(result.to_json_text())


# The measurements.


async def _taking_turns(subjects: Mapping[str, Callable[[], Awaitable[None]]], rounds: int) -> dict[str, float]:
    """Milliseconds of each subject, the median of `rounds`."""
    taken: dict[str, list[float]] = {name: [] for name in subjects}
    for number in range(rounds + 1):
        for name, once in subjects.items():
            if rounds < _MANY:
                gc.collect()  # what the subject before left behind is not this one's
            begun = time.perf_counter_ns()
            await once()
            if number:
                taken[name].append((time.perf_counter_ns() - begun) / 1e6)
    return {name: statistics.median(times) for name, times in taken.items()}


async def _one_call() -> list[Row]:
    subjects = {"whole": _our_loop, "loop": _our_streamed_loop, "agent": _our_agent(), "theirs": _their_agent}
    found = await _taking_turns(subjects, 200)
    theirs, ours = round(found["theirs"], 2), "goal: pydantic-ai's own Agent"
    added = found["agent"] - found["loop"]
    return [
        Row("one tool call, our loop over pydantic-ai's model", found["whole"], "ms", theirs, note=ours),
        Row("… streamed", found["loop"], "ms", note="an agent's words are heard as they come"),
        Row("… streamed, as an agent through the boundary", found["agent"], "ms", theirs, note=ours),
        Row("… of that: boundary, permissions, events", added, "ms", 0.5),
    ]


async def _branches() -> list[Row]:
    rows: list[Row] = []
    graph = _their_graph()
    async with InProcessEngine(workflows(Registry([_ours()]))) as engine:
        for branches, rounds in _BRANCHES:
            payload = _payload(branches)
            subjects: dict[str, Callable[[], Awaitable[None]]] = {
                "ours": lambda payload=payload, branches=branches: _orchestrated(engine, payload, branches),
                "gather": lambda branches=branches: _their_branches(branches),
                "graph": lambda branches=branches: graph(branches),
            }
            found = await _taking_turns(subjects, rounds)
            theirs = round(min(found["gather"], found["graph"]), 1)
            note = f"pydantic-ai: gathered {found['gather']:.0f}, its graph {found['graph']:.0f}"
            rows.append(Row(f"{branches:,} branches, a tool call each", found["ours"], "ms", theirs, note=note))
    return rows


async def _our_crowd() -> None:
    async with InProcessEngine(workflows(Registry([_ours()]))) as engine:
        payload = _payload(3)
        await asyncio.gather(*(_orchestrated(engine, payload, 3) for _ in range(_CONCURRENT)))


async def _our_runs() -> None:
    async with InProcessEngine(workflows(Registry([_ours()]))) as engine:
        payload = _payload(1)
        await asyncio.gather(*(_orchestrated(engine, payload, 1) for _ in range(_CONCURRENT)))


async def _their_crowd() -> None:
    await asyncio.gather(*(_their_branches(3) for _ in range(_CONCURRENT)))


async def _their_runs() -> None:
    await _their_branches(_CONCURRENT)


CROWDS: Final[Mapping[str, Callable[[], Awaitable[None]]]] = {
    "our_crowd": _our_crowd,
    "our_runs": _our_runs,
    "their_crowd": _their_crowd,
    "their_runs": _their_runs,
}
"""A thousand at once: three-way orchestrations, and single runs."""


def _apart(name: str) -> tuple[float, float]:
    """Seconds, and the peak of memory in MB, of one crowd in a process of its own."""
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run(
        [sys.executable, "-m", "bench.models", name], cwd=root, check=True, capture_output=True, text=True
    )
    seconds, peak = map(float, done.stdout.split())
    return seconds, peak


def _crowds() -> list[Row]:
    rows: list[Row] = []
    for what, ours, theirs in (
        ("1,000 three-way orchestrations at once", "our_crowd", "their_crowd"),
        ("1,000 runs of one agent at once", "our_runs", "their_runs"),
    ):
        seconds, peak = _apart(ours)
        their_seconds, their_peak = _apart(theirs)
        rate, their_rate = _CONCURRENT / seconds, round(_CONCURRENT / their_seconds)
        rows += [
            Row(what, rate, "a second", their_rate, at_least=True, note=f"pydantic-ai, gathered: {their_rate}"),
            Row("… and their peak of memory", peak, "MB", note=f"pydantic-ai, gathered: {their_peak:.0f}"),
        ]
    return rows


def measure() -> list[Row]:
    """One tool call, branches, crowds."""
    return [
        Row(f"models: {row.name}", row.value, row.unit, row.goal, row.at_least, row.note)
        for row in (*asyncio.run(_one_call()), *asyncio.run(_branches()), *_crowds())
    ]


if __name__ == "__main__":
    _begun = time.perf_counter()
    asyncio.run(CROWDS[sys.argv[1]]())  # pyright: ignore[reportArgumentType] - an awaitable made by a coroutine function
    print(time.perf_counter() - _begun, peak_mb())
