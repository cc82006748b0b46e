"""What can be counted in a research report, read off its text (H29).

Whether a source is a good one, nobody here can tell: that takes a reader (`judging_reports`). The text is somebody
else's Markdown, and is read line by line.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ["LEAST_BYTES", "Counted", "count", "objections"]

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
    r"|^[^\S\n]*\.\.\.[^\S\n]*$",
    re.IGNORECASE | re.MULTILINE,
)
_FENCES: Final = frozenset({"```", "~~~"})


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted in a report.

    Attributes:
        sources: Addresses and files that it names.
        recommendations: Items under its recommendations.
        bare: Files it refers to without a line number.
        placeholder: Placeholder text that stands in it; empty when none does.
    """

    sources: int
    recommendations: int
    bare: tuple[str, ...]
    placeholder: str


def count(text: str) -> Counted:
    """Count what there is in a report."""
    lines = list(_outside_code(text))
    prose = "\n".join(line for _, line in lines)
    files = [(match[1], match[2]) for match in _FILE.finditer(_URL.sub(" ", prose))]
    sources = {match.group().rstrip(".,;:") for match in _URL.finditer(prose)} | {name for name, _ in files}
    recommended = sum(_ITEM.match(line) is not None for section, line in lines if section.startswith("recommendation"))
    bare = tuple(dict.fromkeys(name for name, line in files if not line))
    placeholder = _PLACEHOLDER.search(prose)
    return Counted(len(sources), recommended, bare, " ".join(placeholder.group().split())[:60] if placeholder else "")


def objections(text: str) -> list[str]:
    """What a research report lacks of what can be counted, in sentences; nothing when it has all of it."""
    counted = count(text)
    found: list[str] = []
    if counted.sources < _LEAST:
        found.append(f"It names {counted.sources} sources, and {_LEAST} are asked.")
    if counted.recommendations < _LEAST:
        found.append(f"It lists {counted.recommendations} recommendations, and {_LEAST} are asked.")
    if counted.bare:
        more = " …" if len(counted.bare) > _SHOWN else ""
        found.append(f"References without a line number: {', '.join(counted.bare[:_SHOWN])}{more}.")
    if counted.placeholder:
        found.append(f"Placeholder text stands in it: {counted.placeholder!r}.")
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
