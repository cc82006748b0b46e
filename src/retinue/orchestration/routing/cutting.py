"""A goal cut into requests, where that takes knowing what the agents here do.

`clauses` knows where English may be cut, `speech` what kind of saying a clause is, `asking` whose business it is; here
the three meet. What the requests become is the business of `planner`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from retinue.contract.definition import Definition
from retinue.contract.plan import Dropped
from retinue.contract.sanitize import printable
from retinue.orchestration.routing.asking import QUESTION_WORDS, Asking, Business, Request, says_enough, telling_words
from retinue.orchestration.routing.clauses import Clause, joined, pieces, sentences
from retinue.orchestration.routing.linking import compared, pointing, with_context
from retinue.orchestration.routing.reading import NOWHERE, Surroundings
from retinue.orchestration.routing.reading.said import vocabulary
from retinue.orchestration.routing.references import pronoun_in
from retinue.orchestration.routing.router import Router
from retinue.orchestration.routing.speech import change_asked, is_imperative, kind_of

__all__ = ["Cut", "Cutter"]

_MOST_CLAUSES: Final = 50
_NEAREST: Final = 3
_WEAKER_HALF: Final = 0.7
_LONG_ENOUGH: Final = 6
_DETERMINERS: Final = vocabulary("the my our this that")
_LEADS_ON: Final = vocabulary(
    "know tell me us show explain see out about of understand wonder wondering check say says describe on for with and "
    "or that in by from determine learn clear sure ask asks asking question remember"
)
"""After these a question word begins no new sentence: "find out how …"."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A goal in pieces: what is asked of somebody here, and what is not, with the reason."""

    requests: tuple[Request, ...]
    dropped: tuple[Dropped, ...]


class Cutter:
    """Cuts goals for the agents of one registry."""

    def __init__(self, definitions: Iterable[Definition], router: Router) -> None:
        self._business = Business(definitions, router)

    def cut(self, goal: str, *, around: Surroundings = NOWHERE) -> Cut:
        """The requests in `goal`, in its order, and what of it is nobody's business here."""
        asking = Asking(self._business, around)
        clauses, refused = _sorted_out(clause for sentence in sentences(goal) for clause in _pieces(sentence, asking))
        requests = with_context([asking.request(clause) for clause in clauses[:_MOST_CLAUSES]], asking)
        if requests and all(one.routing.abstained for one in requests) and not any(map(_orders_a_change, requests)):
            whole = asking.request(Clause(" ".join(goal.split())))
            requests = requests if whole.routing.abstained else [whole]  # too weak alone, together they are not
        found: list[Request] = []
        for request in requests:
            found += compared(pointing(request, found, asking), asking)
        nobodys = [_dropped(one) for one in found if one.routing.abstained]
        asked = tuple(one for one in found if not one.routing.abstained)
        return Cut(asked, (*nobodys, *refused, *_beyond(clauses)))


def _sorted_out(clauses: Iterable[Clause]) -> tuple[list[Clause], list[Dropped]]:
    """What is asked, each with the limits set to it, and what is refused."""
    found: list[Clause] = []
    refused: list[Dropped] = []
    limit: Clause | None = None
    for clause in clauses:
        kind = kind_of(clause.text)
        if kind == "refusal":
            refused.append(Dropped(clause=clause.text, reason="You said not to.", wanted=False))
        elif kind == "limit" and found:
            found[-1] = _glued(found[-1], clause)
        elif kind == "limit":
            limit = clause if limit is None else _glued(limit, clause)
        elif kind == "request":
            found.append(clause if limit is None else _glued(limit, clause))
            limit = None
    return [*found, *([] if limit is None else [limit])], refused  # what limits nothing is what is asked


def _pieces(sentence: Clause, asking: Asking) -> list[Clause]:
    """`sentence` cut where both sides are requests on their own."""
    parts = _led_on(pieces(sentence), sentence)
    if len(parts) > _MOST_CLAUSES * 2:
        return [sentence]
    found: list[Clause] = []
    begun = parts[0] if parts else sentence
    for part in parts[1:]:
        if _are_two(begun, part, sentence, asking):
            found.append(begun)
            begun = part
        else:
            begun = joined(sentence, begun, part)
    return [*found, begun]


