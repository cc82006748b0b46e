"""One ticket as it was read, every part with its line.

What a ticket says, not whether that is right. Reading Markdown is the business of `ticket_markdown`.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from retinue.contract.finding import Finding
from retinue.contract.lint.rules import make_finding

from .vocabulary import TicketStatus

TicketRelation: TypeAlias = Literal["parent", "requires", "blocks", "child", "mentions", "file"]

_FULL: Final = "█▓■▰●⬛🟩🟦🟢#="
_EMPTY: Final = "░▒□▱○⬜._-"
_BAR: Final = re.compile(f"(?P<full>[{_FULL}]*)(?P<empty>[{_EMPTY}]*)")
_PERCENT: Final = re.compile(r"(?<![0-9.])([0-9]{1,3})(?:[.,][0-9]+)?\s*%")
_FRACTION: Final = re.compile(r"(?<![0-9.])([0-9]{1,6})\s*/\s*([0-9]{1,6})(?![0-9.])")
_TEXTS: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("findings.toml").read_text(encoding="utf-8"))
LINE_END: Final = re.compile(r"\r\n|\r|\n")
_HOURS: Final = re.compile(r"(?<![\w.])([0-9]+(?:[.,][0-9]+)?)")


class TicketField(NamedTuple):
    """A value under a label, on `line`."""

    key: str
    value: str
    line: int


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


class TicketProgress(NamedTuple):
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


def line_starts(text: str) -> list[int]:
    """Where each line of `text` begins, whatever ends it."""
    return [0, *(match.end() for match in LINE_END.finditer(text))]


def ticket_finding(rule: str, path: str, line: int | None, case: str = "", **words: Any) -> Finding:
    """What is wrong with a ticket, as `findings.toml` says it in this `case`; `new` takes the place of `old`."""
    texts = _TEXTS[rule.removeprefix("ticket/")]
    message, fix = (text.format(**words) for text in (texts[case] if case else texts))
    replace, column = (words["old"], words["new"]) if "old" in words else None, None if line is None else 1
    return make_finding(rule, "", message, fix, file=path, line=line, column=column, replace=replace)
