"""Who makes the plan of a goal: the option that says so, and what is told of it afterwards."""

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from retinue.cli.project import Project
    from retinue.contract.plan import Plan
    from retinue.orchestration.orchestrator import Orchestrator

__all__ = ["planner_option", "reads_goals", "tell_planning", "thinking_as_set", "thinks_along", "with_planner"]

_KEY: Final = "run.planner"

planner_option = click.option(
    "--planner",
    type=click.Choice(["auto", "model", "rules"]),
    help="How to make the plan: with a model if one is configured (auto), always with a model, or by rules.",
)


def with_planner(project: "Project", word: str | None) -> "Project":
    """`project` with the planner that was asked for on the command line; as it is set when none was."""
    from retinue.cli.settings import Setting, Settings

    if word is None:
        return project
    settings = project.settings
    values = {**settings.values, _KEY: Setting(word, "--planner")}
    return replace(project, settings=Settings(values, settings.findings))


def thinking_as_set(project: "Project", orchestrator: "Orchestrator") -> "Orchestrator":
    """`orchestrator`, without a model that thinks along where the rules are to decide alone."""
    return replace(orchestrator, models=None) if project.settings.get(_KEY) == "rules" else orchestrator


def thinks_along(project: "Project") -> str | None:
    """The model that thinks along in a run: the default, or where only tiers are set the medium one (A16)."""
    return "medium" if project.models.configured and not project.models.default else None


def reads_goals(project: "Project") -> str | None:
    """The model that turns goals into plans: the default, or where only tiers are set the small one."""
    return "small" if project.models.configured and not project.models.default else None


def tell_planning(plan: "Plan") -> None:
    """Say on stderr when a model was asked for a plan and the rules made it."""
    from retinue.cli.output import safe, tell
    from retinue.cli.wording import worded
    from retinue.orchestration.planning import planning_of

    planning = planning_of(plan)
    if planning is not None and planning.fell_back:
        tell(safe(worded(planning.reason)))
