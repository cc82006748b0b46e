"""The commands of `retinue tickets`: their options and their help. What they do is in `tickets`."""

import click

from retinue.cli import options
from retinue.cli.options import choice, implemented_by


@click.group("tickets")
def tickets() -> None:
    """Work with tickets in Markdown: initiatives, epics, stories, tasks and bugs, one file each.

    They lie in `docs/tickets`, or where `.retinue/tickets.toml` says, which also has the words that they use.
    """


@tickets.command("init")
@click.argument("folder", required=False, metavar="[FOLDER]")
@click.option(
    "--vocabulary",
    "with_vocabulary",
    is_flag=True,
    help="Also write `.retinue/tickets.toml`, with all words, to change.",
)
@options.json_option
@options.workspace_option
@implemented_by("tickets:init_tickets")
def tickets_init() -> None:
    """Make a tree of tickets in FOLDER (`docs/tickets` by default): one of each kind, to write over.

    Nothing that exists is overwritten.
    """


@tickets.command("check")
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.option("--notes", is_flag=True, help="Also list notes, which are only counted otherwise.")
@click.option("--fix", "fix", is_flag=True, help="Fix what has one meaning: icons of a status, bars of a progress.")
@click.option("--format", "kind", type=choice("text", "json", "junit", "sarif"), help="Report format. [default: text]")
@options.output_option("Write the report to this file.")
@options.json_option
@options.workspace_option
@implemented_by("tickets:check_tree")
def tickets_check() -> None:
    r"""Check all tickets: ids, parents, circles, what is missing, statuses that disagree, Gherkin that does not parse.

    Each finding names file, line, rule, problem and fix; see `retinue explain RULE`. Exits 6 when there are errors, and
    2 when there are no tickets.

    \b
      retinue tickets check
      retinue tickets check --strict --output tickets.sarif
    """


@tickets.command("next")
@click.argument("ticket", required=False, metavar="[TICKET]")
@options.limit_option(20)
@options.json_option
@options.workspace_option
@implemented_by("tickets:next_tasks")
def tickets_next() -> None:
    """List the tasks that can be started now, and for each other open task why it cannot; with TICKET, only its tasks.

    A task is ready when it is not begun, what it and all above it require is done, and nothing above it is blocked or
    cancelled. Exits 1 when tasks are open and none is ready.
    """


_yes = click.option("--yes", "-y", is_flag=True, help="Make the edits without asking.")


@tickets.command("apply")
@click.argument("file", required=False, metavar="[EDITS.json|-]")
@click.option("--run", "run", metavar="RUN", help="Take the edits that this run proposed; see `retinue runs`.")
@click.option("--diff", "diff_only", is_flag=True, help="Only show what would change.")
@_yes
@options.json_option
@options.workspace_option
@implemented_by("tickets:apply_proposed")
def tickets_apply() -> None:
    r"""Make the edits that an answer proposes: all of them, or none.

    The answer is what `retinue ask … --json` prints, a message of any dialect, or a list of edits. They are shown as
    a diff first. Only tickets are edited, and only if they are as they were when the edit was proposed.

    \b
      retinue ask git_state_analyzer drift_detection --json > drift.json
      retinue tickets apply drift.json
    """


@tickets.command("sync")
@click.argument("ticket", required=False, metavar="[TICKET]")
@click.option("--base", metavar="BRANCH", help="The branch that finished work is merged into. [default: main branch]")
@click.option("--since", metavar="DAY", help="Only commits since then have to name a ticket.")
@click.option("--apply", "apply", is_flag=True, help="Ask, and make the edits.")
@click.option("--strict", is_flag=True, help="Low severity counts too.")
@_yes
@options.json_option
@options.workspace_option
@implemented_by("tickets:sync_tickets")
def tickets_sync() -> None:
    """Find where tickets and git have drifted apart, and propose edits that bring the tickets up to date.

    TICKET is an id, with all that is part of it, a file, folder or branch. Exits 6 when something has drifted that is
    not mended; what only commits could mend, such as messages that name no ticket, is of low severity and counts with
    --strict only.
    """
