"""`retinue tickets`: a tree of tickets made, checked, asked which task is next, and brought up to date with git."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast

import click

from retinue import catalogue
from retinue.agents.boundary import Boundary
from retinue.agents.local import LocalContext
from retinue.agents.registry import Registry
from retinue.catalogue.tickets import TicketTree, check_tickets, read_tickets, read_vocabulary, task_readiness
from retinue.catalogue.tickets.proposed_edit import ProposedEdit, apply_edits, diff_edits, propose_edit, read_edits
from retinue.catalogue.tickets.ticket_checks import TaskReadiness
from retinue.catalogue.tickets.vocabulary import DEFAULT_VOCABULARY, OWN_VOCABULARY
from retinue.cli import user_paths
from retinue.cli.app import Exit
from retinue.cli.delivery import bytes_in, deliver_bytes
from retinue.cli.findings_report import report_findings, report_format
from retinue.cli.output import (
    echo,
    echo_err,
    echo_json,
    label,
    path_text,
    plural,
    present,
    report_warning,
    safe,
    safe_lines,
    status_line,
)
from retinue.cli.recorded_run import find_run
from retinue.cli.screen import is_interactive
from retinue.cli.settings import find_root, journal_of, settings_of
from retinue.cli.watchdog import run as run_to_end
from retinue.contract import json
from retinue.contract.result import Result
from retinue.contract.task import Task
from retinue.errors import AccessDenied, InvalidInput, MissingFile, ParseError
from retinue.tools.workspace import Workspace

_MAX_BYTES: Final = 64 * 2**20
_MAX_DEPTH: Final = 40
_KEY: Final = "proposed_edits"
_FENCED: Final = re.compile(r"^```json[ \t]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COLOURS: Final = {"+": "green", "-": "red", "@": "cyan"}
"""Of the lines of a diff, by what they begin with."""


def init_tickets(*, folder: str | None, with_vocabulary: bool, workspace: Path | None, as_json: bool) -> None:
    """Make a tree of tickets to begin with. Nothing that is there is overwritten."""
    root = find_root(workspace)
    words = read_vocabulary(Workspace(root))
    source, top = DEFAULT_VOCABULARY.with_name("starter"), (folder or words.folders[0]).rstrip("/")
    files = {f"{top}/{path.relative_to(source).as_posix()}": path for path in sorted(source.rglob("*.md"))}
    files |= {OWN_VOCABULARY: DEFAULT_VOCABULARY} if with_vocabulary else {}
    existing = [path for path in files if (root / path).exists()]
    if existing:
        message = f"`{existing[0]}` is there already; nothing was written."
        raise InvalidInput(message, hint="Name another folder: `retinue tickets init FOLDER`.", path=existing[0])
    fence = Workspace(root, write=(".",))
    for path, place in files.items():
        if path == OWN_VOCABULARY:  # agents never write there, but this is the person
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            deliver_bytes(place.read_bytes(), root / path)
        else:
            fence.write_bytes(path, place.read_bytes())
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
    edits: list[ProposedEdit] = []
    for ticket in tree.tickets if fix else ():
        for one in ticket.findings:
            if one.replacement and one.line:
                words = one.replacement.old, one.replacement.new
                edit = propose_edit(ticket, one.line, *words, edit_type="fix", reason=one.message)
                edits += [edit] if edit else []
    if edits:
        apply_edits(Workspace(root, write=(".",), max_bytes=_MAX_BYTES), tree, edits)
        findings = check_tickets(_read(root))
    names = [ticket.path for ticket in tree.tickets]
    return report_findings(
        findings, names, form, output, suite="retinue tickets check", strict=strict, notes=notes, fix_count=len(edits)
    )


def next_tasks(*, ticket: str | None, limit: int, workspace: Path | None, as_json: bool) -> int:
    """Say which tasks are ready, and why the others are not."""
    root = find_root(workspace)
    tree = _read(root)
    if ticket is not None and tree.vocabulary.check_id(ticket) not in tree.by_id:
        raise MissingFile(f"There is no ticket {ticket}.", hint="`retinue tickets next` lists all that are open.")
    tasks = task_readiness(tree, below=ticket)
    ready = [task for task in tasks if task.is_ready]
    in_progress = [task for task in tasks if task.ticket.status == "in_progress"]
    waiting = [task for task in tasks if task.blockers and task.ticket.status != "in_progress"]
    errors = sum(finding.severity == "error" for finding in check_tickets(tree))
    if as_json:
        lists = {"ready": ready, "in_progress": in_progress, "waiting": waiting}
        facts = {
            name: [
                present({
                    "id": one.ticket.ticket_id, "title": one.ticket.title, "path": one.ticket.path,
                    "status": one.ticket.status, "estimated_hours": one.ticket.number("estimate"), "blockers": [
                        present({"type": each.kind, "ticket": each.ticket_id, "message": each.message,
                                 "status": each.status})
                        for each in one.blockers
                    ],
                })
                for one in some
            ]
            for name, some in lists.items()
        }  # fmt: skip
        echo_json({**facts, "errors": errors})
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


def apply_proposed(
    *, file: str | None, run: str | None, diff_only: bool, yes: bool, workspace: Path | None, as_json: bool
) -> int:
    """Show the edits that an answer proposes, and make them when a person says so."""
    if (file is None) == (run is None):
        raise click.UsageError("Name a file with the answer, `-` for stdin, or a run: `--run RUN`.")
    root = find_root(workspace)
    if file is not None:
        edits = _edits_in(bytes_in(file, hint="Name a file with an answer.").decode("utf-8-sig", "replace"))
    else:
        with journal_of(settings_of(root)) as journal:
            events = journal.events(find_run(journal, run), limit=-1)
        edits = _edits_in({"events": [event.to_json() for event in events]})
    return _offer(root, edits, diff_only=diff_only, yes=yes, as_json=as_json, facts={})


def sync_tickets(
    *,
    ticket: str | None,
    base: str | None,
    since: str | None,
    apply: bool,
    yes: bool,
    strict: bool,
    workspace: Path | None,
    as_json: bool,
) -> int:
    """Say where tickets and git have drifted apart, and mend what can be mended when a person says so."""
    if yes and not apply:
        raise click.UsageError("--yes can only be used with --apply.")
    root = find_root(workspace)
    result = run_to_end(_drift(root, {"target": ticket or "", "base": base or "", "since": since or ""}))
    if result.fault is not None:
        raise result.fault.to_error()
    data: dict[str, Any] = result.data
    items = [item for category in data["drift_categories"].values() for item in category]
    if not as_json:
        for warning in result.warnings:
            report_warning(warning)
        for category, some in data["drift_categories"].items():
            for item in some:
                place = f"{path_text(item['file'])}:{item['line']}" if "file" in item else category
                word = label(item["severity"], {"high": "red", "medium": "yellow"}.get(item["severity"]))
                echo(f"{place}: {word} {category}/{item['type']} {safe(item['problem'])}")
        counts = [f"{data['summary'][f'{name}_severity']:,} {name}" for name in ("high", "medium", "low")]
        word = label("drift" if items else "in sync", "yellow" if items else "green")
        echo_err(f"{word}: {', '.join(counts)}; {plural(len(data['proposed_edits']), 'edit')} proposed")
    facts = {name: data[name] for name in ("drift_categories", "summary", "proposed_edits")}
    code = Exit.OK
    if data["proposed_edits"] or as_json:
        edits = _edits_in(data["proposed_edits"])
        code = _offer(root, edits, diff_only=not apply, yes=yes, as_json=as_json, facts=facts)
    is_left = any(
        item["severity"] != "low" or strict for item in items if not (apply and code == Exit.OK and item["fixable"])
    )
    return code if code != Exit.OK else Exit.INVALID if is_left else Exit.OK


def _edits_in(document: object) -> tuple[ProposedEdit, ...]:
    """The edits that an answer proposes, each once: in a list of them, or under `proposed_edits` at any depth.

    The answer is data as it comes out of JSON, or a text that is JSON or has it in a fence.

    Raises:
        MissingFile: There is no such list.
    """
    if isinstance(document, str):
        with suppress(ParseError):
            document = json.loads(document)
    lists = [cast("list[object]", document)] if isinstance(document, list) else [*_lists_in(document, _MAX_DEPTH)]
    if not lists:
        hint = "Ask for them: `retinue ask git_state_analyzer drift_detection --json`."
        raise MissingFile(f"There is no `{_KEY}` in it.", hint=hint)
    return read_edits(item for each in lists for item in each)


def _lists_in(value: object, depth: int) -> Iterator[list[object]]:
    if not depth:
        return
    if isinstance(value, str) and _KEY in value:
        for text in (value, *(match[1] for match in _FENCED.finditer(value))):
            with suppress(ParseError):
                yield from _lists_in(json.loads(text), depth - 1)
    elif isinstance(value, dict):
        entries = cast("dict[str, object]", value)
        if isinstance(edits := entries.get(_KEY), list):
            yield cast("list[object]", edits)
            return
        for inner in entries.values():
            yield from _lists_in(inner, depth - 1)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _lists_in(inner, depth - 1)


async def _drift(root: Path, parameters: dict[str, str]) -> Result:
    agent = Registry(catalogue.agents(cache_dir=user_paths.index_dir())).get("git_state_analyzer")
    task = Task(id="sync", agent="git_state_analyzer", skill="drift_detection", parameters=parameters)
    async with LocalContext(workspace=Workspace(root, max_bytes=_MAX_BYTES)) as run:
        return await Boundary(Registry()).call_agent(agent, task, run)


def _offer(
    root: Path, edits: Sequence[ProposedEdit], *, diff_only: bool, yes: bool, as_json: bool, facts: dict[str, Any]
) -> Exit:
    """Show `edits` as a diff, and make them when that is wanted and a person does not say no."""
    tree = _read(root)
    diff = diff_edits(tree, edits)
    files: tuple[str, ...] = ()
    code = Exit.OK
    if not as_json:
        for line in safe_lines(diff).splitlines():
            echo(click.style(line, fg=_COLOURS.get(line[:1])))
    if edits and not diff_only:
        if not yes and not is_interactive():
            hint = "Look at them with `--diff`, then run it again with `--yes`."
            raise AccessDenied("Cannot ask whether to make these edits without a terminal.", hint=hint)
        if yes or click.confirm(f"Make {plural(len(edits), 'edit')}?", err=True):
            files = apply_edits(Workspace(root, write=(".",), max_bytes=_MAX_BYTES), tree, edits)
        else:
            code = Exit.FAILED
        if not as_json:
            echo_err(f"{label('edited', 'green')}: {plural(len(files), 'file')}")
    if as_json:
        echo_json({**facts, "edits": len(edits), "files": list(files), "diff": diff})
    return code


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
