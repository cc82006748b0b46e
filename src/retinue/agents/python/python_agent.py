"""An agent made of Python: a function, or a class with several skills; and `@agent` and `@skill`, which make one.

The decorators only note their options. Types are read at first use, so a module full of agents imports quickly.
Nothing is validated against a schema here: that is the boundary's work.
"""

import functools
import inspect
import types
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, make_dataclass, replace
from functools import cached_property, partial
from types import MethodType
from typing import (
    Annotated,
    Any,
    Final,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    TypeAlias,
    Union,
    Unpack,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import CoreConfig, SchemaSerializer, to_json, to_jsonable_python
from typing_extensions import TypeVar

from retinue.agents.port import ABSENT, Reply, RunContext
from retinue.contract import names
from retinue.contract.definition import Definition, Skill
from retinue.contract.facts import Facts
from retinue.contract.finding import as_detail, findings_of, summarise_findings
from retinue.contract.plan import Plan
from retinue.contract.result import Result
from retinue.contract.task import Task
from retinue.contract.version import split_versioned_name
from retinue.errors import InvalidDefinition, InvalidInput, OutputInvalid, UnknownName
from retinue.tools.workspace import Workspace

from .decorator_options import AgentOptions, SkillOptions, checking_types_of, qualified_name

P = ParamSpec("P")
T = TypeVar("T")
AnswerT_co = TypeVar("AnswerT_co", covariant=True, default=Any)

SKILL_MARK: Final = "__retinue_skill__"
"""The attribute in which `@skill` leaves its options on a method."""


@dataclass(frozen=True, slots=True)
class SkillEntry:
    """One skill, as its author wrote it.

    Attributes:
        function: What is called.
        options: What the decorator said.
        method: The name of the method; None of a function that is an agent by itself.
        bound: Its first parameter is the object.
    """

    function: Callable[..., Any]
    options: SkillOptions
    method: str | None = None
    bound: bool = False


_Injected: TypeAlias = Literal["task", "run"]
_INJECTED: Final[Mapping[object, _Injected]] = {Task: "task", RunContext: "run"}
_NO_DATA: Final = (Reply, Plan, Result, None, type(None), Any, object, inspect.Signature.empty)
"""What a function may be said to return that says nothing of its data."""

Dump = Callable[[object], object]
"""Writes a value of the declared type as JSON data."""


@dataclass(frozen=True)
class Signature:
    """How a function is called with a task, and what it takes and gives.

    Attributes:
        input_adapter: Builds the parameters: an object with an attribute each, or the model.
        output_adapter: Writes the declared answer; None when no type is declared.
        defaults: What the function itself fills in, by parameter.
        injected: Parameters that get the task or the run context; they are not in the schema.
        model: The one parameter that takes the whole of the task's parameters; None when each has its own.
        answer_type: What the function declares of its data; None when that is nothing.
        returns_plan: The function is said to return a `Plan`.
    """

    input_adapter: TypeAdapter[Any]
    output_adapter: TypeAdapter[Any] | None
    defaults: Mapping[str, object]
    injected: tuple[tuple[str, _Injected], ...]
    model: str | None
    answer_type: Any
    returns_plan: bool

    @cached_property
    def dump(self) -> Dump | None:
        """Writes the declared answer as JSON data; None when no type is declared."""
        adapter = self.output_adapter
        if adapter is None:
            return None
        adapter.rebuild()  # where its type defers its schema (`defer_build`), nothing has built it yet
        # By itself pydantic writes NaN as null wherever no type is declared, without a warning.
        to_python = SchemaSerializer(adapter.core_schema, CoreConfig(ser_json_inf_nan="constants")).to_python
        # A value of another type is written as what it is; whether that fits is for the output schema to say.
        return partial(to_python, mode="json", by_alias=True, exclude_none=True, warnings=False)

    def arguments(self, task: Task, run: RunContext) -> dict[str, Any]:
        """The keyword arguments for one task, as the declared Python types.

        Raises:
            InvalidInput: A parameter does not become what the function declares; `detail["findings"]` lists all.
        """
        try:
            value: object = self.input_adapter.validate_json(to_json(task.parameters, inf_nan_mode="constants"))
        except ValidationError as error:
            findings = findings_of(error, rule="parameters/type")
            raise InvalidInput(
                f"The parameters do not become what the agent takes: {summarise_findings(findings)}.",
                hint="Send values of the types that the input schema says.",
                path=findings[0].path,
                detail=as_detail(findings),
            ) from None
        values = vars(value) if self.model is None else {self.model: value}
        for name, which in self.injected:
            values[name] = task if which == "task" else run
        return values


class PythonAgent(Generic[P, T, AnswerT_co]):
    """A function or class that is an `Agent`, and can still be called as what it was.

    `T` is what calling it gives, `AnswerT_co` what it answers a task with: of an `async` function, what is awaited.

    A class is made once, when its object is first needed, with the arguments of `bind`; concurrent tasks share it.
    """

    def __init__(self, target: Callable[P, T], options: AgentOptions) -> None:
        self._target = target
        self._options = options
        self._arguments: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})
        self.signatures: dict[str, Signature] = {}
        self._skills: dict[str, Skill] = {}
        self._definition: Definition | None = None
        functools.update_wrapper(self, target, updated=())

    def bind(self, *args: P.args, **kwargs: P.kwargs) -> "PythonAgent[P, T, AnswerT_co]":
        """The same agent over an object made with these arguments: `Clerk.bind(database)`. A class only.

        Raises:
            TypeError: The class does not take them.
        """
        inspect.signature(self._target).bind(*args, **kwargs)
        bound = PythonAgent[P, T, AnswerT_co](self._target, self._options)
        bound._arguments, bound.signatures, bound._skills = (args, kwargs), self.signatures, self._skills
        return bound

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the function, or make an object of the class, as if it had never been decorated."""
        return self._target(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<agent {self._target.__module__}.{self._target.__qualname__}>"

    @property
    def definition(self) -> Definition:
        """What the function says of itself, read at first use.

        Raises:
            InvalidDefinition: It cannot be an agent; the message and `detail["findings"]` say why.
        """
        if self._definition is None:
            from .read_definition import read_definition  # noqa: PLC0415 - calls of a ready-made agent need none

            name, version = self._name_and_version
            self._definition = read_definition(
                self._target,
                self._options,
                name=name,
                version=version,
                skills=tuple(map(self._skill, self._entries)),
                returns_plan=any(self._signature(name).returns_plan for name in self._entries),
            )
        return self._definition

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Call the function with the task's parameters as the types it declares; a synchronous one in a thread.

        Raises:
            InvalidInput: A parameter does not become what the function declares.
            OutputInvalid: The answer holds something JSON cannot say.
            UnknownName: The task names no skill of this agent.
        """
        name = self._skill_name(task.skill)
        entry, signature = self._entries[name], self._signature(name)
        arguments = signature.arguments(task, run)
        # The object is made here, so that two threads never make one each.
        call = entry.function if entry.method is None else getattr(self._object, entry.method)
        if inspect.iscoroutinefunction(entry.function):
            value = await call(**arguments)
        else:
            from retinue.engine.blocking import in_thread  # noqa: PLC0415 - only synchronous functions need it

            value = await in_thread(call, **arguments)
            value = await value if inspect.isawaitable(value) else value
        return reply_of(value, dump=signature.dump, wire="dialect" in self._options)

    def facts(self, skill: str) -> Callable[[Workspace], Facts] | None:
        """What tells what the parameters of a skill can be in a workspace; None when the skill does not say."""
        entry = self._entries.get(skill)
        read = entry and entry.options.get("facts")
        if read is not None and len(inspect.signature(read).parameters) > 1:
            return MethodType(read, self._object)
        return cast("Callable[[Workspace], Facts] | None", read)

    def answer_type(self, skill: str | None = None) -> Any:
        """The type that a skill declares of its answer; `Any` when it declares none.

        Raises:
            UnknownName: There is no such skill; or there are several and none is named.
        """
        declared_type = self._signature(self._skill_name(skill)).answer_type
        return Any if declared_type is None else declared_type

    @cached_property
    def _name_and_version(self) -> tuple[str, str | None]:
        declared_name, version = self._options.get("name", self._target.__name__), self._options.get("version")
        name, major = split_versioned_name(names.canonical_name(declared_name))
        if major is not None and version is not None and version.partition(".")[0] != str(major):
            raise InvalidDefinition(
                f"The name {declared_name!r} says major {major}, but `version` says {version!r}.",
                hint="Make them the same.",
            )
        return name, version or (None if major is None else f"{major}.0")

    @cached_property
    def _entries(self) -> Mapping[str, SkillEntry]:
        """Every skill by its name, its types not yet read."""
        if not isinstance(self._target, type):
            name, _ = self._name_and_version
            return {name: SkillEntry(self._target, cast("SkillOptions", {**self._options, "name": name}))}
        misplaced = sorted(_ONLY_SKILLS.intersection(self._options))
        if misplaced:
            raise InvalidDefinition(
                f"{self!r} is a class, and `{'`, `'.join(misplaced)}` is said of a skill.",
                hint="Move it to the `@skill` it belongs to.",
            )
        marked: dict[str, SkillEntry] = {}
        for base in reversed(self._target.__mro__):
            for name, member in vars(base).items():
                function: Any = getattr(member, "__func__", member)
                options: SkillOptions | None = getattr(function, SKILL_MARK, None)
                if options is not None:
                    bound = not isinstance(member, staticmethod)
                    marked[name] = SkillEntry(function, {"name": name, **options}, method=name, bound=bound)
        entries = list(marked.values())
        if not entries:
            raise InvalidDefinition(f"{self!r} has no skill.", hint="Put `@skill` on the methods others may call.")
        try:
            args, kwargs = self._arguments
            inspect.signature(self._target).bind(*args, **kwargs)
        except (TypeError, ValueError) as error:
            raise InvalidDefinition(
                f"{self!r} cannot be made without arguments: {error}.",
                hint="Give each argument a default, or pass them by `bind`.",
            ) from None
        by_name = {names.canonical_name(entry.options.get("name", "")): entry for entry in entries}
        if len(by_name) < len(entries):
            raise InvalidDefinition(f"Two skills of {self!r} have the same name.", hint="Give each its own `name`.")
        return by_name

    def _signature(self, name: str) -> Signature:
        """What the types of a skill say, read when it is first asked for."""
        signature = self.signatures.get(name)
        if signature is None:
            entry = self._entries[name]
            if inspect.isgeneratorfunction(entry.function) or inspect.isasyncgenfunction(entry.function):
                raise InvalidDefinition(
                    f"`{entry.function.__qualname__}` yields.", hint="Return one answer; `run.emit` tells of progress."
                )
            signature = read_signature(entry.function, bound=entry.bound, output=entry.options.get("output"))
            self.signatures[name] = signature
        return signature

    def _skill(self, name: str) -> Skill:
        from .read_definition import read_skill  # noqa: PLC0415 - as above

        entry = self._entries[name]
        unavailable = entry.options.get("unavailable")
        if callable(unavailable):
            asks_object = entry.method is not None and bool(inspect.signature(unavailable).parameters)
            unavailable = unavailable(*(self._object,) * asks_object)
        # Deriving schemas is slow, and only this differs between objects of one class.
        skill = self._skills.get(name)
        if skill is None:
            skill = self._skills[name] = read_skill(entry, self._signature(name), unavailable=unavailable)
        return skill.model_copy(update={"unavailable": unavailable or ""})

    @cached_property
    def _object(self) -> Any:
        args, kwargs = self._arguments
        return self._target(*args, **kwargs)

    def _skill_name(self, name: str | None) -> str:
        """The skill that is meant: the only one, where none is named."""
        skills = self._entries
        if name is None and len(skills) == 1:
            return next(iter(skills))
        if name is not None and name in skills:
            return name
        suggestions = names.nearest(name or "", skills)
        raise UnknownName(
            f"`{self.definition.name}` has no skill {name!r}."
            if name
            else f"`{self.definition.name}` has several skills.",
            hint=f"Name one of: {', '.join(skills)}.",
            suggestions=tuple(dict.fromkeys((*suggestions, *skills))),
        )


