"""Bounds stop an agent before they are passed, and what it had by then is kept."""

import asyncio
import time

import pytest

from retinue.contract.result import Result
from retinue.contract.task import Budget, Limits
from retinue.errors import BudgetExceeded
from retinue.llm.budget_tracker import BudgetTracker
from retinue.llm.port import AssistantMessage, Request, Response
from retinue.llm.scripted import ScriptedModel, tool_call
from tests.agents.prompted.given import GIVES, Made, ask, context, helper, scripted, skill, toolbox

SECOND = 1_000_000_000


def code(result: Result) -> str:
    return result.fault.code if result.fault else ""


def for_ever(request: Request) -> AssistantMessage:
    """A tool again and again, each time on something else."""
    count = len(request.turns)
    return AssistantMessage(f"I am at {count}.", (tool_call("made", id=str(count), n=count),))


def test_a_model_that_calls_tools_for_ever_is_stopped_after_fifty_requests() -> None:
    tool, model = Made(), ScriptedModel(for_ever)
    result = ask(helper(model, toolbox=toolbox(tool)))
    assert (len(model.requests), len(tool.calls)) == (50, 50)
    assert (result.outcome, code(result), result.content) == ("partial", "budget_exceeded", "I am at 99.")
    assert len(result.traces) == 50
    assert "not complete" in result.warnings[0].message


def test_max_turns_of_the_definition_holds() -> None:
    model = ScriptedModel(for_ever)
    result = ask(helper(model, toolbox=toolbox(Made()), runner={"max_turns": 3}))
    assert len(model.requests) == 3
    assert (result.outcome, code(result)) == ("partial", "budget_exceeded")
    assert result.fault is not None
    assert "max_turns" in result.fault.message


def test_all_attempts_together_make_no_more_than_fifty_requests() -> None:
    def wrong(request: Request) -> object:
        count = len(request.turns)
        return (
            {"score": "x"}
            if len(model.requests) % 20 == 0
            else AssistantMessage("", (tool_call("made", id=str(count), n=count),))
        )

    model = ScriptedModel(wrong)  # pyright: ignore[reportArgumentType] - each is a line
    result = ask(helper(model, toolbox=toolbox(Made()), skills=(skill(output_schema=GIVES),)))
    assert len(model.requests) == 50
    assert code(result) == "budget_exceeded"


@pytest.mark.parametrize(
    ("limits", "bound"),
    [(Limits(tokens=0), "task.limits.tokens"), (Limits(cost_usd=0.0), "task.limits.cost_usd")],
)
def test_with_a_budget_of_zero_nobody_is_asked(limits: Limits, bound: str) -> None:
    model = scripted("Never.", usd_per_million=1.0)
    result = ask(helper(model), limits=limits)
    assert (model.requests, result.outcome, code(result)) == ([], "error", "budget_exceeded")
    assert result.fault is not None
    assert bound in result.fault.message


def test_the_tokens_of_a_task_stop_before_the_call_that_would_pass_them() -> None:
    model = ScriptedModel(for_ever, max_output=100)
    result = ask(helper(model, toolbox=toolbox(Made())), limits=Limits(tokens=4_000))
    assert result.usage is not None
    assert result.usage.tokens is not None
    assert 0 < result.usage.tokens <= 4_000
    assert (result.outcome, code(result)) == ("partial", "budget_exceeded")
    assert result.fault is not None
    assert result.fault.detail["bound"] == "task.limits.tokens"


def test_the_purse_of_the_run_holds_too_and_is_charged() -> None:
    run = context(budget=Budget(tokens=5_000))
    model = ScriptedModel(for_ever, max_output=100)
    result = ask(helper(model, toolbox=toolbox(Made())), run=run)
    assert result.usage is not None
    assert run.budget_tracker.spent_tokens == result.usage.tokens
    assert 0 < run.budget_tracker.spent_tokens <= 5_000


def test_money_of_a_model_without_a_price_cannot_be_kept_so_nobody_is_asked() -> None:
    model = scripted("Never.")
    result = ask(helper(model), limits=Limits(cost_usd=1.0))
    assert (model.requests, code(result)) == ([], "budget_exceeded")


def test_an_answer_by_schema_that_is_stopped_is_a_fault_with_the_words_kept() -> None:
    model = ScriptedModel(for_ever)
    agent = helper(model, toolbox=toolbox(Made()), runner={"max_turns": 2}, skills=(skill(output_schema=GIVES),))
    result = ask(agent)
    assert (result.outcome, code(result), result.content) == ("error", "budget_exceeded", "I am at 3.")


def test_when_time_is_up_the_words_so_far_are_a_partial_answer() -> None:
    class Sleeps(Made):
        async def use(self, *_: object) -> object:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride] - it never ends
            await asyncio.Event().wait()
            return None

    model = scripted(AssistantMessage("I looked at half.", (tool_call("made", id="1"),)), "Never.")
    run = context(deadline_ns=time.time_ns() + SECOND)
    result = ask(helper(model, toolbox=toolbox(Sleeps(timeout_s=60.0))), run=run)
    assert (result.outcome, code(result), result.content) == ("partial", "timeout", "I looked at half.")


def test_a_refusal_of_the_provider_is_a_fault_with_what_it_said() -> None:
    model = scripted(*(Response(AssistantMessage("I will not."), stop="refused") for _ in range(3)))
    result = ask(helper(model))
    assert (result.outcome, code(result), result.content) == ("failed", "output_invalid", "I will not.")


def test_a_model_that_says_nothing_is_a_fault() -> None:
    model = scripted(*("" for _ in range(20)))
    result = ask(helper(model))
    assert (result.outcome, code(result)) == ("failed", "output_invalid")


def test_an_answer_that_was_cut_off_is_partial() -> None:
    model = scripted(Response(AssistantMessage("The first half"), stop="length"))
    result = ask(helper(model))
    assert (result.outcome, code(result), result.content) == ("partial", "budget_exceeded", "The first half")


def test_what_a_purse_above_has_left_counts() -> None:
    run = context()
    run.budget_tracker = BudgetTracker(tokens=10)
    result = ask(helper(scripted("Never.")), run=run)
    assert code(result) == "budget_exceeded"
    with pytest.raises(BudgetExceeded):
        run.budget_tracker.reserve(tokens=11, usd=None)


def test_the_tokens_of_a_task_are_for_all_its_attempts_together() -> None:
    model = ScriptedModel(lambda _: {"score": "x" * 400}, max_output=500)
    result = ask(helper(model, skills=(skill(output_schema=GIVES),)), limits=Limits(tokens=1_200))
    assert result.usage is not None
    assert result.usage.tokens is not None
    assert result.usage.tokens <= 1_200
    assert len(model.requests) < 3
