"""`retinue plan`: what would be done for a goal, and what there is to ask for, without doing it."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from retinue.cli.exits import Exit
from retinue.cli.options import (
    agents_option,
    context_option,
    json_option,
    model_option,
    planner_option,
    workspace_option,
)

if TYPE_CHECKING:
    from retinue.cli.project import Project
    from retinue.contract.facts import Facts
    from retinue.contract.plan import Plan

_LINES: Final = 30
"""Lines of facts that are shown; all of them are in the JSON, up to these bounds."""
_WIDTH: Final = 160
_TABLES: Final = 20
_COLUMNS: Final = 60
_VALUES: Final = 8
_NAMES: Final = 40


@click.command("plan")
@click.argument("goal", nargs=-1, required=True)
@agents_option
@context_option
@model_option
@planner_option
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the plan to this file, as JSON for `retinue run --plan`.",
)
@json_option
@workspace_option
def command(
    *,
    goal: tuple[str, ...],
    agents: tuple[str, ...],
    context: str | None,
    model: str | None,
    planner: str | None,
    output: Path | None,
    as_json: bool,
    workspace: Path | None,
) -> int:
    """Show which agents would be asked for GOAL, and why, without running them.

    Below the plan stands what there is here for these agents: tables with their columns, and names, of branches for
    example. Write the plan to a file, edit it, and run it. Use - to read the goal from stdin. Exits 1 when no agent
    fits any part of the goal.

    \b
      retinue plan "who changed the parser last, and what does it promise?"
      retinue plan "count the commits of this year" --output plan.json && retinue run --plan plan.json
    """  # noqa: D301 - click reads the backspace: keep these lines as they are
    from retinue.cli.active import with_active
    from retinue.cli.arguments import words_of
    from retinue.cli.delivery import check_output, deliver
    from retinue.cli.output import echo, echo_err, echo_json, json_text, safe
    from retinue.cli.plan_tree import plan_text
    from retinue.cli.plans import plan_of, report_planning, with_planner
    from retinue.cli.project import open_project, report_notes

    text = words_of(goal)
    if output is not None:
        check_output(output)
    project, _ = with_active(with_planner(open_project(workspace, model=model), planner), quiet=as_json)
    chosen = agents or project.settings.get("run.agents")
    project = project.with_only(chosen) if chosen else project
    report_notes(project, as_json=as_json)
    plan = plan_of(text, project, level=project.settings.get("run.context", context))
    if not as_json:
        report_planning(plan)
    if output is not None:
        deliver(f"{json_text(plan.to_json())}\n", output)
    facts = _facts_of(plan, project)
    if as_json:
        by_skill = {name: _clip(one).to_json() for name, one in facts.items()}
        extras = {**plan.extras, "facts": by_skill} if by_skill else plan.extras
        echo_json(plan.model_copy(update={"extras": extras}).to_json())
    else:
        echo("\n".join([plan_text(plan), *_facts_lines(facts)]))
    if output is not None and not as_json:
        echo_err(f"written to {safe(output)}. Edit it, and run it with `retinue run --plan {safe(output)}`")
    return Exit.OK if plan.nodes else Exit.FAILED


def _facts_of(plan: "Plan", project: "Project") -> "dict[str, Facts]":
    """What there is for each skill that would be asked; for those that came nearest when none would be."""
    from retinue.orchestration.reader.parameters import reader_environment

    read = reader_environment(project.registry, project.workspace, grants=project.grants).facts
    nearest = [] if plan.nodes else [near for dropped in plan.dropped for near in dropped.nearest]
    skills = [(one.agent, one.skill) for one in (*plan.nodes, *nearest)]
    everything = {f"{agent}.{skill}": read(agent, skill) for agent, skill in dict.fromkeys(skills) if read and skill}
    return {name: facts for name, facts in everything.items() if facts is not None and (facts.tables or facts.names)}


def _facts_lines(facts: "dict[str, Facts]") -> Iterator[str]:
    """Each group of facts once, below the skills that have it in common."""
    from retinue.cli.output import plural, safe
    from retinue.contract.formatting import truncate
    from retinue.orchestration.reader.model_prompt import describe_facts

    owners: dict[str, list[str]] = {}
    for name, one in facts.items():
        owners.setdefault(describe_facts(one), []).append(name)
    for text, names in owners.items():
        yield f"{click.style('here', bold=True)} for {', '.join(names)}"
        lines = text.split("\n")
        for line in lines[:_LINES]:
            indent = " " * (3 + len(line) - len(line.lstrip()))
            yield indent + truncate(safe(line), _WIDTH)
        if len(lines) > _LINES:
            yield f"   and {plural(len(lines) - _LINES, 'more line')}: see them with --json"


def _clip(facts: "Facts") -> "Facts":
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
