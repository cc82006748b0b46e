"""The whole way: an agent, its boundary, the loop, the real SDK, a socket; and the same from a recording."""

import asyncio
from pathlib import Path
from typing import Any, Final

from retinue.agents.boundary import Boundary
from retinue.agents.local import LocalContext
from retinue.agents.prompted import PromptedAgent, Toolbox
from retinue.agents.registry import Registry
from retinue.contract.definition import Definition, Skill
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.contract.task import Task
from retinue.engine.base import Outside
from retinue.llm.conversation import Conversation, converse
from retinue.llm.models import Models
from retinue.llm.port import LanguageModel, ToolCall, ToolResult
from retinue.llm.recording import Recorder, Replay
from retinue.tools.port import ToolContext, ToolOutput
from tests.llm.wire.doors import ADD, KEY, Door, asking, every, run
from tests.llm.wire.script import Call, Line, Mishap, Refusal, Reply, tools_in, turns_in
from tests.llm.wire.server import WireServer

ANSWER: Final[JsonMapping] = {
    "type": "object",
    "properties": {"sum": {"type": "integer"}},
    "required": ["sum"],
    "additionalProperties": False,
}


class Adder:
    """A tool."""

    spec = ADD

    async def use(self, arguments: JsonMapping, grip: ToolContext, /) -> ToolOutput:
        return ToolOutput(str(arguments["left"] + arguments["right"]))


def agent_on(model: LanguageModel) -> PromptedAgent:
    skill = Skill(
        name="add_up",
        description="Adds up.",
        input_schema={"type": "object", "properties": {}, "additionalProperties": False},
        output_schema=ANSWER,
    )
    definition = Definition(
        name="adder",
        version="1.0",
        description="Adds numbers up. Use for sums. Returns the sum.",
        instructions="You add numbers with your tool.",
        skills=(skill,),
        tools=("add",),
    )
    return PromptedAgent(definition, models=Models.only(model), toolbox=Toolbox({"add": Adder()}))


async def called(model: LanguageModel) -> Result:
    """One call through the boundary; waiting between attempts takes no time."""

    async def pause(seconds: float) -> None:
        waited.append(seconds)

    waited: list[float] = []
    agent = agent_on(model)
    task = Task(id="call", agent="adder", instruction="1 + 2?")
    async with LocalContext(outside=Outside(pause=pause)) as context:
        result = await Boundary(Registry()).call_agent(agent, task, context)
    assert len(waited) <= result.retries
    return result


def asked(door: Door, lines: list[Line]) -> tuple[Result, WireServer]:
    with WireServer(lines) as server:
        model = door.at(server)
        return run(model, called(model)), server


def given(body: dict[str, Any]) -> Reply:
    """The answer in the form that the request asks for: as the arguments of a tool where it offers one for that."""
    own = [name for name in tools_in(body) if name != "add"]
    return Reply("", (Call(own[0], {"sum": 3}, "last"),)) if own else Reply('{"sum": 3}')


@every
def test_an_agent_uses_its_tool_and_answers_by_its_schema(door: Door) -> None:
    number = 0

    def script(body: dict[str, Any]) -> Reply:
        nonlocal number
        number += 1
        return Reply("", (Call("add", {"left": 1, "right": 2}),), tokens_in=100) if number == 1 else given(body)

    with WireServer(script) as server:
        model = door.at(server)
        result = run(model, called(model))
    assert (result.outcome, result.data) == ("success", {"sum": 3})
    assert [(trace.tool, trace.output) for trace in result.traces] == [("add", "3")]
    assert result.usage is not None
    assert (result.usage.requests, result.usage.tokens_in, result.usage.model) == (2, 120, door.model)
    assert result.usage.cost is not None


@every
def test_an_answer_that_breaks_its_schema_is_corrected_in_the_same_conversation(door: Door) -> None:
    result, server = asked(door, [Reply("Three, I think."), Reply('{"sum": "3"}'), Reply('{"sum": 3}')])
    assert (result.data, result.retries) == ({"sum": 3}, 2)
    assert "/sum" in str(turns_in(server.asked[2].body)[-1])
    assert len(turns_in(server.asked[2].body)) > len(turns_in(server.asked[0].body))


@every
def test_a_refused_key_ends_at_once(door: Door) -> None:
    result, server = asked(door, [Refusal(401, f"Bad key {KEY}.")] * 3)
    assert result.fault is not None
    assert (result.fault.code, len(server.asked)) == ("unauthenticated", 1)
    assert KEY not in result.to_json_text()


@every
def test_an_overloaded_provider_is_asked_again_after_the_time_it_says(door: Door) -> None:
    result, server = asked(door, [Refusal(529, "Overloaded.", retry_after="5"), Mishap("cut"), Reply('{"sum": 3}')])
    assert (result.data, len(server.asked)) == ({"sum": 3}, 3)
    assert [attempt.fault.code for attempt in result.attempts if attempt.fault] == ["unavailable", "network_error"]


@every
def test_a_recorded_conversation_is_replayed_without_the_provider(door: Door, tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    request = asking("1 + 2?", tools=(ADD,))

    async def use(wanted: ToolCall) -> ToolResult:
        return ToolResult(wanted.id, wanted.name, "3")

    async def recorded() -> Conversation:
        recorder = Recorder(model, path)
        try:
            return await converse(recorder, request, call_tool=use, on_text=print)
        finally:
            await recorder.close()

    with WireServer([Reply("", (Call("add", {"left": 1, "right": 2}),)), Reply("It is 3.")]) as server:
        model = door.at(server)
        first = asyncio.run(recorded())
    again = asyncio.run(converse(Replay(path), request, call_tool=use))
    assert (again.text, again.usage) == (first.text, first.usage)
    assert KEY not in path.read_text(encoding="utf-8")
