"""Which size of model a request gets, with the reasons, and how the sizes used compare with the target of 70 / 25 / 5.

Pure rules over what is known before a call: what the agent says of itself, its role, and points for the request (A16,
A31). Which model a size means is the business of `models`, what it will cost that of `estimate`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args

from retinue.contract.definition import Definition, Tier, read_tier

from .models import DEFAULT_TIERS

TARGET: Final[Mapping[Tier, float]] = MappingProxyType({"small": 0.70, "medium": 0.25, "large": 0.05})
"""The mix of tiers to aim at (A15). The spec names no unit, so it is measured in each."""

Unit: TypeAlias = Literal["calls", "tokens", "cost"]

_HARD: Final = re.compile(
    r"\b(?:architect(?:s|ed|ing|ure|ures|ural)?|refactor(?:s|ed|ing|ings)?|debug(?:s|ged|ging)?|security"
    r"|compar(?:e|es|ed|ing)|design(?:s|ed|ing)?)\b",
    re.IGNORECASE | re.ASCII,
)
_STEPS: Final = re.compile(r"\b(?:(then)|(after)|(next)|(finally)|(steps?))\b", re.IGNORECASE | re.ASCII)
_LONG, _LONGER = 5_000, 15_000
_MEDIUM, _LARGE = 2, 3
_MAX_READ: Final = 100_000
"""Characters of a request that are looked at: whatever makes it hard is said by then."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """Which model a request gets.

    Attributes:
        tier: Its size; None when a model was named and its size is not known.
        model: The model, when one was named; else the tier's.
        why: The rule that decided, in one sentence.
        score: Points of the request (A31), whether or not they decided.
        reasons: What each of the points was given for.
    """

    tier: Tier | None
    why: str
    score: int
    reasons: tuple[str, ...] = ()
    model: str | None = None


def points(instruction: str, *, context_tokens: int = 0) -> tuple[int, tuple[str, ...]]:
    """How demanding a request is, in points, and what each was given for (A31).

    Args:
        instruction: What is asked.
        context_tokens: Tokens of all that is handed along.
    """
    score, reasons = 0, list[str]()
    text = instruction[:_MAX_READ]
    if match := _HARD.search(text):
        score += 2
        reasons.append(f"+2: it says {match[0].lower()!r}")
    if context_tokens > _LONGER:
        score += 2
        reasons.append(f"+2: {context_tokens:,} tokens of context, more than {_LONGER:,}")
    elif context_tokens > _LONG:
        score += 1
        reasons.append(f"+1: {context_tokens:,} tokens of context, more than {_LONG:,}")
    steps = {step.lastindex: step[0].lower() for step in _STEPS.finditer(text)}
    if len(steps) > 1:
        score += 1
        reasons.append(f"+1: several steps ({', '.join(steps.values())})")
    return score, tuple(reasons)


def allocate(
    definition: Definition,
    *,
    instruction: str = "",
    context_tokens: int = 0,
    choice: str | None = None,
    default: str = "",
    parent: str | None = None,
    tiers: Mapping[Tier, str] = DEFAULT_TIERS,
) -> Allocation:
    """Which model `definition` gets for a request (A16, A31).

    What was asked for wins over what the agent says of itself, that over the user's default, that over the agent's
    role, that over the points of the request.

    Args:
        definition: Who is asked.
        instruction: What is asked.
        context_tokens: Tokens of all that is handed along.
        choice: The model or tier that a person chose for this request.
        default: The user's own model or tier for whoever names none.
        parent: The model or tier of whoever delegates: what `inherit` means.
        tiers: Which model each tier means, to know the tier of a model that is named.
    """
    score, reasons = points(instruction, context_tokens=context_tokens)
    candidates = (
        (choice, "it was chosen for this request"),
        (definition.model, f"`{definition.name}` names it"),
        (definition.tier, f"`{definition.name}` asks for this tier"),
        (default, "it is the default of the settings"),
    )
    for name, reason in candidates:
        word, why = (parent, f"{reason}: `inherit`") if name == "inherit" else (name, reason)
        if not word or word == "inherit":
            continue
        tier = read_tier(word)
        if tier is not None:
            return Allocation(tier, why, score, reasons)
        return Allocation(tier_of(word, tiers), why, score, reasons, model=word)
    by_points: Tier = "large" if score >= _LARGE else "medium" if score >= _MEDIUM else "small"
    points_text = f"{score} point{'' if score == 1 else 's'}"
    # The last word of its name that is a role decides (`researcher_analyst`).
    role = next((word for word in reversed(definition.name.split("_")) if word in _ROLES), None)
    if role is None:
        return Allocation(by_points, f"{points_text} of the request", score, reasons)
    how = "simple" if by_points == "small" else "demanding"
    why = f"a {how} request to the {role} ({points_text})"
    return Allocation(_ROLES[role][by_points], why, score, reasons)


_ROLES: Final[Mapping[str, Mapping[Tier, Tier]]] = {
    "orchestrator": {"small": "small", "medium": "medium", "large": "large"},
    "researcher": {"small": "small", "medium": "small", "large": "small"},
    "analyst": {"small": "small", "medium": "small", "large": "small"},
    "engineer": {"small": "small", "medium": "medium", "large": "medium"},
    "architect": {"small": "large", "medium": "large", "large": "large"},
}
"""The tier of each role by that of the request's points (A16); only a demanding orchestration may take the largest
(A19)."""


def tier_of(model: str, tiers: Mapping[Tier, str] = DEFAULT_TIERS) -> Tier | None:
    """The size of a model: the tier it stands for, else what its name says (`haiku`, `sonnet`, `opus`); else None.

    A provider may answer with a name of its own, without the provider and with a date behind it.
    """
    name = _model_name(model)
    models: dict[Tier, str] = {tier: _model_name(each) for tier, each in tiers.items() if each}
    exact: list[Tier] = [tier for tier, each in models.items() if each == name]
    by_prefix: list[Tier] = [tier for tier, each in models.items() if name.startswith(f"{each}-")]
    if exact or by_prefix:
        return (exact or by_prefix)[0]
    return next((tier for word in re.split(r"[^a-z]+", name) if (tier := read_tier(word)) and word not in _SIZES), None)


_SIZES: Final = frozenset(get_args(Tier))
"""Words that mean a tier to us; in the name of somebody's model they say something else."""


