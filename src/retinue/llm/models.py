"""Which model answers: tiers and names turned into models, opened when first asked.

A name is `provider:model`. A tier is small, medium or large and means whatever is configured; `haiku`, `sonnet` and
`opus` are read as tiers by `contract.definition.read_tier`. How a provider is opened is the business of `providers`;
what may be spent that of `budget_tracker`. Who may name which model is decided here and nowhere else: its user any, a
definition none that is a file of this machine, a task only what is configured or allowed, and a definition that comes
with an untrusted folder no more than a task.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, cast

from retinue.contract.credentials import Cleaner
from retinue.contract.definition import Tier, read_tier
from retinue.contract.names import nearest
from retinue.contract.old_names import with_old_names
from retinue.errors import AccessDenied, InvalidInput, Unavailable, UnknownName

from .port import LanguageModel
from .prices import Price
from .provider_info import ProviderSettings, address_of

ModelSource: TypeAlias = Literal["user", "definition", "task"]
"""Who named a model. A task may come from a plan, a project, an agent or a peer; which one is not known."""

DEFAULT_TIERS: Final[Mapping[Tier, str]] = MappingProxyType(
    {
        "small": "anthropic:claude-haiku-4-5",
        "medium": "anthropic:claude-sonnet-4-6",
        "large": "anthropic:claude-opus-4-5",
    }
)

_INHERIT: Final = "inherit"
_FILES: Final = frozenset({"local", "replay"})
"""Providers whose models are files of this machine."""
_FAMILIES: Final = (
    ("claude", "anthropic"),
    ("gpt-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("gemini", "google"),
)
"""Whose models begin with what: agent definitions often name a model without its provider."""

_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model by name, and why it is this one."""

    name: str
    why: str
    tier: Tier | None = None


