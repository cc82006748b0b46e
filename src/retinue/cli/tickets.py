"""`retinue tickets`: a tree of tickets made, checked, and asked which task is next."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from retinue.catalogue.tickets import (
    OWN_VOCABULARY,
    TaskReadiness,
    TicketTree,
    check_tickets,
    edit_of,
    read_tickets,
    read_vocabulary,
    starter_files,
    task_readiness,
    write_edits,
)
from retinue.cli.app import Exit
from retinue.cli.delivery import deliver_bytes
from retinue.cli.findings_report import report_findings, report_format
from retinue.cli.output import echo, echo_err, echo_json, label, path_text, plural, safe, status_line
from retinue.cli.settings import find_root
from retinue.contract.finding import Finding
from retinue.errors import InvalidInput, MissingFile
from retinue.tools.workspace import Workspace

_MAX_BYTES: Final = 64 * 2**20


def init_tickets(*, folder: str | None, with_vocabulary: bool, workspace: Path | None, as_json: bool) -> None:
    """Make a tree of tickets to begin with. Nothing that is there is overwritten."""
    root = find_root(workspace)
    words = read_vocabulary(Workspace(root))
    files = starter_files(folder or words.folders[0], with_vocabulary=with_vocabulary)
    existing = [path for path in files if (root / path).exists()]
    if existing:
        message = f"`{existing[0]}` is there already; nothing was written."
        raise InvalidInput(message, hint="Name another folder: `retinue tickets init FOLDER`.", path=existing[0])
    fence = Workspace(root, write=(".",))
    for path, data in files.items():
        if path == OWN_VOCABULARY:  # agents never write there, but this is the person
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            deliver_bytes(data, root / path)
        else:
            fence.write_bytes(path, data)
    if as_json:
        echo_json({"created": list(files)})
        return
    for path in files:
        echo(path_text(path))
    echo_err(f"{label('next')}: write what you want to do into them, then `retinue tickets check`")


def check_tree(
    *,
    strict: bool,
    notes: bool,
    fix: bool,
    kind: str | None,
    output: Path | None,
    workspace: Path | None,
    as_json: bool,
) -> int:
    """Check every ticket, and what is between them."""
    form = report_format(kind, output, as_json=as_json)
    root = find_root(workspace)
    tree = _read(root)
    findings = check_tickets(tree)
    fixed: list[Finding] = []
    if fix:
        fence = Workspace(root, write=(".",), max_bytes=_MAX_BYTES)
        for ticket in tree.tickets:
            edits = {edit: finding for finding in ticket.findings if (edit := edit_of(ticket, finding)) is not None}
            if edits:
                write_edits(fence, ticket, list(edits))
                fixed += edits.values()
        if fixed:
            findings = check_tickets(_read(root))
    names = [ticket.path for ticket in tree.tickets]
    return report_findings(
        findings, names, form, output, suite="retinue tickets check", strict=strict, notes=notes, fix_count=len(fixed)
    )


def next_tasks(*, ticket: str | None, limit: int, workspace: Path | None, as_json: bool) -> int:
    """Say which tasks are ready, and why the others are not."""
    root = find_root(workspace)
    tree = _read(root)
    if ticket is not None and tree.vocabulary.check_id(ticket) not in tree.by_id:
        raise MissingFile(f"There is no ticket {ticket}.", hint="`retinue tickets next` lists all that are open.")
    tasks = task_readiness(tree, below=ticket)
    ready = [task for task in tasks if task.is_ready]
    in_progress = [task for task in tasks if task.is_begun]
    waiting = [task for task in tasks if task.blockers and not task.is_begun]
    errors = sum(finding.severity == "error" for finding in check_tickets(tree))
    if as_json:
        facts = {"ready": ready, "in_progress": in_progress, "waiting": waiting}
        echo_json({**{name: [task.to_json() for task in some] for name, some in facts.items()}, "errors": errors})
    else:
        _show("ready", "green", ready, limit)
        _show("in progress", "yellow", in_progress, limit)
        _show("waiting", "red", waiting, limit)
        if not tasks:
            echo("Nothing is open.")
        if errors:
            echo_err(
                f"{label('warning', 'yellow')}: the tickets have {plural(errors, 'error')}; `retinue tickets check` "
                "lists them, and some tasks may be missing here"
            )
    return Exit.OK if ready or not (in_progress or waiting) else Exit.FAILED


def _read(root: Path) -> TicketTree:
    with status_line("reading tickets"):
        return read_tickets(Workspace(root, max_bytes=_MAX_BYTES))


def _show(word: str, colour: str, tasks: Sequence[TaskReadiness], limit: int) -> None:
    for task in tasks[:limit]:
        ticket = task.ticket
        echo(f"{label(word, colour)}  {label(ticket.ticket_id)}  {safe(ticket.title)}  {path_text(ticket.path)}")
        for blocker in task.blockers:
            echo(f"    {safe(blocker.message)}")
    if len(tasks) > limit:
        echo(f"{label(word, colour)}  and {len(tasks) - limit:,} more; --limit shows them")
