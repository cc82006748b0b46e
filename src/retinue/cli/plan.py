"""`retinue plan`: what would be done for a goal, without doing it."""

from pathlib import Path

import click

from retinue.cli.exits import Exit
from retinue.cli.goal_options import agents_option, context_option, model_option
from retinue.cli.options import json_option, workspace_option
from retinue.cli.planned import planner_option

__all__ = ["command"]


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

    Write the plan to a file, edit it, and run it. Use - to read the goal from stdin. Exits 1 when no agent fits any
    part of the goal.

    \b
      retinue plan "who changed the parser last, and what does it promise?"
      retinue plan "count the commits of this year" --output plan.json && retinue run --plan plan.json
    """  # noqa: D301 - click reads the backspace: keep these lines as they are
    from retinue.cli.active import with_active
    from retinue.cli.delivery import check_output, deliver
    from retinue.cli.output import echo, echo_json, json_text, safe, tell
    from retinue.cli.plan_tree import plan_text
    from retinue.cli.planned import tell_planning, with_planner
    from retinue.cli.plans import plan_of
    from retinue.cli.project import open_project, tell_notes
    from retinue.cli.typed import words_of

    text = words_of(goal)
    if output is not None:
        check_output(output)
    project, _ = with_active(with_planner(open_project(workspace, model=model), planner), quiet=as_json)
    chosen = agents or project.settings.get("run.agents")
    project = project.with_only(chosen) if chosen else project
    tell_notes(project, as_json=as_json)
    plan = plan_of(text, project, level=project.settings.get("run.context", context))
    if not as_json:
        tell_planning(plan)
    if output is not None:
        deliver(f"{json_text(plan.to_json())}\n", output)
    if as_json:
        echo_json(plan.to_json())
    else:
        echo(plan_text(plan))
    if output is not None and not as_json:
        tell(f"written to {safe(output)}. Edit it, and run it with `retinue run --plan {safe(output)}`")
    return Exit.OK if plan.nodes else Exit.FAILED
