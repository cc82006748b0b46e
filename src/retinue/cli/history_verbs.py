"""The commands of `retinue runs` and `retinue store`: their options and their help. What they do is in `runs`."""

from typing import Final, get_args

import click

from retinue.cli import options
from retinue.cli.options import choice, implemented_by, lazy
from retinue.errors import FaultCode

_FAULT_TYPES: Final = (*get_args(FaultCode), "transient", "permanent", "fatal")


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
@click.option("--events", "with_events", is_flag=True, help="Also show each event.")
@click.option(
    "--faults",
    "with_faults",
    is_flag=True,
    help="Also show what failed, what was tried, what it cost, and what to do next.",
)
@click.option("--explain", is_flag=True, help="Also show why each agent was chosen, and other decisions.")
@options.document_options
@implemented_by("runs:show_run")
def runs_show() -> None:
    """Show RUN, its steps and its result; the newest by default."""


@runs.command("steps")
@click.argument("run", required=False, shell_complete=lazy("completion:run_ids"))
@options.json_option
@implemented_by("runs:list_steps")
def runs_steps() -> None:
    """List the steps of RUN (the newest by default), and what `runs resume` would keep."""


@runs.command("follow")
@click.argument("run", required=False, shell_complete=lazy("completion:run_ids"))
@options.form_options
@implemented_by("runs:follow_run")
def runs_follow() -> None:
    """Watch RUN (the newest by default) until it ends, also when another process runs it.

    Shows what `retinue run` shows: progress, then the answer. Ctrl-C stops watching; the run goes on.
    """


@runs.command("export")
@click.argument("run", required=False, shell_complete=lazy("completion:run_ids"))
@click.option(
    "--format",
    "kind",
    type=choice("json", "jsonl", "html", "bundle"),
    help="The whole history as JSON, an event a line, a page, or a file for `runs import`.  [default: json]",
)
@options.output_option("Write to this file; its extension sets the format unless --format is given.")
@implemented_by("run_files:export_run")
def runs_export() -> None:
    r"""Write the whole history of RUN (the newest by default).

    \b
      retinue runs export 01m8c -o run.html
      retinue runs export 01m8c -o run.bundle
    """


@runs.command("import")
@click.argument("file")
@click.option("--as", "name", metavar="NEW", help="Give the run this id.")
@options.json_option
@implemented_by("run_files:import_run")
def runs_import() -> None:
    """Add the run in FILE, written by `runs export --format bundle`, to the history. Use - for stdin.

    A file from somebody else is only read: it names no folder, program or model that a resumed run would use.
    """


@runs.command("faults")
@click.option("--command", type=choice("run", "ask", "serve"), help="Only faults in runs that this command started.")
@click.option(
    "--type",
    "kind",
    type=choice(*_FAULT_TYPES),
    metavar="TYPE",
    help="Only faults with this code, or that are transient, permanent or fatal.",
)
@options.since_option
@click.option("--workflow", metavar="RUN", shell_complete=lazy("completion:run_ids"), help="Only faults of this run.")
@options.limit_option(50)
@options.json_option
@click.option("--jsonl", "as_jsonl", is_flag=True, help="Print one JSON document a line.")
@implemented_by("runs:list_faults")
def runs_faults() -> None:
    """List what failed in past runs, the newest first, and whether it was mended.

    ERROR: nothing mended it yet. FIX_PLANNED: another attempt, agent, run or a person is to mend it. RESOLVED: done.
    """


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


@click.group("store")
def store() -> None:
    """Check the store of the history, or bring it to the present format."""


@store.command("check")
@options.json_option
@implemented_by("runs:check_store")
def store_check() -> None:
    """Read everything in the store, and name what is damaged: the database, each run that cannot be read, and holes.

    Exits 6 when something is damaged.
    """


@store.command("migrate")
@implemented_by("runs:migrate_store")
def store_migrate() -> None:
    """Bring the store to the present format, and say from which.

    The first command that opens an older store does so too; for a large one this takes a while.
    """
