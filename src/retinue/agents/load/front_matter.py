"""A Markdown definition as it was read: front matter as strict YAML, body, and where both stand.

Knows nothing of what the keys mean; that differs between agents, skills and commands.
"""

import json
import re
from dataclasses import dataclass
from typing import Final

from retinue.contract.finding import Finding, Severity
from retinue.contract.formatting import natural_list
from retinue.contract.json import JsonValue
from retinue.errors import ParseError

from .behaviour import read_behaviour
from .colons import quote_texts
from .document import Document, LineColumn, decode, parse_error

_FENCE: Final = "---"
_HINT: Final = "Start the file with `---`, lines with `name:` and `description:`, and `---` again."
_ARGUMENT_HINT: Final = re.compile(r"^(argument-hint:[ \t]*)(\[[^\n]*\][^\n]*?)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True)
class MarkdownDocument:
    """One Markdown file in two parts.

    Attributes:
        document: The front matter and its places; an empty object when there is none.
        body: What follows it, without blank lines around.
        body_line: The line on which the body begins.
        findings: What was wrong with the front matter and was borne.
    """

    document: Document
    body: str
    body_line: int
    findings: tuple[Finding, ...] = ()

    @property
    def value(self) -> JsonValue:
        """What the front matter says."""
        return self.document.value

    def body_finding(
        self, rule: str, message: str, *, offset: int, severity: Severity = "info", fix: str = ""
    ) -> Finding:
        """Say something about the place in the body that is `offset` characters in."""
        before = self.body[:offset]
        return Finding(
            rule=rule,
            message=message,
            severity=severity,
            file=self.document.file,
            line=self.body_line + before.count("\n"),
            column=offset - before.rfind("\n"),
            fix=fix,
        )


def read_front(data: bytes, *, file: str, required: bool = True, quote_hint: bool = False) -> MarkdownDocument:
    """Part the file in `data` into front matter and body.

    Args:
        data: The content of the file.
        file: What findings call it.
        required: Whether it must have front matter.
        quote_hint: Whether `argument-hint: [a] [b]` is a text here, as those who write it mean; YAML takes it for a
            list.

    Raises:
        ParseError: It is no text, its front matter is missing, has no end, is empty or no strict YAML.
    """
    lines = decode(data).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[0].rstrip() != _FENCE:
        if required:
            raise parse_error("The file has no front matter.", hint=_HINT)
        return _markdown_document({}, {}, lines, after=0, file=file)
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() in {_FENCE, "..."}:
            text = "\n".join(lines[1:number])
            if not text.strip() and required:
                raise parse_error("The front matter is empty.", line=2, hint="Add `name:` and `description:`.")
            value, places, findings = _read_yaml(
                _ARGUMENT_HINT.sub(lambda match: match[1] + json.dumps(match[2]), text) if quote_hint else text,
                file=file,
            )
            return _markdown_document(value, places, lines, after=number + 1, file=file, findings=findings)
    raise parse_error("The front matter that starts on line 1 has no end.", hint="Close it with a line `---`.")


def _markdown_document(
    value: JsonValue,
    places: dict[str, LineColumn],
    lines: list[str],
    *,
    after: int,
    file: str,
    findings: tuple[Finding, ...] = (),
) -> MarkdownDocument:
    """The file whose body begins after so many lines."""
    blank = 0
    for line in lines[after:]:
        if line.strip():
            break
        blank += 1
    body = "\n".join(lines[after:]).strip()
    return MarkdownDocument(Document(file=file, value=value, locate=lambda: places), body, after + blank + 1, findings)


def _read_yaml(text: str, *, file: str) -> tuple[JsonValue, dict[str, LineColumn], tuple[Finding, ...]]:
    """Read front matter that begins on line 2, strictly; then once more with quotes around what nobody can misread."""
    if not text.strip():
        return {}, {}, ()
    from .yaml import read_yaml  # noqa: PLC0415 - only files with front matter pay for ruamel.yaml

    try:
        return *read_yaml(text, first_line=2), ()
    except ParseError:
        quoted, findings = quote_texts(text, file=file, first_line=2)
        if not findings:
            raise
    return *read_yaml(quoted, first_line=2), findings


def check_behaviour(front: MarkdownDocument) -> list[Finding]:
    """What a behaviour should hold and this one does not (H8). Never an error: the agent can still be asked."""
    if not front.body:
        return [
            front.document.finding(
                "load/no-instructions",
                "The body is empty: the agent has no instructions.",
                severity="warning",
                fix="Say its role, its steps, its output format and its quality criteria.",
            )
        ]
    missing = read_behaviour(front.body).missing
    if not missing:
        return []
    message = f"No section of the behaviour is about {natural_list(missing, last='or')}."
    fix = "Add one for each." if len(missing) > 1 else "Add one."
    return [front.document.finding("load/thin-behaviour", message, severity="info", fix=fix)]
