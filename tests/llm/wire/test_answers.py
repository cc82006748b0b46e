"""What the real SDKs make of good answers: plain, streamed, with tools, to a schema."""

import asyncio
import re
from typing import Any, cast

import pytest

from retinue.contract.definition import ToolSpec
from retinue.contract.json import dumps, loads
from retinue.contract.schema import compile as compiled
from retinue.llm.port import AnswerShape, AssistantMessage, Request, ToolCall, ToolResult, ToolResults, UserMessage
from retinue.llm.pydantic_ai_model import PydanticAIModel
from tests.llm.wire.doors import ADD, DOORS, KEY, Door, ask, asking, every, run, talk
from tests.llm.wire.script import Call, Reply, tools_in, turns_in
from tests.llm.wire.server import WireServer

streamed_or_not = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["colour", "count"],
    "additionalProperties": False,
}


@every
@streamed_or_not
def test_text_comes_back_with_what_it_took(door: Door, streamed: bool) -> None:
    with WireServer([Reply("Hello, you there.", tokens_in=120, tokens_out=7, tokens_cached=100)]) as server:
        response, heard = ask(door.at(server), asking("Hi.", instructions="Be kind."), streamed=streamed)
    usage = response.usage
    assert response.turn.text == "Hello, you there."
    assert response.stop == "end"
    assert (usage.tokens_in, usage.tokens_out, usage.tokens_cached, usage.requests) == (120, 7, 100, 1)
    assert usage.model == door.model
    assert usage.cost is not None
    assert usage.cost.usd == pytest.approx((20 * 2.0 + 100 * 0.2 + 7 * 10.0) / 1e6)
    assert usage.cost.price_date == "2026-01-01"
    assert "".join(heard) == ("Hello, you there." if streamed else "")
    assert len(heard) > 1 or not streamed
    (asked,) = server.asked
    header, before = door.key_header
    assert asked.path.startswith(door.path)
    assert asked.headers[header] == before + KEY
    assert "Be kind." in str(asked.body)


@every
@streamed_or_not
def test_uses_of_tools_come_back_whole(door: Door, streamed: bool) -> None:
    calls = (Call("add", {"left": 1, "right": 2}, "one"), Call("add", {"left": 3, "right": 4}, "two"))
    with WireServer([Reply("Let me see.", calls)]) as server:
        response, _ = ask(door.at(server), asking(tools=(ADD,)), streamed=streamed)
    assert response.stop == "tools"
    assert response.turn.text == "Let me see."
    assert response.turn.tool_calls == (
        ToolCall("one", "add", {"left": 1, "right": 2}, response.turn.tool_calls[0].raw),
        ToolCall("two", "add", {"left": 3, "right": 4}, response.turn.tool_calls[1].raw),
    )


@every
@streamed_or_not
def test_a_loop_of_tools_runs_to_its_answer(door: Door, streamed: bool) -> None:
    script = [Reply("", (Call("add", {"left": 1, "right": 2}, "one"),)), Reply("It is 3.")]
    heard: list[str] = []

    async def use(wanted: ToolCall) -> ToolResult:
        numbers: Any = wanted.arguments
        return ToolResult(wanted.id, wanted.name, str(numbers["left"] + numbers["right"]))

    with WireServer(script) as server:
        said = talk(
            door.at(server), asking("1 + 2?", tools=(ADD,)), call_tool=use, on_text=heard.append if streamed else None
        )
    assert (said.text, said.requests, said.error) == ("It is 3.", 2, None)
    assert said.usage.tokens_in == 40
    assert "".join(heard) == ("It is 3." if streamed else "")
    later = turns_in(server.asked[1].body)[-1]
    assert ("one" in str(later), "3" in str(later)) == (True, True)


@every
@streamed_or_not
def test_an_answer_of_a_shape_is_json_text(door: Door, streamed: bool) -> None:
    """Whichever way the provider is held to it: by a response format, or by a tool of that schema."""

    def script(body: dict[str, Any]) -> Reply:
        tools = tools_in(body)
        if not tools:
            return Reply('{"colour": "red", "count": 3}')
        return Reply("", (Call(tools[0], {"colour": "red", "count": 3}),))

    with WireServer(script) as server:
        request = asking(shape=AnswerShape(SCHEMA, description="A colour and how many."))
        response, _ = ask(door.at(server), request, streamed=streamed)
    value: Any = loads(response.turn.text)
    assert compiled(SCHEMA).is_valid(value)
    assert (response.turn.tool_calls, response.stop) == ((), "end")
    assert "colour" in str(server.asked[0].body)


FREE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "parameters": {"type": "object", "description": "Any keys."}},
    "required": ["name", "parameters"],
    "additionalProperties": False,
}


@every
@pytest.mark.parametrize("as_tool", [False, True], ids=["shape", "tool"])
def test_an_object_with_free_keys_stays_open_on_its_way(door: Door, as_tool: bool) -> None:
    """Closed, it could only ever be answered with `{}`."""
    free = ToolSpec(name="call", description="Calls it.", input_schema=FREE)
    request = asking(tools=(free,)) if as_tool else asking(shape=AnswerShape(FREE, name="call"))
    with WireServer([Reply("x")]) as server:
        ask(door.at(server), request)
    (asked,) = server.asked
    sent = dumps(asked.body)
    assert sent.count("Any keys.") == 1
    assert {found.get("additionalProperties", True) for found in _with_description(asked.body, "Any keys.")} == {True}
    assert '"strict":true' not in sent


