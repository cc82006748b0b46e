"""`retinue models`: which model each tier means, what it costs, and whether it can be asked."""

import importlib.util
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

import click

from retinue.cli.app import Exit
from retinue.cli.output import echo, echo_err, echo_json, present, safe, table
from retinue.cli.settings import Settings, settings_of
from retinue.contract.definition import Tier, read_tier
from retinue.errors import RetinueError
from retinue.llm.models import DEFAULT_TIERS, Models, ProviderSettings
from retinue.llm.prices import ModelListing, Price, model_listing, price
from retinue.llm.provider_info import EXTRAS, KEYS, OPTIONAL_KEYS, address_of


def list_models(*, as_json: bool, workspace: Path | None) -> None:
    """List tiers with their models, prices, and whether the API key is set. No model is called."""
    models = models_of(settings_of(workspace))
    rows: list[tuple[str, ModelListing, ProviderState]] = []
    for use, name in _models_in_use(models):
        state = state_of(provider_of(name), models)
        try:
            models.check(name)
        except RetinueError as error:  # it can name no model
            state = replace(state, wrong=error.message)
        rows.append((use, model_listing(name, own=models.prices.get(name), address=models.address(name)), state))
    if as_json:
        facts = {"configured": models.configured, "default": models.default or None}
        echo_json({**facts, "models": [_facts(use, model, state) for use, model, state in rows]})
        return
    cells = [
        (
            use,
            safe(model.name),
            "" if model.usd_in is None or model.usd_out is None else f"{model.usd_in:g} / {model.usd_out:g}",
            "" if model.window is None else f"{model.window:,}",
            "yes" if state.ready else safe(f"no: {state.lacks}"),
        )
        for use, model, state in rows
    ]
    price_head = "in/out, USD per 1M"
    for line in table(("tier", "model", price_head, "window", "ready"), cells, right=(price_head, "window")):
        echo(line)
    dates = {f"{model.price_id.partition(' ')[0]}, seen {model.price_date}" for _, model, _ in rows if model.price_id}
    for date in sorted(dates):
        echo(click.style(f"prices: {safe(date)}", dim=True))
    if not models.configured:
        echo_err("No model is configured. Set RETINUE_MODELS_DEFAULT=small, or `models.default` in a settings file.")


def _models_in_use(models: Models) -> list[tuple[str, str]]:
    """Every model that the settings name, with what it is for; the default first when it is no tier."""
    uses = [(str(tier), name) for tier, name in models.tiers.items()]
    default = models.default
    tier = read_tier(default) if default else None
    if tier is not None:
        return [(f"{use} (default)" if use == tier else use, name) for use, name in uses]
    return [("default", _full_name(models, default)), *uses] if default else uses


def _full_name(models: Models, name: str) -> str:
    """The name with its provider; unchanged when its provider is unknown."""
    try:
        return models.choose(model=name, source="user").name
    except RetinueError:
        return name


def models_of(settings: Settings, *, default: str | None = None, extra_models: Iterable[str] = ()) -> Models:
    """The models at hand, as `settings` say. Where they name none, only models that are named are asked.

    Args:
        settings: What is set.
        default: The model or tier of agents that name none, instead of what is set.
        extra_models: Further models that the user names, so that tasks may.
    """
    tiers = {tier: name for tier in DEFAULT_TIERS if (name := settings.get(f"models.{tier}"))}
    addresses, variables = _texts(settings, "models.base_url"), _texts(settings, "models.key_variable")
    providers = {
        name: ProviderSettings(base_url=addresses.get(name, ""), key_variable=variables.get(name, ""))
        for name in dict.fromkeys((*addresses, *variables))
    }
    prices: dict[str, Price] = {}
    for name, text in _texts(settings, "models.prices").items():
        # As the settings write it: `1.25/10 2026-01-31`, US dollars for a million tokens in and out.
        amounts, _, date = text.partition(" ")
        usd_in, usd_out = (float(amount) for amount in amounts.split("/"))
        prices[name] = Price(usd_in=usd_in, usd_out=usd_out, date=date, source="models.prices")
    return Models(
        # The very same mapping tells that nobody configured the tiers.
        tiers=cast("Mapping[Tier, str]", tiers) or DEFAULT_TIERS,
        default=settings.get("models.default", default),
        providers=providers,
        prices=prices,
        allowed=(*settings.get("models.allow"), *extra_models),
        record=settings.get("models.record"),
    )


