"""An agent made of Python: a function, or a class with several skills; and `@agent` and `@skill`, which make one.

The decorators only note what was said; everything else happens when the agent is first used.
"""

import functools
import inspect
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MethodType
from typing import TYPE_CHECKING, Any, Final, Generic, ParamSpec, Protocol, Unpack, cast, overload

from typing_extensions import TypeVar

from retinue.agents.port import Reply, RunContext
from retinue.contract import names
from retinue.contract.definition import Definition, Skill
from retinue.contract.facts import Facts
from retinue.contract.task import Task
from retinue.contract.version import split_versioned_name
from retinue.errors import InvalidDefinition, UnknownName

from .decorator_options import AgentOptions, SkillOptions
from .signature import Signature, read_signature, reply_of

if TYPE_CHECKING:
    from retinue.tools.workspace import Workspace

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


class PythonAgent(Generic[P, T, AnswerT_co]):
    """A function or class that is an `Agent`, and can still be called as what it was.

    `T` is what calling it gives, `AnswerT_co` what it answers a task with: of an `async` function, what is awaited.

    A class is made once, when its object is first needed, with the arguments of `bind`; concurrent tasks share it.
    """

    def __init__(self, target: Callable[P, T], options: AgentOptions) -> None:
        self._target = target
        self._options = options
        self._arguments: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})
        self._signatures: dict[str, Signature] = {}
        functools.update_wrapper(self, target, updated=())

    def bind(self, *args: P.args, **kwargs: P.kwargs) -> "PythonAgent[P, T, AnswerT_co]":
        """The same agent over an object made with these arguments: `Clerk.bind(database)`. A class only.

        Raises:
            TypeError: The class does not take them.
        """
        inspect.signature(self._target).bind(*args, **kwargs)
        bound = PythonAgent[P, T, AnswerT_co](self._target, self._options)
        bound._arguments, bound._signatures = (args, kwargs), self._signatures
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
            value = await _in_thread(call, arguments)
        return reply_of(value, dump=signature.dump, wire="dialect" in self._options)

    def facts(self, skill: str) -> "Callable[[Workspace], Facts] | None":
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
    def _definition(self) -> Definition:
        from .read_definition import read_definition  # noqa: PLC0415 - that of a ready-made agent is kept, and calls need none

        name, version = self._name_and_version
        return read_definition(
            self._target,
            self._options,
            name=name,
            version=version,
            skills=tuple(map(self._skill, self._entries)),
            returns_plan=any(self._signature(name).returns_plan for name in self._entries),
        )

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
        entries = _marked_skills(self._target)
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
        signature = self._signatures.get(name)
        if signature is None:
            entry = self._entries[name]
            if inspect.isgeneratorfunction(entry.function) or inspect.isasyncgenfunction(entry.function):
                raise InvalidDefinition(
                    f"`{entry.function.__qualname__}` yields.", hint="Return one answer; `run.emit` tells of progress."
                )
            signature = read_signature(entry.function, bound=entry.bound, output=entry.options.get("output"))
            self._signatures[name] = signature
        return signature

    def _skill(self, name: str) -> Skill:
        from .read_definition import read_skill  # noqa: PLC0415 - as above

        entry = self._entries[name]
        unavailable = entry.options.get("unavailable")
        if callable(unavailable):
            asks_object = entry.method is not None and bool(inspect.signature(unavailable).parameters)
            unavailable = unavailable(*(self._object,) * asks_object)
        return read_skill(entry, self._signature(name), unavailable=unavailable)

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


def _marked_skills(kind: type) -> list[SkillEntry]:
    """The methods of a class that `@skill` marked."""
    entries: dict[str, SkillEntry] = {}
    for base in reversed(kind.__mro__):
        for name, member in vars(base).items():
            function: Any = getattr(member, "__func__", member)
            options: SkillOptions | None = getattr(function, SKILL_MARK, None)
            if options is not None:
                bound = not isinstance(member, staticmethod)
                entries[name] = SkillEntry(function, {"name": name, **options}, method=name, bound=bound)
    return list(entries.values())


_ONLY_SKILLS: Final = SkillOptions.__optional_keys__ - {"name", "description"}


async def _in_thread(call: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    from retinue.engine.blocking import in_thread  # noqa: PLC0415 - only synchronous functions need it

    value = await in_thread(call, **arguments)
    return await value if inspect.isawaitable(value) else value


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
