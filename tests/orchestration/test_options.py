"""The menu of ways to do a plan, and what came of the one that was chosen."""

from collections.abc import Sequence

import pytest

from retinue.contract.definition import Definition, ModelUse, Skill, ThinkingBounds, Tier
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Cost, Result, Usage
from retinue.errors import UnknownName
from retinue.llm.estimate import PastCall, PriceOf, Range
from retinue.orchestration.plan_options import Menu, ModelCatalogue, Thresholds, actuals, menu_of, with_option
from retinue.orchestration.planning import Planning, with_planning

TIERS: dict[Tier, str] = {"small": "m:small", "medium": "m:medium", "large": "m:large"}
USD = {"m:small": 1e-6, "m:medium": 3e-6, "m:large": 15e-6}
ANSWER = {
    "type": "object",
    "properties": {"text": {"type": "string", "maxLength": 3_000}},
    "required": ["text"],
    "additionalProperties": False,
}


def agent(name: str, thinks: ModelUse = "must", within: ThinkingBounds | None = None, **facts: object) -> Definition:
    takes = {"type": "object"}
    skill = Skill(
        name="work",
        description="Works.",
        input_schema=takes,
        output_schema=ANSWER,
        effects=(),
        thinks=thinks,
        thinks_within=within,
    )
    whole = {"name": name, "description": "Works.", "skills": (skill,), "tools": (), "instructions": "Do it well."}
    return Definition.model_validate({**whole, **facts})


def price_of(model: str) -> PriceOf | None:
    def price(*, tokens_in: int, tokens_out: int) -> float | None:
        return (tokens_in + tokens_out) * USD[model]

    return price if model in USD else None


def around(models: dict[Tier, str] | None = None, past: Sequence[PastCall] = ()) -> ModelCatalogue:
    tiers = models or TIERS
    return ModelCatalogue(
        model_of=lambda word: {**tiers}.get(word, word),  # type: ignore[arg-type, call-overload]
        price_of=price_of,
        past_of=lambda _agent, _skill: past,
        tiers=tiers,
    )


def menu(*nodes: Delegation, known: ModelCatalogue | None = None, routine: Thresholds | None = None) -> Menu:
    people = {name: agent(name) for name in ("writer", "system_architect")}
    people |= {"counter": agent("counter", "never", instructions=None), "clerk": CLERK, "assessor": ASSESSOR}
    plan = Plan(goal="do it", nodes=nodes)
    near = known or around()
    return menu_of(plan, people, near, routine=routine) if routine else menu_of(plan, people, near)


def node(name: str, who: str = "writer", said: str = "write it") -> Delegation:
    return Delegation(id=name, agent=who, skill="work", instruction=said)


BOUNDS = ThinkingBounds(requests=2, tokens_in=1_000, tokens_out=500)
CLERK = agent("clerk", "can", BOUNDS, instructions=None, tools=None, tier="small")
ASSESSOR = agent("assessor", "by_others", instructions=None, tools=None, composes=True)


@pytest.mark.requirement("A17", "C19")
def test_whose_own_code_asks_a_model_is_in_the_menu_with_what_its_code_keeps_to() -> None:
    asked = node("n1", "clerk")
    small, large = menu(asked).options
    assert [dict(one.model_by_node) for one in (small, large)] == [{"n1": "small"}, {"n1": "large"}]
    assert [one.models for one in (small, large)] == [("m:small",), ("m:large",)]
    assert (small.estimate.tokens_in, small.estimate.tokens_out) == (Range(0, 2 * 1_002 + 500), Range(0, 1_000))
    assert small.estimate.usd is not None
    assert (small.estimate.usd.low, small.estimate.usd.high) == (0, pytest.approx((2 * 1_002 + 500 + 1_000) * 1e-6))
    assert "It may need no model." in small.estimate.assumptions
    assert (menu(asked).routine, menu(asked).why) == (True, "It is one small delegation that only reads.")


@pytest.mark.requirement("A17", "C19")
def test_what_own_code_asks_without_a_bound_is_not_made_up_until_enough_calls_are_known() -> None:
    clerk = agent("clerk", "must", instructions=None, tools=None, tier="small")
    plan = Plan(goal="do it", nodes=(node("n1", "clerk"),))
    found = menu_of(plan, {"clerk": clerk}, around())
    assert found.recommended.estimate.tokens is None
    assert found.recommended.estimate.usd is None
    assert (found.routine, found.why) == (False, "What it takes is not known.")
    past = [PastCall("m:small", tokens_in=900, tokens_out=100, seconds=1.0)] * 5
    known = menu_of(plan, {"clerk": clerk}, around(past=past))
    assert known.recommended.estimate.tokens == Range(1_000, 1_000)
    assert known.routine


