"""Texts in front matter that hold a colon and a space and stand in no quotes, where they can mean one thing only.

`description: Use it so: always` is no YAML, and yet common: programs that cut a line at its first colon take it, strict
ones refuse the file. Nothing else is mended: not a text of several lines, not one that YAML could read otherwise.
"""

import json
import re
from typing import Final

from retinue.contract.finding import Finding, TextEdit

from .fields import snake_key

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
        if colon is None or _COMMENT.search(match["text"]) or not _is_one_line(lines, at):
            continue
        place = (first_line + at, len(match["head"]) + colon.start() + 1)
        quoted = json.dumps(match["text"], ensure_ascii=False)
        replacement = TextEdit(old=match["text"], new=quoted)
        key = match["key"]
        findings[match["key"]] = Finding(
            rule="load/unquoted-colon",
            message=f"The unquoted text of `{key}` holds a colon and a space; it was read as one text.",
            severity="warning",
            path=f"/{key}",
            file=file,
            line=place[0],
            column=place[1],
            fix=f"Write `{key}: |` and the text, indented, below it; strict readers refuse the file as it is.",
            replacement=replacement,
        )
        lines[at] = match["head"] + quoted
    return "\n".join(lines), tuple(findings.values())


def _is_one_line(lines: list[str], at: int) -> bool:
    """Whether the text on a line cannot go on below it: the front matter ends, or a key follows that we know."""
    below = next((lines[n] for n in range(at + 1, len(lines)) if lines[n].strip()), None)
    key = None if below is None else _KEY.match(below)
    return below is None or (key is not None and snake_key(key[1]) in _KEYS)
