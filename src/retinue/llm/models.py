"""Which model answers: tiers and names turned into models, opened when first asked.

A name is `provider:model`. A tier is small, medium or large and means whatever is configured; `haiku`, `sonnet` and
`opus` are read as tiers by `contract.definition.read_tier`. What may be spent is the business of `purse`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from retinue.contract.definition import Tier

from .port import LanguageModel

__all__ = ["DEFAULT_TIERS", "Chosen", "Models", "ProviderSettings"]

DEFAULT_TIERS: Final[Mapping[Tier, str]] = MappingProxyType(
    {
        "small": "anthropic:claude-haiku-4-5",
        "medium": "anthropic:claude-sonnet-4-5",
        "large": "anthropic:claude-opus-4-5",
    }
)


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """How one provider is reached.

    Attributes:
        base_url: Instead of the provider's own address.
        key_variable: The environment variable that holds the key, instead of the provider's own.
    """

    base_url: str = ""
    key_variable: str = ""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A model by name, and why it is this one."""

    name: str
    why: str
    tier: Tier | None = None


@dataclass(slots=True)
class Models:
    """The models at hand.

    Attributes:
        tiers: A model's name for each tier.
        default: The model, or the tier, of whoever names none; empty when no model is configured.
        providers: How providers are reached, by name.
        ready: Models that need no opening, by name: scripted ones, recordings, a model of one's own.
        environment: Where keys are looked up; the process's own when None.
    """

    tiers: Mapping[Tier, str] = field(default_factory=lambda: DEFAULT_TIERS)
    default: str = ""
    providers: Mapping[str, ProviderSettings] = field(default_factory=dict[str, ProviderSettings])
    ready: Mapping[str, LanguageModel] = field(default_factory=dict[str, LanguageModel])
    environment: Mapping[str, str] | None = None
    _open: dict[str, LanguageModel] = field(default_factory=dict[str, LanguageModel], repr=False)

    @classmethod
    def only(cls, model: LanguageModel) -> "Models":
        """One model for everything: for tests, and for whoever has just one."""
        return cls(
            tiers={"small": model.name, "medium": model.name, "large": model.name},
            default=model.name,
            ready={model.name: model},
        )

    def choose(self, *, model: str | None = None, tier: Tier | None = None, parent: str | None = None) -> Chosen:
        """The model for somebody who asks for `model` (a name, a tier, `inherit`), else for `tier`, else for nothing.

        Args:
            model: What is asked for by name.
            tier: What is asked for by size.
            parent: The model of whoever it works for: what `inherit` means.

        Raises:
            Unavailable: No model is configured; the hint says how to.
        """
        raise NotImplementedError

    def get(self, name: str) -> LanguageModel:
        """The model called `name`.

        Raises:
            UnknownName: There is no such provider or model; `suggestions` names the nearest.
            Unauthenticated: Its key is missing; the hint names the variable.
            NotInstalled: An extra is missing; the hint names it.
        """
        raise NotImplementedError
