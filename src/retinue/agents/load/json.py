"""Tool-use definitions in JSON (A4): one object, or an array of them."""

from functools import partial
from typing import Final

from retinue.contract import json
from retinue.contract.finding import Finding
from retinue.errors import ParseError

from .definition_keys import read_definition
from .document import MAX_BYTES, Document, decode, finding_of
from .loaded_agents import InstructionsAgent, LoadedAgents

MAX_ENTRIES: Final = 1_000
"""Most definitions in one file."""

_MAX_DEPTH: Final = 64
"""A definition holds JSON Schemas, which nest deeper than front matter but not without end."""


def load_json(data: bytes, *, file: str) -> LoadedAgents:
    """Read the definitions in `data`. What is wrong becomes findings; a definition with an error is left out (A4, A6).

    Args:
        data: The content of the file.
        file: What findings and the definitions' `source` call it.
    """
    try:
        document = read_json(data, file=file)
    except ParseError as error:
        return LoadedAgents(findings=(finding_of(error, file=file),))
    value = document.value
    findings = list[Finding]()
    entries = value if isinstance(value, list) else [value]
    if len(entries) > MAX_ENTRIES:
        message = f"The array has {len(entries)} entries; {MAX_ENTRIES} are allowed."
        return LoadedAgents(findings=(document.finding("load/too-many", message, fix="Split the file."),))
    if not entries:
        findings.append(document.finding("load/none", "The array is empty.", fix="Put a definition into it."))
    definitions = [
        read_definition(
            document, entry, path=json.pointer([position]) if isinstance(value, list) else "", findings=findings
        )
        for position, entry in enumerate(entries)
    ]
    agents = tuple(InstructionsAgent(definition) for definition in definitions if definition)
    return LoadedAgents(agents=agents, findings=tuple(findings))


def read_json(data: bytes, *, file: str) -> Document:
    """Read one JSON text.

    Raises:
        ParseError: It is no strict JSON; `detail` has line and column.
    """
    text = decode(data)
    value = json.loads(text, max_bytes=MAX_BYTES, max_depth=_MAX_DEPTH)
    return Document(file=file, value=value, locate=partial(json.source_map, text))