_ONLY_SKILLS: Final = SkillOptions.__optional_keys__ - {"name", "description"}


F = TypeVar("F", bound=Callable[..., Any])


class _Decorator(Protocol):
    """`@agent(...)`, which keeps the types of what it decorates: a class, a coroutine function, a function."""

    @overload
    def __call__(self, target: type[T], /) -> PythonAgent[..., T]: ...
    @overload
    def __call__(
        self, target: Callable[P, Coroutine[Any, Any, T]], /
    ) -> PythonAgent[P, Coroutine[object, None, T], T]: ...
    @overload
    def __call__(self, target: Callable[P, T], /) -> PythonAgent[P, T, T]: ...


@overload
def agent(target: type[T], /) -> PythonAgent[..., T]: ...
@overload
def agent(target: Callable[P, Coroutine[Any, Any, T]], /) -> PythonAgent[P, Coroutine[object, None, T], T]: ...
@overload
def agent(target: Callable[P, T], /) -> PythonAgent[P, T, T]: ...
@overload
def agent(**options: Unpack[AgentOptions]) -> _Decorator: ...
def agent(target: Callable[..., Any] | None = None, /, **options: Unpack[AgentOptions]) -> Any:
    """Make an agent of a function, or of a class whose methods are marked with `skill`.

    What the agent takes and gives is read from the types: the parameters, or the one pydantic model that is the only
    parameter, become the input schema, the return annotation the output schema. A parameter annotated with `Task` or
    `RunContext` is given the task or the run, and is not part of the schema. Descriptions come from the docstring and
    from `Annotated[..., Field(description=...)]`.

        @agent(tier="small", examples=("how long is the README",))
        async def word_counter(text: str) -> int:
            \"\"\"Counts words. Use it when a length is asked for. Returns the number of words.\"\"\"
            return len(text.split())

    The agent can still be called as the function it was: `await word_counter("two words")`.

    Args:
        target: The function or class, when the decorator is used without parentheses.
        options: See `AgentOptions`.

    Raises:
        InvalidDefinition: There is no such option. Whatever else is wrong is raised by `definition`, at first use.
    """
    _check_options(options, AgentOptions, "@agent")
    if target is not None:
        return PythonAgent(target, options)

    def decorate(function: Callable[P, T]) -> PythonAgent[P, T]:
        return PythonAgent(function, options)

    return decorate


