"""`retinue stats`: past runs, added up, as tables, as data and as a plot."""

import re
from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

from retinue.cli import stats
from retinue.orchestration.statistics import Statistics, Tally
from tests.cli.conftest import Give
from tests.cli.thinking import add_agents, use_models

POEM = ("run", "--agent", "poet", "write a poem about the sea")


@pytest.fixture
def history(retinue: Give, team: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three runs: two poems, one by the largest model and rated, and a window that broke."""
    add_agents(team)
    use_models(monkeypatch, lambda _: "Roses are red.")
    for tier in ("small", "medium", "large"):
        monkeypatch.setenv(f"RETINUE_MODELS_{tier.upper()}", f"scripted:{tier}")
    assert retinue(*POEM).code == 0
    assert retinue(*POEM, "--choose", "B").code == 0
    retinue("runs", "rate", retinue("runs", "list", "--json").data[0]["run"], "good")
    assert retinue("run", "--agent", "breaker", "break a glass window").code == 1
    return team


def test_nothing_past_says_how_to_begin(retinue: Give, folder: Path) -> None:
    said = retinue("stats")
    assert (said.code, said.out) == (0, "")
    assert "No finished runs yet." in said.err
    assert retinue("stats", "--json").data["runs"]["calls"] == 0
    assert "since then" in retinue("stats", "--since", "7d").err


@pytest.mark.requirement("A15", "P21")
def test_runs_are_added_up_by_agent_and_model_with_the_mix(retinue: Give, history: Path) -> None:
    data = retinue("stats", "--json").data
    assert (data["runs"]["calls"], data["runs"]["success"], data["runs"]["rated_good"]) == (3, 2, 1)
    poet, breaker = data["agents"]
    assert (poet["name"], poet["calls"], poet["success_rate"], poet["rated_good"]) == ("poet", 2, 1.0, 1)
    assert (breaker["name"], breaker["success_rate"]) == ("breaker", 0.0)
    assert "cost_usd" not in breaker
    assert [each["name"] for each in data["models"]] == ["scripted:large", "scripted:small"]
    calls = data["mix"][0]
    assert (calls["unit"], calls["shares"]) == ("calls", {"small": 0.5, "medium": 0.0, "large": 0.5})
    assert [each["unit"] for each in data["mix"]] == ["calls", "tokens", "cost"]
    assert sum(data["faults"].values()) >= 1
    (period,) = data["periods"]
    assert period["calls"] == 3


@pytest.mark.requirement("A15", "P21")
def test_people_get_tables_with_units(retinue: Give, history: Path) -> None:
    out = retinue("stats").out
    assert out.startswith("3 runs: 2 success, 1 error\n")
    assert re.search(r"target +70% +25% +5%\n", out)
    assert re.search(r"by calls +50% \(-20 pts\)", out)
    assert "by cost" in out
    assert "rated: 1 good, 0 bad" in out
    assert "scripted:large" in out
    assert "faults of attempts" in out


@pytest.mark.requirement("C18")
def test_a_run_of_which_some_has_no_price_says_the_least_it_cost(
    retinue: Give, team: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_agents(team)
    use_models(monkeypatch, lambda _: "Roses are red.", large=None)
    for tier in ("small", "medium", "large"):
        monkeypatch.setenv(f"RETINUE_MODELS_{tier.upper()}", f"scripted:{tier}")
    place = team / ".claude" / "agents" / "poet.md"
    place.write_text(place.read_text(encoding="utf-8").replace("tools:", "model: opus\ntools:"), encoding="utf-8")
    goal = ("run", "--agent", "poet", "--agent", "housekeeper", "write a poem about the sea and tidy a wooden house")
    said = retinue(*goal, "--choose", "auto")
    assert said.code == 0
    assert "(1 of 2 models has no known price)" in said.err
    usage = retinue(*goal, "--choose", "auto", "--json").data["usage"]
    assert "cost" not in usage
    priced = {part["model"]: part.get("cost", {}).get("usd") for part in usage["parts"]}
    assert priced.keys() == {"scripted:small", "scripted:large"}
    assert priced["scripted:large"] is None
    assert retinue(*POEM).err.count("no known price") == 1
    data = retinue("stats", "--json").data["runs"]
    assert data["cost_usd"] == pytest.approx(2 * priced["scripted:small"])
    assert ("priced" in data, data["unpriced"]) == (False, 3)
    out = retinue("stats").out
    assert f"at least ${data['cost_usd']:.4f} (3 runs of 3 without a known price for all of it)" in out
    assert "no known price" in retinue("stats", "--agent", "poet").out


def test_one_agent_alone_and_a_time(retinue: Give, history: Path) -> None:
    data = retinue("stats", "--agent", "breaker", "--json").data
    assert (data["runs"]["calls"], [each["name"] for each in data["agents"]], data["mix"]) == (1, ["breaker"], [])
    unknown = retinue("stats", "--agent", "braker")
    assert (unknown.code, "Did you mean `breaker`?" in unknown.err) == (2, True)
    assert retinue("stats", "--since", "2000-01-01", "--json").data["runs"]["calls"] == 3
    assert retinue("stats", "--since", "2999-01-01", "--json").data["runs"]["calls"] == 0
    assert retinue("stats", "--since", "yesterday").code == 2


@pytest.mark.requirement("P21")
def test_a_plot_is_an_svg_file_with_labelled_axes(retinue: Give, history: Path) -> None:
    said = retinue("stats", "--plot", "runs.svg")
    assert said.code == 0
    assert said.err.endswith("drawn into runs.svg\n")
    text = (history / "runs.svg").read_text(encoding="utf-8")
    words = "".join(fromstring(text).itertext())
    for said_there in ("Cost over time (USD)", "Mix of tiers (%)", "Success by agent (%)", "slowest call", "poet (2)"):
        assert said_there in words


def test_a_plot_that_cannot_be_written_is_said_before_the_work(retinue: Give, folder: Path) -> None:
    assert "Use the extension .svg" in retinue("stats", "--plot", "runs.png").err
    assert "No such folder" in retinue("stats", "--plot", "nowhere/runs.svg").err


def test_an_empty_history_can_be_drawn(retinue: Give, folder: Path) -> None:
    assert retinue("stats", "--plot", "runs.svg").code == 0
    fromstring((folder / "runs.svg").read_text(encoding="utf-8"))


@pytest.mark.requirement("A15")
def test_one_run_has_its_own_mix(retinue: Give, history: Path) -> None:
    newest, dear, cheap = (each["run"] for each in retinue("runs", "list", "--json").data)
    shares = [retinue("stats", "--run", run, "--json").data["mix"][0]["shares"]["small"] for run in (dear, cheap)]
    assert shares == [0.0, 1.0]
    assert retinue("stats", "--run", newest[-6:], "--json").data["mix"] == []
    assert retinue("stats", "--run", "zzzz").code == 2


def test_what_was_handed_on_with_more_than_in_full_says_so() -> None:
    found = Statistics(Tally("runs", calls=1), {"success": 1}, tokens_full=20, tokens_handed_on=50)
    assert "  context passed on: 50 of 20 tokens, 150% more than in full" in stats._summary(found, "")  # pyright: ignore[reportPrivateUsage] - one line of it
    found = replace(found, tokens_handed_on=5)
    assert "  context passed on: 5 of 20 tokens, 75% less than in full" in stats._summary(found, "")  # pyright: ignore[reportPrivateUsage] - one line of it


def test_only_the_newest_runs_count_unless_all_are_wanted(
    retinue: Give, history: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retinue.cli.stats._WINDOW", 2)
    said = retinue("stats", "--json")
    assert said.data["runs"]["calls"] == 2
    assert "Only the newest 2 runs are counted" in said.err
    said = retinue("stats", "--all", "--json")
    assert said.data["runs"]["calls"] == 3
    assert "newest" not in said.err
