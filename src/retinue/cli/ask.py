"""`retinue ask`: one request to one agent, or to a program.

With `--in` the request is a message of a dialect. Its agent, skill, words, target, parameters and context are used; its
model, limits, paths and ids are not, since the sender of a message does not decide what this user spends or where files
are written.
"""

import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

import click

from retinue.agents.boundary.decode_parameters import decode_parameters
from retinue.agents.port import Agent
from retinue.agents.registry import Registry
from retinue.agents.wrapped import CommandAgent, split_command
from retinue.cli.app import for_agent_result
from retinue.cli.delivery import Form, Parameters, deliver, words_of
from retinue.cli.message import RefusedMessage, dialect_of, locate_findings, report_findings, report_losses
from retinue.cli.option_chooser import OptionChooser, with_actuals
from retinue.cli.output import safe_lines
from retinue.cli.project import Bounds, Project, budget_of, report_notes
from retinue.cli.remote import is_url, with_named
from retinue.cli.result_output import agent_result, report_failure, show_agent_result
from retinue.cli.session import MODULE_VARIABLE, Invocation, StartedRun, StartRun, active_path, run_session, with_module
from retinue.contract.definition import GENERIC_SKILL, Skill
from retinue.contract.fault import Fault
from retinue.contract.json import dumps
from retinue.contract.model import DialectName, JsonMapping, Model
from retinue.contract.names import canonical_name, fold, nearest
from retinue.contract.result import Result
from retinue.contract.task import Budget, Task
from retinue.dialects.port import DEFAULT_AGENT, ParseContext, RenderedMessage
from retinue.errors import InvalidInput, RetinueError, Unavailable, UnknownName
from retinue.orchestration.orchestrator import Orchestrator
from retinue.orchestration.planning import allocate_models, default_allocator
from retinue.orchestration.reader.parameters import reader_environment
from retinue.orchestration.reader.planner import read_words
from retinue.orchestration.run_request import RUN_AGENT

_NAME: Final = re.compile(r"[\w./@][\w./@-]*")
"""The name of an agent or a skill: no message looks like one."""


@dataclass(frozen=True, slots=True)
class ProgramOptions:
    """A program to ask: its command line, and how to ask it."""

    line: str | None
    dialect: DialectName | None
    name: str | None
    environment: tuple[str, ...]

    def __post_init__(self) -> None:
        values = {"--dialect": self.dialect, "--as": self.name, "--env": self.environment}
        unused = [option for option, value in values.items() if value]
        if self.line is None and unused:
            raise click.UsageError(f"{', '.join(unused)} can only be used with --command.")


@dataclass(frozen=True, slots=True)
class _AgentRequest:
    """Which agent is asked for what, and what must hold when the run is resumed.

    Attributes:
        is_context: The instruction is only what a message that names its operation says beside it.
    """

    project: Project
    agent: Agent
    skill: str
    instruction: str
    invocation: Invocation
    target: str | None = None
    context: str = ""
    parameters: Parameters = ({}, {})
    is_context: bool = False


