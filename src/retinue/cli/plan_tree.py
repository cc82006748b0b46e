"""A plan as text for a person: who would be asked what, why, with which parameters, and what waits for what.

Defaults stand in one line, without the empty ones.
"""

from collections.abc import Iterator
from typing import Final

import click

from retinue.cli.output import plural, safe
from retinue.contract.json import dumps
from retinue.contract.plan import Candidate, Delegation, Dropped, Plan, topological_order
from retinue.orchestration.present.explanation import binding_origin

_MOST: Final = 200
_LONGEST: Final = 100
_WIDEST_TITLE: Final = 20
_EXAMPLES: Final = 5


def plan_text(plan: Plan) -> str:
    """`plan` as a tree: each node below the last one it waits for."""
    return "\n".join(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    depths = _depths(plan)
    by_id = {node.id: node for node in plan.nodes}
    for node in [by_id[name] for name in _reading_order(plan)][:_MOST]:
        indent = "   " * min(depths[node.id], 20)
        for line in _node(node):
            yield indent + line
    if len(plan.nodes) > _MOST:
        yield f"and {plural(len(plan.nodes) - _MOST, 'more delegation')}: see them with --json"
    if not plan.nodes:
        yield "No agent would be asked."
    if plan.join != "all" and plan.nodes:
        share = f" of {plan.quorum:.2f}" if plan.join == "quorum" else ""
        yield f"{_head('ends')} when it has enough: {plan.join}{share}"
    for dropped in plan.dropped:
        yield from _dropped(dropped)


def _depths(plan: Plan) -> dict[str, int]:
    """How many nodes stand above each one in the tree."""
    needs = {node.id: node.needs for node in plan.nodes}
    depths: dict[str, int] = {}
    for name in topological_order(plan.nodes):
        depths[name] = max((depths[need] + 1 for need in needs[name]), default=0)
    return depths


def _reading_order(plan: Plan) -> list[str]:
    """Each node, and then those that wait for it and for nothing later."""
    place = {name: position for position, name in enumerate(topological_order(plan.nodes))}
    below: dict[str, list[str]] = {}
    tops: list[str] = []
    for node in plan.nodes:
        if node.needs:
            below.setdefault(max(node.needs, key=place.__getitem__), []).append(node.id)
        else:
            tops.append(node.id)
    ids: list[str] = []
    pending = tops[::-1]
    while pending:
        ids.append(name := pending.pop())
        pending += below.get(name, [])[::-1]
    return ids


def _node(node: Delegation) -> Iterator[str]:
    agent = f"{node.agent}{f'.{node.skill}' if node.skill else ''}"
    yield f"{click.style(node.id, bold=True)} {click.style(agent, fg='cyan')}{_waits(node)}"
    for title, text in (rows := list(_rows(node))):
        yield _row(title, text, width=min(max(len(name) for name, _ in rows), _WIDEST_TITLE))


def _rows(node: Delegation) -> Iterator[tuple[str, str]]:
    if node.instruction:
        yield "asked", _shorten(node.instruction)
    if node.chosen is not None:
        because = f": it {_shorten(node.chosen.reason)}" if node.chosen.reason else ""
        yield "because", f"fits to {node.chosen.share:.2f}{because}"
    bound = {one.parameter: one for one in node.bindings}
    defaults: list[str] = []
    for name, value in node.parameters.items():
        binding = bound.get(name)
        if binding is not None and binding.how == "default":
            defaults += [f"{name} {dumps(value)}"] if value not in ("", [], {}) else []
            continue
        origin = "given" if binding is None else binding_origin(binding.how, binding.words, clause=node.instruction)
        yield _shorten(name), f"{_shorten(dumps(value))}  {click.style(safe(origin), dim=True)}"
    if defaults:
        yield "defaults", _shorten(", ".join(defaults))
    for question in node.questions:
        yield "to ask", _shorten(question.text)
    for expected in node.expects:
        yield "leaves", _shorten(expected.path)
    if node.alternatives:
        yield "else", ", ".join(map(_candidate_text, node.alternatives))


def _waits(node: Delegation) -> str:
    if not node.needs:
        return " (optional)" if node.optional else ""
    contexts = [f"{need} ({node.context.get(need, 'summary')})" for need in dict.fromkeys(node.needs)]
    text = ", ".join(contexts[:10]) + (f" and {len(contexts) - 10} more" if len(contexts) > 10 else "")
    join_text = "" if node.join == "all" else f", {node.join} of them"
    return f", after {text}{join_text}{' (optional)' if node.optional else ''}"


def _dropped(dropped: Dropped) -> Iterator[str]:
    yield f"{click.style('left out', fg='yellow', bold=True)} {_shorten(dropped.clause)}"
    yield _row("because", _shorten(dropped.reason))
    if dropped.nearest:
        yield _row("nearest", ", ".join(map(_candidate_text, dropped.nearest)))
    for example in dropped.examples[:_EXAMPLES]:
        yield _row("try", _shorten(example))


def _candidate_text(candidate: Candidate) -> str:
    return f"{candidate.agent}.{candidate.skill} ({candidate.share:.2f})"


def _row(title: str, text: str, *, width: int = 7) -> str:
    return f"   {_head(title.ljust(width))}  {text}"


def _head(title: str) -> str:
    return click.style(title, dim=True)


def _shorten(text: str) -> str:
    line = safe(text)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
