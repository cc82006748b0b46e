"""A result in the words of the command line: what the rooms below call a bound is an option here."""

from typing import Any, Final, cast

from retinue.contract.fault import Fault
from retinue.contract.result import Result, Warned

__all__ = ["said_here", "worded"]

_HERE: Final = {
    "`run.budget.timeout_s`": "`--timeout`",
    "Raise the deadline": "Raise `--timeout`",
    "Raise `task.limits.tokens`": "Raise `--max-tokens`, or its own limit in the plan",
    "Raise `task.limits.cost_usd`": "Raise `--max-cost`, or its own limit in the plan",
    "`run.budget.tokens`": "`--max-tokens`",
    "`run.budget.cost_usd`": "`--max-cost`",
    "`orchestrator.tokens`": "the planner's part of `--max-tokens`",
    "`orchestrator.cost_usd`": "the planner's part of `--max-cost`",
    "Raise the budget": "Raise `--max-nodes`, `--max-tokens` or `--max-cost`",
}


def said_here(result: Result) -> Result:
    """`result` with its faults in these words: in itself, in its attempts, in its answer, and in its warnings.

    Only sentences of ours are changed. What an agent said of `run.budget.timeout_s` is its own.
    """
    told: dict[str, str] = {}
    changes: dict[str, Any] = {}
    if isinstance(result.data, dict) and (failures := cast("dict[str, Any]", result.data).get("failures")):
        changes["data"] = {**cast("dict[str, Any]", result.data), "failures": _failures(failures, told)}
    if result.fault is not None:
        changes["fault"] = _fault(result.fault, told)
    faulty = [attempt for attempt in result.attempts if attempt.fault is not None]
    if faulty:
        changes["attempts"] = tuple(
            attempt if attempt.fault is None else attempt.model_copy(update={"fault": _fault(attempt.fault, told)})
            for attempt in result.attempts
        )
    if not told:
        return result
    changes["content"] = _replaced(result.content, told)
    changes["warnings"] = tuple(_warning(each, told) for each in result.warnings)
    return result.model_copy(update=changes)


def _failures(failures: object, told: dict[str, str]) -> list[object]:
    listed = cast("list[object]", failures) if isinstance(failures, list) else []
    return [
        {name: _said(value, told) for name, value in cast("dict[str, object]", each).items()}
        if isinstance(each, dict)
        else each
        for each in listed
    ]


def _fault(fault: Fault, told: dict[str, str]) -> Fault:
    return fault.model_copy(
        update={
            "message": _said(fault.message, told),
            "hint": _said(fault.hint, told),
            "suggestions": tuple(_said(each, told) for each in fault.suggestions),
        }
    )


def _warning(warning: Warned, told: dict[str, str]) -> Warned:
    return warning.model_copy(
        update={"message": _replaced(warning.message, told), "recovery": _replaced(warning.recovery, told)}
    )


def worded(text: str) -> str:
    """A sentence of ours in these words."""
    for inside, here in _HERE.items():
        text = text.replace(inside, here)
    return text


def _said(text: Any, told: dict[str, str]) -> Any:
    """`text` in our words; notes in `told` what became of it."""
    if not isinstance(text, str) or not any(inside in text for inside in _HERE):
        return text
    told[text] = worded(text)
    return told[text]


def _replaced(text: str, told: dict[str, str]) -> str:
    for before, after in told.items():
        text = text.replace(before, after)
    return text
