"""The port between an agent that is instructions and whoever drives its model: asks it, and has done what it wants.

Ours is `BUILTIN_LOOP`, over `llm.converse`. Whichever it is, the task, the tools, the guard before each of them, what
is noted and what becomes of the answer are the same, and not its business.
"""

from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Final, Protocol, TypeAlias

from retinue.errors import InvalidInput, NotInstalled
from retinue.llm.budget_tracker import BudgetTracker
from retinue.llm.conversation import Conversation, converse
from retinue.llm.models import Models
from retinue.llm.port import LanguageModel, OnText, Request, Turn
from retinue.llm.tool_calls import ToolCaller


class Loop(Protocol):
    """Drives a model and its tools until it has answered, or a bound is hit."""

    def model(self, name: str, models: Models, /) -> LanguageModel:
        """The model called `name`, as this loop asks it.

        Raises:
            RetinueError: It cannot be asked here; the hint says what is missing.
        """
        ...

    async def converse(
        self,
        model: LanguageModel,
        request: Request,
        /,
        *,
        call_tool: ToolCaller,
        budget_tracker: BudgetTracker,
        max_turns: int,
        on_text: OnText,
        on_turns: Callable[[Sequence[Turn]], None],
        clock: Callable[[], int],
        deadline_ns: int | None,
    ) -> Conversation:
        """Ask `model` until it has answered, as `llm.converse.converse` does and with what that raises."""
        ...


Loops: TypeAlias = Callable[[str], Loop]
"""The loop of an agent, by its name."""


class _BuiltinLoop:
    """Our own loop."""

    converse = staticmethod(converse)

    def model(self, name: str, models: Models, /) -> LanguageModel:
        return models.get(name)


BUILTIN_LOOP: Final[Loop] = _BuiltinLoop()
"""What drives a model when nothing else is said."""


class _MissingLoop:
    """Stands for a loop that is not installed, so that only the agents that need it fail."""

    def __init__(self, name: str) -> None:
        self._name = name

    def model(self, name: str, models: Models, /) -> LanguageModel:
        del name, models
        raise NotInstalled(f"The runner `{self._name}` is not installed.", hint=f"Install `retinue-{self._name}`.")

    async def converse(self, model: LanguageModel, request: Request, /, **_: object) -> Conversation:
        del request
        raise InvalidInput(f"`{model.name}` cannot be asked without its loop.", hint="Take the model from the loop.")


@cache
def installed_loop(name: str) -> Loop:
    """The loop that an installed distribution registers as `name`, by the entry point `retinue.loops`.

    When there is none, asking for its model raises `NotInstalled`.
    """
    for entry_point in entry_points(group="retinue.loops", name=name):
        make_loop: Callable[[], Loop] = entry_point.load()
        return make_loop()
    return _MissingLoop(name)
