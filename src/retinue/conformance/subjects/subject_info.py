"""The subject that a person names on a command line: a command, or something in a module."""

import importlib
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Literal, cast

from retinue.agents.importing import import_file
from retinue.agents.wrapped import split_command
from retinue.agents.wrapped.default_definition import name_from_argv
from retinue.conformance.port import CheckSubject
from retinue.conformance.subjects.adapter import dialect_adapter
from retinue.conformance.subjects.callable_subject import CallableSubject
from retinue.conformance.subjects.command_line import CommandSubject
from retinue.contract.definition import Definition
from retinue.contract.model import DialectName
from retinue.contract.names import fold, nearest
from retinue.errors import InvalidDefinition, InvalidInput, Unavailable, UnknownName
from retinue.llm.budget_tracker import BudgetTracker
from retinue.llm.conversation import converse
from retinue.llm.models import Models
from retinue.llm.port import Request, UserMessage
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
        definition: Definition = member.value.definition
        dialect_name = dialect or definition.dialect
        if dialect_name is None:
            message = f"{member.name!r} is an agent of Retinue, and speaks any dialect."
            raise InvalidInput(message, hint="Say which one: `--dialect NAME`.")
        function = dialect_adapter(member.value, dialect_name, workspace=Workspace(cwd or Path.cwd()))
        subject = CallableSubject(function, name=member.name)
        return SubjectInfo(subject, definition.name, cast("DialectName", dialect_name), definition)
    subject = CallableSubject(member.text_function, name=words)
    place = Path(words.partition(":")[0])
    name = fold(place.stem if place.suffix == ".py" else place.name.rpartition(".")[2])
    name = name if name[:1].isalpha() else "agent"
    return SubjectInfo(subject, name, "run_agent" if member.kind == "run_agent" else None)


_HOW: Final = "Name a file as `folder/agent.py`, or a module as `package.agent`."

ENTRY: Final = "run_agent"
"""What is asked of a module when nothing else is named: the entry point of spec 001 (B1)."""


@dataclass(frozen=True, slots=True)
class ModuleMember:
    """What a module gave.

    Attributes:
        kind: `run_agent` takes the four arguments of spec 001, `function` the text of a request, `agent` a task.
    """

    name: str
    kind: Literal["run_agent", "function", "agent"]
    value: Any

    @property
    def text_function(self) -> Callable[[str], object]:
        """What takes the text of a request.

        Raises:
            InvalidInput: It is an agent, which takes no text; `adapter` makes such a function of it.
        """
        if self.kind == "agent":
            raise InvalidInput(f"{self.name!r} takes no text.", hint="Say which dialect it should speak.")
        # The arguments of `run_agent` are in the text; any other text is the prompt.
        return (lambda text: self.value(**_arguments(text))) if self.kind == "run_agent" else self.value


def find_module(words: str, *, cwd: Path | None = None) -> ModuleMember:
    """What `words` names: `agent.py`, `agent.py:answer`, `package.module` or `package.module:answer`.

    Raises:
        MissingFile: There is no such file.
        InvalidInput: There is no such module.
        InvalidDefinition: It cannot be imported, or holds nothing that can be asked.
        UnknownName: It has nothing of that name.
    """
    # Whether what stands after the last colon is a name, and not the rest of a path.
    place, _, name = (
        words.rpartition(":") if (words.rpartition(":")[2].isidentifier() and ":" in words) else (words, "", "")
    )
    folder = cwd or Path.cwd()
    path = Path(place)
    if not place.strip():
        raise InvalidInput("Nothing is named.", hint=_HOW)
    if (folder / path).is_dir() and not (folder / path / "__init__.py").exists():
        raise InvalidInput(f"{place!r} is a folder.", hint=_HOW)
    is_file = path.suffix == ".py" or "/" in place
    module = import_file((folder / path), search=folder) if is_file else _import_module(place, folder)
    value = _member(module, place, name or ENTRY)
    if isinstance(value, type) and hasattr(value, "definition"):
        try:
            value = cast("Callable[[], object]", value)()
        except Exception as error:
            message = f"{words!r} is a class, and cannot be made: `{type(error).__name__}`: {error}"
            raise InvalidDefinition(message, hint="Name an agent, made.") from error
    if hasattr(value, "definition") and hasattr(value, "run"):
        return ModuleMember(words, "agent", value)
    if not callable(value):
        raise InvalidDefinition(
            f"{words!r} is of type `{type(value).__name__}` and cannot be asked.", hint="Name a function or an agent."
        )
    return ModuleMember(words, "run_agent" if (name or ENTRY) == ENTRY else "function", value)


def _import_module(place: str, folder: Path) -> ModuleType:
    before = sys.path[:]
    sys.path.insert(0, str(folder))
    try:
        with redirect_stdout(sys.stderr):
            return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name and place.startswith(error.name):
            raise InvalidInput(
                f"There is no module {place!r}.",
                hint=_HOW,
            ) from error
        raise InvalidDefinition(
            f"{place!r} needs a module {error.name!r}.",
            hint="Install it where Retinue is installed, or judge the agent as a command: `--command`.",
        ) from error
    except (Exception, SystemExit) as error:
        kind = type(error).__name__
        raise InvalidDefinition(
            f"{place!r} cannot be imported: `{kind}`: {error}",
            hint="Run it with Python by itself to see the whole error.",
        ) from error
    finally:
        sys.path[:] = before


def _member(module: ModuleType, place: str, name: str) -> object:
    members = vars(module)
    if name in members:
        return members[name]
    public = [each for each, value in members.items() if not each.startswith("_") and callable(value)]
    near = nearest(name, public)
    raise UnknownName(
        f"{place!r} has no {name!r}.",
        hint=f"Did you mean `{place}:{near[0]}`?" if near else f"Name what is to be asked, as `{place}:name`.",
        suggestions=near or tuple(public[:20]),
    )


def _arguments(text: str) -> dict[str, object]:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and isinstance(cast("dict[str, object]", value).get("prompt"), str):
        return {"chat_history": None, "memory": None, "config": None, **cast("dict[str, object]", value)}
    return {"prompt": text, "chat_history": None, "memory": None, "config": None}


def instructions_subject(
    path: Path, definition: Definition, *, models: Models | None, budget_tracker: BudgetTracker | None
) -> SubjectInfo:
    """The agent that `definition`, read from `path`, describes.

    Args:
        path: Its file, as reports call it.
        definition: What the file says.
        models: Where its model comes from.
        budget_tracker: What all requests together may spend.

    Raises:
        InvalidDefinition: The file holds no instructions.
        Unavailable: No model is configured.
        RetinueError: Its model cannot be opened.
    """
    instructions = definition.instructions
    if not instructions:
        raise InvalidDefinition(
            f"{str(path)!r} has no instructions to follow.", hint="Write them below its front matter."
        )
    if models is None:
        raise Unavailable(
            f"{str(path)!r} needs a model to be judged.", hint="Name one: `--model small`, or `--model provider:model`."
        )
    model = models.get(models.choose(own=definition.model, tier=definition.tier).name)

    async def answer(text: str) -> str:
        conversation = await converse(
            model, Request((UserMessage(text),), instructions=instructions), budget_tracker=budget_tracker
        )
        if conversation.error is not None:
            raise conversation.error
        return conversation.text

    return SubjectInfo(CallableSubject(answer, name=str(path)), definition.name, definition.dialect, definition)
