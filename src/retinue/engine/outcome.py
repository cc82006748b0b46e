"""The results that the engine writes itself, because a step or workflow gave none."""

from retinue.contract.fault import Fault
from retinue.contract.result import Result, Warned
from retinue.errors import Canceled

__all__ = ["as_canceled", "canceled", "failed", "without_data"]


def failed(task_id: str, name: str, error: BaseException) -> Result:
    """What came out of `name` was an exception."""
    try:
        fault = Fault.from_error(error, failed_at=name)
    except Exception:  # noqa: BLE001 - an exception may be broken itself: no text, or one that is no Unicode
        fault = Fault(code="internal_error", message=f"`{type(error).__name__}` was raised, and cannot say why.")
    return Result(task_id=task_id, agent=name, outcome="failed", fault=fault)


def canceled(task_id: str, name: str, reason: str) -> Result:
    """It was stopped before it gave anything."""
    return Result(task_id=task_id, agent=name, outcome="canceled", fault=_stopped(reason))


def as_canceled(result: Result, reason: str) -> Result:
    """`result`, which came after it was told to stop: what it holds is kept."""
    return result.model_copy(
        update={"lifecycle": "ended", "outcome": "canceled", "fault": result.fault or _stopped(reason)}
    )


def without_data(result: Result, reason: str) -> Result:
    """A stand-in for a result that cannot be written down."""
    lost = Warned(type="missing_data", message=reason, impact="Its data is not in the history.")
    return Result(
        task_id=result.task_id,
        agent=result.agent,
        lifecycle=result.lifecycle,
        outcome=result.outcome,
        warnings=(lost,),
    )


def _stopped(reason: str) -> Fault:
    return Fault.from_error(Canceled(reason or "Stopped."))
