"""Tools of the tool-use dialect as agents: `agent__skill` and `agent__other` are two skills of one (A4, C11)."""

from retinue.agents.instruction import instruction_field
from retinue.contract.definition import Definition, Skill, Source
from retinue.contract.finding import Finding
from retinue.contract.json import JsonValue, pointer
from retinue.dialects.tool_use import parse_definitions
from retinue.errors import InvalidInput, ParseError

from .document import Document, decode, finding_of
from .fields import CODE_KEYS, snake
from .json import read_json
from .loaded import Loaded
from .prompted import NEEDS_MODEL, Prompted

__all__ = ["load_tool_use"]


def load_tool_use(data: bytes, *, file: str) -> Loaded:
    """Read the tools in `data`. What is wrong becomes findings; with an error there is no agent (A4, A6).

    Args:
        data: The content of the file.
        file: What findings and the definitions' `source` call it.
    """
    try:
        document = read_json(data, file=file)
        named = tuple(_naming_code(document))
        parsed = parse_definitions(decode(data))
    except ParseError as error:
        return Loaded(findings=(finding_of(error, file=file),))
    except InvalidInput as error:
        found = [Finding.model_validate(each) for each in error.detail["findings"]]
        return Loaded(findings=tuple(_placed(document, each) for each in found))
    findings = (*named, *(_placed(document, each) for each in parsed.findings))
    if named:
        return Loaded(findings=findings)
    return Loaded(agents=tuple(Prompted(_sourced(each, document)) for each in parsed.value), findings=findings)


def _naming_code(document: Document) -> list[Finding]:
    """What no data file may do."""
    value = document.value
    tools: list[tuple[str, JsonValue]] = [("", value)]
    if isinstance(value, list):
        tools = [(pointer([at]), each) for at, each in enumerate(value)]
    fix = "Remove it, and write an agent that runs code in Python, with `@agent`."
    return [
        document.finding(
            "load/names-code",
            f"The key {key!r} names code to run, which a data file may not.",
            path=path + pointer([key]),
            fix=fix,
        )
        for path, tool in tools
        for key in (tool if isinstance(tool, dict) else {})
        if snake(key) in CODE_KEYS
    ]


def _placed(document: Document, finding: Finding) -> Finding:
    return document.finding(
        finding.rule, finding.message, path=finding.path, severity=finding.severity, fix=finding.fix
    )


def _sourced(definition: Definition, document: Document) -> Definition:
    """The definition as one that came from a file and needs a model."""
    skills = tuple(
        Skill(
            **{
                **dict(skill),
                "instruction_field": skill.instruction_field or instruction_field(skill.input_schema),
                "unavailable": NEEDS_MODEL,
            }
        )
        for skill in definition.skills
    )
    line, column = document.place("")
    source = Source(file=document.file, line=line, column=column)
    return Definition(**{**dict(definition), "skills": skills, "source": source})