def ask_agent(
    *,
    words: tuple[str, ...],
    parameters: Parameters,
    program: ProgramOptions,
    incoming: str | None,
    outgoing: str | None,
    no_journal: bool,
    choice: str | None,
    bounds: Bounds,
    form: Form,
    project: Project,
) -> int:
    """Send one request to AGENT; request and answer are validated against its contract."""
    if project.model and choice:
        raise click.UsageError("--model and --choose both select the model. Use only one of them.")
    if (incoming or outgoing) and (form.machine or form.document):
        raise click.UsageError("--in and --out write the answer as a message. Leave out --json, --jsonl and --format.")
    report_notes(project, quiet=form.quiet, as_json=form.machine)
    dialect, began_ns = outgoing or incoming, time.perf_counter_ns()
    try:
        request = _read_message(project, words, incoming, program) if incoming else _read_words(project, words, program)
    except RetinueError as error:
        if dialect:
            _deliver_refusal(error, dialect, words, began_ns, form)
        raise
    if isinstance(request, RefusedMessage):
        _deliver_refusal(request.error, dialect or "", words, began_ns, form)
        return request.report(machine=False)
    project, skill = request.project, request.agent.definition.skill(request.skill)
    untyped, typed = ({**one, **other} for one, other in zip(request.parameters, parameters, strict=True))
    # Parameters that came as text become what the skill's schema asks for (C44).
    decoded, decodings = decode_parameters(untyped, skill.input_schema) if untyped and skill else (untyped, ())
    budget = budget_of(project.settings, bounds)
    chooser = OptionChooser(project, project.settings.get("run.choose", choice), silent=form.quiet or form.machine)
    start = _make_start(request, {**decoded, **typed}, chooser, budget)
    recorded = project.settings.get("run.journal") and not no_journal
    session = with_actuals(run_session(project, form, start, recorded=recorded, timeout_s=budget.timeout_s))
    if dialect:
        result = agent_result(session)
        if result.duration_ns is None:
            result = result.model_copy(update={"duration_ns": session.result.duration_ns})
        if result.agent == RUN_AGENT:  # nobody was called: who was asked refuses it
            result = result.model_copy(update={"agent": request.agent.definition.name, "skill": request.skill})
        rendered = _deliver_envelope(result, dialect, form)
        if rendered.losses and not form.quiet:
            report_losses(rendered.losses)
        return for_agent_result(result)
    extras = {"decoded": [each.to_json() for each in decodings], "option": session.result.extras.get("option")}
    code = show_agent_result(session, form, extras={name: value for name, value in extras.items() if value})
    if not (form.quiet or form.machine):
        report_failure(session, code)
    return code


def _deliver_envelope(result: Result, dialect: str, form: Form) -> RenderedMessage:
    rendered = dialect_of(dialect).render_result(result)
    text = rendered.text if rendered.text.endswith("\n") else f"{rendered.text}\n"
    deliver(safe_lines(text) if form.output is None and sys.stdout.isatty() else text, form.output)
    return rendered


def _deliver_refusal(error: RetinueError, dialect: str, words: Sequence[str], began_ns: int, form: Form) -> None:
    """Answer a message that reached no agent in its own dialect too: whoever sent it reads nothing else (C25, C26)."""
    name = canonical_name(words[0]) if words and _NAME.fullmatch(words[0]) else ""
    fault = Fault.from_error(error, failed_at="reading the message", timestamp_ns=time.time_ns())
    duration_ns = time.perf_counter_ns() - began_ns
    result = Result(
        task_id="ask",
        agent=name if name[:1].isalpha() else DEFAULT_AGENT,
        outcome="error",
        fault=fault,
        duration_ns=duration_ns,
    )
    _deliver_envelope(result, dialect, form)


# What is asked.


def _read_words(project: Project, words: Sequence[str], program: ProgramOptions) -> _AgentRequest:
    """The request in the words of a command."""
    if program.line is not None:
        skill = words[0] if len(words) > 1 and not _is_text(words[0]) else None
        return _program_request(project, program, skill, _single_text(words[1:] if skill else words))
    if words and not _is_text(words[0]):
        project, name = with_named(project, words[0], quiet=False)
        words = (name, *words[1:])
    agent, words, module = _find_agent(project, words)
    names = [skill.name for skill in agent.definition.skills]
    own_names = [name for name in names if name != GENERIC_SKILL]
    named_skill: Skill | None = None
    if words and not _is_text(words[0]):
        is_name = fold(words[0]) in names or len(words) > 1
        if is_name or nearest(words[0], own_names):  # a misspelt name is refused, and is not an instruction
            named_skill, words = _skill_by_name(agent, words[0]), words[1:]
    instruction = _single_text(words)
    skill = named_skill or _choose_skill(project, agent, instruction)
    return _AgentRequest(project, agent, skill.name, instruction, Invocation.of("ask", project, module=module))


