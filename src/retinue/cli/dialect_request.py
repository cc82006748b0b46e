"""`retinue ask --in DIALECT --out DIALECT`: a request read from a message, and its answer written as one.

A message says what somebody wishes. Its agent, skill, words, target, parameters and context are used; its model,
limits, paths and ids are not, since whoever sends a message does not decide what this user spends or where files are
written.
"""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from retinue.cli.arguments import words_of
from retinue.cli.convert import report_losses
from retinue.cli.delivery import deliver
from retinue.cli.exits import Exit
from retinue.cli.message import RefusedMessage, dialect_of
from retinue.cli.message_findings import findings_in, locate_findings, report_findings
from retinue.cli.output import safe_lines
from retinue.cli.project import Project
from retinue.contract.finding import Level
from retinue.contract.names import fold
from retinue.contract.result import Result
from retinue.dialects.port import DEFAULT_AGENT, ParseContext
from retinue.errors import InvalidInput, RetinueError

_NAME: Final = re.compile(r"[\w./@][\w./@-]*")
"""The name of an agent or a skill: no message is one."""


@dataclass(frozen=True, slots=True)
class DialectRequest:
    """What a message asks.

    Attributes:
        agent: Whom, as the command or the message says it; empty for a program, and when neither says it.
        skill: What for; empty when neither says it.
        parameters: Those whose values have types.
        untyped: Those that came as text (C44).
        context: What the agent should know beside its instruction.
    """

    agent: str
    skill: str
    instruction: str
    target: str | None
    parameters: dict[str, Any]
    untyped: dict[str, Any]
    context: str


def read_request(
    project: Project, words: Sequence[str], dialect: str, *, level: Level, is_program: bool
) -> DialectRequest | RefusedMessage:
    """Read the request in the last of `words`, or on stdin.

    Args:
        project: Whose agents may be asked.
        words: Agent, skill and message, each of which may be absent; for a program there is no agent.
        dialect: What the message speaks.
        level: How strictly it is read.
        is_program: Whether a program is asked, whoever the message names.

    Raises:
        UsageError: There is no message.
        InvalidInput: The message is for another agent than the command names.
    """
    names = list(takewhile(_NAME.fullmatch, words[: 1 if is_program else 2]))
    message = words_of(words[len(names) :] or ("-",))
    agent = None if is_program or not names else project.registry.get(names[0]).definition
    parse_context = ParseContext(task_id="ask", agent=agent.name if agent else DEFAULT_AGENT)
    try:
        parsed = dialect_of(dialect).parse_task(message, context=parse_context, level=level)
    except RetinueError as error:
        return RefusedMessage(error, locate_findings(findings_in(error), message.encode(), "-"))
    task = parsed.value
    report_findings(locate_findings(parsed.findings, message.encode(), "-"))
    if agent is not None and fold(task.agent) not in {fold(name) for name in (agent.name, *agent.aliases, names[0])}:
        raise InvalidInput(
            f"The message is for {task.agent!r}, and the command names {names[0]!r}.",
            hint="Use the same name in both, or name it only once.",
        )
    if is_program:
        called, skills = "", names
    else:
        called, skills = "" if task.agent == DEFAULT_AGENT else task.agent, names[1:]
    typed, untyped = ({}, task.parameters) if task.untyped else (task.parameters, {})
    skill = skills[0] if skills else task.skill or ""
    about = task.context
    context = [] if not task.instruction else [about.what]  # a block may have no other words than these
    return DialectRequest(
        called,
        skill,
        task.instruction or about.what,
        task.target,
        dict(typed),
        dict(untyped),
        "\n".join(filter(None, [*context, about.why, *about.constraints, *about.history, about.memory])),
    )


def write_answer(result: Result, dialect: str, *, output: Path | None, quiet: bool, code: Exit) -> Exit:
    """Write `result` in a dialect to stdout or into a file, and its losses to stderr; gives `code` back."""
    rendered = dialect_of(dialect).render_result(result)
    text = rendered.text if rendered.text.endswith("\n") else f"{rendered.text}\n"
    deliver(safe_lines(text) if output is None and sys.stdout.isatty() else text, output)
    if rendered.losses and not quiet:
        report_losses(rendered.losses)
    return code
