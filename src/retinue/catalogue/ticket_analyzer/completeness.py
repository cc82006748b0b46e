"""How complete tickets are: their scores by the rubric, for one ticket or ten thousand (G2, K35)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from retinue.catalogue._prose import code, one_line, quote
from retinue.catalogue._report import SkillReport
from retinue.catalogue.tickets import Ticket, TicketTree, read_rubric
from retinue.catalogue.tickets.judgement import CriterionJudgement
from retinue.catalogue.tickets.ticket_progress import actual_progress
from retinue.errors import InvalidInput
from retinue.tools.workspace import Workspace

from .parameters import MissingCriterion, TicketIssue
from .rubric_checks import CheckOutcome, CompletenessRubric, RubricCriterion, TicketChecks

_DEFAULT_RUBRIC: Final = Path(__file__).with_name("ticket-completeness.toml")
MOST_NAMED: Final = 10
"""How many things of a kind are named in sentences."""


@dataclass(frozen=True, slots=True)
class TicketScore:
    """Which criteria for its kind a ticket meets."""

    ticket: Ticket
    criteria: Mapping[str, RubricCriterion]
    outcomes: Mapping[str, CheckOutcome]

    @property
    def breakdown(self) -> dict[str, bool]:
        """Each criterion that was judged."""
        return {key: one.is_met for key, one in self.outcomes.items() if one.is_met is not None}

    @property
    def not_judged(self) -> tuple[str, ...]:
        """The criteria that were not: they count neither for nor against."""
        return tuple(key for key, one in self.outcomes.items() if one.is_met is None)

    @property
    def percent(self) -> int:
        """The share of the judged criteria that are met."""
        verdicts = self.breakdown.values()
        return round(100 * sum(verdicts) / len(verdicts)) if verdicts else 0

    @property
    def basis(self) -> str:
        """Over how many criteria the score is."""
        verdicts = self.breakdown.values()
        return f"{sum(verdicts)} of {len(verdicts)} criteria met, of {len(self.criteria)} in the rubric"

    @property
    def missing(self) -> tuple[str, ...]:
        """What is not met, the most urgent first."""
        unmet = [key for key, is_met in self.breakdown.items() if not is_met]
        return tuple(sorted(unmet, key=lambda key: ("high", "medium", "low").index(self.criteria[key].priority)))

    def location(self, criterion: str = "") -> str:
        """Where a criterion is met or to be mended, or where the ticket begins."""
        return f"{self.ticket.path}:{self.outcomes[criterion].line if criterion else self.ticket.line}"

    def issues(self) -> list[TicketIssue]:
        """What is not met."""
        rows, lines = [(key, self.criteria[key], self.outcomes[key]) for key in self.missing], self.ticket.rows
        return [
            TicketIssue(
                type=key, priority=one.priority, location=self.location(key), current=one_line(lines[outcome.line - 1]),
                problem=one_line(outcome.problem), fix=one.fix, impact=one.impact,
            )
            for key, one, outcome in rows
        ]  # fmt: skip

    def to_judge(self) -> dict[str, str]:
        """What only judgement can settle, as a model is asked it."""
        return {key: one.description for key, one in self.criteria.items() if one.check == "judgement"}

    def with_judgements(self, judgements: Mapping[str, CriterionJudgement]) -> "TicketScore":
        """The same, with what a model says."""
        more = {
            key: CheckOutcome(one.is_met, self.ticket.line, one.reason)
            for key, one in judgements.items()
            if key in self.criteria
        }
        return replace(self, outcomes={**self.outcomes, **more})


class TicketScorer:
    """Scores the tickets of a tree, each once.

    Raises:
        InvalidDefinition: The project's rubric cannot be used.
    """

    def __init__(self, tree: TicketTree, workspace: Workspace) -> None:
        self.tree, self.workspace = tree, workspace
        self.rubric = read_rubric(CompletenessRubric, _DEFAULT_RUBRIC, workspace)
        self.progress = actual_progress(tree)
        self._scores: dict[tuple[str, str], TicketScore] = {}
        self._ids: dict[str, frozenset[str]] = {}

    def ids_in(self, ticket_id: str) -> frozenset[str]:
        """The ids that a ticket names."""
        if ticket_id not in self._ids:
            ticket = self.tree.by_id.get(ticket_id)
            self._ids[ticket_id] = frozenset(one.target for one in ticket.references) if ticket else frozenset()
        return self._ids[ticket_id]

    def score(self, ticket: Ticket, kind: str = "") -> TicketScore:
        """The score of a ticket by the criteria of its kind, or of another.

        Raises:
            InvalidInput: The rubric has no criteria for it.
        """
        kind = kind or ticket.kind
        if (ticket.path, kind) not in self._scores:
            if not self.rubric.criteria.get(kind):
                message = f"The rubric `{self.rubric.id}` has no criteria for tickets of kind `{kind or 'unknown'}`."
                hint = f"Add `[[criteria.{kind}]]` to `.retinue/rubrics/{self.rubric.id}.toml`."
                raise InvalidInput(message, hint=hint, path=ticket.path)
            checks = TicketChecks(ticket, self.tree, self.rubric, self.progress, self.ids_in, ticket.rows)
            criteria = {one.id: one for one in self.rubric.criteria[kind]}
            outcomes = {key: checks.run(one) for key, one in criteria.items()}
            self._scores[ticket.path, kind] = TicketScore(ticket, criteria, outcomes)
        return self._scores[ticket.path, kind]

    def report(self, score: TicketScore, report: SkillReport) -> str:
        """Say how complete a ticket is, what it lacks, and why some was not judged; gives its level of quality."""
        levels = {low: name for name, low in self.rubric.bands.items() if low <= score.percent}
        level = levels[max(levels)] if levels else "not_ready"
        sentence = f"{score.ticket.ticket_id} is {score.percent} % complete ({code(level)}): {score.basis}."
        report.add("completeness", sentence, source=score.location())
        for one in score.issues()[:MOST_NAMED]:
            report.add(one.type, f"{quote(one.problem)} {quote(one.fix)}", source=one.location)
        for key, outcome in score.outcomes.items():
            if outcome.is_met is None and outcome.problem:
                report.note(f"{code(key)} of {score.ticket.ticket_id} is not judged: {outcome.problem}.")
        self.warn_below_floor(score, report)
        return level

    def warn_below_floor(self, score: TicketScore, report: SkillReport) -> None:
        """Warn when a ticket is less complete than its kind should be (K35)."""
        floor = self.rubric.floors.get(score.ticket.kind, 0)
        if score.missing and score.percent < floor:
            report.warn(
                "incomplete_context",
                f"{score.ticket.ticket_id} is {score.percent} % complete, below the floor of {floor} %.",
                impact=f"It lacks {', '.join(score.missing)}.",
                recovery=score.criteria[score.missing[0]].fix,
            )


def report_completeness(scorer: TicketScorer, score: TicketScore, report: SkillReport) -> None:
    """Say how complete one ticket is and what it lacks (G2)."""
    missing = [
        MissingCriterion(
            criterion=one.type, description=score.criteria[one.type].description, impact=one.impact, fix=one.fix,
            priority=one.priority, problem=one.problem, location=one.location,
        )
        for one in score.issues()
    ]  # fmt: skip
    report.figures = {
        "ticket_id": score.ticket.ticket_id,
        "ticket_type": score.ticket.kind,
        "path": score.ticket.path,
        "completeness_score": score.percent,
        "score_breakdown": score.breakdown,
        "missing_criteria": [one.to_json() for one in missing],
        "quality_level": scorer.report(score, report),
        "basis": score.basis,
        "rubric": scorer.rubric.name.to_json(),
        "not_judged": list(score.not_judged),
    }
