"""Names and tiers turned into models, and what is said when that does not work."""

import asyncio
from pathlib import Path

import pytest

from retinue.contract.definition import Tier
from retinue.errors import (
    AccessDenied,
    InvalidInput,
    NotInstalled,
    RetinueError,
    Unauthenticated,
    Unavailable,
    UnknownName,
)
from retinue.llm.models import DEFAULT_TIERS, Models, ProviderSettings
from retinue.llm.prices import Price
from retinue.llm.provider_info import KEYS, PROVIDERS, nearest_models
from retinue.llm.pydantic_ai_model import PydanticAIModel
from retinue.llm.scripted import ScriptedModel

KEY = "sk-ant-0123456789abcdefghij"


def configured(default: str = "anthropic:claude-sonnet-4-6", **tiers: str) -> Models:
    chosen: dict[Tier, str] = {tier: tiers[tier] for tier in ("small", "medium", "large") if tier in tiers}
    return Models(default=default, tiers=chosen or DEFAULT_TIERS, environment={})


# Choosing.


def test_the_task_comes_before_the_definition_before_the_tier_before_the_default() -> None:
    models = configured(small="a:small", medium="a:medium", large="a:large")
    assert models.choose(model="x:task", own="x:own", tier="small", source="user").name == "x:task"
    assert models.choose(own="x:own", tier="small").name == "x:own"
    assert models.choose(tier="small").name == "a:small"
    assert models.choose().name == "anthropic:claude-sonnet-4-6"


def test_each_choice_says_why() -> None:
    models = configured(small="a:small", medium="a:medium", large="a:large")
    assert models.choose(model="x:task", source="user").why == "it was asked for"
    assert models.choose(own="opus").why == "the definition names it, as 'opus'"
    assert models.choose(tier="large").why == "the tier is large"
    assert models.choose().why == "it is the default"


@pytest.mark.parametrize(("word", "tier"), [
    ("haiku", "small"), ("Sonnet", "medium"), ("opus", "large"), ("small", "small"), (" large ", "large"),
])  # fmt: skip
def test_families_and_sizes_are_tiers(word: str, tier: Tier) -> None:
    chosen = configured(default="medium").choose(model=word)
    assert (chosen.tier, chosen.name) == (tier, DEFAULT_TIERS[tier])


def test_where_only_tiers_are_configured_the_model_of_whoever_asks_is_left() -> None:
    models = Models(tiers={"small": "x:small"})
    assert models.choose(parent="x:parent").name == "x:parent"
    assert models.choose(tier="small", parent="x:parent").name == "x:small"
    with pytest.raises(Unavailable):
        models.choose()


def test_inherit_is_the_model_of_whoever_asks_else_as_if_nothing_were_said() -> None:
    models = configured()
    assert models.choose(own="inherit", parent="x:parent").name == "x:parent"
    assert models.choose(own="Inherit", tier="small").name == DEFAULT_TIERS["small"]
    assert models.choose(model="inherit", own="x:own").name == "x:own"
    assert models.choose(model="", own="inherit").name == models.default


def test_a_name_without_its_provider_is_completed() -> None:
    models = configured()
    assert models.choose(model="claude-haiku-4-5", source="user").name == "anthropic:claude-haiku-4-5"
    assert models.choose(model="claude-haiku-4-5", source="user").tier == "small"
    assert models.choose(model="gpt-5-mini", source="user").name == "openai:gpt-5-mini"
    assert models.choose(model="gemini-2.5-pro", source="user").name == "google:gemini-2.5-pro"
    with pytest.raises(UnknownName) as raised:
        models.choose(model="haikku")
    assert "haiku" in raised.value.suggestions
    assert "provider:model" in raised.value.hint


def test_without_a_configured_model_nobody_is_asked_that_nobody_named() -> None:
    models = Models(environment={"ANTHROPIC_API_KEY": KEY})
    assert not models.configured
    for asked in ({}, {"tier": "small"}, {"own": "haiku"}, {"own": "inherit"}):
        with pytest.raises(Unavailable) as raised:
            models.choose(**asked)  # pyright: ignore[reportArgumentType] - names of arguments from a list
        assert "models.default" in raised.value.hint
        assert "RETINUE_MODELS_DEFAULT" in raised.value.hint
        assert "--model" in raised.value.hint
        assert raised.value.detail == {"retryable": False}
    assert models.choose(model="x:named", source="user").name == "x:named"


