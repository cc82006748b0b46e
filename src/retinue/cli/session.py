"""One run as a command drives it: started or resumed, watched, interrupted if need be, and always brought to an end.

What is asked is the business of `run` and `ask`, what is shown of `screen` and `result_output`. Whatever happens here,
nothing stays behind: no process, no thread to wait for, no open journal.
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Self, TypeAlias

import click

from retinue.cli import user_paths
from retinue.cli.app import Exit, report_error
from retinue.cli.delivery import Form
from retinue.cli.output import console, echo_err, json_line, reserve_stdout, reword_result
from retinue.cli.project import Project
from retinue.cli.questions import TerminalAnswerer
from retinue.cli.screen import LineScreen, RunNodes, Screen, is_interactive
from retinue.cli.watchdog import Watchdog
from retinue.contract.credentials import process_cleaner, redact
from retinue.contract.event import Decision, Event, NodeFinished, NodeStarted, QuestionAsked
from retinue.contract.finding import Level
from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping, Model
from retinue.contract.plan import Plan
from retinue.contract.result import Result
from retinue.engine.base import Engine
from retinue.engine.ids import CHILD
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.errors import Canceled, InvalidInput, Unavailable, UnknownName
from retinue.orchestration.orchestrator import Orchestrator
from retinue.orchestration.run_request import RESERVED


class Invocation(Model):
    """What the command line settled and must hold when the run is resumed. Saved in the plan's extras.

    Attributes:
        verb: `run` or `ask`.
        workspace: The folder.
        agents: The only agents it may use; empty means all.
        module: The module of `ACTIVE_AGENT_PATH`, when that was asked.
        command: The program that was asked, as `ask.CommandSpec`.
        model: The model of agents that name none.
        runner: What drives models.
        level: How strictly answers are judged.
    """

    verb: str = "run"
    workspace: str = ""
    agents: tuple[str, ...] = ()
    module: str = ""
    command: JsonMapping | None = None
    model: str = ""
    runner: str = ""
    level: Level | None = None

    @classmethod
    def of(cls, verb: str, project: Project, **more: Any) -> Self:
        """What the options that opened `project` say, and `more`."""
        choices = {"model": project.model, "runner": project.runner, "level": project.level}
        return cls(verb=verb, workspace=str(project.root), **choices, **more)

    def record_in(self, plan: Plan) -> Plan:
        """`plan` with this in it."""
        facts = {**self.model_dump(mode="json", exclude_defaults=True), "verb": self.verb}
        return plan.model_copy(update={"extras": {**plan.extras, "cli": facts}})


def invocation_in(plan: Plan) -> Invocation | None:
    """What was settled when `plan` was made; None when no command made it."""
    try:
        return Invocation.model_validate_json(dumps(plan.extras.get("cli")))
    except ValueError:  # which pydantic's errors are
        return None


def workspace_of(plan: Plan | None) -> Path | None:
    """The folder that `plan` was made for, where the command recorded it."""
    invocation = invocation_in(plan) if plan else None
    return Path(invocation.workspace) if invocation and invocation.workspace else None


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A run in progress.

    Attributes:
        after: Its events up to here are from before.
        reused_results: The steps that are not run again, with their results.
    """

    run: str
    plan: Plan
    after: int = 0
    reused_results: dict[str, Result] = field(default_factory=dict[str, Result])


StartRun: TypeAlias = Callable[[Orchestrator], Awaitable[StartedRun]]
"""Starts the run that a command is about."""


@dataclass(frozen=True, slots=True)
class FinishedSession:
    """A run that is over.

    Attributes:
        agent_result: What the last agent came to, as it gave it: for a run of one delegation, its result.
        warnings: What the engine has to say about the run.
        interrupted: By Ctrl-C.
        recorded: It is in the history.
        decisions: What was decided, in order.
    """

    run: str
    plan: Plan
    result: Result
    agent_result: Result | None
    warnings: tuple[str, ...]
    interrupted: bool
    recorded: bool
    decisions: tuple[tuple[str, Decision], ...] = ()


