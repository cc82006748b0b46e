"""How complete tickets are: a rubric as data, the checks that its criteria name, and scores by them (G2, K35)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple, TypeAlias

from pydantic import Field

from retinue.catalogue._prose import code, first_of, one_line, quote
from retinue.catalogue._report import SkillReport
from retinue.catalogue.tickets import IssueSeverity, Rubric, Ticket, TicketSection, TicketTree, mask_names, read_rubric
from retinue.catalogue.tickets.ticket_progress import actual_progress, hours_of, points_of, stated_percent
from retinue.catalogue.tickets.ticket_work import CriterionJudgement
from retinue.catalogue.tickets.vocabulary import fold_words
from retinue.contract.model import Many, Model
from retinue.errors import InvalidInput
from retinue.tools.workspace import Workspace

from .parameters import GapType, TicketIssue

MOST_NAMED: Final = 10
"""How many things of a kind are named in sentences."""
PRIORITIES: Final[Sequence[IssueSeverity]] = ("high", "medium", "low")
_DEFAULT_RUBRIC: Final = Path(__file__).with_name("ticket-completeness.toml")
_WordList: TypeAlias = Literal[
    "placeholders", "unmeasured", "verbs", "scenario_words", "test_titles", "progress_columns", "common_words"
]
_Percent: TypeAlias = Annotated[int, Field(ge=0, le=100)]
_Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=300)]
_LONG: Final = 60  # characters; a longer text says something
_DIGIT: Final = re.compile(r"[0-9]")
_ENTRY: Final = re.compile(r"\s*(?:[-*+]|[0-9]{1,6}[.)])\s+(?:\[[ xX✓✔]\]\s+)?(?P<text>\S.*)")
_NO_CONTENT: Final = re.compile(r" {0,3}#{1,6}(?:\s|\Z)|\s*<!--|[\s|:-]*\Z")
_FENCE: Final = re.compile(r"\s*(?:```|~~~)")


class RubricAdvice(Model):
    """Why something matters, and what to do about it."""

    impact: _Text
    fix: _Text
    priority: IssueSeverity


class RubricCriterion(RubricAdvice):
    """One thing that a ticket should have: settled by a check with its parameters, or by judgement."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=60)]
    description: _Text
    check: Literal[
        "judgement", "present", "lists_children", "parent_names_it", "has_scenarios", "estimated", "adds_up",
        "clear_title", "not_vague", "user_story", "progress_accurate", "names_files",
    ]  # fmt: skip
    sections: Many[_Text] = ()
    fields: Many[_Text] = ()
    words: Many[_Text] = ()
    entries: Annotated[int, Field(ge=0)] = 0
    numbers: bool = False  # only entries with a number count
    unit: Literal["points", "hours"] = "points"
    between: Annotated[Many[float], Field(min_length=2, max_length=2)] = (0, 1_000_000)
    tolerance: Annotated[float, Field(ge=0)] = 0  # how far a sum may be off, as a share of what is stated


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
    words: dict[_WordList, Many[_Text]]
    user_story: dict[str, Many[_Text]]
    planning: dict[str, RubricAdvice] = Field(default_factory=dict[str, RubricAdvice])
    criteria: dict[str, Many[RubricCriterion]]

    def find(self, key: _WordList, text: str) -> "re.Match[str] | None":
        """The first word of a list in a text."""
        return _folded_pattern(tuple(self.words.get(key, ()))).search(fold_words(text))


