"""What pydantic has against a value, in our own words: findings.

It speaks of what was sent, which is JSON: of arrays and objects, never of the Python types behind a model.
"""

from typing import Any, Final, cast

from pydantic import ValidationError

from retinue.contract.finding import Finding
from retinue.contract.json import JsonValue, pointer

__all__ = ["as_detail", "findings_of", "in_short"]

_ARRAY: Final = ("Input should be an array", "Send an array; `[]` when it is empty.")
_OBJECT: Final = ("Input should be an object", "Send an object.")
_WORDS: Final[dict[str, tuple[str, str]]] = {
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

_LONGEST: Final = 300
"""Letters of a fact that may be a stranger's."""


def findings_of(error: ValidationError, *, rule: str) -> tuple[Finding, ...]:
    """Everything that is wrong, each with its path."""
    wrong = error.errors(include_url=False, include_input=False)
    found: list[Finding] = []
    for each in wrong:
        message, fix = _said(cast("dict[str, Any]", each))
        found.append(Finding(rule=rule, message=f"{message}.", path=pointer(each["loc"]), fix=fix))
    return tuple(found)


def _said(wrong: dict[str, Any]) -> tuple[str, str]:
    """What is wrong, without a full stop, and what to do."""
    message, fix = _WORDS.get(wrong["type"], ("", ""))
    facts = {name: str(value)[:_LONGEST] for name, value in wrong.get("ctx", {}).items()}
    facts["name"] = str(wrong["loc"][-1])[:_LONGEST] if wrong["loc"] else ""
    plain = str(wrong["msg"]).removeprefix("Value error, ")
    return (message.format_map(facts) or plain, fix.format_map(facts))


def in_short(findings: tuple[Finding, ...]) -> str:
    """The first few findings as part of a sentence, without a full stop."""
    said = "; ".join(f"`{each.path or '/'}`: {each.message.rstrip('.')}" for each in findings[:3])
    return f"{said}; and {len(findings) - 3} more" if len(findings) > 3 else said


def as_detail(findings: tuple[Finding, ...]) -> dict[str, list[dict[str, JsonValue]]]:
    """The findings as an error's `detail`."""
    return {"findings": [finding.to_json() for finding in findings]}
