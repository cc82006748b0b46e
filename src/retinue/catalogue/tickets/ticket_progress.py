"""How far tickets have come: what they state, and what those that they are made of add up to."""

from collections.abc import Mapping
from dataclasses import dataclass

from .ticket import Ticket
from .ticket_tree import TicketTree


@dataclass(frozen=True, slots=True)
class ActualProgress:
    """How far a ticket has come by those that it is made of; cancelled ones do not count.

    Attributes:
        done: How many of these are done, of `total`.
        points: Those that are done, and all: of what it is made of, or else its own; None when they are not known.
        has_own_points: They are its own.
        own_share: What its own status says when it is made of nothing: 0 or 100 percent.
    """

    done: int
    total: int
    points: tuple[float, float] | None
    has_own_points: bool
    own_share: float | None

    @property
    def shares(self) -> list[float]:
        """What may rightly be stated, in percent: by points, and by number."""
        points = None if self.has_own_points else self.points
        parts = [part for part in (points, (self.done, self.total)) if self.total and part and part[1]]
        return [100 * part[0] / part[1] for part in parts] or ([] if self.own_share is None else [self.own_share])


def actual_progress(tree: TicketTree) -> Mapping[str, ActualProgress]:
    """The progress of every ticket that is in no circle of parents, those below counted first."""
    children = {key: [one for one in tree.children.get(key, ()) if one in tree.by_id] for key in tree.by_id}
    waiting = {key: len(below) for key, below in children.items()}
    ready = [key for key, count in waiting.items() if not count]
    progress: dict[str, ActualProgress] = {}
    for key in ready:  # grows while it is read
        ticket, own = tree.by_id[key], points_of(tree.by_id[key])
        below = [one for one in children[key] if tree.by_id[one].status != "cancelled"]
        parts = [part for one in below if (part := progress[one].points)]
        points = None if own is None else (own if ticket.status == "done" else 0.0, own)
        is_sum = bool(parts) and len(parts) == len(below)
        if is_sum:
            points = sum(part[0] for part in parts), sum(part[1] for part in parts)
        count = sum(tree.by_id[one].status == "done" for one in below)
        own_share = {"done": 100.0, "todo": 0.0}.get(ticket.status or "")
        progress[key] = ActualProgress(count, len(below), points, not is_sum, own_share)
        parent = tree.parents.get(key, "")
        if parent in waiting:
            waiting[parent] -= 1
            ready += [] if waiting[parent] else [parent]
    return progress


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