def _read_message(
    project: Project, words: Sequence[str], dialect: str, program: ProgramOptions
) -> _AgentRequest | RefusedMessage:
    """The request in the last of `words`, or on stdin; before it stand the agent and the skill, if anything."""
    is_program = program.line is not None
    names = list(takewhile(lambda word: is_url(word) or _NAME.fullmatch(word), words[: 1 if is_program else 2]))
    message = words_of(words[len(names) :] or ("-",))
    if names and not is_program:
        project, names[0] = with_named(project, names[0], quiet=False)
    agent = None if is_program or not names else project.registry.get(names[0]).definition
    context = ParseContext(task_id="ask", agent=agent.name if agent else DEFAULT_AGENT)
    level = project.settings.get("run.level", project.level)
    try:
        parsed = dialect_of(dialect).parse_task(message, context=context, level=level)
    except RetinueError as error:
        return RefusedMessage.of(error, message.encode(), "-")
    task = parsed.value
    report_findings(locate_findings(parsed.findings, message.encode(), "-"))
    if agent is not None and fold(task.agent) not in {fold(name) for name in (agent.name, *agent.aliases, names[0])}:
        raise InvalidInput(
            f"The message is for {task.agent!r}, and the command names {names[0]!r}.",
            hint="Use the same name in both, or name it only once.",
        )
    skill = next(iter(names if is_program else names[1:]), task.skill or "")
    instruction = task.instruction or task.context.what
    if is_program:
        request = _program_request(project, program, skill or None, instruction)
    else:
        request = _request_of_task(project, task, skill, instruction)
    about = task.context
    parts = [about.what if task.instruction else "", about.why, *about.constraints, *about.history, about.memory]
    parameters: Parameters = (task.parameters, {}) if task.untyped else ({}, task.parameters)
    text, is_context = "\n".join(filter(None, parts)), bool(skill and not task.instruction)
    return replace(request, target=task.target, context=text, parameters=parameters, is_context=is_context)


def _request_of_task(project: Project, task: Task, skill: str, instruction: str) -> _AgentRequest:
    name, module = "" if task.agent == DEFAULT_AGENT else task.agent, ""
    if not name:
        module = active_path()
        if not module:
            raise InvalidInput(
                "The message does not say which agent it is for.",
                hint=f"Name an agent (see `retinue agents`), or set {MODULE_VARIABLE} to a module.",
            )
        project, name = with_module(project, module)
    agent = project.registry.get(name)
    # A skill that the agent does not have is refused by its contract, in the dialect of the request.
    skill = fold(skill) if skill else _choose_skill(project, agent, instruction).name
    return _AgentRequest(project, agent, skill, instruction, Invocation.of("ask", project, module=module))


def _program_request(project: Project, program: ProgramOptions, skill: str | None, instruction: str) -> _AgentRequest:
    name, *words = split_command(program.line or "")
    here = Path.cwd()  # the program is found from here, wherever it runs
    spec = CommandSpec(
        argv=(str(here / Path(name).expanduser()) if "/" in name else name, *words),
        name=program.name,
        skill=skill,
        dialect=program.dialect,
        environment=program.environment,
        cwd=str(project.root if project.is_named else here),
    ).to_json()
    project, agent = with_command(project, spec)
    invocation = Invocation.of("ask", project, command=spec)
    return _AgentRequest(project, agent, agent.definition.skills[0].name, instruction, invocation)


def _find_agent(project: Project, words: Sequence[str]) -> tuple[Agent, Sequence[str], str]:
    """Who is asked, the words that are left, and the module it comes from."""
    unknown: UnknownName | None = None
    if words and not _is_text(words[0]):
        try:
            return project.registry.get(words[0]), words[1:], ""
        except UnknownName as error:
            unknown = error
    path = active_path()
    mistyped = unknown and nearest(words[0], (each.name for each in project.registry.definitions()))
    if path and len(words) < 2 and not mistyped:
        project, name = with_module(project, path)
        return project.registry.get(name), words, path
    if unknown is not None:
        for skipped in project.registry.skipped:
            if fold(Path(skipped.path).stem) == fold(words[0]):  # a file of that name was skipped, which says more
                raise UnknownName(
                    f"Unknown agent {words[0][:80]!r}: `{skipped.path}` was skipped. {skipped.reason}",
                    hint=skipped.hint or "See `retinue agents`.",
                )
        raise unknown
    raise click.UsageError(f"No agent given. Name one (see `retinue agents`), or set {MODULE_VARIABLE} to a module.")


def _is_text(word: str) -> bool:
    """Whether a word is an instruction and no name."""
    return word == "-" or not word.strip() or len(word.split()) > 1


