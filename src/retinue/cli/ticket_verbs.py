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
