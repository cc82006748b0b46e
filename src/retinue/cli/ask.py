"""`retinue ask`: one request to one agent."""

from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from retinue.cli.active import MODULE_VARIABLE, active_path, with_module
from retinue.cli.exits import for_agent_result
from retinue.cli.message import RefusedMessage
from retinue.cli.options import (
    Bounds,
    agent_words,
    bound_options,
    choose_option,
    form_of,
    form_options,
    level_option,
    runner_option,
    workspace_option,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retinue.agents.boundary.decode_parameters import Decoding
    from retinue.agents.port import Agent
    from retinue.cli.dialect_request import DialectRequest
    from retinue.cli.option_chooser import OptionChooser
    from retinue.cli.project import Project
    from retinue.cli.session import Invocation, StartedRun, StartRun
    from retinue.contract.definition import Skill
    from retinue.contract.finding import Level
    from retinue.contract.task import Budget
    from retinue.engine.inprocess import InProcessEngine
    from retinue.errors import UnknownName
    from retinue.orchestration.orchestrator import Orchestrator

_DIALECTS = ("tool_use", "run_agent", "task_signal", "markdown_json", "agent_http")
_TOO_MANY = "Too many arguments. Put the instruction in quotes."


@click.command("ask")
@click.argument("words", nargs=-1, metavar="[AGENT [SKILL]] [INSTRUCTION]", shell_complete=agent_words)
@click.option("--param", "-p", "pairs", multiple=True, metavar="NAME=VALUE", help="Parameter as text; repeatable.")
@click.option("--params", "document", metavar="JSON", help="Parameters as a JSON object; - for stdin.")
@click.option("--command", "line", metavar="COMMAND", help="Ask this program over stdin and stdout.")
@click.option("--dialect", type=click.Choice(_DIALECTS), help="Dialect of the program. [default: plain text]")
@click.option("--as", "name", metavar="NAME", help="Agent name of the program.")
@click.option(
    "--env", "environment", multiple=True, metavar="NAME", help="Variable to pass to the program; repeatable."
)
@click.option("--in", "incoming", type=click.Choice(_DIALECTS), help="Read the request as a message of this dialect.")
@click.option("--out", "outgoing", type=click.Choice(_DIALECTS), help="Write the answer in this dialect.")
@click.option("--no-journal", is_flag=True, help="Do not save this run in the history.")
@click.option("--model", metavar="NAME", help="The model to use: provider:model, or a tier (small, medium, large).")
@runner_option
@level_option
@choose_option
@bound_options
@form_options
@workspace_option
def command(
    *,
    words: tuple[str, ...],
    pairs: tuple[str, ...],
    document: str | None,
    line: str | None,
    dialect: str | None,
    name: str | None,
    environment: tuple[str, ...],
    incoming: str | None,
    outgoing: str | None,
    no_journal: bool,
    model: str | None,
    runner: str | None,
    level: "Level | None",
    choice: str | None,
    timeout: float | None,
    max_cost: float | None,
    max_tokens: int | None,
    max_nodes: int | None,
    as_json: bool,
    as_jsonl: bool,
    quiet: bool,
    kind: str | None,
    output: Path | None,
    workspace: Path | None,
) -> int:
    """Send one request to AGENT; request and answer are validated against its contract.

    Without AGENT, the module in ACTIVE_AGENT_PATH is asked. Without SKILL, the instruction decides. Use - to read the
    instruction from stdin. Exits 5 when the agent answers with an error.

    With --command, a program is asked instead of an agent: [SKILL] [INSTRUCTION]. It runs without a shell and with few
    environment variables; --env adds more.

    With --in, the request is a message, read from stdin by default; it names the agent if the command does not. The
    answer is written in the same dialect, unless --out names another.

    \b
      retinue ask git_state_analyzer "what changed last week?"
      retinue ask git_state_analyzer branch_status --param base=main --json
      retinue ask --command "./my-agent --json" --dialect markdown_json "what is missing?"
      retinue ask --in tool_use < handoff.json
    """  # noqa: D301 - click reads the backspace: keep these lines as they are
    from retinue.cli.arguments import parameters_of
    from retinue.cli.dialect_request import read_request, write_answer
    from retinue.cli.failure import report_failure
    from retinue.cli.option_chooser import OptionChooser, with_actuals
    from retinue.cli.project import budget_of, open_project, report_notes
    from retinue.cli.result_output import agent_result, show_agent_result
    from retinue.cli.session import run_session

    if model and choice:
        raise click.UsageError("--model and --choose both select the model. Use only one of them.")
    form = form_of(as_json=as_json, as_jsonl=as_jsonl, quiet=quiet, kind=kind, output=output)
    if (incoming or outgoing) and (form.machine or form.document):
        raise click.UsageError("--in and --out write the answer as a message. Leave out --json, --jsonl and --format.")
    untyped, typed = parameters_of(pairs, document)
    program = _ProgramOptions(line, dialect, name, environment)
    project = open_project(workspace, model=model, runner=runner, level=level)
    report_notes(project, quiet=form.quiet, as_json=form.machine)
    if incoming:
        strictness = project.settings.get("run.level", project.level)
        request = read_request(project, words, incoming, level=strictness, is_program=line is not None)
        if isinstance(request, RefusedMessage):
            return request.report(machine=False)
        agent_request = _request_from_message(project, request, program, workspace)
        untyped, typed = {**request.untyped, **untyped}, {**request.parameters, **typed}
    else:
        agent_request = _request_from_words(project, words, program, workspace)
    project = agent_request.project
    decoded, decodings = _decode(untyped, agent_request.agent.definition.skill(agent_request.skill))
    budget = budget_of(project.settings, Bounds(timeout, max_cost, max_tokens, max_nodes))
    start = _make_start(
        agent_request,
        parameters={**decoded, **typed},
        invocation=replace(agent_request.invocation, model=model or "", runner=runner or "", level=level or ""),
        chooser=OptionChooser(project, project.settings.get("run.choose", choice), silent=form.quiet or form.machine),
        budget=budget,
    )
    recorded = project.settings.get("run.journal") and not no_journal
    session = with_actuals(run_session(project, form, start, recorded=recorded, timeout_s=budget.timeout_s))
    notes = {"decoded": [each.to_json() for each in decodings], "option": session.result.extras.get("option")}
    if outgoing or incoming:
        result = agent_result(session)
        return write_answer(
            result, outgoing or incoming or "", output=output, quiet=quiet, code=for_agent_result(result)
        )
    code = show_agent_result(session, form, extras={name: value for name, value in notes.items() if value})
    if not (form.quiet or form.machine):
        report_failure(session, code)
    return code


@dataclass(frozen=True, slots=True)
class _ProgramOptions:
    """What was said of the program to ask, if one is."""

    line: str | None
    dialect: str | None
    name: str | None
    environment: tuple[str, ...]

    def check_command_given(self) -> None:
        """Find out whether a program is named where something is said of it.

        Raises:
            UsageError: There is none.
        """
        values = {"--dialect": self.dialect, "--as": self.name, "--env": self.environment}
        unused = [option for option, value in values.items() if value]
        if self.line is None and unused:
            raise click.UsageError(f"{', '.join(unused)} can only be used with --command.")


@dataclass(frozen=True, slots=True)
class _AgentRequest:
    """Who is asked for what, among whom, and what must hold when the run is resumed."""

    project: "Project"
    agent: "Agent"
    skill: str
    instruction: str
    invocation: "Invocation"
    target: str | None = None
    context: str = ""


def _request_from_words(
    project: "Project", words: "Sequence[str]", program: _ProgramOptions, cwd: Path | None
) -> _AgentRequest:
    """What the words of a command ask.

    Raises:
        UsageError: Nobody is named, and no module either, or there are too many words.
        UnknownName: Nobody is called that, or has such a skill.
        Unavailable: The skill cannot be called here.
        InvalidInput: The program is none.
    """
    from retinue.cli.session import Invocation

    program.check_command_given()
    if program.line is not None:
        skill = words[0] if len(words) > 1 and not _is_text(words[0]) else None
        return _program_request(project, program, skill, _single_text(words[1:] if skill else words), cwd)
    agent, rest, module = _find_agent(project, words)
    skill, instruction = _find_skill(project, agent, rest)
    return _AgentRequest(project, agent, skill.name, instruction, Invocation("ask", str(project.root), module=module))


def _request_from_message(
    project: "Project", request: "DialectRequest", program: _ProgramOptions, cwd: Path | None
) -> _AgentRequest:
    """What a message asks.

    Raises: as `_request_from_words`.
    """
    from retinue.cli.session import Invocation
    from retinue.contract.names import fold
    from retinue.errors import InvalidInput

    program.check_command_given()
    if program.line is not None:
        agent_request = _program_request(project, program, request.skill or None, request.instruction, cwd)
        return replace(agent_request, target=request.target, context=request.context)
    module = "" if request.agent else active_path() or ""
    if not (request.agent or module):
        raise InvalidInput(
            "The message does not say which agent it is for.",
            hint=f"Name an agent (see `retinue agents`), or set {MODULE_VARIABLE} to a module.",
        )
    name = request.agent
    if module:
        project, name = with_module(project, module)
    agent = project.registry.get(name)
    # An operation that it does not have is refused by its contract, in the dialect of the request.
    skill = fold(request.skill) if request.skill else _choose_skill(project, agent, request.instruction).name
    invocation = Invocation("ask", str(project.root), module=module)
    return _AgentRequest(project, agent, skill, request.instruction, invocation, request.target, request.context)


def _program_request(
    project: "Project", program: _ProgramOptions, skill: str | None, instruction: str, cwd: Path | None
) -> _AgentRequest:
    """What is asked of a program.

    Raises:
        InvalidInput: It is none.
    """
    from retinue.cli.command_agent import command_spec, with_command
    from retinue.cli.session import Invocation

    spec = command_spec(
        program.line or "",
        name=program.name,
        skill=skill,
        dialect=program.dialect,
        environment=program.environment,
        folder=cwd,
    )
    project, agent = with_command(project, spec)
    invocation = Invocation("ask", str(project.root), command=spec)
    return _AgentRequest(project, agent, agent.definition.skills[0].name, instruction, invocation)


def _find_agent(project: "Project", words: "Sequence[str]") -> "tuple[Agent, Sequence[str], str]":
    """Who is asked, the words that are left, and the module it comes from.

    Raises: as `_request_from_words`.
    """
    from retinue.contract.names import nearest
    from retinue.errors import UnknownName

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
        raise _skipped_error(project, words[0]) or unknown
    raise click.UsageError(f"No agent given. Name one (see `retinue agents`), or set {MODULE_VARIABLE} to a module.")


def _skipped_error(project: "Project", name: str) -> "UnknownName | None":
    """Why there is no agent of that name, when a file that is called so was passed over."""
    from retinue.contract.names import fold
    from retinue.errors import UnknownName

    files = (each for each in project.registry.skipped if fold(Path(each.path).stem) == fold(name))
    skipped = next(files, None)
    if skipped is None:
        return None
    return UnknownName(
        f"Unknown agent {name[:80]!r}: `{skipped.path}` was skipped. {skipped.reason}",
        hint=skipped.hint or "See `retinue agents`.",
    )


def _is_text(word: str) -> bool:
    """Whether a word is an instruction and no name."""
    return word == "-" or not word.strip() or len(word.split()) > 1


def _find_skill(project: "Project", agent: "Agent", words: "Sequence[str]") -> "tuple[Skill, str]":
    """Which skill is asked, and the instruction.

    Raises: as `_request_from_words`.
    """
    from retinue.contract.names import fold, nearest

    definition = agent.definition
    if words and not _is_text(words[0]):
        if definition.skill(fold(words[0])) or len(words) > 1:
            return _skill_by_name(agent, words[0]), _single_text(words[1:])
        if nearest(words[0], [skill.name for skill in definition.skills]):
            _skill_by_name(agent, words[0])
    instruction = _single_text(words)
    return _choose_skill(project, agent, instruction), instruction


def _skill_by_name(agent: "Agent", name: str) -> "Skill":
    """The skill of that name.

    Raises:
        UnknownName: The agent has no such skill.
        Unavailable: It cannot be called here.
    """
    from retinue.contract.names import fold, nearest
    from retinue.errors import Unavailable, UnknownName

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


def _choose_skill(project: "Project", agent: "Agent", instruction: str) -> "Skill":
    """The skill that is meant when none is named, or the one that the instruction speaks of.

    Raises: as `_skill_by_name`.
    """
    from retinue.errors import UnknownName

    definition = agent.definition
    if definition.default_skill is not None:
        return _skill_by_name(agent, definition.default_skill.name)
    names = [skill.name for skill in definition.skills]
    message, reason = f"`{definition.name}` has {len(names)} skills, so name one.", ""
    if instruction.strip():
        from retinue.orchestration.reader.parameters import reader_environment
        from retinue.orchestration.reader.planner import read_words

        today = date.today()  # noqa: DTZ011 - the user's own day
        environment = reader_environment(project.registry, project.workspace, today, grants=project.grants)
        read = read_words(definition, instruction, environment, likeness=project.likeness)
        if read.chosen is not None:
            return _skill_by_name(agent, read.chosen.skill)
        message = f"`{definition.name}` has {len(names)} skills, and none fits {instruction.strip()[:80]!r}."
        reason = f"{read.reason} "
    raise UnknownName(message, hint=f"{reason}Name one of {', '.join(names)}.", suggestions=tuple(names))


def _single_text(words: "Sequence[str]") -> str:
    """The instruction, when nothing but it is left.

    Raises:
        UsageError: There are too many words.
    """
    from retinue.cli.arguments import words_of

    if len(words) > 1:
        raise click.UsageError(_TOO_MANY)
    return words_of(words)


def _decode(untyped: dict[str, Any], skill: "Skill | None") -> "tuple[dict[str, Any], tuple[Decoding, ...]]":
    """Parameters that came as text, as what the skill's schema asks for (C44)."""
    from retinue.agents.boundary.decode_parameters import decode_parameters

    return decode_parameters(untyped, skill.input_schema) if untyped and skill else (untyped, ())


def _make_start(
    agent_request: _AgentRequest,
    *,
    parameters: dict[str, Any],
    invocation: "Invocation",
    chooser: "OptionChooser",
    budget: "Budget",
) -> "StartRun":
    from retinue.cli.session import StartedRun

    definition, skill = agent_request.agent.definition, agent_request.skill
    agent = f"{definition.name}@{definition.major}"

    async def start(orchestrator: "Orchestrator", engine: "InProcessEngine") -> "StartedRun":
        del engine
        plan = orchestrator.task_plan(
            agent, skill, instruction=agent_request.instruction, target=agent_request.target, parameters=parameters
        )
        if invocation.model:  # whoever asks one agent means its model, and not that of agents that name none
            nodes = tuple(node.model_copy(update={"model": invocation.model}) for node in plan.nodes)
            plan = plan.model_copy(update={"nodes": nodes})
        elif orchestrator.models is not None and orchestrator.models.configured:
            from retinue.orchestration.planning import allocate_models, default_allocator

            plan = allocate_models(plan, {definition.name: definition}, default_allocator(orchestrator.models))
            plan = await chooser.with_option(plan)
        # What a request is about goes to its agent as the goal, and the history says what was asked.
        goal = "\n".join(filter(None, [plan.goal, agent_request.context])) or f"{definition.name}.{skill}"
        plan = plan.model_copy(update={"goal": goal})
        plan = invocation.record_in(plan)
        return StartedRun(await orchestrator.start(plan, budget=budget), plan)

    return start
