"""Rules over definitions: what makes an agent hard to choose, to call or to rely on, and what breaks its callers.

Judges values that were read; finding, reading and placing them in files is the business of `agents/`. Every rule is
in one table, `RULES`, by the id that findings carry.
"""

from ._compare import compare
from ._definition import lint, lint_tool
from .rules import RULES, Rule, rule

__all__ = ["RULES", "Rule", "compare", "lint", "lint_tool", "rule"]
