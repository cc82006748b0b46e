"""What a provider's client raises, as our errors. Why a conversation ends early is in `conversation`.

A provider's own words are foreign text: they are shortened, made printable, and lose whatever looks like a key.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from retinue.contract.credentials import Cleaner
from retinue.contract.formatting import truncate
from retinue.contract.model import JsonMapping
from retinue.contract.sanitize import printable
from retinue.errors import (
    DeadlineExceeded,
    InvalidInput,
    NetworkError,
    OutputInvalid,
    RetinueError,
    Unauthenticated,
    Unavailable,
    UnknownName,
)

from .provider_info import IDENTITIES, nearest_models

_LONGEST: Final = 300
_SDKS: Final = frozenset({"anthropic", "botocore", "google", "grpc", "groq", "httpx", "httpx2", "openai", "urllib3"})
_CREDENTIAL_ERRORS: Final = frozenset(
    {
        "CredentialRetrievalError",
        "DefaultCredentialsError",
        "NoCredentialsError",
        "PartialCredentialsError",
        "RefreshError",
        "SSOTokenLoadError",
        "TokenRetrievalError",
        "UnauthorizedSSOTokenError",
    }
)
"""What clients raise that look for credentials only when the first request is made."""
_LATER_STATUSES: Final = frozenset({408, 409, 425})
_NOT_NOW: Final = "The provider of `{model}` cannot answer now"
_REFUSED: Final = "The provider of `{model}` rejects the request"
_CHANGE: Final = "Change the request, or use another model."
_SERVER: Final = 500
_LATER: Final = "Try again later, or use another model."


def translate_error(
    error: Exception, *, model: str, variables: Sequence[str] = (), cleaner: Cleaner | None = None
) -> RetinueError:
    """The error of ours that says what `error` says.

    Args:
        error: What pydantic-ai, or the client beneath it, raised.
        model: Who was asked, as `provider:model`.
        variables: The environment variables that may hold the key.
        cleaner: Takes keys out of what the provider said.
    """
    if isinstance(error, ExceptionGroup):
        # Several were asked, one after the other: the last word counts.
        last = cast("ExceptionGroup[Exception]", error).exceptions[-1]
        return translate_error(last, model=model, variables=variables, cleaner=cleaner)
    # By name: naming the classes themselves would load pydantic-ai.
    classes = {each.__name__ for each in type(error).__mro__}
    if "ModelAPIError" in classes:
        return _api_error(error, classes, model, variables, cleaner)
    if "ContentFilterError" in classes:
        return OutputInvalid(
            f"The provider of `{model}` filtered the answer.",
            hint="Rephrase the request, or use another model.",
            detail={"stop": "refused"},
        )
    message = _provider_message(error, cleaner)
    if "UserError" in classes:
        return InvalidInput(f"`{model}` rejected the request: {message}", hint=_CHANGE)
    kind = type(error).__name__  # of a client: pydantic-ai has no class for it
    if kind in _CREDENTIAL_ERRORS:
        names = IDENTITIES.get(model.partition(":")[0], ())
        how = f"Set {_names(names)}, or log in" if names else "Log in"
        return Unauthenticated(
            f"The provider of `{model}` cannot tell who is asking: {message}",
            hint=f"{how} with the provider's own tool.",
            suggestions=names,
            detail={"variables": list(names)},
        )
    if kind == "ParamValidationError":
        return InvalidInput(f"{_REFUSED.format(model=model)}: {message}", hint=_CHANGE)
    if type(error).__module__.partition(".")[0] in _SDKS:
        return _network_error(model, message, was_reached=None)
    return OutputInvalid(
        f"What `{model}` sent cannot be read: {type(error).__name__}: {message}",
        hint="Try again, or use another model.",
    )


def missing_key_error(provider: str, variables: Sequence[str]) -> Unauthenticated:
    """Nobody can be asked at `provider`: none of `variables` holds a key."""
    return Unauthenticated(
        f"There is no key for the provider `{provider}`: {_names(variables)} is not set.",
        hint=f"Set the environment variable {_names(variables)}, or another one as `models.key_variable.{provider}`.",
        suggestions=tuple(variables),
        detail={"variables": list(variables)},
    )


def timeout_error(model: str, seconds: float | None = None) -> DeadlineExceeded:
    """`model` took longer than a request may take."""
    return DeadlineExceeded(
        f"`{model}` did not answer {'in time' if seconds is None else f'within {seconds:g} s'}.",
        hint="Raise `timeout_s`, or ask for less.",
        detail={"bound": "request.timeout_s"},
    )


_ERROR_CLASSES: Final[Mapping[str, tuple[type[RetinueError], str, str]]] = {
    "ModelContextWindowExceededError": (
        InvalidInput,
        "The request is longer than `{model}` takes",
        "Ask with less context, or use a model that takes more.",
    ),
    "ModelQuotaExceededError": (
        Unavailable,
        "The account at the provider of `{model}` is used up",
        "Top up the account, or use another model.",
    ),
    "ModelRateLimitError": (Unavailable, _NOT_NOW, _LATER),
    "ModelUnavailableError": (Unavailable, _NOT_NOW, _LATER),
    "ModelServerError": (Unavailable, _NOT_NOW, _LATER),
    "ModelRequestRejectedError": (InvalidInput, _REFUSED, _CHANGE),
}
"""What the classes of pydantic-ai mean, the narrower before the wider: ours, what is said, and what to do next."""


def _api_error(
    error: Any, classes: set[str], model: str, variables: Sequence[str], cleaner: Cleaner | None
) -> RetinueError:
    """By the class of pydantic-ai, else by the status that the provider answered with."""
    message = _provider_message(error, cleaner)
    status: int | None = getattr(error, "status_code", None)
    detail: JsonMapping = {} if status is None else {"status": status}
    if classes & {"ModelConnectionError", "ModelRequestTimeout"}:
        is_late = bool(classes & {"ModelTimeoutError", "ModelRequestTimeout"})
        unsent = getattr(error, "phase", None) in {"pool", "connect"}
        if not is_late or unsent:
            return _network_error(model, message, was_reached=False if unsent else None)
        return timeout_error(model)
    if "ModelAuthenticationError" in classes:
        setting = f"models.key_variable.{model.partition(':')[0]}"
        return Unauthenticated(
            f"The provider of `{model}` {'rejects the key' if variables else 'needs a key'}: {message}",
            hint=f"Make sure that {_names(variables)} holds a key that may use this model."
            if variables
            else f"None was sent: set `{setting}` to the environment variable that holds one.",
            suggestions=tuple(variables),
            detail=detail,
        )
    if "ModelNotFoundError" in classes:
        near = nearest_models(model)
        suggestion: str | None = getattr(error, "suggested_model_id", None)
        if suggestion and suggestion != model:
            near = tuple(dict.fromkeys((suggestion, *near)))
        return UnknownName(
            f"The provider has no model `{model}`: {message}",
            hint=f"Did you mean `{near[0]}`?"
            if near
            else "Check the provider's list of models, and `base_url` if you set it.",
            suggestions=near,
            detail=detail,
        )
    if "ModelQuotaExceededError" in classes:
        detail["retryable"] = False
    match = next((row for name, row in _ERROR_CLASSES.items() if name in classes), None)
    if match is None and status in _LATER_STATUSES:
        match = Unavailable, _NOT_NOW, _LATER
    if match is not None:
        ours, what, hint = match
        text = f"{what.format(model=model)}: {message}"
        return ours(text, hint=hint, detail=detail, retry_after_s=error.retry_after)
    if status is not None and status < _SERVER:
        return InvalidInput(f"{_REFUSED.format(model=model)}: {message}", hint=_CHANGE, detail=detail)
    hint = "Try again, or use another model."
    return OutputInvalid(f"What `{model}` sent cannot be read: {message}", hint=hint, detail=detail)


def _names(variables: Sequence[str]) -> str:
    return " or ".join(f"`{name}`" for name in variables)


def _network_error(model: str, message: str, *, was_reached: bool | None) -> NetworkError:
    detail: JsonMapping = {} if was_reached is None else {"reached": was_reached}
    what = "cannot be reached" if was_reached is False else "did not answer to the end"
    return NetworkError(
        f"The provider of `{model}` {what}: {message}", hint="Try again; see `base_url` if you set one.", detail=detail
    )


def _provider_message(error: Exception, cleaner: Cleaner | None) -> str:
    """What the provider said, as a sentence that may be shown."""
    # Providers put it into the body as it is, or as a `message` some `error`s down.
    body: object = getattr(error, "body", None)
    for _ in range(3):
        if isinstance(body, dict):
            fields = cast("dict[str, object]", body)
            body = fields["message"] if isinstance(fields.get("message"), str) else fields.get("error")
    text = (body if isinstance(body, str) else "") or getattr(error, "message", "") or str(error)
    text = (cleaner or Cleaner({})).text((text or type(error).__name__)[: 4 * _LONGEST])
    sentence = truncate(" ".join(printable(text).split()), _LONGEST)
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
