"""The port between orchestration and the place where its steps run.

Seen from outside, an `Engine` starts runs of named workflows and answers for them: events, questions, results,
history. Seen from inside, a workflow gets a `WorkflowScope`, its only access to time, chance, waiting and effects, so
the same workflow runs in memory and durably. Nothing here knows agents, plans or goals.

The body of a step is not replayed, only its result is kept, so it may see the world as it is; but through one value,
`Outside`, so that a test can hold the clock still.

Rules for a workflow, which a durable engine replays from its records:

- No clock, random, uuid or asyncio waiting of its own: only what the `WorkflowScope` gives.
- `reserve` every step name in a stable order before starting the first of them; names added later, when added.
- Steps, children and questions are started by the workflow itself, never inside a step.
- A failing step is a `Result` with a fault, never an exception to branch on.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, Self, TypeAlias

from retinue.contract.event import Body, Event
from retinue.contract.model import JsonMapping
from retinue.contract.result import Lifecycle, Outcome, Result
from retinue.contract.task import Answer, Question
from retinue.errors import InvalidInput, RetinueError

Step: TypeAlias = Callable[[], Awaitable[Result]]
"""The body of a step. It runs at least once; its result is recorded once."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an engine promises beyond the port.

    Attributes:
        durable: What has been handed on is recorded: ended runs, and the finished steps of interrupted ones, are there
            after the process has died. Another process can follow, answer, cancel and resume a run.
    """

    durable: bool = False


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One line of history. Times are nanoseconds since 1970 UTC.

    Attributes:
        lifecycle: `working` also for a run whose process died; then `stalled` says so.
        label: What a person called it: the goal.
        owner: For whom it was started; "" when nobody said so.
        labels: Facts that whoever started it wants to find it by.
        finished_steps: Names of the steps whose results are recorded and useful: a resumed run keeps these.
        stopped_pid: The process that works on it, while that is stopped (SIGSTOP), as far as the store can tell.
        damage: Why its stored history cannot be read, with most other fields empty then; empty when it can.
        waits_for: What must be there before it can go on, when no worker of this machine and version can take it.
    """

    run: str
    workflow: str
    lifecycle: Lifecycle
    outcome: Outcome | None
    label: str
    started_ns: int
    ended_ns: int | None = None
    stalled: bool = False
    parent: str | None = None
    finished_steps: tuple[str, ...] = ()
    damage: str = ""
    owner: str = ""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    waits_for: str = ""
    stopped_pid: int | None = None

    @property
    def cursor(self) -> str:
        """Where a list goes on that ended with this run: `RunFilter.after`."""
        return f"{self.started_ns}.{self.run}"


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs a list is to have; what is None or empty does not matter.

    Attributes:
        labels: Labels that a run has among its own.
        agent: An agent that was called in it.
        text: Part of its label, in small or capital letters.
        after: The `cursor` of the last run that is known already.
    """

    owner: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    lifecycle: Lifecycle | None = None
    outcome: Outcome | None = None
    agent: str | None = None
    text: str = ""
    after: str = ""

    @property
    def position(self) -> tuple[int, str] | None:
        """Start and id of the run that `after` names.

        Raises:
            InvalidInput: It is not a cursor.
        """
        if not self.after:
            return None
        start, _, run = self.after.partition(".")
        if not (start.isascii() and start.isdecimal() and len(start) < 20 and run):
            raise InvalidInput(
                f"{self.after[:80]!r} is not a cursor.", hint="Use the one that came with the page before."
            )
        return int(start), run

    def matches(self, record: RunRecord) -> bool:
        """Whether a run is among those meant, as far as its record tells: `agent` and `after` are not looked at."""
        return (
            self.owner in (None, record.owner)
            and self.labels.items() <= record.labels.items()
            and self.lifecycle in (None, record.lifecycle)
            and self.outcome in (None, record.outcome)
            and self.text.casefold() in record.label.casefold()
        )


EVERY_RUN: Final = RunFilter()


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """A question that waits for an answer, and the run that is to be answered: a child run's has the child's id."""

    run: str
    question: Question


class WorkflowScope(Protocol):
    """One run's access to its engine, given to the workflow."""

    @property
    def run(self) -> str:
        """Id of this run."""
        ...

    @property
    def events(self) -> Sequence[Event]:
        """What has happened in this run, also before it was resumed."""
        ...

    def reserve(self, names: Iterable[str]) -> None:
        """Announce steps, in an order that a replay repeats. A name is reserved once.

        Raises:
            InvalidInput: A name was reserved before.
        """
        ...

    def step(self, name: str, body: Step) -> None:
        """Start a reserved step. On a resumed run a recorded useful result is delivered and the step not run again.

        Raises:
            InvalidInput: The name was not reserved, or was started before.
        """
        ...

    def child(self, name: str, workflow: str, payload: JsonMapping) -> None:
        """Start another workflow as run `{run}:{name}`; its result is delivered like a step's.

        It is cancelled with this run. `name` is reserved if it was not. The same holds for `ask`.

        Raises:
            InvalidInput: The name was started before.
            UnknownName: No workflow is registered under that name.
        """
        ...

    def ask(self, name: str, question: Question) -> None:
        """Ask a person. Delivered as a result: outcome `success` with the answer's value as `data`, or `rejected`."""
        ...

    async def completed(self) -> Sequence[tuple[str, Result]]:
        """Wait until something that was started has ended, and take all that ended since, in the order they ended.

        An exception out of a step body arrives as outcome `failed`, fault `internal_error`; one of ours keeps its code.
        When the run is cancelled, `asyncio.CancelledError` is raised here: a workflow may catch it, stop what still
        runs, collect it, and return what there is.

        Raises:
            InternalError: Nothing is running: it would wait for ever.
        """
        ...

    def stop(self, name: str) -> None:
        """Cancel what was started under `name`; it is still delivered, as outcome `canceled`."""
        ...

    def emit(self, body: Body, *, node: str = "", attempt: int = 0) -> None:
        """Record an event. Allowed inside steps too, and from threads.

        The engine itself records `Started` and `Finished` of the run and of its child runs, `Finished` of everything
        it delivers, and `Asked` and `Answered` of its questions. `Started` of a node is the caller's to emit.

        Raises:
            InvalidInput: `body` is `Finished`.
        """
        ...

    async def commit(self) -> None:
        """Wait until everything emitted so far is recorded. Allowed inside steps too.

        Worth its time before something that must not happen twice unknown.
        """
        ...

    async def now(self) -> int:
        """Nanoseconds since 1970 UTC; the same value on a replay."""
        ...

    async def random(self) -> float:
        """A number in [0, 1); the same value on a replay."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; a replay does not wait again for what has passed."""
        ...


