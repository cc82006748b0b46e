"""How a provider is reached, where that is not as usual. Opening it is the business of `providers`."""

from dataclasses import dataclass

__all__ = ["ProviderSettings"]


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
