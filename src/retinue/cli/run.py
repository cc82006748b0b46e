"""`retinue run`: a goal in, an answer with sources out."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from retinue.cli.complete import agent_names
from retinue.cli.options import Bounds, Form, bound_options, form_options, workspace_option

if TYPE_CHECKING:
    from retinue.cli.answer import FailOn
    from retinue.cli.session import Begin, Begun, Settled
    from retinue.contract.budget import Budget
    from retinue.contract.plan import Plan
    from retinue.contract.task import ContextLevel
    from retinue.engine.inprocess import InProcessEngine
    from retinue.orchestration.orchestrator import Orchestrator

__all__ = ["command"]

_LEVELS = ("full", "summary", "metadata", "none")


@click.command("run")
@click.argument("goal", nargs=-1, required=True)
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="NAME",
    shell_complete=agent_names,
    help="Use only this agent; repeatable.",
)
@click.option("--context", type=click.Choice(_LEVELS), help="How much of a result the next agent is handed.")
@click.option("--fail-on", type=click.Choice(["failure", "partial"]), help="What makes it exit 1. [default: failure]")
@click.option("--no-journal", is_flag=True, help="Keep nothing in the history.")
@bound_options
@form_options
@workspace_option
def command(
    *,
    goal: tuple[str, ...],
    agents: tuple[str, ...],
    context: "ContextLevel | None",
    fail_on: "FailOn | None",
    no_journal: bool,
    timeout: float | None,
    max_cost: float | None,
    max_tokens: int | None,
    as_json: bool,
    as_jsonl: bool,
    quiet: bool,
    workspace: Path | None,
) -> int:
    """Answer GOAL with the agents at hand, and say where each statement comes from.

    A goal may ask for several things at once. With - it is read from stdin.

    \b
      retinue run "who changed the parser last, and what does it promise?"
      git log -1 --format=%B | retinue run - --json
    """  # noqa: D301 - click reads the backspace: keep these lines as they are
    from retinue.cli.answer import present
    from retinue.cli.project import budget_of, open_project, tell_notes
    from retinue.cli.session import Settled, conduct
    from retinue.cli.typed import words_of

    form = Form(as_json=as_json, as_jsonl=as_jsonl, quiet=quiet)
    text = words_of(goal)
    project = open_project(workspace)
    chosen = agents or project.settings.get("run.agents")
    project = project.with_only(chosen) if chosen else project
    if not (form.quiet or form.machine):
        tell_notes(project)
    settled = Settled("run", str(project.root), agents=tuple(chosen))
    level: ContextLevel = project.settings.get("run.context", context)
    budget = budget_of(project.settings, Bounds(timeout, max_cost, max_tokens))
    recorded = project.settings.get("run.journal") and not no_journal
    begin = _begin(text, settled, level=level, budget=budget)
    ended = conduct(project, form, begin, recorded=recorded, timeout_s=budget.timeout_s)
    return present(ended, form, fail_on=project.settings.get("run.fail_on", fail_on))


def _begin(goal: str, settled: "Settled", *, level: "ContextLevel", budget: "Budget") -> "Begin":
    from retinue.cli.session import Begun

    async def begin(orchestrator: "Orchestrator", engine: "InProcessEngine") -> "Begun":
        del engine
        plan = settled.noted_in(_handing_on(orchestrator.plan(goal), level))
        return Begun(await orchestrator.start(plan, budget=budget), plan)

    return begin


def _handing_on(plan: "Plan", level: "ContextLevel") -> "Plan":
    """`plan` with `level` on all its edges."""
    nodes = [node.model_copy(update={"context": dict.fromkeys(node.needs, level)}) for node in plan.nodes]
    return plan.model_copy(update={"nodes": tuple(nodes)})
