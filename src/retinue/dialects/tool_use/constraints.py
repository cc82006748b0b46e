"""Constraint tokens (A10): those that bound something are limits, all others stay words.

The spec has no grammar for them. Ours: `max_2_minutes`, a number and its unit; also `max_5000_tokens`, `max_0.5_usd`
and `max_2_retries`. A budget without a unit counts tokens (C23). Of several bounds the tightest is the limit (C21), of
equal ones the last; the others stay among the constraints, so that nothing is lost.
"""

import math
import re
from typing import Any, Final, Literal, TypeAlias

from pydantic import ValidationError

from retinue.contract.task import Limits
from retinue.dialects.diagnostics import Diagnostics

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
    value = _value(name, digits, factor)
    if value is None:
        _note(notes, token, at, "is not a limit that can be kept; it stays a constraint", "Use a sensible number.")
        return None
    return name, value


def _value(name: _Bound, digits: str, factor: float) -> float | None:
    """The number, when a limit of that name can have it."""
    number = int(digits) if digits.isdigit() else float(digits)
    if name in ("tokens", "retries"):
        value: float = number
    else:
        value = float(number) * factor if number < 10**300 else math.inf
    try:
        Limits.model_validate({name: value})
    except ValidationError:
        return None
    return value


def _note(notes: Diagnostics | None, token: str, at: int, what: str, fix: str) -> None:
    if notes is not None:
        notes.add("constraint", f"{token[:100]!r} {what}.", path=f"/payload/constraints/{at}", fix=fix)
