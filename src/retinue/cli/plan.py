"""`retinue plan`: what would be done for a goal, and what there is to ask for, without doing it."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final, NoReturn

import click

from retinue.cli import watchdog
from retinue.cli.app import Exit
from retinue.cli.delivery import bytes_in, deliver, words_of
from retinue.cli.output import (
    echo,
    echo_err,
    echo_json,
    findings_in,
    findings_text,
    first_few,
    json_text,
    label,
    plural,
    reword,
    safe,
)
from retinue.cli.project import Bounds, Project, budget_of
from retinue.cli.remote import with_remote
from retinue.cli.screen import tell_message
from retinue.cli.session import idle_engine, open_for_goal, orchestrator_of
from retinue.contract.facts import Facts
from retinue.contract.finding import Finding
from retinue.contract.formatting import truncate
from retinue.contract.json import dumps
from retinue.contract.plan import Candidate, Delegation, Plan, topological_order
from retinue.contract.task import Budget, ContextLevel
from retinue.errors import BudgetExceeded, InvalidDefinition, ParseError, RetinueError
from retinue.orchestration.plan_checker import findings, read_plan
from retinue.orchestration.planning import planning_of
from retinue.orchestration.present.explanation import binding_origin
from retinue.orchestration.reader.model_reader import describe_facts
from retinue.orchestration.reader.parameters import reader_environment

_LINES: Final = 30
"""Lines of facts that are shown; all of them are in the JSON, up to these bounds."""
_WIDTH: Final = 160
_TABLES: Final = 20
_COLUMNS: Final = 60
_VALUES: Final = 8
_NAMES: Final = 40


def show_plan(
    *,
    goal: tuple[str, ...],
    agents: tuple[str, ...],
    context: str | None,
    output: Path | None,
    as_json: bool,
    project: Project,
) -> int:
    """Show which agents would be asked for GOAL, and why, without running them."""
    text = words_of(goal)
    project, _, _ = open_for_goal(project, agents, quiet=False, as_json=as_json)
    plan = plan_of(text, project, level=project.settings.get("run.context", context))
    if not as_json:
        report_planning(plan)
    if output is not None:
        deliver(f"{json_text(plan.to_json())}\n", output)
    # What there is for each skill that would be asked; for those that came nearest when none would be.
    read = reader_environment(project.registry, project.workspace, grants=project.grants).facts
    nearest = [] if plan.nodes else [near for dropped in plan.dropped for near in dropped.nearest]
    skills = [(one.agent, one.skill) for one in (*plan.nodes, *nearest)]
    everything = {f"{agent}.{skill}": read(agent, skill) for agent, skill in dict.fromkeys(skills) if read and skill}
    facts = {name: facts for name, facts in everything.items() if facts is not None and (facts.tables or facts.names)}
    if as_json:
        by_skill = {name: _clip(one).to_json() for name, one in facts.items()}
        extras = {**plan.extras, "facts": by_skill} if by_skill else plan.extras
        echo_json(plan.model_copy(update={"extras": extras}).to_json())
    else:
        echo("\n".join([plan_text(plan), *_facts_lines(facts)]))
    if output is not None and not as_json:
        echo_err(f"written to {safe(output)}. Edit it, and run it with `retinue run --plan {safe(output)}`")
    return Exit.OK if plan.nodes else Exit.FAILED


def _facts_lines(facts: dict[str, Facts]) -> Iterator[str]:
    """Each group of facts once, below the skills that have it in common."""
    owners: dict[str, list[str]] = {}
    for name, one in facts.items():
        owners.setdefault(describe_facts(one), []).append(name)
    for text, names in owners.items():
        yield f"{label('here')} for {', '.join(names)}"
        lines = text.split("\n")
        for line in lines[:_LINES]:
            indent = " " * (3 + len(line) - len(line.lstrip()))
            yield indent + truncate(safe(line), _WIDTH)
        if len(lines) > _LINES:
            yield f"   and {plural(len(lines) - _LINES, 'more line')}: see them with --json"


def _clip(facts: Facts) -> Facts:
    tables = [
        table.model_copy(
            update={
                "columns": tuple(
                    column.model_copy(update={"values": tuple(column.values[:_VALUES])})
                    for column in table.columns[:_COLUMNS]
                )
            }
        )
        for table in facts.tables[:_TABLES]
    ]
    names = {kind: tuple(every[:_NAMES]) for kind, every in facts.names.items()}
    return facts.model_copy(update={"tables": tuple(tables), "names": names})


_MOST: Final = 200
_LONGEST: Final = 100
_WIDEST_TITLE: Final = 20
_EXAMPLES: Final = 5


def plan_text(plan: Plan) -> str:
    """`plan` as a tree: each node below the last one it waits for."""
    return "\n".join(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    by_id = {node.id: node for node in plan.nodes}
    depths: dict[str, int] = {}
    for name in topological_order(plan.nodes):
        depths[name] = max((depths[need] + 1 for need in by_id[name].needs), default=0)
    for node in [by_id[name] for name in _reading_order(plan)][:_MOST]:
        indent = "   " * min(depths[node.id], 20)
        agent = f"{node.agent}{f'.{node.skill}' if node.skill else ''}"
        yield f"{indent}{label(node.id)} {click.style(agent, fg='cyan')}{_waits(node)}"
        rows = list(_rows(node))
        width = min(max((len(name) for name, _ in rows), default=0), _WIDEST_TITLE)
        yield from (indent + _row(title, text, width=width) for title, text in rows)
    if len(plan.nodes) > _MOST:
        yield f"and {plural(len(plan.nodes) - _MOST, 'more delegation')}: see them with --json"
    if not plan.nodes:
        yield "No agent would be asked."
    if plan.join != "all" and plan.nodes:
        share = f" of {plan.quorum:.2f}" if plan.join == "quorum" else ""
        yield f"{_head('ends')} when it has enough: {plan.join}{share}"
    for dropped in plan.dropped:
        yield f"{label('left out', 'yellow')} {_shorten(dropped.clause)}"
        yield _row("because", _shorten(dropped.reason))
        if dropped.nearest:
            yield _row("nearest", ", ".join(map(_candidate_text, dropped.nearest)))
        for example in dropped.examples[:_EXAMPLES]:
            yield _row("try", _shorten(example))


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
    optional = " (optional)" if node.optional else ""
    if not node.needs:
        return optional
    contexts = [f"{need} ({node.context.get(need, 'summary')})" for need in dict.fromkeys(node.needs)]
    join_text = "" if node.join == "all" else f", {node.join} of them"
    return f", after {first_few(contexts, 10)}{join_text}{optional}"


def _candidate_text(candidate: Candidate) -> str:
    return f"{candidate.agent}.{candidate.skill} ({candidate.share:.2f})"


def _row(title: str, text: str, *, width: int = 7) -> str:
    return f"   {_head(title.ljust(width))}  {text}"


def _head(title: str) -> str:
    return click.style(title, dim=True)


def _shorten(text: str) -> str:
    line = safe(text)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def plan_of(goal: str, project: Project, *, level: ContextLevel | None = None) -> Plan:
    """What would be done for `goal` in a folder, without doing it."""
    # An engine that is never entered starts nothing.
    orchestrator = orchestrator_of(project, idle_engine(), project.workspace, model=project.default_tier("small"))
    by = project.settings.get("run.planner")
    if by == "rules" or (by == "auto" and not project.models.configured):
        return with_context_level(orchestrator.plan(goal), level, remote=project.remote_agents)
    budget = budget_of(project.settings, Bounds())
    plan = watchdog.run(orchestrator.plan_goal(goal, budget=budget, by=by, on_message=tell_message))
    return with_context_level(plan, level, remote=project.remote_agents)


def with_context_level(plan: Plan, level: ContextLevel | None, *, remote: Collection[str] = ()) -> Plan:
    """`plan` with `level` on all its edges; as it is when there is none.

    What is handed on to one of the `remote` agents, only the plan itself says.
    """
    if level is None:
        return plan
    nodes = [
        node if node.agent in remote else node.model_copy(update={"context": dict.fromkeys(node.needs, level)})
        for node in plan.nodes
    ]
    return plan.model_copy(update={"nodes": tuple(nodes)})


def load_plan(source: str, project: Project, budget: Budget, *, quiet: bool) -> tuple[Plan, Project]:
    """The plan in the file `source` (`-` is stdin), found to be one that the agents of a folder can walk.

    The folder comes back with the remote agents that the plan names.

    All that is wrong with it is told before anything starts.

    Args:
        source: Where it is.
        project: Who is there.
        budget: How many delegations the run may have.
        quiet: Only errors are told, and as one line.
    """
    try:
        plan = read_plan(bytes_in(source, hint="Write one with `retinue plan … --output FILE`."))
    except RetinueError as error:
        if not isinstance(error, InvalidDefinition | ParseError):
            raise
        # Text that cannot be read is no plan either, and ends the same way.
        _refuse(findings_in(error, rule="plan/json"), source, quiet=quiet)
    if not plan.nodes and not plan.dropped:
        fix = "Add one with an `id`, an `agent` and an `instruction`."
        empty = Finding(rule="plan/empty", message="The plan has no delegations.", path="/nodes", fix=fix)
        _refuse([empty], source, quiet=quiet)
    project = with_remote(project, [node.agent for node in plan.nodes], quiet=quiet)
    problems = findings(plan, project.registry.definitions())
    if any(finding.severity == "error" for finding in problems):
        _refuse(problems, source, quiet=quiet)
    if problems and not quiet:
        _report_findings(problems, source)
    if len(plan.nodes) > budget.nodes:
        raise BudgetExceeded(
            f"The plan has {len(plan.nodes):,} delegations; the limit is {budget.nodes:,}.",
            hint=f"Raise the limit with `--max-nodes {len(plan.nodes)}`, or make the plan smaller.",
            path="/nodes",
            detail={"bound": "nodes"},
        )
    return plan, project


def _refuse(findings: Sequence[Finding], source: str, *, quiet: bool) -> NoReturn:
    """Say all that is wrong, and end with the exit code for what breaks its contract."""
    errors = [finding for finding in findings if finding.severity == "error"]
    if not quiet:
        _report_findings(findings, source)
    first = errors[0] if errors else findings[0]
    more = f" And {len(errors) - 1} more." if len(errors) > 1 else ""
    raise InvalidDefinition(
        f"Invalid plan: {first.message}{more}",
        hint=(first.fix if quiet and first.fix else "Fix each place, and run it again."),
        path=first.path,
        detail={"findings": [finding.to_json() for finding in findings]},
    )


def _report_findings(findings: Sequence[Finding], source: str) -> None:
    file = "stdin" if source == "-" else source
    echo_err(findings_text(finding.model_copy(update={"file": file}) for finding in findings))


def report_planning(plan: Plan) -> None:
    """Say on stderr when a model was asked for a plan and the rules made it."""
    planning = planning_of(plan)
    if planning is not None and planning.fell_back:
        echo_err(safe(reword(planning.reason)))
