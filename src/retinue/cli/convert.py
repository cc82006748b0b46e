"""`retinue convert`: a message of one dialect, said in another, and what that loses."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from retinue.cli.exits import Exit
from retinue.cli.message import Message, MessageOptions, RefusedMessage, dialect_names, dialect_option, message_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retinue.contract.finding import Loss
    from retinue.dialects.port import Dialect, Kind, RenderedMessage
    from retinue.errors import InvalidInput


@click.command("convert")
@dialect_option("--from")
@click.option("--to", "target", required=True, metavar="NAME", shell_complete=dialect_names, help="Dialect to write.")
@click.option("--form", metavar="NAME", help="Which form of that dialect to write. [default: the usual one]")
@click.option("--strict", is_flag=True, help="Fail without writing anything if something would be lost.")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the message to this file instead of stdout.",
)
@message_options
def command(
    *, options: MessageOptions, target: str, form: str | None, strict: bool, output: Path | None, as_json: bool
) -> int:
    """Convert the message in FILE (or on stdin) to another dialect.

    The message goes to stdout. The detected dialect, any problems, and every field that the other dialect cannot
    express go to stderr. Exits 6 when the message is invalid, and with --strict also when anything is lost.

    \b
      retinue convert answer.json --to task_signal
      retinue convert --from markdown_json --to tool_use --strict --json < request.md
    """  # noqa: D301 - click reads the backspace: keep these lines as they are
    from retinue.cli.app import report_error
    from retinue.cli.delivery import check_output
    from retinue.cli.message import dialect_of, read_message
    from retinue.dialects.messages import render
    from retinue.errors import InvalidInput

    writer = dialect_of(target)
    if output is not None:
        check_output(output)
    message = read_message(replace(options, option="--from"))
    if isinstance(message, RefusedMessage):
        return message.report(machine=as_json)
    _check_form(writer, message.kind, form)
    try:
        rendered = render(writer, message.kind, message.parsed.value, form=form, correction=message.parsed.correction)
    except InvalidInput as error:
        return report_error(error, Exit.INVALID, machine=as_json)
    if strict and rendered.losses:
        if not as_json:
            report_losses(rendered.losses)
        return report_error(_loss_error(rendered, writer), Exit.INVALID, machine=as_json)
    _deliver(message, rendered, writer, output, as_json=as_json)
    return Exit.OK


def _check_form(writer: "Dialect", kind: "Kind", form: str | None) -> None:
    """See that what was asked for on the command line is there.

    Raises:
        InvalidInput: The dialect has no such messages, or no such form of them.
    """
    from retinue.contract.names import nearest
    from retinue.dialects.messages import forms, writable_kinds
    from retinue.errors import InvalidInput

    kinds = writable_kinds(writer)
    if kind not in kinds:
        hint = f"It writes: {', '.join(kinds)}."
        raise InvalidInput(f"`{writer.NAME}` writes no {kind} messages.", hint=hint, suggestions=kinds)
    available = forms(writer, kind)
    if form is not None and form not in available:
        near = nearest(form, available)
        hint = (
            f"{f'Did you mean `{near[0]}`? ' if near else ''}It writes a "
            f"{kind} as: {', '.join(available) or 'one form'}."
        )
        raise InvalidInput(
            f"`{writer.NAME}` has no form {form[:100]!r}.", hint=hint, path="--form", suggestions=available
        )


def _loss_error(rendered: "RenderedMessage", writer: "Dialect") -> "InvalidInput":
    """That something would be lost, as an error."""
    from retinue.cli.output import plural
    from retinue.errors import InvalidInput

    return InvalidInput(
        f"`{writer.NAME}` cannot express {plural(len(rendered.losses), 'field')} of it, so nothing was written.",
        hint="Leave out `--strict` to convert without them, or choose another dialect or form.",
        path=rendered.losses[0].field,
        detail={"losses": [loss.to_json() for loss in rendered.losses]},
    )


def _deliver(
    message: Message, rendered: "RenderedMessage", writer: "Dialect", output: Path | None, *, as_json: bool
) -> None:
    """The message where it was asked for, and what there is to say about it."""
    from retinue.cli.delivery import deliver
    from retinue.cli.message import report_reading
    from retinue.cli.message_findings import report_findings
    from retinue.cli.output import echo_json, safe_lines

    text = rendered.text if rendered.text.endswith("\n") else f"{rendered.text}\n"
    if as_json:
        if output is not None:
            deliver(text, output)
        echo_json({
            "from": message.to_json(),
            "to": {"dialect": writer.NAME, "form": rendered.form},
            "text": rendered.text,
            "losses": [loss.to_json() for loss in rendered.losses],
            "findings": [finding.to_json() for finding in message.findings],
        })  # fmt: skip
        return
    report_reading(message)
    report_findings(message.findings)
    # A program gets the message to the letter; at a terminal nothing of it may move the cursor.
    deliver(safe_lines(text) if output is None and sys.stdout.isatty() else text, output)
    report_losses(rendered.losses)


def report_losses(losses: "Sequence[Loss]") -> None:
    """Every field that is not said, a line each reason."""
    from retinue.cli.output import echo_err, safe

    by_reason: dict[str, list[str]] = {}
    for loss in losses:
        by_reason.setdefault(loss.why, []).append(safe(loss.field))
    for why, fields in by_reason.items():
        echo_err(f"{click.style('lost', fg='yellow', bold=True)}: {', '.join(fields)} ({safe(why)})")
    if not losses:
        echo_err(f"{click.style('whole', fg='green', bold=True)}: nothing lost")
