"""An agent made of Python: a function, or a class with several skills."""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from types import MethodType
from typing import TYPE_CHECKING, Any, Final, Generic, ParamSpec, cast

from typing_extensions import TypeVar

from retinue.agents.port import Reply, RunContext
from retinue.contract import names
from retinue.contract.definition import Definition, Deprecation, Source, read_tier
from retinue.contract.task import Task
from retinue.contract.version import split_versioned_name
from retinue.errors import InvalidDefinition, UnknownName

from .answer import reply_of
from .docstring import read_docstring
from .entry import Entry, as_tuple, build, read_entry
from .options import AgentOptions, SkillOptions

if TYPE_CHECKING:
    from retinue.contract.facts import Facts
    from retinue.tools.workspace import Workspace

    from .signature import Signature

__all__ = ["SKILL_MARK", "PythonAgent"]

P = ParamSpec("P")
T = TypeVar("T")
AnswerT_co = TypeVar("AnswerT_co", covariant=True, default=Any)

SKILL_MARK: Final = "__retinue_skill__"
"""The attribute in which `@skill` leaves its options on a method."""


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
        entry = self._entry(task.skill)
        arguments = entry.signature.arguments(task, run)
        if isinstance(self._target, type):
            _ = self._object  # made here, so that two threads never make one each
        if entry.asynchronous:
            value = await entry.call(**arguments)
        else:
            value = await _in_thread(entry.call, arguments)
        return reply_of(value, dump=entry.signature.dump, wire=self._speaks)

    def facts(self, skill: str) -> "Callable[[Workspace], Facts] | None":
        """What tells what the parameters of a skill can be in a workspace; None when the skill does not say."""
        if isinstance(self._target, type):
            options = next((options for name, _, options in _marked(self._target) if name == skill), SkillOptions())
        else:
            options = self._options
        read = options.get("facts")
        if read is not None and len(inspect.signature(read).parameters) > 1:
            return MethodType(read, self._object)
        return cast("Callable[[Workspace], Facts] | None", read)

    def answer_type(self, skill: str | None = None) -> Any:
        """The type that a skill declares of its answer; `Any` when it declares none.

        Raises:
            UnknownName: There is no such skill; or there are several and none is named.
        """
        declared = self._entry(skill).signature.answer_type
        return Any if declared is None else declared

    @cached_property
    def _definition(self) -> Definition:
        name, version = self._name_and_version
        options, skills = self._options, self._skills
        facts: dict[str, Any] = {
            "name": name,
            "version": version,
            "description": options.get("description") or read_docstring(self._target.__doc__).description or None,
            "skills": tuple(entry.skill for entry in skills.values()),
            "aliases": as_tuple(options.get("aliases")),
            "wire_names": dict(options.get("wire_names", {})),
            "category": options.get("category"),
            "tags": as_tuple(options.get("tags")),
            "tier": self._tier,
            "model": options.get("model"),
            "tools": as_tuple(options.get("tools")),
            "dialect": options.get("dialect"),
            "composes": options.get("composes", any(entry.signature.plans for entry in skills.values())),
            "deprecated": _deprecation(options.get("deprecated", False)),
            "source": _source(self._target),
            "extras": dict(options.get("extras", {})),
        }
        return build(Definition, facts, about=self._target)

    @cached_property
    def _speaks(self) -> bool:
        return "dialect" in self._options

    @cached_property
    def _name_and_version(self) -> tuple[str, str | None]:
        said, version = self._options.get("name", self._target.__name__), self._options.get("version")
        name, major = split_versioned_name(names.canonical_name(said))
        if major is not None and version is not None and version.partition(".")[0] != str(major):
            raise InvalidDefinition(
                f"The name {said!r} says major {major}, but `version` says {version!r}.", hint="Make them the same."
            )
        return name, version or (None if major is None else f"{major}.0")

    @property
    def _tier(self) -> str | None:
        word = self._options.get("tier")
        return read_tier(word) or word if word else None

    @cached_property
    def _skills(self) -> Mapping[str, Entry]:
        if not isinstance(self._target, type):
            name, _ = self._name_and_version
            options = cast("SkillOptions", {**self._options, "name": name})
            entries = [read_entry(self._target, self._target, options, bound=False)]
        else:
            entries = list(self._methods(self._target))
        skills = {entry.skill.name: entry for entry in entries}
        if len(skills) < len(entries):
            raise InvalidDefinition(f"Two skills of {self!r} have the same name.", hint="Give each its own `name`.")
        return skills

    def _methods(self, kind: type) -> Iterator[Entry]:
        misplaced = sorted(_ONLY_SKILLS.intersection(self._options))
        if misplaced:
            raise InvalidDefinition(
                f"{self!r} is a class, and `{'`, `'.join(misplaced)}` is said of a skill.",
                hint="Move it to the `@skill` it belongs to.",
            )
        marked = _marked(kind)
        if not marked:
            raise InvalidDefinition(f"{self!r} has no skill.", hint="Put `@skill` on the methods others may call.")
        self._see_it_can_be_made(kind)
        for name, member, options in marked:
            function: Callable[..., Any] = getattr(member, "__func__", member)
            if callable(unavailable := options.get("unavailable")):
                asks_object = bool(inspect.signature(unavailable).parameters)
                options["unavailable"] = unavailable(*(self._object,) * asks_object)
            call = functools.partial(self._call_method, name)
            known, bound = self._signatures.get(name), not isinstance(member, staticmethod)
            entry = read_entry(function, call, options, bound=bound, signature=known)
            self._signatures[name] = entry.signature
            yield entry

    def _see_it_can_be_made(self, kind: type) -> None:
        try:
            args, kwargs = self._arguments
            inspect.signature(kind).bind(*args, **kwargs)
        except (TypeError, ValueError) as error:
            raise InvalidDefinition(
                f"{self!r} cannot be made without arguments: {error}.",
                hint="Give each argument a default, or pass them by `bind`.",
            ) from None

    def _call_method(self, name: str, /, **arguments: object) -> Any:
        return getattr(self._object, name)(**arguments)

    @cached_property
    def _object(self) -> Any:
        args, kwargs = self._arguments
        return self._target(*args, **kwargs)

    def _entry(self, name: str | None) -> Entry:
        skills = self._skills
        if name is None and len(skills) == 1:
            return next(iter(skills.values()))
        try:
            return skills[name or ""]
        except KeyError:
            near = names.nearest(name or "", skills)
            raise UnknownName(
                f"`{self.definition.name}` has no skill {name!r}."
                if name
                else f"`{self.definition.name}` has several skills.",
                hint=f"Name one of: {', '.join(skills)}.",
                suggestions=tuple(dict.fromkeys((*near, *skills))),
            ) from None


