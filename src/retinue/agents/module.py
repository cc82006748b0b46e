"""A module with `run_agent`, spec 001's entry point, as an agent (B1, B17).

Its answer is checked against the spec's own shape here, because only this module still has it as Python values;
the dialect's text form is the business of `dialects/run_agent`.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import to_jsonable_python

from retinue.agents.importing import import_file
from retinue.agents.port import Reply, RunContext
from retinue.contract import names
from retinue.contract.definition import Definition, Skill, Source
from retinue.contract.model import JsonMapping
from retinue.contract.refused import as_detail, findings_of, in_short
from retinue.contract.result import Trace
from retinue.contract.task import Task
from retinue.errors import AccessDenied, InvalidDefinition, OutputInvalid

__all__ = ["ModuleAgent", "load_module", "module_agent"]

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
_HINT: Final = (
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
        raise InvalidDefinition(
            f"{file!r} has no function `run_agent`.",
            hint="Define `async def run_agent(prompt, chat_history=None, memory=None, config=None)`.",
        )
    wrong = tuple(_wrong_parameters(function))
    if wrong:
        raise InvalidDefinition(
            f"`run_agent` of {file!r} cannot be called as spec 001 says: {'; '.join(wrong)}.",
            hint="Define `async def run_agent(prompt, chat_history=None, memory=None, config=None)`.",
            detail={"findings": list(wrong)},
        )
    return ModuleAgent(function, file=file, about=module.__doc__ or function.__doc__ or "")


def _wrong_parameters(function: Callable[..., object]) -> tuple[str, ...]:
    """What keeps `function` from being called with the spec's four arguments by name."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ("its parameters cannot be read",)
    named = {
        name: parameter
        for name, parameter in parameters.items()
        if parameter.kind in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}
    }
    any_name = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    missing = () if any_name else tuple(f"it takes no `{name}`" for name in _PARAMETERS if name not in named)
    owed = (
        f"it cannot do without `{name}`"
        for name, parameter in parameters.items()
        if name not in _PARAMETERS
        and parameter.default is parameter.empty
        and parameter.kind not in {parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL}
    )
    return (*missing, *owed)


class ModuleAgent:
    """An agent that is a `run_agent` function: prompt in, content and traces out."""

    def __init__(self, function: Callable[..., Any], *, file: str, about: str) -> None:
        self._function = function
        self._asynchronous = inspect.iscoroutinefunction(function)
        name = names.fold(Path(file).stem)
        name = name if name[:1].isalpha() else f"agent_{name}".strip("_")
        description = " ".join(about.split()) or f"The agent in {file}. Returns its answer as text."
        skill = Skill(
            name=name,
            description=description,
            input_schema=_INPUT_SCHEMA,
            output_schema={"type": "string"},
            instruction_field="prompt",
        )
        self._definition = Definition(
            name=name, description=description, skills=(skill,), dialect="run_agent", source=Source(file=file)
        )

    @property
    def definition(self) -> Definition:
        """Named after the file, described by its docstring."""
        return self._definition

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Call `run_agent`; a synchronous one in a thread.

        Raises:
            OutputInvalid: The answer has not the shape of the spec; `detail["findings"]` lists every reason (B4, B5).
        """
        del run
        arguments = _arguments(task)
        if self._asynchronous:
            value = await self._function(**arguments)
        else:
            from retinue.engine.blocking import in_thread  # noqa: PLC0415 - only synchronous functions need it

            value = await in_thread(self._function, **arguments)
            value = await value if inspect.isawaitable(value) else value
        return _reply(value)


def _arguments(task: Task) -> dict[str, object]:
    """The four arguments: what the parameters say, else what the task's own context says (B2, B3)."""
    said = task.parameters
    return {
        "prompt": said.get("prompt", task.instruction),
        "chat_history": said.get("chat_history", "\n".join(task.context.history) or None),
        "memory": said.get("memory", task.context.memory or None),
        "config": said.get("config"),
    }


# The answer


class _ToolCall(BaseModel):
    """One trace item; closed (B5). Null stands for absent, as in the spec's own Python types (C16)."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    tool: str
    output: str
    args: dict[str, Any] | None = None
    duration_secs: Annotated[float, Field(ge=0)] | None = None


class _Answer(BaseModel):
    """What `run_agent` returns; open (B4, B6)."""

    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)

    content: str
    response_time_secs: Annotated[float, Field(ge=0)]
    traces: list[_ToolCall]


def _reply(value: object) -> Reply:
    """Read what `run_agent` returned; keys that the spec does not name are kept in `extras`."""
    facts: object = value.model_dump(exclude_none=True) if isinstance(value, BaseModel) else value
    try:
        answer = _Answer.model_validate(facts)
        others = to_jsonable_python({"response_time_secs": answer.response_time_secs, **(answer.model_extra or {})})
        traces = tuple(_trace(item) for item in answer.traces)
    except ValidationError as error:
        findings = findings_of(error, rule="run_agent/answer")
        raise OutputInvalid(
            f"`run_agent` did not answer as spec 001 says: {in_short(findings)}.",
            hint=_HINT,
            path=findings[0].path,
            detail=as_detail(findings),
        ) from None
    except (TypeError, ValueError, RecursionError) as error:
        raise OutputInvalid(f"The answer of `run_agent` cannot be written as JSON: {error}.", hint=_HINT) from None
    return Reply(data=answer.content, content=answer.content, traces=traces, extras={"run_agent": others})


def _trace(item: _ToolCall) -> Trace:
    duration_ns = None if item.duration_secs is None else round(item.duration_secs * 1_000_000_000)
    args = None if item.args is None else to_jsonable_python(item.args)
    return Trace(tool=item.tool, output=item.output, args=args, duration_ns=duration_ns)
