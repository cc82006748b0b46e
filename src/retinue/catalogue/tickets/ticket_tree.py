"""All tickets of a workspace, and how they hang together: parents, children, what each requires."""

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from retinue.contract.finding import Finding
from retinue.contract.lint.rules import make_finding
from retinue.errors import AccessDenied, DeadlineExceeded, MissingFile, RetinueError
from retinue.tools.tree import list_files
from retinue.tools.workspace import Workspace

from .ticket import Ticket
from .ticket_markdown import read_ticket
from .vocabulary import TicketVocabulary, read_vocabulary

_SUFFIXES: Final = (".md", ".markdown")


@dataclass(frozen=True, slots=True)
class TicketTree:
    """What was read, and what follows from it."""

    vocabulary: TicketVocabulary
    tickets: tuple[Ticket, ...]  # every file that is a ticket, by path
    by_id: Mapping[str, Ticket]  # the first of each id
    same_id: Mapping[str, Sequence[str]]  # the paths of each id that several files have
    parents: Mapping[str, str]  # the id that each ticket is part of, there or not
    children: Mapping[str, Sequence[str]]  # those that are there, in the order of their numbers
    requires: Mapping[str, Sequence[str]]  # what each waits for: those that it names, and those that say they block it
    findings: tuple[Finding, ...]  # what could not be read, and what is wrong in one file alone

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
        link_findings: list[Finding] = []
        for key, ticket in by_id.items():
            parent = _stated_parent(ticket, by_path, vocabulary, link_findings) or vocabulary.parent_id(key)
            if parent is not None:
                parents[key] = parent
        children: dict[str, list[str]] = {}
        for key in sorted(parents, key=id_order):
            children.setdefault(parents[key], []).append(key)
        # What stands among its dependencies and is part of it says in which order that is done.
        requires = {
            key: [one.target for one in ticket.targets("requires") if key not in _ancestors(parents, one.target)]
            for key, ticket in by_id.items()
        }
        for key, ticket in by_id.items():
            for one in ticket.targets("blocks"):
                if one.target in requires and key not in requires[one.target]:
                    requires[one.target].append(key)
        own = [finding for ticket in every for finding in ticket.findings]
        return cls(vocabulary, every, by_id, same_id, parents, children, requires, (*findings, *own, *link_findings))

    def ancestors(self, ticket_id: str) -> list[str]:
        """What it is part of, the nearest first; in a circle each once."""
        return _ancestors(self.parents, ticket_id)

    def tickets_above(self, ticket_id: str) -> list[Ticket]:
        """Those of its ancestors that are there."""
        return [self.by_id[key] for key in self.ancestors(ticket_id) if key in self.by_id]

    def parent(self, ticket_id: str) -> Ticket | None:
        """What it is part of, if that is there."""
        return self.by_id.get(self.parents.get(ticket_id, ""))

    def parts(self, ticket_id: str) -> list[Ticket]:
        """What is part of it, in the order of their numbers."""
        return [self.by_id[key] for key in self.children.get(ticket_id, ())]

    def below(self, ticket_id: str) -> list[str]:
        """The ids of itself and of all that is part of it, in their order."""
        return [key for key in sorted(self.by_id, key=id_order) if ticket_id in (key, *self.ancestors(key))]

    def is_whole(self, ticket: Ticket) -> bool:
        """Whether all that it lists as its parts is there."""
        return all(one.target in self.by_id for one in ticket.targets("child"))


def _ancestors(parents: Mapping[str, str], ticket_id: str) -> list[str]:
    above: list[str] = []
    place = parents.get(ticket_id)
    while place is not None and place not in above and place != ticket_id:
        above.append(place)
        place = parents.get(place)
    return above


def id_order(ticket_id: str) -> tuple[tuple[int, str], ...]:
    """Sorts ids by their numbers: `TASK-0001.1.2.10` after `TASK-0001.1.2.9`."""
    parts = ticket_id.replace("-", ".").split(".")
    return tuple((int(part), "") if part.isdecimal() and len(part) < 10 else (-1, part) for part in parts)


