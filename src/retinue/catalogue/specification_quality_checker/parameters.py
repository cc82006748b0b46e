"""What the skills give, as types (G14), and the rubric that they judge by."""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from retinue.catalogue._report import ReportData
from retinue.catalogue.tickets import IssueSeverity, Rubric, RubricName
from retinue.contract.model import Count, Many, Model

DEFAULT_RUBRIC: Final = Path(__file__).with_name("specification-quality.toml")

SpecCategory: TypeAlias = Literal[
    "weasel_words", "placeholders", "implicit_steps", "unquantified", "missing_edge_cases", "incomplete_errors",
    "missing_validation",
]  # fmt: skip
SpecSection: TypeAlias = Literal[
    "user_story", "acceptance_criteria", "bdd_scenarios", "technical_design", "implementation_checklist"
]
_Level: TypeAlias = Literal["agent_ready", "good", "needs_improvement", "not_ready"]
_Disarm: TypeAlias = Literal["number", "quantity", "name", "step", "examples", "question", "reason"]
_Score: TypeAlias = Annotated[int, Field(ge=0, le=100)]
_Words: TypeAlias = Annotated[Many[Annotated[str, Field(min_length=1, max_length=100)]], Field(max_length=200)]


class SpecRule(Model):
    """What a ticket can leave open: words of the dictionary, what scenarios lack, or a criterion for a model.

    The comments of the rubric say what each member is for; `sections` and `text` are those of a criterion.
    """

    id: str = ""
    category: SpecCategory
    severity: IssueSeverity
    problem: str
    fix: str = ""
    words: _Words = ()
    replaces: _Words = ()
    exact_case: bool = False
    everywhere: bool = False
    unless: Many[_Disarm] = ()
    unless_after: _Words = ()
    unless_before: _Words = ()
    unless_words: _Words = ()
    sections: Many[SpecSection] = ()
    text: str = ""


class SpecFix(Model):
    """What to write instead of `old`: `new`, whose `<…>` are to be filled in, or what `advice` says."""

    old: str
    new: str | None = None
    has_blanks: bool | None = None
    by: Literal["rule", "model"] | None = None
    advice: str | None = None

    @classmethod
    def of(cls, old: str, new: str, by: Literal["rule", "model"]) -> "SpecFix":
        """`new`, which can take the place of `old` as it is."""
        return cls(old=old, new=new, has_blanks=re.search(r"<[^<>\n]{1,60}>", new) is not None, by=by)


class SpecIssue(Model):
    """One thing that the ticket leaves open: `term` has the words, or says what is missing."""

    category: SpecCategory
    severity: IssueSeverity
    location: Annotated[str, Field(description="The file and line.")]
    term: str
    context: str
    problem: str
    fix: SpecFix | None = None
    impact: str
    section: SpecSection | None = None


class SpecSummary(Model):
    """How many issues there are."""

    total_issues: Count
    by_category: dict[SpecCategory, Count]
    by_severity: dict[IssueSeverity, Count]


class ScoreBasis(Model):
    """The formula of the score, in words too, and of how many checkpoints it was made."""

    id: str
    text: str
    checkpoints: Count = 0


class SpecificationQuality(ReportData):
    """How exactly a ticket says what is to be done (G14); `issues` has the first of them, `summary` counts all."""

    ticket_id: str
    quality_score: _Score
    quality_level: _Level
    agent_ready: bool
    issues: Many[SpecIssue]
    section_scores: dict[SpecSection, _Score]
    summary: SpecSummary
    recommendations: Many[str]
    rubric: RubricName
    formula: ScoreBasis
    not_judged: Many[str]


class ScoreFormula(ScoreBasis):
    """How issues become a score, and the score a level: the first whose band it reaches."""

    penalties: Annotated[dict[IssueSeverity, Count], Field(min_length=3)]
    bands: Annotated[dict[_Level, _Score], Field(min_length=3)]

    def score(self, issues: Iterable[SpecIssue], checkpoints: int) -> int:
        """The score of some issues, rounded down."""
        penalty = sum(self.penalties[one.severity] for one in issues)
        return max(0, 100 - -(-penalty * 100 // checkpoints)) if checkpoints else 0


class SpecificationRubric(Rubric):
    """Everything that is looked for, and what it costs."""

    language: str
    language_words: _Words
    reasons: _Words
    asides: _Words
    units: _Words
    formula: ScoreFormula
    impact: Annotated[dict[SpecCategory, str], Field(min_length=7)]
    terms: Annotated[Many[SpecRule], Field(min_length=1)]
    failing_path: SpecRule | None = None
    criteria: Many[SpecRule] = ()

    @cached_property
    def term_of(self) -> Mapping[str, SpecRule]:
        """The term of each word, in small letters."""
        return {word.casefold(): term for term in self.terms for word in term.words}

    @cached_property
    def vague(self) -> re.Pattern[str]:
        """Finds the words of all terms, longest first."""
        words = sorted(self.term_of, key=len, reverse=True)
        forms = "|".join(r"\s{1,20}".join(map(re.escape, word.split())) for word in words)
        return re.compile(rf"(?<!-)(?<![^\W_])(?:{forms})(?![^\W_]|-)", re.IGNORECASE)

    @cached_property
    def quantity(self) -> re.Pattern[str]:
        """Finds a number with a unit, or with a sign that compares."""
        units = "|".join(map(re.escape, self.units))
        return re.compile(rf"[0-9][ -]?(?:{units})(?![^\W_])|(?:[<>≤≥≈~±]|\bp)=?[ ]?[0-9]", re.IGNORECASE)
