"""`retinue ask`: one request to one agent."""

from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from retinue.cli.active import MODULE_VARIABLE, active_path, with_module
from retinue.cli.exits import for_asked
from retinue.cli.message import Refused
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

    from retinue.agents.boundary.untyped import Decoding
    from retinue.agents.port import Agent
    from retinue.cli.choosing import Choosing
    from retinue.cli.dialect_request import DialectRequest
    from retinue.cli.project import Project
    from retinue.cli.session import Begin, Begun, Settled
    from retinue.contract.definition import Skill
    from retinue.contract.finding import Level
    from retinue.contract.task import Budget
    from retinue.engine.inprocess import InProcessEngine
    from retinue.errors import UnknownName
    from retinue.orchestration.orchestrator import Orchestrator

__all__ = ["command"]

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
    from retinue.cli.answer import asked_result, present_asked
    from retinue.cli.choosing import Choosing, compared
    from retinue.cli.dialect_request import read_request, write_answer
    from retinue.cli.failed import tell_failed
    from retinue.cli.project import budget_of, open_project, tell_notes
    from retinue.cli.session import conduct
    from retinue.cli.typed import parameters_of

    if model and choice:
        raise click.UsageError("--model and --choose both select the model. Use only one of them.")
    form = form_of(as_json=as_json, as_jsonl=as_jsonl, quiet=quiet, kind=kind, output=output)
    if (incoming or outgoing) and (form.machine or form.document):
        raise click.UsageError("--in and --out write the answer as a message. Leave out --json, --jsonl and --format.")
    said, given = parameters_of(pairs, document)
    program = _Program(line, dialect, name, environment)
    project = open_project(workspace, model=model, runner=runner, level=level)
    tell_notes(project, quiet=form.quiet, as_json=form.machine)
    if incoming:
        strictness = project.settings.get("run.level", project.level)
        request = read_request(project, words, incoming, level=strictness, is_program=line is not None)
        if isinstance(request, Refused):
            return request.tell(machine=False)
        asked = _asked_by_message(project, request, program, workspace)
        said, given = {**request.untyped, **said}, {**request.parameters, **given}
    else:
        asked = _asked(project, words, program, workspace)
    project = asked.project
    decoded, decodings = _decoded(said, asked.agent.definition.skill(asked.skill))
    budget = budget_of(project.settings, Bounds(timeout, max_cost, max_tokens, max_nodes))
    begin = _begin(
        asked,
        parameters={**decoded, **given},
        settled=replace(asked.settled, model=model or "", runner=runner or "", level=level or ""),
        choosing=Choosing(project, project.settings.get("run.choose", choice), silent=form.quiet or form.machine),
        budget=budget,
    )
    recorded = project.settings.get("run.journal") and not no_journal
    ended = compared(conduct(project, form, begin, recorded=recorded, timeout_s=budget.timeout_s))
    notes = {"decoded": [each.to_json() for each in decodings], "option": ended.result.extras.get("option")}
    if outgoing or incoming:
        result = asked_result(ended)
        return write_answer(result, outgoing or incoming or "", output=output, quiet=quiet, code=for_asked(result))
    code = present_asked(ended, form, extras={name: said for name, said in notes.items() if said})
    if not (form.quiet or form.machine):
        tell_failed(ended, code)
    return code


@dataclass(frozen=True, slots=True)
class _Program:
    """What was said of the program to ask, if one is."""

    line: str | None
    dialect: str | None
    name: str | None
    environment: tuple[str, ...]

    def see_it_is_there(self) -> None:
        """Find out whether a program is named where something is said of it.

        Raises:
            UsageError: There is none.
        """
        said = {"--dialect": self.dialect, "--as": self.name, "--env": self.environment}
        idle = [option for option, value in said.items() if value]
        if self.line is None and idle:
            raise click.UsageError(f"{', '.join(idle)} can only be used with --command.")


@dataclass(frozen=True, slots=True)
class _Asked:
    """Who is asked for what, among whom, and what must hold when the run is resumed."""

    project: "Project"
    agent: "Agent"
    skill: str
    instruction: str
    settled: "Settled"
    target: str | None = None
    context: str = ""


def _asked(project: "Project", words: "Sequence[str]", program: _Program, folder: Path | None) -> _Asked:
    """What the words of a command ask.

    Raises:
        UsageError: Nobody is named, and no module either, or there are too many words.
        UnknownName: Nobody is called that, or has such a skill.
        Unavailable: The skill cannot be called here.
        InvalidInput: The program is none.
    """
    from retinue.cli.session import Settled

    program.see_it_is_there()
    if program.line is not None:
        skill = words[0] if len(words) > 1 and not _is_text(words[0]) else None
        return _asked_program(project, program, skill, _single(words[1:] if skill else words), folder)
    agent, rest, module = _named(project, words)
    skill, instruction = _requested(project, agent, rest)
    return _Asked(project, agent, skill.name, instruction, Settled("ask", str(project.root), module=module))


def _asked_by_message(project: "Project", request: "DialectRequest", program: _Program, folder: Path | None) -> _Asked:
    """What a message asks.

    Raises: as `_asked`.
    """
    from retinue.cli.session import Settled
    from retinue.contract.names import fold
    from retinue.errors import InvalidInput

    program.see_it_is_there()
    if program.line is not None:
        asked = _asked_program(project, program, request.skill or None, request.instruction, folder)
        return replace(asked, target=request.target, context=request.context)
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
    skill = fold(request.skill) if request.skill else _skill_for(project, agent, request.instruction).name
    settled = Settled("ask", str(project.root), module=module)
    return _Asked(project, agent, skill, request.instruction, settled, request.target, request.context)


