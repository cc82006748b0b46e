"""Opens a model by its name, through pydantic-ai. No request is made here, and a key goes to its client only.

Which model it should be is the business of `models`, how it is spoken to that of `provider_for`.
"""

import inspect
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from retinue.contract.credentials import Cleaner, holds_secret, keep_secret
from retinue.contract.sanitize import printable
from retinue.errors import InvalidInput, NotInstalled, RetinueError, Unauthenticated, UnknownName

from ._bedrock import bedrock_provider
from .failures import missing_key_error
from .prices import Price
from .provider_info import (
    EXTRAS,
    IDENTITIES,
    KEYS,
    OPTIONAL_KEYS,
    PROVIDERS,
    LazyModule,
    ProviderSettings,
    address_of,
    nearest_provider,
)
from .pydantic_ai_model import PydanticAIModel, openai_model

if TYPE_CHECKING:
    from pydantic_ai import models, providers
else:
    models, providers = LazyModule("pydantic_ai.models"), LazyModule("pydantic_ai.providers")

_LOCAL_ADDRESSES: Final[Mapping[str, str]] = {
    "litellm": "http://localhost:4000",
    "ollama": "http://localhost:11434/v1",
    "vllm": "http://localhost:8000/v1",
}
"""What usually runs on this machine, and where it is when nobody says."""
_NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "bedrock": ("AWS_REGION",),
    "google-cloud": ("GOOGLE_APPLICATION_CREDENTIALS",),
}
_NO_KEY: Final = "not-needed"
"""What a client that insists on a key is told where none is to be sent."""
_COMPATIBLE: Final = "openai-compatible"
_SPEAK_CHAT: Final = frozenset({"openai", "openai-chat", _COMPATIBLE})
"""Spoken to by chat completions at an address of one's own: few endpoints know more of OpenAI's."""
_ADDRESS_OPTIONS: Final = ("base_url", "api_base", "azure_endpoint")
_KEY_OPTIONS: Final = ("api_key", "token")
"""What the providers of pydantic-ai call an address, and a key."""
_VARIABLE: Final = re.compile(r"`([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)`")
_EXTRA: Final = re.compile(r"pydantic-ai-slim\[([a-z0-9-]+)\]")


def open_model(
    name: str, *, settings: ProviderSettings, environment: Mapping[str, str], price: Price | None = None
) -> PydanticAIModel:
    """The model called `name`, as `provider:model`.

    Args:
        name: What it is called.
        settings: How its provider is reached.
        environment: Where keys are looked up.
        price: A price of one's own.

    Raises:
        UnknownName: There is no such provider; `suggestions` names the nearest.
        Unauthenticated: Its key is missing; the hint names the variable.
        NotInstalled: An extra is missing; the hint names it.
        InvalidInput: The provider cannot be reached like this.
    """
    check_provider(name, settings)
    provider, _, model = name.partition(":")
    address = address_of(provider, settings, environment)
    _check_address(provider, address)
    variables = _variables(provider, settings)
    keep_secret(*variables)
    with _translate_errors(name, provider, variables):
        key = key_of(provider, settings, environment)
        address = address or _LOCAL_ADDRESSES.get(provider, "")
        inner = _pydantic_model(provider, model, address, environment, key)
    # Where no key went out, no variable can hold a wrong one.
    key_variables = variables if key is not None else () if settings.base_url else IDENTITIES.get(provider, ())
    return PydanticAIModel(
        inner,
        name=name,
        price=price,
        address=address,
        variables=key_variables,
        cleaner=Cleaner(environment, variables=variables),
    )


def check_provider(name: str, settings: ProviderSettings) -> None:
    """See that the provider in `name` is one, or has an address, and that the address which is set is one.

    Raises:
        UnknownName: It is not; `suggestions` names the nearest.
        InvalidInput: It needs an address that is not set, or what is set is none.
    """
    provider = name.partition(":")[0]
    if provider not in PROVIDERS and not settings.base_url:
        near, model = nearest_provider(provider), name.partition(":")[2]
        hint = f"The providers are {', '.join(f'`{each}`' for each in PROVIDERS)}."
        if near:
            hint = f"Did you mean `{near[0]}:{printable(model[:200])}`? "
            hint += f"For another endpoint set `models.base_url.{printable(provider[:80])}`."
        suggestions = tuple(f"{each}:{model}" for each in near) or PROVIDERS
        raise UnknownName(f"Unknown model provider {provider[:200]!r}.", hint=hint, suggestions=suggestions)
    _check_address(provider, settings.base_url)