def screen_for(form: Form) -> Screen:
    """The screen for the terminal and the options."""
    if form.machine or form.quiet:
        return Screen()
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return LineScreen()
    from retinue.cli.drawing import TreeScreen  # rich is slow to import

    return TreeScreen(console(stderr=True))


def run_session(
    project: Project, form: Form, start: StartRun, *, recorded: bool, timeout_s: float | None = None
) -> FinishedSession:
    """Drive a run to its end.

    Ctrl-C stops it: what is finished is kept, and its result says so. A second Ctrl-C does not wait for that.

    Args:
        project: Where it works, and with whom.
        form: How it is shown.
        start: Starts it.
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
        data = stack.enter_context(reserve_stdout())
        journal = stack.enter_context(Journal(user_paths.journal_file())) if recorded else None
        stack.callback(screen.end)
        lines = data if form.as_jsonl else None

        def on_kill(watchdog: Watchdog) -> None:
            if journal is not None:
                journal.flush()
            screen.end()
            report_error(watchdog.error(), Exit.LIMIT, machine=form.as_json or form.as_jsonl)

        watchdog = Watchdog(project.policy.timeout_s if timeout_s is None else timeout_s, on_kill=on_kill)
        try:
            session = watchdog.run(_run_session(project, start, screen, journal, lines=lines, watchdog=watchdog))
        except (asyncio.CancelledError, KeyboardInterrupt):
            if not watchdog.has_struck:
                if not watchdog.run_id:
                    raise KeyboardInterrupt from None
                hint = f"Continue with `retinue runs resume {watchdog.run_id}`; finished work is kept."
                raise Canceled("Interrupted twice.", hint=hint) from None
        else:
            if not watchdog.has_struck:
                return session
        raise watchdog.error()


async def _run_session(
    project: Project,
    start: StartRun,
    screen: Screen,
    journal: Journal | None,
    *,
    lines: IO[str] | None,
    watchdog: Watchdog,
) -> FinishedSession:
    answerer = TerminalAnswerer(screen.pause) if is_interactive() else None
    judge = project.default_tier("medium")
    opened = project.open_engine(project.workspace, journal=journal, answerer=answerer, model=judge)
    async with opened as orchestrator:
        engine = orchestrator.engine
        started_run = await start(orchestrator)
        watchdog.run_id = started_run.run if journal is not None else ""
        follower = _RunFollower(engine, started_run, screen, lines)
        follow_task = asyncio.create_task(follower.follow())
        # It is stopped when the user interrupts, and when nobody reads what it prints.
        result_task = asyncio.create_task(engine.result(started_run.run))
        interrupted = False
        try:
            await asyncio.wait({result_task, follow_task}, return_when=asyncio.FIRST_EXCEPTION)
        except asyncio.CancelledError:
            interrupted = True
        if not result_task.done():
            await engine.cancel(started_run.run, reason="Interrupted from the terminal.")
        result = await result_task
        await follow_task
    warnings = list(follower.nodes.warnings)
    failure = journal.failure if journal is not None else None
    if failure is not None and not warnings:  # it showed only after the run had ended
        warnings.append(f"The history is not recorded: {failure.message} {failure.hint}")
    recorded = journal is not None and failure is None
    return FinishedSession(
        started_run.run,
        redact(started_run.plan),
        redact(reword_result(result)),
        redact(reword_result(follower.agent_result)) if follower.agent_result is not None else None,
        tuple(warnings),
        interrupted,
        recorded=recorded,
        decisions=tuple(follower.decisions),
    )


class _RunFollower:
    """Passes on everything that happens in a run and in its child runs.

    Attributes:
        nodes: How far it is.
        asked: The latest result of an agent of the run itself.
        decisions: What was decided so far, in the run and in its child runs.
    """

    def __init__(self, engine: Engine, started_run: StartedRun, screen: Screen, lines: IO[str] | None) -> None:
        self.nodes = RunNodes(
            started_run.run,
            started_run.plan,
            reused_ids=[name for name, one in started_run.reused_results.items() if one.useful],
        )
        for node, result in started_run.reused_results.items():
            if result.lifecycle == "working":
                self.nodes.apply(Event(started_run.run, node, 0, 0, 0, NodeFinished(result)))
        results = [
            one for node, one in started_run.reused_results.items() if one.useful and not node.startswith(RESERVED)
        ]
        self.agent_result = results[-1] if results else None
        self.decisions: list[tuple[str, Decision]] = []
        self._engine = engine
        self._started_run = started_run
        self._screen = screen
        self._lines = lines
        self._followed: set[str] = set()
        self._last: Event | None = None
        self._questions: set[str] = set()

    async def follow(self) -> None:
        """Follow to the end. The run's own end is told last of all."""
        self._screen.begin(self.nodes, self._started_run.plan.goal)
        try:
            async with asyncio.TaskGroup() as children:
                await self._follow(self._started_run.run, self._started_run.after, children)
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None
        if self._last is not None:
            self._relay(self._last)

    async def _follow(self, run: str, after: int, children: asyncio.TaskGroup) -> None:
        self._followed.add(run)
        with contextlib.suppress(UnknownName):  # of thousands of child runs the first may be forgotten by now
            async for event in self._engine.events(run, after=after):
                body = event.body
                if isinstance(body, NodeFinished) and not event.node and run == self._started_run.run:
                    self._last = event
                    continue
                self._relay(event)
                if isinstance(body, NodeStarted) and RESERVED in event.node:  # a child run begins, or goes on
                    child = f"{run}{CHILD}{event.node}"
                    if child not in self._followed:
                        children.create_task(self._follow(child, 0, children))

    def _relay(self, event: Event) -> None:
        body = event.body
        if isinstance(body, Decision):
            self.decisions.append((self._path(event), body))
        if event.run == self._started_run.run and event.node and not event.node.startswith(RESERVED):
            if isinstance(body, QuestionAsked):
                self._questions.add(event.node)
            elif isinstance(body, NodeFinished) and body.result.lifecycle != "working":
                self.agent_result = self.agent_result if event.node in self._questions else body.result
        self._screen.update(event, self.nodes.apply(event))
        if self._lines is not None:
            self._lines.write(f"{json_line(process_cleaner().data(event.to_json()))}\n")
            self._lines.flush()

    def _path(self, event: Event) -> str:
        """The node of `event`, below the nodes whose plans it belongs to: `n1/n2`."""
        above = event.run.removeprefix(self._started_run.run).split(CHILD)
        return "/".join(name.partition(RESERVED)[0] for name in (*above, event.node) if name)