def _model_name(model: str) -> str:
    return model.strip().lower().partition(":")[2] or model.strip().lower()


# The mix.


@dataclass(frozen=True, slots=True)
class ModelSpend:
    """What calls of one model came to. What nobody measured is None.

    Attributes:
        calls: Requests to the model.
        usd: Money, in US dollars.
    """

    tier: Tier | None
    calls: int = 1
    tokens: int | None = None
    usd: float | None = None


@dataclass(frozen=True, slots=True)
class TierMix:
    """How what was spent is shared out over the tiers, in one unit.

    Attributes:
        total: All that was measured in this unit, tiers unknown included: calls, tokens, or US dollars.
        shares: Of what the known tiers took together, the share of each, 0 to 1.
        unknown: How much of `total` went to models whose tier is not known.
    """

    unit: Unit
    total: float
    shares: Mapping[Tier, float]
    unknown: float = 0.0

    @property
    def target_deviation(self) -> Mapping[Tier, float]:
        """By how many percentage points each share lies above its target, or below."""
        return {tier: (self.shares[tier] - share) * 100 for tier, share in TARGET.items()}


def tier_mixes(spent: Iterable[ModelSpend]) -> tuple[TierMix, ...]:
    """The measured mix in each unit in which anything was measured (A15)."""
    items = tuple(spent)
    amounts: dict[Unit, list[tuple[Tier | None, float]]] = {
        "calls": [(each.tier, each.calls) for each in items],
        "tokens": [(each.tier, each.tokens) for each in items if each.tokens is not None],
        "cost": [(each.tier, each.usd) for each in items if each.usd is not None],
    }
    mixes: list[TierMix] = []
    for unit, pairs in amounts.items():
        by_tier: dict[Tier, float] = {tier: sum(amount for each, amount in pairs if each == tier) for tier in TARGET}
        if total := sum(by_tier.values()):
            shares: dict[Tier, float] = {tier: amount / total for tier, amount in by_tier.items()}
            unknown = sum(amount for tier, amount in pairs if tier is None)
            mixes.append(TierMix(unit, total + unknown, shares, unknown))
    return tuple(mixes)
