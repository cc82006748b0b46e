"""All tickets of a workspace, and how they hang together: parents, children, what each requires."""

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from retinue.contract.finding import Finding
from retinue.contract.lint.rules import make_finding
from retinue.errors import MissingFile, RetinueError
from retinue.tools.tree import list_files
from retinue.tools.workspace import Workspace

from .ticket import Ticket
from .ticket_markdown import read_ticket
from .vocabulary import TicketVocabulary, read_vocabulary

_SUFFIXES: Final = (".md", ".markdown")


@dataclass(frozen=True, slots=True)
class TicketTree:
    """What was read, and what follows from it.

    Attributes:
        tickets: Every file that is a ticket, by path.
        by_id: The first of each id.
        same_id: The paths of each id that several files have.
        parents: The id that each ticket is part of, there or not.
        children: Those that are there, in the order of their numbers.
        requires: The ids that each ticket must wait for: those that it names, and those that say they block it.
        findings: What could not be read, and what is wrong in one file alone.
    """

    vocabulary: TicketVocabulary
    tickets: tuple[Ticket, ...]
    by_id: Mapping[str, Ticket]
    same_id: Mapping[str, Sequence[str]]
    parents: Mapping[str, str]
    children: Mapping[str, Sequence[str]]
    requires: Mapping[str, Sequence[str]]
    findings: tuple[Finding, ...]

    @classmethod
    def of(
        cls, tickets: Iterable[Ticket], vocabulary: TicketVocabulary, findings: Iterable[Finding] = ()
    ) -> "TicketTree":
        """Link `tickets`."""
        every = tuple(sorted(tickets, key=lambda ticket: ticket.path))
        by_id: dict[str, Ticket] = {}
        by_path = {ticket.path: ticket.ticket_id for ticket in every if ticket.ticket_id}
        paths: dict[str, list[str]] = {}
        for ticket in every:
            if ticket.ticket_id:
                by_id.setdefault(ticket.ticket_id, ticket)
                paths.setdefault(ticket.ticket_id, []).append(ticket.path)
        same_id = {key: several for key, several in paths.items() if len(several) > 1}
        parents: dict[str, str] = {}
        broken: list[Finding] = []
        for key, ticket in by_id.items():
            parent = _stated_parent(ticket, by_path, broken) or vocabulary.parent_id(key)
            if parent is not None:
                parents[key] = parent
        children: dict[str, list[str]] = {}
        for key in sorted(parents, key=id_order):
            children.setdefault(parents[key], []).append(key)
        requires = {key: [one.target for one in ticket.targets("requires")] for key, ticket in by_id.items()}
        for key, ticket in by_id.items():
            for one in ticket.targets("blocks"):
                if one.target in requires and key not in requires[one.target]:
                    requires[one.target].append(key)
        own = [finding for ticket in every for finding in ticket.findings]
        return cls(vocabulary, every, by_id, same_id, parents, children, requires, (*findings, *own, *broken))

    def ancestors(self, ticket_id: str) -> list[str]:
        """What it is part of, the nearest first; in a circle each once."""
        above: list[str] = []
        place = self.parents.get(ticket_id)
        while place is not None and place not in above and place != ticket_id:
            above.append(place)
            place = self.parents.get(place)
        return above


def id_order(ticket_id: str) -> tuple[tuple[int, str], ...]:
    """Sorts ids by their numbers: `TASK-0001.1.2.10` after `TASK-0001.1.2.9`."""
    parts = ticket_id.replace("-", ".").split(".")
    return tuple((int(part), "") if part.isdecimal() and len(part) < 10 else (-1, part) for part in parts)


def _stated_parent(ticket: Ticket, by_path: Mapping[str, str], findings: list[Finding]) -> str | None:
    """The id that the ticket names as its parent, or else links to; what is wrong with the link is a finding."""
    stated: str | None = None
    for one in ticket.targets("parent"):
        if "/" not in one.target and not one.target.endswith(_SUFFIXES):
            stated = stated or one.target
            continue
        linked = posixpath.normpath(posixpath.join(posixpath.dirname(ticket.path), one.target.partition("#")[0]))
        linked_id = by_path.get(linked)
        if linked_id is None and not stated:
            rule, message = "ticket/missing-parent", f"The link to its parent, `{one.target}`, leads to no ticket."
        elif linked_id and stated and linked_id != stated:
            rule, message = (
                "ticket/parent-differs",
                f"It names {stated} as its parent, and the link leads to {linked_id}.",
            )
        else:
            stated = stated or linked_id
            continue
        fix = "Mend the link, or name the right parent."
        findings.append(make_finding(rule, "", message, fix, file=ticket.path, line=one.line, column=1))
    return stated


def read_tickets(
    workspace: Workspace,
    vocabulary: TicketVocabulary | None = None,
    *,
    on_progress: Callable[[int, int], None] | None = None,
) -> TicketTree:
    """Every ticket of a workspace. What cannot be read is a finding, and keeps nothing else from being read.

    Args:
        workspace: Whose.
        vocabulary: Its words; by default its own, else those that come with Retinue.
        on_progress: Told how many files of how many are read.

    Raises:
        MissingFile: There is no ticket.
        InvalidDefinition: Its vocabulary cannot be used.
    """
    words = vocabulary or read_vocabulary(workspace)
    listing = list_files(workspace)
    names = [entry.path for entry in listing.files if entry.path.casefold().endswith(_SUFFIXES)]
    inside = [path for path in names if _is_inside(path, words.folders)]
    paths = inside or [path for path in names if words.name_start.match(words.place_name(path))]
    findings = [
        make_finding(
            "ticket/unread", "", f"It was left out: {one.reason}.", "Make it a file that can be read.", file=one.path
        )
        for one in listing.skipped
        if _is_inside(one.path, words.folders) and (one.path.casefold().endswith(_SUFFIXES) or "." not in one.path)
    ]
    tickets: list[Ticket] = []
    for at, path in enumerate(paths):
        if on_progress is not None:
            on_progress(at, len(paths))
        try:
            ticket = read_ticket(path, workspace.read_bytes(path), words)
        except RetinueError as error:
            findings.append(make_finding("ticket/unread", "", error.message, error.hint, file=path, line=1, column=1))
            continue
        if ticket.ticket_id or any(finding.rule == "ticket/bad-id" for finding in ticket.findings):
            tickets.append(ticket)
        else:
            message, fix = (
                "It has no ticket id, and is not taken for a ticket.",
                "Begin its title with an id if it is one.",
            )
            findings.append(make_finding("ticket/other-file", "", message, fix, file=path, line=1, column=1))
    if not tickets and not any(finding.rule == "ticket/unread" for finding in findings):
        folders = ", ".join(f"`{folder}`" for folder in words.folders)
        message = f"There is no ticket in {folders}, nor a file elsewhere that is named by a ticket id."
        raise MissingFile(message, hint="`retinue tickets init` makes a tree to begin with.")
    return TicketTree.of(tickets, words, findings)


def _is_inside(path: str, folders: Iterable[str]) -> bool:
    return any(path.startswith(f"{folder.strip('/')}/") for folder in folders)
