"""Who drives the model of an agent that is instructions: our own loop, or that of Claude Code. As the settings say."""

from typing import TYPE_CHECKING

import click

from retinue.cli.setting_keys import RUNNERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from retinue.agents.prompted.loop import Loop, Loops
    from retinue.cli.settings import Settings

__all__ = ["loops_of", "runner_option"]

runner_option = click.option(
    "--runner",
    type=click.Choice(RUNNERS),
    help="How to run agents defined by a prompt: with Retinue's own loop, or with Claude Code.  [default: own]",
)


def loops_of(settings: "Settings", runner: str | None = None) -> "Loops | None":
    """The loop of each agent by its name; None when all are driven by our own.

    Args:
        settings: What is set, `models.runner` for all and `models.runner_of` for some.
        runner: What was said on the command line for all of them, which wins.
    """
    usual: str = settings.get("models.runner", runner)
    some: Mapping[str, str] = {} if runner else settings.get("models.runner_of")
    if "claude" not in {usual, *some.values()}:
        return None
    from retinue.agents.claude import ClaudeCode
    from retinue.agents.prompted.loop import OWN

    claude = ClaudeCode()

    def loop_of(agent: str) -> "Loop":
        return claude if some.get(agent, usual) == "claude" else OWN

    return loop_of