@overload
def skill(function: F, /) -> F: ...
@overload
def skill(**options: Unpack[SkillOptions]) -> Callable[[F], F]: ...
def skill(function: F | None = None, /, **options: Unpack[SkillOptions]) -> F | Callable[[F], F]:
    """Mark a method of an `agent` class as a skill. The method itself stays as it is.

    Args:
        function: The method, when the decorator is used without parentheses.
        options: See `SkillOptions`.

    Raises:
        InvalidDefinition: There is no such option.
    """
    _check_options(options, SkillOptions, "@skill")

    def mark(function: F) -> F:
        setattr(getattr(function, "__func__", function), SKILL_MARK, options)
        return function

    return mark if function is None else mark(function)


def _check_options(options: AgentOptions | SkillOptions, kind: type[SkillOptions], decorator: str) -> None:
    available = sorted(kind.__optional_keys__)
    unknown = [name for name in options if name not in available]
    if unknown:
        raise InvalidDefinition(
            f"`{decorator}` has no option {', '.join(map(repr, unknown))}.",
            hint=f"Available: {', '.join(available)}.",
            suggestions=names.nearest(unknown[0], available),
        )


# From types to arguments


def read_signature(function: Callable[..., object], *, bound: bool, output: object | None = None) -> Signature:
    """Read the types of `function`.

    Args:
        function: What will be called.
        bound: It is a method: its first parameter is the instance.
        output: The type of the answer, where the return annotation does not say it.

    Raises:
        InvalidDefinition: A parameter has no type, or one that cannot be used; `detail["findings"]` lists all.
    """
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception as error:  # an annotation is an expression, and may raise anything
        raise InvalidDefinition(
            f"The types of `{qualified_name(function)}` cannot be read: {error}.",
            hint="Define the types where the module can see them: at its top level, not inside a function.",
        ) from error
    parameters = _parameters(function, hints, bound=bound)
    injected: dict[str, _Injected] = {}
    for name in parameters:
        for part in _union(hints[name]):
            if part in _INJECTED:
                injected[name] = _INJECTED[part]
    own = [parameter for name, parameter in parameters.items() if name not in injected]
    model: str | None = None  # the only parameter, when it is a pydantic model
    if len(own) == 1 and not _has_default(own[0]):
        hint = _strip_annotated(hints[own[0].name])
        model = own[0].name if isinstance(hint, type) and issubclass(hint, BaseModel) else None
    # What the return annotation says of the data.
    members = _union(return_hint := hints.get("return"))
    typed = [part for part in members if part not in _NO_DATA]
    answer: Any = output
    if output is None and typed:
        answer = return_hint if len(typed) == len(members) else Union[tuple(typed)]  # noqa: UP007 - only known now
    with checking_types_of(function):
        input_adapter: TypeAdapter[Any] = TypeAdapter(hints[model] if model else _container(own, hints))
        output_adapter: TypeAdapter[Any] | None = None if answer is None else TypeAdapter(answer)
    return Signature(
        input_adapter=input_adapter,
        output_adapter=output_adapter,
        defaults={} if model else {_wire_name(each, hints): each.default for each in own if _has_default(each)},
        injected=tuple(injected.items()),
        model=model,
        answer_type=answer,
        returns_plan=Plan in members,
    )


