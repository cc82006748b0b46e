"""What an agent, its major version and its skill are called as a tool, and back (C11, C46).

A tool of spec 000 is one agent with one input schema. So a skill of an agent that has several is a tool of its own,
`agent__skill`: two underscores are in no name of ours. Major 2 of `x` is `x_v2`.

Also the other texts with a grammar: the summary of a hand-off, and constraint tokens (A10). Tokens that bound something
are limits, all others stay words. The spec has no grammar for them. Ours: `max_2_minutes`, a number and its unit; also
`max_5000_tokens`, `max_0.5_usd` and `max_2_retries`. A budget without a unit counts tokens (C23). Of several bounds the
tightest is the limit (C21), of equal ones the last; the others stay among the constraints, so that nothing is lost.
"""

import math
import re
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from pydantic import ValidationError

from retinue.contract.names import canonical_name
from retinue.contract.task import Limits
from retinue.contract.version import split_versioned_name
from retinue.dialects.diagnostics import Diagnostics

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


_Bound: TypeAlias = Literal["timeout_s", "tokens", "cost_usd", "retries"]

_TOKEN: Final = re.compile(
    r"(max|budget|time_budget)_([0-9]{1,400}(?:\.[0-9]{1,40})?(?:e[+-]?[0-9]{1,3})?)(?:_([a-z]{1,12}))?", re.ASCII
)
_UNITS: Final[dict[str, tuple[_Bound, float]]] = {
    "second": ("timeout_s", 1), "seconds": ("timeout_s", 1), "sec": ("timeout_s", 1), "secs": ("timeout_s", 1),
    "s": ("timeout_s", 1), "minute": ("timeout_s", 60), "minutes": ("timeout_s", 60), "min": ("timeout_s", 60),
    "mins": ("timeout_s", 60), "hour": ("timeout_s", 3600), "hours": ("timeout_s", 3600), "h": ("timeout_s", 3600),
    "token": ("tokens", 1), "tokens": ("tokens", 1),
    "usd": ("cost_usd", 1), "dollar": ("cost_usd", 1), "dollars": ("cost_usd", 1),
    "retry": ("retries", 1), "retries": ("retries", 1),
}  # fmt: skip
_MINUTE: Final = 60


def read_constraints(tokens: list[str], notes: Diagnostics | None = None) -> tuple[tuple[str, ...], Limits]:
    """The words that stay, and the limits that the other tokens set."""
    bounds: dict[_Bound, tuple[float, int]] = {}
    for at, token in enumerate(tokens):
        bound = _bound(token, at, notes)
        if bound is not None and (bound[0] not in bounds or bound[1] <= bounds[bound[0]][0]):
            bounds[bound[0]] = (bound[1], at)
    used = {at for _, at in bounds.values()}
    facts: dict[str, Any] = {name: value for name, (value, _) in bounds.items()}
    return tuple(token for at, token in enumerate(tokens) if at not in used), Limits(**facts)


def write_constraints(constraints: tuple[str, ...], limits: Limits) -> list[str]:
    """The words, and after them the limits that a token can say. A moment in time it cannot."""
    tokens = [*constraints]
    if limits.timeout_s is not None:
        minutes, rest = divmod(limits.timeout_s, _MINUTE)
        whole = not rest and 1 <= minutes < 2**50
        tokens.append(_format_bound(int(minutes), "minute") if whole else _format_bound(limits.timeout_s, "second"))
    if limits.tokens is not None:
        tokens.append(_format_bound(limits.tokens, "token"))
    if limits.cost_usd is not None:
        tokens.append(f"max_{_digits(limits.cost_usd)}_usd")
    if limits.retries is not None:
        tokens.append(f"max_{limits.retries}_{'retry' if limits.retries == 1 else 'retries'}")
    return tokens


def _format_bound(number: float, unit: str) -> str:
    return f"max_{_digits(number)}_{unit}{'' if number == 1 else 's'}"


def _digits(number: float) -> str:
    return repr(number).removesuffix(".0")


def _bound(token: str, at: int, notes: Diagnostics | None) -> tuple[_Bound, float] | None:
    """What `token` bounds, and at what."""
    match = _TOKEN.fullmatch(token)
    if match is None:
        return None
    word, digits, unit = match.groups()
    if unit is None and word != "max":
        _note(notes, token, at, "says no unit; it is read as tokens", "Say the unit, as in `max_5000_tokens`.")
        unit = "tokens"
    if unit not in _UNITS:
        _note(notes, token, at, "bounds nothing we know; it stays a constraint", "Say the unit, as in `max_2_minutes`.")
        return None
    name, factor = _UNITS[unit]
    number = int(digits) if digits.isdigit() else float(digits)
    value: float = number
    if name in ("timeout_s", "cost_usd"):
        value = float(number) * factor if number < 10**300 else math.inf
    try:
        Limits.model_validate({name: value})
    except ValidationError:
        _note(notes, token, at, "is not a limit that can be kept; it stays a constraint", "Use a sensible number.")
        return None
    return name, value


def _note(notes: Diagnostics | None, token: str, at: int, what: str, fix: str) -> None:
    if notes is not None:
        notes.add("constraint", f"{token[:100]!r} {what}.", path=f"/payload/constraints/{at}", fix=fix)
