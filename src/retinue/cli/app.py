"""The command line itself: which verbs there are, and what happens to an error that a verb lets out.

Declarations of verbs (`verbs`) are imported when one is used, its code when it runs. What `--help` shows stands here.
"""

import contextlib
import difflib
import errno
import importlib
import io
import os
import sys
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, Literal, assert_never, cast

import click

import retinue
from retinue.errors import InternalError, InvalidDefinition, RetinueError

if TYPE_CHECKING:
    from retinue.contract.result import Result
    from retinue.errors import FaultCode

VERBS: Final = {
    "run": "Answer a goal with the available agents, with sources.",
    "plan": "Show the plan for a goal without running it.",
    "ask": "Send one request to one agent.",
    "parse": "Read a message in any dialect and show what it means.",
    "convert": "Convert a message and list what is lost.",
    "agents": "List the available agents, or show one.",
    "convert-definition": "Convert agent definitions to another format.",
    "lint": "Check agent definitions and their callers against the contract.",
    "init": "Write agents and commands for Claude Code into a project.",
    "explain": "Explain a rule of lint or tickets check, with an example.",
    "check": "Test an agent against the requirements of its dialect.",
    "tickets": "Make and check a tree of tickets, and find the next task.",
    "assistant": "Show the personal assistant's tools and test its routing.",
    "bench": "Compare agents or models on the same tasks.",
    "serve": "Serve the agents of a folder over HTTP.",
    "keys": "Make, list and revoke the keys of those who call a server.",
    "trust": "Allow the code of a folder's agents to run.",
    "worker": "Run what `run --detach` has left in the queue.",
    "runs": "List, show, rate and resume past runs.",
    "stats": "Show success rates, costs and times of past runs.",
    "models": "List models, their prices, and whether they are configured.",
    "memory": "List, search and delete what agents remember.",
    "config": "Show the settings and where each comes from.",
    "doctor": "Check this installation for problems.",
    "completion": "Print the completion script for your shell.",
}
"""Each verb is declared in `verbs` as a click command of its name, `-` as `_`."""


class _VerbGroup(click.Group):
    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # click would call that a failure
            _silence_streams()
            return Exit.OK
        except KeyboardInterrupt:  # click would print an empty line, also where only JSON belongs
            raise click.Abort from None

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if cmd_name not in VERBS:
            return None
        command = getattr(importlib.import_module("retinue.cli.verbs"), cmd_name.replace("-", "_"))
        return _with_examples(cast("click.Command", command))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], VERBS, n=1)
            suggestion = f" Did you mean `{near[0]}`?" if near else ' To run a goal, use `retinue run "…"`.'
            raise click.UsageError(f"No such command {args[0]!r}.{suggestion}", ctx)
        return super().resolve_command(ctx, args)


def _with_examples(command: click.Command) -> click.Command:
    """`command`, whose help keeps the lines of its examples: click marks them by a backspace, which no raw text has."""
    command.help = (command.help or "").replace("\\b\n", "\b\n")
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        _with_examples(inner)
    return command


