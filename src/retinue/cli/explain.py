"""`retinue explain`: what a rule asks for, why, and what it looks like."""

from dataclasses import asdict

import click

from retinue.cli.app import Exit
from retinue.cli.output import echo, echo_json, label
from retinue.contract.lint import RULES, LintRule, find_rule
from retinue.contract.names import nearest
from retinue.errors import UnknownName


def explain_rule(*, name: str | None, as_json: bool) -> int:
    """Explain a rule of `retinue lint`, with an example; without RULE, list all rules."""
    if name is None:
        if as_json:
            echo_json([asdict(each) for each in RULES.values()])
            return Exit.OK
        width, family = max(map(len, RULES)), next(iter(RULES)).partition("/")[0]
        for each in RULES.values():
            if each.id.partition("/")[0] != family:
                echo("")
            family = each.id.partition("/")[0]
            echo(f"{label(f'{each.id:<{width}}')}  {_severity(each)}  {each.title}")
        return Exit.OK
    rule = find_rule(name.strip())
    if rule is None:
        # People know the last word of a rule better than its family.
        word = name.strip().rpartition("/")[2]
        same = [each for each in RULES if word and each.rpartition("/")[2] == word]
        near = tuple(dict.fromkeys((*same, *nearest(name, RULES))))
        hint = f"Did you mean `{near[0]}`?" if near else "`retinue explain` lists all rules."
        raise UnknownName(f"No such rule: {name[:80]!r}.", hint=hint, suggestions=near)
    if as_json:
        echo_json(asdict(rule))
        return Exit.OK
    parts = [f"{label(rule.id)}  {_severity(rule).rstrip()}", rule.title, rule.why]
    for head, example in (("wrong", rule.wrong), ("right", rule.right)):
        if example:
            parts.append("\n".join([f"{head}:", *(f"    {line}" for line in example.split("\n"))]))
    echo("\n\n".join(parts))
    return Exit.OK


def _severity(rule: LintRule) -> str:
    colours = {"error": "red", "warning": "yellow", "info": "blue"}
    return click.style(f"{rule.severity:<7}", fg=colours[rule.severity])
