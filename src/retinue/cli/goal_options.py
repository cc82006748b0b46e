"""Options of the verbs that plan a goal: with whom, and what they hand each other."""

import click

from retinue.cli.complete import agent_names

__all__ = ["agents_option", "choose_option", "context_option", "model_option"]

agents_option = click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="NAME",
    shell_complete=agent_names,
    help="Use only this agent; repeatable.",
)

context_option = click.option(
    "--context",
    type=click.Choice(["full", "summary", "metadata", "none"]),
    help="How much of each result is passed on to the next agent.",
)

model_option = click.option(
    "--model", metavar="NAME", help="Default model: provider:model, or a tier (small, medium, large)."
)

choose_option = click.option(
    "--choose",
    "choice",
    type=click.Choice(["A", "B", "C", "auto", "ask"], case_sensitive=False),
    help="Which option to take when there are several; auto takes the recommended one.  [default: ask]",
)
