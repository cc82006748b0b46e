"""The rubric of completeness as data, and the checks that its criteria name: each says of one ticket what it lacks."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Final, Literal, NamedTuple, TypeAlias

from pydantic import Field

from retinue.catalogue.tickets import Rubric, Ticket, TicketSection, TicketTree, mask_names
from retinue.catalogue.tickets.ticket_progress import ActualProgress, hours_of, points_of, stated_percent
from retinue.catalogue.tickets.vocabulary import fold_words
from retinue.contract.model import Many, Model

GapType: TypeAlias = Literal[
    "missing_ticket", "incomplete_detail", "undocumented_addition", "broken_link", "out_of_sync"
]
IssuePriority: TypeAlias = Literal["high", "medium", "low"]
WordList: TypeAlias = Literal[
    "placeholders", "unmeasured", "verbs", "scenario_words", "test_titles", "progress_columns", "common_words"
]
_Percent: TypeAlias = Annotated[int, Field(ge=0, le=100)]
_Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=300)]
_LONG: Final = 60  # characters; a longer text says something
_DIGIT: Final = re.compile(r"[0-9]")
_ENTRY: Final = re.compile(r"\s*(?:[-*+]|[0-9]{1,6}[.)])\s+(?:\[[ xX✓✔]\]\s+)?(?P<text>\S.*)")
_NO_CONTENT: Final = re.compile(r" {0,3}#{1,6}(?:\s|\Z)|\s*<!--|[\s|:-]*\Z")
_FENCE: Final = re.compile(r"\s*(?:```|~~~)")


class RubricCriterion(Model):
    """One thing that a ticket should have: settled by a check with its parameters, or by judgement.

    Attributes:
        numbers: Only entries with a number count.
        between: The least and the most that an estimate may be.
        tolerance: How far a sum may be off, as a share of what is stated.
    """

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=60)]
    description: _Text
    impact: _Text
    fix: _Text
    priority: IssuePriority
    check: Literal[
        "judgement", "present", "lists_children", "parent_names_it", "has_scenarios", "estimated", "adds_up",
        "clear_title", "not_vague", "user_story", "progress_accurate", "names_files",
    ]  # fmt: skip
    sections: Many[_Text] = ()
    fields: Many[_Text] = ()
    words: Many[_Text] = ()
    entries: Annotated[int, Field(ge=0)] = 0
    numbers: bool = False
    unit: Literal["points", "hours"] = "points"
    between: Annotated[Many[float], Field(min_length=2, max_length=2)] = (0, 1_000_000)
    tolerance: Annotated[float, Field(ge=0)] = 0


class CompletenessRubric(Rubric):
    """What makes tickets complete; see its file."""

    complete_from: _Percent
    hours_per_point: Annotated[float, Field(gt=0)]
    bar_cells: Annotated[int, Field(ge=1)]
    few_words: Annotated[int, Field(ge=0)]
    shared_words: Annotated[int, Field(ge=1)]
    bands: dict[str, _Percent]
    floors: dict[str, _Percent]
    priorities: dict[GapType, Annotated[int, Field(ge=0, le=3)]]
    rules: dict[GapType, Many[_Text]]
    words: dict[WordList, Many[_Text]]
    user_story: dict[str, Many[_Text]]
    criteria: dict[str, Many[RubricCriterion]]

    @cached_property
    def _patterns(self) -> "Mapping[WordList, re.Pattern[str]]":
        return {key: word_pattern(words) for key, words in self.words.items()}

    def find(self, key: WordList, text: str) -> "re.Match[str] | None":
        """The first word of a list in a text."""
        return self._patterns[key].search(fold_words(text)) if key in self._patterns else None


def word_pattern(words: Iterable[str]) -> "re.Pattern[str]":
    """Finds any of `words` in folded text."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(fold_words(word)) for word in words) or '(?!)'})(?!\w)")


