"""What a check found, and what a translation could not say."""

from typing import Literal, TypeAlias

from retinue.contract.model import Count, Model

__all__ = ["Finding", "Level", "Loss", "Severity", "TextEdit"]

Severity: TypeAlias = Literal["error", "warning", "info"]
Level: TypeAlias = Literal["strict", "standard", "lenient"]
"""How strictly a consumer reads (C3). Producers are always strict."""


class TextEdit(Model):
    """A text that stands at the place of a finding, or in the few lines below it, and what to write instead."""

    old: str
    new: str


class Finding(Model):
    """One thing a check has to say.

    Attributes:
        rule: Id of the rule; `retinue explain RULE` tells more.
        path: JSON Pointer of the place inside the document.
        file: The document; `line` and `column` count from 1.
        fix: What to do about it.
        replacement: What a program can do about it.
    """

    rule: str
    message: str
    severity: Severity = "error"
    path: str = ""
    file: str | None = None
    line: Count | None = None
    column: Count | None = None
    fix: str = ""
    replacement: TextEdit | None = None


class Loss(Model):
    """A field that a dialect has no word for, and why (C2).

    Attributes:
        field: JSON Pointer into the noun that was written.
    """

    field: str
    why: str
