"""Edits of tickets that an agent proposes: found in its answer, shown as a diff, and made all together or not at all.

They come as JSON that anybody may have written: a path counts only if a ticket of the workspace lies there.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Annotated, Final, cast

from pydantic import Field, ValidationError

from retinue.contract import json
from retinue.contract.finding import as_detail, findings_of, summarise_findings
from retinue.contract.model import Model
from retinue.errors import InvalidInput, MissingFile, ParseError
from retinue.tools.refactor.source import ChangeSet, FileUpdate
from retinue.tools.workspace import Workspace

from .ticket import Ticket, TicketEdit, edited_text, line_starts, write_edits
from .ticket_tree import TicketTree

_KEY: Final = "proposed_edits"
_MAX_LINE: Final = 4000
_MAX_DEPTH: Final = 40
_FENCED: Final = re.compile(r"^```json[ \t]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


class ProposedEdit(Model):
    """One change of a ticket's file (G11); `old` stands on its line once, and `digest` is the SHA-256 of the file."""

    file: Annotated[str, Field(min_length=1, max_length=1000)]
    edit_type: Annotated[str, Field(pattern=r"^[a-z][a-z_]*$", max_length=40)]
    old: Annotated[str, Field(min_length=1, max_length=_MAX_LINE)]
    new: Annotated[str, Field(max_length=_MAX_LINE)]
    reason: Annotated[str, Field(max_length=1000)]
    line: Annotated[int, Field(ge=1)]
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def propose_edit(ticket: Ticket, line: int, old: str, new: str, *, edit_type: str, reason: str) -> ProposedEdit | None:
    """That `new` takes the place of `old` on a line; None when it stands there not at all or twice, or is too long."""
    is_plain = old and new and old != new and ticket.rows[line - 1].count(old) == 1
    if not is_plain or max(len(old), len(new)) > _MAX_LINE:
        return None
    return ProposedEdit(
        file=ticket.path, edit_type=edit_type, old=old, new=new, reason=reason, line=line, digest=ticket.digest
    )


def edits_in(document: object) -> tuple[ProposedEdit, ...]:
    """The edits that an answer proposes, each once: in a list of them, or under `proposed_edits` at any depth.

    The answer is data as it comes out of JSON, or a text that is JSON or has it in a fence.

    Raises:
        InvalidInput: One of them is none.
        MissingFile: There is no such list.
    """
    if isinstance(document, str):
        with suppress(ParseError):
            document = json.loads(document)
    lists = [cast("list[object]", document)] if isinstance(document, list) else list(_lists_in(document, _MAX_DEPTH))
    if not lists:
        hint = "Ask for them: `retinue ask git_state_analyzer drift_detection --json`."
        raise MissingFile(f"There is no `{_KEY}` in it.", hint=hint)
    try:
        edits = [ProposedEdit.model_validate(item) for each in lists for item in each]
    except ValidationError as error:
        findings = findings_of(error, rule="ticket/edit")
        message = f"One of `{_KEY}` cannot be used: {summarise_findings(findings)}."
        raise InvalidInput(message, hint="Ask for the edits anew.", detail=as_detail(findings)) from None
    return tuple(dict.fromkeys(edits))


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


def plan_edits(tree: TicketTree, edits: Iterable[ProposedEdit]) -> dict[str, list[TicketEdit]]:
    """The edits of each file, by its path, checked against what `tree` has read.

    Raises:
        MissingFile: There is no ticket at a path.
        InvalidInput: A file has changed since; or what is to be replaced does not stand on its line, or not once.
    """
    tickets = {ticket.path: ticket for ticket in tree.tickets}
    planned: dict[str, list[TicketEdit]] = {}
    for edit in edits:
        ticket = tickets.get(edit.file)
        if ticket is None:
            hint = "Only files that are read as tickets are edited."
            raise MissingFile(f"{edit.file[:200]!r} is no ticket of this workspace.", hint=hint, path=edit.file)
        row, message = "".join(ticket.rows[edit.line - 1 : edit.line]), ""
        if ticket.digest != edit.digest:
            message = f"`{ticket.path}` has changed since the edit was proposed."
        elif row.count(edit.old) != 1:
            place = f"line {edit.line} of `{ticket.path}`"
            message = f"{edit.old[:80]!r} stands {row.count(edit.old)} times on {place}, not once."
        if message:
            raise InvalidInput(message, hint="Nothing was written. Ask for the edits anew.", path=ticket.path)
        start = line_starts(ticket.text)[edit.line - 1] + row.index(edit.old)
        planned.setdefault(ticket.path, []).append(TicketEdit(start, edit.old, edit.new))
    return planned


def diff_edits(tree: TicketTree, edits: Iterable[ProposedEdit]) -> str:
    """What they change, as one unified diff; raises what `plan_edits` does."""
    planned = plan_edits(tree, edits)
    tickets = (ticket for ticket in tree.tickets if ticket.path in planned)
    updates = (FileUpdate(t.path, t.text, edited_text(t.path, t.text, planned[t.path])) for t in tickets)
    return ChangeSet.of(updates).diff()


def apply_edits(workspace: Workspace, tree: TicketTree, edits: Sequence[ProposedEdit]) -> tuple[str, ...]:
    """Make all of them, or none: when a file cannot be written, those before it are put back. Gives their paths.

    Raises what `plan_edits` and `write_edits` do.
    """
    planned = plan_edits(tree, edits)
    for path in planned:
        workspace.check_writing(path)
    undo_log: list[tuple[str, bytes]] = []
    try:
        for ticket in tree.tickets:
            if ticket.path in planned:
                before = workspace.read_bytes(ticket.path)
                write_edits(workspace, ticket, planned[ticket.path])
                undo_log.append((ticket.path, before))
    except BaseException:
        for path, before in reversed(undo_log):
            workspace.write_bytes(path, before)
        raise
    return tuple(planned)