Workflow: TypeAlias = Callable[[WorkflowScope, JsonMapping], Awaitable[Result]]
"""Orchestration's code for one kind of run, registered with an engine under a name. Its payload is JSON data."""


class Engine(Protocol):
    """A place where runs run. Leaving the context stops what still runs."""

    capabilities: Capabilities

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...

    async def start(
        self,
        workflow: str,
        payload: JsonMapping,
        *,
        run: str | None = None,
        label: str = "",
        owner: str = "",
        labels: Mapping[str, str] | None = None,
    ) -> str:
        """Start a run for `owner` and give its id, when its start is recorded. The same `run` twice is one run.

        Raises:
            UnknownName: No workflow is registered under that name.
            InvalidInput: `run` cannot be an id or is that of another goal, or the payload is not JSON data.
        """
        ...

    async def result(self, run: str) -> Result:
        """Wait for a run and give its result.

        Raises:
            UnknownName: There is no such run.
            Unavailable: Its process died before it ended, or another process has taken it over.
            ParseError: Its record cannot be read; the same holds for `events`, `questions`, `get`, `payload`, `resume`.
        """
        ...

    def events(self, run: str, *, after: int = 0, follow: bool = True) -> AsyncIterator[Event]:
        """The run's events with a sequence above `after`, then, when `follow`, new ones until it ends."""
        ...

    async def questions(self, run: str) -> Sequence[PendingQuestion]:
        """The questions of a run and of its child runs that wait for an answer, the oldest of each first.

        Raises:
            UnknownName: There is no such run.
        """
        ...

    async def answer(self, run: str, answer: Answer) -> None:
        """Answer a pending question of a run, whoever works on it. The same answer twice is one answer.

        Raises:
            UnknownName: There is no such run, or no such pending question; the pending ones are listed.
            InvalidInput: The answer does not fit its question, or the question has another answer already.
        """
        ...

    async def add_event(self, run: str, body: Body) -> None:
        """Record what happened around a run and not in its workflow, also after its end.

        Raises:
            UnknownName: There is no such run.
            Unavailable: Another process works on the run.
        """
        ...

    async def cancel(self, run: str, *, reason: str = "") -> None:
        """Stop a run, whoever works on it, without waiting for its end.

        Its result is `canceled` and keeps what was finished.

        Raises:
            UnknownName: There is no such run.
        """
        ...

    async def list(self, *, limit: int = 50, where: RunFilter = ...) -> Sequence[RunRecord]:
        """The newest runs first. Child runs are not listed; `get` finds them.

        Raises:
            InvalidInput: `where.after` is not a cursor.
        """
        ...

    async def count(self, where: RunFilter) -> int:
        """How many runs a list has in all. Only owner, labels and agent of `where` are looked at."""
        ...

    async def get(self, run: str, *, owner: str | None = None) -> RunRecord:
        """One run's record.

        Args:
            run: Its id.
            owner: For whom it must have been started; then nobody else's run is told from none.

        Raises:
            UnknownName: There is no such run; near names are suggested, unless an owner is given.
        """
        ...

    async def payload(self, run: str) -> JsonMapping:
        """What a run was started with.

        Raises:
            UnknownName: There is no such run.
        """
        ...

    async def fail(self, run: str, error: RetinueError) -> None:
        """End a run that no process works on as failed.

        Raises:
            UnknownName: There is no such run.
            InvalidInput: Another process works on it.
        """
        ...

    async def wait_here(self, run: str) -> Result | None:
        """Wait as long as a run is worked on here; gives its result, or None when it was let go of.

        Raises:
            RetinueError: Another process has taken it over, or will, since it cannot be recorded any more.
        """
        ...

    async def resume(self, run: str, *, unless_ended: bool = False) -> str:
        """Continue a run that did not end well, without repeating its finished steps; gives the run's id.

        A run that still runs or ended with success is left as it is; `unless_ended` refuses each that has ended.
        Steps that ended `success` or `partial` are finished, and so are those whose work a child run does (`working`);
        all others run again. Answers that a person gave are kept.
        Time and chance repeat until the first step that is run anew has ended.

        Raises:
            UnknownName: There is no such run, or its workflow is not known here.
            InvalidInput: It is a child run, another process works on it, or it has ended in the meantime.
            ParseError: Its record cannot be read.
        """
        ...

    async def fork(self, run: str, *, without: Sequence[str] = (), payload: JsonMapping | None = None) -> str:
        """Start a copy of a run that keeps its finished steps, except those named; gives the new id.

        Args:
            run: Its id.
            without: The steps that are run again.
            payload: What the copy is started with, in place of what the run was.
        """
        ...


@dataclass(frozen=True, slots=True)
class Outside:
    """What the body of a step may know of the world.

    Attributes:
        clock: Nanoseconds since 1970 UTC.
        chance: Numbers in [0, 1).
        pause: Waits for so many seconds, without blocking others.
        steady: Nanoseconds by a clock that nobody sets; `clock` itself when absent.
    """

    clock: Callable[[], int] = time.time_ns
    chance: Callable[[], float] = random.random
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    steady: Callable[[], int] | None = None

    def stopwatch(self) -> Callable[[], int]:
        """A clock that begins with what `clock` says now, and goes on steadily when that is set."""
        steady = self.steady or self.clock
        ahead_ns = self.clock() - steady()
        return lambda: steady() + ahead_ns


REAL: Final = Outside(steady=time.monotonic_ns)
"""The machine's own clock and chance."""
