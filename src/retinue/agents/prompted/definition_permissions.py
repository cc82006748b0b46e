"""What a definition says of its tools and of how it is run, as grants and as warnings about what is not supported.

Nothing a definition says is ignored without a word, and nothing it says widens what its caller may do.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final, NamedTuple, cast, get_args

from retinue.agents.grants import MODES, Grants, Mode, ToolRule, VerdictWord, mode_from
from retinue.agents.tool_references import (
    DELEGATE,
    SKILL,
    ToolReference,
    parse_tool_reference,
    rule_warnings,
    write_loophole,
)
from retinue.contract.definition import Definition
from retinue.contract.finding import Finding
from retinue.contract.names import fold
from retinue.errors import InvalidInput, RetinueError

from .toolbox import Toolbox

_MEMORY = ("remember", "recall", "forget")
_DISALLOWED: Final = "disallowed_tools"
_UNSUPPORTED_KEYS: Final = frozenset({"background", "hooks", "initial_prompt", "isolation", "mcp_servers"})
_WORD: Final = re.compile(r"[^,()]+(?:\([^()]*\))?")


class EffectivePermissions(NamedTuple):
    """What an agent gets of what it asks for.

    Attributes:
        grants: What it may use.
        denied: What it does not get, one sentence each.
    """

    grants: Grants
    denied: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RequestedPermissions:
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

    def within(self, caller: Grants) -> EffectivePermissions:
        """What its caller gives it of that."""
        return EffectivePermissions(self.grants.within(caller), (*self.missing, *self.denials(caller)))

    def denials(self, caller: Grants) -> tuple[str, ...]:
        """What it asked for and its caller may not give."""
        widest = caller.widest_mode
        if self.mode is None or MODES.index(self.mode) <= MODES.index(widest):
            return ()
        why = f"the permission mode `{self.mode}` is wider than `{widest}`, which holds"
        return (f"Not supported: {why}; only the user's own settings can widen it.",)


@dataclass(slots=True)
class _ParsedTools:
    names: list[str] = field(default_factory=list[str])
    only: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    missing: list[str] = field(default_factory=list[str])


def requested_permissions(definition: Definition, toolbox: Toolbox) -> RequestedPermissions:
    """Read what `definition` says of its tools."""
    mode, wrong = _mode(definition)
    deny_rules, unknown = _deny_rules(definition)
    wrong = (*wrong, *unknown, *_unsupported_keys(definition))
    if definition.tools is None:
        return RequestedPermissions(Grants(rules=deny_rules, mode=mode), wrong, mode)
    parsed, whole = _ParsedTools(), set[str]()
    available = (*toolbox.specs, DELEGATE, SKILL)
    for text in definition.tools:
        try:
            word = parse_tool_reference(text)
        except RetinueError as error:
            parsed.missing.append(f"Not supported: {error.message}")
            continue
        if not _is_available(word, available):
            parsed.missing.append(_why_missing(word, toolbox, available))
            continue
        parsed.names.append(word.tool)
        if word.patterns:
            parsed.only += [(word.tool, pattern) for pattern in word.patterns]
        else:
            whole.add(word.tool)
    parsed.only = [(tool, pattern) for tool, pattern in parsed.only if tool not in whole]
    if definition.runner.skills:
        parsed.names.append(SKILL)
    if definition.runner.memory:
        parsed.names += _MEMORY
    grants = Grants(tools=frozenset(parsed.names), rules=deny_rules, only=tuple(parsed.only), mode=mode)
    return RequestedPermissions(grants, (*parsed.missing, *wrong), mode, tuple(dict.fromkeys(parsed.names)))


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
        for message in requested_permissions(definition, toolbox).missing
    )


def _deny_rules(definition: Definition) -> tuple[tuple[ToolRule, ...], tuple[str, ...]]:
    """The rules that `disallowedTools` makes, and what in it is no tool."""
    rules, wrong = list[ToolRule](), list[str]()
    for key, value in definition.extras.items():
        if fold(key) != _DISALLOWED:
            continue
        for text in _words_in(value):
            try:
                rules += rules_from({"deny": (text,)})
            except RetinueError:
                wrong.append(f"Not supported: {text[:_MAX_QUOTE]!r} under `{key}` is not a tool, and denies nothing.")
    return tuple(rules), tuple(wrong)


def _words_in(value: object) -> list[str]:
    """The words of a list, or of a text with commas between them."""
    if isinstance(value, list):
        return [each for each in cast("list[object]", value) if isinstance(each, str)]
    matches: list[str] = _WORD.findall(value) if isinstance(value, str) else []
    return [word.strip() for word in matches if word.strip()]


def _unsupported_keys(definition: Definition) -> tuple[str, ...]:
    """What other programs would do for such a definition, and nobody does here."""
    return tuple(f"Not supported: `{key}`." for key in definition.extras if fold(key) in _UNSUPPORTED_KEYS)


def _is_available(word: ToolReference, available: Iterable[str]) -> bool:
    return not word.is_foreign and any(fnmatchcase(name, word.tool) for name in available)


def _why_missing(word: ToolReference, toolbox: Toolbox, available: Iterable[str]) -> str:
    if word.tool in toolbox.absent:
        return f"Not supported: the tool `{word.tool}` is not there. {toolbox.absent[word.tool]}"
    return f"Not supported: {word.missing(available)}"


def _mode(definition: Definition) -> tuple[Mode | None, tuple[str, ...]]:
    name = definition.runner.permission_mode
    if not name:
        return None, ()
    try:
        return mode_from(name), ()
    except RetinueError as error:
        return None, (f"Not supported: {error.message} {error.hint}",)


_MAX_QUOTE: Final = 80
_GIT: Final = "Remove the rule: the tool `git` reads the history, writes nothing, and needs no rule."


def rules_from(words: Mapping[VerdictWord, Iterable[str]]) -> tuple[ToolRule, ...]:
    """The rules that are written as words: `{"allow": ["Bash(git log:*)"], "deny": ["read(.env)"]}`.

    Raises:
        InvalidInput: Some are none; all of them are listed. None is left out: it might be what somebody wanted denied.
    """
    rules: list[ToolRule] = []
    wrong: list[str] = []
    for verdict in get_args(VerdictWord):
        for text in words.get(verdict, ()):
            try:
                word = parse_tool_reference(text)
            except RetinueError:
                wrong.append(f"`permissions.{verdict}` holds {text[:_MAX_QUOTE]!r}")
                continue
            rules += [ToolRule(verdict, word.tool, pattern) for pattern in word.patterns or ("",)]
    if wrong:
        raise InvalidInput(
            f"These are not permissions: {'; '.join(wrong)}.",
            hint="Write a tool, or a tool with what it is used on: `web_fetch`, `shell(make:*)`, `mcp__github__*`.",
            path="/permissions",
        )
    return tuple(rules)


def grants_from_settings(
    user: Mapping[VerdictWord, Iterable[str]],
    *,
    mode: str | None = None,
    project: Mapping[VerdictWord, Iterable[str]] | None = None,
) -> Grants:
    """What any agent may use at most: by the user's settings, narrowed by the project's.

    Args:
        user: The user's words, by verdict.
        mode: What happens where no rule speaks, as the user says; nobody else can say it.
        project: The project's words; those that allow something do nothing.

    Raises:
        InvalidInput: A word or the mode cannot be read.
    """
    outermost = Grants(rules=rules_from(user), mode=mode_from(mode) if mode else None)
    if not project:
        return outermost
    return Grants(rules=rules_from(project)).within(outermost)


def rule_findings(words: Mapping[VerdictWord, Iterable[str]]) -> tuple[Finding, ...]:
    """The rules that cannot be read, that fit nothing, or that allow more than they seem to."""
    return tuple(
        finding
        for verdict in get_args(VerdictWord)
        for text in words.get(verdict, ())
        for finding in _rule_problems(verdict, text)
    )


def _rule_problems(verdict: VerdictWord, text: str) -> Iterator[Finding]:
    key, quote = f"permissions.{verdict}", repr(text[:_MAX_QUOTE])
    try:
        word = parse_tool_reference(text)
    except RetinueError as error:
        yield Finding(rule="permissions/no-rule", message=f"`{key}` holds {quote}: {error.message}", fix=error.hint)
        return
    for remark in rule_warnings(word):
        yield Finding(
            rule="permissions/fits-nothing",
            message=f"`{key}` holds {quote}. {remark}",
            severity="warning",
            fix="Correct the rule, or remove it.",
        )
    for pattern in word.patterns if verdict == "allow" and word.tool == "shell" else ():
        if by := write_loophole(pattern):
            yield Finding(
                rule="permissions/can-write",
                message=f"`{key}` holds {quote}, which can write: by {by}.",
                severity="warning",
                fix=_GIT if pattern.startswith("git") else "Allow less, or ask.",
            )
