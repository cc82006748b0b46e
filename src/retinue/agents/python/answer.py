"""From what a Python function returned to a `Reply`. Nothing is judged here: that is the boundary's work."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, cast

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from retinue.agents.port import ABSENT, Reply
from retinue.contract.plan import Plan
from retinue.contract.result import Result
from retinue.errors import OutputInvalid

__all__ = ["Dump", "reply_of", "reply_of_result"]

Dump = Callable[[object], object]
"""Writes a value of the declared type as JSON data."""


def reply_of(value: object, *, dump: Dump | None, wire: bool) -> Reply:
    """Make a reply of whatever came back.

    Args:
        value: What the function returned.
        dump: How the declared type is written; None when none was declared.
        wire: The agent speaks a dialect: its text is still to be read.

    Raises:
        OutputInvalid: The value holds something JSON cannot say.
    """
    match value:
        case str():
            return Reply(text=value) if wire else Reply(data=value, content=value)
        case Reply():
            # The declared type may stand in a reply too, beside warnings and the like.
            return replace(value, data=_dumped(value.data, dump)) if isinstance(value.data, BaseModel) else value
        case Plan():
            return Reply(plan=value)
        case Result():
            return reply_of_result(cast("Result", value))
        case None if dump is None:
            return Reply(outcome="success")  # it promises no data: that it returned is its answer
        case _:
            return Reply(data=_dumped(value, dump))


def reply_of_result(result: Result) -> Reply:
    """What a result says, as a reply. What only the boundary may stamp (ids, times, attempts, versions) is left out."""
    facts = {name: getattr(result, name) for name in _SHARED}
    if result.data is None and "data" not in result.model_fields_set:
        facts["data"] = ABSENT
    return Reply(**facts, extras=dict(result.extras) or None)


_SHARED: Final = (
    "artifacts", "completeness", "confidence", "content", "data", "fault", "files_read", "files_written", "outcome",
    "questions", "reasoning", "traces", "usage", "warnings",
)  # fmt: skip


def _dumped(value: object, dump: Dump | None) -> object:
    if hasattr(type(value), "__next__"):  # writing it would go on for as long as it does
        raise OutputInvalid(
            f"The answer, a `{type(value).__name__}`, is an iterator, and nobody knows where it ends.",
            hint="Return a list of what it yields.",
        )
    try:
        return dump(value) if dump else to_jsonable_python(value, exclude_none=True)
    except (TypeError, ValueError, RecursionError) as error:
        first = str(error).partition("\n")[0]
        raise OutputInvalid(
            f"The answer, a `{type(value).__name__}`, cannot be written as JSON: {first}.",
            hint="Return a pydantic model, a dataclass, or plain lists, dictionaries, texts and numbers.",
        ) from error
