"""How large the next request is thought to be, and how long its answer may be."""

import asyncio

import pytest
from hypothesis import given, strategies as st

from retinue.contract.definition import ToolSpec
from retinue.contract.result import Usage
from retinue.contract.tokens import counter
from retinue.llm.allowance import ANSWER, SENSIBLE, THOUGHT, Allowance
from retinue.llm.port import Answered, AnswerShape, Request, Said, ToolAnswer, ToolAnswers, ToolUse, Turn
from retinue.llm.purse import Purse
from retinue.llm.scripted import ScriptedModel
from retinue.llm.sizes import Sizes, written

TOOL = ToolSpec(name="read", description="Reads a file.", input_schema={"type": "object"})


def test_instructions_tools_and_the_shape_of_the_answer_count() -> None:
    plain = Sizes(Request(())).tokens_in(())
    assert Sizes(Request((), instructions="Be brief. " * 50)).tokens_in(()) > plain + 100
    assert Sizes(Request((), tools=(TOOL,))).tokens_in(()) > plain + 300
    assert Sizes(Request((), shape=AnswerShape({"type": "object"}))).tokens_in(()) > plain + 300


def test_every_word_of_a_turn_counts() -> None:
    uses = (ToolUse("1", "read", {"path": "some/file"}), ToolUse("2", "read", None, "raw text"))
    assert written(Answered("Looking.", uses)) == 'Looking.\nread {"path":"some/file"}\nread raw text'
    assert written(ToolAnswers((ToolAnswer("1", "read", "one"), ToolAnswer("2", "read", "two")))) == "one\ntwo"
    assert "inf" in written(Answered("", (ToolUse("1", "read", {"n": float("inf")}),)))


def test_what_the_provider_counted_replaces_the_estimate() -> None:
    turns: list[Turn] = [Said("word " * 1_000)]
    sizes = Sizes(Request(tuple(turns)))
    assert sizes.tokens_in(turns) > 1_000
    turns.append(Answered("Yes."))
    sizes.measured(500, turns)
    assert sizes.tokens_in(turns) == 500
    turns.append(Said("word " * 100))
    assert 600 < sizes.tokens_in(turns) < 700


@given(st.lists(st.text(max_size=200), min_size=1, max_size=6))
def test_an_estimate_is_never_below_the_count(texts: list[str]) -> None:
    turns = [Said(text) for text in texts]
    assert Sizes(Request(())).tokens_in(turns) >= sum(counter().count(text) for text in texts)


@pytest.mark.parametrize(("request_", "max_output", "wanted"), [
    (Request((), max_tokens=77), 5_000, 77),
    (Request(()), 5_000, 5_000),
    (Request(()), None, ANSWER),
    (Request((), effort="high"), None, THOUGHT),
])  # fmt: skip
def test_an_answer_is_as_long_as_wanted_where_there_is_plenty(
    request_: Request, max_output: int | None, wanted: int
) -> None:
    allowance = Allowance(ScriptedModel([], max_output=max_output), request_, Purse(tokens=1_000_000))
    max_tokens, _ = asyncio.run(allowance.hold(()))
    assert max_tokens == wanted
    assert allowance.bound is None


def test_one_conversation_leaves_some_for_others() -> None:
    purse = Purse(tokens=100_000)
    for _ in range(4):
        allowance = Allowance(ScriptedModel([], max_output=64_000), Request(()), purse)
        max_tokens, _ = asyncio.run(allowance.hold(()))
        assert max_tokens is not None
        assert max_tokens >= SENSIBLE
        assert allowance.bound == "tokens"
    assert purse.tokens_left is not None
    assert purse.tokens_left > 20_000


def test_money_shortens_an_answer_too_unless_it_costs_nothing() -> None:
    dear = Allowance(ScriptedModel([], usd_per_million=1_000, max_output=8_000), Request(()), Purse(usd=2.0))
    max_tokens, _ = asyncio.run(dear.hold(()))
    assert max_tokens is not None
    assert SENSIBLE <= max_tokens < 2_000
    assert dear.bound == "cost_usd"
    free = Allowance(ScriptedModel([], usd_per_million=0, max_output=8_000), Request(()), Purse(usd=0.0))
    assert asyncio.run(free.hold(()))[0] == 8_000


def test_usage_without_a_count_is_booked_as_held_where_there_is_a_bound() -> None:
    purse = Purse(tokens=10_000)
    allowance = Allowance(ScriptedModel([], max_output=2_000), Request(()), purse)
    _, hold = asyncio.run(allowance.hold(()))
    held = 10_000 - (purse.tokens_left or 0)
    allowance.settle(hold, Usage(), ())
    assert purse.spent_tokens == held
