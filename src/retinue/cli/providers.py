"""Which models the settings give, and whether each provider can be asked: what is installed and whose key is there.

A key itself is never read here, only whether its variable says something.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from retinue.llm.models import DEFAULT_TIERS, Models, ProviderSettings

if TYPE_CHECKING:
    from retinue.cli.settings import Settings
    from retinue.contract.definition import Tier

__all__ = ["models_of"]


def models_of(settings: "Settings") -> Models:
    """The models at hand, as `settings` say; the usual ones where they say nothing."""
    tiers = {tier: settings.get(f"models.{tier}") or name for tier, name in DEFAULT_TIERS.items()}
    addresses, variables = _table(settings, "models.base_url"), _table(settings, "models.key_variable")
    providers = {
        name: ProviderSettings(base_url=addresses.get(name, ""), key_variable=variables.get(name, ""))
        for name in dict.fromkeys((*addresses, *variables))
    }
    return Models(
        tiers=cast("dict[Tier, str]", tiers), default=settings.get("models.default"), providers=providers
    )


def _table(settings: "Settings", key: str) -> Mapping[str, str]:
    return settings.get(key)
