"""What goes wrong at a provider or on the way, and which of our errors it becomes."""

import asyncio
import socket
from typing import Any

import pytest

from retinue.contract.fault import Fault
from retinue.errors import (
    DeadlineExceeded,
    InvalidInput,
    NetworkError,
    OutputInvalid,
    RetinueError,
    Unauthenticated,
    Unavailable,
    UnknownName,
)
from retinue.llm.models import Models, ProviderSettings
from retinue.llm.port import AnswerShape, ToolCall, ToolResult
from tests.llm.wire.doors import ADD, DOORS, KEY, Door, ask, asking, every, refused, run, talk
from tests.llm.wire.script import Call, Line, Mishap, Refusal, Reply, turns_in
from tests.llm.wire.server import WireServer

streamed_or_not = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])

FAULTS: list[tuple[str, Line, type[RetinueError]]] = [
    ("bad key", Refusal(401, "Incorrect key."), Unauthenticated),
    ("not allowed", Refusal(403, "Not for you."), Unauthenticated),
    ("no such model", Refusal(404, "The model does not exist."), UnknownName),
    ("bad request", Refusal(400, "Nonsense."), InvalidInput),
    ("too large", Refusal(413, "Too large."), InvalidInput),
    ("rate", Refusal(429, "Slow down."), Unavailable),
    ("broken", Refusal(500, "Oops."), Unavailable),
    ("bad gateway", Refusal(502, "Nobody there."), Unavailable),
    ("maintenance", Refusal(503, "Later."), Unavailable),
    ("overloaded", Refusal(529, "Overloaded."), Unavailable),
    ("cut", Mishap("cut"), NetworkError),
    ("ended", Mishap("ended"), NetworkError),
    ("garbled", Mishap("garbled"), OutputInvalid),
    ("foreign", Mishap("foreign"), OutputInvalid),
]


