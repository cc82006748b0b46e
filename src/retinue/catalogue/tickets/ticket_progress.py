"""How far tickets have come: what they state, and what those that they are made of add up to."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from .ticket import Ticket
from .ticket_tree import TicketTree
from .vocabulary import TicketStatus, TicketVocabulary

_FRACTION: Final = re.compile(
    r"(?<![0-9./])(?P<done>[0-9]{1,6})(?P<mid>\s{0,3}/\s{0,3})(?P<total>[0-9]{1,6})(?![0-9./])"
    r"(?=\s{0,3}(?:(?P<points>(?:story\s)?point)|(?P<other>(?!task|stor|epic)[^\W\d_]))?)",
    re.IGNORECASE,
)


class ActualProgress(NamedTuple):
    """How far a ticket has come by those that it is made of: `done` of `total`; cancelled ones do not count."""

    done: int
    total: int
    points: tuple[float, float] | None  # those that are done, and all; None when they are not known
    has_own_points: bool  # they are not those of what it is made of
    own_share: float | None  # what its own status says when it is made of nothing: 0 or 100 percent

    @property
    def shares(self) -> list[float]:
        """What may rightly be stated, in percent: by points, and by number."""
        points = None if self.has_own_points else self.points
        parts = [part for part in (points, (self.done, self.total)) if self.total and part and part[1]]
        return [100 * part[0] / part[1] for part in parts] or ([] if self.own_share is None else [self.own_share])


def actual_progress(
    tree: TicketTree, statuses: Mapping[str, TicketStatus | None] | None = None
) -> Mapping[str, ActualProgress]:
    """The progress of every ticket that is in no circle of parents, those below counted first.

    `statuses` are what each ticket is taken to be; by default what it says.
    """
    status = statuses or {key: ticket.status for key, ticket in tree.by_id.items()}
    children = {key: [one for one in tree.children.get(key, ()) if one in tree.by_id] for key in tree.by_id}
    waiting = {key: len(below) for key, below in children.items()}
    ready = [key for key, count in waiting.items() if not count]
    progress: dict[str, ActualProgress] = {}
    for key in ready:  # grows while it is read
        below = [one for one in children[key] if status[one] != "cancelled"]
        parts = [(status[one], part) for one in below if (part := progress[one].points)]
        is_sum = bool(parts) and len(parts) == len(below)
        is_whole = is_sum and tree.is_whole(tree.by_id[key])
        own = points_of(tree.by_id[key])
        if own is None and not is_whole:
            fractions = stated_fractions(tree.by_id[key], tree.vocabulary)
            own = max((float(match["total"]) for match, unit in fractions if unit == "points"), default=None)
        points = None if own is None else (own if status[key] == "done" else 0.0, own)
        if is_sum:
            done = sum(part[1] if said == "done" else part[0] for said, part in parts)
            total = sum(part[1] for _, part in parts)
            points = done, total if is_whole else max(total, own or 0)  # it counts what is not written yet too
        count = sum(status[one] == "done" for one in below)
        own_share = {"done": 100.0, "todo": 0.0}.get(status[key] or "")
        progress[key] = ActualProgress(count, len(below), points, not is_sum, own_share)
        parent = tree.parents.get(key, "")
        if parent in waiting:
            waiting[parent] -= 1
            ready += [] if waiting[parent] else [parent]
    return progress


def stated_fractions(ticket: Ticket, vocabulary: TicketVocabulary) -> list[tuple[re.Match[str], str]]:
    """The fractions that it states of its progress, each with what it is of: `count`, `points`, or nothing known.

    None where the text tells of several tickets what is done.
    """
    text = ticket.fields["progress"].value if "progress" in ticket.fields else ""
    if vocabulary.reference.search(text):
        return []
    return [(one, "points" if one["points"] else "" if one["other"] else "count") for one in _FRACTION.finditer(text)]


def points_of(ticket: Ticket) -> float | None:
    """Its story points, be they stated as points or as an estimate in points."""
    points, estimate = ticket.number("points"), ticket.fields.get("estimate")
    return ticket.number("estimate") if points is None and estimate and "point" in estimate.value else points


def hours_of(ticket: Ticket) -> float | None:
    """Its estimate in hours."""
    estimate = ticket.fields.get("estimate")
    return ticket.number("estimate") if estimate and "point" not in estimate.value else None


def stated_percent(ticket: Ticket) -> int | None:
    """The progress that a ticket states: as a number, as parts of a whole, or only as a bar."""
    progress = ticket.progress
    if progress is None or progress.percent is not None:
        return progress and progress.percent
    if progress.parts and progress.parts[1]:
        return round(100 * progress.parts[0] / progress.parts[1])
    return round(100 * progress.full / len(progress.bar)) if progress.bar else None
