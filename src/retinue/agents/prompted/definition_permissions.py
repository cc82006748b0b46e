"""Permissions: what a definition asks for and what the settings say, as grants; as findings where not supported.

Nothing that a definition says is ignored silently, and nothing in it or in a project widens what the caller may do.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, NamedTuple, cast, get_args

from retinue.agents.grants import MODES, Grants, Mode, ToolRule, VerdictWord, mode_from
from retinue.agents.tool_references import DELEGATE, SKILL, parse_tool_reference, rule_warnings, write_loophole
from retinue.contract.definition import Definition
from retinue.contract.finding import Finding
from retinue.contract.names import fold
from retinue.errors import InvalidInput, RetinueError

if TYPE_CHECKING:  # every command reads the permissions, and few have tools
    from .toolbox import Toolbox

_MEMORY = ("remember", "recall", "forget")
_DISALLOWED: Final = "disallowed_tools"
_UNSUPPORTED_KEYS: Final = frozenset({"background", "hooks", "initial_prompt", "isolation", "mcp_servers"})
_MAX_QUOTE: Final = 80
_WORD: Final = re.compile(r"[^,()]+(?:\([^()]*\))?")
"""Unlike `split_list`: of `Bash(`, which never closes, the tool is denied, since nothing narrower can be meant."""


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
    """

    grants: Grants
    missing: tuple[str, ...] = ()
    mode: Mode | None = None

    def within(self, caller: Grants) -> EffectivePermissions:
        """What its caller gives it of that."""
        widest, denied = caller.widest_mode, self.missing
        if self.mode is not None and MODES.index(self.mode) > MODES.index(widest):
            wider = f"the permission mode `{self.mode}` is wider than `{widest}`, which holds"
            denied += (f"Not supported: {wider}; only the user's own settings can widen it.",)
        return EffectivePermissions(self.grants.within(caller), denied)


def requested_permissions(definition: Definition, toolbox: "Toolbox") -> RequestedPermissions:
    """Read what `definition` says of its tools."""
    deny_rules, wrong = _deny_rules(definition)
    mode: Mode | None = None
    if name := definition.runner.permission_mode:
        try:
            mode = mode_from(name)
        except RetinueError as error:
            wrong.insert(0, f"Not supported: {error.message} {error.hint}")
    # What other programs would do for such a definition.
    wrong += [f"Not supported: `{key}`." for key in definition.extras if fold(key) in _UNSUPPORTED_KEYS]
    if definition.tools is None:
        return RequestedPermissions(Grants(rules=deny_rules, mode=mode), tuple(wrong), mode)
    names, only, missing, whole = list[str](), list[tuple[str, str]](), list[str](), set[str]()
    available = (*toolbox.specs, DELEGATE, SKILL)
    for text in definition.tools:
        try:
            word = parse_tool_reference(text)
        except RetinueError as error:
            missing.append(f"Not supported: {error.message}")
            continue
        if not word.is_foreign and any(fnmatchcase(name, word.tool) for name in available):
            names.append(word.tool)
            only += [(word.tool, pattern) for pattern in word.patterns]
            if not word.patterns:
                whole.add(word.tool)
        elif reason := toolbox.absent.get(word.tool):
            missing.append(f"Not supported: the tool `{word.tool}` is not available. {reason}")
        else:
            missing.append(f"Not supported: {word.missing(available)}")
    if definition.runner.skills:
        names.append(SKILL)
    if definition.runner.memory:
        names += _MEMORY
    patterns = tuple((tool, pattern) for tool, pattern in only if tool not in whole)
    grants = Grants(tools=frozenset(names), rules=deny_rules, only=patterns, mode=mode)
    return RequestedPermissions(grants, (*missing, *wrong), mode)


def findings_about(definition: Definition, toolbox: "Toolbox", *, file: str | None = None) -> tuple[Finding, ...]:
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


def _deny_rules(definition: Definition) -> tuple[tuple[ToolRule, ...], list[str]]:
    """The rules that `disallowedTools` makes, and what in it is not a tool."""
    rules, wrong = list[ToolRule](), list[str]()
    for key, value in definition.extras.items():
        if fold(key) != _DISALLOWED:
            continue
        texts: list[str] = []
        if isinstance(value, list):
            texts = [each for each in cast("list[object]", value) if isinstance(each, str)]
        elif isinstance(value, str):
            texts = [word.strip() for word in _WORD.findall(value) if word.strip()]
        for text in texts:
            try:
                rules += rules_from({"deny": (text,)})
            except RetinueError:
                wrong.append(f"Not supported: {text[:_MAX_QUOTE]!r} under `{key}` is not a tool, and denies nothing.")
    return tuple(rules), wrong


def rules_from(words: Mapping[VerdictWord, Iterable[str]]) -> tuple[ToolRule, ...]:
    """The rules that are written as words: `{"allow": ["Bash(git log:*)"], "deny": ["read(.env)"]}`.

    Raises:
        InvalidInput: Some are not rules; all of them are listed. None is skipped: it might be one that denies.
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
    findings: list[Finding] = []
    for verdict, text in ((each, text) for each in get_args(VerdictWord) for text in words.get(each, ())):
        head = f"`permissions.{verdict}` holds {text[:_MAX_QUOTE]!r}"
        try:
            word = parse_tool_reference(text)
        except RetinueError as error:
            message = f"{head}: {error.message}"
            findings.append(Finding(rule="permissions/no-rule", message=message, fix=error.hint))
            continue
        remarks = [
            ("fits-nothing", f"{head}. {remark}", "Correct the rule, or remove it.") for remark in rule_warnings(word)
        ]
        for pattern in word.patterns if verdict == "allow" and word.tool == "shell" else ():
            if by := write_loophole(pattern):
                fix = "Remove the rule: the tool `git` reads the history, writes nothing, and needs no rule."
                fix = fix if pattern.startswith("git") else "Allow less, or ask."
                remarks.append(("can-write", f"{head}, which can write: by {by}.", fix))
        findings += (
            Finding(rule=f"permissions/{rule}", message=message, severity="warning", fix=fix)
            for rule, message, fix in remarks
        )
    return tuple(findings)