def test_a_default_of_another_provider_stands_for_tiers_that_nobody_mapped() -> None:
    models = configured(default="openai:gpt-5")
    assert models.choose(tier="small").name == "openai:gpt-5"
    assert "no model is configured for it but the default" in models.choose(tier="small").why
    assert (
        configured(default="openai:gpt-5", small="openai:gpt-5-mini").choose(tier="small").name == "openai:gpt-5-mini"
    )
    assert configured(default="openai:gpt-5", small="openai:gpt-5-mini").choose(tier="large").name == "openai:gpt-5"


def test_a_tier_that_leads_nowhere_says_so() -> None:
    with pytest.raises(Unavailable, match="tier 'large'"):
        configured(default="small", small="a:b").choose(tier="large")


def test_a_definition_names_no_file_as_its_model_that_nobody_configured() -> None:
    for name in ("local:/tmp/x.gguf", "replay:/tmp/x.jsonl"):
        with pytest.raises(AccessDenied):
            configured().choose(own=name)
        assert configured().choose(model=name, source="user").name == name
        assert configured(default=name).choose(own=name).name == name
        with pytest.raises(AccessDenied):  # a plan repeats what the definition says
            configured().choose(model=name, own=name)


def test_one_model_for_everything() -> None:
    model = ScriptedModel([])
    models = Models.only(model)
    assert models.configured
    for chosen in (models.choose(), models.choose(model="haiku"), models.choose(tier="large")):
        assert models.get(chosen.name) is model


def test_a_ready_model_needs_no_colon_and_no_opening() -> None:
    model = ScriptedModel([], name="mine")
    models = Models(ready={"mine": model}, default="mine")
    assert models.get(models.choose().name) is model


# Opening.


def test_a_missing_key_names_the_variable() -> None:
    with pytest.raises(Unauthenticated) as raised:
        Models(environment={}).get("anthropic:claude-haiku-4-5")
    assert "`ANTHROPIC_API_KEY`" in raised.value.message
    assert "`ANTHROPIC_API_KEY`" in raised.value.hint
    with pytest.raises(Unauthenticated, match="`GOOGLE_API_KEY` or `GEMINI_API_KEY`"):
        Models(environment={}).get("google:gemini-2.5-pro")


@pytest.mark.parametrize("provider", sorted(set(KEYS) - {"azure", "azure-responses"}))
def test_every_provider_that_needs_a_key_says_which(provider: str) -> None:
    with pytest.raises(Unauthenticated) as raised:
        Models(environment={}).get(f"{provider}:some-model")
    assert KEYS[provider][0] in raised.value.hint


@pytest.mark.parametrize("key", ["sk-1234\n", " sk-1234", "sk-\r\n1234", "sk-1234\x00", "schl\u00fcssel"])
def test_a_key_that_no_header_may_hold_is_told_and_not_shown(key: str) -> None:
    with pytest.raises(Unauthenticated, match="cannot be sent") as refused:
        Models(environment={"OPENAI_API_KEY": key}).get("openai:gpt-5")
    assert "OPENAI_API_KEY" in refused.value.hint
    assert key.strip() not in str(refused.value)


def test_a_key_variable_of_ones_own_is_the_one_that_is_missing() -> None:
    models = Models(
        environment={"ANTHROPIC_API_KEY": KEY}, providers={"anthropic": ProviderSettings(key_variable="MINE")}
    )
    with pytest.raises(Unauthenticated, match="`MINE`"):
        models.get("anthropic:claude-haiku-4-5")


def test_an_unknown_provider_names_the_nearest() -> None:
    with pytest.raises(UnknownName) as raised:
        Models(environment={}).get("antropic:claude-haiku-4-5")
    assert raised.value.suggestions[0] == "anthropic:claude-haiku-4-5"
    assert "Did you mean `anthropic:claude-haiku-4-5`?" in raised.value.hint
    with pytest.raises(UnknownName) as raised:
        Models(environment={}).get("zzzzzzzz:model")
    assert "`anthropic`" in raised.value.hint


