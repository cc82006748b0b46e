"""Which size of model a request gets, and the mix that came of it."""

import pytest
from hypothesis import given, strategies as st

from retinue.contract.definition import Definition, Skill, Tier
from retinue.llm.allocation import TARGET, ModelSpend, allocate, points, tier_mixes, tier_of


def agent(name: str = "helper", *, tier: Tier | None = None, model: str | None = None) -> Definition:
    skill = Skill(name="work", description="Works.", input_schema={"type": "object"})
    return Definition(name=name, description="Works.", skills=(skill,), tier=tier, model=model)


@pytest.mark.requirement("A31")
@pytest.mark.parametrize(
    ("instruction", "tokens", "score", "tier"),
    [
        ("list the files", 0, 0, "small"),
        ("list the files", 5_000, 0, "small"),
        ("list the files", 5_001, 1, "small"),
        ("list the files", 15_000, 1, "small"),
        ("list the files", 15_001, 2, "medium"),
        ("refactor it", 0, 2, "medium"),
        ("Refactoring, then debugging, and a security design", 0, 2, "medium"),
        ("refactor it, then test it", 0, 2, "medium"),
        ("refactor it, then test it, and finally say so", 0, 3, "large"),
        ("refactor it", 5_001, 3, "large"),
        ("compare them", 20_000, 4, "large"),
        ("then and then and then", 0, 0, "small"),
        ("first read it, then say the next step", 0, 1, "small"),
        ("a designated comparable", 0, 0, "small"),
        ("", 0, 0, "small"),
    ],
)
def test_points_decide_by_the_table(instruction: str, tokens: int, score: int, tier: Tier) -> None:
    given = allocate(agent(), instruction=instruction, context_tokens=tokens)
    assert (given.score, given.tier) == (score, tier)
    assert given.model is None


@pytest.mark.requirement("A31")
def test_the_score_is_shown_with_what_each_point_was_for() -> None:
    given = allocate(agent(), instruction="Compare both, then merge, and finally test.", context_tokens=16_000)
    assert given.score == 5
    assert given.reasons == (
        "+2: it says 'compare'",
        "+2: 16,000 tokens of context, more than 15,000",
        "+1: several steps (then, finally)",
    )
    assert given.why == "5 points of the request"


@pytest.mark.requirement("A31")
def test_the_users_default_overrides_the_points_and_they_are_shown_all_the_same() -> None:
    given = allocate(agent(), instruction="debug it", default="large")
    assert (given.tier, given.score, given.why) == ("large", 2, "it is the default of the settings")


@pytest.mark.requirement("A2", "A16")
@pytest.mark.parametrize(
    ("name", "instruction", "tier"),
    [
        ("orchestrator", "say hello", "small"),
        ("orchestrator", "design it", "medium"),
        ("orchestrator", "design it, then build it, finally ship it", "large"),
        ("researcher_analyst", "compare everything", "small"),
        ("data_analyst", "compare everything", "small"),
        ("code_engineer_executor", "write the docs", "small"),
        ("code_engineer_executor", "refactor it", "medium"),
        ("code_engineer_executor", "refactor it, then test it, finally ship it", "medium"),
        ("system_architect", "say hello", "large"),
    ],
)
def test_roles_decide_before_points(name: str, instruction: str, tier: Tier) -> None:
    assert allocate(agent(name), instruction=instruction).tier == tier


def test_who_says_more_wins() -> None:
    both = agent("system_architect", tier="small", model="openai:gpt-5")
    assert allocate(both, choice="medium", default="large").tier == "medium"
    named = allocate(both, default="large")
    assert (named.model, named.tier, named.why) == ("openai:gpt-5", None, "`system_architect` names it")
    assert allocate(agent("system_architect", tier="small"), default="large").tier == "small"
    assert allocate(agent("system_architect"), default="medium").tier == "medium"


def test_words_of_other_formats_are_understood() -> None:
    assert [allocate(agent(model=word)).tier for word in ("haiku", "Sonnet", "opus")] == ["small", "medium", "large"]
    inherited = allocate(agent(model="inherit"), parent="opus")
    assert (inherited.tier, inherited.why) == ("large", "`helper` names it: `inherit`")
    assert allocate(agent(model="inherit"), parent="x:y").model == "x:y"
    assert allocate(agent(model="inherit")).why == "0 points of the request"
    assert allocate(agent(model="inherit"), parent="inherit", default="large").tier == "large"


def test_a_named_model_has_the_tier_it_stands_for() -> None:
    tiers: dict[Tier, str] = {"small": "openai:tiny", "medium": "openai:tiny-pro", "large": ""}
    assert tier_of("openai:tiny", tiers) == tier_of("tiny-2026-01-01", tiers) == "small"
    assert tier_of("tiny-pro", tiers) == "medium"
    assert tier_of("claude-opus-4-5-20251101", tiers) == "large"
    assert tier_of("anthropic:claude-haiku-4-5") == "small"
    assert tier_of("mistral-large-latest") is tier_of("gpt-5") is tier_of("") is None


@given(st.text(max_size=200), st.integers(min_value=0, max_value=10**9))
def test_any_request_gets_a_tier_and_its_points_add_up(instruction: str, tokens: int) -> None:
    score, reasons = points(instruction, context_tokens=tokens)
    assert score == sum(int(reason[1]) for reason in reasons) <= 5
    assert allocate(agent(), instruction=instruction, context_tokens=tokens).tier in TARGET


@pytest.mark.requirement("A15")
def test_the_mix_is_measured_in_each_unit() -> None:
    calls, tokens, cost = tier_mixes(
        [
            ModelSpend("small", 7, 700, 0.01),
            ModelSpend("medium", 2, 200, 0.03),
            ModelSpend("large", 1, 100, None),
            ModelSpend(None, 5, 50),
        ]
    )
    assert (calls.unit, calls.total, calls.unknown) == ("calls", 15, 5)
    assert calls.shares == {"small": 0.7, "medium": 0.2, "large": 0.1}
    assert {tier: round(points) for tier, points in calls.target_deviation.items()} == {
        "small": 0,
        "medium": -5,
        "large": 5,
    }
    assert (tokens.unit, tokens.total, tokens.shares["small"]) == ("tokens", 1050, 0.7)
    assert (cost.unit, cost.shares) == ("cost", {"small": 0.25, "medium": 0.75, "large": 0.0})


@pytest.mark.requirement("A15")
def test_what_nobody_measured_has_no_mix() -> None:
    assert tier_mixes([]) == ()
    assert [mix.unit for mix in tier_mixes([ModelSpend("small")])] == ["calls"]
    assert tier_mixes([ModelSpend(None, 3, 100, 1.0)]) == ()
    assert sum(TARGET.values()) == pytest.approx(1)
