"""Which dialect a subject speaks, when nobody says: it is asked the same in each, and its answers decide."""

from dataclasses import dataclass
from typing import Final

from retinue.conformance.port import CheckSubject, Probe, ProbeExchange, RequestTemplate
from retinue.contract.model import DialectName
from retinue.dialects import DIALECTS, dialect
from retinue.dialects.detect import detect
from retinue.dialects.port import Certainty, Detection
from retinue.errors import InvalidInput, RetinueError

_ORDER: Final[tuple[DialectName, ...]] = ("markdown_json", "tool_use", "task_signal", "agent_http", "run_agent")
"""The most telling first: an answer in `run_agent` may be nearly anything."""
_WEIGHTS: Final[dict[Certainty, int]] = {"certain": 6, "likely": 3, "possible": 0}
_MOST: Final = 200_000


@dataclass(frozen=True, slots=True)
class DialectGuess:
    """What the answers say.

    Attributes:
        why: The marks that say so, as part of a sentence.
    """

    dialect: DialectName
    certainty: Certainty
    why: str


async def guess_dialect(subject: CheckSubject, *, template: RequestTemplate, timeout_s: float) -> DialectGuess:
    """Ask `subject` in one dialect after the other until an answer is certainly in one of them.

    Raises:
        InvalidInput: It answered in none.
    """
    weights: dict[DialectName, int] = {}
    best: dict[DialectName, Detection] = {}
    first_error = ""
    for name in _ORDER:
        exchange = await _exchange(subject, name, template, timeout_s)
        first_error = first_error or exchange.error
        for detection in detect((exchange.text or "")[:_MOST]):
            if detection.kind != "result" or not _WEIGHTS[detection.certainty]:
                continue
            # Whoever answers in the dialect of the question speaks it; an error is often told in another's manner.
            weight = _WEIGHTS[detection.certainty] + (1 if detection.dialect == name else 0)
            if weight > weights.get(detection.dialect, 0):
                weights[detection.dialect], best[detection.dialect] = weight, detection
        if weights.get(name, 0) > _WEIGHTS["certain"] or exchange.late:
            break
    if not weights:
        raise InvalidInput(
            f"Nothing that {subject.name[:80]!r} answers is in a dialect.{f' {first_error}' if first_error else ''}",
            hint=f"Say which one it should speak: {', '.join(DIALECTS)}.",
            suggestions=DIALECTS,
        )
    detection = best[max(weights, key=lambda each: weights[each])]
    return DialectGuess(detection.dialect, detection.certainty, detection.why)


async def _exchange(
    subject: CheckSubject, name: DialectName, template: RequestTemplate, timeout_s: float
) -> ProbeExchange:
    probe = Probe("guess", template.task("guess"), "Which dialect is it?")
    try:
        text = dialect(name).render_task(probe.task).text
    except RetinueError as error:
        return ProbeExchange(probe, "", error=error.message)
    return await subject.send(probe, text, timeout_s=timeout_s)
