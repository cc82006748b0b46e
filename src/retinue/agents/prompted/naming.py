"""What definitions and settings call tools, in our names: `Bash(git log:*)` is `shell` with the pattern `git log:*`.

Only words. Which tools there are says the toolbox, and what an agent may do with them `agents.grants`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from retinue.contract.names import fold, nearest
from retinue.errors import InvalidInput

__all__ = ["DELEGATE", "NAMES", "OURS", "SKILL", "ToolWord", "read_word"]

DELEGATE: Final = "delegate"
"""The tool that calls another agent."""

SKILL: Final = "skill"
"""The tool that gives the instructions of a skill."""

OURS: Final[Mapping[str, str]] = MappingProxyType(
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

_ELSEWHERE: Final = frozenset(
    {
        "AskUserQuestion", "BashOutput", "EnterPlanMode", "ExitPlanMode", "KillBash", "KillShell", "NotebookEdit",
        "NotebookRead", "SendMessage", "SlashCommand", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop",
        "TaskUpdate", "TeamCreate", "TeamDelete", "TodoRead", "TodoWrite",
    }
)  # fmt: skip
"""Tools that other programs have and we have not."""

_WORD: Final = re.compile(r"(?P<name>\*|[A-Za-z][A-Za-z0-9_*-]{0,127})(?:\s*\((?P<patterns>[^\x00-\x1f]{0,2000})\))?")
_MCP: Final = re.compile(r"mcp__[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*")
NAMES: Final = frozenset(OURS.values()) | {
    "forget", "git", "outline", "recall", "remember",
}  # fmt: skip
"""Our own tools."""


@dataclass(frozen=True, slots=True)
class ToolWord:
    """One word, read.

    Attributes:
        tool: A tool's name or a pattern of names, in our words.
        patterns: What a call must be about, one of them; none means any call.
        elsewhere: It is a tool that other programs have and we have not.
    """

    tool: str
    patterns: tuple[str, ...] = ()
    elsewhere: bool = False

    def missing(self, there: Iterable[str]) -> str:
        """How a sentence ends that says there is no such tool among `there`: with the nearest, or whose it is."""
        if self.elsewhere:
            return f"the tool `{self.tool}` of another program."
        near = nearest(self.tool, [*there, *OURS])
        ours = list(dict.fromkeys(f"`{OURS.get(name, name)}`" for name in near))
        meant = f" Did you mean {' or '.join(ours[:2])}?" if near else ""
        return f"there is no tool `{self.tool}`.{meant}"


def read_word(word: str) -> ToolWord:
    """Read the name of a tool, with what stands in parentheses after it.

    Names may be ours (`web_fetch`), those of other programs (`WebFetch`), patterns (`mcp__github__*`), a whole server
    (`mcp__github`), or `*`. In the parentheses several patterns stand between commas.

    Raises:
        InvalidInput: It is no name of a tool.
    """
    found = _WORD.fullmatch(word.strip())
    if found is None:
        raise InvalidInput(
            f"{word[:80]!r} is no tool.", hint="Write a name, or a name with a pattern: `read`, `shell(git log:*)`."
        )
    name, said = found["name"], found["patterns"]
    patterns = tuple(part.strip() for part in (said or "").split(",") if part.strip())
    if "*" in patterns or "**" in patterns:
        patterns = ()
    if name in _ELSEWHERE:
        return ToolWord(name, patterns, elsewhere=True)
    return ToolWord(_ours(name), patterns)


def _ours(name: str) -> str:
    """`name` in our words, where we have one."""
    if name in OURS:
        return OURS[name]
    if name.startswith("mcp__"):
        whole_server = _MCP.fullmatch(name) is not None
        return f"{name}__*" if whole_server else name
    folded = fold(name)
    if "*" not in name and folded in NAMES:
        return folded
    by_fold = {fold(other): ours for other, ours in OURS.items()}
    return name if "*" in name else by_fold.get(folded, name)
