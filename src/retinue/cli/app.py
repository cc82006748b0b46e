"""The command line itself: which verbs there are, and what happens to an error that a verb lets out.

A verb's module is imported when the verb is used; the words shown by `--help` stand here so that help stays quick.
"""

import difflib
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Final, cast

import click

import retinue
from retinue.cli.exits import Exit, for_code
from retinue.errors import InvalidDefinition, RetinueError

__all__ = ["VERBS", "cli", "run"]

VERBS: Final = {
    "run": "Answer a goal with the agents at hand, sources included.",
    "ask": "Put one request to one agent.",
    "agents": "List the agents at hand, or show one.",
    "lint": "Check agent definitions against the contract.",
    "trust": "Allow a folder's own Python agents to be loaded.",
    "runs": "List, show and resume past runs.",
    "config": "Show the settings in force and where each comes from.",
    "doctor": "Check this installation and say what is missing.",
    "completion": "Print the completion script for your shell.",
}
"""Each verb is the module of its name in this folder, which defines a click command `command`."""


class _Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if cmd_name not in VERBS:
            return None
        return cast("click.Command", importlib.import_module(f"retinue.cli.{cmd_name}").command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], VERBS, n=1)
            meant = f" Did you mean `{near[0]}`?" if near else ' To ask a goal, use `retinue run "…"`.'
            raise click.UsageError(f"There is no command {args[0]!r}.{meant}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(retinue.__version__, "--version", "-V", prog_name="retinue", message="%(prog)s %(version)s")
def cli() -> None:
    """Agent contracts, made executable.

    Ask a goal in any git repository: retinue run "who changed the parser last, and what does it promise?"
    """


def run(arguments: Sequence[str]) -> int:
    """Run one command and give its exit code; nothing a verb raises gets past here."""
    machine = any(word in {"--json", "--jsonl"} for word in arguments)
    try:
        code = cli.main(list(arguments), prog_name="retinue", standalone_mode=False)
        sys.stdout.flush()
    except click.Abort:
        return Exit.INTERRUPTED
    except click.ClickException as error:
        return _tell(error.format_message(), hint=_usage_hint(error), code="invalid_input", machine=machine)
    except RetinueError as error:
        exit_code = Exit.INVALID if isinstance(error, InvalidDefinition) else for_code(error.code)
        return _tell_error(error, exit_code=exit_code, machine=machine)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone. Python would complain once more when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    return code if isinstance(code, int) else Exit.OK


def _usage_hint(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"See `{context.command_path if context else 'retinue'} --help`."


def _tell(message: str, *, hint: str, code: str, machine: bool) -> Exit:
    _write({"code": code, "message": message, "hint": hint}, machine=machine)
    return Exit.USAGE


def _tell_error(error: RetinueError, *, exit_code: Exit, machine: bool) -> Exit:
    facts: dict[str, object] = {"code": error.code, "message": error.message, "hint": error.hint}
    if error.path:
        facts["path"] = error.path
    if error.suggestions:
        facts["suggestions"] = list(error.suggestions)
    if error.detail:
        facts["detail"] = error.detail
    _write(facts, machine=machine)
    return exit_code


def _write(facts: dict[str, object], *, machine: bool) -> None:
    if machine:
        import json

        click.echo(json.dumps({"error": facts}, ensure_ascii=False), err=True)
        return
    from retinue.contract.sanitize import printable

    click.echo(f"{click.style('error', fg='red', bold=True)}: {printable(str(facts['message']))}", err=True)
    if facts["hint"]:
        click.echo(f"{click.style('next', bold=True)}: {printable(str(facts['hint']))}", err=True)
