"""The subject that a person names on a command line: a command, or something in a module."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from retinue.agents.wrapped import split_command
from retinue.agents.wrapped.default_definition import name_from_argv
from retinue.conformance.port import CheckSubject
from retinue.conformance.subjects.adapter import dialect_adapter
from retinue.conformance.subjects.callable_subject import CallableSubject
from retinue.conformance.subjects.command_line import CommandSubject
from retinue.conformance.subjects.module import ModuleMember, find_module
from retinue.contract.definition import Definition
from retinue.contract.model import DialectName
from retinue.contract.names import fold
from retinue.errors import InvalidInput
from retinue.tools.workspace import Workspace


@dataclass(frozen=True, slots=True)
class SubjectInfo:
    """A subject, and what is known of it without asking.

    Attributes:
        name: What an agent would be called that nobody has named.
        dialect: What it claims to speak; None when nothing says so.
        definition: What it says of itself; None when it says nothing.
    """

    subject: CheckSubject
    name: str
    dialect: DialectName | None = None
    definition: Definition | None = None


def command_subject(line: str, *, cwd: Path | None = None, environment: Sequence[str] = ()) -> SubjectInfo:
    """The command `line`, without a shell.

    Raises:
        InvalidInput: It names no program.
        NotInstalled: There is no such program.
        AccessDenied: It may not be run.
    """
    subject = CommandSubject(line, cwd=cwd, environment=environment)
    return SubjectInfo(subject, name_from_argv(split_command(line)))


def module_subject(words: str, *, dialect: str | None = None, cwd: Path | None = None) -> SubjectInfo:
    """What `words` names in a module, as `find_module` reads it. Importing it runs it.

    Args:
        words: `agent.py`, `agent.py:answer`, `package.module` or `package.module:answer`.
        dialect: What it is to speak; an agent of Retinue has to be told.
        cwd: Where it is looked for, and where an agent of Retinue works.

    Raises:
        RetinueError: As `find_module`; or it is an agent of Retinue and nothing says what it is to speak.
    """
    member = find_module(words, cwd=cwd)
    if member.kind == "agent":
        return _agent(member, dialect, cwd)
    subject = CallableSubject(member.text_function, name=words)
    return SubjectInfo(subject, _name(words), "run_agent" if member.kind == "run_agent" else None)


def _agent(member: ModuleMember, dialect: str | None, cwd: Path | None) -> SubjectInfo:
    definition: Definition = member.value.definition
    dialect_name = dialect or definition.dialect
    if dialect_name is None:
        raise InvalidInput(
            f"{member.name!r} is an agent of Retinue, and speaks any dialect.", hint="Say which one: `--dialect NAME`."
        )
    function = dialect_adapter(member.value, dialect_name, workspace=Workspace(cwd or Path.cwd()))
    subject = CallableSubject(function, name=member.name)
    return SubjectInfo(subject, definition.name, cast("DialectName", dialect_name), definition)


def _name(words: str) -> str:
    """The name of the file or module, as a canonical one."""
    place = Path(words.partition(":")[0])
    canonical = fold(place.stem if place.suffix == ".py" else place.name.rpartition(".")[2])
    return canonical if canonical[:1].isalpha() else "agent"
