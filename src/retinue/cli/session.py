"""One run as a command drives it: started or resumed, watched, interrupted if need be, and always brought to an end.

What is asked is the business of `run` and `ask`, what is shown of `screen` and `result_output`. Whatever happens here,
nothing stays behind: no process, no thread to wait for, no open journal.
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self, TypeAlias

import click

from retinue.agents.boundary import Boundary
from retinue.agents.boundary.decode_parameters import decode_parameters
from retinue.agents.boundary.policy import Policy
from retinue.agents.discover import discover
from retinue.agents.module import load_module
from retinue.cli.app import Exit, report_error
from retinue.cli.delivery import Form
from retinue.cli.fault_log import fault_log
from retinue.cli.output import console, echo_err, json_line, reserve_stdout, reword_result, safe
from retinue.cli.project import Project, report_notes
from retinue.cli.questions import TerminalAnswerer
from retinue.cli.remote import mcp_servers, with_routed
from retinue.cli.screen import LineScreen, Screen, is_interactive
from retinue.cli.settings import Settings, journal_of, settings_of
from retinue.cli.watchdog import Watchdog
from retinue.contract.credentials import process_cleaner, redact
from retinue.contract.event import Decision, Event, NodeFinished, QuestionAsked, TurnsAdded
from retinue.contract.finding import Level
from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping, Model
from retinue.contract.names import canonical_name
from retinue.contract.plan import Plan
from retinue.contract.result import Result
from retinue.engine.base import Engine
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.engine.offload import Pool
from retinue.engine.run import Answerer
from retinue.engine.run_history import RunHistory
from retinue.errors import Canceled, InvalidInput, RetinueError, Unavailable
from retinue.orchestration.fault_journal import FaultJournal
from retinue.orchestration.follow import RunCursor, follow_run
from retinue.orchestration.orchestrator import Orchestrator, workflows
from retinue.orchestration.rate_limits import RateLimits
from retinue.orchestration.run_nodes import RunNodes, node_path
from retinue.orchestration.run_request import RESERVED
from retinue.orchestration.supervise import POLICIES
from retinue.tools.workspace import Workspace

if TYPE_CHECKING:
    from retinue.agents.prompted.toolbox import Toolbox


# What runs plans for the agents of a folder: `project` is without it, for commands that only list them.


def policy_of(project: Project) -> Policy:
    """What follows when an attempt fails, and how long one may take (H27, C29)."""
    level = project.settings.get("run.level", project.level)
    timeouts = {canonical_name(name): float(text) for name, text in project.settings.get("run.timeout_of").items()}
    return replace(POLICIES[project.settings.get("run.policy")], level=level, timeouts=timeouts)


def rate_limits_of(settings: Settings, journal: Journal | None = None) -> RateLimits:
    """How often models and agents may be called, counted in `journal` for all processes."""
    agents = {canonical_name(name): text for name, text in settings.get("rate_limits.agents").items()}
    return RateLimits(settings.get("rate_limits.providers"), agents, journal.change_rate if journal else None)


def idle_engine(journal: Journal | None = None) -> Engine:
    """An engine that runs nothing by itself, to reach the runs of a history wherever they are worked on."""
    return InProcessEngine({}, journal=journal)


def orchestrator_of(
    project: Project,
    engine: Engine,
    workspace: Workspace,
    *,
    model: str | None = None,
    somebody_there: bool = False,
    rate_limits: RateLimits | None = None,
) -> Orchestrator:
    """Runs plans for the agents of a folder; `model` judges. Where nobody can be asked, what is refused is skipped."""
    on_unexpected = project.settings.get("run.on_unexpected")
    return Orchestrator(
        project.registry,
        engine,
        workspace,
        likeness=project.likeness,
        models=project.configured_models,
        model=model,
        grants=project.grants,
        on_unexpected="skip" if on_unexpected == "ask" and not somebody_there else on_unexpected,
        rate_limits=rate_limits or rate_limits_of(project.settings),
    )


@contextlib.asynccontextmanager
async def open_engine(
    project: Project,
    workspace: Workspace,
    *,
    journal: Journal | None = None,
    answerer: Answerer | None = None,
    model: str | None = None,
    **bounds: Any,
) -> AsyncGenerator[Orchestrator]:
    """An engine that runs plans for the agents of a folder, with the tools of its MCP servers.

    `bounds` are further arguments of `InProcessEngine`.
    Afterwards no program that a tool started is running, and no connection of a model is open, however it ended.
    """
    async with Pool() as pool, contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(project.models.close)
        for remote in project.remotes:
            await stack.enter_async_context(remote)
        if project.toolbox is not None:
            project = await _open_tools(project, project.toolbox, stack)
        rate_limits = rate_limits_of(project.settings, journal)
        names = workflows(
            project.registry,
            boundary=Boundary(project.registry, policy=policy_of(project)),
            workspace=workspace,
            offload=pool,
            models=project.configured_models,
            grants=project.grants,
            likeness=project.likeness,
            rate_limits=rate_limits,
        )
        async with InProcessEngine(names, journal=journal, answerer=answerer, **bounds) as engine:
            # Who answers a run in the queue need not be there now.
            is_somebody_there = answerer is not None or bounds.get("queues", False)
            yield orchestrator_of(
                project, engine, workspace, model=model, somebody_there=is_somebody_there, rate_limits=rate_limits
            )


async def _open_tools(project: Project, toolbox: "Toolbox", stack: contextlib.AsyncExitStack) -> Project:
    """The same folder with the tools of the user's MCP servers and its own; `stack` ends their programs."""
    servers = mcp_servers(project)
    if servers is None:
        stack.push_async_callback(toolbox.aclose)
        return project
    from retinue.agents.remote.mcp_tools import with_mcp

    wider = await with_mcp(toolbox, servers, environ=os.environ)
    stack.push_async_callback(wider.aclose)  # before anything else can go wrong: programs run now
    for name, why in wider.absent.items():
        if name.startswith("mcp__") and name not in toolbox.absent:
            echo_err(f"`{name}` is not available: {why}")
    # The agents are found anew: what tools there are is settled when they are.
    registry = discover(
        project.root,
        trusted=project.trusted,
        catalogue=project.built_in,
        models=project.models,
        toolbox=wider,
        loops=project.loops,
        cache_dir=project.cache_dir,
    )
    for agent in project.registry:
        is_named = agent.definition.source is None and not project.registry.is_built_in(agent)
        if is_named or agent.definition.is_remote:
            registry.add(agent)  # the user named it in this command, or in the settings
    registry.unrouted = project.registry.unrouted
    names = project.registry.agents()
    project = replace(project, registry=registry, toolbox=wider)
    return project if len(names) == len(registry) else project.with_only(each.definition.name for each in names)


