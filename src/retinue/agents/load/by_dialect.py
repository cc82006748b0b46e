"""Definitions in the words of a dialect: tools of spec 000, cards of spec 004.

The dialect reads them; here they become agents of a file, with places for every finding.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from retinue.contract.definition import Definition, Skill, Source, instruction_field
from retinue.contract.finding import Finding
from retinue.contract.json import pointer
from retinue.dialects import agent_http, tool_use
from retinue.dialects.port import Parsed
from retinue.errors import InvalidInput, ParseError

from .document import Document, decode, finding_of, read_json
from .fields import CODE_KEYS, NAMES_CODE, NO_CODE, snake_key
from .loaded_agents import NEEDS_MODEL, RUNS_ELSEWHERE, CardAgent, InstructionsAgent, LoadedAgents

_Parse: TypeAlias = Callable[[str], Parsed[tuple[Definition, ...]]]


def load_tool_use(data: bytes, *, file: str) -> LoadedAgents:
    """Read tools: `agent__skill` and `agent__other` are two skills of one agent (A4, A6, C11).

    Args:
        data: The content of the file.
        file: What findings and the definitions' `source` call it.
    """
    return _load(data, tool_use.parse_definitions, file=file, runs_here=True)


def load_agent_json(data: bytes, *, file: str) -> LoadedAgents:
    """Read a card of spec 004, or a list of them (P5, C28).

    Args:
        data: The content of the file.
        file: What findings and the definitions' `source` call it.
    """
    return _load(data, agent_http.parse_card, file=file, runs_here=False)


def _load(data: bytes, parse: _Parse, *, file: str, runs_here: bool) -> LoadedAgents:
    """Read definitions by a dialect.

    Args:
        data: The content of the file.
        parse: Reads the text.
        file: What findings call it.
        runs_here: Whether the agents are to be run here, or run elsewhere.
    """
    try:
        document = read_json(data, file=file)
    except ParseError as error:
        return LoadedAgents(findings=(finding_of(error, file=file),))
    code_findings = tuple(_check_code_keys(document))
    try:
        parsed = parse(decode(data))
    except ParseError as error:
        return LoadedAgents(findings=(finding_of(error, file=file),))
    except InvalidInput as error:
        raw_findings = [Finding.model_validate(each) for each in error.detail["findings"]]
        return LoadedAgents(findings=tuple(_with_position(document, each) for each in raw_findings))
    findings = (*code_findings, *(_with_position(document, each) for each in parsed.findings))
    if code_findings:
        return LoadedAgents(findings=findings)
    agents: list[InstructionsAgent | CardAgent] = []
    line, column = document.position("")
    source = Source(file=file, line=line, column=column)
    for definition in parsed.value:
        skills: list[Skill] = []
        for skill in definition.skills:
            schema = skill.input_schema or {"type": "object"}
            more = {
                "input_schema": schema,
                "instruction_field": skill.instruction_field or instruction_field(schema),
                "unavailable": NEEDS_MODEL if runs_here else RUNS_ELSEWHERE,
                "thinks": "must" if runs_here else "never",
            }
            skills.append(Skill.model_validate({**dict(skill), **more}))
        whole = Definition.model_validate({**dict(definition), "skills": tuple(skills), "source": source})
        agents.append(InstructionsAgent(whole) if runs_here else CardAgent(whole))
    return LoadedAgents(agents=tuple(agents), findings=findings)


def _check_code_keys(document: Document) -> Iterator[Finding]:
    """No data file names code to run: neither a definition nor a skill in it."""
    value = document.value
    objects = [(pointer([at]), each) for at, each in enumerate(value)] if isinstance(value, list) else [("", value)]
    for path, each in [*objects]:
        for key in ("agents", "capabilities", "skills"):
            inner = each.get(key) if isinstance(each, dict) else None
            if isinstance(inner, list):
                objects += [(path + pointer([key, at]), item) for at, item in enumerate(inner)]
    for path, each in objects:
        for key in each if isinstance(each, dict) else ():
            if snake_key(key) in CODE_KEYS:
                place = path + pointer([key])
                yield document.finding("load/names-code", NAMES_CODE.format(key), path=place, fix=NO_CODE)


def _with_position(document: Document, finding: Finding) -> Finding:
    return document.finding(
        finding.rule, finding.message, path=finding.path, severity=finding.severity, fix=finding.fix
    )