def test_the_nearest_models_are_those_of_the_same_provider() -> None:
    assert nearest_models("anthropic:claude-hiaku-4-5")[0] == "anthropic:claude-haiku-4-5"
    assert nearest_models("nobody:gpt-5") != ()


@pytest.mark.parametrize("name", ["anthropic:", ":", "local: "])
def test_half_a_name_is_refused(name: str) -> None:
    with pytest.raises((InvalidInput, UnknownName)):
        Models(environment={}).get(name)


@pytest.mark.parametrize("name", ["nosuch", "antropic:claude-haiku-4-5", "openai:", "inherit"])
def test_a_name_that_is_none_is_seen_before_anything_is_opened(name: str) -> None:
    with pytest.raises((InvalidInput, UnknownName)):
        Models(default=name, environment={}).check(name)


@pytest.mark.parametrize("name", ["small", "gpt-5", "openai:new-today", "mine:x", "local:a.gguf", "scripted"])
def test_a_name_that_could_be_one_is_let_pass_without_a_key(name: str) -> None:
    mine = {"mine": ProviderSettings(base_url="http://127.0.0.1:9/v1")}
    ready = {"scripted": ScriptedModel([])}
    Models(default=name, environment={}, providers=mine, ready=ready).check(name)


@pytest.mark.parametrize(("name", "address"), [("openai-compatible:x", ""), ("mine:x", "localhost"), ("openai:x", "x")])
def test_an_address_that_is_missing_or_none_is_seen_before_anything_is_opened(name: str, address: str) -> None:
    mine = {name.partition(":")[0]: ProviderSettings(base_url=address)}
    with pytest.raises(InvalidInput, match="URL"):
        Models(default=name, environment={}, providers=mine).check(name)


def test_a_model_is_opened_once_and_asks_nobody() -> None:
    models = Models(environment={"ANTHROPIC_API_KEY": KEY})
    model = models.get("anthropic:claude-haiku-4-5")
    assert isinstance(model, PydanticAIModel)
    assert models.get("anthropic:claude-haiku-4-5") is model
    assert model.name == "anthropic:claude-haiku-4-5"
    assert model.max_output is not None
    assert model.max_output > 1_000


@pytest.mark.requirement("C18")
def test_an_opened_model_has_the_price_of_the_book_or_ones_own() -> None:
    name = "anthropic:claude-haiku-4-5"
    by_book = Models(environment={"ANTHROPIC_API_KEY": KEY}).get(name)
    assert by_book.price(tokens_in=0, tokens_out=1_000_000) == pytest.approx(5.0)
    # At most: all of it might go into the provider's cache, which costs a quarter more.
    assert by_book.price(tokens_in=1_000_000, tokens_out=0) == pytest.approx(1.25)
    own = {name: Price(2.0, 4.0, date="2026-01-01", source="contract")}
    assert Models(environment={"ANTHROPIC_API_KEY": KEY}, prices=own).get(name).price(
        tokens_in=1_000_000, tokens_out=1_000_000
    ) == pytest.approx(6.0)


def test_opened_models_are_closed_together_and_may_be_asked_again() -> None:
    models = Models(environment={"ANTHROPIC_API_KEY": KEY}, ready={"mine": ScriptedModel([])})
    model = models.get("anthropic:claude-haiku-4-5")
    asyncio.run(models.close())
    assert models.get("anthropic:claude-haiku-4-5") is model


def test_any_endpoint_is_reached_by_an_address() -> None:
    here = ProviderSettings(base_url="http://127.0.0.1:9/v1")
    models = Models(
        environment={}, providers={"openai": here, "mine": here, "openai-compatible": here, "anthropic": here}
    )
    for name in ("openai:anything", "mine:llama", "openai-compatible:llama", "anthropic:claude-haiku-4-5"):
        model = models.get(name)
        assert isinstance(model, PydanticAIModel)
        assert "127.0.0.1:9" in str(model.model.base_url)
        assert model.price(tokens_in=1, tokens_out=1) is None


