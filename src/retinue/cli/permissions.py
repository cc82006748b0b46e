"""What agents may use, as the settings say: words like `shell(git log*)` turned into rules.

Which rule holds when several fit, and what happens when none does, is decided in `agents.grants`.
"""

import re
from typing import TYPE_CHECKING, Final, get_args

from retinue.agents.grants import Grants, ToolRule, VerdictWord
from retinue.errors import InvalidInput

if TYPE_CHECKING:
    from retinue.cli.settings import Settings

__all__ = ["grants_of"]

_WORD: Final = re.compile(r"(?P<tool>[A-Za-z][A-Za-z0-9_*-]{0,63})(?:\((?P<pattern>[^\x00-\x1f]{1,500})\))?")


def grants_of(settings: "Settings") -> Grants:
    """What any agent here may use at most.

    Raises:
        InvalidInput: A word is no permission. Nothing is left out quietly: it might be what somebody wanted denied.
    """
    wrong: list[str] = []
    rules: list[ToolRule] = []
    for verdict in get_args(VerdictWord):
        for word in settings.get(f"permissions.{verdict}"):
            found = _WORD.fullmatch(word.strip())
            if found is None:
                wrong.append(f"`permissions.{verdict}` holds {word[:80]!r} ({settings.values[f'permissions.{verdict}'].origin})")
            else:
                rules.append(ToolRule(verdict, _tool(found["tool"]), found["pattern"] or ""))
    if wrong:
        raise InvalidInput(
            f"These are no permissions: {'; '.join(wrong)}.",
            hint="Write a tool, or a tool with what it is used on: `web_fetch`, `shell(git log*)`, `mcp__github__*`.",
            path="/permissions",
        )
    return Grants(rules=tuple(rules))


def _tool(word: str) -> str:
    return word
