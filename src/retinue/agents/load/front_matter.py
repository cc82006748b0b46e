"""A Markdown definition as it was read: front matter as strict YAML, body, and where both stand.

Knows nothing of what the keys mean; that differs between agents, skills and commands.
"""

import json
import re
from dataclasses import dataclass
from typing import Final, cast

from retinue.contract.finding import Finding, Severity, TextEdit
from retinue.contract.json import JsonValue
from retinue.errors import ParseError

from .document import Document, LineColumn, decode, parse_error
from .fields import snake_key

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
    places: dict[str, LineColumn] = {}
    value, findings, after = cast("JsonValue", {}), (), 0
    if lines[0].rstrip() == _FENCE:
        ends = (number for number, line in enumerate(lines[1:], start=1) if line.rstrip() in {_FENCE, "..."})
        if (end := next(ends, None)) is None:
            message = "The front matter that starts on line 1 has no end."
            raise parse_error(message, hint="Close it with a line `---`.")
        text, after = "\n".join(lines[1:end]), end + 1
        if not text.strip() and required:
            raise parse_error("The front matter is empty.", line=2, hint="Add `name:` and `description:`.")
        if quote_hint:
            text = _ARGUMENT_HINT.sub(lambda match: match[1] + json.dumps(match[2]), text)
        if text.strip():
            from .yaml import read_yaml  # noqa: PLC0415 - only files with front matter pay for ruamel.yaml

            try:
                value, places = read_yaml(text, first_line=2)
            except ParseError:  # once more, with quotes around what is not ambiguous
                text, findings = quote_texts(text, file=file, first_line=2)
                if not findings:
                    raise
                value, places = read_yaml(text, first_line=2)
    elif required:
        raise parse_error("The file has no front matter.", hint=_HINT)
    blank = next((at for at, line in enumerate(lines[after:]) if line.strip()), len(lines) - after)
    document = Document(file=file, value=value, locate=lambda: places)
    return MarkdownDocument(document, "\n".join(lines[after:]).strip(), after + blank + 1, findings)


_TEXT: Final = re.compile(
    r"(?P<head>(?P<key>description|argument-hint|when_to_use):[ \t]+)(?P<text>[^\s\-?:,\[\]{}#&*!|>'\"%@`].*)"
)
"""A key whose value is prose, and the prose as YAML's plain style lets it begin."""
_ENDS_A_KEY: Final = re.compile(r":(?=[ \t]|\Z)")
_COMMENT: Final = re.compile(r"[ \t]#")
_KEY: Final = re.compile(r"([A-Za-z][A-Za-z0-9_-]*):(?:[ \t]|\Z)")
_KEYS: Final = frozenset({
    "aliases", "allowed_tools", "argument_hint", "author", "background", "category", "color", "compatibility",
    "composes", "deprecated", "description", "dialect", "disable_model_invocation", "disallowed_tools", "effort",
    "examples", "hooks", "input_schema", "isolation", "license", "max_turns", "mcp_servers", "memory", "metadata",
    "model", "name", "output_schema", "permission_mode", "runner", "skills", "tags", "tier", "tools",
    "user_invocable", "version", "when_to_use",
})  # fmt: skip
"""What may follow such a text. Another word, `user:` perhaps, could be the text's own next line."""


def quote_texts(text: str, *, file: str, first_line: int) -> tuple[str, tuple[Finding, ...]]:
    """`text`, front matter that is no YAML, with quotes around each such text; and a warning for each.

    Args:
        text: The front matter without its fences.
        file: What findings call the file.
        first_line: The line of the file on which `text` begins.
    """
    lines = text.split("\n")
    findings: dict[str, Finding] = {}
    for at, line in enumerate(lines):
        match = _TEXT.fullmatch(line.rstrip())
        if match is None or match["key"] in findings:  # a key that stands twice is refused anyway
            continue
        colon = _ENDS_A_KEY.search(match["text"])
        if colon is None or _COMMENT.search(match["text"]):
            continue
        # The text must not go on below: the front matter ends there, or a key follows that we know.
        below = next((line for line in lines[at + 1 :] if line.strip()), None)
        next_key = None if below is None else _KEY.match(below)
        if below is not None and (next_key is None or snake_key(next_key[1]) not in _KEYS):
            continue
        quoted = json.dumps(match["text"], ensure_ascii=False)
        key = match["key"]
        findings[key] = Finding(
            rule="load/unquoted-colon",
            message=f"The unquoted text of `{key}` holds a colon and a space; it was read as one text.",
            severity="warning",
            path=f"/{key}",
            file=file,
            line=first_line + at,
            column=len(match["head"]) + colon.start() + 1,
            fix=f"Write `{key}: |` and the text, indented, below it; strict readers refuse the file as it is.",
            replacement=TextEdit(old=match["text"], new=quoted),
        )
        lines[at] = match["head"] + quoted
    return "\n".join(lines), tuple(findings.values())