def _confirm_changes(changed: list[str], run: str) -> None:
    """Ask whether a run may go on with agents that have changed."""
    names = ", ".join(f"`{name}`" for name in changed[:10])
    message = f"{names} {'has' if len(changed) == 1 else 'have'} changed since this run began."
    if not is_interactive():
        hint = (
            f"To continue with the new definitions: `retinue runs resume {run} --accept-changes`. Or start a new run."
        )
        raise InvalidInput(message, hint=hint, detail={"changed": changed, "question": True})
    echo_err(message)
    if not click.confirm("Continue with the new definitions? Finished steps are kept.", err=True):
        raise InvalidInput(message, hint="Nothing was changed. Undo the changes, or start a new run.")


def resume(run: str, *, accept_changes: bool = False) -> StartRun:
    """Goes on with a run of the history.

    Args:
        run: Its id.
        accept_changes: Also when agents in it are defined otherwise now; a person is asked where one is there.
    """

    async def start(orchestrator: Orchestrator) -> StartedRun:
        engine = orchestrator.engine
        journal = engine.journal if isinstance(engine, InProcessEngine) else None
        if journal is None:
            raise Unavailable("Runs without a history cannot be resumed.", hint="Leave out `--no-journal`.")
        history = journal.history(run)
        plan = Plan.model_validate_json(dumps(history.payload["plan"]))
        reused_results = {name: result for name, (_, result) in history.kept_results().items()}
        payloads = [journal.history(each).payload for each in (run, *journal.find(f"{run}{CHILD}"))]
        changed = dict.fromkeys(name for payload in payloads for name in orchestrator.changed(payload))
        if changed and not accept_changes:
            _confirm_changes(list(changed), run)
        await engine.resume(run)
        return StartedRun(run, plan, after=len(history.events), reused_results=reused_results)

    return start
