"""Our port over models of pydantic-ai: what is sent, what comes back, and what each failure becomes."""

import asyncio
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import pytest
from pydantic_ai import exceptions as theirs
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.usage import RequestUsage

from retinue.contract.credentials import Cleaner
from retinue.contract.definition import ToolSpec
from retinue.contract.json import dumps, loads
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
from retinue.llm.budget_tracker import BudgetTracker
from retinue.llm.conversation import converse
from retinue.llm.port import (
    AnswerShape,
    AssistantMessage,
    Effort,
    Request,
    Response,
    ToolCall,
    ToolResult,
    ToolResults,
    Turn,
    UserMessage,
)
from retinue.llm.prices import Price
from retinue.llm.pydantic_ai_messages import NativeMessage
from retinue.llm.pydantic_ai_model import PydanticAIModel
from retinue.llm.tool_calls import MAX_ARGUMENTS
from retinue.llm.turns import turns_from_json, turns_to_json

READ = ToolSpec(
    name="read",
    description="Reads a file.",
    input_schema={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    effects=("read",),
)
SHAPE = AnswerShape(
    {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}, "count", "A count."
)
ASKED = Request((UserMessage("Go."),), instructions="Be brief.", tools=(READ,))


class Seen:
    """A function for `FunctionModel` that keeps what it was called with."""

    def __init__(self, *parts: Any, **facts: Any) -> None:
        self.parts, self.facts = parts, facts
        self.messages: list[ModelMessage] = []
        self.info: AgentInfo | None = None

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.messages, self.info = messages, info
        return ModelResponse(list(self.parts) or [TextPart("Done.")], **self.facts)

    @property
    def told(self) -> AgentInfo:
        assert self.info is not None
        return self.info


def respond(seen: Any, request: Request = ASKED, *, profile: ModelProfile | None = None, **options: Any) -> Response:
    model = PydanticAIModel(FunctionModel(seen, model_name="model", profile=profile), **options)
    return asyncio.run(model.respond(request))


# What is sent.


def test_turns_become_messages_and_tools_their_definitions() -> None:
    seen = Seen()
    turns = (
        UserMessage("Go."),
        AssistantMessage("Looking.", (ToolCall("1", "read", {"path": "a"}), ToolCall("2", "read", None, "{"))),
        ToolResults((ToolResult("1", "read", "text"), ToolResult("2", "read", "no", failed=True))),
        UserMessage("And now?"),
    )
    respond(seen, Request(turns, instructions="Be brief.", tools=(READ,)))
    first, second, third = seen.messages
    assert isinstance(first, ModelRequest)
    assert isinstance(second, ModelResponse)
    assert isinstance(third, ModelRequest)
    assert [type(part) for part in second.parts] == [TextPart, ToolCallPart, ToolCallPart]
    returned = [part for part in third.parts if isinstance(part, ToolReturnPart)]
    assert [(part.tool_call_id, part.outcome) for part in returned] == [("1", "success"), ("2", "failed")]
    assert isinstance(third.parts[-1], UserPromptPart)
    assert seen.told.instructions == "Be brief."
    (tool,) = seen.told.function_tools
    assert (tool.name, tool.description, tool.parameters_json_schema) == ("read", "Reads a file.", READ.input_schema)


def test_settings_are_those_of_the_request_and_nobody_tries_twice() -> None:
    seen = Seen()
    respond(seen, Request((UserMessage("Go."),), max_tokens=50, temperature=0.5, timeout_s=30))
    assert seen.told.model_settings == {"max_retries": 0, "max_tokens": 50, "temperature": 0.5, "timeout": 30}


def test_an_empty_turn_is_never_sent_empty() -> None:
    seen = Seen()
    respond(seen, Request((UserMessage(""), AssistantMessage(""), ToolResults((ToolResult("1", "read", ""),)))))
    texts = [getattr(part, "content", None) for message in seen.messages for part in message.parts]
    assert all(texts)


@pytest.mark.parametrize(("effort", "profile", "sent"), [
    ("high", ModelProfile(supports_thinking=True), "high"),
    ("high", ModelProfile(supports_thinking=False), None),
    (None, ModelProfile(supports_thinking=True), None),
])  # fmt: skip
def test_effort_is_sent_where_it_is_understood_and_reported_elsewhere(
    effort: Effort | None, profile: ModelProfile, sent: str | None
) -> None:
    seen = Seen()
    request = Request((UserMessage("Go."),), effort=effort)
    model = PydanticAIModel(FunctionModel(seen, profile=profile))
    asyncio.run(model.respond(request))
    assert seen.told.model_request_parameters.thinking == sent
    assert model.unsupported(request) == (("effort",) if effort and not sent else ())


def test_settings_that_a_model_ignores_are_not_sent_but_reported() -> None:
    class Deaf(FunctionModel):
        unsupported_settings = frozenset({"temperature", "timeout", "max_retries", "max_tokens"})

    seen = Seen()
    model = PydanticAIModel(Deaf(seen))
    request = Request((UserMessage("Go."),), temperature=0.1, timeout_s=5, max_tokens=7)
    asyncio.run(model.respond(request))
    assert not seen.told.model_settings
    assert model.unsupported(request) == ("temperature", "max_tokens")


def test_a_model_that_cannot_use_tools_refuses_them() -> None:
    with pytest.raises(InvalidInput, match="cannot use tools"):
        respond(Seen(), profile=ModelProfile(supports_tools=False))


# The shape of the answer.


def test_a_shape_is_asked_for_natively_where_the_model_can() -> None:
    seen = Seen(TextPart('{"n": 1}'))
    response = respond(seen, Request((UserMessage("Go."),), tools=(READ,), shape=SHAPE))
    asked = seen.told.model_request_parameters
    assert asked.output_mode == "native"
    assert asked.output_object is not None
    assert asked.output_object.json_schema == SHAPE.schema
    assert [tool.name for tool in seen.told.function_tools] == ["read"]
    assert response.turn.text == '{"n": 1}'


TOOLS_ONLY = ModelProfile(supports_json_schema_output=False, supports_tools=True)


def test_a_shape_is_asked_for_as_a_tool_otherwise() -> None:
    seen = Seen(TextPart("Here."), ToolCallPart("count", {"n": 1}, "1"))
    response = respond(seen, Request((UserMessage("Go."),), tools=(READ,), shape=SHAPE), profile=TOOLS_ONLY)
    (output,) = seen.told.output_tools
    assert (output.name, output.description) == ("count", "A count.")
    assert not seen.told.allow_text_output
    assert (response.turn.text, response.turn.tool_calls, response.stop) == ('{"n":1}', (), "end")
    assert response.turn.native is None


def test_an_answer_beside_uses_of_tools_waits_for_them() -> None:
    seen = Seen(ToolCallPart("read", {"path": "a"}, "1"), ToolCallPart("count", '{"n": 1}', "2"))
    response = respond(seen, Request((UserMessage("Go."),), tools=(READ,), shape=SHAPE), profile=TOOLS_ONLY)
    assert [each.name for each in response.turn.tool_calls] == ["read"]
    assert response.stop == "tools"
    assert response.turn.native is None


def test_the_tool_of_the_answer_is_never_mistaken_for_another() -> None:
    named_alike = AnswerShape(SHAPE.schema, "read")
    seen = Seen(ToolCallPart("read_", '{"n": 1}', "1"))
    response = respond(seen, Request((UserMessage("Go."),), tools=(READ,), shape=named_alike), profile=TOOLS_ONLY)
    assert seen.told.output_tools[0].name == "read_"
    assert response.turn.text == '{"n": 1}'


def test_a_shape_is_asked_for_in_words_at_last() -> None:
    seen = Seen(TextPart('{"n": 1}'))
    neither = ModelProfile(supports_json_schema_output=False, supports_tools=False)
    respond(seen, Request((UserMessage("Go."),), instructions="Be brief.", shape=SHAPE), profile=neither)
    assert seen.told.instructions is not None
    assert "Be brief." in seen.told.instructions
    assert '"integer"' in seen.told.instructions


# What comes back.


def test_text_and_uses_are_read_and_thinking_is_kept_in_the_native_form_only() -> None:
    parts = (ThinkingPart("Hm.", signature="signed"), TextPart("Look"), TextPart("ing."), ToolCallPart("read", '{"path":"a"}', "1"))  # fmt: skip
    response = respond(Seen(*parts))
    assert response.turn == AssistantMessage("Looking.", (ToolCall("1", "read", {"path": "a"}),))
    assert response.stop == "tools"
    assert isinstance(response.turn.native, NativeMessage)
    assert response.turn.native.message.parts[0].content == "Hm."


@pytest.mark.parametrize(("given", "arguments", "raw"), [
    (None, {}, ""),
    ("", {}, ""),
    ("{}", {}, ""),
    ({"a": 1}, {"a": 1}, ""),
    ("[1]", None, "[1]"),
    ('{"a": NaN}', None, '{"a": NaN}'),
    ('{"a": 1', None, '{"a": 1'),
])  # fmt: skip
def test_arguments_are_an_object_or_what_was_written(given: Any, arguments: Any, raw: str) -> None:
    (use,) = respond(Seen(ToolCallPart("read", given, "1"))).turn.tool_calls
    assert (use.arguments, use.raw) == (arguments, raw)


def test_arguments_of_ten_megabytes_are_not_kept() -> None:
    turn = respond(Seen(ToolCallPart("read", '{"a": "' + "x" * 10_000_000 + '"}', "1"))).turn
    assert turn.tool_calls[0].arguments is None
    assert len(turn.tool_calls[0].raw) == MAX_ARGUMENTS + 1
    assert turn.native is None


def test_ids_that_come_twice_are_told_apart_in_the_native_form_too() -> None:
    turn = respond(Seen(ToolCallPart("read", {}, "1"), TextPart("x"), ToolCallPart("read", {}, "1"), ToolCallPart("read", {}, "1_2"))).turn  # fmt: skip
    ids = [use.id for use in turn.tool_calls]
    assert len(set(ids)) == 3
    assert turn.native is not None
    assert [part.tool_call_id for part in turn.native.message.parts if isinstance(part, ToolCallPart)] == ids


@pytest.mark.parametrize(("reason", "stop"), [
    ("stop", "end"), ("length", "length"), ("content_filter", "refused"), ("error", "other"), (None, "end"),
])  # fmt: skip
def test_why_it_stopped_is_said(reason: Any, stop: str) -> None:
    assert respond(Seen(finish_reason=reason)).stop == stop


def test_usage_is_the_providers_and_its_cost_that_of_the_book() -> None:
    used = RequestUsage(input_tokens=1_000, output_tokens=100, cache_read_tokens=400)
    usage = respond(Seen(usage=used), name="anthropic:claude-haiku-4-5").usage
    assert (usage.tokens_in, usage.tokens_out, usage.tokens_cached, usage.requests) == (1_000, 100, 400, 1)
    assert usage.cost is not None
    assert usage.cost.usd == pytest.approx((600 * 1.0 + 400 * 0.1 + 100 * 5.0) / 1e6)
    assert usage.cost.price_id.endswith("anthropic:claude-haiku-4-5")


def test_an_unknown_model_has_usage_without_a_cost_and_a_price_of_ones_own_gives_it_one() -> None:
    used = RequestUsage(input_tokens=1_000, output_tokens=100)
    assert respond(Seen(usage=used)).usage.cost is None
    own = Price(1.0, 10.0, date="2026-01-01", source="mine")
    cost = respond(Seen(usage=used), price=own).usage.cost
    assert cost is not None
    assert cost.usd == pytest.approx(0.002)


def test_what_the_provider_bills_is_believed() -> None:
    used = RequestUsage(input_tokens=1_000, output_tokens=100, cost=Decimal("0.25"))
    cost = respond(Seen(usage=used), name="openrouter:some/model").usage.cost
    assert cost is not None
    assert (cost.usd, cost.price_id) == (0.25, "openrouter: as billed")


def test_usage_that_nobody_measured_is_absent() -> None:
    usage = respond(Seen(usage=RequestUsage(unmeasured_requests=1))).usage
    assert (usage.tokens_in, usage.tokens_out, usage.cost, usage.requests) == (None, None, None, 1)


@pytest.mark.parametrize(("told", "name"), [("model-20260101", "function:model"), ("fallback", "function:fallback")])
def test_another_model_that_answered_is_named(told: str, name: str) -> None:
    class Renames(FunctionModel):
        async def request(self, messages: Any, model_settings: Any, model_request_parameters: Any) -> ModelResponse:
            said = await super().request(messages, model_settings, model_request_parameters)
            said.model_name = told
            return said

    model = PydanticAIModel(Renames(Seen(), model_name="model"))
    assert asyncio.run(model.respond(ASKED)).usage.model == name


# Native turns.


def second_request(native_of: str, *, through_json: bool) -> list[ModelMessage]:
    """What is sent after a turn that the provider called `native_of` gave."""
    seen = Seen(ThinkingPart("Hm.", signature="signed"), ToolCallPart("read", {"path": "a"}, "1"))
    first = PydanticAIModel(FunctionModel(seen, model_name="model"), address=native_of)
    turn = asyncio.run(first.respond(ASKED)).turn
    turns: tuple[Turn, ...] = (UserMessage("Go."), turn, ToolResults((ToolResult("1", "read", "text"),)))
    if through_json:
        turns = turns_from_json(loads(dumps(turns_to_json(turns))))
    after = Seen()
    asyncio.run(
        PydanticAIModel(FunctionModel(after, model_name="model"), address="here").respond(Request(turns, tools=(READ,)))
    )
    return after.messages


@pytest.mark.parametrize("through_json", [False, True])
def test_a_turn_goes_back_to_its_provider_as_it_was_and_to_others_plainly(through_json: bool) -> None:
    own = second_request("here", through_json=through_json)[1]
    assert [type(part) for part in own.parts] == [ThinkingPart, ToolCallPart]
    other = second_request("elsewhere", through_json=through_json)[1]
    assert [type(part) for part in other.parts] == [ToolCallPart]


@pytest.mark.parametrize("stored", [{}, {"provider": "function here"}, {"provider": "function here", "message": {"kind": "nonsense"}}, {"provider": "function here", "message": {"kind": "request", "parts": []}}, 5])  # fmt: skip
def test_a_stored_native_form_that_is_none_is_passed_over(stored: Any) -> None:
    seen = Seen()
    turns = (UserMessage("Go."), AssistantMessage("Yes.", native=stored), UserMessage("And?"))
    asyncio.run(PydanticAIModel(FunctionModel(seen), address="here").respond(Request(turns)))
    assert [part.content for part in seen.messages[1].parts if isinstance(part, TextPart)] == ["Yes."]


# Streams.


async def pieces(_messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[str]:
    for piece in ("Do", "ne", "."):
        yield piece


def streamed(function: Any, request: Request = ASKED) -> tuple[Response, list[str]]:
    heard: list[str] = []
    model = PydanticAIModel(FunctionModel(stream_function=function))
    return asyncio.run(model.respond(request, on_text=heard.append)), heard


def test_text_is_heard_piece_by_piece_and_whole_in_the_end() -> None:
    response, heard = streamed(pieces)
    assert heard == ["Do", "ne", "."]
    assert response.turn.text == "Done."
    assert response.usage.tokens_out


def test_uses_of_tools_are_streamed_too() -> None:
    async def calls(_messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[dict[int, DeltaToolCall]]:
        yield {0: DeltaToolCall("read", '{"path"', tool_call_id="1")}
        yield {0: DeltaToolCall(None, ': "a"}')}

    response, heard = streamed(calls)
    assert response.turn.tool_calls == (ToolCall("1", "read", {"path": "a"}),)
    assert heard == []


def test_a_stream_without_end_is_left() -> None:
    async def endless(_messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[str]:
        while True:
            yield "x" * 100_000

    response, heard = streamed(endless)
    assert sum(map(len, heard)) < 3_000_000
    assert len(response.turn.text) < 3_000_000


def test_a_long_answer_is_streamed_even_when_nobody_listens() -> None:
    model = PydanticAIModel(FunctionModel(stream_function=pieces))
    assert asyncio.run(model.respond(Request((UserMessage("Go."),), max_tokens=50_000))).turn.text == "Done."


def test_a_stream_that_breaks_is_a_network_error() -> None:
    async def breaks(_messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[str]:
        yield "Do"
        raise theirs.ModelConnectionError("model", "peer closed", phase="read")

    with pytest.raises(NetworkError):
        streamed(breaks)


# Failures.

SECRET = "sk-proj-0123456789abcdefghijkl"


def http(status: int, category: Any = None, **facts: Any) -> theirs.ModelHTTPError:
    return theirs.ModelHTTPError.for_category(category, status_code=status, model_name="model", **facts)


@pytest.mark.parametrize(("error", "ours", "detail"), [
    (http(429, theirs.ModelRateLimitError), Unavailable, {"status": 429}),
    (http(402, theirs.ModelQuotaExceededError), Unavailable, {"status": 402, "retryable": False}),
    (http(503, theirs.ModelUnavailableError), Unavailable, {"status": 503}),
    (http(529, theirs.ModelOverloadedError), Unavailable, {"status": 529}),
    (http(500, theirs.ModelServerError), Unavailable, {"status": 500}),
    (http(408), Unavailable, {"status": 408}),
    (http(400, theirs.ModelRequestRejectedError), InvalidInput, {"status": 400}),
    (http(400, theirs.ModelContextWindowExceededError), InvalidInput, {"status": 400}),
    (http(401, theirs.ModelAuthenticationError), Unauthenticated, {"status": 401}),
    (http(404, theirs.ModelNotFoundError), UnknownName, {"status": 404}),
    (http(413), InvalidInput, {"status": 413}),
    (http(599), OutputInvalid, {"status": 599}),
    (theirs.ModelAPIError("model", "not JSON"), OutputInvalid, {}),
    (theirs.ModelConnectionError("model", "refused", phase="connect"), NetworkError, {"reached": False}),
    (theirs.ModelConnectionError("model", "reset", phase="read"), NetworkError, {}),
    (theirs.ModelTimeoutError("model", "slow", phase="connect"), NetworkError, {"reached": False}),
    (theirs.ModelTimeoutError("model", "slow", phase="read"), DeadlineExceeded, {"bound": "request.timeout_s"}),
    (theirs.ModelRequestTimeout("model", 5), DeadlineExceeded, {"bound": "request.timeout_s"}),
    (theirs.ContentFilterError("filtered"), OutputInvalid, {"stop": "refused"}),
    (theirs.UnexpectedModelBehavior("odd"), OutputInvalid, {}),
    (theirs.UserError("not like this"), InvalidInput, {}),
    (ValueError("odd"), OutputInvalid, {}),
    (TimeoutError(), NetworkError, {}),
])  # fmt: skip
def test_each_failure_of_a_provider_is_one_of_ours(
    error: Exception, ours: type[RetinueError], detail: dict[str, Any]
) -> None:
    async def fails(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        raise error

    with pytest.raises(ours) as raised:
        respond(fails)
    assert type(raised.value) is ours
    assert raised.value.detail == detail
    assert raised.value.hint
    assert "model" in raised.value.message


def failure(error: Exception, **options: Any) -> RetinueError:
    async def fails(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        raise error

    with pytest.raises(RetinueError) as raised:
        respond(fails, **options)
    return raised.value


def test_a_provider_that_says_how_long_to_wait_is_heeded() -> None:
    error = failure(http(429, theirs.ModelRateLimitError, headers={"Retry-After": "7"}))
    assert error.retry_after_s == 7
    assert error.retryable


def test_a_refused_key_names_its_variable_and_is_not_shown() -> None:
    body = {"error": {"message": f"Incorrect API key provided: {SECRET}\x1b[31m."}}
    error = failure(
        http(401, theirs.ModelAuthenticationError, body=body), variables=["MY_KEY"], cleaner=Cleaner({"MY_KEY": SECRET})
    )
    assert "`MY_KEY`" in error.hint
    assert SECRET not in f"{error.message} {error.hint} {error.detail}"
    assert "\x1b" not in error.message
    assert error.__cause__ is None


def test_an_unknown_model_names_the_nearest() -> None:
    error = failure(http(404, theirs.ModelNotFoundError, body="no such model"), name="anthropic:claude-haiku-4-55")
    assert error.suggestions[0].startswith("anthropic:claude-haiku-4-5")
    assert error.suggestions[0] in error.hint


@pytest.mark.parametrize(
    "body", ["Broken.", {"error": "Broken."}, {"error": {"message": "Broken."}}, {"message": "Broken."}]
)
def test_a_provider_says_what_is_wrong_wherever_it_likes(body: Any) -> None:
    assert failure(http(500, theirs.ModelServerError, body=body)).message.endswith(": Broken.")


@pytest.mark.parametrize("body", [None, {"detail": 5}, [], {"error": {"error": {"error": {"error": 1}}}}, 5])
def test_a_provider_that_says_nothing_is_told_of_all_the_same(body: Any) -> None:
    assert "500" in failure(http(500, theirs.ModelServerError, body=body)).message


def test_a_clients_own_exception_is_a_network_error() -> None:
    class Odd(Exception):
        pass

    Odd.__module__ = "httpx2._client"
    assert isinstance(failure(Odd("connection lost")), NetworkError)


def test_what_a_provider_says_is_cut() -> None:
    assert len(failure(http(400, theirs.ModelRequestRejectedError, body={"message": "x " * 100_000})).message) < 500


def test_a_request_that_takes_too_long_says_by_which_bound() -> None:
    async def stuck(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(DeadlineExceeded) as raised:
        respond(stuck, Request((UserMessage("Go."),), timeout_s=0.01))
    assert raised.value.detail == {"bound": "request.timeout_s"}


def test_cancelling_passes() -> None:
    async def story() -> None:
        async def stuck(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
            await asyncio.Event().wait()
            raise AssertionError

        task = asyncio.create_task(PydanticAIModel(FunctionModel(stuck)).respond(ASKED))
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())


# The whole.


def test_a_conversation_with_tools_over_the_test_model_of_pydantic_ai() -> None:
    used: list[ToolCall] = []

    async def read(use: ToolCall) -> ToolResult:
        used.append(use)
        return ToolResult(use.id, use.name, "text")

    model = PydanticAIModel(TestModel())
    purse = BudgetTracker(tokens=100_000)
    conversation = asyncio.run(converse(model, ASKED, call_tool=read, budget_tracker=purse))
    assert [use.name for use in used] == ["read"]
    assert used[0].arguments == {"path": "a"}
    assert "text" in conversation.text
    assert conversation.requests == 2
    assert conversation.usage.tokens == purse.spent_tokens


def test_a_model_that_hands_on_to_others_is_asked_too() -> None:
    async def busy(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        raise http(503, theirs.ModelUnavailableError)

    model = PydanticAIModel(FallbackModel(FunctionModel(busy), FunctionModel(Seen())), name="fallback:both")
    assert asyncio.run(model.respond(ASKED)).turn.text == "Done."
    both_busy = PydanticAIModel(FallbackModel(FunctionModel(busy), FunctionModel(busy)), name="fallback:both")
    with pytest.raises(Unavailable):
        asyncio.run(both_busy.respond(ASKED))


def test_a_model_may_be_asked_from_one_event_loop_after_another_and_closed() -> None:
    model = PydanticAIModel(FunctionModel(Seen()))
    for _ in range(2):
        assert asyncio.run(model.respond(ASKED)).turn.text == "Done."
    asyncio.run(model.close())
    assert asyncio.run(model.respond(ASKED)).turn.text == "Done."
    assert repr(model) == f"PydanticAIModel({model.name!r})"
