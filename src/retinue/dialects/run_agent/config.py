"""The `config` argument: what one call overrides (B8 to B12), and which source of a setting wins (B13).

It says what is configured. What an agent does with it, and what holds when nobody says anything, is the agent's.
"""

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, NamedTuple, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from retinue.contract import json
from retinue.contract.finding import Finding
from retinue.contract.json import pointer
from retinue.contract.model import JsonMapping
from retinue.contract.names import nearest
from retinue.errors import ParseError

from .wire import CORRECTION


class ModelOverrides(BaseModel):
    """Which model each role uses, by its id (B12)."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    router: str | None = None
    domain: str | None = None
    synth: str | None = None


class Config(BaseModel):
    """The recognised keys; what is None was not said.

    Attributes:
        tool_root: The folder under which extensions are discovered.
        only_domains: The only extensions that may run, by name.
        execution_mode: For agents that broadcast.
        domain_timeout_secs: Seconds that one extension may take.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", allow_inf_nan=False)

    tool_root: str | None = None
    only_domains: list[str] | None = None
    execution_mode: Literal["async", "threads"] | None = None
    domain_timeout_secs: Annotated[float, Field(gt=0)] | None = None
    model_overrides: ModelOverrides | None = None


class ParsedConfig(NamedTuple):
    """A configuration, read.

    Attributes:
        config: What holds for this call.
        ignored: The keys that nobody here knows, as JSON Pointers (B14).
        findings: What was wrong, and a word on each ignored key. A setting that is wrong is not set.
    """

    config: Config
    ignored: tuple[str, ...]
    findings: tuple[Finding, ...]


def read_config(config: JsonMapping, environment: Mapping[str, str] | None = None) -> ParsedConfig:
    """Read the settings of one call. What `config` says beats the environment, for this call (B13).

    A setting is called in the environment as in `config`, in capitals: `DOMAIN_TIMEOUT_SECS`. Lists stand between
    commas there, and `MODEL_OVERRIDES` is JSON. A setting that `config` gets wrong does not fall back to the
    environment: somebody wanted something else.

    Args:
        config: The argument, as JSON data.
        environment: The variables of the process; none of them are looked at otherwise.
    """
    values = {key: value for key, value in config.items() if value is not None}
    ignored, findings = _ignored_keys(values)
    settings, problems = _valid_settings({key: value for key, value in values.items() if key in _KEYS}, pointer)
    # What the environment adds to that.
    variables = {key: (environment or {}).get(key.upper(), "") for key in Config.model_fields if key not in values}
    texts = {key: text for key, text in variables.items() if text.strip()}
    from_environment, misread = _valid_settings(
        {key: _VALUES.get(key, str)(text) for key, text in texts.items()}, lambda where: str(where[0]).upper()
    )
    return ParsedConfig(
        Config.model_validate({**from_environment, **settings}), ignored, (*findings, *problems, *misread)
    )


_KEYS: Final = frozenset(Config.model_fields)
_MAX_FINDINGS: Final = 50
"""Unknown settings that are each spoken of; all are listed."""


def _ignored_keys(values: JsonMapping) -> tuple[tuple[str, ...], list[Finding]]:
    """The keys nobody knows, at both levels."""
    unknown = [((key,), _KEYS) for key in values if key not in _KEYS and key != CORRECTION]
    roles = frozenset(ModelOverrides.model_fields)
    overrides: object = values.get("model_overrides")
    if isinstance(overrides, dict):
        mapping = cast("JsonMapping", overrides)
        unknown += [(("model_overrides", key), roles) for key in mapping if key not in roles]
    findings: list[Finding] = []
    for path, names in unknown[:_MAX_FINDINGS]:
        near = nearest(path[-1], sorted(names), limit=1)
        findings.append(
            Finding(
                rule="run_agent/config-ignored",
                message=f"The setting {path[-1][:100]!r} is not known, and ignored.",
                path=pointer(path),
                severity="info",
                fix=f"Did you mean {near[0]!r}?" if near else "",
            )
        )
    if len(unknown) > _MAX_FINDINGS:
        message = f"{len(unknown) - _MAX_FINDINGS} more settings are not known, and ignored."
        findings.append(Finding(rule="run_agent/config-ignored", message=message, severity="info"))
    return tuple(pointer(path) for path, _ in unknown), findings


def _valid_settings(
    settings: JsonMapping, place: Callable[[tuple[str | int, ...]], str]
) -> tuple[dict[str, object], list[Finding]]:
    """The settings that have the right type, and a finding for each that has not; `place` names where it stands."""
    try:
        Config.model_validate(settings)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_context=False, include_input=False)
        findings = [
            Finding(
                rule="run_agent/config",
                message=f"{each['msg']}.",
                path=place(each["loc"]),
                fix="Give the setting as spec 001 lists it, or leave it out.",
            )
            for each in wrong
        ]
        invalid_keys = {each["loc"][0] for each in wrong}
        return {key: value for key, value in settings.items() if key not in invalid_keys}, findings
    return dict(settings), []


def _number(text: str) -> object:
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text


def _object(text: str) -> Any:
    try:
        return json.loads(text)
    except ParseError:
        return text


_VALUES: Final[dict[str, Callable[[str], object]]] = {
    "domain_timeout_secs": _number,
    "only_domains": lambda text: [part for each in text.split(",") if (part := each.strip())],
    "model_overrides": _object,
}
