"""What a research report must have beside its headings, read off its text (H29).

Only what can be counted is judged: whether a source is a good one, nobody here can tell. The text is somebody else's
Markdown, and is read line by line.
"""

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["LEAST_BYTES", "objections"]

LEAST_BYTES: Final = 500
"""A research report of fewer bytes counts as not written."""

_LEAST: Final = 3
_SHOWN: Final = 3
_URL: Final = re.compile(r"https?://[^\s<>()\[\]\"'`]{3,500}")
_SUFFIXES: Final = "py|js|ts|go|rs|md|toml|json|ya?ml|java|c|h|cpp|rb|sh|txt|csv"
_FILE: Final = re.compile(
    rf"(?<![\w/.:-])((?:[\w.-]{{1,80}}/){{1,20}}[\w.-]{{1,80}}\.[A-Za-z]\w{{0,7}}|[\w-]{{1,80}}\.(?:{_SUFFIXES}))"
    r"(:\d{1,7}(?:-\d{1,7})?|#L\d{1,7})?(?![\w/])"
)
_HEADING: Final = re.compile(r"\s{0,3}#{1,6}\s+(.*)")
_ITEM: Final = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+\S")
_PLACEHOLDER: Final = re.compile(
    r"\b(?:TODO|TBD|FIXME|XXX)\b|\blorem ipsum\b|\[(?:insert|your|add|fill)\b[^\]\n]{0,80}\]"
    r"|<(?:insert|placeholder|your)\b[^>\n]{0,80}>|\bplaceholder (?:text|content)\b|\{\{[^}\n]{1,80}\}\}"
    r"|^\s*\.\.\.\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_FENCES: Final = frozenset({"```", "~~~"})


def objections(text: str) -> list[str]:
    """What a research report lacks, in sentences; nothing when it has all of it."""
    lines = list(_outside_code(text))
    prose = "\n".join(line for _, line in lines)
    files = [(match[1], match[2]) for match in _FILE.finditer(_URL.sub(" ", prose))]
    sources = {match.group().rstrip(".,;:") for match in _URL.finditer(prose)} | {name for name, _ in files}
    recommended = sum(_ITEM.match(line) is not None for section, line in lines if section.startswith("recommendation"))
    bare = list(dict.fromkeys(name for name, line in files if not line))
    found: list[str] = []
    if len(sources) < _LEAST:
        found.append(f"It names {len(sources)} sources, and {_LEAST} are asked.")
    if recommended < _LEAST:
        found.append(f"It lists {recommended} recommendations, and {_LEAST} are asked.")
    if bare:
        more = " …" if len(bare) > _SHOWN else ""
        found.append(f"References without a line number: {', '.join(bare[:_SHOWN])}{more}.")
    if (placeholder := _PLACEHOLDER.search(prose)) is not None:
        found.append(f"Placeholder text stands in it: {' '.join(placeholder.group().split())[:60]!r}.")
    return found


def _outside_code(text: str) -> Iterator[tuple[str, str]]:
    """Every line that is no code, with the heading it stands under, lower case."""
    section, fence = "", ""
    for line in text.splitlines():
        mark = line.strip()[:3]
        if mark in _FENCES and (not fence or mark == fence):
            fence = "" if fence else mark
        elif fence:
            continue
        elif (heading := _HEADING.match(line)) is not None:
            section = heading[1].strip("#*_` ").lower()
        else:
            yield section, line
