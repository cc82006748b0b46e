"""Agents as Markdown (`.claude/agents/*.md`): YAML front matter says what the agent is, the body how it behaves (H8).

An operation that the body speaks of is not a skill: unless the front matter declares more, the agent has one skill,
named like itself, that takes a `task`.
"""

from pathlib import PurePosixPath

from retinue.contract.finding import Finding
from retinue.contract.json import JsonValue
from retinue.errors import ParseError

from .behaviour import read_behaviour
from .definition import read_definition
from .document import Document, Place, decode, finding_of, refusal
from .loaded import Loaded
from .prompted import Prompted

__all__ = ["load_markdown"]

_FENCE = "---"
_HINT = "Start the file with `---`, lines with `name:` and `description:`, and `---` again."


def load_markdown(data: bytes, *, file: str) -> Loaded:
    """Read the definition in `data`. What is wrong becomes findings; with an error there is no agent (H8).

    Args:
        data: The content of the file.
        file: What findings and the definition's `source` call it.
    """
    try:
        front, body = _split(decode(data))
        value, places = _read_front(front)
    except ParseError as error:
        return Loaded(findings=(finding_of(error, file=file),))
    document = Document(file=file, value=value, locate=lambda: places)
    findings = list[Finding]()
    definition = read_definition(
        document,
        value,
        findings=findings,
        instructions=body or None,
        schema_required=False,
        file_name=PurePosixPath(file).stem,
    )
    if definition is None:
        return Loaded(findings=tuple(findings))
    findings += _about_body(document, body)
    return Loaded(agents=(Prompted(definition),), findings=tuple(findings))


def _split(text: str) -> tuple[str, str]:
    """Front matter and body, lines ending with a line feed. The front matter begins on line 2.

    Raises:
        ParseError: There is no front matter, or it has no end.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[0].rstrip() != _FENCE:
        raise refusal("The file has no front matter.", hint=_HINT)
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() in {_FENCE, "..."}:
            return "\n".join(lines[1:number]), "\n".join(lines[number + 1 :]).strip()
    raise refusal("The front matter that starts on line 1 has no end.", hint="Close it with a line `---`.")


def _read_front(front: str) -> tuple[JsonValue, dict[str, Place]]:
    """Read the YAML between the fences.

    Raises:
        ParseError: It is empty or no strict YAML.
    """
    if not front.strip():
        raise refusal("The front matter is empty.", line=2, hint="Add `name:` and `description:`.")
    from .yaml import read_yaml  # noqa: PLC0415 - only files with front matter pay for ruamel.yaml

    return read_yaml(front, first_line=2)


def _about_body(document: Document, body: str) -> list[Finding]:
    """What a behaviour should hold and this one does not (H8). Never an error: the agent can still be asked."""
    if not body:
        return [
            document.finding(
                "load/no-instructions",
                "The body is empty: the agent has no instructions.",
                severity="warning",
                fix="Say its role, its steps, its output format and its quality criteria.",
            )
        ]
    missing = read_behaviour(body).missing
    if not missing:
        return []
    message = f"The behaviour says nothing of {', '.join(missing)}."
    return [document.finding("load/thin-behaviour", message, severity="info", fix="Add a section for each.")]
