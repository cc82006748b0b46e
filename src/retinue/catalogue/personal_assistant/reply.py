"""What a call came to, as one reply: useful as soon as one domain was, partial as soon as one was not (C3)."""

from collections.abc import Iterable, Sequence
from typing import Any

from retinue.agents.port import Reply
from retinue.contract.fault import Fault
from retinue.contract.question import Question
from retinue.contract.result import Outcome, Usage, Warned
from retinue.errors import DeadlineExceeded, InvalidInput

from .domain import DomainResult
from .route import Routed
from .thinking import Mind

__all__ = ["reply_of"]


def reply_of(
    content: str,
    routed: Routed,
    results: Sequence[DomainResult],
    notes: Iterable[str],
    mind: Mind | None,
    *,
    domains: Sequence[str],
) -> Reply:
    """Everything as one reply; `results`, `timings` and `models` are also spec 001's own keys (B6).

    `domains` are the names of all that there are, for whoever asked for something that none of them does.
    """
    data: dict[str, Any] = {
        "content": content,
        "targets": [{"extension": target.extension, "intent": target.intent} for target in routed.targets],
        "results": [result.to_json() for result in results],
        "timings": {result.name: result.duration_ns / 1e9 for result in results},
        "models": {str(role): name for role, name in mind.names.items()} if mind else {},
    }
    if routed.direct_text:
        data["direct_text"] = routed.direct_text
    useful = bool(routed.direct_text) or any(result.status == "done" for result in results)
    outcome = _outcome(results, useful=useful)
    return Reply(
        data=data,
        content=content,
        outcome=outcome,
        fault=_rejected(domains) if outcome == "rejected" else _fault(results) if outcome == "error" else None,
        warnings=(*map(_warning, _bad(results)), *map(_note, notes)),
        traces=tuple(trace for result in results for trace in result.traces),
        usage=Usage.together(mind.used if mind else ()),
        questions=() if useful else tuple(_questions(results)),
        extras={"run_agent": {key: data[key] for key in ("results", "timings", "models")}},
    )


def _bad(results: Sequence[DomainResult]) -> list[DomainResult]:
    return [result for result in results if result.status in {"failed", "timed out"}]


def _outcome(results: Sequence[DomainResult], *, useful: bool) -> Outcome | None:
    if useful:
        return "partial" if _bad(results) else "success"
    if not results:
        return "rejected"
    return "error" if _bad(results) else None


def _rejected(domains: Sequence[str]) -> Fault:
    return Fault.from_error(
        InvalidInput(
            "None of the assistant's domains is for that.",
            hint=f"It has: {', '.join(domains) or 'none'}. `retinue assistant domains` shows what each does.",
            suggestions=tuple(domains),
        )
    )


def _fault(results: Sequence[DomainResult]) -> Fault | None:
    """Why there is no answer: a domain that was too slow, else the first that failed."""
    late = [result.name for result in results if result.status == "timed out"]
    if late:
        names = ", ".join(f"`{name}`" for name in late)
        error = DeadlineExceeded(
            f"{names} did not answer in time.",
            hint="Raise `domain_timeout_secs`, or ask one domain at a time.",
            detail={"domains": late},
        )
        return Fault.from_error(error)
    return next((result.fault for result in results if result.fault is not None), None)


def _warning(result: DomainResult) -> Warned:
    happened = "timed out" if result.status == "timed out" else "failed"
    return Warned(
        type="missing_data",
        message=f"`{result.name}` {happened}: {result.output[:300]}",
        impact="Its part of the answer is missing.",
        recovery="Ask for it by itself, with more time.",
    )


def _note(note: str) -> Warned:
    return Warned(type="degraded_analysis", message=note[:500])


def _questions(results: Sequence[DomainResult]) -> Iterable[Question]:
    for result in results:
        for name in result.missing if result.status == "asks" else ():
            yield Question(id=f"{result.name}_{name}", text=f"What is `{name}`, for {result.intent!r}?")
