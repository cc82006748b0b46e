"""Rules over definitions: what makes an agent hard to choose, to call or to rely on, and what breaks its callers.

Judges values that were read; finding, reading and placing them in files is the business of `agents/`. Every rule is
in one table, `RULES`, by the id that findings carry.
"""

from ._calls import KnownAgent, Listing, Operation, judge_calls, judge_listings, uncalled
from ._compare import compare
from ._copies import Passage, copies, inline_behaviours
from ._definition import lint, lint_tool
from ._evolve import Change, Earlier, evolve
from .rules import RULES, Rule, rule

__all__ = [
    "RULES",
    "Change",
    "Earlier",
    "KnownAgent",
    "Listing",
    "Operation",
    "Passage",
    "Rule",
    "compare",
    "copies",
    "evolve",
    "inline_behaviours",
    "judge_calls",
    "judge_listings",
    "lint",
    "lint_tool",
    "rule",
    "uncalled",
]
