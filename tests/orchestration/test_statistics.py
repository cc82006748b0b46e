"""What past runs add up to: sums of what was measured, and nothing made up for what was not."""

from datetime import datetime

import pytest

from retinue.contract.definition import Tier
from retinue.contract.result import Outcome
from retinue.engine.statistics import CallFacts, JournalFacts, Rating, RunFacts, UsageFacts
from retinue.orchestration.present.statistics_charts import statistics_charts
from retinue.orchestration.statistics import Statistics, statistics_of

TIERS: dict[Tier, str] = {"small": "m:small", "medium": "m:medium", "large": "m:large"}
DAY_NS = 86_400 * 10**9
START_NS = int(datetime(2026, 3, 2, 12).astimezone().timestamp()) * 10**9


def used(model: str = "m:small", tokens: int | None = 100, usd: float | None = 0.5) -> UsageFacts:
    return UsageFacts(model, tokens, 0, tokens, 1, usd)


def run(name: str, day: int = 0, outcome: Outcome = "success", **facts: object) -> RunFacts:
    return RunFacts(name, "goal", START_NS + day * DAY_NS, outcome, 10**9, **facts)  # type: ignore[arg-type]


def call(
    name: str, agent: str = "writer", outcome: Outcome | None = "success", *spent: UsageFacts, **facts: object
) -> CallFacts:
    return CallFacts(name, "n1", agent, "work", outcome, used=spent, **{"duration_ns": 10**9, **facts})  # type: ignore[arg-type]


def added(runs: list[RunFacts], calls: list[CallFacts], *, agent: str | None = None) -> Statistics:
    return statistics_of(JournalFacts(tuple(runs), tuple(calls)), tiers=TIERS, agent=agent)


@pytest.mark.requirement("P21")
def test_success_counts_whole_answers_among_calls_that_nobody_stopped() -> None:
    outcomes: tuple[Outcome, ...] = ("success", "partial", "failed", "canceled")
    (writer,) = added([run("r")], [call("r", "writer", each) for each in outcomes]).agents
    assert (writer.calls, writer.success, writer.partial, writer.canceled) == (4, 1, 1, 1)
    assert writer.success_rate == pytest.approx(1 / 3)
    assert added([run("r")], [call("r", "writer", "canceled")]).agents[0].success_rate is None
    (chief,) = added([run("r")], [call("r", "chief", None), call("r", "chief")]).agents  # who first gave a plan
    assert (chief.calls, chief.open, chief.success_rate) == (2, 1, 1.0)


@pytest.mark.requirement("P21")
def test_ratings_count_for_every_agent_that_took_part() -> None:
    rated = [run("r1", rating=Rating("good")), run("r2", rating=Rating("bad")), run("r3")]
    found = added(rated, [call("r1"), call("r1:n1~2", "critic"), call("r2"), call("r3")])
    assert [(each.name, each.good, each.bad) for each in found.agents] == [("writer", 1, 1), ("critic", 1, 0)]
    assert (found.runs.good, found.runs.bad) == (1, 1)


def test_what_was_not_measured_is_left_out() -> None:
    found = added([run("r")], [call("r", "writer", "success", duration_ns=None)])
    data = found.to_json()
    assert {"tokens", "cost_usd", "median_ns"} & data["agents"][0].keys() == set()
    assert "handed_on" not in data
    assert (found.mix, found.models, found.faults) == ((), (), {})


@pytest.mark.requirement("A15")
def test_the_mix_is_by_model_whatever_the_call_used() -> None:
    calls = [
        call("r", "writer", "success", used(), used("m:large", 300, None)),
        call("r", "critic", "success", used("m:medium, m:medium", 50), used("m:small, m:large", 50)),
        call("r", "critic", "success", used("m:odd")),
    ]
    found = added([run("r")], calls)
    by_calls, by_tokens, by_cost = found.mix
    assert by_calls.shares == {"small": 1 / 3, "medium": 1 / 3, "large": 1 / 3}
    assert (by_calls.total, by_calls.unknown) == (5, 2)
    assert by_tokens.shares["large"] == pytest.approx(300 / 450)
    assert by_cost.shares == {"small": 0.5, "medium": 0.5, "large": 0.0}
    large = next(each for each in found.models if each.name == "m:large")
    assert (large.tokens, large.usd, large.priced) == (300, None, 0)


