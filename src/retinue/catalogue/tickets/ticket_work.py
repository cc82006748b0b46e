"""How an agent works on tickets: it reads them once, finds the one that is meant, and says what it could not read."""

from collections.abc import Callable
from typing import Annotated, Final, TypeVar

from pydantic import Field

from retinue.agents.port import RunContext
from retinue.catalogue._prose import code, first_of, quote
from retinue.catalogue._report import SkillReport
from retinue.catalogue._run_limits import RunDeadline, in_cancellable_thread
from retinue.contract.event import Progress
from retinue.contract.finding import Finding
from retinue.contract.names import nearest
from retinue.contract.sanitize import check_branch_name
from retinue.errors import InvalidInput, MissingFile

from .ticket import Ticket
from .ticket_checks import check_tickets
from .ticket_tree import TicketTree, id_order, read_tickets

_INCOMPLETE: Final = frozenset({
    "ticket/unread", "ticket/too-long", "ticket/front-matter", "ticket/scenarios-unread", "ticket/encoding",
    "ticket/same-id", "ticket/bad-id", "ticket/parent-circle", "ticket/dependency-circle",
})  # fmt: skip
"""What keeps tickets from being judged whole."""
_MOST_WARNINGS: Final = 5
T = TypeVar("T")

TicketTarget = Annotated[
    str,
    Field(
        min_length=1,
        max_length=400,
        pattern=r"[0-9/\\]",  # so that no other word of a goal is taken for it
        description="The ticket: its id such as STORY-0001.2.3, its file or folder, or a branch that is named by it.",
    ),
]


async def run_on_tickets(
    run: RunContext,
    skill: str,
    work: Callable[[TicketTree, SkillReport, RunDeadline], T],
    *,
    subject: Callable[[T], Ticket] | None = None,
    with_relatives: bool = False,
) -> tuple[SkillReport, T]:
    """Read all tickets of the workspace and do `work` on them, in a thread; warn of what could not be read.

    Gives the report, and what came of the work.

    Args:
        run: Whose workspace.
        skill: For which skill.
        work: May fill the report.
        subject: The ticket that the answer is of, and so are the warnings; by default they are of all.
        with_relatives: The answer is also of what is above and below that ticket.

    Raises:
        MissingFile: There is no ticket.
        InvalidDefinition: The project's vocabulary or rubric cannot be used.
    """
    deadline, report = RunDeadline(run), SkillReport()

    def do_work() -> T:
        tree = read_tickets(run.workspace, check=deadline.check)
        result = work(tree, report, deadline)
        _warn_of_findings(tree, report, subject and subject(result), with_relatives=with_relatives)
        return result

    run.emit(Progress("reading tickets", skill))
    return report, await in_cancellable_thread(deadline, do_work)


def _warn_of_findings(tree: TicketTree, report: SkillReport, only: Ticket | None, *, with_relatives: bool) -> None:
    """Warn of what keeps tickets from being judged whole. The rest of the findings are for `retinue tickets check`."""
    words, ids = tree.vocabulary, {ticket.path: ticket.ticket_id for ticket in tree.tickets}
    wide = only.ticket_id if only is not None and with_relatives else ""
    above, below = tree.ancestors(wide), set[str | None](tree.below(wide))
    serious: list[Finding] = []
    others: list[str] = []
    for finding in check_tickets(tree):
        match = words.name_start.match(words.place_name(finding.file or ""))
        key = ids.get(finding.file or "") or (match[0] if match else "")
        if finding.rule not in _INCOMPLETE:
            continue
        if not key and finding.rule != "ticket/bad-id" and only is None:
            others.append(code(finding.file or ""))
        elif only is None or finding.file == only.path or key in above or key in below or words.parent_id(key) in below:
            serious.append(finding)
    if others:
        report.note(f"Not read, and not named as tickets: {first_of(others, _MOST_WARNINGS)}.")
    for finding in serious[:_MOST_WARNINGS]:
        place = f"{finding.file}:{finding.line}" if finding.line else str(finding.file)
        report.warn(
            "missing_data" if finding.rule == "ticket/unread" else "degraded_analysis",
            f"{code(place)}: {quote(finding.message)}",
            impact="What this file says is missing here, or may be meant for another.",
            recovery=finding.fix or "`retinue tickets check` says more.",
        )
    if len(serious) > _MOST_WARNINGS:
        count = f"{len(serious) - _MOST_WARNINGS:,} more files"
        report.note(f"{count} have such problems: `retinue tickets check` lists them.")


def tickets_below(tree: TicketTree, target: str) -> list[Ticket]:
    """What `target` means with all that is part of it: a ticket or a folder, every ticket when it is empty.

    Raises:
        InvalidInput: It is neither.
        MissingFile: There is no such ticket.
    """
    folder = target.strip().replace("\\", "/").removeprefix("./").rstrip("/")
    is_all = folder in {"", "."}
    inside = [one for one in tree.tickets if one.ticket_id and (is_all or one.path.startswith(f"{folder}/"))]
    try:
        top = None if is_all else find_ticket(tree, target)
    except (InvalidInput, MissingFile):
        if not inside:
            raise
        top = None
    if top is None:
        return sorted(inside, key=lambda one: (id_order(one.ticket_id), one.path))
    return [top, *(tree.by_id[key] for key in tree.below(top.ticket_id) if key != top.ticket_id)]


def find_ticket(tree: TicketTree, target: str, *kinds: str) -> Ticket:
    """The ticket, of one of `kinds` if some are named, that an id, a file, a folder or a branch with an id means.

    Raises:
        InvalidInput: It is none of these, or the id of a ticket of another kind (K17).
        MissingFile: There is no such ticket; the suggestions have those that are alike.
    """
    words = tree.vocabulary
    path = target.strip().replace("\\", "/").removeprefix("./").rstrip("/")
    places = {path, *(f"{path}/{name}" for name in words.main_files)}
    ticket = next((one for one in tree.tickets if one.path in places), None)
    ids = {match[0] for part in path.split("/") if (match := words.name_start.match(part))}
    ticket_id = path if words.kind_of(path) else ids.pop() if ticket is None and len(ids) == 1 else ""
    if ticket_id != path and ticket_id:
        check_branch_name(path)
    ticket = ticket or tree.by_id.get(ticket_id)
    if ticket is None and ticket_id:
        near = nearest(ticket_id, tree.by_id)
        hint = f"Did you mean {' or '.join(near)}?" if near else "`retinue tickets next` lists those that are open."
        suggestions = {"suggestions": list(near)}
        raise MissingFile(f"There is no ticket {ticket_id}.", hint=hint, path=target, detail=suggestions)
    if ticket is None:
        words.check_id(path)  # says which forms there are
        raise MissingFile(f"{path!r} is no ticket.", hint="Name one by its id.", path=target)
    if kinds and ticket.kind not in kinds:
        wanted = " or ".join(words.ids.get(kind, kind) for kind in kinds)
        message = f"{ticket.ticket_id or ticket.path} is a ticket of kind `{ticket.kind or 'unknown'}`."
        raise InvalidInput(message, hint=f"Name one like {wanted}.", path=target)
    return ticket
