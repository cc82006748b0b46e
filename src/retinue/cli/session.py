"""One run as a command drives it: started or resumed, watched, interrupted if need be, and always brought to an end.

What is asked is the business of `run` and `ask`, what is shown of `screen` and `answer`. Whatever happens here, nothing
stays behind: no process, no thread that anybody waits for, no open journal.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, Final, TypeAlias, cast

import click

from retinue.cli import places
from retinue.cli.app import tell_error
from retinue.cli.exits import Exit
from retinue.cli.nodes import Nodes
from retinue.cli.options import Form
from retinue.cli.output import json_line, stdout_set_aside, tell
from retinue.cli.plans import thinks_along
from retinue.cli.project import Project
from retinue.cli.screen import Screen, screen_for, somebody_is_there
from retinue.cli.watchdog import Watchdog
from retinue.cli.wording import said_here
from retinue.contract.credentials import cleaned, process_cleaner
from retinue.contract.event import Asked, Decision, Event, Finished, Started
from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Plan
from retinue.contract.result import Result
from retinue.engine.ids import CHILD
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.engine.offload import Pool
from retinue.errors import Canceled, InvalidInput, Unavailable, UnknownName
from retinue.orchestration.decisions import Decided
from retinue.orchestration.orchestrator import Orchestrator
from retinue.orchestration.order import RESERVED

if TYPE_CHECKING:
    from retinue.cli.questions import Person

__all__ = ["Begin", "Begun", "Ended", "Settled", "conduct", "resuming", "settled_in"]

_INTERRUPTED: Final = "Interrupted from the terminal."


@dataclass(frozen=True, slots=True)
class Settled:
    """What was settled on the command line and must hold when the run is resumed. Kept in the plan's extras.

    Attributes:
        verb: `run` or `ask`.
        workspace: The folder.
        agents: The only agents it may use; empty means all.
        module: The module of `ACTIVE_AGENT_PATH`, when that is who was asked.
        command: The command line that was asked, with all that was said of it.
        model: The model of whoever names none, when it was named there.
        runner: What drives the models of agents that are instructions, likewise.
        level: How strictly answers are judged, likewise.
    """

    verb: str
    workspace: str
    agents: tuple[str, ...] = ()
    module: str = ""
    command: JsonMapping = field(default_factory=dict[str, Any])
    model: str = ""
    runner: str = ""
    level: str = ""

    def noted_in(self, plan: Plan) -> Plan:
        """`plan` with this in it."""
        facts: JsonMapping = {"verb": self.verb, "workspace": self.workspace, "agents": list(self.agents)}
        facts |= {"module": self.module, "command": self.command, "model": self.model, "runner": self.runner}
        facts["level"] = self.level
        said = {name: value for name, value in facts.items() if value}
        return plan.model_copy(update={"extras": {**plan.extras, "cli": said}})


def settled_in(plan: Plan) -> Settled | None:
    """What was settled when `plan` was made; None when no command made it."""
    said: object = plan.extras.get("cli")
    if not isinstance(said, dict):
        return None
    facts = cast("dict[str, Any]", said)
    agents, command = cast("object", facts.get("agents")), cast("object", facts.get("command"))
    listed = cast("list[object]", agents) if isinstance(agents, list) else []
    return Settled(
        verb=str(facts.get("verb", "run")),
        workspace=str(facts.get("workspace", "")),
        agents=tuple(each for each in listed if isinstance(each, str)),
        module=str(facts.get("module", "")),
        command=cast("JsonMapping", command) if isinstance(command, dict) else {},
        model=str(facts.get("model", "")),
        runner=str(facts.get("runner", "")),
        level=str(facts.get("level", "")),
    )


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that goes on.

    Attributes:
        after: Its events up to here are from before.
        kept: The steps that are not run again, with their results.
    """

    run: str
    plan: Plan
    after: int = 0
    kept: dict[str, Result] = field(default_factory=dict[str, Result])


Begin: TypeAlias = Callable[[Orchestrator, InProcessEngine], Awaitable[Begun]]
"""Starts the run that a command is about."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that is over.

    Attributes:
        asked: What the last agent came to, as it gave it: for a run of one delegation, its result.
        warnings: What the engine has to say about the run.
        interrupted: By Ctrl-C.
        recorded: It is in the history.
        decisions: What was decided, in order.
    """

    run: str
    plan: Plan
    result: Result
    asked: Result | None
    warnings: tuple[str, ...]
    interrupted: bool
    recorded: bool
    decisions: tuple[Decided, ...] = ()


