"""Definitions in the words of a dialect: tools of spec 000, cards of spec 004.

The dialect reads them; here they become agents of a file, with places for every finding.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from retinue.agents.instruction import instruction_field
from retinue.contract.definition import Definition, Skill, Source
from retinue.contract.finding import Finding
from retinue.contract.json import JsonValue, pointer
from retinue.dialects import agent_http, tool_use
from retinue.dialects.port import Parsed
from retinue.errors import InvalidInput, ParseError

from .document import Document, decode, finding_of
from .fields import CODE_KEYS, NAMES_CODE, NO_CODE, snake_key
from .json import read_json
from .loaded_agents import ELSEWHERE, NEEDS_MODEL, CardAgent, InstructionsAgent, LoadedAgents

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
    definitions = [
        _as_file_definition(each, document, unavailable=NEEDS_MODEL if runs_here else ELSEWHERE)
        for each in parsed.value
    ]
    agents = tuple(InstructionsAgent(each) if runs_here else CardAgent(each) for each in definitions)
    return LoadedAgents(agents=agents, findings=findings)


def _check_code_keys(document: Document) -> Iterator[Finding]:
    """What no data file may do."""
    for path, value in _objects(document.value):
        for key in value if isinstance(value, dict) else ():
            if snake_key(key) in CODE_KEYS:
                yield document.finding(
                    "load/names-code", NAMES_CODE.format(key), path=path + pointer([key]), fix=NO_CODE
                )


def _objects(value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """The definitions in a file, and the skills in them."""
    tops = [(pointer([at]), each) for at, each in enumerate(value)] if isinstance(value, list) else [("", value)]
    for path, top in tops:
        yield path, top
        for key in ("agents", "capabilities", "skills"):
            inner = top.get(key) if isinstance(top, dict) else None
            yield from (
                (path + pointer([key, at]), each) for at, each in enumerate(inner if isinstance(inner, list) else [])
            )


def _with_position(document: Document, finding: Finding) -> Finding:
    return document.finding(
        finding.rule, finding.message, path=finding.path, severity=finding.severity, fix=finding.fix
    )


def _as_file_definition(definition: Definition, document: Document, *, unavailable: str) -> Definition:
    """The definition as one that came from a file, and cannot be called without more."""
    skills: list[Skill] = []
    for skill in definition.skills:
        input_schema = skill.input_schema or {"type": "object"}
        free = skill.instruction_field or instruction_field(input_schema)
        more = {"input_schema": input_schema, "instruction_field": free, "unavailable": unavailable}
        more["thinks"] = "must" if unavailable == NEEDS_MODEL else "never"
        skills.append(Skill.model_validate({**dict(skill), **more}))
    line, column = document.position("")
    source = Source(file=document.file, line=line, column=column)
    return Definition.model_validate({**dict(definition), "skills": tuple(skills), "source": source})
