"""Agents as Markdown (`.claude/agents/*.md`): YAML front matter says what the agent is, the body how it behaves (H8).

Unless the front matter declares more, the agent has one skill, named like itself, that takes a `task`. Operations that
the body lists become skills when the agent is used (`operations`).
"""

from pathlib import PurePosixPath

from retinue.contract.finding import Finding
from retinue.errors import ParseError

from .definition_keys import read_definition
from .document import finding_of
from .front_matter import check_behaviour, read_front
from .loaded_agents import LoadedAgents
from .unavailable import InstructionsAgent


def load_markdown(data: bytes, *, file: str) -> LoadedAgents:
    """Read the definition in `data`. What is wrong becomes findings; with an error there is no agent (H8).

    Args:
        data: The content of the file.
        file: What findings and the definition's `source` call it.
    """
    try:
        front = read_front(data, file=file)
    except ParseError as error:
        return LoadedAgents(findings=(finding_of(error, file=file),))
    findings = list[Finding](front.findings)
    definition = read_definition(
        front.document,
        front.value,
        findings=findings,
        instructions=front.body or None,
        schema_required=False,
        file_name=PurePosixPath(file).stem,
    )
    if definition is None:
        return LoadedAgents(findings=tuple(findings))
    findings += check_behaviour(front)
    return LoadedAgents(agents=(InstructionsAgent(definition),), findings=tuple(findings))
