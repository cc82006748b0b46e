"""A request to check an agent, as a person makes it: which agent, which dialect, how to ask it.

The command line and the pytest plugin both make one; what it comes to is here, so that it comes to the same.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from retinue.agents.definition_files import load_file
from retinue.agents.load.operations import with_operations
from retinue.conformance.discovery import find_protocols
from retinue.conformance.judge import DEFAULT_TIMEOUT_S, judge, judge_server
from retinue.conformance.port import (
    HOSTILE,
    KITS,
    PROTOCOLS,
    CheckReport,
    CheckSubject,
    OnExchange,
    Probe,
    ProbeExchange,
    RequestTemplate,
)
from retinue.conformance.probe_session import ProbeSession
from retinue.conformance.subjects import SubjectInfo, command_subject, instructions_subject, isolated_module
from retinue.conformance.subjects.web_server import TaskEndpoint, WebServer
from retinue.contract.definition import Definition
from retinue.contract.finding import as_detail, findings_of, summarise_findings
from retinue.contract.model import DialectName
from retinue.contract.names import fold, nearest
from retinue.dialects import dialect
from retinue.dialects.detect import detect
from retinue.dialects.port import Certainty, Detection
from retinue.errors import InvalidDefinition, InvalidInput, MissingFile, RetinueError, UnknownName
from retinue.llm.budget_tracker import BudgetTracker
from retinue.llm.models import Models


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """Who is judged, and what was said of it. What is absent is found out or done without.

    Attributes:
        words: A module (as `module_apart` reads it), a Markdown agent or, when `is_command`, a command line.
        dialect: What it is to speak.
        definition: A file with its definition, JSON or Markdown.
        agent: What it is called in its own answers.
        environment: Variables that a command may see.
        timeout_s: How long it may take for one request.
        models: What answers for a Markdown agent.
        budget_tracker: What these models may spend.
        headers: What a server behind a URL is told beside each request, as `NAME:VARIABLE` of the environment.
        is_hostile: A server is sent what no client should send, too.
    """

    words: str
    is_command: bool = False
    dialect: str | None = None
    definition: Path | None = None
    agent: str | None = None
    operation: str | None = None
    target: str | None = None
    partial_target: str | None = None
    instruction: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    environment: tuple[str, ...] = ()
    timeout_s: float = DEFAULT_TIMEOUT_S
    models: Models | None = None
    budget_tracker: BudgetTracker | None = None
    headers: tuple[str, ...] = ()
    is_hostile: bool = False

    @property
    def is_url(self) -> bool:
        """Whether a server is named."""
        return not self.is_command and self.words.startswith(("http://", "https://"))


@dataclass(frozen=True, slots=True)
class PreparedCheck:
    """A subject that can be judged: what it speaks is known, or was detected. The caller closes it.

    Attributes:
        facts: How it is asked, and how its dialect was found out.
    """

    subject: CheckSubject
    dialect: str
    template: RequestTemplate
    facts: Mapping[str, str]
    timeout_s: float

    async def judge(self, *, on_exchange: OnExchange | None = None) -> CheckReport:
        """Judge it."""
        return await judge(
            self.subject,
            self.dialect,
            template=self.template,
            timeout_s=self.timeout_s,
            facts=dict(self.facts),
            on_exchange=on_exchange,
        )

    def close(self) -> None:
        """Let go of the subject."""
        self.subject.close()


async def prepare(request: CheckRequest) -> PreparedCheck:
    """Get everything ready: import or find the subject, read its definition, find out what it speaks.

    Raises:
        RetinueError: There is no such subject or definition, or nothing says what it speaks.
    """
    definition = None if request.definition is None else _definition(request.definition, request.agent)
    info = await _find_subject(request, definition)
    try:
        template = _template(request, info, definition or info.definition)
        details = {
            "agent": template.agent,
            "operation": template.skill,
            "target": template.target,
            "parameters": ", ".join(template.parameters),
        }
        facts = {"asked": ", ".join(f"{name} {value}" for name, value in details.items() if value)}
        if unset := [name for name in request.environment if name not in os.environ]:
            facts["not set here"] = ", ".join(unset)
        dialect = request.dialect or (definition.dialect if definition else None) or info.dialect
        if dialect is None:
            detected = await guess_dialect(info.subject, template=template, timeout_s=request.timeout_s)
            dialect = detected.dialect
            facts["dialect"] = f"found out ({detected.certainty}): {detected.why}"
    except BaseException:
        info.subject.close()
        raise
    return PreparedCheck(info.subject, dialect, template, facts, request.timeout_s)


async def judge_url(request: CheckRequest, *, on_exchange: OnExchange | None = None) -> tuple[CheckReport, ...]:
    """Judge the server behind a URL by everything that it speaks, a report for each.

    Raises:
        RetinueError: It is no URL that can be asked, or nothing that can be judged is spoken there.
    """
    names = ("definition", "agent", "target", "partial_target", "environment")
    if unused := [name.replace("_", "-") for name in names if getattr(request, name)]:
        hint = "A server is asked by --instruction, --operation and --param."
        raise InvalidInput(f"Not for servers: {', '.join(unused)}.", hint=hint)
    instruction = request.instruction or "Hello! What can you do?"
    template = RequestTemplate(instruction=instruction, parameters=dict(request.parameters))
    options: dict[str, Any] = {"template": template, "timeout_s": request.timeout_s, "on_exchange": on_exchange}
    reports: list[CheckReport] = []
    server = WebServer(request.words, credentials=_credentials(request.headers))
    search = ProbeSession(server, server.url.text, "", **options)
    hostile_to: set[str] = set()
    for each in await find_protocols(search, request.dialect):
        facts = {"edition": each.edition, "place": each.url, "found out": each.why}
        facts = {name: value for name, value in facts.items() if value}
        places = {"card_url": each.card_url, "operation": request.operation or ""}
        session = ProbeSession(server, each.url, each.edition, **places, **options)
        reports.append(await judge_server(session, each.protocol, facts=facts))
        if each.protocol == "agent_json" and each.url:
            endpoint = TaskEndpoint(server, each.url)
            reports.append(await judge(endpoint, "agent_http", facts=facts, **options))
        if request.is_hostile and each.protocol not in hostile_to:
            hostile_to.add(each.protocol)
            session = ProbeSession(server, each.url, each.edition, **places, **options)
            reports.append(await judge_server(session, HOSTILE, facts=facts))
    return tuple(reports)


def _credentials(headers: Iterable[str]) -> dict[str, str]:
    """Headers with what the environment holds for them."""
    values: dict[str, str] = {}
    for each in headers:
        name, _, variable = each.partition(":")
        if not _HEADER.fullmatch(name) or not variable.isidentifier():
            raise InvalidInput(
                f"{each[:80]!r} is not a header and a variable.",
                hint="Write NAME:VARIABLE, as in `Authorization:TOKEN`.",
            )
        if not (value := os.environ.get(variable)):
            raise InvalidInput(f"The variable {variable!r} is not set.", hint=f"Set it to the value of `{name}`.")
        values[name] = value
    return values


_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_|~-]+")


def _definition(file: Path, agent: str | None) -> Definition:
    """What the file says of the agent that is meant."""
    if not file.exists():
        raise MissingFile(f"No such file: {str(file)!r}.", hint="Name a definition, JSON or Markdown.")
    loaded = load_file(file)
    definitions = [each.definition for each in loaded.agents]
    chosen = next((each for each in definitions if agent is None or each.name == fold(agent)), None)
    if chosen is None:
        what = f"no agent named {agent[:80]!r}" if agent and definitions else "no definition that can be used"
        raise InvalidDefinition(
            f"{str(file)!r} holds {what}.",
            hint=f"See `retinue lint {file}`.",
            detail={"findings": [each.to_json() for each in loaded.errors]},
        )
    return chosen


async def _find_subject(request: CheckRequest, definition: Definition | None) -> SubjectInfo:
    if request.is_command:
        return command_subject(request.words, environment=request.environment)
    if request.environment:
        raise InvalidInput("Variables are for commands.", hint="Say that it is a command, or name no variables.")
    if request.is_url:
        raise InvalidInput(f"{request.words[:200]!r} is a URL.", hint="`retinue check` judges it.")
    if request.headers or request.is_hostile or request.dialect in PROTOCOLS:
        what = (
            f"The protocol `{request.dialect}` is"
            if request.dialect in PROTOCOLS
            else "Headers and hostile requests are"
        )
        raise InvalidInput(f"{what} for servers, and {request.words[:80]!r} is none.", hint="Name the URL of one.")
    if request.words.lower().endswith(".md"):
        path = Path(request.words)
        own = definition or with_operations(_definition(path, request.agent))
        return instructions_subject(path, own, models=request.models, budget_tracker=request.budget_tracker)
    return await isolated_module(request.words, dialect=request.dialect or (definition.dialect if definition else None))


def _template(request: CheckRequest, info: SubjectInfo, definition: Definition | None) -> RequestTemplate:
    """As the definition says, and before that as the order does."""
    if definition is not None:
        template = template_of(definition, skill=request.operation)
    else:
        skill = fold(request.operation) if request.operation else None
        template = RequestTemplate(agent=fold(request.agent or "") or info.name, skill=skill)
    template = template.about(target=request.target, instruction=request.instruction)
    parameters = {**template.parameters, **request.parameters}
    template = replace(template, parameters=parameters, partial_target=request.partial_target)
    try:
        template.task("check")
    except ValidationError as error:
        wrong = findings_of(error, rule="conformance/asking")
        raise InvalidInput(
            f"Invalid request: {summarise_findings(wrong)}.",
            hint="Names are of letters, digits and dashes, begin with a letter, and have at most 64 characters.",
            detail=dict(as_detail(wrong)),
        ) from None
    return template


_ORDER: Final[tuple[DialectName, ...]] = ("markdown_json", "tool_use", "task_signal", "agent_http", "run_agent")
"""The most telling first: an answer in `run_agent` may be nearly anything."""
_WEIGHTS: Final[dict[Certainty, int]] = {"certain": 6, "likely": 3, "possible": 0}
_MOST: Final = 200_000


@dataclass(frozen=True, slots=True)
class DialectGuess:
    """What the answers say.

    Attributes:
        why: The marks that say so, as part of a sentence.
    """

    dialect: DialectName
    certainty: Certainty
    why: str


async def guess_dialect(subject: CheckSubject, *, template: RequestTemplate, timeout_s: float) -> DialectGuess:
    """Ask `subject` in one dialect after the other until an answer is certainly in one of them.

    Raises:
        InvalidInput: It answered in none.
    """
    weights: dict[DialectName, int] = {}
    best: dict[DialectName, Detection] = {}
    first_error = ""
    for name in _ORDER:
        probe = Probe("guess", template.task("guess"), "Which dialect is it?")
        try:
            text = dialect(name).render_task(probe.task).text
            exchange = await subject.send(probe, text, timeout_s=timeout_s)
        except RetinueError as error:
            exchange = ProbeExchange(probe, "", error=error.message)
        first_error = first_error or exchange.error
        for detection in detect((exchange.text or "")[:_MOST]):
            if detection.kind != "result" or detection.dialect not in KITS or not _WEIGHTS[detection.certainty]:
                continue
            # An agent that answers in the dialect of the question speaks it; errors often come in another's form.
            weight = _WEIGHTS[detection.certainty] + (1 if detection.dialect == name else 0)
            if weight > weights.get(detection.dialect, 0):
                weights[detection.dialect], best[detection.dialect] = weight, detection
        if weights.get(name, 0) > _WEIGHTS["certain"] or exchange.late:
            break
    if not weights:
        raise InvalidInput(
            f"Nothing that {subject.name[:80]!r} answers is in a dialect.{f' {first_error}' if first_error else ''}",
            hint=f"Say which one it should speak: {', '.join(KITS)}.",
            suggestions=KITS,
        )
    detection = best[max(weights, key=lambda each: weights[each])]
    return DialectGuess(detection.dialect, detection.certainty, detection.why)


def template_of(definition: Definition, *, skill: str | None = None) -> RequestTemplate:
    """A valid request for the agent that `definition` describes, made of its first sample.

    What the sample says in its instruction and target is said twice, as such and as parameters: formats have words for
    the one or the other.

    Args:
        definition: What the agent says of itself.
        skill: What is asked of it; absent means the first of its skills that can be called.

    Raises:
        UnknownName: It has no such skill.
    """
    if skill is None:
        chosen = next((each for each in definition.skills if not each.unavailable), definition.skills[0])
    elif (chosen := definition.skill(fold(skill))) is None:
        names = [each.name for each in definition.skills]
        raise UnknownName(
            f"`{definition.name}` has no skill {skill[:80]!r}.",
            hint=f"It has: {', '.join(names)}.",
            suggestions=nearest(skill, names) or tuple(names),
        )
    samples = [each.parameters for each in chosen.samples if each.parameters]
    parameters = {**chosen.defaults, **(samples[0] if samples else {})}
    template = RequestTemplate(agent=definition.name, skill=chosen.name, parameters=parameters)
    target = parameters.get(chosen.target_field or "")
    if isinstance(target, str) and target:
        template = replace(template, target=target)
    value = parameters.get(chosen.instruction_field or "")
    instruction = value if isinstance(value, str) else next(iter(chosen.examples), "")
    return replace(template, instruction=instruction)
