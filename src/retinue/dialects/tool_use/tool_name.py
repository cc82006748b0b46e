"""What an agent, its major version and its skill are called as a tool, and back (C11, C46).

A tool of spec 000 is one agent with one input schema. So a skill of an agent that has several is a tool of its own,
`agent__skill`: two underscores are in no name of ours. Major 2 of `x` is `x_v2`.
"""

import re
from typing import Final, NamedTuple

from retinue.contract.names import canonical_name
from retinue.contract.version import split_versioned_name

_SEPARATOR = "__"
_LONGEST = 64
_LONGEST_READ = 400
"""Letters in which a name is looked for at all."""


class ToolName(NamedTuple):
    """Whom a tool's name means."""

    agent: str
    major: int | None = None
    skill: str | None = None

    @property
    def canonical(self) -> str:
        """The name as we spell it; the skill is in it even where it would go without saying."""
        agent = write_tool_name(self.agent, major=self.major)
        return agent if self.skill is None else f"{agent}{_SEPARATOR}{self.skill}"


def write_tool_name(agent: str, *, major: int | None = None, skill: str | None = None) -> str:
    """The tool's name; `read_tool_name` says what of it comes back.

    The one skill of an agent that is called like it goes without saying.
    """
    versioned = agent if major is None else f"{agent}_v{major}"
    name = versioned if split_versioned_name(versioned) == (agent, major) else agent
    return name if skill in (None, agent) else f"{name}{_SEPARATOR}{skill}"


def read_tool_name(name: str) -> ToolName | None:
    """Whom `name` means, its spelling folded; None when it is nobody's name."""
    if len(name) > _LONGEST_READ:
        return None
    agent, _, skill = name.strip().partition(_SEPARATOR)
    agent_name, major = split_versioned_name(canonical_name(agent))
    skill_name = canonical_name(skill) if skill else None
    return (
        ToolName(agent_name, major, skill_name)
        if _is_name(agent_name) and (skill_name is None or _is_name(skill_name))
        else None
    )


def _is_name(name: str) -> bool:
    return name[:1].isalpha() and len(name) <= _LONGEST


_WHAT: Final = "What: "
_WHY: Final = "Why: "
_ENDS: Final = re.compile(r"(?<=[.!?])\s+(?=\S)")


def read_summary(text: str) -> tuple[str, str]:
    """What, and why; of a single sentence only what."""
    if text.startswith(_WHY):
        return "", text.removeprefix(_WHY)
    if text.startswith(_WHAT):
        what, _, why = text.removeprefix(_WHAT).partition(f"\n{_WHY}")
        return what, why
    ends = [(match.start(), match.end()) for match in _ENDS.finditer(text)]
    return (text[: ends[-1][0]], text[ends[-1][1] :]) if ends else (text, "")


def write_summary(what: str, why: str) -> str:
    """One text that `read_summary` reads as `what` and `why`, unless a label stands inside of `what`."""
    unlabelled = " ".join(filter(None, (what, why)))
    if read_summary(unlabelled) == (what, why):
        return unlabelled
    return "\n".join(f"{label}{text}" for label, text in ((_WHAT, what), (_WHY, why)) if text)


def sentences_of(text: str) -> int:
    """How many sentences there are, about."""
    return len(_ENDS.findall(text)) + 1 if text.strip() else 0
