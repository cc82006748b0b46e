"""What the pattern of a rule means, tool by tool: a path, a command line, a web address, or any text.

Pure, and linear in what it reads: a call's argument may come from anybody. Which rule holds is the business of
`grants`.
"""

import posixpath
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final
from urllib.parse import urlsplit

_READERS: Final = frozenset({"read", "glob", "grep", "outline"})
_EDITORS: Final = frozenset({"write", "edit"})
TAKES_PATHS: Final = _READERS | _EDITORS | {"git", "lsp"}
"""Our tools whose calls are about paths."""

_NO_PATHS: Final = frozenset({"delegate", "forget", "recall", "remember", "shell", "skill", "web_fetch", "web_search"})
"""Our tools whose calls never are. What tools of others take is not known."""

_DOMAIN: Final = "domain:"
_AND_MORE: Final = ":*"

_FAMILIES: Final[Mapping[str, frozenset[str]]] = {"read": _READERS, "write": _EDITORS, "edit": _EDITORS}
"""What a rule about one tool says of others: who may not read a file may not search it either."""


def rule_covers(rule: str, tool: str, *, widely: bool) -> bool:
    """Whether a rule about `rule` (a name or a pattern of names) is about the tool called `tool`.

    Args:
        rule: What the rule names.
        tool: A tool's name.
        widely: Whether it is about tools that do the same by another way, too.
    """
    return fnmatchcase(tool, rule) or (widely and tool in _FAMILIES.get(rule, ()))


def matches(pattern: str, text: str, *, tool: str, widely: bool = False) -> bool:
    """Whether what a call is about fits the pattern of a rule.

    For files a pattern is a path of the workspace: `*` stops at a stroke, `**` does not, one without a stroke fits at
    any depth, and whatever lies below what fits, fits. For commands `git log:*` is `git log` with anything after it.
    For web addresses `domain:example.org` is that host and those below it. Everything else is a shell pattern for the
    whole text.

    Args:
        pattern: The pattern.
        text: What the call is about.
        tool: The tool's name.
        widely: Whether a text that may be a path is read as one too, as rules that ask or deny do.
    """
    if not text:
        return False
    if tool in TAKES_PATHS:
        # `docs\a` is no file of `docs` here, so it counts as one only for rules that ask or deny.
        return path_matches(pattern, normal_path(text) if widely else posixpath.normpath(text))
    if pattern.startswith(_DOMAIN):
        domain = pattern.removeprefix(_DOMAIN)
        try:
            host = urlsplit(text).hostname or ""
        except ValueError:
            return False
        host_pattern = domain.lower().removeprefix("*.").strip(".")
        host = host.rstrip(".")
        return bool(host_pattern) and (fnmatchcase(host, host_pattern) or host.endswith(f".{host_pattern}"))
    if pattern.endswith(_AND_MORE):
        start = pattern.removesuffix(_AND_MORE)
        return text == start or text.startswith(f"{start} ")
    if fnmatchcase(text, pattern):
        return True
    return tool not in _NO_PATHS and (widely or pattern.startswith("//")) and path_matches(pattern, normal_path(text))


def normal_path(path: str) -> str:
    """`path` as it is compared: forward strokes, no `.`, every `..` resolved that can be."""
    return posixpath.normpath(path.replace("\\", "/")) if path else "."


def path_matches(pattern: str, path: str) -> bool:
    """Whether the path, or a folder above it, fits."""
    pattern = pattern.replace("\\", "/")
    anywhere = "/" not in pattern.rstrip("/")
    if pattern.startswith("//"):
        pattern = pattern[1:]  # a path of the whole machine
    elif pattern.startswith("/"):
        pattern = pattern[1:]  # a path of the workspace, written as if that were the root
    parts = normal_path(pattern).split("/")
    if parts == ["."]:
        parts = ["**"]
    if anywhere and parts != ["**"]:
        parts = ["**", *parts]
    there = path.split("/")
    return (there[0] == "..") == (parts[0] == "..") and _parts_match(parts, there)


def _parts_match(pattern: list[str], path: list[str]) -> bool:
    """Whether `pattern` fits the first parts of `path`; goes once through `path`, noting where in `pattern` that is."""
    positions = _skip_wildcards({0}, pattern)
    for part in path:
        if len(pattern) in positions:
            return True
        stays = {place for place in positions if pattern[place] == "**"}
        on = {place + 1 for place in positions if pattern[place] != "**" and fnmatchcase(part, pattern[place])}
        positions = _skip_wildcards(stays | on, pattern)
    return len(pattern) in positions


def _skip_wildcards(places: set[int], pattern: list[str]) -> set[int]:
    """`places`, and those behind every `**` that stands there: it may be nothing."""
    reachable = set(places)
    for place in places:
        following = place
        while following < len(pattern) and pattern[following] == "**":
            following += 1
            reachable.add(following)
    return reachable
