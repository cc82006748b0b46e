"""Runs plans in simulated time, and lets the process die at any moment.

`simulate` makes a plan out of a seed, runs it over the real orchestrator, engine and journal, and resumes it from what
had been committed at each moment. Time, order, chance and faults come from the seed, so what fails once fails again.
"""

import asyncio
import json
import random
import selectors
import sqlite3
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache, partial
from typing import Any, Final, TypeVar, cast, get_args

from retinue.agents.boundary import Boundary
from retinue.agents.port import Agent, Reply, RunContext
from retinue.agents.python import agent
from retinue.agents.registry import Registry
from retinue.contract.definition import Definition
from retinue.contract.plan import Candidate, Delegation, Join, Plan
from retinue.contract.result import Outcome, Result, Warned
from retinue.contract.task import Answer, Budget, Limits, Question, Task
from retinue.engine.base import Outside
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.engine.store import FORMAT, TABLES, Connection, Row, RunTakenOver
from retinue.errors import InternalError, RetinueError
from retinue.orchestration.orchestrator import Orchestrator, workflows

__all__ = ["Simulation", "simulate"]

T = TypeVar("T")

_BEGAN_NS: Final = 1_700_000_000_000_000_000
_DAY: Final = date(2023, 11, 14)
_TICK_S: Final = 1e-6
"""How far time goes beyond the next timer: a sum of floats may fall short of it, for ever."""

_MOST_S: Final = 10_000


@dataclass(frozen=True, slots=True)
class Simulation:
    """What came of `simulate`.

    Attributes:
        plan: What was run.
        result: What it came to when nothing died.
        journal: The events of that run and of its child runs, as rows.
        points: How many transactions it took: after each of them a process can die.
    """

    seed: int
    plan: Plan
    result: Result
    journal: tuple[Row, ...]
    points: int


def simulate(
    seed: int, *, crashes: int | None = 3, plan: Plan | None = None, agents: Sequence[Agent] = ()
) -> Simulation:
    """Run a plan in simulated time, and resume it after so many crashes, each at another moment.

    However often it goes on, nothing that is recorded is done or recorded again, nothing is handed on before it is
    committed, no event is missing, and it ends in an outcome of the contract. Some processes die in the recovery too,
    and some are only taken for dead and work on beside their successor. Not to be called where an event loop runs.

    Args:
        seed: Decides everything: plan, faults, answers, order, and when a process dies.
        crashes: After how many of its transactions the process dies, each in a run of its own; None: after each.
        plan: What is run in place of a plan made of the seed, which has joins of every kind, agents that answer with
            plans, and questions.
        agents: Who runs it. Beside what they do themselves they take time, fail, and answer in part now and then. What
            is to be the same each time must come from their `RunContext`.

    Raises:
        InternalError: Something of that does not hold. `detail` has the seed, and the transaction after which a process
            died.
    """
    chance = random.Random(seed)  # noqa: S311 - here and below: it has to be the same each time
    plan, agents = plan or _random_plan(chance), agents or (_answer, _answer_too, _compose, _ask)
    disk = _Disk()
    result = _Play(seed, 0, plan, agents).run(disk)
    points: Sequence[int] = range(1, len(disk.images))
    if crashes is not None and crashes < len(points):
        points = sorted(chance.sample(points, crashes))
    for point in points:
        play, copy = _Play(seed, point, plan, agents), _Disk(disk.images[point])
        play.run(copy, usurped_after=play.chance.randint(1, 20) if point % 3 == 1 else None)
        if point % 3 == 2 and len(copy.images) > 1:
            play.run(_Disk(play.chance.choice(copy.images[1:])))
    return Simulation(seed, plan, result, disk.rows(), len(disk.images) - 1)


# Time and order


class _Clock(selectors.SelectSelector):
    """Waits for nothing: time jumps to the next timer."""

    now_s = 0.0
    ready: "deque[object]"
    chance: random.Random

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise InternalError(f"After {self.now_s:g} s nothing runs any more, and nothing is waited for.")
        if timeout > 0:
            self.now_s += timeout + _TICK_S
            if self.now_s > _MOST_S:
                raise InternalError(f"It is not over after {_MOST_S:g} s.")
        elif len(self.ready) > 1:
            self.chance.shuffle(self.ready)
        return []


class _Loop(asyncio.SelectorEventLoop):
    is_simulated = True

    def __init__(self, chance: random.Random) -> None:
        self.clock = _Clock()
        super().__init__(self.clock)
        self.clock.ready, self.clock.chance = vars(self)["_ready"], chance

    def time(self) -> float:
        return self.clock.now_s

    def now_ns(self) -> int:
        return _BEGAN_NS + round(self.clock.now_s * 1_000_000_000)


