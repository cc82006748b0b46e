"""The providers that pydantic-ai knows: their variables for keys and addresses, their extras, and misspelled names.

`providers` opens them. A name that is not here may still be right: new models appear faster than any list of them.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from retinue.contract.names import nearest


class LazyModule:
    """A module of an optional package, imported whenever something of it is used, so that nobody else pays for it.

    Nothing is kept: what is missing raises its `ImportError` at the use, where it is translated.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


_models: Any = LazyModule("pydantic_ai.models")

KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "alibaba": ("ALIBABA_API_KEY", "DASHSCOPE_API_KEY"),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "azure": ("AZURE_OPENAI_API_KEY",),
    "azure-responses": ("AZURE_OPENAI_API_KEY",),
    "cerebras": ("CEREBRAS_API_KEY",),
    "cohere": ("CO_API_KEY",),
    "crusoe": ("CRUSOE_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks": ("FIREWORKS_API_KEY",),
    "github-copilot": ("GITHUB_COPILOT_API_KEY", "GITHUB_COPILOT_API_TOKEN", "COPILOT_GITHUB_TOKEN"),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "heroku": ("HEROKU_INFERENCE_KEY",),
    "huggingface": ("HF_TOKEN",),
    "meta": ("META_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "moonshotai": ("MOONSHOTAI_API_KEY",),
    "nebius": ("NEBIUS_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openai-chat": ("OPENAI_API_KEY",),
    "openai-responses": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "ovhcloud": ("OVHCLOUD_API_KEY",),
    "sambanova": ("SAMBANOVA_API_KEY",),
    "snowflake": ("SNOWFLAKE_TOKEN",),
    "together": ("TOGETHER_API_KEY",),
    "vercel": ("VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"),
    "xai": ("XAI_API_KEY",),
    "zai": ("ZAI_API_KEY",),
}
"""The environment variables of each provider that needs a key, the first that is set holding it."""

OPTIONAL_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "bedrock": ("AWS_BEARER_TOKEN_BEDROCK",),
    "bedrock-mantle": ("AWS_BEARER_TOKEN_BEDROCK",),
    "litellm": ("LITELLM_PROXY_API_KEY",),
    "ollama": ("OLLAMA_API_KEY",),
    "vllm": ("VLLM_API_KEY",),
}
"""The variables of those that need no key, or have other ways to know who asks."""

IDENTITIES: Final[Mapping[str, tuple[str, ...]]] = {
    "bedrock": ("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_PROFILE"),
    "bedrock-mantle": ("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_PROFILE"),
    "google-cloud": ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_API_KEY"),
}
"""The variables that may say who asks, where that is more than one key."""

ADDRESSES: Final[Mapping[str, str]] = {
    "anthropic": "ANTHROPIC_BASE_URL",
    "google": "GOOGLE_GEMINI_BASE_URL",
    "groq": "GROQ_BASE_URL",
    "litellm": "LITELLM_PROXY_API_BASE",
    "moonshotai": "MOONSHOTAI_BASE_URL",
    "ollama": "OLLAMA_BASE_URL",
    "openai": "OPENAI_BASE_URL",
    "openai-chat": "OPENAI_BASE_URL",
    "openai-responses": "OPENAI_BASE_URL",
    "sambanova": "SAMBANOVA_BASE_URL",
    "vllm": "VLLM_BASE_URL",
}
"""The variable by which the clients of a provider let its address be changed. What listens there gets the key."""

PROVIDERS: Final = tuple(sorted({*KEYS, *OPTIONAL_KEYS, "google-cloud", "local", "openai-compatible", "replay"}))
"""The provider names: what stands before the colon."""

EXTRAS: Final[Mapping[str, str]] = {
    "anthropic": "retinue[llm]",
    "bedrock": "retinue[bedrock]",
    "cohere": "pydantic-ai-slim[cohere]",
    "google": "retinue[google]",
    "google-cloud": "retinue[google]",
    "groq": "pydantic-ai-slim[groq]",
    "huggingface": "pydantic-ai-slim[huggingface]",
    "local": "retinue[local]",
    "mistral": "pydantic-ai-slim[mistral]",
    "openai": "retinue[llm]",
    "xai": "pydantic-ai-slim[xai]",
}
"""What brings the client of a provider, by its own name or that of pydantic-ai's extra; all others use OpenAI's."""

PRICED_AS: Final[Mapping[str, str]] = {
    "azure-responses": "azure",
    "bedrock": "aws",
    "bedrock-mantle": "aws",
    "google-cloud": "google",
    "openai-chat": "openai",
    "openai-responses": "openai",
    "xai": "x-ai",
}
"""What the price book calls a provider, where it calls it otherwise."""

_LONGEST: Final = 200


def nearest_provider(name: str) -> tuple[str, ...]:
    """The providers that `name` was probably meant to be."""
    return nearest(name[:_LONGEST], PROVIDERS)


def nearest_models(name: str) -> tuple[str, ...]:
    """The known models that `name` (`provider:model`) was probably meant to be, of its provider where that has any."""
    provider, _, model = name[:_LONGEST].partition(":")
    all_names: list[str] = _models.known_model_names()
    names = [each for each in all_names if ":" in each and not each.startswith("gateway/")]
    candidates = [each for each in names if each.startswith(f"{provider}:")] or names
    by_model = {each.partition(":")[2]: each for each in reversed(candidates)}
    same = (by_model[model],) if model in by_model and candidates is names else ()
    return (*same, *(by_model[each] for each in nearest(model, by_model)))


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


def address_of(provider: str, settings: ProviderSettings, environment: Mapping[str, str]) -> str:
    """Where `provider` is asked when that is not its own address: as it is set, or by its own variable; else empty."""
    return settings.base_url or environment.get(ADDRESSES.get(provider, ""), "")
