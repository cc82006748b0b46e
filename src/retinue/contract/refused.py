"""What pydantic has against a value, in our own words: findings."""

from pydantic import ValidationError

from retinue.contract.finding import Finding
from retinue.contract.json import JsonValue, pointer

__all__ = ["as_detail", "findings_of", "in_short"]


def findings_of(error: ValidationError, *, rule: str) -> tuple[Finding, ...]:
    """Everything that is wrong, each with its path."""
    wrong = error.errors(include_url=False, include_context=False, include_input=False)
    return tuple(Finding(rule=rule, message=f"{each['msg']}.", path=pointer(each["loc"])) for each in wrong)


def in_short(findings: tuple[Finding, ...]) -> str:
    """The first few findings as part of a sentence, without a full stop."""
    said = "; ".join(f"`{each.path or '/'}`: {each.message.rstrip('.')}" for each in findings[:3])
    return f"{said}; and {len(findings) - 3} more" if len(findings) > 3 else said


def as_detail(findings: tuple[Finding, ...]) -> dict[str, list[dict[str, JsonValue]]]:
    """The findings as an error's `detail`."""
    return {"findings": [finding.to_json() for finding in findings]}