def _skill_by_name(agent: Agent, name: str) -> Skill:
    """The skill of that name."""
    definition = agent.definition
    skill = definition.skill(fold(name))
    if skill is None:
        names = [skill.name for skill in definition.skills]
        near = nearest(name, names)
        raise UnknownName(
            f"`{definition.name}` has no skill {name[:80]!r}.",
            hint=f"Did you mean `{near[0]}`?" if near else f"It has: {', '.join(names)}.",
            suggestions=near or tuple(names),
        )
    if skill.unavailable:
        raise Unavailable(f"`{definition.name}.{skill.name}` cannot be called here.", hint=skill.unavailable)
    return skill


def _choose_skill(project: Project, agent: Agent, instruction: str) -> Skill:
    """The skill that is meant when none is named, or the one that the instruction speaks of."""
    definition = agent.definition
    if definition.default_skill is not None:
        return _skill_by_name(agent, definition.default_skill.name)
    names = [skill.name for skill in definition.skills]
    message, reason = f"`{definition.name}` has {len(names)} skills, so name one.", ""
    if instruction.strip():
        today = date.today()  # noqa: DTZ011 - the user's own day
        environment = reader_environment(project.registry, project.workspace, today, grants=project.grants)
        read = read_words(definition, instruction, environment, likeness=project.likeness)
        if read.chosen is not None:
            return _skill_by_name(agent, read.chosen.skill)
        if definition.generic_skill is not None:
            return definition.generic_skill
        message = f"`{definition.name}` has {len(names)} skills, and none fits {instruction.strip()[:80]!r}."
        reason = f"{read.reason} "
    raise UnknownName(message, hint=f"{reason}Name one of {', '.join(names)}.", suggestions=tuple(names))


def _single_text(words: Sequence[str]) -> str:
    """The instruction, when nothing but it is left."""
    if len(words) > 1:
        raise click.UsageError("Too many arguments. Put the instruction in quotes.")
    return words_of(words)


def _make_start(request: _AgentRequest, parameters: dict[str, Any], chooser: OptionChooser, budget: Budget) -> StartRun:
    definition, skill, invocation = request.agent.definition, request.skill, request.invocation
    agent = f"{definition.name}@{definition.major}"

    async def start(orchestrator: Orchestrator) -> StartedRun:
        make_plan = partial(orchestrator.task_plan, agent, skill, target=request.target, parameters=parameters)
        plan = make_plan(instruction=request.instruction)
        if not plan.nodes and request.is_context:  # it says why it is asked, and nothing that the skill can be told
            plan = make_plan().model_copy(update={"goal": request.instruction})
        if invocation.model:  # the user means the model of this agent, and not that of agents that name none
            nodes = tuple(node.model_copy(update={"model": invocation.model}) for node in plan.nodes)
            plan = plan.model_copy(update={"nodes": nodes})
        elif orchestrator.models is not None and orchestrator.models.configured:
            plan = allocate_models(plan, {definition.name: definition}, default_allocator(orchestrator.models))
            plan = await chooser.with_option(plan)
        # What a request is about goes to its agent as the goal, and the history shows what was asked.
        goal = "\n".join(filter(None, [plan.goal, request.context])) or f"{definition.name}.{skill}"
        plan = invocation.record_in(plan.model_copy(update={"goal": goal}))
        return StartedRun(await orchestrator.start(plan, budget=budget), plan)

    return start


class CommandSpec(Model):
    """The program of `--command` as it is saved with the run, so that `retinue runs resume` asks the same again."""

    argv: tuple[str, ...]
    name: str | None = None
    skill: str | None = None
    dialect: DialectName | None = None
    environment: tuple[str, ...] = ()
    cwd: str | None = None


def with_command(project: Project, spec: JsonMapping) -> tuple[Project, Agent]:
    """`project` with the program in `spec` as its only agent, and that agent."""
    try:
        command = CommandSpec.model_validate_json(dumps(spec))
    except ValueError:  # which pydantic's errors are
        raise InvalidInput("The saved command is damaged.", hint="Run it again.") from None
    agent = CommandAgent(**dict(command))
    return replace(project, registry=Registry([agent])), agent
