"""The commands of `retinue runs`: their options and their help. What they do is in `runs`."""

import click

from retinue.cli import options
from retinue.cli.options import choice, implemented_by, lazy


@click.group("runs", invoke_without_command=True)
@click.pass_context
def runs(context: click.Context) -> None:
    """List, show, rate and resume past runs. Lists them by default.

    RUN is an id, or the start or end of one.
    """
    if context.invoked_subcommand is None:
        context.invoke(runs_list)


@runs.command("list")
@options.limit_option(20)
@options.json_option
@implemented_by("runs:list_runs")
def runs_list() -> None:
    """List runs, the newest first."""


@runs.command("show")
@click.argument("run", required=False, shell_complete=lazy("completion:run_ids"))
@click.option("--events", "with_events", is_flag=True, help="Also show each step.")
@click.option("--explain", is_flag=True, help="Also show why each agent was chosen, and other decisions.")
@options.document_options
@implemented_by("runs:show_run")
def runs_show() -> None:
    """Show RUN and its result; the newest by default."""


@runs.command("resume")
@click.argument("run", required=False, shell_complete=lazy("completion:run_ids"))
@click.option("--accept-changes", is_flag=True, help="Continue even if agents have changed since the run began.")
@options.form_options
@options.workspace_option
@implemented_by("runs:resume_run")
def runs_resume() -> None:
    """Continue RUN (the newest by default) without repeating finished steps.

    It runs in the folder it was started in, unless --workspace is given. If an agent has changed since, you are asked
    first.
    """


@runs.command("fork")
@click.argument("run", shell_complete=lazy("completion:run_ids"))
@click.option("--without", multiple=True, metavar="STEP", help="Run this step again, and all that need it.")
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="STEP.PARAMETER=VALUE",
    help="Run a step again with another parameter, and all that need it.",
)
@options.form_options
@options.workspace_option
@implemented_by("runs:fork_run")
def runs_fork() -> None:
    r"""Start a copy of RUN that keeps its finished steps, except those named; RUN itself stays as it is.

    `retinue runs show RUN --events` names the steps.

    \b
      retinue runs fork 01m8c --without n2
      retinue runs fork 01m8c --set n1.limit=20
    """


@runs.command("answer")
@click.argument("run", shell_complete=lazy("completion:run_ids"))
@click.argument("words", nargs=-1, metavar="[ANSWER]")
@click.option("--question", metavar="ID", help="Which of several questions is answered.")
@implemented_by("runs:answer_run")
def runs_answer() -> None:
    r"""Answer a question that RUN waits with, whatever process works on it.

    Without ANSWER you are asked. A run that nobody works on is continued by `retinue worker`, or with
    `retinue runs resume`.

    \b
      retinue runs answer 01m8c yes
    """


@runs.command("cancel")
@click.argument("run", shell_complete=lazy("completion:run_ids"))
@click.option("--reason", default="", metavar="TEXT", help="Reason, for the history.")
@implemented_by("runs:cancel_run")
def runs_cancel() -> None:
    """Stop RUN, whatever process works on it; what it has finished is kept."""


@runs.command("rate")
@click.argument("run", shell_complete=lazy("completion:run_ids"))
@click.argument("verdict", type=choice("good", "bad"))
@click.option("--comment", default="", metavar="TEXT", help="Reason for the rating.")
@implemented_by("runs:rate_run")
def runs_rate() -> None:
    """Rate the answer of RUN as good or bad; a new rating replaces the old one.

    `retinue stats` counts ratings for every agent that took part.
    """


@runs.command("prune")
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="Keep the newest N runs.")
@click.option(
    "--older-than", "days", type=click.FloatRange(min=0), metavar="DAYS", help="Delete only runs older than this."
)
@implemented_by("runs:prune_runs")
def runs_prune() -> None:
    """Delete runs from the history, except those still running."""
