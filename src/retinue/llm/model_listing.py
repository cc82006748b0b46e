"""What the price book knows of a model beside its price: its window, and what a million tokens costs in and out.

For whoever shows models. What a call costs is worked out in `prices`.
"""

from dataclasses import dataclass
from typing import Final

from .prices import Price, price
from .provider_info import PRICED_AS

_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class ModelListing:
    """One model. What nobody knows is None.

    Attributes:
        usd_in: US dollars for a million tokens in, as far as a call of a thousand pays.
        usd_out: The same for tokens out.
        price_id: Where the price stands.
        price_date: The day it was seen.
        window: Tokens that a conversation can have.
    """

    name: str
    usd_in: float | None = None
    usd_out: float | None = None
    price_id: str = ""
    price_date: str = ""
    window: int | None = None


def model_listing(name: str, *, own: Price | None = None, address: str = "") -> ModelListing:
    """What is known of the model `name` (`provider:model`), asked at `address` when that is not its usual one."""
    window = _window(name)
    # Long requests may cost more a token, so what is shown is the price of a short one.
    input_cost = price(name, tokens_in=1_000, tokens_out=0, own=own, address=address)
    output_cost = price(name, tokens_in=0, tokens_out=1_000, own=own, address=address)
    if input_cost is None or output_cost is None:
        return ModelListing(name, window=window)
    factor = _MILLION / 1_000
    usd_in, usd_out = round(input_cost.usd * factor, 6), round(output_cost.usd * factor, 6)
    return ModelListing(name, usd_in, usd_out, input_cost.price_id, input_cost.price_date, window)


def _window(name: str) -> int | None:
    try:
        from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415 - optional
    except ImportError:
        return None
    provider, _, model = name.partition(":")
    try:
        match = get_snapshot().find_provider_model(model, None, PRICED_AS.get(provider, provider), None)[1]
    except LookupError:
        return None
    return match.context_window
