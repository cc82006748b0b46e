"""What the settings say about tools, as grants: `permissions.allow`, `ask`, `deny` and `permissions.mode`.

The user's own settings are the outermost grants. What a project says can only narrow them: its words that allow
something do nothing, as `agents.grants` has it for everybody who is not the user.
"""

from collections.abc import Iterable, Mapping
from typing import Final, get_args

from retinue.agents.grants import MODES, Grants, Mode, ToolRule, VerdictWord
from retinue.contract.names import fold, nearest
from retinue.contract.text import listed
from retinue.errors import InvalidInput, RetinueError

from .naming import read_word

__all__ = ["mode_from", "permitted", "rules_from"]

_SHOWN: Final = 80


def rules_from(words: Mapping[VerdictWord, Iterable[str]]) -> tuple[ToolRule, ...]:
    """The rules that are written as words: `{"allow": ["Bash(git log:*)"], "deny": ["read(.env)"]}`.

    Raises:
        InvalidInput: Some are none; all of them are listed. None is left out: it might be what somebody wanted denied.
    """
    rules: list[ToolRule] = []
    wrong: list[str] = []
    for verdict in get_args(VerdictWord):
        for said in words.get(verdict, ()):
            try:
                word = read_word(said)
            except RetinueError:
                wrong.append(f"`permissions.{verdict}` holds {said[:_SHOWN]!r}")
                continue
            rules += [ToolRule(verdict, word.tool, pattern) for pattern in word.patterns or ("",)]
    if wrong:
        raise InvalidInput(
            f"These are no permissions: {'; '.join(wrong)}.",
            hint="Write a tool, or a tool with what it is used on: `web_fetch`, `shell(git log:*)`, `mcp__github__*`.",
            path="/permissions",
        )
    return tuple(rules)


def mode_from(word: str) -> Mode:
    """The mode that a word means, in any spelling: `acceptEdits`, `accept-edits`.

    Raises:
        InvalidInput: It means none.
    """
    folded = fold(word)
    if folded in MODES:
        return folded
    near = nearest(word, MODES)
    meant = f"Did you mean `{near[0]}`? " if near else ""
    raise InvalidInput(
        f"{word[:_SHOWN]!r} is no permission mode.",
        hint=f"{meant}There is {listed([f'`{mode}`' for mode in MODES])}.",
        suggestions=near or MODES,
    )


def permitted(
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