# What is left when a process dies


@lru_cache(maxsize=1)
def _empty_image() -> bytes:
    connection = sqlite3.connect(":memory:")
    for statement in TABLES:
        connection.execute(statement)
    image = connection.serialize()
    connection.close()
    return image


class _Disk:
    """A database as several processes see it, one after the other or at once.

    Attributes:
        images: What it held at first and after each transaction.
        alive: The names of the processes that count as alive.
        watchers: Called when another process than that of their name has written.
    """

    def __init__(self, image: bytes | None = None) -> None:
        self.images = [image or _empty_image()]
        self.alive: set[str] = set()
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.connection.deserialize(self.images[0])
        self.watchers: dict[str, Callable[[], None]] = {}

    def rows(self) -> tuple[Row, ...]:
        return tuple(self.connection.execute("SELECT * FROM events ORDER BY run, sequence"))

    def has_end(self, run: str, node: str) -> bool:
        """Whether the end of a step, or of the further steps of its node, is committed."""
        query = "SELECT 1 FROM events WHERE run = ? AND kind = 'finished' AND (node = ? OR node GLOB ?)"
        return self.connection.execute(query, (run, node, f"{node}~*")).fetchone() is not None


class _SharedStore:
    """The store of a journal: one process at a disk."""

    locks_row, clock, host, watch_s = "", "0", "", 1.0  # nothing that is measured by the clock is stored
    in_list = "IN (SELECT value FROM json_each(?))"

    def __init__(self, disk: _Disk, name: str) -> None:
        self.place, self._disk = name, disk
        disk.alive.add(name)

    def exists(self) -> bool:
        return True

    def transact(self, work: Callable[[Connection], T]) -> T:
        connection = self._disk.connection
        connection.execute("BEGIN")
        try:
            value = work(connection)
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
        self._disk.images.append(connection.serialize())
        for name, on_change in self._disk.watchers.items():
            if name != self.place:
                on_change()
        return value

    def read(self, work: Callable[[Connection], T]) -> T:
        return work(self._disk.connection)

    def has_changed(self) -> bool:
        return True

    def owner(self) -> str:
        return self.place

    def format(self) -> int:
        return FORMAT

    def damage(self, connection: Connection) -> Sequence[str]:  # noqa: ARG002 - the port gives it
        return ()

    def shrink(self, connection: Connection) -> None:
        """The memory is given back with all of it."""

    def is_alive(self, owner: str, connection: Connection, /) -> bool:  # noqa: ARG002 - the same
        return owner in self._disk.alive

    def is_gone(self, owner: str, connection: Connection, /) -> bool:
        """See `Store`."""
        return not self.is_alive(owner, connection)

    def has_left(self, _owner: str, /) -> bool:
        """See `Store`. They die."""
        return False

    def stopped_pid(self, _owner: str, /) -> int | None:
        """See `Store`. Its processes are none of the system's."""
        return None

    def close(self) -> None:
        self._disk.alive.discard(self.place)
        self._disk.watchers.pop(self.place, None)


# Who does the work


@agent(description="Answers.")
async def _answer(run: RunContext, number: int = 0) -> dict[str, int]:
    """Answer."""
    return {"number": number + int(run.random() * 10)}


@agent(description="Answers where the other does not.")
async def _answer_too(number: int = 0) -> dict[str, int]:
    """Answer."""
    return {"number": number}


@agent(description="Answers with a plan.", composes=True)
async def _compose(run: RunContext, number: int = 0) -> Plan | dict[str, int]:
    """Plan, and answer."""
    if run.parts is not None:
        return {"number": len(run.parts)}
    return _random_plan(random.Random(run.random()), above=number + 1)  # noqa: S311


@agent(description="Asks somebody.")
async def _ask(run: RunContext, number: int = 0) -> dict[str, Any]:
    """Ask, and answer."""
    kind = "approval" if run.random() < 0.5 else "question"
    answer = await run.ask(Question(id="sure", text="Is it sure?", kind=kind))
    return {"number": number, "answer": answer and answer.value}