@every
@streamed_or_not
@pytest.mark.parametrize(("line", "kind"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
def test_each_fault_becomes_its_error_after_one_request(
    door: Door, streamed: bool, line: Line, kind: type[RetinueError]
) -> None:
    with WireServer([line, Reply("a second request was made")]) as server:
        error = refused(door.at(server), streamed=streamed)
    assert type(error) is kind
    assert error.hint
    assert len(server.asked) == 1
    assert KEY not in Fault.from_error(error).to_json_text()
    assert KEY not in str(error)


@every
@pytest.mark.parametrize("status", [429, 503])
def test_how_long_to_wait_is_kept(door: Door, status: int) -> None:
    with WireServer([Refusal(status, "Slow down.", retry_after="7")]) as server:
        error = refused(door.at(server))
    assert error.retry_after_s == 7.0


@every
@pytest.mark.parametrize("said", ["soon", "-3", "inf", "nan", "9" * 400])
def test_nonsense_about_waiting_is_not_kept(door: Door, said: str) -> None:
    with WireServer([Refusal(429, "Slow down.", retry_after=said)]) as server:
        error = refused(door.at(server))
    assert error.retry_after_s is None or 0 <= error.retry_after_s < 1e9


@every
def test_an_error_in_the_middle_of_a_stream_is_an_error(door: Door) -> None:
    with WireServer([Mishap("late")]) as server:
        error = refused(door.at(server), streamed=True)
    assert isinstance(error, Unavailable)


@every
@streamed_or_not
def test_silence_ends_with_the_time(door: Door, streamed: bool) -> None:
    with WireServer([Mishap("silent")]) as server:
        error = refused(door.at(server), asking(timeout_s=0.2), streamed=streamed)
    assert isinstance(error, DeadlineExceeded)


@every
def test_a_slow_drip_ends_with_the_time(door: Door) -> None:
    with WireServer([Mishap("slow", pause_s=0.1, reply=Reply("one two three four", pieces=20))]) as server:
        error = refused(door.at(server), asking(timeout_s=0.3), streamed=True)
    assert isinstance(error, DeadlineExceeded)


@every
@streamed_or_not
def test_an_empty_answer_is_no_answer(door: Door, streamed: bool) -> None:
    with WireServer([Mishap("empty")] * 4) as server:
        model = door.at(server)
        try:
            said = talk(model, asking(), on_text=print if streamed else None)
        except RetinueError as error:
            stopped: RetinueError | None = error
        else:
            stopped = said.error
    assert isinstance(stopped, OutputInvalid)


@every
def test_nobody_at_the_address_is_a_network_error(door: Door) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        model = door.models(f"http://127.0.0.1:{taken.getsockname()[1]}").get(door.model)
        error = refused(model)
    assert isinstance(error, NetworkError)
    assert error.detail.get("reached") is False


@every
def test_a_missing_key_names_its_variable(door: Door) -> None:
    with pytest.raises(Unauthenticated) as caught:
        door.models("http://127.0.0.1:9", key="").get(door.model)
    assert door.variable in caught.value.hint


@every
def test_a_key_that_the_provider_repeats_is_not_passed_on(door: Door) -> None:
    with WireServer([Refusal(401, f"Incorrect API key provided: {KEY}.")]) as server:
        error = refused(door.at(server))
    assert KEY not in Fault.from_error(error).to_json_text()
    assert door.variable in error.hint


@every
def test_what_a_provider_says_is_shown_harmlessly(door: Door) -> None:
    with WireServer([Refusal(400, "\x1b[2Jwiped\u202e" + "x" * 100_000)]) as server:
        error = refused(door.at(server))
    said = Fault.from_error(error).to_json_text()
    assert "\x1b" not in error.message
    assert "\u202e" not in error.message
    assert len(said) < 5_000


@pytest.mark.parametrize(
    ("provider", "wrong", "right"),
    [
        ("openai", "gpt-5.6-lunna", "gpt-5.6-luna"),
        ("anthropic", "claude-hiaku-4-5", "claude-haiku-4-5"),
        ("google", "gemini-3.8-flsh", "gemini-3.8-flash"),
    ],
)
def test_an_unknown_model_names_the_nearest(provider: str, wrong: str, right: str) -> None:
    (door,) = (door for door in DOORS if door.provider == provider)
    with WireServer([Refusal(404, f"models/{wrong} is not found.")]) as server:
        error = refused(door.models(server.url).get(f"{provider}:{wrong}"))
    assert isinstance(error, UnknownName)
    assert f"{provider}:{right}" in error.suggestions


def test_an_unknown_provider_names_the_nearest() -> None:
    with pytest.raises(UnknownName) as caught:
        Models(environment={}).get("antropic:claude-haiku-4-5")
    assert any("anthropic" in each for each in caught.value.suggestions)


@pytest.mark.parametrize("door", [door for door in DOORS if door.provider != "google"], ids=lambda door: door.provider)
def test_arguments_that_are_no_json_are_told_to_the_model(door: Door) -> None:
    """Google's format cannot hold them at all; whole, neither can Anthropic's and Bedrock's: only their streams can."""
    seen: list[ToolCall] = []

    async def use(wanted: ToolCall) -> ToolResult:
        seen.append(wanted)
        return ToolResult(wanted.id, wanted.name, "3")

    script = [Reply("", (Call("add", '{"left": 1, "rig'),)), Reply("Never mind.")]
    with WireServer(script) as server:
        said = talk(door.at(server), asking(tools=(ADD,)), call_tool=use, on_text=print)
    assert (said.text, seen) == ("Never mind.", [])
    assert "arguments of `add`" in str(turns_in(server.asked[1].body)[-1])


@streamed_or_not
def test_arguments_that_a_format_cannot_hold_are_no_answer(streamed: bool) -> None:
    (google,) = (door for door in DOORS if door.provider == "google")
    with WireServer([Reply("", (Call("add", '{"left": 1, "rig'),))]) as server:
        error = refused(google.at(server), asking(tools=(ADD,)), streamed=streamed)
    assert isinstance(error, OutputInvalid)


@every
def test_an_unknown_tool_is_told_to_the_model(door: Door) -> None:
    async def use(wanted: ToolCall) -> ToolResult:
        raise AssertionError(wanted)

    with WireServer([Reply("", (Call("launch", {}),)), Reply("I cannot.")]) as server:
        said = talk(door.at(server), asking(tools=(ADD,)), call_tool=use)
    assert said.text == "I cannot."
    assert "add" in str(turns_in(server.asked[1].body)[-1])


@every
def test_uses_with_the_same_id_are_kept_apart(door: Door) -> None:
    seen: list[str] = []

    async def use(wanted: ToolCall) -> ToolResult:
        seen.append(wanted.id)
        return ToolResult(wanted.id, wanted.name, "3")

    twice = (Call("add", {"left": 1, "right": 2}, "same"), Call("add", {"left": 3, "right": 4}, "same"))
    with WireServer([Reply("", twice), Reply("Done.")]) as server:
        said = talk(door.at(server), asking(tools=(ADD,)), call_tool=use)
    assert said.text == "Done."
    assert len(set(seen)) == 2


@every
@pytest.mark.parametrize("text", ["I would rather not.", '{"colour": 3}', "[1, 2]"])
def test_an_answer_that_breaks_its_shape_comes_back_as_it_is(door: Door, text: str) -> None:
    """Judging it is the boundary's: it asks again with the findings."""
    schema = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
    with WireServer([Reply(text)]) as server:
        response, _ = ask(door.at(server), asking(shape=AnswerShape(schema)))
    assert response.turn.text == text


@every
def test_cancellation_ends_the_request(door: Door) -> None:
    async def cancel() -> None:
        task = asyncio.create_task(model.respond(asking()))
        assert await asyncio.to_thread(server.was_asked.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with WireServer([Mishap("silent")]) as server:
        model = door.at(server)
        run(model, cancel())


@every
def test_a_loop_that_never_ends_is_ended(door: Door) -> None:
    def script(body: dict[str, Any]) -> Line:
        number = len(turns_in(body))
        return Reply("", (Call("add", {"left": number, "right": 1}, f"call_{number}"),))

    async def use(wanted: ToolCall) -> ToolResult:
        return ToolResult(wanted.id, wanted.name, "3")

    with WireServer(script) as server:
        said = talk(door.at(server), asking(tools=(ADD,)), call_tool=use, max_turns=6)
    assert said.error is not None
    assert (said.requests, len(server.asked)) == (6, 6)


def test_an_address_of_ones_own_that_wants_a_key_is_told_how_to_get_one() -> None:
    with WireServer([Refusal(401, "Who are you?")]) as server:
        reached = ProviderSettings(base_url=f"{server.url}/v1")
        models = Models(providers={"openai": reached}, environment={"OPENAI_API_KEY": KEY})
        error = refused(models.get("openai:some-model"))
    assert isinstance(error, Unauthenticated)
    assert "`models.key_variable.openai`" in error.hint
    assert "OPENAI_API_KEY" not in error.hint
