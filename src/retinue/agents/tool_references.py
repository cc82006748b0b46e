"""What definitions and settings call tools, in our names: `Bash(git log:*)` is `shell` with the pattern `git log:*`.

Only names, and what is known of one by itself: that no call can match it, that it allows more than it seems to. The
toolbox says which tools there are, and `agents.grants` what an agent may do with them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Final

from retinue.agents.grants import TAKES_PATHS, normal_path
from retinue.contract.names import fold, nearest
from retinue.errors import InvalidInput

DELEGATE: Final = "delegate"
"""The tool that calls another agent."""

SKILL: Final = "skill"
"""The tool that gives the instructions of a skill."""

ALIASES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Agent": DELEGATE,
        "Bash": "shell",
        "Edit": "edit",
        "Glob": "glob",
        "Grep": "grep",
        "LS": "glob",
        "LSP": "lsp",
        "MultiEdit": "edit",
        "Read": "read",
        "Skill": SKILL,
        "Task": DELEGATE,
        "WebFetch": "web_fetch",
        "WebSearch": "web_search",
        "Write": "write",
    }
)
"""Our names for the tools of other programs' definitions."""

_FOREIGN_TOOLS: Final = frozenset(
    {
        "AskUserQuestion", "BashOutput", "EnterPlanMode", "ExitPlanMode", "KillBash", "KillShell", "NotebookEdit",
        "NotebookRead", "SendMessage", "SlashCommand", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop",
        "TaskUpdate", "TeamCreate", "TeamDelete", "TodoRead", "TodoWrite",
    }
)  # fmt: skip
"""Tools that other programs have and we have not."""

_WORD: Final = re.compile(r"(?P<name>\*|[A-Za-z][A-Za-z0-9_*-]{0,127})(?:\s*\((?P<patterns>[^\x00-\x1f]{0,2000})\))?")
_MCP: Final = re.compile(r"mcp__[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*")
_FOREIGN: Final = re.compile(r"mcp__|[A-Z][A-Z0-9_*]*\Z")
"""Tools of MCP servers and of a user's own domain, which are not known in advance."""

NAMES: Final = frozenset(ALIASES.values()) | {
    "forget", "git", "outline", "recall", "remember",
}  # fmt: skip
"""Our own tools."""


@dataclass(frozen=True, slots=True)
class ToolReference:
    """One word, read.

    Attributes:
        tool: A tool's name or a pattern of names, in our words.
        patterns: What a call must be about, one of them; none means any call.
        is_foreign: It is a tool that other programs have and we do not.
    """

    tool: str
    patterns: tuple[str, ...] = ()
    is_foreign: bool = False

    def missing(self, there: Iterable[str]) -> str:
        """How a sentence ends that says there is no such tool among `there`: with the nearest, or whose it is."""
        if self.is_foreign:
            return f"the tool `{self.tool}` of another program."
        near = nearest(self.tool, [*there, *ALIASES])
        ours = list(dict.fromkeys(f"`{ALIASES.get(name, name)}`" for name in near))
        suggestion = f" Did you mean {' or '.join(ours[:2])}?" if near else ""
        return f"there is no tool `{self.tool}`.{suggestion}"


def parse_tool_reference(word: str) -> ToolReference:
    """Read the name of a tool, with what stands in parentheses after it.

    Names may be ours (`web_fetch`), those of other programs (`WebFetch`), patterns (`mcp__github__*`), a whole server
    (`mcp__github`), or `*`. In the parentheses several patterns stand between commas.

    Raises:
        InvalidInput: It is not the name of a tool.
    """
    match = _WORD.fullmatch(word.strip())
    if match is None:
        raise InvalidInput(
            f"{word[:80]!r} is not a tool.", hint="Write a name, or a name with a pattern: `read`, `shell(make:*)`."
        )
    name, arguments = match["name"], match["patterns"]
    patterns = tuple(part.strip() for part in (arguments or "").split(",") if part.strip())
    if arguments is not None and not patterns:
        raise InvalidInput(
            f"{word[:80]!r} says no pattern between its parentheses.",
            hint=f"Write one, as in `{name}(docs/**)`, or `{name}` alone for every call.",
        )
    if "*" in patterns or "**" in patterns:
        patterns = ()
    if name in _FOREIGN_TOOLS:
        return ToolReference(name, patterns, is_foreign=True)
    if name in ALIASES:
        canonical = ALIASES[name]
    elif name.startswith("mcp__"):  # a whole server stands for all its tools
        canonical = f"{name}__*" if _MCP.fullmatch(name) else name
    elif "*" in name:
        canonical = name
    else:
        by_fold = {**{fold(other): ours for other, ours in ALIASES.items()}, **{ours: ours for ours in NAMES}}
        canonical = by_fold.get(fold(name), name)
    return ToolReference(canonical, patterns)


