"""What a ticket states, piece by piece, and the words that leave something open in it; some only seem to."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from retinue.catalogue.tickets import Ticket, mask_names
from retinue.catalogue.tickets.ticket import line_starts
from retinue.catalogue.tickets.vocabulary import fold_words

from .parameters import SpecFix, SpecificationRubric, SpecRule, SpecSection

_SECTION_OF: Final[Mapping[str, SpecSection]] = {
    "user_story": "user_story", "acceptance_criteria": "acceptance_criteria", "scenarios": "bdd_scenarios",
    "technical_design": "technical_design", "implementation": "implementation_checklist",
}  # fmt: skip
_ASIDE_KEY: Final = "aside"
_RECORD: Final = re.compile(r"\s*[*_]{0,2}(?:[✅✓✔☑🎉⏸❌]|~~|Scenario\b)")
_STEP: Final = re.compile(r"\s*[*_]{0,2}(?:Given|When|Then|And|But)\b")
_FRONT_MATTER: Final = re.compile(r"\A---[ \t]*\r?\n.*?^(?:---|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE)
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,3}[.)])[ \t]+(?:\[.\][ \t]+)?")
_APART: Final = re.compile(r"\s*(?:#|[-=|: \t]*\Z)")
_LABEL: Final = re.compile(r"\s*(?:\*\*|__)?([^*_:\n]{1,80})(?::(?:\*\*|__)?|(?:\*\*|__)[ ]?:)(?=\s)")
_STEP_WITHIN: Final = 5_000  # characters after one step of a scenario, in which the next is looked for
_NEAR: Final = 150  # characters on each side of a word, in which something counts for it
_AMOUNT: Final = re.compile(r"(?<![\w.-])[0-9]{1,9}(?:[.,][0-9]{1,9})?[ ]?(?:[+%*`(]|[-\u2013][0-9]{1,9}|[^\W\d_])")
_BRACKETS: Final = re.compile(r"\([^()\n]{1,400}\)")
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s|\*|\Z)")
_NEIGHBOUR: Final = re.compile(r"[\w'-]+|/")


@dataclass(frozen=True, slots=True)
class SpecStatement:
    """A paragraph, an item, a row of a table or a step of a scenario, from `line` on."""

    raw: str
    prose: str  # as long, with blanks for names, code and quotations
    line: int
    section: SpecSection | None
    is_step: bool
    is_aside: bool = False  # it gives a reason, or tells what is done already


def read_statements(ticket: Ticket, rubric: SpecificationRubric) -> list[SpecStatement]:
    """Everything that a ticket states, in the order of its lines; not its labels, headings, code and quotations."""
    text, starts = ticket.text, line_starts(ticket.text)
    keys, asides = [""] * (len(starts) + 1), {fold_words(word) for word in rubric.asides}
    for section in ticket.sections:  # of one inside another the name counts, if it has one
        key = _ASIDE_KEY if fold_words(section.title) in asides else section.key
        if key:
            keys[section.line : section.end + 1] = [key] * (section.end + 1 - section.line)
    statements = list(_steps(ticket, starts, keys))
    front = _FRONT_MATTER.match(text)
    apart = {ticket.line, *(one.line for one in (*statements, *ticket.sections, *ticket.fields.values()))}
    apart |= set(range(1, bisect_right(starts, front.end()) + 1)) if front else set()
    for line, start, prose in _blocks(text, mask_names(text), starts, apart):
        raw, label = text[start : start + len(prose)], _LABEL.match(prose)
        rest = prose[label.end() :] if label else prose
        if keys[line] == "children" or not (fold_words(rest) or "??" in rest):  # titles of others, and bare labels
            continue
        is_aside = (
            keys[line] == _ASIDE_KEY or bool(_RECORD.match(raw)) or bool(label and fold_words(label[1]) in asides)
        )
        section = _SECTION_OF.get(keys[line])
        statements.append(SpecStatement(raw, prose, line, section, bool(_STEP.match(raw)), is_aside))
    return sorted(statements, key=lambda one: one.line)


def _blocks(text: str, masked: str, starts: list[int], apart: set[int]) -> Iterator[tuple[int, int, str]]:
    """The line, the start and the prose of each paragraph, item and row."""
    block_start: tuple[int, int] | None = None
    for line, (start, end) in enumerate(zip(starts, [*starts[1:], len(text)], strict=True), start=1):
        prose, item = masked[start:end], _ITEM.match(text, start, end)
        is_apart = line in apart or _APART.match(prose.rstrip("\r\n")) is not None
        if block_start is not None and (is_apart or item or prose.lstrip().startswith("|")):
            yield *block_start, masked[block_start[1] : start]
            block_start = None
        if block_start is None and not is_apart:
            block_start = (line, item.end() if item else start)
    if block_start is not None:
        yield *block_start, masked[block_start[1] :]


def _steps(ticket: Ticket, starts: list[int], keys: list[str]) -> Iterator[SpecStatement]:
    """The steps of the scenarios. They stand in code, so each is looked for behind the one before."""
    for scenario in ticket.scenarios:
        at = starts[scenario.line - 1]
        for step in scenario.steps:
            body = step.split(maxsplit=1)[-1]
            at = max(at, ticket.text.find(body, at, at + _STEP_WITHIN))
            line = bisect_right(starts, at)
            section = _SECTION_OF.get(keys[line], "bdd_scenarios")
            yield SpecStatement(body, mask_names(body), line, section, is_step=True)


def vague_words(statement: SpecStatement, rubric: SpecificationRubric) -> Iterator[tuple[SpecRule, int, SpecFix]]:
    """Each term by which a statement leaves something open, once: with its line and what to write."""
    term_ids = set[str]()
    for match in rubric.vague.finditer(statement.prose):
        word = " ".join(match[0].split())
        term = rubric.term_of[word.casefold()]
        is_counted = (term.everywhere or not statement.is_aside) and (not term.exact_case or word in term.words)
        if term.id not in term_ids and is_counted and not _is_disarmed(term, statement, match, rubric):
            term_ids.add(term.id)
            new = term.fix[:1].upper() + term.fix[1:] if match[0].istitle() else term.fix
            is_new = word.casefold() in term.replaces
            fix = SpecFix.of(match[0], new, "rule") if is_new else SpecFix(old=match[0], advice=term.fix)
            yield term, statement.line + len(line_starts(statement.raw[: match.start()])) - 1, fix


def _is_disarmed(term: SpecRule, statement: SpecStatement, match: re.Match[str], rubric: SpecificationRubric) -> bool:
    """Whether something beside the word says what it leaves open, or makes it mean something else."""
    (start, end), prose, raw = match.span(), statement.prose, statement.raw
    low, high = max(0, start - _NEAR), end + _NEAR
    near, before, after = raw[low:high].casefold(), prose[low:start].casefold(), prose[end:high].casefold()
    if any(word in near for word in term.unless_words) or (
        {*_NEIGHBOUR.findall(before)[-1:]} & {*term.unless_after}
        or {*_NEIGHBOUR.findall(after)[:1]} & {*term.unless_before}
    ):
        return True

    def holds(kind: str) -> bool:
        if kind == "name":
            return raw[low:high].split() != prose[low:high].split()
        if kind == "reason":
            sentence = f" {' '.join(_SENTENCE_END.split(before)[-1].split())} "
            return any(f" {word} " in sentence for word in rubric.reasons)
        if kind == "question":
            stop = _SENTENCE_END.search(after)
            return stop is not None and stop[0] == "?"
        if kind == "examples":  # a list around the word, or more words behind it
            around = [one for one in _BRACKETS.finditer(raw, low, high) if one.start() < start < one.end()]
            behind = [one for one in _BRACKETS.finditer(raw, end, high) if one.start() - end < 60]
            return any("," in one[0] for one in around) or any(" " in one[0] for one in behind)
        if kind == "step":
            return statement.is_step
        return (_AMOUNT if kind == "number" else rubric.quantity).search(raw, low, high) is not None

    return any(map(holds, term.unless))