@pytest.mark.requirement("A17", "A18")
def test_who_has_others_think_goes_by_their_rules_or_has_all_of_them_done_in_one_size() -> None:
    small, rules, large = menu(node("n1", "assessor")).options
    assert [(dict(one.model_by_node), one.models) for one in (small, rules, large)] == [
        ({"n1": "small"}, ("m:small",)),
        ({}, ()),
        ({"n1": "large"}, ("m:large",)),
    ]
    assert rules.recommended
    assert rules.reasons[0] == "n1 has others think, each by its own rules."
    assert all(one.estimate.tokens is None for one in (small, rules, large))
    found = menu(node("n1", "assessor"))
    assert (found.routine, found.why) == (False, "`assessor` has other agents do the work.")
    assert with_option(Plan(nodes=(node("n1", "assessor"),)), rules, by="routine").nodes[0].model is None
    told = node("n1", "assessor").model_copy(update={"model": "medium"})
    assert menu(told).recommended.model_by_node == {"n1": "medium"}


@pytest.mark.requirement("A17", "A16")
def test_a_plan_can_be_done_with_small_models_by_the_rules_or_with_large_ones() -> None:
    found = menu(node("n1"), node("n2", "system_architect"))
    assert [(each.letter, each.title, each.recommended) for each in found.options] == [
        ("A", "the smallest models", False),
        ("B", "models by the rules", True),
        ("C", "the largest models", False),
    ]
    assert [dict(each.model_by_node) for each in found.options] == [
        {"n1": "small", "n2": "small"},
        {"n1": "small", "n2": "large"},
        {"n1": "large", "n2": "large"},
    ]
    assert found.options[1].models == ("m:small", "m:large")
    assert found.recommended.letter == "B"


@pytest.mark.requirement("A17", "C19")
def test_each_way_has_two_reasons_and_a_range_of_tokens_and_money() -> None:
    cheap, rules, dear = menu(node("n1"), node("n2", "system_architect")).options
    for option in (cheap, rules, dear):
        assert option.estimate.tokens is not None
        assert option.estimate.usd is not None
        assert 0 < option.estimate.usd.low < option.estimate.usd.high
        assert option.estimate.assumptions
        assert all(reason.endswith(".") for reason in option.reasons)
    assert cheap.reasons[0].startswith("It costs less: at most $0.0020")
    assert rules.reasons[0] == (
        "n1 gets small: 0 points of the request; n2 gets large: a simple request to the architect (0 points)."
    )
    assert rules.reasons[1].startswith("By delegations that is 50%/0%/50%")
    assert dear.reasons[1].startswith("It costs more")


def test_ways_that_come_to_the_same_are_one() -> None:
    (one, two) = menu(node("n1")).options
    assert (one.title, one.recommended, two.title) == ("the smallest models", True, "the largest models")
    (only,) = menu(node("n1"), known=around(models=dict.fromkeys(TIERS, "m:small"))).options
    assert (only.letter, only.recommended, only.model_by_node) == ("A", True, {"n1": "small"})  # what the rules say


def test_what_a_delegation_or_an_agent_asks_for_is_recommended() -> None:
    asked = node("n1").model_copy(update={"model": "medium"})
    assert menu(asked).recommended.model_by_node == {"n1": "medium"}


@pytest.mark.requirement("A18")
def test_a_small_reading_delegation_is_routine() -> None:
    found = menu(node("n1"))
    assert (found.routine, found.why) == (True, "It is one small delegation that only reads.")


@pytest.mark.requirement("A18")
def test_a_plan_without_a_model_has_one_way_and_is_routine() -> None:
    found = menu(node("n1", "counter"), node("n2", "counter"))
    (only,) = found.options
    assert (only.title, only.recommended, only.model_by_node) == ("no model is asked", True, {})
    assert only.reasons == ("No agent of this plan asks a model.", "So it costs nothing but time.")
    assert (found.routine, found.why) == (True, "No model is asked.")