MODULE_VARIABLE = "ACTIVE_AGENT_PATH"


def active_path() -> str:
    """The module's path, from the root of the repository; empty when none is named."""
    return os.environ.get(MODULE_VARIABLE, "")


def with_module(project: Project, path: str) -> tuple[Project, str]:
    """`project` with the agent in the module at `path`, and that agent's name."""
    agent = load_module(Path(path), root=project.root)
    project.registry.add(agent)
    return project, agent.definition.name


def with_active(project: Project, *, quiet: bool) -> tuple[Project, str]:
    """`project` with the module that the environment names, and its path; without one, and told why, when it is none.

    The variable may be set for another folder, so what is wrong with it here does not end a command.
    """
    path = active_path()
    if not path:
        return project, ""
    try:
        return with_module(project, path)[0], path
    except RetinueError as error:
        if not quiet:
            echo_err(f"{MODULE_VARIABLE} does not give an agent: {safe(error.message)} {safe(error.hint)}")
        return project, ""


def open_for_goal(
    project: Project, agents: Sequence[str], *, quiet: bool, as_json: bool
) -> tuple[Project, Sequence[str], str]:
    """`project` with the agents for a goal, the names that restrict them, and the module of the environment."""
    project, module = with_active(project, quiet=quiet or as_json)
    names = agents or project.settings.get("run.agents")
    project = with_routed(project, names, quiet=quiet or as_json)
    project = project.with_only(names) if names else project
    report_notes(project, quiet=quiet, as_json=as_json)
    return project, names, module


