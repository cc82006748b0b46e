"""A model as Claude Code asks it: its name, its key, its address and its price. Nobody else can ask it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from retinue.contract.result import Cost
from retinue.errors import InvalidInput
from retinue.llm.failures import missing_key_error
from retinue.llm.models import Models, ProviderSettings
from retinue.llm.port import OnText, Request, Response
from retinue.llm.prices import PriceList
from retinue.llm.provider_info import KEYS

ADDRESS: Final = "ANTHROPIC_BASE_URL"
KEY: Final = "ANTHROPIC_API_KEY"

_PROVIDER: Final = "anthropic"
_NO_KEY: Final = "none"
"""Sent to an address of one's own that wants no key: Claude Code asks nobody without one."""
_LONGEST: Final = 200


@dataclass(slots=True)
class ClaudeModel:
    """A model of Anthropic's.

    Attributes:
        name: `anthropic:model`.
        max_output: None: Claude Code knows, and does not say beforehand.
        key: What opens it.
        address: Where it is asked, when that is not its usual address.
        own_price: Whether its user gave a price, which holds instead of what Claude Code says.
        records: Exchanges are to be recorded, which Claude Code's cannot be.
    """

    name: str
    key: str = field(repr=False)
    prices: PriceList = field(repr=False)
    address: str = ""
    own_price: bool = False
    records: bool = False
    max_output: int | None = None

    @property
    def id(self) -> str:
        """What its provider calls it."""
        return self.name.partition(":")[2]

    async def respond(self, request: Request, *, on_text: OnText | None = None) -> Response:
        """Nobody asks it for one response.

        Raises:
            InvalidInput: Always.
        """
        del request, on_text
        raise InvalidInput(
            f"`{self.name}` is asked by Claude Code here, in whole conversations.", hint="Ask it by the loop `claude`."
        )

    def price(self, *, tokens_in: int, tokens_out: int) -> float | None:
        """US dollars that a call of this size would cost, by the user's price or the price book."""
        cost = self.cost(tokens_in=tokens_in, tokens_out=tokens_out)
        return None if cost is None else cost.usd

    def cost(self, *, tokens_in: int, tokens_out: int, tokens_cached: int = 0, tokens_written: int = 0) -> Cost | None:
        """What a call of this size costs, likewise."""
        return self.prices.cost(
            tokens_in=tokens_in, tokens_out=tokens_out, tokens_cached=tokens_cached, tokens_written=tokens_written
        )

    def unsupported(self, request: Request) -> tuple[str, ...]:
        """What Claude Code does not heed."""
        settings = (
            ("temperature", request.temperature is not None),
            ("max_tokens", request.max_tokens is not None),
            ("models.record", self.records),
        )
        return tuple(name for name, is_set in settings if is_set)


def claude_model(name: str, models: Models) -> ClaudeModel:
    """The model called `name`.

    Raises:
        InvalidInput: It is none of Anthropic's, so Claude Code cannot ask it.
        Unauthenticated: There is no key; the hint names the variable.
    """
    provider, _, model = name.partition(":")
    if provider != _PROVIDER or not model:
        raise InvalidInput(
            f"Claude Code asks models of Anthropic's only, and {name[:_LONGEST]!r} is none.",
            hint="Name one as `anthropic:claude-…`, or leave the agent to the runner `own`.",
        )
    environment = os.environ if models.environment is None else models.environment
    settings = models.providers.get(_PROVIDER, ProviderSettings())
    address = settings.base_url or environment.get(ADDRESS, "")
    own = models.prices.get(name)
    return ClaudeModel(
        name,
        _key(environment, settings),
        PriceList(name, own=own, address=address),
        address=address,
        own_price=own is not None,
        records=bool(models.record),
    )


def _key(environment: Mapping[str, str], settings: ProviderSettings) -> str:
    variables = (settings.key_variable,) if settings.key_variable else KEYS[_PROVIDER]
    for variable in variables:
        if key := environment.get(variable):
            return key
    if settings.base_url and not settings.key_variable:
        return _NO_KEY
    raise missing_key_error(_PROVIDER, variables)
