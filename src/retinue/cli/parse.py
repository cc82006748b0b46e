"""`retinue parse`: what a message means."""

from collections.abc import Mapping
from typing import cast

import click

from retinue.cli.exits import Exit
from retinue.cli.message import MessageOptions, RefusedMessage, dialect_option, message_options


@click.command("parse")
@dialect_option("--dialect", "-d")
@message_options
def command(*, options: MessageOptions, as_json: bool) -> int:
    """Read the message in FILE (or on stdin) in any of the five dialects, and show what it means.

    The content goes to stdout, in the contract's own form; the detected dialect and any problems go to stderr. Exits 6
    when the message is invalid.

    \b
      my-agent "count the tests" | retinue parse
      retinue parse answer.json --dialect markdown_json --level strict --json
    """  # noqa: D301 - click reads the backspace: keep these lines as they are
    from retinue.cli.message import read_message, report_reading
    from retinue.cli.message_findings import report_findings
    from retinue.cli.outline import outline
    from retinue.cli.output import echo, echo_json
    from retinue.dialects.messages import to_json

    message = read_message(options)
    if isinstance(message, RefusedMessage):
        return message.report(machine=as_json)
    parsed = message.parsed
    again = {} if parsed.correction is None else {"correction": parsed.correction.to_json()}
    if as_json:
        findings = [finding.to_json() for finding in message.findings]
        echo_json({**message.to_json(), "noun": to_json(parsed.value), **again, "findings": findings})
    else:
        report_reading(message)
        echo(outline(_without_empty_ids(to_json(parsed.value, whole=False))))
        if again:
            echo(outline(again))
        report_findings(message.findings)
    return Exit.OK


def _without_empty_ids(noun: object) -> object:
    """What the message says of itself: an id that it does not have is no fact about it."""
    if not isinstance(noun, Mapping):
        return noun
    facts = cast("Mapping[str, object]", noun)
    return {key: value for key, value in facts.items() if value != "" or key not in {"id", "task_id"}}
