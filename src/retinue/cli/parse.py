"""`retinue parse`: what a message means."""

from typing import TYPE_CHECKING

import click

from retinue.cli.exits import Exit
from retinue.cli.message import DIALECT_WORDS, Asked, Refused, dialect_names, message_options

if TYPE_CHECKING:
    from retinue.contract.finding import Level
    from retinue.dialects.port import Kind

__all__ = ["command"]


@click.command("parse")
@click.option(
    "--dialect",
    "-d",
    metavar="NAME",
    shell_complete=dialect_names,
    help=f"What it speaks: {DIALECT_WORDS}. [default: what it looks like]",
)
@message_options
def command(
    *,
    file: str,
    dialect: str | None,
    kind: "Kind | None",
    level: "Level",
    agent: str | None,
    skill: str | None,
    task_id: str,
    as_json: bool,
) -> int:
    """Say what the message in FILE (or on stdin) means, whichever of the five dialects it speaks.

    What it says goes to stdout in the words of the contract; what it was taken for and what is wrong with it, to
    stderr. Exits 6 when it is refused.

    \b
      my-agent "count the tests" | retinue parse
      retinue parse answer.json --dialect markdown_json --level strict --json
    """  # noqa: D301 - click reads the backspace: keep these lines as they are
    from retinue.cli.message import read_message, tell_reading
    from retinue.cli.outline import outline
    from retinue.cli.output import echo, echo_json
    from retinue.cli.placed import tell_findings
    from retinue.dialects.messages import to_json

    message = read_message(Asked(file, level, dialect, kind, agent, skill, task_id))
    if isinstance(message, Refused):
        return message.tell(machine=as_json)
    parsed = message.parsed
    again = {} if parsed.correction is None else {"correction": parsed.correction.to_json()}
    if as_json:
        findings = [finding.to_json() for finding in message.findings]
        echo_json({**message.to_json(), "noun": to_json(parsed.value), **again, "findings": findings})
    else:
        tell_reading(message)
        echo(outline(to_json(parsed.value, whole=False)))
        if again:
            echo(outline(again))
        tell_findings(message.findings)
    return Exit.OK
