"""What a definition says of its tools and of how it is run, as grants and as warnings about what is not supported.

Nothing a definition says is ignored without a word, and nothing it says widens what its caller may do.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final, NamedTuple, cast

from retinue.agents.grants import MODES, Grants, Mode, ToolRule, mode_from
from retinue.agents.tool_words import DELEGATE, SKILL, ToolWord, read_word
from retinue.contract.definition import Definition
from retinue.contract.finding import Finding
from retinue.contract.names import fold
from retinue.errors import RetinueError

from .permissions import rules_from
from .toolbox import Toolbox

__all__ = ["Granted", "Own", "findings_about", "own_of"]

_MEMORY = ("remember", "recall", "forget")
_DISALLOWED: Final = "disallowed_tools"
_NOT_DONE: Final = frozenset({"background", "hooks", "initial_prompt", "isolation", "mcp_servers"})
_WORD: Final = re.compile(r"[^,()]+(?:\([^()]*\))?")
_SHOWN: Final = 80


class Granted(NamedTuple):
    """What an agent gets of what it asks for.

    Attributes:
        grants: What it may use.
        in_vain: What it does not get, one sentence each.
    """

    grants: Grants
    in_vain: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Own:
    """What an agent's definition asks for, read once.

    Attributes:
        grants: What it may use at most, by its own word.
        missing: What it asks for and is not there, one sentence each.
        mode: The permission mode it asks for.
        words: Names or patterns of the tools it asks for; None when it asks for its caller's.
    """

    grants: Grants
    missing: tuple[str, ...] = ()
    mode: Mode | None = None
    words: tuple[str, ...] | None = None

    def granted(self, above: Grants) -> Granted:
        """What its caller gives it of that."""
        return Granted(self.grants.within(above), (*self.missing, *self.refused(above)))

    def refused(self, above: Grants) -> tuple[str, ...]:
        """What it asked for and its caller may not give."""
        widest = above.widest_mode
        if self.mode is None or MODES.index(self.mode) <= MODES.index(widest):
            return ()
        why = f"the permission mode `{self.mode}` is wider than `{widest}`, which holds"
        return (f"Not supported: {why}; only the user's own settings can widen it.",)


@dataclass(slots=True)
class _Words:
    names: list[str] = field(default_factory=list[str])
    only: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    missing: list[str] = field(default_factory=list[str])


def own_of(definition: Definition, toolbox: Toolbox) -> Own:
    """Read what `definition` says of its tools."""
    mode, wrong = _mode(definition)
    denied, idle = _denied(definition)
    wrong = (*wrong, *idle, *_not_done(definition))
    if definition.tools is None:
        return Own(Grants(rules=denied, mode=mode), wrong, mode)
    words = _read(definition.tools, toolbox)
    if definition.runner.skills:
        words.names.append(SKILL)
    if definition.runner.memory:
        words.names += _MEMORY
    grants = Grants(tools=frozenset(words.names), rules=denied, only=tuple(words.only), mode=mode)
    return Own(grants, (*words.missing, *wrong), mode, tuple(dict.fromkeys(words.names)))


def findings_about(definition: Definition, toolbox: Toolbox, *, file: str | None = None) -> tuple[Finding, ...]:
    """What a definition asks for that is not supported here, as findings of its file."""
    source = definition.source
    return tuple(
        Finding(
            rule="prompted/not-supported",
            message=f"`{definition.name}`: {message}",
            severity="warning",
            file=file or (source.file if source else None),
            line=source.line if source else None,
            fix="Correct it, or remove it.",
        )
        for message in own_of(definition, toolbox).missing
    )


def _read(tools: Iterable[str], toolbox: Toolbox) -> _Words:
    words, whole = _Words(), set[str]()
    there = (*toolbox.specs, DELEGATE, SKILL)
    for said in tools:
        try:
            word = read_word(said)
        except RetinueError as error:
            words.missing.append(f"Not supported: {error.message}")
            continue
        if not _is_there(word, there):
            words.missing.append(_why_missing(word, toolbox, there))
            continue
        words.names.append(word.tool)
        if word.patterns:
            words.only += [(word.tool, pattern) for pattern in word.patterns]
        else:
            whole.add(word.tool)
    words.only = [(tool, pattern) for tool, pattern in words.only if tool not in whole]
    return words


def _denied(definition: Definition) -> tuple[tuple[ToolRule, ...], tuple[str, ...]]:
    """The rules that `disallowedTools` makes, and what in it is no tool."""
    rules, wrong = list[ToolRule](), list[str]()
    for key, value in definition.extras.items():
        if fold(key) != _DISALLOWED:
            continue
        for said in _words_in(value):
            try:
                rules += rules_from({"deny": (said,)})
            except RetinueError:
                wrong.append(f"Not supported: {said[:_SHOWN]!r} under `{key}` is not a tool, and denies nothing.")
    return tuple(rules), tuple(wrong)


def _words_in(value: object) -> list[str]:
    """The words of a list, or of a text with commas between them."""
    if isinstance(value, list):
        return [each for each in cast("list[object]", value) if isinstance(each, str)]
    found: list[str] = _WORD.findall(value) if isinstance(value, str) else []
    return [word.strip() for word in found if word.strip()]


def _not_done(definition: Definition) -> tuple[str, ...]:
    """What other programs would do for such a definition, and nobody does here."""
    return tuple(f"Not supported: `{key}`." for key in definition.extras if fold(key) in _NOT_DONE)


def _is_there(word: ToolWord, there: Iterable[str]) -> bool:
    return not word.elsewhere and any(fnmatchcase(name, word.tool) for name in there)


def _why_missing(word: ToolWord, toolbox: Toolbox, there: Iterable[str]) -> str:
    if word.tool in toolbox.absent:
        return f"Not supported: the tool `{word.tool}` is not there. {toolbox.absent[word.tool]}"
    return f"Not supported: {word.missing(there)}"


def _mode(definition: Definition) -> tuple[Mode | None, tuple[str, ...]]:
    said = definition.runner.permission_mode
    if not said:
        return None, ()
    try:
        return mode_from(said), ()
    except RetinueError as error:
        return None, (f"Not supported: {error.message} {error.hint}",)
