"""What a run comes to when all its nodes have ended: in which form, and whether it is enough.

The forms are made elsewhere (`synthesise`, `reduce`); here one is chosen, branches are counted against the quorum
(H24, H25), and a fault is told where in the whole it happened.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from retinue.contract.fault import Fault
from retinue.contract.plan import Delegation
from retinue.contract.result import Result, Usage, Warned
from retinue.contract.tokens import TokenCounter
from retinue.errors import Unavailable
from retinue.orchestration.condense import Savings
from retinue.orchestration.order import Order
from retinue.orchestration.present.blocks import blocks_of
from retinue.orchestration.present.markdown import as_markdown
from retinue.orchestration.reduce import placed_fault, reduced
from retinue.orchestration.state import wanted_of
from retinue.orchestration.synthesise import Ended, collect, synthesise

if TYPE_CHECKING:
    from retinue.contract.model import JsonMapping
    from retinue.orchestration.citing import Summary

__all__ = ["answer_of", "counted"]


def answer_of(
    order: Order,
    ended: Ended,
    *,
    savings: Savings,
    counter: TokenCounter,
    record: Result | None = None,
    usage: Usage | None = None,
) -> Result:
    """The result of a run.

    Args:
        order: What the run was told.
        ended: What its nodes came to.
        savings: What hand-offs spared.
        counter: Counts tokens.
        record: What a model wrote as the summary, not yet judged.
        usage: What all of it took: also what failed, was stopped, or was done by the orchestrator itself.
    """
    if order.answer == "collected":
        result = collect(ended)
    else:
        merged = synthesise(ended, savings=savings, counter=counter)
        summary = _held(ended, record)
        result = reduced(order, ended, merged, summary) if order.answer == "reduced" else _summed_up(merged, summary)
    if usage is not None:
        result = result.model_copy(update={"usage": usage})
    if ended.plan.join == "quorum" and result.outcome in {"success", "partial", "error"}:
        result = _enough(order, ended, result)
    fault = placed_fault(order, ended, result.fault)
    return result if fault is result.fault else result.model_copy(update={"fault": fault})


def _held(ended: Ended, record: Result | None) -> "Summary | None":
    """What holds of the summary that a model wrote."""
    if record is None:
        return None
    from retinue.orchestration.citing import evidence_of, held  # noqa: PLC0415 - only with a model

    return held(evidence_of(ended), record)


def _summed_up(merged: Result, summary: "Summary | None") -> Result:
    """`merged` with what holds of the summary in front."""
    if summary is None:
        return merged
    from retinue.orchestration.citing import with_summary  # noqa: PLC0415 - only with a model

    whole = with_summary(merged, summary)
    return whole.model_copy(update={"content": as_markdown(blocks_of(whole.data))})


def counted(node: Delegation, result: Result, results: Mapping[str, Result]) -> Result:
    """`result` of a node that joined a quorum, with a warning when not all were there, or not all were counted in."""
    needs = tuple(dict.fromkeys(node.needs))
    missing = [need for need in needs if not results[need].useful]
    warnings: list[Warned] = []
    if missing:
        came = f"{len(needs) - len(missing)} of {len(needs)}"
        warnings.append(_short(f"`{node.id}` works with {came} branches: {_names(missing)} brought nothing."))
    data = cast("JsonMapping", result.data) if isinstance(result.data, dict) else {}
    items: object = data.get("metadata")
    if isinstance(items, list) and len(cast("list[object]", items)) != len(needs) - len(missing):
        size = len(cast("list[object]", items))
        warnings.append(_short(f"`{node.id}` aggregates {size} items, and {len(needs) - len(missing)} were handed on."))
    return result.model_copy(update={"warnings": (*result.warnings, *warnings)}) if warnings else result


def _enough(order: Order, ended: Ended, result: Result) -> Result:
    """Fewer than all but the share: a warning. Fewer than the share: an error, with what there is kept (H25).

    Who has looked and found nothing (`rejected`) has reported.
    """
    needed = {need for node in ended.plan.nodes for need in node.needs}
    ends = [(node, one) for node, one in ended.pairs() if node.id not in needed]
    missing = [node.id for node, one in ends if not one.useful and one.outcome != "rejected"]
    if not missing:
        return result
    came, wanted = len(ends) - len(missing), wanted_of(ended.plan.quorum, len(ends))
    if came >= wanted:
        warning = _short(f"{came} of {len(ends)} branches reported: {_names(missing)} did not.")
        return result.model_copy(update={"warnings": (*result.warnings, warning)})
    silent = Fault.from_error(Unavailable("It brought nothing.", hint="Ask again."))
    failed = ((node.id, one.fault) for node, one in ends if node.id in missing and one.fault is not None)
    first, fault = next(failed, (missing[0], silent))
    message = f"Only {came} of {len(ends)} branches reported, and {wanted} are wanted: {_names(missing)} did not."
    detail = {"node": order.place_of(first), **fault.detail, "wanted": wanted, "came": came, "missing": missing}
    blamed = fault.model_copy(update={"message": f"{message} The first: {fault.message}", "detail": detail})
    return result.model_copy(update={"outcome": "error", "fault": blamed})


def _short(message: str) -> Warned:
    return Warned(
        type="missing_data",
        message=message,
        impact="The answer rests on fewer parts than were asked for.",
        recovery="Ask for the missing ones again, or set the quorum to 1.0 to insist on all.",
    )


def _names(ids: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in ids[:10]) + (f" and {len(ids) - 10} more" if len(ids) > 10 else "")
