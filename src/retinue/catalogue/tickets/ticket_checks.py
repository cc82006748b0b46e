"""What is wrong between tickets (ids, parents, circles, statuses that others belie), and which task can be started now.

Only what tickets say counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from retinue.catalogue._prose import first_of
from retinue.contract.finding import Finding
from retinue.contract.lint.rules import make_finding
from retinue.contract.model import JsonMapping

from .ticket import Ticket
from .ticket_tree import TicketTree, id_order
from .vocabulary import FINISHED, TicketStatus

_MOST_NAMED: Final = 8
BlockerKind: TypeAlias = Literal["status", "prerequisite", "missing_dependency", "ancestor", "circle", "same_id"]


def check_tickets(tree: TicketTree) -> tuple[Finding, ...]:
    """Everything that is wrong, by file and line."""
    findings = [*tree.findings, *_links(tree), *_circles(tree), *_statuses(tree)]
    for ticket in tree.tickets:
        others = [f"`{path}`" for path in tree.same_id.get(ticket.ticket_id, ()) if path != ticket.path]
        if others:
            message = f"{ticket.ticket_id} is also the id of {first_of(others, _MOST_NAMED)}."
            fix = "Give one of them another id: what names this id means the first."
            findings.append(_finding("ticket/same-id", ticket, ticket.line, message, fix))
    return tuple(sorted(findings, key=lambda one: (one.file or "", one.line or 0, one.rule, one.message)))


def _finding(rule: str, ticket: Ticket, line: int, message: str, fix: str) -> Finding:
    return make_finding(rule, "", message, fix, file=ticket.path, line=line, column=1)


def _links(tree: TicketTree) -> Iterator[Finding]:
    """Parents, children and requirements that are not there, or not what they should be."""
    words = tree.vocabulary
    for key, ticket in tree.by_id.items():
        stated = ticket.targets("parent")
        line = stated[0].line if stated else ticket.line
        parent = tree.parents.get(key)
        expected = words.parents.get(ticket.kind)
        if parent is None and expected:
            message, fix = f"It does not say what {expected} it is part of.", f"`**Parent**: {words.ids[expected]}`"
            yield _finding("ticket/missing-parent", ticket, line, message, f"Name it: {fix}.")
        elif parent is not None and parent != key and parent not in tree.by_id:
            message = f"{parent}, which it is part of, has no file."
            yield _finding("ticket/missing-parent", ticket, line, message, f"Create {parent}, or name another parent.")
        elif parent is not None and parent != key and expected and words.kind_of(parent) not in {expected, None}:
            message = f"It is part of {parent}, which is no {expected}."
            yield _finding("ticket/wrong-parent", ticket, line, message, f"Name its {expected}.")
        by_number = words.parent_id(key)
        if stated and parent and by_number and parent != by_number and words.kind_of(parent) == expected:
            message = f"It says that it is part of {parent}; by its number it is part of {by_number}."
            yield _finding("ticket/parent-differs", ticket, line, message, "Change the number, or the parent.")
        missing = [one for one in ticket.targets("child") if one.target not in tree.by_id]
        if missing:
            message = f"It lists tickets that have no file: {first_of((one.target for one in missing), _MOST_NAMED)}."
            fix = "Create the files, or unlist them."
            yield _finding("ticket/missing-child", ticket, missing[0].line, message, fix)
        for relation in ("requires", "blocks"):
            for one in ticket.targets(relation):
                if one.target not in tree.by_id and words.kind_of(one.target):
                    message = f"{one.target}, which it {relation}, has no file."
                    fix = "Create it, or name another."
                    yield _finding("ticket/missing-dependency", ticket, one.line, message, fix)


def _circles(tree: TicketTree) -> Iterator[Finding]:
    parents: Mapping[str, Sequence[str]] = {key: [parent] for key, parent in tree.parents.items()}
    rules = ("parent", parents, "part of each other"), ("dependency", tree.requires, "waiting for each other")
    for name, edges, what in rules:
        for circle in circles(edges):
            ticket = tree.by_id[circle[0]]
            more = f"… ({len(circle):,} in all) → " if len(circle) > _MOST_NAMED else ""
            message = f"These are {what}: {' → '.join(circle[:_MOST_NAMED])} → {more}{circle[0]}."
            line = next((one.line for one in ticket.targets("parent" if edges is parents else "requires")), ticket.line)
            yield _finding(f"ticket/{name}-circle", ticket, line, message, "Take one of these links out.")


def circles(edges: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """A circle for each place where a way through `edges` comes back to itself, from its smallest name on."""
    cycles: dict[tuple[str, ...], None] = {}
    finished: set[str] = set()
    for start in edges:
        way: dict[str, Iterator[str]] = {} if start in finished else {start: iter(edges[start])}
        while way:  # a stack of its own: a chain may be longer than Python's
            place = next(reversed(way))
            target = next(way[place], None)
            if target is None:
                finished.add(place)
                del way[place]
            elif target in way:
                names = list(way)
                circle = names[names.index(target) :]
                first = circle.index(min(circle, key=id_order))
                cycles[(*circle[first:], *circle[:first])] = None
            elif target not in finished and target in edges:
                way[target] = iter(edges[target])
    return list(cycles)


def _statuses(tree: TicketTree) -> Iterator[Finding]:
    for key, ticket in tree.by_id.items():
        for one in ticket.targets("child"):
            child = None if one.target in tree.same_id else tree.by_id.get(one.target)
            if child and one.status and child.status and one.status != child.status:
                message = f"It lists {one.target} as `{one.status}`, which says of itself `{child.status}`."
                yield _finding("ticket/child-status", ticket, one.line, message, "Make both say what is true.")
        others = (*tree.children.get(key, ()), *tree.requires.get(key, ())) if ticket.status == "done" else ()
        unfinished = [
            each for each in dict.fromkeys(others) if each in tree.by_id and tree.by_id[each].status not in FINISHED
        ]
        if unfinished:
            line = ticket.fields["status"].line
            names = first_of(unfinished, _MOST_NAMED)
            message = f"It is done, and these, which it is made of or waits for, are not: {names}."
            yield _finding("ticket/done-too-early", ticket, line, message, "Finish or cancel these, or reopen it.")


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
        facts["blockers"] = [
            {"type": one.kind, "ticket": one.ticket_id, "message": one.message}
            | ({"status": one.status} if one.status else {})
            for one in self.blockers
        ]
        return facts


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