def _texts(settings: Settings, key: str) -> Mapping[str, str]:
    return settings.get(key)


_PACKAGES: Final[Mapping[str, str]] = {
    "anthropic": "anthropic",
    "bedrock": "boto3",
    "cohere": "cohere",
    "google": "google.genai",
    "google-cloud": "google.genai",
    "groq": "groq",
    "huggingface": "huggingface_hub",
    "local": "xllamacpp",
    "mistral": "mistralai",
    "openai": "openai",
    "xai": "xai_sdk",
}
"""What the client of a provider is imported as; most speak as OpenAI does."""


@dataclass(frozen=True, slots=True)
class ProviderState:
    """Whether a provider can be asked.

    Attributes:
        installed: Its client is there.
        extra: What brings it.
        variable: The variable that holds its key; empty when it needs none.
        key: Whether that variable says something.
        base_url: Where it is asked, when that is not its own address.
        wrong: Why a model of it cannot be used.
    """

    name: str
    installed: bool
    extra: str
    variable: str = ""
    key: bool = True
    base_url: str = ""
    wrong: str = ""

    @property
    def ready(self) -> bool:
        """It can be asked."""
        return self.installed and self.key and not self.wrong

    @property
    def lacks(self) -> str:
        """What is missing, in words; empty when nothing is."""
        if self.wrong:
            return self.wrong
        missing = [] if self.installed else [f"install {self.extra}"]
        missing += [] if self.key else [f"set {self.variable}"]
        return " and ".join(missing)


def provider_of(model: str) -> str:
    """The provider in the name of a model."""
    return model.partition(":")[0] if ":" in model else ""


def state_of(provider: str, models: Models) -> ProviderState:
    """Whether `provider` can be asked, as far as that shows without asking it."""
    settings, package = models.providers.get(provider, ProviderSettings()), _PACKAGES.get(provider, "openai")
    environment = os.environ if models.environment is None else models.environment
    own = KEYS.get(provider) or OPTIONAL_KEYS.get(provider, ())
    candidates = (settings.key_variable,) if settings.key_variable else own
    set_variable = next((variable for variable in candidates if environment.get(variable)), "")
    keyless = not settings.key_variable and (provider not in KEYS or bool(settings.base_url))
    return ProviderState(
        name=provider,
        installed=provider == "replay"
        or (is_installed(package) and (provider == "local" or is_installed("pydantic_ai"))),
        extra=EXTRAS.get(provider, "retinue[llm]"),
        variable=set_variable or (candidates[0] if candidates else ""),
        key=bool(set_variable) or keyless,
        base_url=address_of(provider, settings, environment),
    )


def is_installed(package: str) -> bool:
    """Whether `package` can be imported."""
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # the package around it is missing
        return False


def _facts(use: str, model: ModelListing, state: ProviderState) -> dict[str, Any]:
    facts = {
        "use": use,
        "model": model.name,
        "usd_per_million_in": model.usd_in,
        "usd_per_million_out": model.usd_out,
        "price_id": model.price_id or None,
        "price_date": model.price_date or None,
        "window": model.window,
        "provider": state.name,
        "installed": state.installed,
        "key_variable": state.variable or None,
        "key_present": state.key,
        "base_url": state.base_url or None,
        "wrong": state.wrong or None,
    }
    return present(facts)


def show_price(*, model: str, tokens_in: int, tokens_out: int, as_json: bool, workspace: Path | None) -> int:
    """Show the price of a call to MODEL: `provider:model`, or a tier. Exits 1 when the price is unknown."""
    models = models_of(settings_of(workspace))
    tier = read_tier(model)
    name = (models.tiers.get(tier) or models.default or DEFAULT_TIERS[tier]) if tier else _full_name(models, model)
    cost = price(
        name, tokens_in=tokens_in, tokens_out=tokens_out, own=models.prices.get(name), address=models.address(name)
    )
    if as_json:
        facts: dict[str, Any] = {"model": name, "tokens_in": tokens_in, "tokens_out": tokens_out}
        echo_json(facts | ({"cost": cost.to_json()} if cost else {}))
    elif cost is not None:
        echo(f"${cost.usd:.6g} for {tokens_in:,} tokens in and {tokens_out:,} out: {safe(name)}")
        echo_err(f"price: {safe(cost.price_id)}, seen {cost.price_date}")
    if cost is None and not as_json:
        echo_err(f"The price of {safe(name)} is unknown. Set it in the settings: `models.prices`.")
    return Exit.OK if cost is not None else Exit.FAILED
