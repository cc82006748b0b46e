"""What is wrong between tickets: ids, parents, circles, what is missing, and a status that others belie."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from retinue.catalogue._prose import first_of
from retinue.contract.finding import Finding
from retinue.contract.lint.rules import make_finding

from .ticket import Ticket
from .ticket_tree import TicketTree, id_order
from .vocabulary import FINISHED

_MOST_NAMED: Final = 8


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
    for rule, edges, what in (
        ("ticket/parent-circle", {key: [parent] for key, parent in tree.parents.items()}, "part of each other"),
        ("ticket/dependency-circle", tree.requires, "waiting for each other"),
    ):
        for circle in circles(edges):
            ticket = tree.by_id[circle[0]]
            more = f"… ({len(circle):,} in all) → " if len(circle) > _MOST_NAMED else ""
            message = f"These are {what}: {' → '.join(circle[:_MOST_NAMED])} → {more}{circle[0]}."
            relation = "parent" if rule == "ticket/parent-circle" else "requires"
            line = next((one.line for one in ticket.targets(relation)), ticket.line)
            yield _finding(rule, ticket, line, message, "Take one of these links out.")


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
    """Statuses that other tickets belie."""
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