@click.group(cls=_VerbGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(retinue.__version__, "--version", "-V", prog_name="retinue", message="%(prog)s %(version)s")
def cli() -> None:
    """Agent contracts, made executable.

    Try it in any git repository: retinue run "who changed the parser last, and what does it promise?"
    """


def run(arguments: Sequence[str]) -> int:
    """Run one command and give its exit code; nothing a verb raises gets past here."""
    # See that there is something to read from and to write to, whatever the shell closed.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = cast("object", getattr(sys, name))
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - for as long as we run
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # one that has not every character still gets the rest
    machine = any(word in {"--json", "--jsonl"} for word in arguments)
    try:
        code = cli.main(list(arguments), prog_name="retinue", standalone_mode=False, color=colour())
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        facts = {"code": "canceled", "message": "Interrupted.", "hint": "Run the command again."}
        code = _report(facts, Exit.INTERRUPTED, machine=machine)
    except BrokenPipeError:
        _silence_streams()
        code = Exit.OK
    except OSError as error:
        if error.errno != errno.ENOSPC:
            code = _explain(error, machine=machine)
        else:
            _silence_streams()
            facts = {"code": "unavailable", "message": f"Cannot write the answer: {error.strerror}."}
            code = _report(
                {**facts, "hint": "Free some disk space, or write it elsewhere."}, Exit.FAILED, machine=machine
            )
    except Exception as error:  # noqa: BLE001 - whatever it is, a person gets a sentence and not a traceback
        code = _explain(error, machine=machine)
    return code if isinstance(code, int) else Exit.OK


class Exit(IntEnum):
    """The exit codes, for scripts to rely on."""

    OK = 0
    FAILED = 1
    USAGE = 2
    UNAUTHENTICATED = 3
    UNREACHABLE = 4
    AGENT_ERROR = 5
    INVALID = 6
    LIMIT = 7
    NONCONFORMING = 8
    QUESTION = 9
    INTERRUPTED = 130


def for_code(code: "FaultCode") -> Exit:
    """The exit code for an error that ended the command itself."""
    match code:
        case "invalid_input" | "missing_file" | "parse_error" | "access_denied":
            return Exit.USAGE
        case "unauthenticated":
            return Exit.UNAUTHENTICATED
        case "network_error" | "unavailable":
            return Exit.UNREACHABLE
        case "timeout" | "budget_exceeded":
            return Exit.LIMIT
        case "canceled":
            return Exit.INTERRUPTED
        case "output_invalid" | "internal_error":
            return Exit.FAILED
    assert_never(code)


def for_result(result: "Result", *, fail_on: Literal["failure", "partial"] = "failure") -> Exit:
    """The exit code for what a run came to. A run with one useful branch is a success, its warnings beside it.

    A limit that was hit shows even when part of the answer is there; so does a question that nobody answered.
    """
    early = _early_exit(result)
    if early is not None:
        return early
    if result.outcome == "success" or (result.outcome == "partial" and fail_on != "partial"):
        return Exit.OK
    return Exit.FAILED


def for_agent_result(result: "Result") -> Exit:
    """The exit code for what one agent that was asked came to.

    What never reached it, because the request did not fit its skill, is the caller's mistake and not its error.
    """
    early = _early_exit(result)
    if early is not None:
        return early
    if result.useful:
        return Exit.OK
    code = result.fault.code if result.fault else None
    if code == "invalid_input" and not result.attempts:
        return Exit.USAGE
    if code in {"unauthenticated", "network_error", "unavailable"}:
        return for_code(code)
    return Exit.AGENT_ERROR


def _early_exit(result: "Result") -> Exit | None:
    """Why it ended before its time, if it did."""
    if result.outcome == "canceled":
        return Exit.INTERRUPTED
    # Its own fault, and those of its branches that brought nothing.
    data: object = result.data
    failures: object = cast("dict[str, Any]", data).get("failures") if isinstance(data, dict) else None
    entries = cast("list[object]", failures) if isinstance(failures, list) else []
    codes = {str(cast("dict[str, Any]", each).get("code")) for each in entries if isinstance(each, dict)}
    if codes.union({result.fault.code} if result.fault else ()).intersection({"timeout", "budget_exceeded"}):
        return Exit.LIMIT
    return Exit.QUESTION if result.lifecycle == "input_required" or result.questions else None


def _explain(error: Exception, *, machine: bool) -> Exit:
    """Say what went wrong, and give the exit code for it."""
    match error:
        case click.exceptions.NoArgsIsHelpError():
            click.echo(error.format_message(), err=True)
            return Exit.USAGE
        case click.ClickException():
            context = error.ctx if isinstance(error, click.UsageError) else None
            hint = f"See `{context.command_path if context else 'retinue'} --help`."
            facts = {"code": "invalid_input", "message": error.format_message(), "hint": hint}
            return _report(facts, Exit.USAGE, machine=machine)
        case RetinueError():
            code = Exit.INVALID if isinstance(error, InvalidDefinition) else for_code(error.code)
            return report_error(error, Exit.QUESTION if "question" in error.detail else code, machine=machine)
        case OSError() if error.filename is not None:
            ours = InternalError(f"{error.strerror}: {str(error.filename)!r}.", hint="See `retinue doctor`.")
            return report_error(ours, Exit.FAILED, machine=machine)
        case _:
            if os.environ.get("RETINUE_DEBUG"):
                raise error
            hint = "Please report it. Set RETINUE_DEBUG=1 to see a traceback."
            ours = InternalError(f"This is a bug in Retinue: `{type(error).__name__}`: {error}", hint=hint)
            return report_error(ours, Exit.FAILED, machine=machine)


def report_error(error: RetinueError, code: Exit, *, machine: bool) -> Exit:
    """Say what went wrong, for a verb that knows better than its fault code how that ends. Gives `code` back."""
    facts: dict[str, object] = {"code": error.code, "message": error.message}
    facts |= {"hint": error.hint or "See `retinue --help`.", "path": error.path}
    facts |= {"suggestions": list(error.suggestions), "detail": error.detail}
    return _report({name: value for name, value in facts.items() if value}, code, machine=machine)


def _silence_streams() -> None:
    """Nothing takes our output any more. Python would complain once more when it closes the stream."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _report(facts: Mapping[str, object], code: Exit, *, machine: bool) -> Exit:
    """Say what went wrong and what to do next: to a person, or to a program as one line of JSON."""
    try:
        if machine:
            import json

            click.echo(json.dumps({"error": facts}, default=str), err=True)
            return code
        from retinue.contract.sanitize import printable

        for title, style, text in (("error", "red", facts["message"]), (" next", None, facts["hint"])):
            if text:
                head = click.style(title, fg=style, bold=True)
                click.echo(f"{head}: {printable(str(text))}", err=True, color=colour())
    except OSError:  # nobody can be told; the exit code still says it
        _silence_streams()
    return code


def colour() -> bool | None:
    """What click is told: no colour when the person says so (`NO_COLOR`, a dumb terminal), else whatever fits."""
    return False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None