def rule_warnings(word: ToolReference) -> Iterator[str]:
    """Why a rule, or a part of it, can fit no call, one sentence each.

    Tools of MCP servers and of a user's own domain are not known here, so nothing is said of their names.
    """
    if word.is_foreign:
        yield f"`{word.tool}` is a tool of another program, so the rule does nothing here."
    elif not any(fnmatchcase(name, word.tool) for name in NAMES) and not _FOREIGN.match(word.tool):
        yield f"The rule does nothing: {word.missing(NAMES)}"
    for pattern in word.patterns:
        if reason := _mismatch_reason(word.tool, pattern):
            yield f"`{word.tool}({pattern})` fits nothing: {reason}."


def _mismatch_reason(tool: str, pattern: str) -> str:
    """Why no call can fit the pattern; empty when one can."""
    is_quoted = pattern[0] in "\"'" and pattern[-1] == pattern[0]
    reason = ""
    if tool in TAKES_PATHS:
        if is_quoted:
            reason = "the path would have to have these quotes in its name"
        elif pattern.startswith(("~", "$")):
            reason = "a path begins in the workspace, or with `//` for one of the whole machine"
        elif normal_path(pattern.lstrip("/")).startswith(".."):
            reason = "it leads out of the workspace"
        elif pattern.startswith("domain:"):
            reason = "it is not a valid path"
    elif tool == "shell":
        signs = set("|;&<>`") & set(pattern)
        if signs and not {"'", '"'} & set(pattern):
            reason = f"there is no shell, so {min(signs)!r} never stands outside of quotes"
    elif tool == "web_fetch" and not pattern.startswith(("domain:", "http", "*")):
        reason = "write `domain:` before the name of a host"
    return reason


_WRITES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "awk": "`print > file`", "env": "any program after it", "fd": "`--exec`", "find": "`-delete` and `-exec`",
        "git branch": "`git branch -D`", "git config": "every setting, and some name programs",
        "git format-patch": "files of its own", "git grep": "`--open-files-in-pager`",
        "git ls-remote": "`--upload-pack`", "git reflog": "`expire`", "git remote": "`add` and `remove`",
        "git stash": "`drop`", "git tag": "`-d`", "rg": "`--pre`", "sed": "`-i`", "sort": "`-o`", "tree": "`-o`",
        "uniq": "its second file", "xargs": "any program after it", "yq": "`-i`",
        **{
            f"git {command}": "`--output`" for command in (
                "annotate", "archive", "blame", "diff", "diff-files", "diff-index", "diff-tree", "log", "range-diff",
                "rev-list", "shortlog", "show", "whatchanged",
            )
        },
    }
)  # fmt: skip
"""Commands that look as if they only read, and by what they write or run something."""


def write_loophole(pattern: str) -> str:
    """By what a command writes that fits a rule for `shell` and looks as if it only read; empty when by nothing."""
    start = pattern.removesuffix(":*").rstrip("* ")
    if start == pattern:
        return ""  # no argument can be added
    words = start.split(" ")
    if words[0] == "git" and (words[1:] == [] or words[1].startswith("-")):
        return "every command of git"
    return next((by for command, by in _WRITES.items() if words[: len(command.split(" "))] == command.split(" ")), "")
