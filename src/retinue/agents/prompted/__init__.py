"""Agents that are instructions: a definition, a model that follows it, and tools within what it was granted.

`agent` drives one call; `task_prompt` says what a model is told, `tool_executor` what it may do, `reply` what came of
it. Models are the business of `llm`, tools that of `tools`, what is allowed that of `agents.grants`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .agent import PromptedAgent
    from .definition_permissions import findings_about, grants_from_settings, rule_findings, rules_from
    from .toolbox import EMPTY, Toolbox, ToolsetFactory, default_toolbox

__all__ = [
    "EMPTY",
    "PromptedAgent",
    "Toolbox",
    "ToolsetFactory",
    "default_toolbox",
    "findings_about",
    "grants_from_settings",
    "rule_findings",
    "rules_from",
]

_HOMES: Final = {
    "EMPTY": "toolbox",
    "PromptedAgent": "agent",
    "Toolbox": "toolbox",
    "ToolsetFactory": "toolbox",
    "default_toolbox": "assembly",
    "findings_about": "definition_permissions",
    "grants_from_settings": "permissions",
    "rule_findings": "permissions",
    "rules_from": "permissions",
}


def __getattr__(name: str) -> object:
    # Late, because every command reads the permissions, and few have an agent that thinks.
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value
