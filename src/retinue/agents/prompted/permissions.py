"""What the settings say about tools, as grants: `permissions.allow`, `ask`, `deny` and `permissions.mode`.

The user's own settings are the outermost grants. What a project says can only narrow them: its words that allow
something do nothing, as `agents.grants` has it for everybody who is not the user.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, get_args

from retinue.agents.grants import Grants, ToolRule, VerdictWord, mode_from
from retinue.agents.tool_references import parse_tool_reference, rule_warnings, write_loophole
from retinue.contract.finding import Finding
from retinue.errors import InvalidInput, RetinueError

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
