"""What a call of a model costs: a dated price book, and prices of one's own (C18).

The book is genai-prices, which is read from its package and never from a network. A model that is in no book has no
price, and what it costs is not known; it is not 0.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from retinue.contract.result import Cost
from retinue.errors import InvalidInput

from .provider_info import PRICED_AS, LazyModule

if TYPE_CHECKING:
    import genai_prices
    from genai_prices import data_snapshot, types
else:
    genai_prices, data_snapshot, types = map(
        LazyModule, ("genai_prices", "genai_prices.data_snapshot", "genai_prices.types")
    )

_MILLION: Final = 1e6
_CACHE_SIZE: Final = 512


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs by somebody's own word.

    Attributes:
        usd_in: US dollars for a million tokens that are sent.
        usd_out: The same for a million tokens that come back.
        usd_cached: The same for a million tokens sent that the provider still had; as `usd_in` when absent.
        date: The day the price was seen, as `YYYY-MM-DD`.
        source: Where it was seen.

    Raises:
        InvalidInput: A price is below zero or no number, or nobody says since when or by whom it holds.
    """

    usd_in: float
    usd_out: float
    usd_cached: float | None = None
    date: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        for usd in (self.usd_in, self.usd_out, self.usd_cached or 0.0):
            if not 0 <= usd < float("inf"):
                raise InvalidInput(
                    f"{usd!r} is not a valid price.", hint="Give US dollars for a million tokens, 0 or more."
                )
        if not (self.date and self.source):
            raise InvalidInput(
                "A price needs the day it was seen and where.", hint="Give `date` as `YYYY-MM-DD`, and `source`."
            )

    def cost(self, *, tokens_in: int, tokens_out: int, tokens_cached: int = 0) -> Cost:
        """What a call of this size costs."""
        cached = min(tokens_cached, tokens_in)
        usd_cached = self.usd_in if self.usd_cached is None else self.usd_cached
        usd = ((tokens_in - cached) * self.usd_in + cached * usd_cached + tokens_out * self.usd_out) / _MILLION
        return Cost(usd=usd, price_id=self.source, price_date=self.date)


class PriceList:
    """What one model costs, found once.

    Args:
        name: The model, as `provider:model`.
        own: A price of one's own, which holds instead of the book's.
        address: The provider's address where it is not its usual one: who sells there is found by it.
    """

    def __init__(self, name: str, *, own: Price | None = None, address: str = "") -> None:
        self._own = own
        self._entry = None if own is not None else _find_entry(name, address)

    @property
    def is_known(self) -> bool:
        """Whether there is a price at all."""
        return self._own is not None or self._entry is not None

    def cost(self, *, tokens_in: int, tokens_out: int, tokens_cached: int = 0, tokens_written: int = 0) -> Cost | None:
        """What a call of this size costs; None when the price is not known.

        Args:
            tokens_in: All that were sent, cached ones included.
            tokens_out: What came back.
            tokens_cached: Those of `tokens_in` that the provider still had.
            tokens_written: Those of `tokens_in` that it put into its cache.
        """
        if self._own is not None:
            return self._own.cost(tokens_in=tokens_in, tokens_out=tokens_out, tokens_cached=tokens_cached)
        if self._entry is None:
            return None
        provider, model = self._entry
        cached = min(tokens_cached, tokens_in)
        usage = types.Usage(
            input_tokens=tokens_in,
            output_tokens=tokens_out,
            cache_read_tokens=cached,
            cache_write_tokens=min(tokens_written, tokens_in - cached),
        )
        try:
            calculation = model.calc_price(
                usage, provider, genai_request_timestamp=datetime.now(tz=UTC), auto_update_timestamp=None
            )
        except (LookupError, ValueError):
            return None
        book = f"genai-prices-{genai_prices.__version__}"
        usd = float(calculation.total_price)
        return Cost(usd=usd, price_id=f"{book} {provider.id}:{model.id}", price_date=_book_date())


def price(
    name: str, *, tokens_in: int, tokens_out: int, tokens_cached: int = 0, own: Price | None = None, address: str = ""
) -> Cost | None:
    """What a call of the model `name` (`provider:model`) costs; None when its price is not known (C18).

    Args:
        name: The model.
        tokens_in: All that are sent.
        tokens_out: What comes back.
        tokens_cached: Those of `tokens_in` that the provider still has.
        own: A price of one's own, which holds instead of the book's.
        address: The provider's address where it is not its usual one: what is sold there has no price of the usual one.
    """
    prices = _price_list(name, address=address) if own is None else PriceList(name, own=own)
    return prices.cost(tokens_in=tokens_in, tokens_out=tokens_out, tokens_cached=tokens_cached)


_price_list = lru_cache(maxsize=_CACHE_SIZE)(PriceList)


def _find_entry(name: str, address: str) -> "tuple[types.Provider, types.ModelInfo] | None":
    provider, _, model = name.partition(":")
    try:
        return data_snapshot.get_snapshot().find_provider_model(
            model, None, None if address else PRICED_AS.get(provider, provider), address or None
        )
    except (ImportError, LookupError):  # no book is installed, or it does not name the model
        return None


@lru_cache(maxsize=1)
def _book_date() -> str:
    """The newest day until today that the book's prices speak of: it was kept at least until then."""
    today = datetime.now(tz=UTC).date()
    newest: date | None = None
    for model in (model for provider in data_snapshot.get_snapshot().providers for model in provider.models):
        for each in (*(model.prices if isinstance(model.prices, list) else ()), *(model.price_variants or ())):
            start: date | None = getattr(each.constraint, "start_date", None)
            if start is not None and start <= today and (newest is None or start > newest):
                newest = start
    return (newest or today).isoformat()


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
    entry = _find_entry(name, "")
    window = None if entry is None else entry[1].context_window
    # Long requests may cost more a token, so what is shown is the price of a short one.
    input_cost = price(name, tokens_in=1_000, tokens_out=0, own=own, address=address)
    output_cost = price(name, tokens_in=0, tokens_out=1_000, own=own, address=address)
    if input_cost is None or output_cost is None:
        return ModelListing(name, window=window)
    factor = _MILLION / 1_000
    usd_in, usd_out = round(input_cost.usd * factor, 6), round(output_cost.usd * factor, 6)
    return ModelListing(name, usd_in, usd_out, input_cost.price_id, input_cost.price_date, window)
