"""Which models the settings give, and whether each provider can be asked: what is installed and whose key is there.

A key itself is never read here, only whether its variable says something.
"""

import importlib.util
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, cast

from retinue.cli.settings import Settings
from retinue.contract.definition import Tier
from retinue.llm.models import DEFAULT_TIERS, Models, ProviderSettings
from retinue.llm.prices import Price
from retinue.llm.provider_info import EXTRAS, KEYS, OPTIONAL_KEYS, address_of


def models_of(settings: Settings, *, default: str | None = None, extra_models: Iterable[str] = ()) -> Models:
    """The models at hand, as `settings` say. Where they name none, none is asked that nobody names.

    Args:
        settings: What is set.
        default: The model or tier of whoever names none, instead of what is set.
        extra_models: Further models that the user names, so that tasks may.
    """
    tiers = {tier: name for tier in DEFAULT_TIERS if (name := settings.get(f"models.{tier}"))}
    addresses, variables = _table(settings, "models.base_url"), _table(settings, "models.key_variable")
    providers = {
        name: ProviderSettings(base_url=addresses.get(name, ""), key_variable=variables.get(name, ""))
        for name in dict.fromkeys((*addresses, *variables))
    }
    prices = {name: _price(text) for name, text in _table(settings, "models.prices").items()}
    return Models(
        # The very same mapping tells that nobody configured the tiers.
        tiers=cast("Mapping[Tier, str]", tiers) or DEFAULT_TIERS,
        default=settings.get("models.default", default),
        providers=providers,
        prices=prices,
        allowed=(*settings.get("models.allow"), *extra_models),
        record=settings.get("models.record"),
    )


def _table(settings: Settings, key: str) -> Mapping[str, str]:
    return settings.get(key)


def _price(text: str) -> Price:
    """A price as the settings write it: `1.25/10 2026-01-31`, US dollars for a million tokens in and out."""
    amounts, _, date = text.partition(" ")
    usd_in, usd_out = (float(amount) for amount in amounts.split("/"))
    return Price(usd_in=usd_in, usd_out=usd_out, date=date, source="models.prices")


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

_ALONE: Final = frozenset({"replay"})


@dataclass(frozen=True, slots=True)
class ProviderState:
    """Whether a provider can be asked.

    Attributes:
        installed: Its client is there.
        extra: What brings it.
        variable: The variable that holds its key; empty when it needs none.
        key: Whether that variable says something.
        base_url: Where it is asked, when that is not its own address.
        wrong: Why a model of it can be none, for whoever looks at one.
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
    settings = models.providers.get(provider, ProviderSettings())
    environment = os.environ if models.environment is None else models.environment
    own = KEYS.get(provider) or OPTIONAL_KEYS.get(provider, ())
    candidates = (settings.key_variable,) if settings.key_variable else own
    set_variable = next((variable for variable in candidates if environment.get(variable)), "")
    keyless = not settings.key_variable and (provider not in KEYS or bool(settings.base_url))
    return ProviderState(
        name=provider,
        installed=provider in _ALONE or _is_installed(_PACKAGES.get(provider, "openai"), provider),
        extra=EXTRAS.get(provider, "retinue[llm]"),
        variable=set_variable or (candidates[0] if candidates else ""),
        key=bool(set_variable) or keyless,
        base_url=address_of(provider, settings, environment),
    )


def _is_installed(package: str, provider: str) -> bool:
    try:
        there = importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # the package around it is missing
        return False
    return there and (provider == "local" or importlib.util.find_spec("pydantic_ai") is not None)