def _pydantic_model(
    provider: str, model: str, base_url: str, environment: Mapping[str, str], key: str | None
) -> "models.Model":
    """The model of pydantic-ai."""
    if provider not in PROVIDERS or (provider in _SPEAK_CHAT and base_url):
        return openai_model(model, provider, base_url=base_url, key=key or _NO_KEY)

    def provider_for(name: str) -> Any:
        if name == "bedrock":
            return bedrock_provider(base_url=base_url, key=key, environment=environment)
        provider_class = providers.infer_provider_class(name)
        accepted = inspect.signature(provider_class.__init__).parameters
        options: dict[str, str] = {}
        address_option = next((each for each in _ADDRESS_OPTIONS if each in accepted), "")
        if base_url and address_option:
            options[address_option] = base_url
        key_option = next((each for each in _KEY_OPTIONS if each in accepted), "")
        if key_option and (key or base_url):
            options[key_option] = key or _NO_KEY
        provider: Any = provider_class(**options)
        if base_url and not address_option:
            # Have `client` ask at `base_url`: the providers that speak as OpenAI does share a client that can.
            if not hasattr(provider.client, "base_url"):
                raise InvalidInput(
                    f"The provider `{name}` has one address, and no `base_url` can be set for it.",
                    hint=f"Leave `models.base_url.{name}` out, or use `{_COMPATIBLE}`.",
                )
            provider.client.base_url = base_url
        return provider

    return models.infer_model(f"{provider}:{model}", provider_for)


def _variables(provider: str, settings: ProviderSettings) -> tuple[str, ...]:
    """Where the key of `provider` may be."""
    return (settings.key_variable,) if settings.key_variable else KEYS.get(provider) or OPTIONAL_KEYS.get(provider, ())


def key_of(provider: str, settings: ProviderSettings, environment: Mapping[str, str]) -> str | None:
    """The key to send; None when none is needed, or none may go to a foreign address.

    Raises:
        Unauthenticated: It is missing, or can be none.
    """
    if settings.base_url and not settings.key_variable:
        return None
    variables = _variables(provider, settings)
    variable = next((name for name in variables if environment.get(name)), None)
    if variable is None:
        if settings.key_variable or provider in KEYS:
            raise missing_key_error(provider, variables)
        return None
    key = environment[variable]
    if not (key.isascii() and key.isprintable() and key == key.strip()):  # the client would quote it, or hang up
        raise Unauthenticated(
            f"The key in `{variable}` cannot be sent: it holds a line end, a space around it or a foreign letter.",
            hint=f"Set `{variable}` again, to the key alone.",
            suggestions=(variable,),
        )
    return key


def _check_address(provider: str, base_url: str) -> None:
    if provider == _COMPATIBLE and not base_url:
        raise InvalidInput(
            f"`{_COMPATIBLE}` needs a URL.",
            hint=f"Set `models.base_url.{_COMPATIBLE}`, for example `http://localhost:8080/v1`.",
        )
    if base_url and not re.match(r"https?://[^/\s]+", base_url):
        raise InvalidInput(
            f"{base_url[:200]!r} is not a valid provider URL.",
            hint=f"Give `models.base_url.{provider}` as `https://host/path`.",
        )


@contextmanager
def _translate_errors(name: str, provider: str, variables: tuple[str, ...]) -> Generator[None]:
    """What goes wrong while a provider is opened, in our words. Theirs are not chained: they may hold a key."""
    try:
        yield
    except RetinueError:
        raise
    except ImportError as error:
        match = _EXTRA.search(str(error))
        extra = match[1] if match else ""
        package = EXTRAS.get(extra) or (f"pydantic-ai-slim[{extra}]" if extra else "retinue[llm]")
        raise NotInstalled(
            f"What speaks with the provider `{provider}` is not installed.", hint=f"install `{package}`"
        ) from error
    except Exception as error:  # noqa: BLE001 - clients raise whatever they like; ours is raised instead
        message = printable(str(getattr(error, "message", "") or error))[:300]
        missing = tuple(dict.fromkeys(_VARIABLE.findall(message)))
        if missing and holds_secret(missing[0]):
            raise missing_key_error(provider, missing) from None
        needed = missing or _NEEDED.get(provider, ())
        hint = f"Set {' or '.join(f'`{each}`' for each in needed)}." if needed else "See what its provider needs."
        raise InvalidInput(
            f"`{printable(name[:200])}` cannot be opened: {Cleaner({}).text(message)}",
            hint=hint,
            suggestions=needed,
            detail={"variables": list(variables)},
        ) from None