def _random_plan(chance: random.Random, above: int = 0) -> Plan:
    """A plan for the agents above; `above` plans stand over it."""
    nodes: list[Delegation] = []
    kinds = ("answer", "answer", "answer", "ask", "compose")[: 5 if above < 2 else 3]
    for number in range(chance.randint(1, 3 if above else 6)):
        needs = chance.sample([node.id for node in nodes], min(len(nodes), chance.randint(0, 3)))
        name = f"n{number}"
        nodes.append(
            Delegation(
                id=name,
                agent=chance.choice(kinds),
                parameters={"number": above * 10 + number},
                needs=tuple(needs),
                join=chance.choice(get_args(Join)),
                quorum=chance.choice((0.5, 0.7, 1.0)),
                optional=chance.random() < 0.2,
                limits=Limits(timeout_s=30),
                alternatives=(Candidate(agent="answer_too", skill="answer_too", score=1, share=0.9),)
                if chance.random() < 0.2
                else (),
                questions=(Question(id="number", text="How many?", parameter="number"),)
                if chance.random() < 0.1
                else (),
            )
        )
    join, quorum = chance.choice(get_args(Join)), chance.choice((0.5, 1.0))
    return Plan(nodes=tuple(nodes), join=join, quorum=quorum, call_again=bool(above) and chance.random() < 0.5)


class _Unreliable:
    """An agent that takes time, and fails and answers in part now and then."""

    def __init__(self, inner: Agent, note_call: Callable[[Task], None], chance: random.Random) -> None:
        self._inner, self._note_call, self._chance = inner, note_call, chance

    @property
    def definition(self) -> Definition:
        return self._inner.definition

    async def run(self, task: Task, run: RunContext) -> Reply:
        self._note_call(task)
        fate = self._chance.random()
        if fate < 0.9:  # the others answer at once
            await run.sleep(self._chance.random() * 3)
        if fate < 0.06:
            raise ConnectionResetError("The line is down.")
        if fate < 0.09:
            raise ValueError("It cannot be done.")
        if fate < 0.11:
            await run.sleep(1_000_000)
        if fate < 0.14:
            return Reply(data="This is no answer.")
        reply = await self._inner.run(task, run)
        if fate < 0.2 and reply.plan is None and reply.outcome is None:
            warning = Warned(type="missing_data", message="There is more.")
            return replace(reply, outcome="partial", warnings=(*reply.warnings, warning))
        return reply