def _marked(kind: type) -> list[tuple[str, Any, SkillOptions]]:
    """The methods of a class that `@skill` marked: each with its name, and what the decorator said."""
    found: dict[str, tuple[str, Any, SkillOptions]] = {}
    for base in reversed(kind.__mro__):
        for name, member in vars(base).items():
            said: SkillOptions | None = getattr(getattr(member, "__func__", member), SKILL_MARK, None)
            if said is not None:
                found[name] = name, member, {"name": name, **said}
    return list(found.values())


_ONLY_SKILLS: Final = SkillOptions.__optional_keys__ - {"name", "description"}


def _deprecation(said: bool | str | Deprecation) -> Deprecation | None:  # noqa: FBT001 - the option's own type
    if isinstance(said, str):
        return Deprecation(note=said)
    return (Deprecation() if said else None) if isinstance(said, bool) else said


def _source(target: Callable[..., object]) -> Source | None:
    """Where the function or class is written; a class before Python 3.13 does not know its line."""
    code = getattr(target, "__code__", None)
    if code is not None:
        return Source(file=code.co_filename, line=code.co_firstlineno)
    functions = (getattr(member, "__func__", member) for member in vars(target).values())
    files = (member.__code__.co_filename for member in functions if hasattr(member, "__code__"))
    file = next(files, None)
    return Source(file=file, line=getattr(target, "__firstlineno__", None)) if file else None


async def _in_thread(call: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    from retinue.engine.blocking import in_thread  # noqa: PLC0415 - only synchronous functions need it

    value = await in_thread(call, **arguments)
    return await value if inspect.isawaitable(value) else value