def _asked_program(
    project: "Project", program: _Program, skill: str | None, instruction: str, folder: Path | None
) -> _Asked:
    """What is asked of a program.

    Raises:
        InvalidInput: It is none.
    """
    from retinue.cli.commanded import said_of_command, with_command
    from retinue.cli.session import Settled

    said = said_of_command(
        program.line or "",
        name=program.name,
        skill=skill,
        dialect=program.dialect,
        environment=program.environment,
        folder=folder,
    )
    project, agent = with_command(project, said)
    settled = Settled("ask", str(project.root), command=said)
    return _Asked(project, agent, agent.definition.skills[0].name, instruction, settled)


def _named(project: "Project", words: "Sequence[str]") -> "tuple[Agent, Sequence[str], str]":
    """Who is asked, the words that are left, and the module it comes from.

    Raises: as `_asked`.
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
        raise _passed_over(project, words[0]) or unknown
    raise click.UsageError(f"No agent given. Name one (see `retinue agents`), or set {MODULE_VARIABLE} to a module.")


def _passed_over(project: "Project", name: str) -> "UnknownName | None":
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


def _requested(project: "Project", agent: "Agent", words: "Sequence[str]") -> "tuple[Skill, str]":
    """Which skill is asked, and the instruction.

    Raises: as `_asked`.
    """
    from retinue.contract.names import fold, nearest

    definition = agent.definition
    if words and not _is_text(words[0]):
        if definition.skill(fold(words[0])) or len(words) > 1:
            return _skill_called(agent, words[0]), _single(words[1:])
        if nearest(words[0], [skill.name for skill in definition.skills]):
            _skill_called(agent, words[0])
    instruction = _single(words)
    return _skill_for(project, agent, instruction), instruction


def _skill_called(agent: "Agent", name: str) -> "Skill":
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


def _skill_for(project: "Project", agent: "Agent", instruction: str) -> "Skill":
    """The skill that is meant when none is named, or the one that the instruction speaks of.

    Raises: as `_skill_called`.
    """
    from retinue.errors import UnknownName

    definition = agent.definition
    if definition.default_skill is not None:
        return _skill_called(agent, definition.default_skill.name)
    names = [skill.name for skill in definition.skills]
    message, reason = f"`{definition.name}` has {len(names)} skills, so name one.", ""
    if instruction.strip():
        from retinue.orchestration.reader.parameters import surroundings
        from retinue.orchestration.reader.planner import read_words

        today = date.today()  # noqa: DTZ011 - the user's own day
        around = surroundings(project.registry, project.workspace, today, grants=project.grants)
        read = read_words(definition, instruction, around, likeness=project.likeness)
        if read.chosen is not None:
            return _skill_called(agent, read.chosen.skill)
        message = f"`{definition.name}` has {len(names)} skills, and none fits {instruction.strip()[:80]!r}."
        reason = f"{read.reason} "
    raise UnknownName(message, hint=f"{reason}Name one of {', '.join(names)}.", suggestions=tuple(names))


def _single(words: "Sequence[str]") -> str:
    """The instruction, when nothing but it is left.

    Raises:
        UsageError: There are too many words.
    """
    from retinue.cli.typed import words_of

    if len(words) > 1:
        raise click.UsageError(_TOO_MANY)
    return words_of(words)


def _decoded(said: dict[str, Any], skill: "Skill | None") -> "tuple[dict[str, Any], tuple[Decoding, ...]]":
    """Parameters that came as text, as what the skill's schema asks for (C44)."""
    from retinue.agents.boundary.untyped import decode

    return decode(said, skill.input_schema) if said and skill else (said, ())


def _begin(
    asked: _Asked,
    *,
    parameters: dict[str, Any],
    settled: "Settled",
    choosing: "Choosing",
    budget: "Budget",
) -> "Begin":
    from retinue.cli.session import Begun

    definition, skill = asked.agent.definition, asked.skill
    agent = f"{definition.name}@{definition.major}"

    async def begin(orchestrator: "Orchestrator", engine: "InProcessEngine") -> "Begun":
        del engine
        plan = orchestrator.task_plan(
            agent, skill, instruction=asked.instruction, target=asked.target, parameters=parameters
        )
        if settled.model:  # whoever asks one agent means its model, and not that of agents that name none
            nodes = tuple(node.model_copy(update={"model": settled.model}) for node in plan.nodes)
            plan = plan.model_copy(update={"nodes": nodes})
        elif orchestrator.models is not None and orchestrator.models.configured:
            from retinue.orchestration.allotment import allotted, usual

            plan = allotted(plan, {definition.name: definition}, usual(orchestrator.models))
            plan = await choosing.way_of(plan)
        # What a request is about goes to its agent as the goal, and the history says what was asked.
        goal = "\n".join(filter(None, [plan.goal, asked.context])) or f"{definition.name}.{skill}"
        plan = plan.model_copy(update={"goal": goal})
        plan = settled.noted_in(plan)
        return Begun(await orchestrator.start(plan, budget=budget), plan)

    return begin
