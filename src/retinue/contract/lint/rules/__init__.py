"""Every rule that lint knows: its id, how much it matters, what it asks for, why, and an example of wrong and right.

Ids are stable. What is exact and a must of a specification is an error; what is advice, or judged by a phrase, is a
warning; what is a matter of taste is for information.
"""

from collections.abc import Mapping
from typing import Final

from retinue.contract.finding import Finding, Severity, TextEdit

from .across import ACROSS
from .compatibility import COMPATIBILITY
from .definitions import DEFINITION
from .input import INPUT
from .load import LOAD
from .message import MESSAGE
from .rule import LintRule
from .skills import SKILL

__all__ = ["RULES", "LintRule", "find_rule", "make_finding"]

RULES: Final[Mapping[str, LintRule]] = {
    rule.id: rule for rule in (*LOAD, *DEFINITION, *INPUT, *SKILL, *ACROSS, *COMPATIBILITY, *MESSAGE)
}
"""All rules by id. One without a slash stands for a family: `schema` for every `schema/<keyword>`."""


def find_rule(finding: str) -> LintRule | None:
    """The rule behind the rule id of a finding, or None."""
    return RULES.get(finding) or RULES.get(finding.partition("/")[0])


def make_finding(
    rule_id: str,
    path: str,
    message: str,
    fix: str,
    *,
    severity: Severity | None = None,
    file: str | None = None,
    line: int | None = None,
    column: int | None = None,
    replace: tuple[str, str] | None = None,
) -> Finding:
    """A finding of a rule in this table, as severe as the table says unless told otherwise."""
    return Finding(
        rule=rule_id,
        message=message,
        severity=severity or RULES[rule_id].severity,
        path=path,
        file=file,
        line=line,
        column=column,
        fix=fix,
        replacement=TextEdit(old=replace[0], new=replace[1]) if replace else None,
    )