def conduct(project: Project, form: Form, begin: Begin, *, recorded: bool, timeout_s: float | None = None) -> Ended:
    """Drive a run to its end.

    Ctrl-C stops it: what is finished is kept, and its result says so. A second Ctrl-C does not wait for that.

    Args:
        project: Where it works, and with whom.
        form: How it is shown.
        begin: Starts it.
        recorded: It gets a place in the history.
        timeout_s: The longest it may take; what an agent usually may when absent.

    Raises:
        KeyboardInterrupt: It was interrupted before it began.
        Canceled: Interrupted twice.
        DeadlineExceeded: An agent kept the process to itself past that time, and could only be struck down.
        RetinueError: It could not begin.
    """
    screen = screen_for(form)
    with contextlib.ExitStack() as stack:
        data = stack.enter_context(stdout_set_aside())
        journal = stack.enter_context(Journal(places.journal_file())) if recorded else None
        stack.callback(screen.end)
        lines = data if form.as_jsonl else None

        def last(watchdog: Watchdog) -> None:
            if journal is not None:
                journal.flush()
            screen.end()
            tell_error(watchdog.error(), Exit.LIMIT, machine=form.as_json or form.as_jsonl)

        watchdog = Watchdog(project.policy.timeout_s if timeout_s is None else timeout_s, last=last)
        try:
            ended = watchdog.run(_conduct(project, begin, screen, journal, lines=lines, watchdog=watchdog))
        except (asyncio.CancelledError, KeyboardInterrupt):
            if not watchdog.bitten:
                if not watchdog.run_id:
                    raise KeyboardInterrupt from None
                hint = f"Continue with `retinue runs resume {watchdog.run_id}`; finished work is kept."
                raise Canceled("Interrupted twice.", hint=hint) from None
        else:
            if not watchdog.bitten:
                return ended
        raise watchdog.error()


async def _conduct(
    project: Project,
    begin: Begin,
    screen: Screen,
    journal: Journal | None,
    *,
    lines: IO[str] | None,
    watchdog: Watchdog,
) -> Ended:
    workspace = project.workspace
    person = _person(screen)
    async with Pool() as pool, project.tools_opened() as opened:
        models, grants = project.models if project.models.configured else None, project.grants
        known = opened.workflows(workspace, offload=pool)
        async with InProcessEngine(known, journal=journal, answerer=person) as engine:
            orchestrator = Orchestrator(
                opened.registry,
                engine,
                workspace,
                likeness=opened.likeness,
                models=models,
                model=thinks_along(project),
                grants=grants,
            )
            begun = await begin(orchestrator, engine)
            watchdog.run_id = begun.run if journal is not None else ""
            audience = _Audience(engine, begun, screen, lines)
            watching = asyncio.create_task(audience.follow())
            result, interrupted = await _to_the_end(engine, begun.run, watching)
    warnings = list(audience.nodes.warnings)
    failure = journal.failure if journal is not None else None
    if failure is not None and not warnings:  # it showed only after the run had ended
        warnings.append(f"The history is not recorded: {failure.message} {failure.hint}")
    recorded = journal is not None and failure is None
    return Ended(
        begun.run,
        cleaned(begun.plan),
        cleaned(said_here(result)),
        cleaned(said_here(audience.asked)) if audience.asked is not None else None,
        tuple(warnings),
        interrupted,
        recorded=recorded,
        decisions=tuple(audience.decisions),
    )


def _person(screen: Screen) -> "Person | None":
    """Who answers questions; nobody where nobody is there."""
    if not somebody_is_there():
        return None
    from retinue.cli.questions import Person

    return Person(screen.aside)


async def _to_the_end(engine: InProcessEngine, run: str, watching: asyncio.Task[None]) -> tuple[Result, bool]:
    """What the run came to, and whether somebody stopped it. It is stopped too when its audience has gone."""
    ending = asyncio.create_task(engine.result(run))
    interrupted = False
    try:
        await asyncio.wait({ending, watching}, return_when=asyncio.FIRST_EXCEPTION)
    except asyncio.CancelledError:
        interrupted = True
    if not ending.done():
        await engine.cancel(run, reason=_INTERRUPTED)
    result = await ending
    await watching
    return result, interrupted


