"""The loop around a model and its tools: how it goes on, and each way in which it stops."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import count

import pytest
from hypothesis import example, given, strategies as st

from retinue.contract.definition import ToolSpec
from retinue.contract.result import Usage
from retinue.errors import (
    AccessDenied,
    BudgetExceeded,
    Canceled,
    DeadlineExceeded,
    NetworkError,
    OutputInvalid,
    RetinueError,
    Unavailable,
)
from retinue.llm.budget_tracker import BudgetTracker
from retinue.llm.conversation import MAX_TEXT, Conversation, converse
from retinue.llm.port import (
    AnswerShape,
    AssistantMessage,
    OnText,
    Request,
    Response,
    ToolCall,
    ToolResult,
    ToolResults,
    Turn,
    UserMessage,
)
from retinue.llm.scripted import Line, ScriptedModel, tool_call
from retinue.llm.tool_calls import MAX_ARGUMENTS, MAX_TOOL_CALLS, ToolCaller

READ = ToolSpec(name="read", description="Reads.", input_schema={"type": "object"}, effects=("read",))
WRITE = ToolSpec(name="write", description="Writes.", input_schema={"type": "object"}, effects=("write",))
ASKED = Request((UserMessage("Go."),), instructions="Be brief.", tools=(READ, WRITE))


async def echo(asked: ToolCall) -> ToolResult:
    return ToolResult(asked.id, asked.name, f"{asked.name} {asked.arguments}")


def talk(
    model: ScriptedModel,
    request: Request = ASKED,
    *,
    call_tool: ToolCaller | None = echo,
    budget: BudgetTracker | None = None,
    max_turns: int = 50,
    on_text: OnText | None = None,
    on_turns: Callable[[Sequence[Turn]], None] | None = None,
    deadline_ns: int | None = None,
) -> Conversation:
    return asyncio.run(
        converse(
            model,
            request,
            call_tool=call_tool,
            budget_tracker=budget,
            max_turns=max_turns,
            on_text=on_text,
            on_turns=on_turns,
            deadline_ns=deadline_ns,
            clock=lambda: 0,
        )
    )


def answers(conversation: Conversation) -> list[ToolResult]:
    return [each for turn in conversation.turns if isinstance(turn, ToolResults) for each in turn.results]


def stopped(conversation: Conversation) -> RetinueError:
    assert conversation.error is not None
    return conversation.error


def bound(error: RetinueError) -> object:
    return error.detail["bound"]


def ever(name: str = "read") -> ScriptedModel:
    """A model that uses a tool for ever, never twice alike."""
    asked = count()
    return ScriptedModel(lambda _: tool_call(name, number=next(asked)), usd_per_million=10)


# How it goes on.


def test_an_answer_without_tools_is_the_end() -> None:
    conversation = talk(ScriptedModel(["Done."]))
    assert conversation.text == "Done."
    assert conversation.requests == 1
    assert conversation.error is None
    assert conversation.turns == (UserMessage("Go."), AssistantMessage("Done."))
    assert conversation.usage.requests == 1


def test_tools_are_used_and_what_came_of_it_is_told() -> None:
    model = ScriptedModel([tool_call("read", path="a"), tool_call("write", path="b"), "Done."])
    conversation = talk(model)
    assert [each.text for each in answers(conversation)] == ["read {'path': 'a'}", "write {'path': 'b'}"]
    assert conversation.text == "Done."
    assert [len(request.turns) for request in model.requests] == [1, 3, 5]
    assert all(request.tools == ASKED.tools and request.instructions == "Be brief." for request in model.requests)


def test_reading_goes_side_by_side_and_anything_else_in_order() -> None:
    def order_of(names: list[str]) -> list[str]:
        told: list[str] = []

        async def slow_first(asked: ToolCall) -> ToolResult:
            told.append(f"begin {asked.id}")
            for _ in range(2 if asked.id == "1" else 0):
                await asyncio.sleep(0)
            told.append(f"end {asked.id}")
            return ToolResult(asked.id, asked.name, asked.id)

        uses = tuple(tool_call(name, id=str(number), n=number) for number, name in enumerate(names, 1))
        conversation = talk(ScriptedModel([uses, "Done."]), call_tool=slow_first)
        assert [each.id for each in answers(conversation)] == ["1", "2"]
        return told

    assert order_of(["read", "read"]) == ["begin 1", "begin 2", "end 2", "end 1"]
    assert order_of(["read", "write"]) == ["begin 1", "end 1", "begin 2", "end 2"]


def test_text_is_heard_as_it_arrives() -> None:
    heard: list[str] = []
    conversation = talk(
        ScriptedModel([AssistantMessage("Looking.", (tool_call("read", id="1"),)), "Done."]), on_text=heard.append
    )
    assert heard == ["Looking.", "Done."]
    assert conversation.text == "Done."


def test_a_conversation_is_kept_at_each_step_and_taken_up_again() -> None:
    class Parked(BaseException):
        pass

    async def parks_at_write(asked: ToolCall) -> ToolResult:
        if asked.name == "write":
            raise Parked
        return await echo(asked)

    kept: list[tuple[Turn, ...]] = []
    model = ScriptedModel([(tool_call("read", id="1", path="a"), tool_call("write", id="2", path="b"))])
    with pytest.raises(Parked):
        talk(model, call_tool=parks_at_write, on_turns=lambda turns: kept.append(tuple(turns)))
    assert [len(turns) for turns in kept] == [2, 3]

    used: list[str] = []

    async def notes(asked: ToolCall) -> ToolResult:
        used.append(asked.name)
        return await echo(asked)

    again = talk(ScriptedModel(["Done."]), Request(kept[-1], tools=ASKED.tools), call_tool=notes)
    assert used == ["write"]
    assert [each.id for each in answers(again)] == ["1", "2"]
    assert again.text == "Done."


def test_a_conversation_that_was_kept_before_its_tools_goes_on_with_all_of_them() -> None:
    turns = (UserMessage("Go."), AssistantMessage("", (tool_call("read", id="1"), tool_call("read", id="2", n=2))))
    again = talk(ScriptedModel(["Done."]), Request(turns, tools=ASKED.tools))
    assert [each.id for each in answers(again)] == ["1", "2"]


def test_what_parks_the_whole_conversation_passes_even_side_by_side() -> None:
    class Parked(BaseException):
        pass

    async def parks(_: ToolCall) -> ToolResult:
        raise Parked

    with pytest.raises(Parked):
        talk(ScriptedModel([(tool_call("read", n=1), tool_call("read", n=2))]), call_tool=parks)


# What a model gets wrong.


def only_answer(line: Line, *, use: ToolCaller | None = echo, request: Request = ASKED) -> ToolResult:
    conversation = talk(ScriptedModel([line, "Done."]), request, call_tool=use)
    assert conversation.text == "Done."
    (answer,) = answers(conversation)
    return answer


def test_an_unknown_tool_is_answered_with_the_nearest_and_all_there_are() -> None:
    answer = only_answer(tool_call("raed", path="a"))
    assert answer.failed
    assert "'raed'" in answer.text
    assert "Did you mean `read`?" in answer.text
    assert "`read`, `write`" in answer.text


def test_without_tools_the_model_is_told_to_answer_without() -> None:
    assert "no tools" in only_answer(tool_call("read"), request=Request((UserMessage("Go."),))).text
    assert "no tools" in only_answer(tool_call("read"), use=None).text


@pytest.mark.parametrize(("raw", "says"), [
    ('{"path": ', "ends"),
    ("[1]", "not a JSON object"),
    ('{"a": 1, "a": 2}', "a"),
    ("x" * (MAX_ARGUMENTS + 1), "longer than"),
    ("", "not a JSON object"),
])  # fmt: skip
def test_arguments_that_are_no_object_are_answered_with_the_reason(raw: str, says: str) -> None:
    answer = only_answer(ToolCall("1", "read", None, raw))
    assert answer.failed
    assert answer.text.startswith("invalid_input: the arguments of `read` cannot be used")
    assert says in answer.text


def test_arguments_of_ten_megabytes_never_reach_the_tool() -> None:
    async def never(_: ToolCall) -> ToolResult:
        raise AssertionError

    answer = only_answer(tool_call("write", text="x" * 10_000_000), use=never)
    assert answer.failed
    assert "more than" in answer.text


def test_ids_that_come_twice_or_not_at_all_are_told_apart() -> None:
    uses = (
        tool_call("read", id="1", n=1),
        tool_call("read", id="1", n=2),
        ToolCall("", "read", {"n": 3}),
        tool_call("read", id="1_2"),
    )
    conversation = talk(ScriptedModel([AssistantMessage("", uses), "Done."]))
    turn = conversation.turns[1]
    assert isinstance(turn, AssistantMessage)
    ids = [each.id for each in turn.tool_calls]
    assert len(set(ids)) == 4
    assert ids[0] == "1"
    assert "1_2" in ids
    assert [each.id for each in answers(conversation)] == ids


def test_more_uses_than_anybody_needs_are_not_done() -> None:
    done: list[str] = []

    async def notes(asked: ToolCall) -> ToolResult:
        done.append(asked.id)
        return await echo(asked)

    conversation = talk(
        ScriptedModel([tuple(tool_call("read", n=n) for n in range(MAX_TOOL_CALLS + 5)), "Done."]), call_tool=notes
    )
    assert len(done) == MAX_TOOL_CALLS
    assert sum(each.failed for each in answers(conversation)) == 5


def test_an_empty_answer_is_asked_for_again_once() -> None:
    model = ScriptedModel(["", "Done."])
    conversation = talk(model)
    assert (conversation.text, conversation.requests) == ("Done.", 2)
    assert isinstance(model.requests[1].turns[-1], UserMessage)
    twice = talk(ScriptedModel(["", " "]))
    assert isinstance(stopped(twice), OutputInvalid)
    assert twice.requests == 2


def test_a_use_that_never_changes_is_told_of_and_then_ended() -> None:
    conversation = talk(ScriptedModel(lambda _: tool_call("read", path="a")))
    told = [each.text for each in answers(conversation)]
    assert len(told) == 4
    assert ["in a row" in text for text in told] == [False, False, True, True]
    assert bound(stopped(conversation)) == "repeated_uses"
    assert conversation.requests == 5


def test_a_model_that_goes_on_for_ever_is_stopped() -> None:
    conversation = talk(ever())
    assert conversation.requests == 50
    assert bound(stopped(conversation)) == "max_turns"
    assert talk(ever(), max_turns=3).requests == 3


def test_no_turn_at_all_makes_no_request() -> None:
    model = ever()
    with pytest.raises(BudgetExceeded):
        talk(model, max_turns=0)
    assert model.requests == []


def test_an_answer_of_ten_megabytes_is_cut() -> None:
    conversation = talk(ScriptedModel(["x" * 10_000_000]))
    assert len(conversation.text) == MAX_TEXT
    assert isinstance(stopped(conversation), OutputInvalid)


def test_an_answer_that_was_cut_off_says_by_what() -> None:
    cut = Response(AssistantMessage("The first half"), stop="length")
    by_model = talk(ScriptedModel([cut]))
    assert bound(stopped(by_model)) == "model.max_output"
    assert "Raise" not in stopped(by_model).hint  # nobody can
    assert by_model.text == "The first half"
    asked = Request((UserMessage("Go."),), max_tokens=5)
    assert bound(stopped(talk(ScriptedModel([cut]), asked))) == "request.max_tokens"
    assert bound(stopped(talk(ScriptedModel([cut], max_output=None), budget=BudgetTracker(tokens=2_000)))) == "tokens"


def test_a_refusal_is_no_answer() -> None:
    refused = talk(ScriptedModel([Response(AssistantMessage("I cannot."), stop="refused")]))
    assert stopped(refused).detail == {"stop": "refused"}
    assert refused.text == "I cannot."
    assert isinstance(stopped(talk(ScriptedModel([Response(AssistantMessage(), stop="refused")]))), OutputInvalid)
    assert isinstance(stopped(talk(ScriptedModel([Response(AssistantMessage(), stop="length")]))), BudgetExceeded)


# What a tool gets wrong.


def raising(error: BaseException) -> Callable[[ToolCall], Awaitable[ToolResult]]:
    async def raises(_: ToolCall) -> ToolResult:
        raise error

    return raises


def test_what_a_tool_raises_becomes_a_failed_answer_with_its_hint() -> None:
    error = AccessDenied("'/etc' is outside.", hint="Name a file inside.", path="/path")
    answer = only_answer(tool_call("read", path="/etc"), use=raising(error))
    assert answer.failed
    assert answer.text == "access_denied: '/etc' is outside. (at `/path`) Name a file inside."


def test_a_tools_own_mistake_says_its_kind_and_nothing_private() -> None:
    answer = only_answer(tool_call("read"), use=raising(ValueError("password 1234")))
    assert answer.failed
    assert "ValueError" in answer.text
    assert "1234" not in answer.text


def test_whoever_cancels_ends_the_conversation_and_keeps_it() -> None:
    conversation = talk(ScriptedModel([tool_call("read"), "Done."]), call_tool=raising(Canceled("Stop.")))
    assert isinstance(stopped(conversation), Canceled)
    assert conversation.requests == 1


def test_a_tool_that_says_too_much_is_cut() -> None:
    async def much(asked: ToolCall) -> ToolResult:
        return ToolResult(asked.id, asked.name, "x" * 10_000_000)

    answer = only_answer(tool_call("read"), use=much)
    assert len(answer.text) < 1_100_000
    assert answer.text.endswith("[cut off here]")


def test_an_answer_under_another_id_is_put_right() -> None:
    async def wrong(_: ToolCall) -> ToolResult:
        return ToolResult("other", "other", "text")

    answer = only_answer(tool_call("read", id="1"), use=wrong)
    assert (answer.id, answer.name) == ("1", "read")


# Providers that fail.


def test_an_error_before_the_first_response_is_raised() -> None:
    with pytest.raises(Unavailable):
        talk(ScriptedModel([Unavailable("Busy.")]))


def test_an_error_afterwards_keeps_what_was_said() -> None:
    model = ScriptedModel([AssistantMessage("So far.", (tool_call("read", id="1"),)), NetworkError("Cut.")])
    conversation = talk(model)
    assert isinstance(stopped(conversation), NetworkError)
    assert conversation.text == "So far."
    assert conversation.requests == 1


def test_what_was_heard_of_an_answer_that_broke_off_is_its_text() -> None:
    class Breaks(ScriptedModel):
        async def respond(self, request: Request, *, on_text: OnText | None = None) -> Response:
            if self.requests and on_text:
                on_text("The first ha")
                raise NetworkError("Cut.")
            return await super().respond(request, on_text=on_text)

    heard: list[str] = []
    conversation = talk(Breaks([AssistantMessage("Looking.", (tool_call("read", id="1"),))]), on_text=heard.append)
    assert conversation.text == "The first ha"
    assert isinstance(stopped(conversation), NetworkError)


def test_cancelling_passes_and_lets_the_purse_go() -> None:
    purse = BudgetTracker(tokens=10_000)

    class Waits(ScriptedModel):
        async def respond(self, request: Request, *, on_text: OnText | None = None) -> Response:
            await asyncio.Event().wait()
            raise AssertionError

    async def story() -> None:
        task = asyncio.create_task(converse(Waits([]), ASKED, budget_tracker=purse))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert purse.has_reservations
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())
    assert not purse.has_reservations
    assert purse.spent_tokens > 0


@pytest.mark.parametrize(("error", "booked"), [
    (Unavailable("Busy."), False),
    (NetworkError("No.", detail={"reached": False}), False),
    (NetworkError("Cut."), True),
    (OutputInvalid("Nonsense."), True),
])  # fmt: skip
def test_only_what_a_provider_may_bill_is_booked_for_a_failure(error: RetinueError, booked: bool) -> None:
    purse = BudgetTracker(tokens=10_000)
    with pytest.raises(type(error)):
        talk(ScriptedModel([error]), budget=purse)
    assert (purse.spent_tokens > 0) is booked
    assert not purse.has_reservations


# Bounds.


def test_a_budget_of_zero_makes_no_request() -> None:
    for purse in (BudgetTracker(tokens=0), BudgetTracker(usd=0.0), BudgetTracker(requests=0)):
        model = ever()
        with pytest.raises(BudgetExceeded):
            talk(model, budget=purse)
        assert model.requests == []


def test_a_model_without_a_price_is_not_asked_on_a_bounded_account() -> None:
    model = ScriptedModel(["Done."])
    with pytest.raises(BudgetExceeded, match="price"):
        talk(model, budget=BudgetTracker(usd=5.0))
    assert model.requests == []


def test_the_call_that_would_pass_the_bound_is_not_made_and_the_rest_is_kept() -> None:
    purse = BudgetTracker(tokens=4_000)
    conversation = talk(ever(), budget=purse)
    assert bound(stopped(conversation)) == "run.budget.tokens"
    assert 1 < conversation.requests < 50
    assert purse.spent_tokens <= 4_000
    assert isinstance(conversation.turns[-1], ToolResults)


def test_money_bounds_likewise() -> None:
    purse = BudgetTracker(usd=0.04)
    conversation = talk(ever(), budget=purse)
    assert bound(stopped(conversation)) == "run.budget.cost_usd"
    assert 0 < purse.spent_usd <= 0.04
    assert conversation.usage.cost is not None
    assert conversation.usage.cost.usd == pytest.approx(purse.spent_usd)


def test_an_answer_is_made_shorter_before_it_is_given_up() -> None:
    model = ScriptedModel(["Done."], max_output=100_000)
    conversation = talk(model, Request((UserMessage("Go."),)), budget=BudgetTracker(tokens=300))
    assert conversation.text == "Done."
    (asked,) = model.requests
    assert asked.max_tokens is not None
    assert 16 <= asked.max_tokens < 300


def test_a_wish_of_the_request_is_kept_where_there_is_room() -> None:
    model = ScriptedModel(["Done."], usd_per_million=1)
    talk(model, Request((UserMessage("Go."),), max_tokens=77), budget=BudgetTracker(tokens=10_000, usd=1.0, requests=5))
    assert model.requests[0].max_tokens == 77


def test_nothing_bounded_leaves_the_length_to_the_provider() -> None:
    model = ScriptedModel(["Done."])
    purse = BudgetTracker()
    talk(model, budget=purse)
    assert model.requests[0].max_tokens is None
    assert purse.spent_requests == 1


def test_a_provider_that_counts_nothing_is_booked_by_our_own_count_where_there_is_a_bound() -> None:
    purse = BudgetTracker()
    talk(ScriptedModel([Response(AssistantMessage("Done."))]), budget=purse)
    assert (purse.spent_requests, purse.spent_tokens) == (1, 0)
    bounded = BudgetTracker(tokens=50_000)
    conversation = talk(ScriptedModel([Response(AssistantMessage("Done."))]), budget=bounded)
    assert bounded.spent_tokens > 0
    assert conversation.usage.tokens is None


def test_many_conversations_share_a_purse_and_wait_for_each_other() -> None:
    class Slow(ScriptedModel):
        async def respond(self, request: Request, *, on_text: OnText | None = None) -> Response:
            await asyncio.sleep(0)
            return await super().respond(request, on_text=on_text)

    async def story(purse: BudgetTracker) -> list[Conversation]:
        models = [Slow([tool_call("read", n=1), "Done."], max_output=8_000) for _ in range(20)]
        return await asyncio.gather(*(converse(model, ASKED, call_tool=echo, budget_tracker=purse) for model in models))

    purse = BudgetTracker(tokens=20_000)
    assert all(each.text == "Done." for each in asyncio.run(story(purse)))
    assert purse.spent_requests == 40
    assert purse.spent_tokens <= 20_000


def test_the_deadline_ends_a_request_and_keeps_what_there_is() -> None:
    class Stuck(ScriptedModel):
        async def respond(self, request: Request, *, on_text: OnText | None = None) -> Response:
            if self.requests:
                await asyncio.Event().wait()
            return await super().respond(request, on_text=on_text)

    purse = BudgetTracker(tokens=10_000)
    conversation = talk(Stuck([tool_call("read")]), budget=purse, deadline_ns=20_000_000)
    assert bound(stopped(conversation)) == "deadline"
    assert conversation.requests == 1
    assert not purse.has_reservations


def test_the_deadline_ends_a_tool_too() -> None:
    async def stuck(_: ToolCall) -> ToolResult:
        await asyncio.Event().wait()
        raise AssertionError

    conversation = talk(ScriptedModel([tool_call("read")]), call_tool=stuck, deadline_ns=20_000_000)
    assert isinstance(stopped(conversation), DeadlineExceeded)


def test_a_deadline_that_is_over_makes_no_request() -> None:
    model = ScriptedModel(["Done."])
    with pytest.raises(DeadlineExceeded):
        talk(model, deadline_ns=-1)
    assert model.requests == []


def test_a_timeout_that_is_not_the_deadline_is_the_tools_own() -> None:
    answer = only_answer(tool_call("read"), use=raising(TimeoutError()))
    assert answer.failed

    class Raises(ScriptedModel):
        async def respond(self, request: Request, *, on_text: OnText | None = None) -> Response:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        talk(Raises([]), deadline_ns=60_000_000_000)


names = st.sampled_from(["read", "write", "rm", "", "réad", "x" * 300])
lines = st.one_of(
    st.text(max_size=5),
    st.builds(ToolCall, st.sampled_from(["", "1", "2"]), names, st.none() | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2), st.text(max_size=6)),
    st.lists(st.builds(ToolCall, st.sampled_from(["", "1", "2"]), names, st.just({"a": 1}))).map(tuple),
    st.builds(Response, st.builds(AssistantMessage, st.text(max_size=3)), st.just(Usage()), st.sampled_from(["end", "tools", "length", "refused", "other"])),
    st.just(Unavailable("Busy.")),
)  # fmt: skip


@given(st.lists(lines, max_size=6), st.none() | st.integers(0, 5_000), st.integers(0, 6))
@example([(ToolCall("", "x" * 300, {"a": 1}),) * 4, "Done."], 560, 3)  # more than the answer may have
def test_whatever_a_model_says_the_conversation_ends_within_its_bounds(
    script: list[Line], tokens: int | None, max_turns: int
) -> None:
    purse = BudgetTracker(tokens=tokens)
    model = ScriptedModel(script)
    shaped = Request(ASKED.turns, tools=ASKED.tools, shape=AnswerShape({"type": "object"}))
    try:
        conversation = talk(model, shaped, budget=purse, max_turns=max_turns)
    except RetinueError:
        assert not purse.has_reservations
        return
    assert conversation.requests <= max_turns
    assert not purse.has_reservations
    assert tokens is None or purse.spent_tokens <= tokens
    open_ids: list[str] = []
    for turn in conversation.turns:
        if isinstance(turn, AssistantMessage):
            open_ids = [each.id for each in turn.tool_calls]
            assert len(set(open_ids)) == len(open_ids)
        elif isinstance(turn, ToolResults):
            assert [each.id for each in turn.results] == open_ids
