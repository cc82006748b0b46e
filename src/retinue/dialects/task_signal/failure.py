"""The error block: a category and a description, where it happened, what to do (H16, H17, C39), both ways."""

import re
from dataclasses import dataclass
from typing import Final

from retinue.contract.fault import Fault
from retinue.contract.names import nearest
from retinue.dialects.diagnostics import Diagnostics
from retinue.errors import FaultCode

from .lines import note_at, one_line, strict_severity
from .wire import CATEGORIES, OUR_CATEGORIES, code_of

_CATEGORY: Final = re.compile(r"([A-Z][A-Z0-9_]{1,63})(?:[ \t]+([-\u2013\u2014])(?:[ \t](.*)|)|)", re.DOTALL)
_LOOSE_CATEGORY: Final = re.compile(
    r"[\[`*]{0,3}([A-Za-z][A-Za-z_ -]{1,40}?)[\]`*]{0,3}[ \t]*+(?:[-:](?![A-Za-z])|[\u2013\u2014])[ \t]*+(.*)",
    re.DOTALL,
)
"""A category in other letters or signs, and what follows it."""

_RETRYABLE: Final[frozenset[FaultCode]] = frozenset({"network_error", "unavailable", "timeout"})


@dataclass(frozen=True, slots=True)
class ErrorBlock:
    """The three lines of the block."""

    error: str
    context: str | None = None
    recovery: str | None = None


def fault_of(block: ErrorBlock, notes: Diagnostics, *, line: int = 1) -> Fault:
    """The fault that a block reports. An unknown category is an internal error, and kept in `detail["category"]`."""
    match = _CATEGORY.fullmatch(block.error)
    category = match[1] if match and (match[2] or code_of(match[1])) else None
    code = code_of(category) if category is not None else None
    guess = _LOOSE_CATEGORY.fullmatch(block.error) if category is None else None
    spelling = "_".join(guess[1].upper().replace("-", " ").split()) if guess else ""
    if guess is not None and code_of(spelling) is not None:
        category, code, message = spelling, code_of(spelling), guess[2]
        _note(notes, line, f"The error is taken as `{spelling}`, which is written otherwise.")
    elif match is None or category is None:
        message = block.error
        _note(notes, line, "The error has no category; it is taken as an internal error.")
    else:
        message = match[3] or ""
        if match[2] not in {None, "-"}:
            _note(notes, line, f"A dash {match[2]!r} stands behind the category, and not a hyphen.")
        if code is None:
            guess = nearest(category, [*CATEGORIES.values()], limit=1)
            hint = f" Is `{guess[0]}` meant?" if guess else ""
            _note(notes, line, f"`{category}` is not a valid category; it is taken as an internal error.{hint}")
    is_theirs = category is not None and (code is None or category in OUR_CATEGORIES)
    code = code or "internal_error"
    return Fault(
        code=code,
        message=message,
        hint=block.recovery or "",
        failed_at=block.context,
        retryable=code in _RETRYABLE,
        detail={"category": category} if is_theirs else {},
    )


def error_block_of(fault: Fault, *, as_lines: bool) -> ErrorBlock:
    """The block that reports `fault`; with `as_lines`, each value on one line."""
    fit = one_line if as_lines else str
    category = _category(fault)
    message = fit(fault.message)
    # Without a hint the suggestions stand in for it, so that its reader can act.
    recovery = fit(fault.hint) if fault.hint or not fault.suggestions else one_line("; ".join(fault.suggestions))
    return ErrorBlock(
        error=f"{category} - {message}" if message else f"{category} -",
        context=None if fault.failed_at is None else fit(fault.failed_at),
        recovery=recovery or None,
    )


def _category(fault: Fault) -> str:
    """The category to write: the one it was read with, if it still means the same."""
    category: object = fault.detail.get("category")
    if isinstance(category, str) and _CATEGORY.fullmatch(f"{category} - "):
        code = code_of(category)
        if code == fault.code or (code is None and fault.code == "internal_error"):
            return category
    return CATEGORIES[fault.code]


def _note(notes: Diagnostics, line: int, message: str) -> None:
    fix = "Write `ERROR: CATEGORY - description` with one of the categories of spec 002."
    note_at(notes, "category", message, line=line, fix=fix, path="/fault/code", severity=strict_severity(notes))