@with_old_names(see="check", see_key="check_key")
@dataclass(slots=True)
class Models:
    """The models at hand.

    Attributes:
        tiers: A model's name for each tier. Where a tier is missing, the default model stands for it.
        default: The model, or the tier, of whoever names none; empty when no model is configured.
        providers: How providers are reached, by name.
        ready: Models that need no opening, by name: scripted ones, recordings, a model of one's own.
        environment: Where keys are looked up; the process's own when None.
        prices: Prices of one's own, by the model's name; they hold instead of the book's.
        allowed: What tasks may name beside the models that are configured: names, or patterns such as `anthropic:*`.
        trusts_definitions: Whether agents' definitions may name models that nobody configured, and so spend money.
        record: A folder in which every exchange with a model that is opened here is kept; none when empty.
    """

    tiers: Mapping[Tier, str] = field(default_factory=lambda: DEFAULT_TIERS)
    default: str = ""
    providers: Mapping[str, ProviderSettings] = field(default_factory=dict[str, ProviderSettings])
    ready: Mapping[str, LanguageModel] = field(default_factory=dict[str, LanguageModel])
    environment: Mapping[str, str] | None = field(default=None, repr=False)
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    allowed: tuple[str, ...] = ()
    trusts_definitions: bool = True
    record: str = ""
    _opened_models: dict[str, LanguageModel] = field(default_factory=dict, repr=False)

    @classmethod
    def only(cls, model: LanguageModel) -> "Models":
        """One model for everything: for tests, and for whoever has just one."""
        return cls(
            tiers={"small": model.name, "medium": model.name, "large": model.name},
            default=model.name,
            ready={model.name: model},
        )

    @property
    def configured(self) -> bool:
        """Whether somebody said which model to use; without that none is asked that nobody named."""
        return bool(self.default) or self.tiers is not DEFAULT_TIERS

    def choose(
        self,
        *,
        model: str | None = None,
        own: str | None = None,
        tier: Tier | None = None,
        parent: str | None = None,
        source: Literal["user", "task"] = "task",
    ) -> ModelChoice:
        """The model for somebody: `model`, else `own`, else for `tier`, else the default (B12, C18).

        Args:
            model: What the task asks for: a name, a tier, or `inherit`.
            own: What the agent's definition asks for, likewise.
            tier: What is asked for by size.
            parent: The name of the model of whoever it works for: what `inherit` means, and what is left where only
                tiers are configured, and nobody names one.
            source: Whose word `model` is.

        Raises:
            Unavailable: No model is configured; the hint says how to.
            UnknownName: Nobody knows whose model that is.
            AccessDenied: The task, or a definition that is not trusted, names a model that is neither configured nor
                allowed, or the definition a file of this machine; `suggestions` names what there is.
        """
        # A plan is made from definitions too: what both name is the definition's word, whoever repeats it.
        is_repeated = source == "task" and (model or "").strip() == (own or "").strip()
        task_source: ModelSource = "definition" if is_repeated else source
        candidates: tuple[tuple[str | None, str, ModelSource], ...] = (
            (model, "it was asked for", task_source),
            (own, "the definition names it", "definition"),
        )
        for name, why, by in candidates:
            word = (name or "").strip()
            if not word:
                continue
            if word.lower() != _INHERIT:
                choice = self._resolve(word, why)
                if read_tier(word) is None:
                    self._check_allowed(choice.name, by)
                return choice
            if parent:
                self._check_allowed(parent, "definition")
                return ModelChoice(parent, "it is inherited from the caller")
        if tier is not None:
            return self._choice_for_tier(tier, f"the tier is {tier}")
        if not self.default and parent:
            self._check_allowed(parent, "definition")
            return ModelChoice(parent, "nothing else is configured for it, and the caller has it")
        if not self.default:
            raise _not_configured_error()
        return self._resolve(self.default, "it is the default")

    def address(self, name: str) -> str:
        """Where the model called `name` is asked, when that is not its provider's usual address; else empty."""
        provider = name.partition(":")[0]
        return address_of(provider, self._settings(provider), self._environment)

    def check(self, name: str) -> None:
        """See that `name`, a model's or a tier, could be opened. Nothing is, and nobody is asked.

        Raises:
            UnknownName: There is no such provider, or nobody knows whose model that is.
            InvalidInput: It names no model, or its provider's address is missing or none.
        """
        full = self.choose(model=name, source="user").name
        if full in self.ready:
            return
        provider = _provider_in(full)
        if provider not in _FILES:
            from .providers import check_provider  # noqa: PLC0415 - seldom needed

            check_provider(full, self._settings(provider))

    def check_key(self, name: str) -> None:
        """See that the key of the model, or the tier, called `name` is there. Nobody is asked whether it is right.

        Raises:
            Unauthenticated: It is not; the hint names the variable.
            UnknownName, InvalidInput: As `check`.
        """
        full = self.choose(model=name, source="user").name
        if full in self.ready or (provider := _provider_in(full)) in _FILES:
            return
        from .providers import key_of  # noqa: PLC0415 - seldom needed

        key_of(provider, self._settings(provider), self._environment)

    def get(self, name: str) -> LanguageModel:
        """The model called `name`. Opening it asks nobody on the network.

        Raises:
            UnknownName: There is no such provider or model; `suggestions` names the nearest.
            Unauthenticated: Its key is missing; the hint names the variable.
            NotInstalled: An extra is missing; the hint names it.
        """
        model = self.ready.get(name) or self._opened_models.get(name)
        if model is None:
            full = self._full_name(name)
            model = self._open_model(full)
            if self.record and not full.startswith("replay:"):
                from .recording import record_into  # noqa: PLC0415 - seldom needed

                model = record_into(self.record, model, cleaner=self._cleaner())
            self._opened_models[name] = model
        return model

    async def close(self) -> None:
        """Close the connections of all models that were opened. They may still be asked; they open new ones."""
        for model in self._opened_models.values():
            close = getattr(model, "close", None)
            if close is not None:
                await close()

    @property
    def _environment(self) -> Mapping[str, str]:
        return os.environ if self.environment is None else self.environment

    def _settings(self, provider: str) -> ProviderSettings:
        return self.providers.get(provider, ProviderSettings())

    def _resolve(self, word: str, why: str) -> ModelChoice:
        tier = read_tier(word)
        if tier is not None:
            return self._choice_for_tier(tier, f"{why}, as {word.lower()!r}")
        name = self._full_name(word)
        model_tier: Tier | None = next((size for size, model in self.tiers.items() if model == name), None)
        return ModelChoice(name, why, model_tier)

    def _check_allowed(self, name: str, by: ModelSource) -> None:
        """The one rule of who may name which model.

        Definitions and tasks may come with somebody else's project, or from a peer: none of them opens a file of this
        machine as a model. A task names only what its user configured or allowed.
        """
        configured: set[str] = set()  # the full names of the models that somebody set, or made
        tiers = [each for each in self.tiers.values() if self.configured and not self._is_other_provider(each)]
        for each in (self.default, *tiers, *self.ready, *self.allowed):
            with suppress(UnknownName):
                if each and read_tier(each) is None:
                    configured.add(self._full_name(each))
        if by == "user" or name in configured:
            return
        is_file = name.partition(":")[0].strip().casefold() in _FILES
        is_permitted = (by == "definition" and self.trusts_definitions) or any(
            fnmatchcase(name, each) for each in self.allowed
        )
        if is_permitted and not is_file:
            return
        available = tuple(sorted(each for each in configured if each.partition(":")[0] not in _FILES))
        if by == "definition" and is_file:
            message = f"An agent's definition may not name the file {name[:_LONGEST]!r} as its model."
            hint = "Set it as `models.default` in the user's configuration, or pass it as `--model`."
        else:
            who = "A task" if by == "task" else "The definition of an agent in a folder that is not trusted"
            message = f"{who} may not name {name[:_LONGEST]!r} as its model: it is neither configured nor allowed here."
            alternatives = f" or {', '.join(f'`{each}`' for each in available)}" if available else ""
            hint = (
                f"Name a tier (`small`, `medium`, `large`){alternatives}; its "
                "user allows others by `models.allow`, or names "
                f"one by `--model`{' or trusts the folder: `retinue trust`' if by == 'definition' else ''}."
            )
        raise AccessDenied(message, hint=hint, path="/model", suggestions=available)

    def _choice_for_tier(self, tier: Tier, why: str) -> ModelChoice:
        if not self.configured:
            raise _not_configured_error()
        name = self.tiers.get(tier, "")
        if name and not self._is_other_provider(name):
            return ModelChoice(self._full_name(name), why, tier)
        if read_tier(self.default) is not None or not self.default:
            raise Unavailable(
                f"No model is configured for the tier {tier!r}.",
                hint=f"Set `models.{tier}` or `models.default` in `retinue.toml`.",
                detail={"retryable": False},
            )
        return ModelChoice(
            self._full_name(self.default), f"{why}, and no model is configured for it but the default", tier
        )

    def _is_other_provider(self, name: str) -> bool:
        """Nobody configured the tiers, and the default model is not of the provider that they usually are of."""
        if self.tiers is not DEFAULT_TIERS or not self.default or read_tier(self.default) is not None:
            return False
        return self._full_name(self.default).partition(":")[0] != name.partition(":")[0]

    def _full_name(self, name: str) -> str:
        """The name with its provider."""
        name = name.strip()
        if name in self.ready or ":" in name:
            return name
        lowered = name.lower()
        provider = next((provider for start, provider in _FAMILIES if lowered.startswith(start)), None)
        if provider is None:
            near = nearest(name[:_LONGEST], (*self.ready, *self.tiers, *self.tiers.values(), "haiku", "sonnet", "opus"))
            raise UnknownName(
                f"Unknown model {name[:_LONGEST]!r}.",
                hint="Name it as `provider:model`, for example `anthropic:claude-haiku-4-5`, or by its tier.",
                suggestions=near,
            )
        return f"{provider}:{name}"

    def _cleaner(self) -> Cleaner:
        """Takes credentials out of what is kept, also those in variables of the user's own choice."""
        return Cleaner(self.environment, variables=[settings.key_variable for settings in self.providers.values()])

    def _open_model(self, name: str) -> LanguageModel:
        provider = _provider_in(name)
        path = name.partition(":")[2]
        if provider == "local":
            from .local import open_local  # noqa: PLC0415 - an optional part

            return open_local(path)
        if provider == "replay":
            from .recording import Replay  # noqa: PLC0415 - seldom needed

            return cast("LanguageModel", Replay(path, cleaner=self._cleaner()))
        from .providers import open_model  # noqa: PLC0415 - loads pydantic-ai

        return open_model(
            name, settings=self._settings(provider), environment=self._environment, price=self.prices.get(name)
        )


def _provider_in(name: str) -> str:
    provider, _, model = name.partition(":")
    if not model.strip():
        raise InvalidInput(
            f"{name[:_LONGEST]!r} is not the name of a model.",
            hint="Name it as `provider:model`, `local:FILE` or `replay:FILE`.",
        )
    return provider


def _not_configured_error() -> Unavailable:
    hint = (
        "Set `models.default` in `retinue.toml` or in the user's configuration, or `RETINUE_MODELS_DEFAULT`, "
        "or pass `--model provider:model`."
    )
    return Unavailable("No model is configured.", hint=hint, suggestions=(hint,), detail={"retryable": False})
