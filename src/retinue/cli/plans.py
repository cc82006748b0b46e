"""Plans as commands get them: made of a goal, or read from a file that somebody may have edited.

And who makes them, a model or the rules, and what is told of it afterwards.
"""

from dataclasses import replace
from typing import Any, Final, NoReturn

from retinue.cli import watchdog
from retinue.cli.arguments import bytes_in
from retinue.cli.options import Bounds
from retinue.cli.output import echo_err, findings_text, safe
from retinue.cli.project import Project, budget_of
from retinue.cli.settings import Setting, Settings
from retinue.cli.wording import reword
from retinue.contract.finding import Finding
from retinue.contract.plan import Plan
from retinue.contract.task import Budget, ContextLevel
from retinue.engine.inprocess import InProcessEngine
from retinue.errors import BudgetExceeded, InvalidDefinition, ParseError, RetinueError
from retinue.orchestration.orchestrator import Orchestrator
from retinue.orchestration.plan_checker import findings, read_plan
from retinue.orchestration.planning import planning_of


def plan_of(goal: str, project: Project, *, level: ContextLevel | None = None) -> Plan:
    """What would be done for `goal` in a folder, without doing it.

    Raises:
        InvalidInput: The goal is empty, too long, or holds control characters.
        RetinueError: A model is insisted on, and cannot be asked.
    """
    # An engine that is never entered starts nothing.
    engine = InProcessEngine({})
    models = project.models if project.models.configured else None
    orchestrator = Orchestrator(
        project.registry,
        engine,
        project.workspace,
        likeness=project.likeness,
        models=models,
        model=planner_model(project),
        grants=project.grants,
    )
    by = project.settings.get("run.planner")
    if by == "rules" or (by == "auto" and models is None):
        return with_context_level(orchestrator.plan(goal), level)

    budget = budget_of(project.settings, Bounds())
    return with_context_level(watchdog.run(orchestrator.plan_goal(goal, budget=budget, by=by)), level)


def with_context_level(plan: Plan, level: ContextLevel | None) -> Plan:
    """`plan` with `level` on all its edges; as it is when there is none."""
    if level is None:
        return plan
    nodes = [node.model_copy(update={"context": dict.fromkeys(node.needs, level)}) for node in plan.nodes]
    return plan.model_copy(update={"nodes": tuple(nodes)})


def load_plan(source: str, project: Project, budget: Budget, *, quiet: bool) -> Plan:
    """The plan in the file `source` (`-` is stdin), found to be one that the agents of a folder can walk.

    All that is wrong with it is told before anything starts.

    Args:
        source: Where it is.
        project: Who is there.
        budget: How many delegations the run may have.
        quiet: Only errors are told, and as one line.

    Raises:
        MissingFile: There is no such file.
        AccessDenied: It cannot be read.
        InvalidDefinition: It is no plan, or not for these agents.
        BudgetExceeded: It has more delegations than the run may have.
    """
    try:
        plan = read_plan(bytes_in(source, hint="Write one with `retinue plan … --output FILE`."))
    except RetinueError as error:
        if not isinstance(error, InvalidDefinition | ParseError):
            raise
        # Text that cannot be read is no plan either, and ends the same way.
        _refuse(_findings_in(error), source, quiet=quiet)
    if not plan.nodes and not plan.dropped:
        _refuse([_empty_plan()], source, quiet=quiet)
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
    return plan


def _empty_plan() -> Finding:
    fix = "Add one with an `id`, an `agent` and an `instruction`."
    return Finding(rule="plan/empty", message="The plan has no delegations.", path="/nodes", fix=fix)


def _findings_in(error: RetinueError) -> list[Finding]:
    entries: list[dict[str, Any]] = error.detail.get("findings") or []
    line, column = error.detail.get("line"), error.detail.get("column")
    alone = Finding(rule="plan/json", message=error.message, path=error.path, fix=error.hint, line=line, column=column)
    return [Finding(**each) for each in entries] or [alone]


def _refuse(findings: list[Finding], source: str, *, quiet: bool) -> NoReturn:
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


def _report_findings(findings: list[Finding], source: str) -> None:
    file = "stdin" if source == "-" else source
    echo_err(findings_text(finding.model_copy(update={"file": file}) for finding in findings))


_PLANNER_KEY: Final = "run.planner"


def with_planner(project: Project, word: str | None) -> Project:
    """`project` with the planner that was asked for on the command line; as it is set when none was."""
    if word is None:
        return project
    settings = project.settings
    values = {**settings.values, _PLANNER_KEY: Setting(word, "--planner")}
    return replace(project, settings=Settings(values, settings.findings))


def apply_planner_setting(project: Project, orchestrator: Orchestrator) -> Orchestrator:
    """`orchestrator`, without a model that thinks along where the rules are to decide alone."""
    return replace(orchestrator, models=None) if project.settings.get(_PLANNER_KEY) == "rules" else orchestrator


def run_model(project: Project) -> str | None:
    """The model that thinks along in a run: the default, or where only tiers are set the medium one (A16)."""
    return "medium" if project.models.configured and not project.models.default else None


def planner_model(project: Project) -> str | None:
    """The model that turns goals into plans: the default, or where only tiers are set the small one."""
    return "small" if project.models.configured and not project.models.default else None


def report_planning(plan: Plan) -> None:
    """Say on stderr when a model was asked for a plan and the rules made it."""
    planning = planning_of(plan)
    if planning is not None and planning.fell_back:
        echo_err(safe(reword(planning.reason)))