def test_ollama_is_where_it_usually_is() -> None:
    usual = Models(environment={}).get("ollama:llama3")
    other = Models(environment={"OLLAMA_BASE_URL": "http://127.0.0.1:9/v1"}).get("ollama:llama3")
    assert isinstance(usual, PydanticAIModel)
    assert isinstance(other, PydanticAIModel)
    assert "localhost:11434" in str(usual.model.base_url)
    assert "127.0.0.1:9" in str(other.model.base_url)


@pytest.mark.parametrize(("name", "base_url"), [
    ("openai-compatible:llama", ""),
    ("openai:gpt-5", "file:///etc/passwd"),
    ("openai:gpt-5", "localhost:80"),
])  # fmt: skip
def test_an_address_that_cannot_be_is_refused(name: str, base_url: str) -> None:
    provider = name.partition(":")[0]
    models = Models(environment={}, providers={provider: ProviderSettings(base_url=base_url)})
    with pytest.raises(InvalidInput) as raised:
        models.get(name)
    assert "base_url" in raised.value.hint


def test_a_foreign_address_gets_no_key_that_was_not_named_for_it() -> None:
    def key_for(settings: ProviderSettings) -> str:
        environment = {"ANTHROPIC_API_KEY": KEY, "MINE": "another-key-123"}
        model = Models(environment=environment, providers={"anthropic": settings}).get("anthropic:claude-haiku-4-5")
        assert isinstance(model, PydanticAIModel)
        provider = model.model.provider
        assert provider is not None
        return provider.client.api_key

    assert key_for(ProviderSettings()) == KEY
    assert key_for(ProviderSettings(base_url="http://127.0.0.1:9")) != KEY
    assert key_for(ProviderSettings(base_url="http://127.0.0.1:9", key_variable="MINE")) == "another-key-123"


def test_no_key_is_shown_anywhere() -> None:
    models = Models(environment={"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY})
    model = models.get("anthropic:claude-haiku-4-5")
    assert isinstance(model, PydanticAIModel)
    assert KEY not in f"{model!r} {models!r} {model.model!r}"


def test_what_a_provider_lacks_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(RetinueError) as raised:
        Models(environment={}).get("bedrock:anthropic.claude-haiku-4-5-20251001-v1:0")
    assert "AWS_REGION" in raised.value.hint


def test_a_client_that_is_not_installed_names_the_extra() -> None:
    with pytest.raises(NotInstalled) as raised:
        Models(environment={"GROQ_API_KEY": KEY}).get("groq:llama-3.3-70b-versatile")
    assert raised.value.hint == "install `pydantic-ai-slim[groq]`"


def test_without_pydantic_ai_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pydantic_ai.models", None)
    with pytest.raises(NotInstalled) as raised:
        Models(environment={"ANTHROPIC_API_KEY": KEY}).get("anthropic:claude-haiku-4-5")
    assert raised.value.hint == "install `retinue[llm]`"


def test_a_recording_and_a_local_model_are_named_by_their_file(tmp_path: Path) -> None:
    for kind in ("replay", "local"):
        with pytest.raises(RetinueError) as raised:
            Models(environment={}).get(f"{kind}:{tmp_path / 'absent'}")
        assert "absent" in f"{raised.value.message} {raised.value.hint} {raised.value.path}"


def test_what_cannot_be_opened_for_another_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SNOWFLAKE_ACCOUNT", "AZURE_OPENAI_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(InvalidInput) as raised:
        Models(environment={"SNOWFLAKE_TOKEN": KEY}).get("snowflake:some-model")
    assert raised.value.suggestions == ("SNOWFLAKE_ACCOUNT",)
    with pytest.raises(InvalidInput) as raised:
        Models(environment={"AZURE_OPENAI_API_KEY": KEY}).get("azure:some-model")
    assert "AZURE_OPENAI_ENDPOINT" in raised.value.hint


def test_the_table_of_providers_is_sorted_and_whole() -> None:
    from pydantic_ai.providers import infer_provider_class

    assert list(PROVIDERS) == sorted(PROVIDERS)
    for provider in KEYS:
        try:
            infer_provider_class(provider)
        except ImportError:
            continue
