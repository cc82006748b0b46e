"""Agents that are instructions: a definition, a model that follows it, and tools within what it was granted.

`agent` drives one call; `prompt` says what a model is told, `using` what it may do, `replying` what came of it. Models
are the business of `llm`, tools that of `tools`, what is allowed that of `agents.grants`.
"""

from .agent import PromptedAgent
from .assembly import default_toolbox
from .granted import findings_about
from .permissions import mode_from, permitted, rules_from
from .toolbox import EMPTY, Kit, Toolbox

__all__ = [
    "EMPTY",
    "Kit",
    "PromptedAgent",
    "Toolbox",
    "default_toolbox",
    "findings_about",
    "mode_from",
    "permitted",
    "rules_from",
]
