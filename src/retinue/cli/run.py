"""`retinue run`: a goal in, an answer with sources out."""

from dataclasses import replace

import click

from retinue.cli.delivery import Form, words_of
from retinue.cli.option_chooser import OptionChooser, with_actuals
from retinue.cli.plan import load_plan, report_planning, with_context_level
from retinue.cli.project import Bounds, Project, budget_of
from retinue.cli.result_output import FailOn, show_detached, show_goal_result, with_explanation
from retinue.cli.session import Invocation, StartedRun, open_for_goal, run_session, start_detached
from retinue.contract.plan import Plan
from retinue.contract.task import ContextLevel
from retinue.orchestration.orchestrator import Orchestrator
from retinue.orchestration.planning import without_planning
from retinue.orchestration.reader.planner import check_goal


def run_goal(
    *,
    goal: tuple[str, ...],
    source: str | None,
    explain: bool,
    agents: tuple[str, ...],
    context: ContextLevel | None,
    fail_on: FailOn | None,
    no_journal: bool,
    detach: bool,
    run: str | None,
    choice: str | None,
    bounds: Bounds,
    form: Form,
    project: Project,
) -> int:
    """Answer GOAL with the available agents, and name the source of each statement."""
    if source is None and not goal:
        raise click.UsageError("Missing argument 'GOAL...'. Give a goal, or a plan with --plan FILE.")
    if run is not None and not detach:
        raise click.UsageError("--run names a run that is started with --detach.")
    if detach and no_journal:
        raise click.UsageError("A detached run is in the history: --no-journal does not go with --detach.")
    if source == "-" and goal == ("-",):
        raise click.UsageError("The goal and the plan cannot both be read from stdin.")
    text = words_of(goal) if goal else ""
    project, names, module = open_for_goal(project, agents, quiet=form.quiet, as_json=form.machine)
    budget = budget_of(project.settings, bounds)
    plan: Plan | None = None
    if source is not None:
        # What planning cost was paid when the plan was made.
        plan, project = load_plan(source, project, budget, quiet=form.machine)
        plan = with_context_level(without_planning(plan, only_usage=True), context, remote=project.remote_agents)
        plan = plan.model_copy(update={"goal": check_goal(text)}) if goal else plan
    invocation = Invocation.of("run", project, agents=tuple(names), module=module)
    level: ContextLevel = project.settings.get("run.context", context)
    chooser = OptionChooser(project, project.settings.get("run.choose", choice), silent=form.quiet or form.machine)

    async def start(orchestrator: Orchestrator) -> StartedRun:
        if project.settings.get("run.planner") == "rules":  # then no model judges in the run either
            orchestrator = replace(orchestrator, models=None)
        final_plan = plan
        if final_plan is None:
            new_plan = await chooser.make_plan(text, orchestrator, budget)
            final_plan = with_context_level(new_plan, level, remote=project.remote_agents)
        if not chooser.silent:
            report_planning(final_plan)
        final_plan = invocation.record_in(await chooser.with_option(final_plan))
        return StartedRun(await orchestrator.start(final_plan, budget=budget, run=run), final_plan)

    if detach:
        return show_detached(start_detached(project, start), form)
    recorded = project.settings.get("run.journal") and not no_journal
    session = with_actuals(run_session(project, form, start, recorded=recorded, timeout_s=budget.timeout_s))
    if explain:
        session = replace(session, result=with_explanation(session.result, session.plan, session.decisions))
    return show_goal_result(session, form, fail_on=project.settings.get("run.fail_on", fail_on))
