"""The subject that a person names on a command line: a command, or something in a module."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from retinue.agents.wrapped import split_command
from retinue.agents.wrapped.definition import name_of
from retinue.conformance.port import Subject
from retinue.conformance.subjects.calling import CallableSubject
from retinue.conformance.subjects.command import CommandSubject
from retinue.conformance.subjects.module import Found, find_module
from retinue.conformance.subjects.spoken import spoken
from retinue.contract.definition import Definition
from retinue.contract.model import DialectName
from retinue.contract.names import fold
from retinue.errors import InvalidInput
from retinue.tools.workspace import Workspace

__all__ = ["Named", "command_named", "module_named"]


@dataclass(frozen=True, slots=True)
class Named:
    """A subject, and what is known of it without asking.

    Attributes:
        name: What an agent would be called that nobody has named.
        dialect: What it claims to speak; None when nothing says so.
        definition: What it says of itself; None when it says nothing.
    """

    subject: Subject
    name: str
    dialect: DialectName | None = None
    definition: Definition | None = None


def command_named(line: str, *, cwd: Path | None = None, environment: Sequence[str] = ()) -> Named:
    """The command `line`, without a shell.

    Raises:
        InvalidInput: It names no program.
        NotInstalled: There is no such program.
        AccessDenied: It may not be run.
    """
    subject = CommandSubject(line, cwd=cwd, environment=environment)
    return Named(subject, name_of(split_command(line)))


def module_named(words: str, *, dialect: str | None = None, cwd: Path | None = None) -> Named:
    """What `words` names in a module, as `find_module` reads it. Importing it runs it.

    Args:
        words: `agent.py`, `agent.py:answer`, `package.module` or `package.module:answer`.
        dialect: What it is to speak; an agent of Retinue has to be told.
        cwd: Where it is looked for, and where an agent of Retinue works.

    Raises:
        RetinueError: As `find_module`; or it is an agent of Retinue and nothing says what it is to speak.
    """
    found = find_module(words, cwd=cwd)
    if found.kind == "agent":
        return _agent(found, dialect, cwd)
    subject = CallableSubject(found.speaks, name=words)
    return Named(subject, _name(words), "run_agent" if found.kind == "run_agent" else None)


def _agent(found: Found, dialect: str | None, cwd: Path | None) -> Named:
    definition: Definition = found.value.definition
    speaks = dialect or definition.dialect
    if speaks is None:
        raise InvalidInput(
            f"{found.name!r} is an agent of Retinue, and speaks any dialect.", hint="Say which one: `--dialect NAME`."
        )
    function = spoken(found.value, speaks, workspace=Workspace(cwd or Path.cwd()))
    subject = CallableSubject(function, name=found.name)
    return Named(subject, definition.name, cast("DialectName", speaks), definition)


def _name(words: str) -> str:
    """The name of the file or module, as a canonical one."""
    place = Path(words.partition(":")[0])
    folded = fold(place.stem if place.suffix == ".py" else place.name.rpartition(".")[2])
    return folded if folded[:1].isalpha() else "agent"
