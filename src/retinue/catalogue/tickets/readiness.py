"""Which task can be started now, and what keeps the others from it. Only what tickets say counts."""

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from retinue.contract.model import JsonMapping

from .ticket import Ticket
from .ticket_checks import circles
from .ticket_tree import TicketTree, id_order
from .vocabulary import FINISHED, TicketStatus

BlockerKind: TypeAlias = Literal["status", "prerequisite", "missing_dependency", "ancestor", "circle", "same_id"]


class Blocker(NamedTuple):
    """One reason why a task cannot be started, and the ticket that has to change, with what that says of itself."""

    kind: BlockerKind
    ticket_id: str
    message: str
    status: TicketStatus | None = None


class TaskReadiness(NamedTuple):
    """A task that is not finished; it is ready when it is not begun and nothing blocks it."""

    ticket: Ticket
    blockers: tuple[Blocker, ...]

    @property
    def is_begun(self) -> bool:
        """Whether somebody works on it."""
        return self.ticket.status == "in_progress"

    @property
    def is_ready(self) -> bool:
        """Whether it can be started now."""
        return not self.blockers and not self.is_begun

    def to_json(self) -> JsonMapping:
        """As data; what is not known is left out."""
        ticket, estimate = self.ticket, self.ticket.number("estimate")
        facts: JsonMapping = {"id": ticket.ticket_id, "title": ticket.title, "path": ticket.path}
        facts |= {"status": ticket.status} if ticket.status else {}
        facts |= {"estimated_hours": estimate} if estimate is not None else {}
        states: list[JsonMapping] = [{"status": one.status} if one.status else {} for one in self.blockers]
        named = zip(self.blockers, states, strict=True)
        blockers = [
            {"type": one.kind, "ticket": one.ticket_id, "message": one.message, **state} for one, state in named
        ]
        return facts | {"blockers": blockers}


def task_readiness(tree: TicketTree, *, below: str | None = None) -> list[TaskReadiness]:
    """Every ticket of a kind without children that is neither done nor cancelled, in the order of their ids.

    Of `below`, only it and those that are part of it.
    """
    in_circle = {key for circle in circles(tree.requires) for key in circle}
    waiting: list[TaskReadiness] = []
    for key in tree.below(below) if below else sorted(tree.by_id, key=id_order):
        ticket = tree.by_id[key]
        if ticket.kind in tree.vocabulary.leaf_kinds and ticket.status not in FINISHED:
            blockers = list(_blockers(tree, key))
            if key in in_circle:
                blockers.append(Blocker("circle", key, "It waits for itself, by way of what it requires."))
            if key in tree.same_id:
                blockers.append(Blocker("same_id", key, "Another file has the same id."))
            waiting.append(TaskReadiness(ticket, tuple(blockers)))
    return waiting


def _blockers(tree: TicketTree, key: str) -> Iterator[Blocker]:
    ticket, ancestors = tree.by_id[key], tree.ancestors(key)
    examined = {key, *ancestors}
    if ticket.status is None:
        yield Blocker("status", key, "It does not say its status.")
    elif ticket.status == "blocked":
        yield Blocker("status", key, "It says that it is blocked.", "blocked")
    for place in (key, *ancestors):
        above = tree.by_id.get(place)
        if place != key and above and above.status in {"blocked", "cancelled"}:
            message = f"{place}, which it is part of, is `{above.status}`."
            yield Blocker("ancestor", place, message, above.status)
        through = "" if place == key else f" {place}, which it is part of, requires it."
        for required in tree.requires.get(place, ()):
            other = tree.by_id.get(required)
            if required in examined:
                continue
            examined.add(required)
            if other is None:
                yield Blocker("missing_dependency", required, f"{required} has no file.{through}")
            elif other.status != "done":
                state = f"is `{other.status}`" if other.status else "does not say its status"
                yield Blocker("prerequisite", required, f"{required} {state}.{through}", other.status)