def _parameters(
    function: Callable[..., object], hints: Mapping[str, Any], *, bound: bool
) -> dict[str, inspect.Parameter]:
    """The parameters a task can fill, each seen to have a name and a type."""
    parameters = dict(inspect.signature(function).parameters)
    if bound and parameters:
        del parameters[next(iter(parameters))]
    problems: list[str] = []
    for name, parameter in parameters.items():
        if parameter.kind in {parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            problems.append(f"`{parameter}` cannot be given by name")
        elif name not in hints:
            problems.append(f"`{name}` has no type")
        elif isinstance(parameter.default, FieldInfo):
            problems.append(
                f"`{name}` has a `Field(...)` as its default; write `Annotated[type, Field(...)] = default`"
            )
    if problems:
        raise InvalidDefinition(
            f"`{qualified_name(function)}` cannot be an agent: {'; '.join(problems)}.",
            hint="Give every parameter a name and a type.",
            detail={"findings": problems},
        )
    return parameters


def _container(parameters: list[inspect.Parameter], hints: Mapping[str, Any]) -> Any:
    """A type with one field for each parameter, filled with the function's own default where nothing is said."""
    fields = [
        (each.name, hints[each.name], field(default_factory=lambda value=each.default: value))
        if _has_default(each)
        else (each.name, hints[each.name])
        for each in parameters
    ]
    kind: Any = make_dataclass("Parameters", fields, kw_only=True)
    kind.__pydantic_config__ = ConfigDict(extra="forbid", allow_inf_nan=False)
    return kind


def _wire_name(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> str:
    """What the schema calls a parameter: its alias, when `Field` gives it one."""
    hint = hints[parameter.name]
    metadata = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    aliases = [each.validation_alias or each.alias for each in metadata if isinstance(each, FieldInfo)]
    return next((alias for alias in aliases if isinstance(alias, str)), parameter.name)


def _has_default(parameter: inspect.Parameter) -> bool:
    return parameter.default is not parameter.empty


def _union(hint: object) -> tuple[object, ...]:
    """The members of a union, or the one type; without what `Annotated` adds around it."""
    inner = _strip_annotated(hint)
    return get_args(inner) if get_origin(inner) in {Union, types.UnionType} else (inner,)


def _strip_annotated(hint: object) -> object:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


# From what came back to a reply


def reply_of(value: object, *, dump: Dump | None, wire: bool) -> Reply:
    """Make a reply of what the function returned.

    Args:
        value: What the function returned.
        dump: How the declared type is written; None when none was declared.
        wire: The agent speaks a dialect: its text is still to be read.

    Raises:
        OutputInvalid: The value holds something JSON cannot say.
    """
    match value:
        case str():
            return Reply(text=value) if wire else Reply(data=value, content=value)
        case Reply():
            # The declared type may stand in a reply too, beside warnings and the like.
            return replace(value, data=_dump_value(value.data, dump)) if isinstance(value.data, BaseModel) else value
        case Plan():
            return Reply(plan=value)
        case Result():
            return reply_of_result(cast("Result", value))
        case None if dump is None:
            return Reply(outcome="success")  # it promises no data: that it returned is its answer
        case _:
            return Reply(data=_dump_value(value, dump))


def reply_of_result(result: Result) -> Reply:
    """What a result says, as a reply. What only the boundary may stamp (ids, times, attempts, versions) is left out."""
    facts = {name: getattr(result, name) for name in _SHARED}
    if result.data is None and "data" not in result.model_fields_set:
        facts["data"] = ABSENT
    return Reply(**facts, extras=dict(result.extras) or None)


_SHARED: Final = (
    "artifacts", "completeness", "confidence", "content", "data", "fault", "files_read", "files_written", "outcome",
    "questions", "reasoning", "traces", "usage", "warnings",
)  # fmt: skip


def _dump_value(value: object, dump: Dump | None) -> object:
    if hasattr(type(value), "__next__"):  # writing it might never end
        raise OutputInvalid(
            f"The answer, a `{type(value).__name__}`, is an iterator, which may never end.",
            hint="Return a list of what it yields.",
        )
    try:
        return dump(value) if dump else to_jsonable_python(value, exclude_none=True)
    except (TypeError, ValueError, RecursionError) as error:
        first = str(error).partition("\n")[0]
        raise OutputInvalid(
            f"The answer, a `{type(value).__name__}`, cannot be written as JSON: {first}.",
            hint="Return a pydantic model, a dataclass, or plain lists, dictionaries, texts and numbers.",
        ) from error