@pytest.mark.requirement("A18")
@pytest.mark.parametrize(
    ("nodes", "routine", "why"),
    [
        ((node("n1"), node("n2", "counter")), None, "It has 2 delegations."),
        ((node("n1", said="refactor it"),), None, "Its model is medium, not small."),
        ((node("n1"),), Thresholds(tokens=100), "It may take more than 100 tokens."),
        ((node("n1"),), Thresholds(usd=0.0001), "It may cost more than $0.00."),
    ],
)
def test_what_is_larger_is_not_routine_and_says_why(
    nodes: tuple[Delegation, ...], routine: Thresholds | None, why: str
) -> None:
    found = menu(*nodes, routine=routine)
    assert (found.routine, found.why) == (False, why)


@pytest.mark.requirement("A18")
@pytest.mark.parametrize("facts", [{"tools": ("read", "write")}, {"tools": None}, {"tools": ("Bash(git log)",)}])
def test_who_may_do_more_than_read_is_not_routine(facts: dict[str, object]) -> None:
    plan = Plan(goal="do it", nodes=(node("n1"),))
    found = menu_of(plan, {"writer": agent("writer", **facts)}, around())  # type: ignore[arg-type]
    assert (found.routine, found.why) == (False, "`writer` may do more than read.")
    reads = menu_of(plan, {"writer": agent("writer", tools=("Read", "grep"))}, around())
    assert "more than read" not in reads.why


@pytest.mark.requirement("A17")
@pytest.mark.parametrize(
    ("word", "letter"), [("a", "A"), (" B ", "B"), ("auto", "A"), ("Decide for me", "A"), ("", "A")]
)
def test_an_option_is_picked_by_its_letter_or_left_to_the_rules(word: str, letter: str) -> None:
    assert menu(node("n1")).pick(word).letter == letter


def test_an_unknown_letter_lists_those_there_are() -> None:
    with pytest.raises(UnknownName) as raised:
        menu(node("n1")).pick("Q")
    assert raised.value.suggestions == ("A", "B", "auto")


@pytest.mark.requirement("A17", "C19")
def test_what_it_took_stands_beside_what_was_expected() -> None:
    plan = Plan(goal="do it", nodes=(node("n1"), node("n2", "counter")))
    done = with_option(plan, menu(*plan.nodes).pick("B"), by="flag")
    assert [each.model for each in done.nodes] == ["large", None]
    again = Plan.model_validate_json(done.to_json_text())
    cost = Cost(usd=0.001, price_id="p", price_date="2026-01-01")
    usage = Usage(tokens_in=50, tokens_out=10, cost=cost)
    told = actuals(again, Result(task_id="t", agent="run", outcome="success", usage=usage, duration_ns=2 * 10**9))
    assert told is not None
    assert (told["option"], told["by"]) == ("B", "flag")
    figures = told["figures"]
    assert figures["tokens"]["actual"] == 60
    assert figures["tokens"]["within"] is True
    assert figures["cost_usd"]["estimate"][0] <= 0.001
    assert figures["seconds"] == {"actual": 2.0}


def test_what_planning_took_is_not_held_against_the_way_that_was_chosen() -> None:
    expected = {"letter": "A", "by": "flag", "estimate": {"tokens": [10, 100], "cost_usd": [0.1, 0.2]}}
    cost = Cost(usd=0.3, price_id="p", price_date="2026-01-01")
    planned = Planning(by="model", usage=Usage(tokens_in=900, tokens_out=100, cost=cost))
    plan = with_planning(Plan(goal="x", extras={"option": expected}), planned)
    whole = Usage(tokens_in=940, tokens_out=120, cost=cost.model_copy(update={"usd": 0.45}))
    told = actuals(plan, Result(task_id="t", agent="run", outcome="success", usage=whole))
    assert told is not None
    assert told["figures"]["tokens"] == {"actual": 60, "estimate": [10, 100], "within": True}
    assert told["figures"]["cost_usd"]["actual"] == pytest.approx(0.15)
    nothing_else = actuals(plan, Result(task_id="t", agent="run", outcome="error", usage=planned.usage))
    assert nothing_else is not None
    assert nothing_else["figures"]["tokens"] == {"estimate": [10, 100]}


def test_a_plan_that_says_nonsense_of_its_option_has_no_comparison() -> None:
    result = Result(task_id="t", agent="run", outcome="success")
    assert actuals(Plan(goal="x"), result) is None
    assert actuals(Plan(goal="x", extras={"option": 3}), result) is None
    odd = actuals(Plan(goal="x", extras={"option": {"estimate": {"tokens": ["a", 1], "cost_usd": [1]}}}), result)
    assert odd == {"option": None, "by": None, "figures": {}}