class CheckOutcome(NamedTuple):
    """What a check says: met, not met, or (None) that there is nothing to tell it by.

    Attributes:
        line: Where it is, or has to be mended.
    """

    is_met: bool | None
    line: int
    problem: str = ""


@dataclass(slots=True)
class TicketChecks:
    """One ticket under the checks, with what they need to know of the others.

    Attributes:
        ids_in: Gives the ids that a ticket names, by its own id.
    """

    ticket: Ticket
    tree: TicketTree
    rubric: CompletenessRubric
    progress: Mapping[str, ActualProgress]
    ids_in: Callable[[str], frozenset[str]]
    rows: list[str]

    def run(self, criterion: RubricCriterion) -> CheckOutcome:
        """What the check of a criterion says."""
        check: Callable[[RubricCriterion], CheckOutcome] = getattr(self, f"_{criterion.check}")
        return check(criterion)

    def sections(self, keys: Sequence[str]) -> list[TicketSection]:
        """The sections of these kinds, the first named kind first."""
        return [one for key in keys for one in self.ticket.sections if one.key == key]

    def body(self, section: TicketSection) -> Iterator[tuple[int, str]]:
        """The lines of a section that say something, with their numbers; of blocks of code only where they begin."""
        is_fenced = False
        for line, row in enumerate(self.rows[section.line : section.end], start=section.line + 1):
            is_fence = _FENCE.match(row) is not None
            if (is_fence and not is_fenced) or (not is_fenced and not _NO_CONTENT.match(row)):
                yield line, row
            is_fenced = is_fenced is not is_fence

    def entries(self, keys: Sequence[str]) -> list[tuple[int, str]]:
        """The entries of lists, rows of tables and headings in sections, with their lines."""
        sections = self.sections(keys)
        rows = dict(each for one in sections for each in self.body(one))
        rows = {line: row for line, row in rows.items() if _ENTRY.match(row) or row.lstrip().startswith("|")}
        below = [one for one in self.ticket.sections if any(each.line < one.line <= each.end for each in sections)]
        return sorted((rows | {one.line: one.title for one in below}).items())

    def is_open(self, text: str) -> bool:
        """Whether a text only says that something will be said."""
        match = self.rubric.find("placeholders", text) if len(text) < _LONG else None
        return len(text) < _LONG and fold_words(text) == (match[0] if match else "")

    def unmet(self, problem: str, line: int = 0, keys: Sequence[str] = ()) -> CheckOutcome:
        """Not met: on a line, or in the section that should have it, or else at the title."""
        line = line or next((one.line for one in self.sections(keys)), self.ticket.line)
        return CheckOutcome(False, line, problem)

    # The checks, by the names that criteria call them.

    def _judgement(self, _criterion: RubricCriterion) -> CheckOutcome:
        return CheckOutcome(None, self.ticket.line)

    def _present(self, criterion: RubricCriterion) -> CheckOutcome:
        """A field, a section with content or enough entries, or words anywhere."""
        line = next((self.ticket.fields[key].line for key in criterion.fields if key in self.ticket.fields), 0)
        if criterion.entries:
            entries = [one for one, row in self.entries(criterion.sections) if not self.is_open(row)]
            entries = [one for one in entries if not criterion.numbers or _DIGIT.search(self.rows[one - 1])]
            line = line or (entries[0] if len(entries) >= criterion.entries else 0)
        else:
            rows = (each for one in self.sections(criterion.sections) for each in self.body(one))
            line = line or next((one for one, row in rows if _FENCE.match(row) or not self.is_open(row)), 0)
        if not line and criterion.words:
            words = word_pattern(criterion.words)
            if words.search(fold_words(self.ticket.text)):
                line = next((at for at, row in enumerate(self.rows, start=1) if words.search(fold_words(row))), 0)
        if line:
            return CheckOutcome(True, line)
        names = " or ".join(key.replace("_", " ") for key in dict.fromkeys((*criterion.fields, *criterion.sections)))
        few = f"fewer than {criterion.entries} entries" if criterion.entries > 1 else "nothing"
        numbers = " with a number" if criterion.numbers else ""
        return self.unmet(f"It has {few}{numbers} on its {names}.", keys=criterion.sections)

    def _lists_children(self, _criterion: RubricCriterion) -> CheckOutcome:
        key, children = self.ticket.ticket_id, self.ticket.targets("child")
        there = [one for one in self.tree.children.get(key, ()) if one in self.tree.by_id]
        unlisted = [one for one in there if one not in self.ids_in(key)]
        if unlisted:
            more = f" and {len(unlisted) - 5:,} more" if len(unlisted) > 5 else ""
            return self.unmet(f"It does not list {', '.join(unlisted[:5])}{more}.", keys=["children"])
        if not children and not there:
            return self.unmet("It lists nothing that it is made of.", keys=["children"])
        return CheckOutcome(True, children[0].line if children else self.ticket.line)

    def _parent_names_it(self, _criterion: RubricCriterion) -> CheckOutcome:
        parent, stated = self.tree.parents.get(self.ticket.ticket_id), self.ticket.targets("parent")
        line = stated[0].line if stated else self.ticket.line
        if parent is None:
            return self.unmet("It does not say what it is part of.")
        if parent not in self.tree.by_id:
            return self.unmet(f"{parent}, which it is part of, has no file.", line)
        if self.ticket.ticket_id not in self.ids_in(parent):
            return self.unmet(f"{parent}, which it is part of, does not name it.", line)
        return CheckOutcome(True, line)

    def _has_scenarios(self, criterion: RubricCriterion) -> CheckOutcome:
        """Its own; where the criterion has words, those of its parent do too, and so does a title with one of these."""
        parent = self.tree.by_id.get(self.tree.parents.get(self.ticket.ticket_id, "")) if criterion.words else None
        every = [*self.ticket.scenarios, *(parent.scenarios if parent else ())]
        title = f" {fold_words(self.ticket.title)} "
        if any(not one.problem for one in every) or any(f" {fold_words(word)} " in title for word in criterion.words):
            whole = [one.line for one in self.ticket.scenarios if not one.problem]
            return CheckOutcome(True, whole[0] if whole else self.ticket.line)
        rows = [each for one in self.sections(["scenarios"]) for each in self.body(one)]
        if lines := [line for line, row in rows if ".feature" in row]:
            return CheckOutcome(True, lines[0])
        if any(finding.rule == "ticket/scenarios-unread" for finding in self.ticket.findings):
            return CheckOutcome(None, self.ticket.line, "scenarios were not read")
        if self.ticket.scenarios:
            first = self.ticket.scenarios[0]
            return self.unmet(f"Its scenarios are no Gherkin: {first.problem}.", first.line)
        return self.unmet("It has no scenario in Gherkin.", keys=["scenarios"])

    def _estimated(self, criterion: RubricCriterion) -> CheckOutcome:
        estimate = (points_of if criterion.unit == "points" else hours_of)(self.ticket)
        least, most = criterion.between
        line = next((self.ticket.fields[key].line for key in ("points", "estimate") if key in self.ticket.fields), 0)
        if estimate is None:
            return self.unmet(f"It has no estimate in {criterion.unit}.")
        if not least <= estimate <= most:
            return self.unmet(f"It has {estimate:g} {criterion.unit}, not {least:g} to {most:g}.", line)
        return CheckOutcome(True, line)

    def _adds_up(self, criterion: RubricCriterion) -> CheckOutcome:
        """Its points, and those of its children, or their hours by the rubric's hours per point."""
        key, points, per_point = self.ticket.ticket_id, points_of(self.ticket), self.rubric.hours_per_point
        below = [self.tree.by_id[one] for one in self.tree.children.get(key, ()) if one in self.tree.by_id]
        below = [one for one in below if one.status != "cancelled"]
        sizes, unit = [points_of(one) for one in below], "points"
        if None in sizes:
            hours = [hours_of(one) for one in below]
            sizes, unit = [one and one / per_point for one in hours], f"points, at {per_point:g} hours a point"
        numbers = [one for one in sizes if one is not None]
        is_whole = all(one.target in self.tree.by_id for one in self.ticket.targets("child"))
        if points is None or not numbers or len(numbers) < len(sizes) or not is_whole:
            return CheckOutcome(None, self.ticket.line, "it, or something that it is made of, has no estimate or file")
        line = next(self.ticket.fields[key].line for key in ("points", "estimate") if key in self.ticket.fields)
        if abs(sum(numbers) - points) <= criterion.tolerance * points + 0.01:
            return CheckOutcome(True, line)
        return self.unmet(f"It has {points:g} points; what it is made of has {sum(numbers):.3g} {unit}.", line)

    def _clear_title(self, _criterion: RubricCriterion) -> CheckOutcome:
        title = self.ticket.title.removeprefix(self.ticket.ticket_id)
        if len(fold_words(title).split()) > 1 and not self.is_open(title):
            return CheckOutcome(True, self.ticket.line)
        return self.unmet("Its title does not say what it is about.")

    def _not_vague(self, criterion: RubricCriterion) -> CheckOutcome:
        rows = [each for one in self.sections(criterion.sections) for each in self.body(one)]
        if not rows:
            return CheckOutcome(None, self.ticket.line, "there is nothing to read")
        for line, row in rows:
            if term := self._vague_term(row):
                return self.unmet(f"“{term}” can mean many things.", line)
        return CheckOutcome(True, rows[0][0])

    def _vague_term(self, row: str) -> str:
        """The first words of a line that leave open what is meant; in an entry of a list, a number says it."""
        entry = _ENTRY.match(row)
        text = entry["text"] if entry else row
        matches = [self.rubric.find("placeholders", text)]
        if entry and not _DIGIT.search(row):
            matches.append(self.rubric.find("unmeasured", text))
            # What ends with a colon is said by what follows, and what has a name in it says enough.
            words, verb = fold_words(text), self.rubric.find("verbs", text)
            is_short = len(words.split()) <= self.rubric.few_words and text[-1] != ":"
            if verb and not verb.start() and is_short and fold_words(mask_names(text)) == words:
                return verb[0]
        terms = [match[0] for match in matches if match]
        own = fold_words(mask_names(text)) if terms else ""
        return next((term for term in terms if term in own), "")

    def _user_story(self, _criterion: RubricCriterion) -> CheckOutcome:
        sections = self.sections(["user_story"])
        rows = [row for section in sections for _, row in self.body(section)] if sections else self.rows
        words = f" {fold_words(' '.join(rows))} "
        for parts in self.rubric.user_story.values():
            at = 0
            for part in parts:
                places = [words.find(f" {fold_words(one)} ", at) for one in part.split("|")]
                at = min((place for place in places if place >= 0), default=len(words))
            if at < len(words):
                return CheckOutcome(True, sections[0].line if sections else self.ticket.line)
        return self.unmet("It does not say who wants what and why.", keys=["user_story"])

    def _progress_accurate(self, _criterion: RubricCriterion) -> CheckOutcome:
        stated, actual = stated_percent(self.ticket), self.progress.get(self.ticket.ticket_id)
        shares = actual.shares if actual else []
        if not shares:
            return CheckOutcome(None, self.ticket.line, "nothing tells its progress")
        if stated is None:
            return self.unmet("It does not state its progress.")
        line = self.ticket.fields["progress"].line
        if any(abs(stated - share) <= 1 for share in shares):
            return CheckOutcome(True, line)
        right = " or ".join(dict.fromkeys(f"{share:.0f} %" for share in shares))
        return self.unmet(f"It states {stated} %; what it is made of adds up to {right}.", line)

    def _names_files(self, _criterion: RubricCriterion) -> CheckOutcome:
        files = self.ticket.targets("file")
        return CheckOutcome(True, files[0].line) if files else self.unmet("It names no file.")
