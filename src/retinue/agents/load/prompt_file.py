"""What skills and slash commands share: one Markdown file is one agent, and may call others (K23)."""

from collections.abc import Callable
from typing import TypeAlias

from retinue.contract.definition import Definition
from retinue.errors import ParseError

from .call_sites import find_call_sites
from .document import decode, finding_of
from .fields import Fields
from .front_matter import MarkdownDocument, read_front
from .loaded_agents import LoadedAgents
from .unavailable import InstructionsAgent

DefinitionReader: TypeAlias = Callable[[Fields, MarkdownDocument], Definition | None]
"""Makes the definition out of the keys of the front matter and the body, and says in the keys what is wrong."""


def load_prompt(data: bytes, *, file: str, read: DefinitionReader, required: bool, keys: str) -> LoadedAgents:
    """Read the prompt in `data`. What is wrong becomes findings; with an error there is no agent.

    Args:
        data: The content of the file.
        file: What findings call it.
        read: Makes the definition.
        required: Whether there must be front matter.
        keys: What it should hold, as part of a sentence.
    """
    try:
        front = read_front(data, file=file, required=required, quote_hint=True)
    except ParseError as error:
        return LoadedAgents(findings=(finding_of(error, file=file),))
    if not isinstance(front.value, dict):
        message = f"The front matter must be lines with {keys}."
        return LoadedAgents(
            findings=(front.document.finding("load/wrong-type", message, fix="Write `key: value` lines."),)
        )
    findings = list(front.findings)
    fields = Fields(front.document, front.value, path="", findings=findings)
    definition = read(fields, front)
    findings.sort(key=lambda finding: (finding.line or 0, finding.column or 0))
    if fields.has_errors or definition is None:
        return LoadedAgents(findings=tuple(findings))
    calls = find_call_sites(decode(data), file=file)
    return LoadedAgents(agents=(InstructionsAgent(definition),), findings=tuple(findings), calls=calls)
