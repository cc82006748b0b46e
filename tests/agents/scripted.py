"""Agents that do what a test says, attempt by attempt, and a clock that stands still unless somebody waits."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from retinue.agents.boundary import Boundary
from retinue.agents.local import LocalContext
from retinue.agents.port import Reply, RunContext
from retinue.agents.registry import Registry
from retinue.contract.definition import Definition, Skill
from retinue.contract.event import Body
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.contract.task import Budget, Task
from retinue.engine.base import Outside
from retinue.tools.workspace import Workspace

if TYPE_CHECKING:
    from retinue.contract.task import Correction

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND

TAKES: JsonMapping = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "limit": {"type": "integer", "default": 5}},
    "additionalProperties": False,
}
GIVES: JsonMapping = {
    "type": "object",
    "properties": {"words": {"type": "integer", "minimum": 0}},
    "required": ["words"],
    "additionalProperties": False,
}

Move: TypeAlias = Reply | BaseException | Callable[[Task, RunContext], Awaitable[object]]
"""One attempt: a reply to give, an exception to raise, or code to run."""


def skill(name: str = "count", **facts: Any) -> Skill:
    said: JsonMapping = {"description": "Counts words.", "input_schema": TAKES, "output_schema": GIVES, **facts}
    return Skill(name=name, **said)


class Scripted:
    """An agent that makes one move an attempt, the last one again and again.

    Attributes:
        seen: The task, the correction and the deadline of each attempt.
    """

    def __init__(self, *moves: Move, skills: tuple[Skill, ...] = (), name: str = "counter", **facts: Any) -> None:
        self.definition = Definition(name=name, description="Counts.", skills=skills or (skill(),), **facts)
        self.moves = moves or (GOOD,)
        self.seen: list[tuple[Task, Correction | None, int | None]] = []

    @property
    def calls(self) -> int:
        return len(self.seen)

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        move = self.moves[min(self.calls, len(self.moves) - 1)]
        self.seen.append((task, run.correction, run.deadline_ns))
        if isinstance(move, BaseException):
            raise move
        return move if isinstance(move, Reply) else await move(task, run)  # pyright: ignore[reportReturnType] - garbage is the point


GOOD = Reply(data={"words": 2})
BAD = Reply(data={"words": "two"})


class Clock:
    """Time that passes only while somebody waits by it.

    Attributes:
        waits: How long each wait was, in seconds.
    """

    def __init__(self) -> None:
        self.now_ns = START
        self.waits: list[float] = []

    def __call__(self) -> int:
        return self.now_ns

    async def pause(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now_ns += int(seconds * SECOND)


def context(
    clock: Clock | None = None,
    *,
    chance: float = 0.5,
    workspace: Workspace | None = None,
    budget: Budget | None = None,
    deadline_ns: int | None = None,
) -> LocalContext:
    """A run context on a clock of the test's own."""
    clock = clock or Clock()
    return LocalContext(
        outside=Outside(clock=clock, pause=clock.pause, chance=lambda: chance),
        workspace=workspace,
        budget=budget,
        deadline_ns=deadline_ns,
    )


def task(parameters: JsonMapping | None = None, /, **facts: Any) -> Task:
    said: JsonMapping = {"agent": "counter", "parameters": parameters or {}, **facts}
    return Task(id="t1", **said)


async def ask(agent: Scripted, request: Task | None = None, run: LocalContext | None = None, **options: Any) -> Result:
    """Call `agent` through a boundary of its own."""
    return await Boundary(Registry([agent]), **options).call(request or task(), run or context())


def bodies(run: LocalContext) -> list[Body]:
    return [event.body for event in run.events]
