"""Ticket ids and branch names: read whole, in ASCII digits, or refused."""

import re
from collections.abc import Iterable
from typing import Final, Literal, TypeAlias, get_args

from retinue.contract._shown import shown
from retinue.contract.text import see_text
from retinue.errors import InvalidInput, UnknownName

__all__ = ["BASE_REFS", "TICKET_KINDS", "TicketKind", "branch_name", "ticket_id"]

TicketKind: TypeAlias = Literal["initiative", "epic", "story", "task", "bug"]

TICKET_KINDS: Final[tuple[TicketKind, ...]] = get_args(TicketKind)
"""The kinds of ticket, widest first."""

_TICKETS: Final[dict[TicketKind, tuple[re.Pattern[str], str]]] = {
    "initiative": (re.compile(r"INIT-[0-9]{4}"), "INIT-0001"),
    "epic": (re.compile(r"EPIC-[0-9]{4}\.[0-9]+"), "EPIC-0001.2"),
    "story": (re.compile(r"STORY-[0-9]{4}\.[0-9]+\.[0-9]+"), "STORY-0001.2.3"),
    "task": (re.compile(r"TASK-[0-9]{4}\.[0-9]+\.[0-9]+\.[0-9]+"), "TASK-0001.2.3.4"),
    "bug": (re.compile(r"BUG-[0-9]{4}"), "BUG-0001"),
}

BASE_REFS: Final = frozenset({"HEAD", "main", "master"})
"""Names a branch is compared with; no project policy forbids them (C14)."""


def ticket_id(text: str, kind: TicketKind | None = None) -> str:
    """Check a ticket id and return it (K17, C15).

    Args:
        text: `INIT-dddd`, `EPIC-dddd.n`, `STORY-dddd.n.n`, `TASK-dddd.n.n.n` or `BUG-dddd`; ASCII digits, nothing
            around it.
        kind: The only kind that will do.

    Raises:
        InvalidInput: It is empty, no ticket id, or one of another kind.
        UnknownName: There is no such `kind`.
    """
    see_text(text, "ticket id")
    if kind is not None and kind not in TICKET_KINDS:
        raise UnknownName(
            f"There is no ticket kind {shown(kind)}.",
            hint=f"Use {_alternatives(TICKET_KINDS)}.",
            suggestions=TICKET_KINDS,
        )
    expected = f"Write it as {_alternatives(sample for name, (_, sample) in _TICKETS.items() if kind in (None, name))}."
    if not text:
        raise InvalidInput("The ticket id is empty.", hint=expected)
    found = next((name for name, (pattern, _) in _TICKETS.items() if pattern.fullmatch(text)), None)
    if found is None:
        raise InvalidInput(f"{shown(text)} is not a valid ticket id.", hint=expected)
    if kind not in (None, found):
        raise InvalidInput(f"The ticket {shown(text)} is of kind `{found}`, not `{kind}`.", hint=expected)
    return text


_BRANCH_RULES: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (re.compile(r"\A-"), "starts with `-`"),
    (re.compile(r"\A/|/\Z|//"), "has an empty component"),
    (re.compile(r"\.\."), "holds `..`"),
    (re.compile(r"(?:\A|/)\."), "has a component that starts with `.`"),
    (re.compile(r"\.lock(?:/|\Z)"), "has a component that ends in `.lock`"),
    (re.compile(r"\.\Z"), "ends in `.`"),
    (re.compile(r"@\{"), "holds `@{`"),
    (re.compile(r"\A@\Z"), "is `@` alone"),
    (re.compile(r"[\x00-\x1f\x7f]"), "holds a control character"),
    (re.compile(r"[ ~^:?*\[\\]"), r"holds a space or one of `~^:?*[\`"),
    (re.compile("[\ud800-\udfff]"), "holds half of a surrogate pair"),
)
"""Git's own rule for branch names, as `git check-ref-format` and `git branch` apply it."""


def branch_name(text: str, policy: Iterable[re.Pattern[str]] | None = None) -> str:
    """Check a branch name by git's own rule and the project's policy, and return it (K18, C14).

    Args:
        text: The name, without `refs/heads/`.
        policy: Patterns of which the whole name must match one; `BASE_REFS` are exempt. None allows every name git
            allows.

    Raises:
        InvalidInput: Git or the policy refuses it.
    """
    see_text(text, "branch name")
    if not text:
        raise InvalidInput("The branch name is empty.", hint="Name a branch, as in `main` or `feature/my-feature`.")
    broken = [rule for pattern, rule in _BRANCH_RULES if pattern.search(text)]
    if broken:
        raise InvalidInput(
            f"The branch name {shown(text)} {' and '.join(broken)}.",
            hint="Use letters, digits, `-`, `_` and single `.` and `/` between them.",
            detail={"rules": broken},
        )
    patterns = None if policy is None or text in BASE_REFS else list(policy)
    if patterns is not None and not any(pattern.fullmatch(text) for pattern in patterns):
        raise InvalidInput(
            f"The branch name {shown(text)} is not one this project uses.",
            hint=f"Match {_alternatives(pattern.pattern for pattern in patterns) or 'nothing: the policy is empty'}.",
        )
    return text


def _alternatives(words: Iterable[str]) -> str:
    return " or ".join(f"`{word}`" for word in words)
