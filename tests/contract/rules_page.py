"""Writes docs/reference/rules.md out of the rules: `python -m tests.contract.rules_page`."""

from itertools import groupby
from pathlib import Path

from retinue.contract.lint import RULES, LintRule

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "rules.md"

HEAD = """\
# Rules

Every rule of `retinue lint`, and of `retinue tickets check` (`ticket/…`), as `retinue explain RULE` tells it. What is
exact and a must is an error and makes them exit 6; what is advice, or judged by a phrase, is a warning; what is a matter of taste is for information. A rule
without a slash stands for a family: `schema` for every `schema/<keyword>`. How to choose among them:
[check definitions](../guides/check-definitions.md).
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for family, rules in groupby(RULES.values(), key=lambda rule: rule.id.partition("/")[0]):
        parts.append(f"## {family}\n")
        parts += [section(rule) for rule in rules]
    return "\n".join(parts)


def section(rule: LintRule) -> str:
    """One rule."""
    examples = [f"{head}\n\n```text\n{said}\n```\n" for head, said in (("Wrong:", rule.wrong), ("Right:", rule.right))]
    return "\n".join([f"### `{rule.id}`\n", f"*{rule.severity}* {rule.title} {rule.why}\n", *examples])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