def _with_description(value: object, about: str) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [one for each in cast("list[object]", value) for one in _with_description(each, about)]
    if not isinstance(value, dict):
        return []
    found = cast("dict[str, Any]", value)
    own = [found] if found.get("description") == about else []
    return own + [one for each in found.values() for one in _with_description(each, about)]


OPTIONAL: dict[str, Any] = {f"p{each}": {"type": "string"} for each in range(30)}
NARROW: dict[str, dict[str, Any]] = {
    "many": {"type": "object", "properties": OPTIONAL, "required": ["p0"], "additionalProperties": False},
    "union": {
        "type": "object",
        "properties": {"note": {"type": ["string", "null"]}},
        "required": ["note"],
        "additionalProperties": False,
    },
    "recursive": {
        "type": "object",
        "properties": {"part": {"$ref": "#"}, "n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    },
}


@every
@pytest.mark.parametrize("effort", [None, "high"])
@pytest.mark.parametrize("schema", NARROW.values(), ids=NARROW)
def test_a_shape_that_no_grammar_takes_is_asked_for_another_way(door: Door, schema: Any, effort: Any) -> None:
    with WireServer([Reply('{"n": 1}')]) as server:
        response, _ = ask(door.at(server), asking(shape=AnswerShape(schema), effort=effort, max_tokens=20_000))
    assert response.turn.text == '{"n": 1}'
    assert all(key in dumps(server.asked[0].body) for key in schema["properties"])


@every
def test_a_shape_and_tools_go_together(door: Door) -> None:
    with WireServer([Reply("", (Call("add", {"left": 1, "right": 2}),))]) as server:
        response, _ = ask(door.at(server), asking(tools=(ADD,), shape=AnswerShape(SCHEMA)))
    assert [use.name for use in response.turn.tool_calls] == ["add"]


@every
@pytest.mark.parametrize("stop", ["length", "refused"])
def test_why_it_stopped_is_told(door: Door, stop: Any) -> None:
    with WireServer([Reply("Half an ans", stop=stop)]) as server:
        response, _ = ask(door.at(server))
    assert response.stop == stop


@every
def test_options_reach_the_provider(door: Door) -> None:
    with WireServer([Reply("x")]) as server:
        ask(door.at(server), asking(max_tokens=321, temperature=0.25))
    sent = dumps(server.asked[0].body)
    assert '"temperature":0.25' in sent
    assert re.search(r'"(max_tokens|max_completion_tokens|max_output_tokens|maxOutputTokens|maxTokens)":321', sent)


@pytest.mark.parametrize("door", [door for door in DOORS if "claude" in door.model], ids=lambda door: door.provider)
@pytest.mark.parametrize("max_tokens", [1_000, 16_384, 16_385])
def test_claude_thinks_where_that_leaves_an_answer(door: Door, max_tokens: int) -> None:
    """More to think than to say in all is refused by the provider."""
    with WireServer([Reply("x")]) as server:
        model = door.at(server)
        request = asking(effort="high", max_tokens=max_tokens)
        ask(model, request)
        assert isinstance(model, PydanticAIModel)
        assert model.unsupported(request) == (() if max_tokens > 16_384 else ("effort",))
    assert ('"budget_tokens":16384' in dumps(server.asked[0].body)) is (max_tokens > 16_384)


@every
def test_turns_of_another_provider_are_told_again(door: Door) -> None:
    """A conversation that began elsewhere, without its native form, goes on here."""
    turns = (
        UserMessage("1 + 2?"),
        AssistantMessage("I will add.", (ToolCall("one", "add", {"left": 1, "right": 2}),)),
        ToolResults((ToolResult("one", "add", "no such number", failed=True),)),
    )
    with WireServer([Reply("Sorry.")]) as server:
        response, _ = ask(door.at(server), Request(turns, tools=(ADD,)))
    assert response.turn.text == "Sorry."
    said = str(turns_in(server.asked[0].body))
    assert all(word in said for word in ("1 + 2?", "I will add.", "one", "no such number"))


@every
def test_one_model_serves_several_event_loops(door: Door) -> None:
    with WireServer([Reply("first"), Reply("second")]) as server:
        model = door.at(server)
        assert [ask(model)[0].turn.text for _ in range(2)] == ["first", "second"]


@every
def test_many_requests_at_once_do_not_mix(door: Door) -> None:
    def script(body: dict[str, Any]) -> Reply:
        text = str(turns_in(body)[-1])
        return Reply(next(word for word in text.replace("'", " ").split() if word.startswith("number")))

    async def all_of_them() -> list[str]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(model.respond(asking(f"number{each} please"))) for each in range(20)]
        return [task.result().turn.text for task in tasks]

    with WireServer(script) as server:
        model = door.at(server)
        assert run(model, all_of_them()) == [f"number{each}" for each in range(20)]


@every
@pytest.mark.slow
def test_ten_megabytes_are_read_and_cut(door: Door) -> None:
    with WireServer([Reply("word " * 2_000_000, pieces=50)]) as server:
        said = talk(door.at(server), asking())
    assert len(said.text) == 1_000_000
    assert said.error is not None
