"""Rules over definitions: what makes an agent hard to choose, to call or to rely on, and what breaks its callers.

Judges values that were read; finding, reading and placing them in files is the business of `agents/`. Every rule is
in one table, `RULES`, by the id that findings carry.
"""

from ._calls import KnownAgent, OperationListing, Operation, check_calls, check_listings, find_uncalled
from ._compare import compare
from ._copies import Passage, find_copies, find_inline_behaviours
from ._definition import lint, lint_tool
from ._evolve import ContractChange, EarlierDefinition, compare_trees
from .rules import RULES, LintRule, find_rule

__all__ = [
    "RULES",
    "ContractChange",
    "EarlierDefinition",
    "KnownAgent",
    "OperationListing",
    "Operation",
    "Passage",
    "LintRule",
    "compare",
    "find_copies",
    "compare_trees",
    "find_inline_behaviours",
    "check_calls",
    "check_listings",
    "lint",
    "lint_tool",
    "find_rule",
    "find_uncalled",
]
