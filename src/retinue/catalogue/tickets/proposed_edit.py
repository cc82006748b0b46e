"""Edits of tickets that somebody proposes: shown as a diff, and made all together or not at all.

They come as JSON that anybody may have written: a path counts only if a ticket of the workspace lies there.
"""

from collections.abc import Iterable
from functools import partial
from hashlib import sha256
from typing import Annotated, Final

from pydantic import Field, ValidationError

from retinue.contract.finding import as_detail, findings_of, summarise_findings
from retinue.contract.model import Model
from retinue.errors import InvalidInput, MissingFile
from retinue.tools.encoding import decode, encode
from retinue.tools.refactor.source import ChangeSet, FileUpdate
from retinue.tools.workspace import Workspace

from .ticket import Ticket, line_starts
from .ticket_tree import TicketTree

_MAX_LINE: Final = 4000


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


def read_edits(items: Iterable[object]) -> tuple[ProposedEdit, ...]:
    """The edits that `items`, as they come out of JSON, say, each once; what is none is an `InvalidInput`."""
    try:
        return tuple(dict.fromkeys(map(ProposedEdit.model_validate, items)))
    except ValidationError as error:
        findings = findings_of(error, rule="ticket/edit")
        message = f"One of `proposed_edits` cannot be used: {summarise_findings(findings)}."
        raise InvalidInput(message, hint="Ask for the edits anew.", detail=as_detail(findings)) from None


def plan_edits(tree: TicketTree, edits: Iterable[ProposedEdit]) -> dict[str, str]:
    """What becomes of the text of each file that `edits` change, by its path; all of them fit what `tree` has read.

    Raises:
        MissingFile: There is no ticket at a path.
        InvalidInput: A file has changed since; or what is to be replaced does not stand on its line, or not once.
    """
    places: dict[str, list[tuple[int, int, str]]] = {}
    hint = "Nothing was written. Ask for the edits anew."
    for edit in edits:
        ticket = tree.by_path.get(edit.file)
        if ticket is None:
            message = f"{edit.file[:200]!r} is no ticket of this workspace."
            raise MissingFile(message, hint="Only files that are read as tickets are edited.", path=edit.file)
        row, message = "".join(ticket.rows[edit.line - 1 : edit.line]), ""
        if ticket.digest != edit.digest:
            message = f"`{ticket.path}` has changed since the edit was proposed."
        elif row.count(edit.old) != 1:
            place = f"line {edit.line} of `{ticket.path}`"
            message = f"{edit.old[:80]!r} stands {row.count(edit.old)} times on {place}, not once."
        if message:
            raise InvalidInput(message, hint=hint, path=ticket.path)
        start = line_starts(ticket.text)[edit.line - 1] + row.index(edit.old)
        places.setdefault(ticket.path, []).append((start, start + len(edit.old), edit.new))
    texts = {path: tree.by_path[path].text for path in places}
    for path, spans in places.items():
        limit = len(texts[path])
        for start, end, new in sorted(spans, reverse=True):
            if end > limit:
                raise InvalidInput(f"Two edits of `{path}` overlap.", hint=hint, path=path)
            texts[path], limit = texts[path][:start] + new + texts[path][end:], start
    return texts


def diff_edits(tree: TicketTree, edits: Iterable[ProposedEdit]) -> str:
    """What they change, as one unified diff; raises what `plan_edits` does."""
    texts = plan_edits(tree, edits)
    return ChangeSet.of(FileUpdate(one.path, one.text, texts.get(one.path, one.text)) for one in tree.tickets).diff()


def apply_edits(workspace: Workspace, tree: TicketTree, edits: Iterable[ProposedEdit]) -> tuple[str, ...]:
    """Make all of them, or none: when a file cannot be written, those before it are put back. Gives their paths.

    Every other byte stays as it is. Raises what `plan_edits` and `Workspace.revise` do.
    """
    texts, originals, done_paths = plan_edits(tree, edits), dict[str, bytes](), list[str]()

    def change(ticket: Ticket, before: bytes | None) -> bytes:
        if before is None or sha256(before).hexdigest() != ticket.digest:
            message = f"`{ticket.path}` changed while it was being worked on."
            raise InvalidInput(message, hint="Nothing was written. Run the command again.", path=ticket.path)
        rest = decode(before).text[len(ticket.text) :]  # of a very long one only the beginning was read
        try:
            after = encode(texts[ticket.path] + rest, before)
        except UnicodeEncodeError:
            message = f"What is to be written has no place in the encoding of `{ticket.path}`."
            raise InvalidInput(message, hint="Save the file as UTF-8.", path=ticket.path) from None
        originals[ticket.path] = before
        return after

    for path in texts:
        workspace.check_writing(path)
    try:
        for path in texts:
            workspace.revise(path, partial(change, tree.by_path[path]))
            done_paths.append(path)
    except BaseException:
        for path in done_paths:
            workspace.write_bytes(path, originals[path])
        raise
    return tuple(texts)