def _stated_parent(
    ticket: Ticket, by_path: Mapping[str, str], vocabulary: TicketVocabulary, findings: list[Finding]
) -> str | None:
    """The id that the ticket names as its parent, or else links to; what is wrong with the link is a finding."""
    stated: str | None = None
    for one in ticket.targets("parent"):
        if vocabulary.kind_of(one.target):
            stated = stated or one.target
            continue
        linked = posixpath.normpath(posixpath.join(posixpath.dirname(ticket.path), one.target.partition("#")[0]))
        places = (linked, *(f"{linked}/{name}" for name in vocabulary.main_files))
        linked_id = next((by_path[place] for place in places if place in by_path), None)
        if linked_id is None and not stated:
            rule, message = "ticket/missing-parent", f"The link to its parent, `{one.target}`, leads to no ticket."
        elif linked_id and stated and linked_id != stated:
            rule = "ticket/parent-differs"
            message = f"It names {stated} as its parent, and the link leads to {linked_id}."
        else:
            stated = stated or linked_id
            continue
        fix = "Mend the link, or name the right parent."
        findings.append(make_finding(rule, "", message, fix, file=ticket.path, line=one.line, column=1))
    return stated


def read_tickets(
    workspace: Workspace, vocabulary: TicketVocabulary | None = None, *, check: Callable[[], None] = lambda: None
) -> TicketTree:
    """Every ticket of a workspace. What cannot be read is a finding, and keeps nothing else from being read.

    When `check` raises `DeadlineExceeded`, the files that are left are a finding too.

    Raises:
        MissingFile: There is no ticket.
        InvalidDefinition: Its vocabulary cannot be used.
    """
    words = vocabulary or read_vocabulary(workspace)
    paths, skipped = _files_in_folders(workspace, words.folders)
    if not paths:
        names = [entry.path for entry in list_files(workspace).files if entry.path.casefold().endswith(_SUFFIXES)]
        paths = [path for path in names if words.name_start.match(words.place_name(path))]
    findings = [
        make_finding("ticket/unread", "", f"It was left out: {reason}.", "Make it a file that can be read.", file=path)
        for path, reason in skipped
    ]
    tickets: list[Ticket] = []
    for at, path in enumerate(paths):
        try:
            check()
            ticket = read_ticket(path, workspace.read_bytes(path), words)
        except DeadlineExceeded:
            message = f"Time was up before this file and {len(paths) - at - 1:,} others were read."
            findings.append(make_finding("ticket/unread", "", message, "Allow more time.", file=path, line=1, column=1))
            break
        except RetinueError as error:
            findings.append(make_finding("ticket/unread", "", error.message, error.hint, file=path, line=1, column=1))
            continue
        if ticket.ticket_id or any(finding.rule == "ticket/bad-id" for finding in ticket.findings):
            tickets.append(ticket)
        else:
            message = "It has no ticket id, and is not taken for a ticket."
            fix = "Begin its title with an id if it is one."
            findings.append(make_finding("ticket/other-file", "", message, fix, file=path, line=1, column=1))
    if not tickets and not any(finding.rule == "ticket/unread" for finding in findings):
        folders = ", ".join(f"`{folder}`" for folder in words.folders)
        message = f"There is no ticket in {folders}, nor a file elsewhere that is named by a ticket id."
        raise MissingFile(message, hint="`retinue tickets init` makes a tree to begin with.")
    return TicketTree.of(tickets, words, findings)


def _files_in_folders(workspace: Workspace, folders: Iterable[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """The Markdown files in `folders`, and what was left out there with its reason.

    git is not asked: tickets may lie in a submodule, or in a folder that it ignores.
    """
    paths: dict[str, None] = {}
    skipped: dict[str, str] = {}
    for folder in folders:
        try:
            place = workspace.resolve(folder)
        except MissingFile:
            continue
        except AccessDenied as error:
            skipped[folder] = error.message
            continue
        if not place.is_dir():
            continue
        listing = list_files(Workspace(place), with_ignored=True)
        prefix = "" if place == workspace.root else f"{place.relative_to(workspace.root).as_posix()}/"
        every = (f"{prefix}{entry.path}" for entry in listing.files)
        paths |= dict.fromkeys(
            path for path in every if path.casefold().endswith(_SUFFIXES) and workspace.covers(tuple(path.split("/")))
        )
        others = (one for one in listing.skipped if one.path.casefold().endswith(_SUFFIXES))
        skipped |= {f"{prefix}{one.path}": one.reason for one in others}
    return sorted(paths), sorted(skipped.items())
