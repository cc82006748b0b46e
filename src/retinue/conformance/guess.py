"""Which dialect a subject speaks, when nobody says: it is asked the same in each, and its answers decide."""

from dataclasses import dataclass
from typing import Final

from retinue.conformance.port import Asking, Exchange, Probe, Subject
from retinue.contract.model import DialectName
from retinue.dialects import DIALECTS, dialect
from retinue.dialects.detect import detect
from retinue.dialects.port import Certainty, Sign
from retinue.errors import InvalidInput, RetinueError

__all__ = ["Guess", "guess"]

_ORDER: Final[tuple[DialectName, ...]] = ("markdown_json", "tool_use", "task_signal", "agent_http", "run_agent")
"""The most telling first: an answer in `run_agent` may be nearly anything."""
_WEIGHTS: Final[dict[Certainty, int]] = {"certain": 6, "likely": 3, "possible": 0}
_MOST: Final = 200_000


@dataclass(frozen=True, slots=True)
class Guess:
    """What the answers say.

    Attributes:
        why: The marks that say so, as part of a sentence.
    """

    dialect: DialectName
    certainty: Certainty
    why: str


async def guess(subject: Subject, *, asking: Asking, timeout_s: float) -> Guess:
    """Ask `subject` in one dialect after the other until an answer is certainly in one of them.

    Raises:
        InvalidInput: It answered in none.
    """
    weights: dict[DialectName, int] = {}
    best: dict[DialectName, Sign] = {}
    told = ""
    for name in _ORDER:
        exchange = await _asked(subject, name, asking, timeout_s)
        told = told or exchange.error
        for sign in detect((exchange.text or "")[:_MOST]):
            if sign.kind != "result" or not _WEIGHTS[sign.certainty]:
                continue
            # Whoever answers in the dialect of the question speaks it; an error is often told in another's manner.
            weight = _WEIGHTS[sign.certainty] + (1 if sign.dialect == name else 0)
            if weight > weights.get(sign.dialect, 0):
                weights[sign.dialect], best[sign.dialect] = weight, sign
        if weights.get(name, 0) > _WEIGHTS["certain"] or exchange.late:
            break
    if not weights:
        raise InvalidInput(
            f"Nothing that {subject.name[:80]!r} answers is in a dialect.{f' {told}' if told else ''}",
            hint=f"Say which one it should speak: {', '.join(DIALECTS)}.",
            suggestions=DIALECTS,
        )
    sign = best[max(weights, key=lambda each: weights[each])]
    return Guess(sign.dialect, sign.certainty, sign.why)


async def _asked(subject: Subject, name: DialectName, asking: Asking, timeout_s: float) -> Exchange:
    probe = Probe("guess", asking.task("guess"), "Which dialect is it?")
    try:
        sent = dialect(name).render_task(probe.task).text
    except RetinueError as error:
        return Exchange(probe, "", error=error.message)
    return await subject.put(probe, sent, timeout_s=timeout_s)
