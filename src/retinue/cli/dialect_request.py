"""`retinue ask --in DIALECT --out DIALECT`: a request read from a message, and its answer written as one.

A message says what somebody wishes. Its agent, skill, words, target and parameters are used; its model, limits, paths
and ids are not, since whoever sends a message does not decide what this user spends or where files are written.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retinue.cli.exits import Exit

if TYPE_CHECKING:
    from retinue.cli.message import Refused
    from retinue.cli.project import Project
    from retinue.contract.finding import Level
    from retinue.contract.result import Result

__all__ = ["DialectRequest", "read_request", "write_answer"]


@dataclass(frozen=True, slots=True)
class DialectRequest:
    """What a message asks.

    Attributes:
        words: Agent, skill and instruction, as on the command line.
        typed: Parameters whose values have types.
        untyped: Parameters that came as text (C44).
    """

    words: tuple[str, ...]
    target: str | None
    typed: dict[str, Any]
    untyped: dict[str, Any]


def read_request(
    project: "Project", words: Sequence[str], dialect: str, *, level: "Level", is_program: bool
) -> "DialectRequest | Refused":
    """Read the request in the last of `words`, or on stdin.

    Args:
        project: Whose agents may be asked.
        words: Agent, skill and message, each of which may be absent.
        dialect: What the message speaks.
        level: How strictly it is read.
        is_program: Whether a program is asked, whoever the message names.

    Raises:
        UsageError: There is no message.
        InvalidInput: The message is for another agent than the command names.
    """
    from retinue.cli.message import Refused, dialect_of
    from retinue.cli.placed import findings_in, placed, tell_findings
    from retinue.cli.typed import words_of
    from retinue.contract.names import fold
    from retinue.dialects.port import Known
    from retinue.errors import InvalidInput, RetinueError

    names = [word for word in words[:2] if word != "-" and word.strip() and len(word.split()) == 1]
    message = words_of(words[len(names) :] or ("-",))
    agent = None if is_program or not names else project.registry.get(names[0]).definition
    called = agent.name if agent else ""
    try:
        parsed = dialect_of(dialect).parse_task(
            message, known=Known(task_id="ask", agent=called or "agent"), level=level
        )
    except RetinueError as error:
        findings = placed(findings_in(error), message.encode(), "-")
        return Refused(error, findings)
    task = parsed.value
    tell_findings(placed(parsed.findings, message.encode(), "-"))
    if agent is not None and fold(task.agent) not in {fold(name) for name in (agent.name, *agent.aliases, names[0])}:
        raise InvalidInput(
            f"The message is for {task.agent!r}, and the command names {names[0]!r}.",
            hint="Name the agent once, or the same one.",
        )
    if is_program:
        head = names[:1]
    else:
        head = [names[0] if names else task.agent, *names[1:]]
        if len(names) < 2 and task.skill and _has_skill(project, head[0], task.skill):
            head.append(task.skill)
    typed = {} if task.untyped else dict(task.parameters)
    return DialectRequest(
        (*head, *([task.instruction] if task.instruction.strip() else [])),
        task.target,
        typed,
        dict(task.parameters) if task.untyped else {},
    )


def _has_skill(project: "Project", agent: str, skill: str) -> bool:
    """Whether a message that names its agent twice, as agent and as operation, names a skill."""
    definition = project.registry.get(agent).definition
    return not (len(definition.skills) == 1 and definition.skills[0].name == definition.name == skill)


def write_answer(result: "Result", dialect: str, *, output: Path | None, code: Exit) -> Exit:
    """Write `result` in a dialect to stdout or into a file, and what that loses to stderr; gives `code` back."""
    from retinue.cli.convert import tell_losses
    from retinue.cli.delivery import deliver
    from retinue.cli.message import dialect_of
    from retinue.cli.output import plain

    rendered = dialect_of(dialect).render_result(result)
    text = rendered.text if rendered.text.endswith("\n") else f"{rendered.text}\n"
    deliver(plain(text) if output is None and sys.stdout.isatty() else text, output)
    if rendered.losses:
        tell_losses(rendered.losses)
    return code
