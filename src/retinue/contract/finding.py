"""What a check found, what a translation could not say, and what pydantic has against a value, in our own words.

Those words speak of what was sent, which is JSON: of arrays and objects, never of the Python types behind a model.
"""

from typing import Final, Literal, TypeAlias, cast

from pydantic import ValidationError

from retinue.contract.json import JsonValue, pointer
from retinue.contract.model import Count, Model

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


_ARRAY: Final = ("Input should be an array", "Send an array; `[]` when it is empty.")
_OBJECT: Final = ("Input should be an object", "Send an object.")
_MESSAGES: Final[dict[str, tuple[str, str]]] = {
    "missing": ("", "Add `{name}`."),
    "extra_forbidden": ("", "Leave `{name}` out."),
    "null": ("null is not allowed here", "Leave `{name}` out."),
    "string_pattern_mismatch": ("", "Send text that matches `{pattern}`."),
    "string_type": ("", "Send text, in double quotes."),
    "int_type": ("", "Send a whole number, without quotes."),
    "int_from_float": ("", "Send a whole number."),
    "float_type": ("", "Send a number, without quotes."),
    "bool_type": ("", "Send `true` or `false`, without quotes."),
    "list_type": _ARRAY,
    "tuple_type": _ARRAY,
    "dict_type": _OBJECT,
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
    "literal_error": ("", "Send {expected}."),
    "too_short": ("There should be at least {min_length} here, not {actual_length}", "Give at least {min_length}."),
    "greater_than": ("", "Send more than {gt}."),
    "greater_than_equal": ("", "Send {ge} or more."),
    "less_than": ("", "Send less than {lt}."),
    "less_than_equal": ("", "Send {le} or less."),
    "union_tag_not_found": ("{discriminator} is missing", "Add {discriminator}."),
    "union_tag_invalid": ("{discriminator} is '{tag}' and should be one of: {expected_tags}", "Use one of them."),
}
"""By pydantic's kind of error: our message, empty where pydantic's will do, and what to do about it."""

_MAX_FACT_LENGTH: Final = 300
"""Letters of a fact that may be a stranger's."""


def findings_of(error: ValidationError, *, rule: str) -> tuple[Finding, ...]:
    """Everything that is wrong, each with its path."""
    findings: list[Finding] = []
    for each in error.errors(include_url=False, include_input=False):
        message, fix = _MESSAGES.get(each["type"], ("", ""))
        context = cast("dict[str, object]", each.get("ctx", {}))
        facts = {name: str(value)[:_MAX_FACT_LENGTH] for name, value in context.items()}
        facts["name"] = str(each["loc"][-1])[:_MAX_FACT_LENGTH] if each["loc"] else ""
        message = message.format_map(facts) or each["msg"].removeprefix("Value error, ")
        path = pointer(each["loc"])
        findings.append(Finding(rule=rule, message=f"{message}.", path=path, fix=fix.format_map(facts)))
    return tuple(findings)


def summarise_findings(findings: tuple[Finding, ...]) -> str:
    """The first few findings as part of a sentence, without a full stop."""
    text = "; ".join(f"`{each.path or '/'}`: {each.message.rstrip('.')}" for each in findings[:3])
    return f"{text}; and {len(findings) - 3} more" if len(findings) > 3 else text


def as_detail(findings: tuple[Finding, ...]) -> dict[str, list[dict[str, JsonValue]]]:
    """The findings as an error's `detail`."""
    return {"findings": [finding.to_json() for finding in findings]}
