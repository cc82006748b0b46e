"""How large the next request is thought to be, and how long its answer may be."""

import asyncio

import pytest
from hypothesis import given, strategies as st

from retinue.contract.definition import ToolSpec
from retinue.contract.result import Usage
from retinue.contract.tokens import get_counter
from retinue.llm.budget_tracker import BudgetTracker
from retinue.llm.conversation_budget import (
    ANSWER_TOKENS,
    SENSIBLE_TOKENS,
    THINKING_TOKENS,
    ConversationBudget,
    RequestSizer,
    turn_text,
)
from retinue.llm.port import (
    AnswerShape,
    AssistantMessage,
    Request,
    ToolCall,
    ToolResult,
    ToolResults,
    Turn,
    UserMessage,
)
from retinue.llm.scripted import ScriptedModel

TOOL = ToolSpec(name="read", description="Reads a file.", input_schema={"type": "object"})


def test_instructions_tools_and_the_shape_of_the_answer_count() -> None:
    plain = RequestSizer(Request(())).tokens_in(())
    assert RequestSizer(Request((), instructions="Be brief. " * 50)).tokens_in(()) > plain + 100
    assert RequestSizer(Request((), tools=(TOOL,))).tokens_in(()) > plain + 300
    assert RequestSizer(Request((), shape=AnswerShape({"type": "object"}))).tokens_in(()) > plain + 300


def test_every_word_of_a_turn_counts() -> None:
    uses = (ToolCall("1", "read", {"path": "some/file"}), ToolCall("2", "read", None, "raw text"))
    assert turn_text(AssistantMessage("Looking.", uses)) == 'Looking.\nread {"path":"some/file"}\nread raw text'
    assert turn_text(ToolResults((ToolResult("1", "read", "one"), ToolResult("2", "read", "two")))) == "one\ntwo"
    assert "inf" in turn_text(AssistantMessage("", (ToolCall("1", "read", {"n": float("inf")}),)))


def test_what_the_provider_counted_replaces_the_estimate() -> None:
    turns: list[Turn] = [UserMessage("word " * 1_000)]
    sizes = RequestSizer(Request(tuple(turns)))
    assert sizes.tokens_in(turns) > 1_000
    turns.append(AssistantMessage("Yes."))
    sizes.set_measured(500, turns)
    assert sizes.tokens_in(turns) == 500
    turns.append(UserMessage("word " * 100))
    assert 600 < sizes.tokens_in(turns) < 700


@given(st.lists(st.text(max_size=200), min_size=1, max_size=6))
def test_an_estimate_is_never_below_the_count(texts: list[str]) -> None:
    turns = [UserMessage(text) for text in texts]
    assert RequestSizer(Request(())).tokens_in(turns) >= sum(get_counter().count(text) for text in texts)


@pytest.mark.parametrize(("request_", "max_output", "wanted"), [
    (Request((), max_tokens=77), 5_000, 77),
    (Request(()), 5_000, 5_000),
    (Request(()), None, ANSWER_TOKENS),
    (Request((), effort="high"), None, THINKING_TOKENS),
])  # fmt: skip
def test_an_answer_is_as_long_as_wanted_where_there_is_plenty(
    request_: Request, max_output: int | None, wanted: int
) -> None:
    allowance = ConversationBudget(ScriptedModel([], max_output=max_output), request_, BudgetTracker(tokens=1_000_000))
    max_tokens, _ = asyncio.run(allowance.reserve(()))
    assert max_tokens == wanted
    assert allowance.bound is None


def test_one_conversation_leaves_some_for_others() -> None:
    purse = BudgetTracker(tokens=100_000)
    for _ in range(4):
        allowance = ConversationBudget(ScriptedModel([], max_output=64_000), Request(()), purse)
        max_tokens, _ = asyncio.run(allowance.reserve(()))
        assert max_tokens is not None
        assert max_tokens >= SENSIBLE_TOKENS
        assert allowance.bound == "tokens"
    assert purse.tokens_left is not None
    assert purse.tokens_left > 20_000


def test_money_shortens_an_answer_too_unless_it_costs_nothing() -> None:
    dear = ConversationBudget(
        ScriptedModel([], usd_per_million=1_000, max_output=8_000), Request(()), BudgetTracker(usd=2.0)
    )
    max_tokens, _ = asyncio.run(dear.reserve(()))
    assert max_tokens is not None
    assert SENSIBLE_TOKENS <= max_tokens < 2_000
    assert dear.bound == "cost_usd"
    free = ConversationBudget(
        ScriptedModel([], usd_per_million=0, max_output=8_000), Request(()), BudgetTracker(usd=0.0)
    )
    assert asyncio.run(free.reserve(()))[0] == 8_000


def test_usage_without_a_count_is_booked_as_held_where_there_is_a_bound() -> None:
    purse = BudgetTracker(tokens=10_000)
    allowance = ConversationBudget(ScriptedModel([], max_output=2_000), Request(()), purse)
    _, hold = asyncio.run(allowance.reserve(()))
    held = 10_000 - (purse.tokens_left or 0)
    allowance.commit(hold, Usage(), ())
    assert purse.spent_tokens == held
