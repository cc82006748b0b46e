"""`@agent` and `@skill`. They only note what was said; everything else happens when the agent is first used."""

from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, Protocol, TypeVar, Unpack, overload

from retinue.contract import names
from retinue.errors import InvalidDefinition

from .options import AgentOptions, SkillOptions
from .python_agent import SKILL_MARK, PythonAgent

__all__ = ["agent", "skill"]

P = ParamSpec("P")
T = TypeVar("T")
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
    _see_they_exist(options, AgentOptions, "@agent")
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
    _see_they_exist(options, SkillOptions, "@skill")

    def mark(function: F) -> F:
        setattr(getattr(function, "__func__", function), SKILL_MARK, options)
        return function

    return mark if function is None else mark(function)


def _see_they_exist(options: AgentOptions | SkillOptions, kind: type[SkillOptions], decorator: str) -> None:
    known = sorted(kind.__optional_keys__)
    unknown = [name for name in options if name not in known]
    if unknown:
        raise InvalidDefinition(
            f"`{decorator}` has no option {', '.join(map(repr, unknown))}.",
            hint=f"Available: {', '.join(known)}.",
            suggestions=names.nearest(unknown[0], known),
        )
