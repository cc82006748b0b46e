"""`retinue models`, and what the settings make of models."""

from pathlib import Path

import pytest

from retinue.cli.models import models_of, provider_of, state_of
from retinue.cli.settings import load
from retinue.errors import InvalidInput
from retinue.llm.models import DEFAULT_TIERS, Models, ProviderSettings
from retinue.llm.recording import Recorder
from tests.cli.conftest import Give
from tests.cli.thinking import add_agents


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.requirement("C18")
def test_the_tiers_are_listed_with_dated_prices_and_whether_they_can_be_asked(retinue: Give, folder: Path) -> None:
    said = retinue("models")
    head, small, _, _, prices = said.out.splitlines()
    assert head.split()[:2] == ["tier", "model"]
    assert small.startswith("small   anthropic:claude-haiku-4-5 ")
    assert small.endswith("no: set ANTHROPIC_API_KEY")
    assert prices.startswith("prices: genai-prices-")
    assert "No model is configured." in said.err
    data = retinue("models", "--json").data
    assert data["configured"] is False
    assert [each["use"] for each in data["models"]] == ["small", "medium", "large"]
    assert all(each["usd_per_million_in"] > 0 and len(each["price_date"]) == 10 for each in data["models"])


def test_a_key_is_told_to_be_there_and_never_shown(
    retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-very-secret")
    monkeypatch.setenv("RETINUE_MODELS_DEFAULT", "small")
    said = retinue("models")
    assert "small (default)" in said.out
    assert said.out.splitlines()[1].endswith("yes")
    assert "very-secret" not in said.out + retinue("models", "--json").out


def test_a_default_model_stands_first_with_its_provider(
    retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RETINUE_MODELS_DEFAULT", "gpt-5")
    first, *_ = retinue("models", "--json").data["models"]
    assert (first["use"], first["model"], first["key_variable"]) == ("default", "openai:gpt-5", "OPENAI_API_KEY")
    monkeypatch.setenv("RETINUE_MODELS_DEFAULT", "nobody-knows")
    first, *_ = retinue("models", "--json").data["models"]
    assert first["model"] == "nobody-knows"
    assert "usd_per_million_in" not in first


@pytest.mark.requirement("C18")
def test_a_price_is_told_with_its_book_and_day_or_not_at_all(
    retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = retinue("models", "price", "haiku", "--tokens-in", "2000")
    assert said.code == 0
    assert said.out.startswith("$0.002 for 2,000 tokens in and 0 out: anthropic:claude-haiku-4-5")
    assert "price: genai-prices-" in said.err
    unknown = retinue("models", "price", "nobody:knows")
    assert (unknown.code, unknown.out) == (1, "")
    assert "cost" not in retinue("models", "price", "nobody:knows", "--json").data
    monkeypatch.setenv("RETINUE_MODELS_PRICES", "nobody:knows=2/10 2026-02-03")
    data = retinue("models", "price", "nobody:knows", "--tokens-out", "100000", "--json").data
    assert data["cost"] == {"usd": 3.0, "price_id": "models.prices", "price_date": "2026-02-03"}


def test_settings_give_models(folder: Path) -> None:
    assert models_of(load(folder, environment={})).tiers is DEFAULT_TIERS
    assert not models_of(load(folder, environment={})).configured
    environment = {
        "RETINUE_MODELS_SMALL": "ollama:tiny",
        "RETINUE_MODELS_BASE_URL": "ollama=http://127.0.0.1:1/v1",
        "RETINUE_MODELS_KEY_VARIABLE": "ollama=TINY",
    }
    models = models_of(load(folder, environment=environment))
    assert models.configured
    assert models.tiers == {"small": "ollama:tiny"}  # the others are the default model's to stand for
    assert models.providers == {"ollama": ProviderSettings("http://127.0.0.1:1/v1", "TINY")}
    assert models_of(load(folder, environment={}), default="x:y").default == "x:y"


def test_exchanges_are_recorded_where_a_folder_is_set(folder: Path, tmp_path: Path) -> None:
    environment = {"RETINUE_MODELS_RECORD": str(tmp_path / "kept"), "RETINUE_MODELS_DEFAULT": "ollama:tiny"}
    models = models_of(load(folder, environment=environment))
    models.providers = {"ollama": ProviderSettings("http://127.0.0.1:9/v1")}
    assert isinstance(models.get("ollama:tiny"), Recorder)


def test_what_a_provider_lacks_is_said() -> None:
    models = Models(environment={}, providers={"openai": ProviderSettings(key_variable="MINE")})
    assert (state_of("openai", models).ready, state_of("openai", models).lacks) == (False, "set MINE")
    assert state_of("openai", Models(environment={"OPENAI_API_KEY": "x"})).ready
    assert state_of("ollama", Models(environment={})).key
    assert state_of("replay", Models(environment={})).ready
    assert state_of("groq", Models(environment={})).lacks == "install pydantic-ai-slim[groq] and set GROQ_API_KEY"
    assert state_of("google-cloud", Models(environment={})).ready
    assert state_of("openai", Models(environment={"OPENAI_BASE_URL": "http://x/v1"})).base_url == "http://x/v1"
    named = Models(environment={}, providers={"ollama": ProviderSettings(key_variable="MINE")})
    assert state_of("ollama", named).lacks == "set MINE"
    assert (provider_of("a:b:c"), provider_of("haiku")) == ("a", "")


def test_what_is_no_permission_stops_a_run_and_says_all_of_it(
    retinue: Give, team: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RETINUE_PERMISSIONS_DENY", "sh(ell, wri te")
    said = retinue("run", "sing a loud song")
    assert said.code == 2
    assert "sh(ell" in said.err
    assert "wri te" in said.err


def test_words_of_all_sources_become_rules(folder: Path) -> None:
    from retinue.cli.settings import grants_of

    environment = {"RETINUE_PERMISSIONS_ALLOW": "WebFetch", "RETINUE_PERMISSIONS_DENY": "Bash(rm *)"}
    found = {(rule.verdict, rule.tool, rule.pattern) for rule in grants_of(load(folder, environment=environment)).rules}
    assert found == {("allow", "web_fetch", ""), ("deny", "shell", "rm *")}
    with pytest.raises(InvalidInput):
        grants_of(load(folder, environment={"RETINUE_PERMISSIONS_ASK": "("}))


def test_what_another_address_takes_is_not_known(retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETINUE_MODELS_DEFAULT", "openai:gpt-4o")
    monkeypatch.setenv("RETINUE_MODELS_BASE_URL", "openai=http://127.0.0.1:9/v1")
    first, *_ = retinue("models", "--json").data["models"]
    assert (first["model"], "usd_per_million_in" in first) == ("openai:gpt-4o", False)
    assert retinue("models", "price", "openai:gpt-4o").code == 1


@pytest.mark.parametrize("wrong", ["smal", "antropic:claude-haiku-4-5", "openai:"])
def test_a_default_that_is_no_model_is_not_called_ready(
    retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    monkeypatch.setenv("RETINUE_MODELS_DEFAULT", wrong)
    first = retinue("models").out.splitlines()[1]
    assert first.startswith("default  ")
    assert "  no: " in first
    assert "wrong" in retinue("models", "--json").data["models"][0]


def test_why_no_model_is_set_is_told_before_somebody_is_refused_for_it(retinue: Give, folder: Path) -> None:
    add_agents(folder)
    (folder / "retinue.toml").write_text('[models]\ndefault = "local:/etc/passwd"\n', encoding="utf-8")
    said = retinue("ask", "poet", "the sea")
    assert said.code == 4
    assert said.err.index("not trusted may not set `models.default`") < said.err.index("needs a model")


@pytest.mark.parametrize(
    "words", [("run", "what changed?"), ("plan", "what changed?"), ("ask", "git_state_analyzer", "x y")]
)
@pytest.mark.parametrize("model", ["anthropic:claude-haiku-4-5", "small"])
def test_a_model_that_is_named_without_its_key_ends_the_command(
    retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], model: str
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    refused = retinue(*words, "--model", model, "--json")
    assert (refused.code, refused.out) == (3, "")
    assert refused.error["code"] == "unauthenticated"
    assert "ANTHROPIC_API_KEY" in refused.error["hint"]


@pytest.mark.parametrize("bound", ["--max-cost", "--max-tokens"])
@pytest.mark.parametrize("words", [("run", "what changed?"), ("ask", "git_state_analyzer", "what changed?")])
def test_nothing_is_done_for_a_budget_of_nothing(
    retinue: Give, folder: Path, bound: str, words: tuple[str, ...]
) -> None:
    ended = retinue(*words, bound, "0", "--json")
    assert ended.code == 7
    assert ended.data["fault"]["code"] == "budget_exceeded"
