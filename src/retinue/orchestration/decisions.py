"""What one walk knows when it decides: who was asked, who failed too often, what was said less precisely.

The rules themselves are pure and stand in `escalate` and `breaker`; here they get their facts, and what they decide
gets its words for the record (P15). Nothing is started or awaited here: that is for `walk`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from retinue.contract.definition import Definition
from retinue.contract.event import Decision
from retinue.contract.plan import Candidate, Delegation, Plan
from retinue.contract.result import Result, Warned
from retinue.errors import Unavailable
from retinue.orchestration.breaker import Breaker
from retinue.orchestration.escalate import Elsewhere, Move, Situation, ways
from retinue.orchestration.planning import decision_of, planning_of
from retinue.orchestration.reconsider import Options, reconsidered
from retinue.orchestration.requests import Progress, Requests

__all__ = ["SKIPPED", "Decisions", "opening", "unavailable"]

SKIPPED: Final = "skip_call"
"""The move of a call that an open circuit forbids."""

_NOTHING: Final[tuple[Decision, ...]] = ()


class Decisions:
    """The decisions of one walk."""

    def __init__(self, requests: Requests, definitions: Mapping[str, Definition]) -> None:
        self._requests = requests
        self._definitions = definitions
        self._breaker = Breaker()
        self._left_out: dict[str, tuple[str, ...]] = {}

    def before(self, node: Delegation) -> Decision | None:
        """What there is to say before `node` is called: nothing, that it is a trial, or that it must not be."""
        breaker = self._breaker
        if breaker.calm:
            return None
        refused = breaker.objection(node.agent, node.skill)
        return refused or breaker.let_through(node.id, node.agent, node.skill)

    def after(self, node: Delegation, result: Result) -> Sequence[Decision]:
        """What follows from a call for the calls to come."""
        if result.useful and self._breaker.calm:
            return _NOTHING
        return self._breaker.hear(node.id, node.agent, node.skill, result)

    def options(self, progress: Progress, result: Result, *, all_of_them: bool = False) -> Options:
        """What may be done about a result: the rules' own choice, and when a model is to choose, all there is."""
        found = ways(progress.node, result, self._situation(progress))
        return Options(tuple(found) if all_of_them else (next(found),))

    def chosen(self, progress: Progress, result: Result, choice: Result) -> tuple[Move, Decision]:
        """What a model chose to do about a result, and the decision as it is recorded."""
        options = self.options(progress, result, all_of_them=True)
        return reconsidered(options, choice, progress.node, result, self._situation(progress))

    def taken(self, node: Delegation, move: Move) -> None:
        """Note that a move is made."""
        if isinstance(move, Elsewhere):
            self._left_out[node.id] = (*self._left_out.get(node.id, ()), *move.left_out)

    def _situation(self, progress: Progress) -> Situation:
        return Situation(
            tried=progress.tried,
            rounds=progress.rounds,
            definition_of=self._definitions.get,
            request_to=self._requests.rebound,
            unreliable=self._breaker.unreliable,
            asked=progress.answers,
        )

    def finished(self, node: Delegation, result: Result) -> Result:
        """`result` as what the node came to: what answers a more general question is only part of an answer."""
        left_out = self._left_out.get(node.id) if self._left_out and result.useful else None
        if not left_out:
            return result
        warning = Warned(
            type="degraded_analysis",
            message=f"It was asked more generally, without {', '.join(map(repr, dict.fromkeys(left_out)))}.",
            impact="The answer may be about more than was asked.",
            recovery="Ask for that part in other words.",
        )
        return result.model_copy(update={"outcome": "partial", "warnings": (*result.warnings, warning)})


def unavailable(decision: Decision) -> Unavailable:
    """The error of a call that was not made."""
    hint = "See why it failed, and ask again when that is mended."
    return Unavailable(decision.reason, hint=hint, detail={"decision": decision.move})


def opening(plan: Plan) -> Iterator[tuple[str, Decision]]:
    """What was decided before the walk: whom each node was given to, and what nobody does.

    A plan made by hand says no such thing, and then there is nothing to tell.
    """
    if (planning := planning_of(plan)) is not None:
        yield "", decision_of(planning)
    for node in plan.nodes:
        if node.chosen is not None:
            yield node.id, _choice(node, node.chosen)
    for dropped in plan.dropped:
        yield "", Decision("drop", f"{dropped.clause!r} is left out. {dropped.reason}", {"clause": dropped.clause})


def _choice(node: Delegation, chosen: Candidate) -> Decision:
    others = ", ".join(f"`{one.agent}.{one.skill}` to {one.share:.2f}" for one in node.alternatives)
    because = f": it {chosen.reason}" if chosen.reason else ""
    reason = f"`{chosen.agent}.{chosen.skill}` fits to {chosen.share:.2f}{because}."
    facts: dict[str, object] = {"agent": chosen.agent, "skill": chosen.skill, "share": chosen.share}
    return Decision("choose", f"{reason} Next: {others}." if others else reason, facts)
