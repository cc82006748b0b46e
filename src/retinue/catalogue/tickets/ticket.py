"""One ticket as it was read, every part with its line; and how an edit gets into its file.

What a ticket says, not whether that is right. Reading Markdown is the business of `ticket_markdown`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Literal, NamedTuple, TypeAlias

from retinue.contract.finding import Finding
from retinue.errors import InvalidInput
from retinue.tools.encoding import decode, encode
from retinue.tools.workspace import Workspace

from .vocabulary import TicketStatus

TicketRelation: TypeAlias = Literal["parent", "requires", "blocks", "child", "mentions", "file"]

_FULL: Final = "█▓■▰●⬛🟩🟦🟢#="
_EMPTY: Final = "░▒□▱○⬜._-"
_BAR: Final = re.compile(f"(?P<full>[{_FULL}]*)(?P<empty>[{_EMPTY}]*)")
_PERCENT: Final = re.compile(r"(?<![0-9.])([0-9]{1,3})(?:[.,][0-9]+)?\s*%")
_FRACTION: Final = re.compile(r"(?<![0-9.])([0-9]{1,6})\s*/\s*([0-9]{1,6})(?![0-9.])")
LINE_END: Final = re.compile(r"\r\n|\r|\n")
_HOURS: Final = re.compile(r"(?<![\w.])([0-9]+(?:[.,][0-9]+)?)")


class TicketField(NamedTuple):
    """A value under a label, on `line`, from `start` on in the ticket's text."""

    key: str
    value: str
    line: int
    start: int | None  # None where the file spells the value otherwise, as YAML may


class TicketSection(NamedTuple):
    """A heading and what is below it, to the line `end`; `key` is empty when the vocabulary does not know it."""

    key: str
    title: str
    level: int
    line: int
    end: int


class ChecklistItem(NamedTuple):
    """A box in a list; `section` is the key of the section, or its title when the vocabulary does not know it."""

    text: str
    is_done: bool
    line: int
    section: str


class TicketScenario(NamedTuple):
    """A Gherkin scenario: its steps as they are written, keyword first."""

    name: str
    line: int
    steps: tuple[str, ...]
    problem: str = ""  # why it is no Gherkin, and has no steps; empty when it is


class TicketReference(NamedTuple):
    """What a ticket names: another by its id, or a file by its path with `/`."""

    target: str  # of a parent that is only linked, the path as the link has it
    line: int
    relation: TicketRelation
    status: TicketStatus | None = None  # what a list of children says of the child


@dataclass(frozen=True, slots=True)
class TicketProgress:
    """What a ticket says of its progress: in percent, as parts of a whole, and as a bar of cells."""

    percent: int | None
    parts: tuple[int, int] | None
    bar: str
    full: int

    @property
    def bar_differs(self) -> bool:
        """Whether the bar shows another cell than the percentage fills, rounded up or down."""
        off_by = 0 if self.percent is None else 100 * self.full - self.percent * len(self.bar)
        return bool(self.bar) and abs(off_by) >= 100

    @property
    def right_bar(self) -> str:
        """The bar as the percentage has it, of its own characters, or of those that go with them."""
        full = round(len(self.bar) * min(self.percent or 0, 100) / 100)
        filled, blank = self.bar[0], self.bar[-1]
        if not self.full:
            filled = _FULL[_EMPTY.index(blank)] if blank not in "._-" else "#"
        elif self.full == len(self.bar):
            blank = _EMPTY[min(_FULL.index(filled), _EMPTY.index("⬜"))] if filled not in "#=" else "-"
        return filled * full + blank * (len(self.bar) - full)


