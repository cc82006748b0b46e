"""`retinue run`: a goal in, an answer with sources out."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from retinue.cli.options import (
    Bounds,
    agents_option,
    bound_options,
    choose_option,
    context_option,
    form_of,
    form_options,
    level_option,
    model_option,
    planner_option,
    runner_option,
    workspace_option,
)

if TYPE_CHECKING:
    from retinue.cli.option_chooser import OptionChooser
    from retinue.cli.project import Project
    from retinue.cli.result_output import FailOn
    from retinue.cli.session import FinishedSession, Invocation, StartedRun, StartRun
    from retinue.contract.finding import Level
    from retinue.contract.plan import Plan
    from retinue.contract.task import Budget, ContextLevel
    from retinue.engine.inprocess import InProcessEngine
    from retinue.orchestration.orchestrator import Orchestrator


@click.command("run")
@click.argument("goal", nargs=-1, metavar="GOAL...")
@click.option(
    "--plan", "source", metavar="FILE", help="Run this plan, written by `retinue plan --output`; - for stdin."
)
@click.option("--explain", is_flag=True, help="Also show why each agent was chosen, and other decisions.")
@agents_option
@context_option
@click.option(
    "--fail-on", type=click.Choice(["failure", "partial"]), help="When to exit with status 1. [default: failure]"
)
@click.option("--no-journal", is_flag=True, help="Do not save this run in the history.")
@model_option
@runner_option
@level_option
@planner_option
@choose_option
@bound_options
@form_options
@workspace_option
def command(
    *,
    goal: tuple[str, ...],
    source: str | None,
    explain: bool,
    agents: tuple[str, ...],
    context: "ContextLevel | None",
    fail_on: "FailOn | None",
    no_journal: bool,
    model: str | None,
    runner: str | None,
    level: "Level | None",
    planner: str | None,
    choice: str | None,
    timeout: float | None,
    max_cost: float | None,
    max_tokens: int | None,
    max_nodes: int | None,
    as_json: bool,
    as_jsonl: bool,
    quiet: bool,
    kind: str | None,
    output: Path | None,
    workspace: Path | None,
) -> int:
    """Answer GOAL with the available agents, and name the source of each statement.

    A goal may ask for several things at once. Use - to read it from stdin. It can be left out with --plan.

    \b
      retinue run "who changed the parser last, and what does it promise?"
      git log -1 --format=%B | retinue run - --json
      retinue run --plan edited.json --explain
    """  # noqa: D301 - click reads the backspace: keep these lines as they are
    from retinue.cli.active import with_active
    from retinue.cli.arguments import words_of
    from retinue.cli.option_chooser import OptionChooser, with_actuals
    from retinue.cli.plans import with_planner
    from retinue.cli.project import budget_of, open_project, report_notes
    from retinue.cli.result_output import show_goal_result
    from retinue.cli.session import Invocation, run_session

    form = form_of(as_json=as_json, as_jsonl=as_jsonl, quiet=quiet, kind=kind, output=output)
    text = words_of(goal) if goal else None
    _check_goal_given(goal, source)
    opened = with_planner(open_project(workspace, model=model, runner=runner, level=level), planner)
    project, module = with_active(opened, quiet=form.quiet or form.machine)
    chosen = agents or project.settings.get("run.agents")
    project = project.with_only(chosen) if chosen else project
    report_notes(project, quiet=form.quiet, as_json=form.machine)
    invocation = Invocation(
        "run",
        str(project.root),
        agents=tuple(chosen),
        module=module,
        model=model or "",
        runner=runner or "",
        level=level or "",
    )
    budget = budget_of(project.settings, Bounds(timeout, max_cost, max_tokens, max_nodes))
    plan = _read_plan(source, text, project, budget, context, quiet=form.machine) if source is not None else None
    context_level: ContextLevel = project.settings.get("run.context", context)
    recorded = project.settings.get("run.journal") and not no_journal
    chooser = OptionChooser(project, project.settings.get("run.choose", choice), silent=form.quiet or form.machine)
    start = _make_start(text or "", plan, invocation, chooser, level=context_level, budget=budget)
    session = with_actuals(run_session(project, form, start, recorded=recorded, timeout_s=budget.timeout_s))
    session = _with_explanation(session) if explain else session
    return show_goal_result(session, form, fail_on=project.settings.get("run.fail_on", fail_on))


def _check_goal_given(goal: tuple[str, ...], source: str | None) -> None:
    """Find out whether a goal, or a plan, is there.

    Raises:
        UsageError: Neither is, or both would have to come from stdin.
    """
    if source is None and not goal:
        raise click.UsageError("Missing argument 'GOAL...'. Give a goal, or a plan with --plan FILE.")
    if source == "-" and goal == ("-",):
        raise click.UsageError("The goal and the plan cannot both be read from stdin.")


def _read_plan(
    source: str, goal: str | None, project: "Project", budget: "Budget", level: "ContextLevel | None", *, quiet: bool
) -> "Plan":
    """The plan in a file, with the goal and the level of context that were said beside it."""
    from retinue.cli.plans import load_plan, with_context_level
    from retinue.orchestration.planning import without_planning
    from retinue.orchestration.reader.planner import check_goal

    read = without_planning(load_plan(source, project, budget, quiet=quiet), only_usage=True)  # it was paid then
    plan = with_context_level(read, level)
    return plan if goal is None else plan.model_copy(update={"goal": check_goal(goal)})


def _with_explanation(session: "FinishedSession") -> "FinishedSession":
    from dataclasses import replace

    from retinue.cli.explanation import with_explanation

    return replace(session, result=with_explanation(session.result, session.plan, session.decisions))


def _make_start(
    goal: str,
    plan: "Plan | None",
    invocation: "Invocation",
    chooser: "OptionChooser",
    *,
    level: "ContextLevel",
    budget: "Budget",
) -> "StartRun":
    from retinue.cli.plans import apply_planner_setting, report_planning, with_context_level
    from retinue.cli.session import StartedRun

    async def start(orchestrator: "Orchestrator", engine: "InProcessEngine") -> "StartedRun":
        del engine
        orchestrator = apply_planner_setting(chooser.project, orchestrator)
        final_plan = plan or with_context_level(await chooser.make_plan(goal, orchestrator, budget), level)
        if not chooser.silent:
            report_planning(final_plan)
        final_plan = invocation.record_in(await chooser.with_option(final_plan))
        return StartedRun(await orchestrator.start(final_plan, budget=budget), final_plan)

    return start