class _Person:
    """Answers most questions, after a while."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    async def answer(self, question: Question) -> Answer | None:
        chance = self._chance
        await asyncio.sleep(chance.random() * 5)
        value = chance.random() < 0.8 if question.kind == "approval" else chance.randint(0, 9)
        return Answer(question_id=question.id, value=value) if chance.random() < 0.9 else None

    async def visit(self, engine: InProcessEngine, disk: _Disk, run: str) -> None:
        """Look now and then what is asked, and answer it in this process or in another."""
        while True:
            await asyncio.sleep(1)
            for pending in await engine.questions(run):
                if (answer := await self.answer(pending.question)) is None:
                    continue
                with suppress(RetinueError):  # it waits no longer
                    if self._chance.random() < 0.5:
                        await engine.answer(pending.run, answer)
                    else:
                        Journal(_SharedStore(disk, "another"), later=lambda write: write()).answer(pending.run, answer)


class _Play:
    """One plan, run and resumed.

    Args:
        point: The transaction after which the first process has died; 0 when none has.
    """

    def __init__(self, seed: int, point: int, plan: Plan, agents: Sequence[Agent]) -> None:
        self.chance = random.Random(f"{seed} {point}")  # noqa: S311
        self._seed, self._point, self._plan, self._agents = seed, point, plan, agents
        self._process_count = 0
        self._faults: list[str] = []

    def run(self, disk: _Disk, usurped_after: int | None = None) -> Result:
        """Start the run that the disk shall hold, or resume it.

        Args:
            disk: What is there.
            usurped_after: After so many transactions its process counts as dead, and another takes over.

        Raises:
            InternalError: What must hold does not.
        """
        try:
            with asyncio.Runner(loop_factory=partial(_Loop, self.chance)) as runner:
                result = runner.run(self._work(disk) if usurped_after is None else self._usurp(disk, usurped_after))
        except Exception as error:
            raise self._error(f"`{type(error).__name__}`: {error}") from error
        for fault in (*self._faults, *_faults_in(disk.rows())):
            raise self._error(fault)
        return result

    async def _usurp(self, disk: _Disk, after: int) -> Result:
        moment, count = asyncio.Event(), len(disk.images) + after
        disk.watchers["usurper"] = lambda: moment.set() if len(disk.images) >= count else None
        first = asyncio.create_task(self._work(disk))
        watch = asyncio.create_task(moment.wait())
        await asyncio.wait((first, watch), return_when=asyncio.FIRST_COMPLETED)
        if not watch.cancel():
            disk.alive.clear()
            result = await self._work(disk)
            with suppress(RunTakenOver, TimeoutError):  # one that waits for an answer has nothing to be refused
                await asyncio.wait_for(first, 100)
            return result
        return await first

    async def _work(self, disk: _Disk) -> Result:
        """One process."""
        self._process_count += 1
        chance = random.Random(f"{self._seed} {self._point} {self._process_count}")  # noqa: S311
        loop = cast("_Loop", asyncio.get_running_loop())
        loop.set_exception_handler(lambda _, facts: self._faults.append(f"{facts['message']}: {facts}"))
        recorded = {f"{run}:{node}" for run, node, result in _ends(disk.rows()) if _is_kept(result)}

        def write_later(write: Callable[[], None]) -> object:
            return loop.call_later(chance.random() / 20, write) if self._seed % 2 else write()

        person, note_call = _Person(chance), partial(self._note_call, disk, recorded)
        agents = Registry([_Unreliable(inner, note_call, chance) for inner in self._agents])
        outside = Outside(clock=loop.now_ns, chance=chance.random, pause=asyncio.sleep)
        is_waiting = self._seed % 3 == 0
        process = _SharedStore(disk, f"process {self._point}.{self._process_count}")
        with Journal(process, later=write_later) as journal:
            async with InProcessEngine(
                workflows(agents, boundary=Boundary(agents), outside=outside),
                journal=journal,
                answerer=None if is_waiting else person.answer,
                waits_for_answers=is_waiting,
                clock=outside.clock,
                random=outside.chance,
            ) as engine:
                disk.watchers[process.place] = engine.look_for_mail
                row = disk.connection.execute("SELECT run FROM runs WHERE parent IS NULL").fetchone()
                if row is not None:
                    run = await engine.resume(row[0])
                else:
                    budget = Budget(timeout_s=chance.choice((20, 1000)))
                    run = await Orchestrator(agents, engine, today=_DAY).start(self._plan, budget=budget)
                visits = asyncio.create_task(person.visit(engine, disk, run)) if is_waiting else None
                if chance.random() < 0.1:
                    loop.call_later(chance.random() * 10, lambda: loop.create_task(engine.cancel(run)))
                result = await engine.result(run)
                if visits is not None:
                    visits.cancel()
                if (run, "", json.loads(result.to_json_text())) not in _ends(disk.rows()):
                    self._faults.append(f"`{run}` gave a result that is not committed.")
                if result.outcome not in get_args(Outcome) and result.lifecycle != "input_required":
                    self._faults.append(f"`{run}` ended without an outcome.")
                return result

    def _note_call(self, disk: _Disk, recorded: set[str], task: Task) -> None:
        run, _, step = task.id.rpartition(":")
        if task.id in recorded:
            self._faults.append(f"`{step}` of `{run}` is done again, though its result is recorded.")
        for need in task.context.inputs:
            if not disk.has_end(run, need):
                self._faults.append(f"`{step}` of `{run}` got the result of `{need}` before it was committed.")

    def _error(self, fault: str) -> InternalError:
        died = f", died after transaction {self._point}" if self._point else ""
        return InternalError(
            f"Seed {self._seed}{died}: {fault}",
            hint=f"Replay it: retinue.testing.simulate({self._seed}, crashes=None)",
            detail={"seed": self._seed, "point": self._point},
        )


# What must hold of what was recorded


def _ends(rows: Iterable[Row]) -> list[tuple[str, str, dict[str, Any]]]:
    """Run, node and result of everything that ended, in the order in which it did."""
    return [(row[0], row[2], json.loads(row[6])["result"]) for row in rows if row[4] == "finished"]


def _is_kept(result: dict[str, Any]) -> bool:
    return result["lifecycle"] == "working" or result.get("outcome") in {"success", "partial"}


def _faults_in(rows: Sequence[Row]) -> list[str]:
    faults: list[str] = []
    last: dict[str, int] = {}
    for run, sequence, *_ in rows:
        if sequence > 0 and sequence != last.get(run, 0) + 1:
            faults.append(f"Event {sequence} of `{run}` follows event {last.get(run, 0)}.")
        last[run] = max(sequence, 0)
    counts = Counter((run, node) for run, node, result in _ends(rows) if node and _is_kept(result))
    faults += [
        f"The result of `{node}` of `{run}` is recorded {count} times."
        for (run, node), count in counts.items()
        if count > 1
    ]
    pending: dict[tuple[str, str], str] = {}
    for run, _, node, _, kind, _, body in rows:
        if kind == "asked" and pending.get((run, node)) == body:
            faults.append(f"`{node}` of `{run}` is asked again while it waits.")
        if kind == "asked":
            pending[run, node] = body
        elif kind in {"answered", "finished"}:
            pending.pop((run, node), None)
    return faults
