"""Agents that are instructions: a definition, a model that follows it, and tools within what it was granted.

`agent` drives one call, `task_prompt` writes the prompt, `tool_executor` checks and runs tool calls. Models belong to
`llm`, tools to `tools`, permissions to `agents.grants`.
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
    "PromptedAgent": "agent",
    **dict.fromkeys(("EMPTY", "Toolbox", "ToolsetFactory", "default_toolbox"), "toolbox"),
    **dict.fromkeys(
        ("findings_about", "grants_from_settings", "rule_findings", "rules_from"), "definition_permissions"
    ),
}


def __getattr__(name: str) -> object:
    # Lazy, because every command reads the permissions, and few have an agent that uses a model.
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value