@lru_cache(maxsize=256)
def _folded_pattern(words: tuple[str, ...]) -> "re.Pattern[str]":
    """Finds any of `words` in folded text."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(fold_words(word)) for word in words) or '(?!)'})(?!\w)")


class CheckOutcome(NamedTuple):
    """What a check says: met, not met, or (None) that there is nothing to tell it by; and the line to look at."""

    is_met: bool | None
    line: int
    problem: str = ""


class TicketScore:
    """Which criteria a ticket meets; what nothing settles does not count, and a model may judge it by the text."""

    def __init__(
        self,
        scorer: "TicketScorer",
        ticket: Ticket,
        criteria: Mapping[str, RubricCriterion],
        outcomes: Mapping[str, CheckOutcome],
    ) -> None:
        self.scorer, self.ticket, self.criteria, self.outcomes = scorer, ticket, criteria, outcomes
        self.to_judge = {key: one.description for key, one in criteria.items() if one.check == "judgement"}
        self.text = ticket.text
        self.breakdown = {key: one.is_met for key, one in outcomes.items() if one.is_met is not None}
        self.not_judged = [key for key, one in outcomes.items() if one.is_met is None]
        met, count = sum(self.breakdown.values()), len(self.breakdown)
        self.percent = round(100 * met / count) if count else 0
        self.basis = f"{met} of {count} criteria met, of {len(criteria)} in the rubric"
        unmet = [key for key, is_met in self.breakdown.items() if not is_met]
        self.missing = sorted(unmet, key=lambda key: PRIORITIES.index(criteria[key].priority))

    def location(self, criterion: str = "") -> str:
        """Where a criterion is met or to be mended, or where the ticket begins."""
        line = self.outcomes[criterion].line if criterion in self.outcomes else self.ticket.line
        return f"{self.ticket.path}:{line}"

    def issues(self) -> list[TicketIssue]:
        """What is not met, the most urgent first."""
        rows, parts = self.ticket.rows, [(key, self.criteria[key], self.outcomes[key]) for key in self.missing]
        return [
            TicketIssue(
                type=key, priority=one.priority, location=self.location(key), current=one_line(rows[outcome.line - 1]),
                problem=one_line(outcome.problem), fix=one.fix, impact=one.impact,
            )
            for key, one, outcome in parts
        ]  # fmt: skip

    def with_judgements(self, judgements: Mapping[str, CriterionJudgement]) -> "TicketScore":
        """The same, with what a model says."""
        own = {key: one for key, one in judgements.items() if key in self.criteria}
        more = {key: CheckOutcome(one.is_met, self.ticket.line, one.reason) for key, one in own.items()}
        return TicketScore(self.scorer, self.ticket, self.criteria, {**self.outcomes, **more})

    def report(self, judgements: Mapping[str, CriterionJudgement], report: SkillReport) -> None:
        """Say how complete the ticket is and what it lacks (G2)."""
        score, names = self.with_judgements(judgements), {"priority", "location", "problem", "fix", "impact"}
        facts = [(self.criteria[one.type], one.model_dump(include=names)) for one in score.issues()]
        missing = [{"criterion": one.id, "description": one.description, **more} for one, more in facts]
        report.figures = {
            "ticket_id": self.ticket.ticket_id, "ticket_type": self.ticket.kind, "path": self.ticket.path,
            "completeness_score": score.percent, "score_breakdown": score.breakdown, "missing_criteria": missing,
            "quality_level": score.describe(report), "basis": score.basis, "not_judged": score.not_judged,
            "rubric": self.scorer.rubric.name.to_json(),
        }  # fmt: skip

    def describe(self, report: SkillReport) -> str:
        """Say in sentences what is missing, and why some was not judged; gives the level of quality."""
        key, bands = self.ticket.ticket_id, self.scorer.rubric.bands
        level = max((one for one in bands if bands[one] <= self.percent), key=bands.__getitem__, default="not_ready")
        sentence = f"{key} is {self.percent} % complete ({code(level)}): {self.basis}."
        report.add("completeness", sentence, source=self.location())
        for one in self.issues()[:MOST_NAMED]:
            report.add(one.type, f"{quote(one.problem)} {quote(one.fix)}", source=one.location)
        for criterion, outcome in self.outcomes.items():
            if outcome.is_met is None and outcome.problem:
                report.note(f"{code(criterion)} of {key} is not judged: {outcome.problem}.")
        self.warn_below_floor(report)
        return level

    def warn_below_floor(self, report: SkillReport) -> None:
        """Warn when a ticket is less complete than its kind should be (K35)."""
        floor = self.scorer.rubric.floors.get(self.ticket.kind, 0)
        if self.missing and self.percent < floor:
            message = f"{self.ticket.ticket_id} is {self.percent} % complete, below the floor of {floor} %."
            impact, recovery = f"It lacks {', '.join(self.missing)}.", self.criteria[self.missing[0]].fix
            report.warn("incomplete_context", message, impact=impact, recovery=recovery)


class TicketScorer:
    """Scores the tickets of a tree, each once."""

    def __init__(self, tree: TicketTree, workspace: Workspace) -> None:
        self.tree, self.workspace = tree, workspace
        self.rubric = read_rubric(CompletenessRubric, _DEFAULT_RUBRIC, workspace)
        self.progress = actual_progress(tree)
        self.names = {key: {one.target for one in ticket.references} for key, ticket in tree.by_id.items()}
        self._scores: dict[tuple[str, str], TicketScore] = {}

    def score(self, ticket: Ticket, kind: str = "") -> TicketScore:
        """The score of a ticket by the criteria of its kind, or of another; that there are none is an error."""
        kind = kind or ticket.kind
        if (ticket.path, kind) not in self._scores:
            criteria = {one.id: one for one in self.rubric.criteria.get(kind, ())}
            if not criteria:
                message = f"The rubric `{self.rubric.id}` has no criteria for tickets of kind `{kind or 'unknown'}`."
                hint = f"Add `[[criteria.{kind}]]` to `.retinue/rubrics/{self.rubric.id}.toml`."
                raise InvalidInput(message, hint=hint, path=ticket.path)
            checks = _TicketChecks(ticket, self, ticket.rows)
            outcomes: dict[str, CheckOutcome] = {
                key: getattr(checks, f"_{one.check}")(one) for key, one in criteria.items()
            }
            self._scores[ticket.path, kind] = TicketScore(self, ticket, criteria, outcomes)
        return self._scores[ticket.path, kind]


@dataclass(slots=True)
class _TicketChecks:
    ticket: Ticket
    scorer: TicketScorer
    rows: list[str]

    def sections(self, keys: Sequence[str]) -> list[TicketSection]:
        """The sections of these kinds, the first named kind first."""
        return [one for key in keys for one in self.ticket.sections if one.key == key]

    def body(self, keys: Sequence[str]) -> Iterator[tuple[int, str]]:
        """The lines of sections that say something, with their numbers; of blocks of code only where they begin."""
        for section in self.sections(keys):
            is_fenced = False
            for line, row in enumerate(self.rows[section.line : section.end], start=section.line + 1):
                is_fence = _FENCE.match(row) is not None
                if not is_fenced and (is_fence or not _NO_CONTENT.match(row)):
                    yield line, row
                is_fenced = is_fenced is not is_fence

    def entries(self, keys: Sequence[str]) -> list[tuple[int, str]]:
        """The entries of lists, rows of tables and headings in sections, with their lines."""
        rows = {line: row for line, row in self.body(keys) if _ENTRY.match(row) or row.lstrip().startswith("|")}
        places = [(one.line, one.end) for one in self.sections(keys)]
        below = (one for one in self.ticket.sections if any(line < one.line <= end for line, end in places))
        return sorted((rows | {one.line: one.title for one in below}).items())

    def is_open(self, text: str) -> bool:
        """Whether a text only says that something will be said."""
        match = self.scorer.rubric.find("placeholders", text) if len(text) < _LONG else None
        return len(text) < _LONG and fold_words(text) == (match[0] if match else "")

    def field_line(self, *keys: str) -> int:
        """The line of the first of these fields, or 0."""
        return next((self.ticket.fields[key].line for key in keys if key in self.ticket.fields), 0)

    def unmet(self, problem: str, line: int = 0, section: Sequence[str] = ()) -> CheckOutcome:
        """Not met: on a line, or in the section that should have it, or else at the title."""
        line = line or next((one.line for one in self.sections(section)), self.ticket.line)
        return CheckOutcome(False, line, problem)

    # The checks, by the names that criteria call them.

    def _judgement(self, _criterion: RubricCriterion) -> CheckOutcome:
        return CheckOutcome(None, self.ticket.line)

    def _present(self, criterion: RubricCriterion) -> CheckOutcome:
        """A field, a section with content or enough entries, or words anywhere."""
        line, sections = self.field_line(*criterion.fields), criterion.sections
        if criterion.entries:
            lines = [one for one, row in self.entries(sections) if not self.is_open(row)]
            lines = [one for one in lines if not criterion.numbers or _DIGIT.search(self.rows[one - 1])]
            line = line or (lines[0] if len(lines) >= criterion.entries else 0)
        else:
            rows = (at for at, row in self.body(sections) if _FENCE.match(row) or not self.is_open(row))
            line = line or next(rows, 0)
        if not line and criterion.words:
            words = _folded_pattern(tuple(criterion.words))
            if words.search(fold_words(self.ticket.text)):
                line = next((at for at, row in enumerate(self.rows, start=1) if words.search(fold_words(row))), 0)
        if line:
            return CheckOutcome(True, line)
        names = " or ".join(key.replace("_", " ") for key in dict.fromkeys((*criterion.fields, *sections)))
        few = f"fewer than {criterion.entries} entries" if criterion.entries > 1 else "nothing"
        return self.unmet(f"It has {few}{' with a number' * criterion.numbers} on its {names}.", section=sections)

    def _lists_children(self, _criterion: RubricCriterion) -> CheckOutcome:
        children, references = self.scorer.tree.children.get(self.ticket.ticket_id, ()), self.ticket.targets("child")
        names = self.scorer.names.get(self.ticket.ticket_id, ())
        if unlisted := [one for one in children if one not in names]:
            return self.unmet(f"It does not list {first_of(unlisted, 5)}.", section=["children"])
        if not references and not children:
            return self.unmet("It lists nothing that it is made of.", section=["children"])
        return CheckOutcome(True, references[0].line if references else self.ticket.line)

    def _parent_names_it(self, _criterion: RubricCriterion) -> CheckOutcome:
        parent, stated = self.scorer.tree.parents.get(self.ticket.ticket_id), self.ticket.targets("parent")
        if parent is None:
            return self.unmet("It does not say what it is part of.")
        line = stated[0].line if stated else self.ticket.line
        if self.ticket.ticket_id in self.scorer.names.get(parent, ()):
            return CheckOutcome(True, line)
        lacks = "does not name it" if parent in self.scorer.tree.by_id else "has no file"
        return self.unmet(f"{parent}, which it is part of, {lacks}.", line)

    def _has_scenarios(self, criterion: RubricCriterion) -> CheckOutcome:
        """Its own; where the criterion has words, those of its parent do too, and so does a title with one of these."""
        tree, own = self.scorer.tree, self.ticket.scenarios
        parent = tree.parent(self.ticket.ticket_id) if criterion.words else None
        title = f" {fold_words(self.ticket.title)} "
        is_there = any(not one.problem for one in (*own, *(parent.scenarios if parent else ())))
        if is_there or any(f" {fold_words(word)} " in title for word in criterion.words):
            return CheckOutcome(True, next((one.line for one in own if not one.problem), self.ticket.line))
        if line := next((line for line, row in self.body(["scenarios"]) if ".feature" in row), 0):
            return CheckOutcome(True, line)
        if any(finding.rule == "ticket/scenarios-unread" for finding in self.ticket.findings):
            return CheckOutcome(None, self.ticket.line, "scenarios were not read")
        if own:
            return self.unmet(f"Its scenarios are no Gherkin: {own[0].problem}.", own[0].line)
        return self.unmet("It has no scenario in Gherkin.", section=["scenarios"])

    def _estimated(self, criterion: RubricCriterion) -> CheckOutcome:
        estimate = (points_of if criterion.unit == "points" else hours_of)(self.ticket)
        line, (least, most) = self.field_line("points", "estimate"), criterion.between
        if estimate is None:
            return self.unmet(f"It has no estimate in {criterion.unit}.")
        if not least <= estimate <= most:
            return self.unmet(f"It has {estimate:g} {criterion.unit}, not {least:g} to {most:g}.", line)
        return CheckOutcome(True, line)

    def _adds_up(self, criterion: RubricCriterion) -> CheckOutcome:
        """Its points, and those of its children, or their hours by the rubric's hours per point."""
        tree, points, per_point = self.scorer.tree, points_of(self.ticket), self.scorer.rubric.hours_per_point
        children = [one for one in tree.parts(self.ticket.ticket_id) if one.status != "cancelled"]
        sizes, unit = [points_of(one) for one in children], "points"
        if None in sizes:
            hours = [hours_of(one) for one in children]
            sizes, unit = [one and one / per_point for one in hours], f"points, at {per_point:g} hours a point"
        numbers = [one for one in sizes if one is not None]
        if points is None or not numbers or len(numbers) < len(sizes) or not tree.is_whole(self.ticket):
            return CheckOutcome(None, self.ticket.line, "it, or something that it is made of, has no estimate or file")
        line = self.field_line("points", "estimate")
        if abs(sum(numbers) - points) <= criterion.tolerance * points + 0.01:
            return CheckOutcome(True, line)
        return self.unmet(f"It has {points:g} points; what it is made of has {sum(numbers):.3g} {unit}.", line)

    def _clear_title(self, _criterion: RubricCriterion) -> CheckOutcome:
        title = self.ticket.title.removeprefix(self.ticket.ticket_id)
        if len(fold_words(title).split()) > 1 and not self.is_open(title):
            return CheckOutcome(True, self.ticket.line)
        return self.unmet("Its title does not say what it is about.")

    def _not_vague(self, criterion: RubricCriterion) -> CheckOutcome:
        rows = list(self.body(criterion.sections))
        if not rows:
            return CheckOutcome(None, self.ticket.line, "there is nothing to read")
        for line, row in rows:
            if term := self._vague_term(row):
                return self.unmet(f"“{term}” can mean many things.", line)
        return CheckOutcome(True, rows[0][0])

    def _vague_term(self, row: str) -> str:
        """The first words of a line that leave open what is meant; in an entry of a list, a number says it."""
        entry, rubric = _ENTRY.match(row), self.scorer.rubric
        text = entry["text"] if entry else row
        matches = [rubric.find("placeholders", text)]
        if entry and not _DIGIT.search(row):
            matches.append(rubric.find("unmeasured", text))
            # What ends with a colon is said by what follows, and what has a name in it says enough.
            words, verb = fold_words(text), rubric.find("verbs", text)
            is_short = len(words.split()) <= rubric.few_words and text[-1] != ":"
            if verb and not verb.start() and is_short and fold_words(mask_names(text)) == words:
                return verb[0]
        terms = [match[0] for match in matches if match]
        own = fold_words(mask_names(text)) if terms else ""
        return next((term for term in terms if term in own), "")

    def _user_story(self, _criterion: RubricCriterion) -> CheckOutcome:
        sections = self.sections(["user_story"])
        rows = [row for _, row in self.body(["user_story"])] if sections else self.rows
        words = f" {fold_words(' '.join(rows))} "
        for parts in self.scorer.rubric.user_story.values():
            at = 0
            for part in parts:
                places = [words.find(f" {fold_words(one)} ", at) for one in part.split("|")]
                at = min((place for place in places if place >= 0), default=len(words))
            if at < len(words):
                return CheckOutcome(True, sections[0].line if sections else self.ticket.line)
        return self.unmet("It does not say who wants what and why.", section=["user_story"])

    def _progress_accurate(self, _criterion: RubricCriterion) -> CheckOutcome:
        stated, actual = stated_percent(self.ticket), self.scorer.progress.get(self.ticket.ticket_id)
        shares = actual.shares if actual else []
        if not shares:
            return CheckOutcome(None, self.ticket.line, "nothing tells its progress")
        if stated is None:
            return self.unmet("It does not state its progress.")
        if any(abs(stated - share) <= 1 for share in shares):
            return CheckOutcome(True, self.field_line("progress"))
        right = " or ".join(dict.fromkeys(f"{share:.0f} %" for share in shares))
        problem = f"It states {stated} %; what it is made of adds up to {right}."
        return self.unmet(problem, self.field_line("progress"))

    def _names_files(self, _criterion: RubricCriterion) -> CheckOutcome:
        files = self.ticket.targets("file")
        return CheckOutcome(True, files[0].line) if files else self.unmet("It names no file.")
