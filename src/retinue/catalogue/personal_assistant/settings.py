"""The settings of one call: what was asked with, else `config`, else the environment, else the usual (B8 to B14)."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from retinue.contract.model import JsonMapping
from retinue.contract.task import Task
from retinue.dialects.run_agent import read_config

__all__ = ["TIMEOUT_S", "Mode", "Role", "Settings", "settings_of"]

TIMEOUT_S: Final = 60.0
"""Seconds that all domains have together, unless somebody says otherwise (B24)."""

Mode = Literal["async", "threads"]
Role = Literal["router", "domain", "synth"]


@dataclass(frozen=True, slots=True)
class Settings:
    """How one call is made.

    Attributes:
        tool_root: Where further extensions are; empty for the shipped ones only.
        only_domains: The only extensions asked; None means all.
        timeout_s: Seconds for all domains together.
        models: A model's name for a role that must have that one.
        notes: What was said and is not understood, one sentence each.
    """

    tool_root: str = ""
    only_domains: tuple[str, ...] | None = None
    mode: Mode = "async"
    timeout_s: float = TIMEOUT_S
    models: Mapping[Role, str] | None = None
    notes: tuple[str, ...] = ()

    def model(self, role: Role) -> str | None:
        """The model that `role` must have, if any."""
        return (self.models or {}).get(role)


_PARAMETERS: Final = ("only_domains", "execution_mode", "domain_timeout_secs")


def settings_of(task: Task, environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings of `task`; its parameters come first, then the `config` of a `run_agent` call."""
    said = {**_config(task), **{name: value for name in _PARAMETERS if (value := _said(task, name))}}
    read = read_config(said, os.environ if environment is None else environment)
    config, overrides = read.config, read.config.model_overrides
    ignored = tuple(f"The setting {path[1:]!r} is not known and was ignored." for path in read.ignored)
    wrong = tuple(
        f"`config{finding.path}`: {finding.message}" for finding in read.findings if finding.severity != "info"
    )
    named: dict[Role, str | None] = (
        {"router": overrides.router, "domain": overrides.domain, "synth": overrides.synth} if overrides else {}
    )
    return Settings(
        tool_root=config.tool_root or "",
        only_domains=None if config.only_domains is None else tuple(config.only_domains),
        mode=config.execution_mode or "async",
        timeout_s=config.domain_timeout_secs or TIMEOUT_S,
        models={role: model for role, model in named.items() if model},
        notes=(*ignored, *wrong),
    )


def _said(task: Task, name: str) -> object:
    """What the parameters say of a setting; nothing when they leave it to whatever is set elsewhere."""
    value = task.parameters.get(name)
    return None if value == "usual" else value


def _config(task: Task) -> JsonMapping:
    own: Any = task.extras.get("run_agent")
    config: Any = cast("JsonMapping", own).get("config") if isinstance(own, dict) else None
    return cast("JsonMapping", config) if isinstance(config, dict) else {}