def _led_on(parts: Sequence[Clause], sentence: Clause) -> list[Clause]:
    """`parts` with a lone verb, or words that tell nothing, put before the question they lead to: "tell me | who"."""
    found: list[Clause] = []
    for part in parts:
        before = found[-1] if found else None
        is_lone = before is not None and before.start > 0 and (" " not in before.text or not telling_words(before.text))
        if before is not None and is_lone and sentence.text[before.end : part.start].isspace():
            found[-1] = joined(sentence, before, part)
        else:
            found.append(part)
    return found


def _are_two(begun: Clause, part: Clause, sentence: Clause, asking: Asking) -> bool:
    """Whether two neighbouring pieces are two sayings and not one with an "and" in it."""
    before, after = kind_of(begun.text), kind_of(part.text)
    if sentence.text[begun.end : part.start].isspace():
        left, right = asking.request(begun), asking.request(part)
        return before == after == "request" and _runs_on(left, right)
    if "nothing" in {before, after}:
        return True
    if after != "request" or before == "limit":
        return after == "refusal"
    if before == "refusal":
        return asking.business.opens(asking.request(part))
    left, right = asking.request(begun), asking.request(part)
    return _are_two_requests(left, right, joined(sentence, begun, part), asking)


def _are_two_requests(left: Request, right: Request, whole: Clause, asking: Asking) -> bool:
    """Whether they are two requests.

    Either must be somebody's business by itself. Then the second begins like a request; or, since "the weather in A
    and news from B" has no second verb, they are for different skills, one of them fits better than both together
    do, and the other not much worse.
    """
    opens = asking.business.opens(right) or _is_parallel(left.clause.text, right.clause.text)
    if left.routing.abstained or right.routing.abstained:
        # What nobody does is a request too, when it says enough to be one: else nobody would hear of it.
        opens = opens or _orders_something(left, right)
        enough = says_enough(left, right) or _orders_a_change(right) or _orders_a_change(left)
        return opens and enough and left.routing.abstained != right.routing.abstained
    if opens:
        # "find and show me" is one request; so are "the parser, who wrote it" and "what changed and why".
        names_only = left.clause.text.split()[0].lower() in _DETERMINERS and pronoun_in(right.instruction) is not None
        says_nothing = not telling_words(right.instruction) and len(right.instruction.split()) < 3
        return " " in left.clause.text and not names_only and not says_nothing
    if left.skill == right.skill or " " not in right.clause.text:
        return False
    if not says_enough(left) and not asking.business.opens(left):
        return False  # "the connections and the sessions, …"
    first, second = left.routing.candidates[0], right.routing.candidates[0]
    together = asking.request(whole).routing.candidates[0].share
    strong, weak = max(first.share, second.share), min(first.share, second.share)
    return strong >= together and weak >= _WEAKER_HALF * together


def _is_parallel(left: str, right: str) -> bool:
    """Whether the right begins with two words of the left: "number of orders, number of commits"."""
    begun = " ".join(right.lower().split()[:2])
    return len(begun) > _LONG_ENOUGH and f" {begun} " in f" {left.lower()} "


def _runs_on(left: Request, right: Request) -> bool:
    """Whether a new sentence begins without a mark: "is the tree clean how many commits are there"."""
    if left.routing.abstained or right.routing.abstained or not says_enough(left, right):
        return False
    return left.skill != right.skill and left.clause.text.lower().rsplit(maxsplit=1)[-1] not in _LEADS_ON


def _orders_a_change(request: Request) -> bool:
    return change_asked(request.instruction) is not None


def _orders_something(left: Request, right: Request) -> bool:
    """Whether the right is an order in words nobody here uses; "how does it read and write the file" has none."""
    words = right.instruction.lower().split(maxsplit=2)
    if not is_imperative(right.instruction):
        return False
    asks = left.instruction.lower().split(maxsplit=1)[0] in QUESTION_WORDS
    return words[1] in {"me", "us"} or not (asks or " to " in left.clause.text[-24:])


def _glued(before: Clause, after: Clause) -> Clause:
    mark = "" if before.text[-1:] in ".,;:!?" else ","
    return replace(before, text=f"{before.text}{mark} {after.text}")


def _dropped(request: Request) -> Dropped:
    nearest = request.routing.candidates[:_NEAREST]
    return Dropped(clause=request.clause.text, reason=request.routing.reason, nearest=nearest)


def _beyond(clauses: Sequence[Clause]) -> list[Dropped]:
    reason = f"Only the first {_MOST_CLAUSES} requests of a goal are planned."
    return [Dropped(clause=printable(clause.text)[:500], reason=reason) for clause in clauses[_MOST_CLAUSES:]]
