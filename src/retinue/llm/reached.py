"""How a provider is reached, where that is not as usual. Opening it is the business of `providers`."""

from collections.abc import Mapping
from dataclasses import dataclass

from .known import ADDRESSES

__all__ = ["ProviderSettings", "address_of"]


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """How one provider is reached.

    Attributes:
        base_url: Instead of the provider's own address. What listens there gets no key unless `key_variable` names it.
            A provider that nobody knows, with an address, is taken to speak as OpenAI does.
        key_variable: The environment variable that holds the key, instead of the provider's own.
    """

    base_url: str = ""
    key_variable: str = ""


def address_of(provider: str, reached: ProviderSettings, environment: Mapping[str, str]) -> str:
    """Where `provider` is asked when that is not its own address: as it is set, or by its own variable; else empty."""
    return reached.base_url or environment.get(ADDRESSES.get(provider, ""), "")