class _Audience:
    """Passes on everything that happens in a run and in its child runs.

    Attributes:
        nodes: How far it is.
        asked: The latest result of an agent of the run itself.
        decisions: What was decided so far, in the run and in its child runs.
    """

    def __init__(self, engine: InProcessEngine, begun: Begun, screen: Screen, lines: IO[str] | None) -> None:
        self.nodes = Nodes(begun.run, begun.plan, kept=[name for name, one in begun.kept.items() if one.useful])
        for node, result in begun.kept.items():
            if result.lifecycle == "working":
                self.nodes.take(Event(begun.run, node, 0, 0, 0, Finished(result)))
        asked = [one for node, one in begun.kept.items() if one.useful and not node.startswith(RESERVED)]
        self.asked = asked[-1] if asked else None
        self.decisions: list[Decided] = []
        self._engine = engine
        self._begun = begun
        self._screen = screen
        self._lines = lines
        self._followed: set[str] = set()
        self._last: Event | None = None
        self._questions: set[str] = set()

    async def follow(self) -> None:
        """Follow to the end. The run's own end is told last of all."""
        self._screen.begin(self.nodes, self._begun.plan.goal)
        try:
            async with asyncio.TaskGroup() as children:
                await self._follow(self._begun.run, self._begun.after, children)
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None
        if self._last is not None:
            self._tell(self._last)

    async def _follow(self, run: str, after: int, children: asyncio.TaskGroup) -> None:
        self._followed.add(run)
        with contextlib.suppress(UnknownName):  # of thousands of child runs the first may be forgotten by now
            async for event in self._engine.events(run, after=after):
                body = event.body
                if isinstance(body, Finished) and not event.node and run == self._begun.run:
                    self._last = event
                    continue
                self._tell(event)
                if isinstance(body, Started) and RESERVED in event.node:  # a child run begins, or goes on
                    child = f"{run}{CHILD}{event.node}"
                    if child not in self._followed:
                        children.create_task(self._follow(child, 0, children))

    def _tell(self, event: Event) -> None:
        body = event.body
        if isinstance(body, Decision):
            self.decisions.append(Decided.of(self._path(event), body))
        if event.run == self._begun.run and event.node and not event.node.startswith(RESERVED):
            if isinstance(body, Asked):
                self._questions.add(event.node)
            elif isinstance(body, Finished) and body.result.lifecycle != "working":
                self.asked = self.asked if event.node in self._questions else body.result
        self._screen.changed(event, self.nodes.take(event))
        if self._lines is not None:
            self._lines.write(f"{json_line(process_cleaner().data(event.to_json()))}\n")
            self._lines.flush()

    def _path(self, event: Event) -> str:
        """The node of `event`, below the nodes whose plans it belongs to: `n1/n2`."""
        above = event.run.removeprefix(self._begun.run).split(CHILD)
        return "/".join(name.partition(RESERVED)[0] for name in (*above, event.node) if name)


def _accept(changed: list[str], run: str) -> None:
    """Ask whether a run may go on with agents that have changed.

    Raises:
        InvalidInput: It may not, or nobody is there to say so.
    """
    names = ", ".join(f"`{name}`" for name in changed[:10])
    message = f"{names} {'has' if len(changed) == 1 else 'have'} changed since this run began."
    if not somebody_is_there():
        hint = (
            f"To continue with the new definitions: `retinue runs resume {run} --accept-changes`. Or start a new run."
        )
        raise InvalidInput(message, hint=hint, detail={"changed": changed, "question": True})
    tell(message)
    if not click.confirm("Continue with the new definitions? Finished steps are kept.", err=True):
        raise InvalidInput(message, hint="Nothing was changed. Undo the changes, or start a new run.")


def resuming(run: str, *, accept_changes: bool = False) -> Begin:
    """Goes on with a run of the history.

    Args:
        run: Its id.
        accept_changes: Also when agents in it are defined otherwise now; a person is asked where one is there.
    """

    async def begin(orchestrator: Orchestrator, engine: InProcessEngine) -> Begun:
        journal = engine.journal
        if journal is None:
            raise Unavailable("Runs without a history cannot be resumed.", hint="Leave out `--no-journal`.")
        history = journal.history(run)
        plan = Plan.model_validate_json(dumps(history.payload["plan"]))
        kept = {name: result for name, (_, result) in history.kept().items()}
        payloads = [journal.history(each).payload for each in (run, *journal.find(f"{run}{CHILD}"))]
        changed = dict.fromkeys(name for payload in payloads for name in orchestrator.changed(payload))
        if changed and not accept_changes:
            _accept(list(changed), run)
        await engine.resume(run)
        return Begun(run, plan, after=len(history.events), kept=kept)

    return begin
