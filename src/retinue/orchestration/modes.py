"""How hard a goal asks to be thought about: "think hard about …" is a wish about the work, not a part of it (C43, H4).

English only, and only where it is said as an order: "what do you think of it" and "I think so" are not.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from retinue.contract.plan import Plan
from retinue.contract.task import Thinking

__all__ = ["EXTRA_TOKENS", "SHOWN", "harder", "thinking_in", "with_thinking"]

EXTRA_TOKENS: Final[Mapping[Thinking, int]] = MappingProxyType(
    {"standard": 0, "think": 1_000, "think_hard": 2_000, "ultrathink": 4_000}
)
"""What each mode adds to the budget of a node (H26)."""

SHOWN: Final[Mapping[Thinking, str]] = MappingProxyType(
    {"standard": "standard", "think": "think", "think_hard": "think hard", "ultrathink": "ultrathink"}
)
"""As the dialects and people write them."""

_ORDER: Final[tuple[Thinking, ...]] = tuple(EXTRA_TOKENS)

_ULTRA: Final = re.compile(r"(?<![\w-])ultra-?think(?:[ \t]+(?:about|on|through))?(?![\w-])[:,.]?", re.IGNORECASE)
_THINK: Final = re.compile(
    r"(?P<before>\A|[.;:!?,\n][ \t]*|\b(?:please|and|then|but|so)[ \t]+)"
    r"think"
    r"(?:[ \t]+(?:it[ \t]+|this[ \t]+)?(?:very[ \t]+|really[ \t]+|extra[ \t]+)?"
    r"(?P<hard>hard(?:er)?|deep(?:ly)?|deeper|intensely|thoroughly|carefully))?"
    r"(?P<link>[ \t]+(?:about|on|through|over)(?:[ \t]+(?:it|this)(?![\w-]))?)?"
    r"(?P<end>[ \t]*[:,.!]|(?=[ \t\n])|\Z)",
    re.IGNORECASE,
)
_NOT_AN_ORDER: Final = re.compile(r"[ \t]*(?:of|that|so|tank|twice|again|like)\b", re.IGNORECASE)


def thinking_in(goal: str) -> tuple[Thinking | None, str]:
    """The mode that `goal` asks for, None when it asks for none, and the goal without the words that say so."""
    if "think" not in goal and "hink" not in goal.lower():
        return None, goal
    if _ULTRA.search(goal):
        return "ultrathink", _without(goal, [match.span() for match in _ULTRA.finditer(goal)])
    found: Thinking | None = None
    spans: list[tuple[int, int]] = []
    for match in _THINK.finditer(goal):
        said = match["hard"] or match["link"] or match["end"].strip() or match.end() == len(goal)
        if not said or _NOT_AN_ORDER.match(goal, match.end()):
            continue
        found = harder(found, "think_hard" if match["hard"] else "think")
        spans.append((match.end("before"), match.end()))
    return found, _without(goal, spans) if spans else goal


def harder(first: Thinking | None, second: Thinking | None) -> Thinking | None:
    """The harder of two modes; one that nobody asked for is no mode."""
    if first is None or second is None:
        return first or second
    return first if _ORDER.index(first) > _ORDER.index(second) else second


def with_thinking(plan: Plan, mode: Thinking | None) -> Plan:
    """`plan` with this mode on the nodes that have none of their own."""
    if mode is None or not plan.nodes:
        return plan
    nodes = [node if node.thinking else node.model_copy(update={"thinking": mode}) for node in plan.nodes]
    return plan.model_copy(update={"nodes": tuple(nodes)})


def _without(goal: str, spans: list[tuple[int, int]]) -> str:
    """`goal` without these parts; all of it when nothing would be left."""
    kept: list[str] = []
    place = 0
    for start, end in spans:
        kept.append(goal[place:start])
        place = end
    rest = re.sub(r"[ \t]{2,}", " ", " ".join((*kept, goal[place:]))).strip(" \t\n,;:")
    return rest if any(character.isalnum() for character in rest) else goal
