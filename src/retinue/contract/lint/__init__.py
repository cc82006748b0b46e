"""Rules over definitions: what makes an agent hard to choose, to call or to rely on, and what breaks its callers.

Judges values that were read; finding, reading and placing them in files is the business of `agents/`. Every rule is
in one table, `RULES`, by the id that findings carry.
"""

from ._calls import KnownAgent, Operation, OperationListing, check_calls, check_listings, find_uncalled
from ._compare import ContractChange, EarlierDefinition, compare, compare_trees
from ._copies import Passage, find_copies, find_inline_behaviours
from ._definition import lint
from .rules import RULES, LintRule, find_rule

__all__ = [
    "RULES",
    "ContractChange",
    "EarlierDefinition",
    "KnownAgent",
    "LintRule",
    "Operation",
    "OperationListing",
    "Passage",
    "check_calls",
    "check_listings",
    "compare",
    "compare_trees",
    "find_copies",
    "find_inline_behaviours",
    "find_rule",
    "find_uncalled",
    "lint",
]
