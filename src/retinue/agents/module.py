"""A module with `run_agent`, spec 001's entry point, as an agent (B1, B17).

What it is called with and what it may answer is said by `dialects.run_agent`, which reads the answer as the Python
values it is. The way back, any agent as such a function, is `as_run_agent`.
"""

import inspect
from collections.abc import Awaitable, Callable, Generator
from contextvars import copy_context
from pathlib import Path
from types import ModuleType, coroutine
from typing import Any, Final, TypeVar

from retinue.agents.boundary.parse_reply import as_reply, parse_context
from retinue.agents.importing import import_file
from retinue.agents.port import ABSENT, Reply, RunContext
from retinue.contract import names
from retinue.contract.definition import Definition, Skill, Source
from retinue.contract.model import JsonMapping
from retinue.contract.task import Task
from retinue.dialects.run_agent import parse_value, render_arguments
from retinue.engine.blocking import in_thread
from retinue.errors import AccessDenied, InvalidDefinition, OutputInvalid

T = TypeVar("T")

_PARAMETERS: Final = ("prompt", "chat_history", "memory", "config")
_INPUT_SCHEMA: Final[JsonMapping] = {
    "type": "object",
    "properties": {
        "prompt": {"type": "string", "description": "The latest message of the user."},
        "chat_history": {"type": "string", "description": "Earlier turns, one a line: `user: ...`, `assistant: ...`."},
        "memory": {"type": "string", "description": "Further context."},
        "config": {"type": "object", "description": "Overrides for this call; unknown keys are ignored (B14)."},
    },
    "required": ["prompt"],
    "additionalProperties": False,
}
_DEFINE: Final = "Define `async def run_agent(prompt, chat_history=None, memory=None, config=None)`."
_HOW: Final = (
    "Return a dictionary with `content` (text), `response_time_secs` (number) and `traces` (a list of objects with "
    "`tool` and `output`)."
)


def load_module(path: Path, *, root: Path) -> "ModuleAgent":
    """Load the module that `ACTIVE_AGENT_PATH` names (B17). Naming it there is the user's own word: it is trusted.

    While it is being imported, it finds its own packages from `root`.

    Args:
        path: The module, relative to `root`.
        root: The root of the repository.

    Raises:
        AccessDenied: The path leads out of `root` (C12).
        MissingFile: There is no such file.
        InvalidDefinition: It cannot be imported, or has no `run_agent` with the parameters of the spec (B1).
    """
    real_root = root.resolve()
    real = (real_root / path).resolve()
    if not real.is_relative_to(real_root):
        raise AccessDenied(
            f"{str(path)!r} leads out of {str(real_root)!r}.",
            hint="Name a module inside the repository, relative to its root.",
        )
    return module_agent(import_file(real, search=real_root), file=real.relative_to(real_root).as_posix())


def module_agent(module: ModuleType, *, file: str) -> "ModuleAgent":
    """Make an agent of a module that was imported.

    Raises:
        InvalidDefinition: It has no `run_agent`, or one that cannot be called as the spec says; every reason is listed.
    """
    function: object = vars(module).get("run_agent")
    if not callable(function):
        raise InvalidDefinition(f"{file!r} has no function `run_agent`.", hint=_DEFINE)
    problems: list[str] = []  # what keeps it from being called with the spec's four arguments by name
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        problems.append("its parameters cannot be read")
    else:
        takes = {each.name for each in parameters if each.kind in {each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY}}
        if not any(each.kind is each.VAR_KEYWORD for each in parameters):
            problems += [f"it takes no `{name}`" for name in _PARAMETERS if name not in takes]
        for each in parameters:
            is_variable = each.kind in {each.VAR_KEYWORD, each.VAR_POSITIONAL}
            if each.name not in _PARAMETERS and each.default is each.empty and not is_variable:
                problems.append(f"it cannot do without `{each.name}`")
    if problems:
        raise InvalidDefinition(
            f"`run_agent` of {file!r} cannot be called as spec 001 says: {'; '.join(problems)}.",
            hint=_DEFINE,
            detail={"findings": problems},
        )
    return ModuleAgent(function, file=file, about=module.__doc__ or function.__doc__ or "")


class ModuleAgent:
    """An agent that is a `run_agent` function: prompt in, content and traces out."""

    def __init__(self, function: Callable[..., Any], *, file: str, about: str) -> None:
        self._function = function
        name = names.fold(Path(file).stem)
        name = name if name[:1].isalpha() else f"agent_{name}".strip("_")
        description = " ".join(about.split()) or f"The agent in {file}. Returns its answer as text."
        skill = Skill(name=name, description=description, input_schema=_INPUT_SCHEMA, instruction_field="prompt")
        self._definition = Definition(
            name=name, description=description, skills=(skill,), dialect="run_agent", source=Source(file=file)
        )

    @property
    def definition(self) -> Definition:
        """Named after the file, described by its docstring."""
        return self._definition

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Call `run_agent`; a plain `def` in a thread.

        Each call has a context of its own, so that the traces of two calls never mix. A correction
        stands at the end of the prompt, and whole in `config`.

        Raises:
            OutputInvalid: The answer has not the shape of the spec; `detail["findings"]` lists every reason (B4, B5).
        """
        arguments = render_arguments(task, correction=run.correction)
        if inspect.iscoroutinefunction(self._function):
            value = await in_context_copy(self._function(**arguments))
        else:
            value = await in_thread(self._function, **arguments)
            value = await in_context_copy(value) if inspect.isawaitable(value) else value
        context = parse_context(self._definition, "run_agent", task)
        try:
            read = parse_value(value, context=context)
        except OutputInvalid as error:
            ways = tuple(dict.fromkeys((*error.suggestions, _HOW)))
            hint = error.hint if _HOW in error.hint else f"{error.hint} {_HOW}"
            raise OutputInvalid(
                error.message, hint=hint, path=error.path, suggestions=ways, detail=error.detail
            ) from None
        reply = as_reply(read, "run_agent", context)
        if reply.data is ABSENT and reply.content.strip():
            reply.data = reply.content
        return reply


@coroutine
def in_context_copy(call: Awaitable[T]) -> Generator[Any, None, T]:
    """Await `call` in a copy of the caller's context: what it leaves in context variables, no other call sees.

    Agents keep the traces of a call in a context variable, as spec 001's do. Calls of one task, one after another,
    would else share it. A task of its own would do too, but could not be closed when it refuses to end.
    """
    context, steps = copy_context(), call.__await__()
    error: BaseException | None = None
    while True:
        try:
            future = context.run(steps.send, None) if error is None else context.run(steps.throw, error)
        except StopIteration as end:
            return end.value
        try:
            yield future
            error = None
        except GeneratorExit:
            steps.close()
            raise
        except BaseException as raised:  # noqa: BLE001 - for the call to answer, a cancellation too
            error = raised