# One run.


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
        remote: The remote agents, by their names or URLs.
        environment: Whose log its faults belong in: that of `production`, or that of `test`.
    """

    verb: str = "run"
    workspace: str = ""
    agents: tuple[str, ...] = ()
    module: str = ""
    command: JsonMapping | None = None
    model: str = ""
    runner: str = ""
    level: Level | None = None
    remote: tuple[str, ...] = ()
    environment: str = "production"

    @classmethod
    def of(cls, verb: str, project: Project, **more: Any) -> Self:
        """What the options that opened `project` say, and `more`."""
        choices: dict[str, Any] = {"model": project.model, "runner": project.runner, "level": project.level}
        choices |= {"remote": project.remote_names, "environment": project.settings.get("run.environment")}
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


def start_detached(project: Project, start: StartRun) -> str:
    """Leave a run in the queue for a worker of the project's folder; gives its id when that is on the disk."""

    async def main() -> str:
        with journal_of(project.settings) as journal:
            place, judge = str(project.root), project.default_tier("medium")
            opened = open_engine(project, project.workspace, journal=journal, model=judge, place=place, queues=True)
            async with opened as orchestrator:
                run = (await start(orchestrator)).run
            if journal.failure is not None:
                raise journal.failure
            return run

    return asyncio.run(main())


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
        journal = stack.enter_context(journal_of(project.settings)) if recorded else None
        if recorded:
            stack.enter_context(fault_log(project.settings))
        stack.callback(screen.end)
        lines = data if form.as_jsonl else None

        def on_kill(watchdog: Watchdog) -> None:
            if journal is not None:
                journal.flush()
            screen.end()
            report_error(watchdog.error(), Exit.LIMIT, machine=form.as_json or form.as_jsonl)

        watchdog = Watchdog(policy_of(project).timeout_s if timeout_s is None else timeout_s, on_kill=on_kill)
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
    opened = open_engine(project, project.workspace, journal=journal, answerer=answerer, model=judge)
    async with opened as orchestrator:
        engine = orchestrator.engine
        started_run = await start(orchestrator)
        watchdog.run_id = started_run.run if journal is not None else ""
        relay = _RunRelay(engine, started_run, screen, lines)
        follow_task = asyncio.create_task(relay.follow())
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
    warnings = list(relay.nodes.warnings)
    failure = journal.failure if journal is not None else None
    if failure is not None and not warnings:  # it showed only after the run had ended
        warnings.append(f"The history is not recorded: {failure.message} {failure.hint}")
    recorded = journal is not None and failure is None
    return FinishedSession(
        started_run.run,
        redact(started_run.plan),
        redact(reword_result(result)),
        redact(reword_result(relay.agent_result)) if relay.agent_result is not None else None,
        tuple(warnings),
        interrupted,
        recorded=recorded,
        decisions=tuple(relay.decisions),
    )


def follow_session(run: str, plan: Plan, form: Form) -> FinishedSession:
    """Show a run that another process works on, from its beginning until it ends. Ctrl-C leaves it alone.

    Raises:
        Canceled: The user wants to see no more.
        Unavailable: Its process died before it ended.
    """
    screen = screen_for(form)

    async def follow(journal: Journal, lines: IO[str] | None) -> FinishedSession:
        async with idle_engine(journal) as engine:
            relay = _RunRelay(engine, StartedRun(run, plan), screen, lines)
            await relay.follow()
            result = reword_result(await engine.result(run))
        warnings, decisions = tuple(relay.nodes.warnings), tuple(relay.decisions)
        return FinishedSession(
            run, plan, result, relay.agent_result, warnings, interrupted=False, recorded=True, decisions=decisions
        )

    with contextlib.ExitStack() as stack:
        data = stack.enter_context(reserve_stdout())
        journal = stack.enter_context(journal_of(settings_of(None)))
        stack.callback(screen.end)
        try:
            return asyncio.run(follow(journal, data if form.as_jsonl else None))
        except KeyboardInterrupt:
            screen.end(is_over=False)
            hint = f"Follow it again with `retinue runs follow {run}`."
            raise Canceled(f"Run `{run}` goes on without being followed.", hint=hint) from None


