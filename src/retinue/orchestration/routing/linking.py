"""How the requests of one goal hang together: what "it" stands for, what is compared with what, what is only context.

What a request waits for is the business of `planner`.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from retinue.orchestration.routing.asking import Asking, Request, says_enough
from retinue.orchestration.routing.clauses import Clause, strip_courtesy
from retinue.orchestration.routing.comparing import Comparison, comparisons_in
from retinue.orchestration.routing.reading.paths import named_in
from retinue.orchestration.routing.references import PEOPLE, antecedent, is_of_a_group, looks_back, pronoun_in

__all__ = ["compared", "pointing", "with_context"]

_NEARLY: Final = 0.9
_CLEARLY: Final = 2.0
_FAR: Final = 3.0
_WITHIN: Final = 0.75
"""Who was asked before is asked again when that fits nearly as well; "how many of them" needs less for it."""
_THAT_FILE: Final = re.compile(
    r"\b(?:that|this|the\s+same|the\s+said)\s+(?:very\s+)?(?:file|table|log|document)\b", re.IGNORECASE
)


def pointing(request: Request, before: Sequence[Request], asking: Asking) -> Request:
    """`request` with what its "it" or "them" stands for, routed with that as far as its own words say too little.

    Who was asked before is asked again when that fits about as well.
    """
    pronoun = pronoun_in(request.instruction)
    that_file = _THAT_FILE.search(request.instruction) is not None
    if not before or (pronoun is None and not that_file):
        return request
    if that_file or (pronoun not in PEOPLE and looks_back(request.instruction) is None):
        request = _with_antecedent(request, before, asking)
    last = before[-1]
    if request.routing.abstained or last.routing.abstained:
        return request
    best = request.routing.candidates[0]
    least = (_WITHIN if is_of_a_group(request.instruction) else _NEARLY) * best.share
    same = (one for one in request.routing.candidates if (one.agent, one.skill) == last.skill)
    near = (one for one in same if one.share >= best.share or (one.share >= least and best.score - one.score <= _FAR))
    return request.to(next(near, best))


def _with_antecedent(request: Request, before: Sequence[Request], asking: Asking) -> Request:
    spoken_of = (words for one in reversed(before) if (words := one.about or antecedent(one.instruction)))
    about = next(spoken_of, "")
    if not about or (looks_back(request.instruction) and not named_in(about, asking.around)):
        return request
    files = named_in(about, asking.around)
    again = request
    if files and (request.routing.abstained or is_of_a_group(request.instruction)):
        again = asking.request(request.clause, files=files)  # its name would only distract
    elif not files and (request.routing.abstained or not (says_enough(request) or _is_clear(request))):
        again = asking.request(replace(request.clause, text=f"{request.clause.text} ({about})"))
    return replace(request, routing=request.routing if again.routing.abstained else again.routing, about=about)


def _is_clear(request: Request) -> bool:
    """Whether the best fits far better than all others: "who did it" says little, and all that is needed."""
    best, *others = request.routing.candidates
    return all(best.score - other.score >= _CLEARLY for other in others[:1])


def compared(request: Request, asking: Asking) -> list[Request]:
    """`request` as two, the second about what the first brings, when it compares what two agents know."""
    for sides in comparisons_in(request.instruction):
        one = asking.request(Clause(sides.one, follows=request.clause.follows))
        if one.routing.abstained or not says_enough(one):
            continue
        if (other := _other_side(sides, one, asking)) is not None:
            return [one, other]
    return [request]


def _other_side(sides: Comparison, one: Request, asking: Asking) -> Request | None:
    """Who sets what `one` brings beside the other thing, or at least knows that: another agent than `one`'s."""
    alone = asking.request(Clause(sides.other))
    if not alone.routing.abstained and alone.skill[0] == one.skill[0]:
        return None
    together = asking.request(Clause(sides.of_them))
    for found, words in ((together, sides.rest), (alone, sides.other)):
        if not found.routing.abstained and found.skill[0] != one.skill[0]:
            return Request(Clause(words, follows=True), found.routing, words, whole=True)
    return None


def with_context(found: Sequence[Request], asking: Asking) -> list[Request]:
    """Sentences that only tell something, joined to the request beside them that the same skill does."""
    kept: list[Request] = []
    for request in found:
        before = kept[-1] if kept else None
        if before is None or not _is_context(before, request, asking):
            kept.append(request)
            continue
        clause = replace(before.clause, text=f"{before.clause.text} {request.clause.text}")
        routing = max(before.routing, request.routing, key=lambda routing: routing.candidates[0].share)
        kept[-1] = Request(clause, routing, strip_courtesy(clause.text))
    return kept


def _is_context(before: Request, request: Request, asking: Asking) -> bool:
    """Whether one of two neighbours only tells something that the other asks about."""
    if before.routing.abstained or request.routing.abstained or before.skill != request.skill:
        return False
    return not (asking.business.opens(request) and asking.business.opens(before))
