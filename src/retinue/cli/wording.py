"""A result in the words of the command line: what the rooms below call a bound is an option here."""

from typing import Any, Final, cast

from retinue.contract.fault import Fault
from retinue.contract.result import Result, Warned

_CLI_WORDS: Final = {
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


def reword_result(result: Result) -> Result:
    """`result` with its faults in these words: in itself, in its attempts, in its answer, and in its warnings.

    Only sentences of ours are changed. What an agent said of `run.budget.timeout_s` is its own.
    """
    replacements: dict[str, str] = {}
    changes: dict[str, Any] = {}
    if isinstance(result.data, dict) and (failures := cast("dict[str, Any]", result.data).get("failures")):
        changes["data"] = {**cast("dict[str, Any]", result.data), "failures": _failures(failures, replacements)}
    if result.fault is not None:
        changes["fault"] = _fault(result.fault, replacements)
    faulty = [attempt for attempt in result.attempts if attempt.fault is not None]
    if faulty:
        changes["attempts"] = tuple(
            attempt
            if attempt.fault is None
            else attempt.model_copy(update={"fault": _fault(attempt.fault, replacements)})
            for attempt in result.attempts
        )
    if not replacements:
        return result
    changes["content"] = _replace_all(result.content, replacements)
    changes["warnings"] = tuple(_warning(each, replacements) for each in result.warnings)
    return result.model_copy(update=changes)


def _failures(failures: object, replacements: dict[str, str]) -> list[object]:
    items = cast("list[object]", failures) if isinstance(failures, list) else []
    return [
        {name: _reword_text(value, replacements) for name, value in cast("dict[str, object]", each).items()}
        if isinstance(each, dict)
        else each
        for each in items
    ]


def _fault(fault: Fault, replacements: dict[str, str]) -> Fault:
    return fault.model_copy(
        update={
            "message": _reword_text(fault.message, replacements),
            "hint": _reword_text(fault.hint, replacements),
            "suggestions": tuple(_reword_text(each, replacements) for each in fault.suggestions),
        }
    )


def _warning(warning: Warned, replacements: dict[str, str]) -> Warned:
    return warning.model_copy(
        update={
            "message": _replace_all(warning.message, replacements),
            "recovery": _replace_all(warning.recovery, replacements),
        }
    )


def reword(text: str) -> str:
    """A sentence of ours in these words."""
    for inside, here in _CLI_WORDS.items():
        text = text.replace(inside, here)
    return text


def _reword_text(text: Any, replacements: dict[str, str]) -> Any:
    """`text` in our words; notes in `replacements` what became of it."""
    if not isinstance(text, str) or not any(inside in text for inside in _CLI_WORDS):
        return text
    replacements[text] = reword(text)
    return replacements[text]


def _replace_all(text: str, replacements: dict[str, str]) -> str:
    for before, after in replacements.items():
        text = text.replace(before, after)
    return text