class _RunRelay:
    """Passes on what happens in a run and in its child runs: to the screen, and as lines to whoever reads them.

    Attributes:
        nodes: How far it is.
        agent_result: The latest result of an agent of the run itself.
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
        self._questions: set[str] = set()
        invocation = invocation_in(started_run.plan)
        command = invocation.verb if invocation else ""
        self._faults = FaultJournal(started_run.run, started_run.plan.to_json(), command=command)
        self._logs_since_ns = 0

    async def follow(self) -> None:
        """Follow to the end."""
        run, last = self._started_run.run, self._started_run.after
        self._screen.begin(self.nodes, self._started_run.plan.goal)
        if last:  # the faults of before are in the log, and may be mended now
            earlier = [event async for event in self._engine.events(run, follow=False) if event.sequence <= last]
            for event in earlier:
                self._faults.apply(event)
            self._logs_since_ns = earlier[-1].at_ns + 1
        async with contextlib.aclosing(follow_run(self._engine, run, after=RunCursor(last))) as events:
            async for each in events:
                self._relay(each.event)

    def _relay(self, event: Event) -> None:
        body = event.body
        self._faults.log(event, since_ns=self._logs_since_ns)
        if isinstance(body, Decision):
            self.decisions.append((node_path(self._started_run.run, event), body))
        if event.run == self._started_run.run and event.node and not event.node.startswith(RESERVED):
            if isinstance(body, QuestionAsked):
                self._questions.add(event.node)
            elif isinstance(body, NodeFinished) and body.result.lifecycle != "working":
                self.agent_result = self.agent_result if event.node in self._questions else body.result
        worded = event
        if isinstance(body, NodeFinished) and not body.result.useful:
            worded = replace(event, body=NodeFinished(reword_result(body.result)))
        self._screen.update(event, self.nodes.apply(worded))
        if self._lines is not None and not isinstance(body, TurnsAdded):  # whole conversations, for the journal alone
            self._lines.write(f"{json_line(process_cleaner().data(event.to_json()))}\n")
            self._lines.flush()


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
        if not engine.capabilities.durable:
            raise Unavailable("Runs without a history cannot be resumed.", hint="Leave out `--no-journal`.")
        started_run = await _kept_run(engine, run)
        if not accept_changes and (changed := await orchestrator.changed(run)):
            _confirm_changes(changed, run)
        await engine.resume(run)
        return started_run

    return start


def fork(run: str, plan: Plan, *, without: Sequence[str], changes: Mapping[str, JsonMapping]) -> StartRun:
    """Starts a copy of a run of the history, as `Orchestrator.fork` does; `changes` are parameters as text, by step."""

    async def start(orchestrator: Orchestrator) -> StartedRun:
        engine, parameters = orchestrator.engine, dict[str, JsonMapping]()
        agents = {node.id: (node.agent, node.skill) for node in plan.nodes}
        for step, texts in changes.items():
            agent, name = agents.get(step, ("", None))
            definition = orchestrator.registry.get(agent).definition if agent else None
            skill = definition and (definition.skill(name) if name else definition.default_skill)
            parameters[step] = decode_parameters(texts, skill.input_schema if skill else {})[0]
        return await _kept_run(engine, await orchestrator.fork(run, without=without, parameters=parameters))

    return start


async def _kept_run(engine: Engine, run: str) -> StartedRun:
    plan = Plan.model_validate_json(dumps((await engine.payload(run))["plan"]))
    events = [event async for event in engine.events(run, follow=False)]
    steps = RunHistory(run, "", {}, "", 0, events=events).kept_results()
    return StartedRun(run, plan, len(events), {name: result for name, (_, result) in steps.items()})