@pytest.mark.requirement("A15", "C18")
def test_of_several_models_in_one_attempt_each_has_its_own_share() -> None:
    parts = (used(usd=0.5), used("m:large", 300, None), UsageFacts("m:small", 7, 0, 7, 1, 9.0, agent="critic"))
    whole = UsageFacts("m:small, m:large", 407, 0, 407, 3, parts=parts)
    idle = UsageFacts("m:medium", 0, 0, 0, 0)
    found = added([run("r", used=whole)], [call("r", "writer", "success", whole, idle)])
    by_calls, by_tokens, by_cost = found.mix
    assert (by_calls.total, by_calls.shares) == (2, {"small": 0.5, "medium": 0.0, "large": 0.5})
    assert (by_tokens.total, by_tokens.shares["large"], by_cost.total) == (400, 0.75, 0.5)
    (writer,) = found.agents
    assert (writer.tokens, writer.usd, writer.priced, writer.unpriced) == (400, 0.5, 0, 1)
    assert (found.runs.tokens, found.runs.usd, found.runs.unpriced) == (407, 9.5, 1)
    assert {each.name: (each.priced, each.unpriced) for each in found.models} == {
        "m:small": (1, 0), "m:large": (0, 1), "m:medium": (0, 0),
    }  # fmt: skip
    assert added([run("r", used=whole)], [call("r", "writer", "success", whole)], agent="writer").runs.tokens == 400


def test_one_agent_alone_brings_its_own_runs_and_costs() -> None:
    runs = [run("r1", used=used(usd=9.0)), run("r2")]
    calls = [call("r1", "writer", "success", used(usd=1.0)), call("r1", "critic", "success", used(usd=8.0)), call("r2")]
    found = added(runs, calls, agent="critic")
    assert (found.runs.calls, found.runs.usd, [each.name for each in found.agents]) == (1, 8.0, ["critic"])
    assert added(runs, calls).runs.usd == 9.0


@pytest.mark.parametrize(
    ("days", "names"),
    [
        ((0, 1), ["2026-03-02", "2026-03-03"]),
        ((0, 1, 40), ["2026-W10", "2026-W15"]),
        ((0, 300), ["2026-03", "2026-12"]),
    ],
)
@pytest.mark.requirement("A15")
def test_time_is_cut_into_days_weeks_or_months(days: tuple[int, ...], names: list[str]) -> None:
    runs = [run(f"r{day}", day) for day in days]
    found = added(runs, [call(each.run, "writer", "success", used()) for each in runs])
    assert [period.name for period in found.periods] == names
    assert all(period.mix for period in found.periods)
    assert sum(period.whole.calls for period in found.periods) == len(runs)


def test_hand_offs_and_faults_are_added_up() -> None:
    runs = [run("r1", tokens_full=100, tokens_handed_on=30), run("r2", tokens_full=50, tokens_handed_on=50), run("r3")]
    found = added(runs, [call("r1", faults=("timeout", "timeout")), call("r2", faults=("output_invalid",), retries=2)])
    assert (found.tokens_full, found.tokens_handed_on) == (150, 80)
    assert found.faults == {"timeout": 2, "output_invalid": 1}
    assert found.runs.retries == 2


def test_a_plot_leaves_out_what_nobody_measured() -> None:
    assert statistics_charts(added([], [])) == ()
    plain = statistics_charts(added([run("r")], [call("r")]))
    assert [chart.title for chart in plain] == ["Runs over time", "Success by agent", "Time by agent"]
    whole = statistics_charts(
        added([run("r", used=used())], [call("r", "writer", "failed", used(), faults=("timeout",))])
    )
    assert [(chart.title, chart.unit) for chart in whole] == [
        ("Cost over time", "USD"), ("Mix of tiers", "%"), ("Success by agent", "%"), ("Success by model", "%"),
        ("Time by agent", "s"), ("Failed attempts by fault", None),
    ]  # fmt: skip