@dataclass(frozen=True, slots=True)
class Ticket:
    """One file; all its parts are in the order of their lines."""

    path: str  # from the root of the workspace, with `/`
    ticket_id: str  # empty when the file has none that fits the vocabulary
    kind: str  # by its id; empty without one
    title: str
    line: int
    status: TicketStatus | None
    text: str  # what was read of it, without a byte-order mark
    digest: str  # SHA-256 of all its bytes
    fields: dict[str, TicketField]  # the first of each key counts
    sections: tuple[TicketSection, ...]
    checklist: tuple[ChecklistItem, ...]
    scenarios: tuple[TicketScenario, ...]
    references: tuple[TicketReference, ...]
    findings: tuple[Finding, ...]  # what is wrong in this file alone

    def targets(self, relation: TicketRelation) -> tuple[TicketReference, ...]:
        """What it names in this way, each once."""
        first: dict[str, TicketReference] = {}
        for reference in self.references:
            if reference.relation == relation:
                first.setdefault(reference.target, reference)
        return tuple(first.values())

    def number(self, key: str) -> float | None:
        """The number in a field, such as `estimate` in hours or `points`; None when it says none."""
        match = _HOURS.search(self.fields[key].value) if key in self.fields else None
        return float(match[1].replace(",", ".")) if match else None

    def text_of(self, *keys: str) -> str:
        """The text of its sections with these keys, without their headings."""
        rows = self.rows
        return "\n".join(row for one in self.sections if one.key in keys for row in rows[one.line : one.end])

    @property
    def rows(self) -> list[str]:
        """Its lines, without what ends them; the first is line 1."""
        return LINE_END.split(self.text)

    @property
    def progress(self) -> TicketProgress | None:
        """What it says of its progress."""
        field = self.fields.get("progress")
        return read_progress(field.value) if field else None


def read_progress(text: str) -> TicketProgress:
    """What `text` says of a progress."""
    percent, parts = _PERCENT.search(text), _FRACTION.search(text)
    bars = [match for match in _BAR.finditer(text) if len(match[0]) > 2]
    bar = max(bars, key=lambda match: len(match[0]), default=None)
    share, (cells, full) = parts and (int(parts[1]), int(parts[2])), (bar[0], len(bar["full"])) if bar else ("", 0)
    return TicketProgress(percent=int(percent[1]) if percent else None, parts=share, bar=cells, full=full)


class TicketEdit(NamedTuple):
    """`old`, which stands in a ticket's text from `start` on, becomes `new`."""

    start: int
    old: str
    new: str


def edit_of(ticket: Ticket, finding: Finding) -> TicketEdit | None:
    """What a finding says to write instead, as an edit; None when it says nothing, or the text is not there."""
    if finding.replacement is None or finding.line is None:
        return None
    old, new = finding.replacement.old, finding.replacement.new
    at = ticket.rows[finding.line - 1].find(old)
    return None if at < 0 else TicketEdit(line_starts(ticket.text)[finding.line - 1] + at, old, new)


def edited_text(path: str, text: str, edits: Sequence[TicketEdit]) -> str:
    """`text`, which stands in the file `path`, with all `edits` made, in any order.

    Raises:
        InvalidInput: One does not fit the text, or another.
    """
    pieces, end = list[str](), 0
    for edit in sorted(edits, key=lambda one: one.start):
        if edit.start < end or not text.startswith(edit.old, edit.start):
            message = f"An edit of `{path}` does not fit: {edit.old[:80]!r} is not where it should be."
            raise InvalidInput(message, hint="Nothing was written. Read the ticket again.", path=path)
        pieces += (text[end : edit.start], edit.new)
        end = edit.start + len(edit.old)
    return "".join((*pieces, text[end:]))


def write_edits(workspace: Workspace, ticket: Ticket, edits: Sequence[TicketEdit]) -> None:
    """Make all `edits` in the file of `ticket`, or none; every other byte stays as it is.

    Raises:
        InvalidInput: The file changed since it was read; or an edit does not fit the text, another, or the encoding.
        MissingFile: The file is gone.
        AccessDenied: It may not be written.
    """

    def change(before: bytes | None) -> bytes:
        if before is None or sha256(before).hexdigest() != ticket.digest:
            message = f"`{ticket.path}` changed while it was being worked on."
            raise InvalidInput(message, hint="Nothing was written. Run the command again.", path=ticket.path)
        text = edited_text(ticket.path, decode(before).text, edits)
        try:
            return encode(text, before) if edits else before
        except UnicodeEncodeError:
            message = f"What is to be written has no place in the encoding of `{ticket.path}`."
            raise InvalidInput(message, hint="Save the file as UTF-8.", path=ticket.path) from None

    workspace.revise(ticket.path, change)


def line_starts(text: str) -> list[int]:
    """Where each line of `text` begins, whatever ends it."""
    return [0, *(match.end() for match in LINE_END.finditer(text))]
